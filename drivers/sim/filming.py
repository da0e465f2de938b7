"""Film a thrown pair of dice: frames as a camera over one end of the table takes them, each with its time.

Only the part of a frame where dice and shadows are is drawn; the rest is the same cloth under fresh noise.
Stills are drawn around a die alone, of the same moment and `zoom` times as fine: a sensor's full readout.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from drivers.sim.rendering import CASINO_RED, Die, Lens, Light, Look, draw, felt
from drivers.vision.arrays import Array

MOMENTS = 3
"""Drawn while the shutter is open: enough for blur up to an edge long."""
NOISES, NOISE_STEP_PX = 4, 7
"""Frames are noisy by turns of so many parts of one grain, each upright and upside down."""
MARGIN_PX = 14
SIGHT_STEP_US = 10_000


@dataclass(frozen=True, slots=True)
class Rigging:
    """A camera as it films: lens, light, cloth, dice, rate, shutter, and how much finer its stills are."""

    lens: Lens
    light: Light = field(default_factory=Light)
    cloth: tuple[int, int, int] = (60, 110, 30)
    look: Look = CASINO_RED
    die_mm: float = 19.0
    fps: float = 60.0
    shutter_us: int = 2_000
    zoom: float = 4.0


@dataclass(frozen=True, slots=True)
class Way:
    """Where the dice were, moment by moment: middles (mm) and axes."""

    t_us: Sequence[int]
    poses: Sequence[tuple[Array, Array]]

    def at(self, t_us: float, rigging: Rigging) -> list[Die]:
        """Return the dice at a time: straight and even between moments, still after the last."""
        after = min(max(bisect_right(self.t_us, t_us), 1), len(self.t_us) - 1)
        before = after - 1
        span = self.t_us[after] - self.t_us[before]
        share = min(max((t_us - self.t_us[before]) / span, 0.0), 1.0)
        nearest = after if share > 0.5 else before
        middles = self.poses[before][0] * (1 - share) + self.poses[after][0] * share
        axes = self.poses[nearest][1]
        return [Die(middles[at], axes[at], rigging.die_mm, rigging.look) for at in range(len(middles))]


class Filming:
    """One camera's film of a throw."""

    def __init__(self, rigging: Rigging, seed: int) -> None:
        """Hang the camera over an empty table."""
        self.rigging = rigging
        self._rng = np.random.default_rng(seed)
        lens, light = rigging.lens, rigging.light
        self._cloth = felt(lens, rigging.cloth, self._rng, marks=True)
        plain = replace(light, noise=0.0)
        self._empty = draw(lens, self._cloth, [[]], plain, self._rng)
        height, width, _ = self._empty.shape
        reach = NOISE_STEP_PX * NOISES
        grain = self._rng.normal(0.0, light.noise, (height + reach, width + reach, 3)).astype(np.int16)
        self._noises = [grain[at : at + height, at : at + width] for at in range(0, reach, NOISE_STEP_PX)]
        self._count = 0
        self._bare: dict[int, Array] = {}
        """The empty table under each noise, once it was wanted."""

    def lay_chip(self, place_mm: tuple[float, float], colour: tuple[int, int, int], across_mm: float) -> None:
        """Lay a chip on the felt: it is in each frame from now on."""
        turns = np.linspace(0.0, 2 * np.pi, 48)
        x, y = place_mm
        rim = [(x + across_mm / 2 * np.cos(turn), y + across_mm / 2 * np.sin(turn), 0.0) for turn in turns]
        outline = np.round(self.rigging.lens.seen(np.array(rim))).astype(np.int32)
        cv2.fillPoly(self._empty, [outline], colour, cv2.LINE_AA)
        self._bare.clear()

    def empty(self) -> Array:
        """Return the table without dice."""
        return self._under_noise()[0]

    def frames(self, way: Way, until_us: int, from_us: int = 0) -> Iterator[tuple[int, Array, "FineStill"]]:
        """Yield time, frame and still from a time, before the dice come into sight, until another."""
        step = 1e6 / self.rigging.fps
        for count in range(int(from_us / step), int(until_us / step)):
            t_us = round(count * step)
            moments = 1 if t_us > way.t_us[-1] else MOMENTS
            opened = [t_us + self.rigging.shutter_us * at / moments for at in range(moments)]
            exposures = [way.at(t, self.rigging) for t in opened]
            yield t_us, self._frame(exposures), FineStill(self, exposures)

    def in_sight_us(self, way: Way) -> int:
        """Return when the first die or its shadow comes into sight; the way's end where none does."""
        lens = self.rigging.lens
        for t_us in range(way.t_us[0], way.t_us[-1], SIGHT_STEP_US):
            for die in way.at(t_us, self.rigging):
                low, high = self._box([die], lens, MARGIN_PX)
                if bool(np.all(high > low)):
                    return t_us
        return way.t_us[-1]

    def _frame(self, exposures: Sequence[Sequence[Die]]) -> Array:
        picture, noise = self._under_noise()
        # Dice may overlap: they are drawn without noise first.
        dice: list[tuple[slice, slice]] = []
        clean = self._empty.copy()
        lens = self.rigging.lens
        for die in range(len(exposures[0])):
            own = [moment[die] for moment in exposures]
            low, high = self._box(own, lens, MARGIN_PX)
            if bool(np.any(high <= low)):
                continue
            near = [list(moment) for moment in exposures]
            part = lens.part(int(low[0]), int(low[1]), int(high[0] - low[0]), int(high[1] - low[1]))
            box = (slice(low[1], high[1]), slice(low[0], high[0]))
            clean[box] = draw(part, self._empty[box], near, self._plain(), self._rng)
            dice.append(box)
        for box in dice:
            picture[box] = _with(clean[box], noise[box])
        return picture

    def still(self, exposures: Sequence[Sequence[Die]], low: Array, high: Array) -> Array:
        """Return a part of the finer picture, its corners in that picture's pixels."""
        zoom = self.rigging.zoom
        width, height = int(high[0] - low[0]), int(high[1] - low[1])
        part = self.rigging.lens.part(int(low[0]), int(low[1]), width, height, zoom)
        from_px, to_px = np.floor_divide(low, zoom).astype(int), np.ceil(np.asarray(high) / zoom).astype(int)
        behind = self._empty[from_px[1] : to_px[1], from_px[0] : to_px[0]]
        large = cv2.resize(behind, (width, height), interpolation=cv2.INTER_LINEAR)
        light = replace(self.rigging.light, slope=0.0, bright=1.0)
        return draw(part, large, exposures, light, self._rng)

    def _plain(self) -> Light:
        return replace(self.rigging.light, noise=0.0, slope=0.0, bright=1.0)

    def _box(self, dice: Sequence[Die], lens: Lens, margin: int) -> tuple[Array, Array]:
        lamp = np.array(self.rigging.light.lamp)
        reach = []
        for die in dice:
            half = die.edge_mm * 0.87
            corners = die.centre_mm + half * np.array(
                [[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
            )
            reach += [corners, corners - lamp * (np.maximum(corners[:, 2:], 0) / lamp[2])]
        seen = lens.seen(np.concatenate(reach))
        low = np.clip(np.floor(seen.min(axis=0)) - margin, 0, (lens.width, lens.height)).astype(int)
        high = np.clip(np.ceil(seen.max(axis=0)) + margin, 0, (lens.width, lens.height)).astype(int)
        return low, high

    def _under_noise(self) -> tuple[Array, Array]:
        """Return a new picture of the empty table, and the noise in it."""
        self._count += 1
        key = self._count % (2 * NOISES)
        noise = self._noises[key % NOISES]
        if key % 2:
            noise = noise[::-1]
        if key not in self._bare:
            self._bare[key] = _with(self._empty, noise)
        return self._bare[key].copy(), noise


def _with(picture: Array, noise: Array) -> Array:
    noisy: Array = cv2.add(picture, np.ascontiguousarray(noise), dtype=cv2.CV_8U)
    return noisy


class FineStill:
    """A still that is drawn only if somebody looks."""

    def __init__(self, filming: Filming, exposures: Sequence[Sequence[Die]]) -> None:
        """Represent the moment of these exposures."""
        self._filming = filming
        self._exposures = exposures
        self.zoom = filming.rigging.zoom

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the part around a place of the frame, and where its left upper corner is in the still."""
        lens = self._filming.rigging.lens
        limit = np.array([lens.width, lens.height]) * self.zoom
        low = np.maximum((place - margin) * self.zoom, 0).astype(int)
        high = np.minimum((place + margin) * self.zoom, limit).astype(int)
        return self._filming.still(self._exposures, low, high), low
