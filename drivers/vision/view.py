"""Detects whether a camera is covered, blinded, bumped or out of focus, and whether its picture
flickers or is frozen.

Each frame is compared with the empty table at a quarter of the frame's size. A deviation that lasts for
`MIN_FAULT_US` is a fault. While a fault is active, no dice are followed, because faces and tracks are valid
only in the calibrated view.
"""

import math
from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np

from drivers.vision.arrays import Array

SIZE = 0.25
MIN_FAULT_US = 100_000
"""Minimum duration of a fault. A hand that passes close to the camera covers it for a shorter time."""
MIN_CLEAR_US = 500_000
MAX_DARK = 14.0
"""Maximum mean grey level of a covered sensor, due to black level and noise."""
PLAIN_FRACTION = 0.3
"""Minimum contrast, as a fraction of the empty table's. A cloth over the camera leaves less contrast."""
MIN_CHANGE = 40
CHANGED_FRACTION = 0.6
"""Maximum fraction of the view that dice, hands and sticks can hide."""
WHITE, WHITE_FRACTION = 250, 0.2
BLUR_FRACTION = 0.35
"""Minimum sharpness, as a fraction of the calibrated view's. Hands and dice add more edges than they hide."""
MIN_SHIFT_RESPONSE = 0.15
"""Minimum response of the phase correlation at which the shift is meaningful."""
MAX_FLICKER = 0.06
"""Maximum standard deviation of the light from frame to frame, as a fraction of the mean. People's shadows
change the light only slowly."""
BANDS = 16
"""Number of bands of rows. Rows are exposed one after another, so a lamp at 50 or 60 Hz causes about four
dark stripes, which drift. Stripes affect at least half of the bands; a hand affects fewer.
"""
RECENT_FRAMES = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of the view after one frame."""

    fault: str | None
    """The code of the active fault."""
    seen: str = ""
    """A description of the fault, with measured values."""


class View:
    """Checks one camera's view of its table, frame by frame."""

    def __init__(self, empty: Array, bumped_px: float) -> None:
        """Store the calibrated view and the minimum shift, in frame pixels, that is reported as a bump."""
        self._empty = _thumbnail(empty)
        self._bumped = max(0.75, bumped_px * SIZE)
        self._window = cv2.createHanningWindow((self._empty.shape[1], self._empty.shape[0]), cv2.CV_32F)
        self._structure = float(self._empty.std())
        self._sharpness = _sharpness(self._empty)
        self._bands = np.maximum(1.0, _bands(self._empty))
        self._white = float((self._empty >= WHITE).mean())
        self._light: deque[Array] = deque(maxlen=RECENT_FRAMES)
        self._last: Array | None = None
        self._active: tuple[str, str] | None = None
        self._suspect: tuple[str, int] | None = None
        self._clear_since_us: int | None = None

    def look(self, t_us: int, picture: Array) -> Verdict:
        """Check a frame and return the verdict."""
        found = self._find_fault(_thumbnail(picture))
        if found is None:
            self._suspect = None
            if self._active is not None:
                self._clear_since_us = t_us if self._clear_since_us is None else self._clear_since_us
                if t_us - self._clear_since_us >= MIN_CLEAR_US:
                    self._active = None
        else:
            self._clear_since_us = None
            if self._suspect is None or self._suspect[0] != found[0]:
                self._suspect = (found[0], t_us)
            if t_us - self._suspect[1] >= MIN_FAULT_US:
                self._active = found
        return Verdict(*(self._active or (None, "")))

    @property
    def doubtful(self) -> bool:
        """Whether the latest frame must not be used, because a fault is active or might be beginning."""
        return self._active is not None or self._suspect is not None

    def _find_fault(self, now: Array) -> tuple[str, str] | None:
        frozen = self._last is not None and np.array_equal(self._last, now)
        self._last = now
        mean = float(now.mean())
        self._light.append(_bands(now))
        if frozen:
            return (
                "frozen",
                "each frame is identical to the previous one; the camera's cable or driver has failed",
            )
        white = float((now >= WHITE).mean())
        if white > self._white + WHITE_FRACTION:
            return "blinded", f"{white:.0%} of the view is white"
        if mean < MAX_DARK or float(now.std()) < PLAIN_FRACTION * self._structure:
            return (
                "covered",
                f"mean grey level {mean:.0f}, contrast {now.std():.0f}, expected about {self._structure:.0f}",
            )
        if len(self._light) == RECENT_FRAMES and (swing := _light_range(self._light)) > MAX_FLICKER:
            return "flickering", f"the light varies by {swing:.0%} from frame to frame"
        if (striped := _stripe_contrast(self._light[-1] / self._bands)) > MAX_FLICKER:
            return "flickering", f"bands across the view differ by {striped:.0%} from the view's median"
        changed = cv2.countNonZero((cv2.absdiff(now, self._empty) > MIN_CHANGE).astype(np.uint8)) / now.size
        if changed > CHANGED_FRACTION:
            return "covered", f"{changed:.0%} of the view differs from the empty table"
        shift, response = cv2.phaseCorrelate(
            self._empty.astype(np.float32), now.astype(np.float32), self._window
        )
        shift_px = math.hypot(*shift)
        if response > MIN_SHIFT_RESPONSE and shift_px > self._bumped:
            return "bumped", f"the view has shifted by {shift_px / SIZE:.0f} pixels"
        sharpness = _sharpness(now)
        if sharpness < BLUR_FRACTION * self._sharpness:
            return (
                "out_of_focus",
                f"the sharpness is {sharpness / self._sharpness:.0%} of the calibrated view's",
            )
        return None


def _thumbnail(picture: Array) -> Array:
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    return cv2.resize(grey, None, fx=SIZE, fy=SIZE, interpolation=cv2.INTER_AREA)


def _sharpness(small: Array) -> float:
    """Return the 99th percentile of a picture's second derivative.

    Printed lines reach this value, but grain does not.
    """
    steep = np.absolute(
        np.asarray(cv2.Laplacian(cv2.GaussianBlur(small, (0, 0), 0.8), cv2.CV_32F), np.float32)
    )
    return max(0.1, float(np.quantile(steep, 0.99)))


def _bands(small: Array) -> Array:
    """Return the mean light of each band of rows, from the top down."""
    rows = np.asarray(small, np.float32).mean(axis=1)
    return np.array([band.mean() for band in np.array_split(rows, BANDS)])


def _light_range(light: deque[Array]) -> float:
    """Return the bands' median variation of the light from frame to frame, without slow changes."""
    values = np.stack(light)
    steps = np.diff(values, 2, axis=0) / 4
    return float(np.median(steps.std(axis=0) / np.maximum(1.0, values.mean(axis=0))))


def _stripe_contrast(ratio: Array) -> float:
    """Return the bands' median deviation in light from the view as a whole."""
    return float(np.median(np.abs(ratio / max(0.01, float(np.median(ratio))) - 1.0)))
