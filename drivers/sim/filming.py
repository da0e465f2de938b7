"""A renderer for videos of two thrown dice, as seen by a camera over one end of the table.

The dice camera's tests use the pictures, which are rendered with perspective, lens distortion, a lamp,
shadows, motion blur, translucence and noise. They show the sides of the dice, and pips can reflect the lamp.
Lengths are in millimetres: x and y on the felt, z up. This module requires the `vision` extra.

Only the parts of a frame that contain dice or shadows are rendered. In the rest of the frame, only the noise
changes. Stills show the area around one die at `zoom` times the resolution, like the full readout of an image
sensor.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import cv2
import numpy as np

from drivers.vision.arrays import Array

NORMALS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0, -1, 0], [-1, 0, 0]], dtype=float)
"""Outward normals of faces 1 to 6 in the die's coordinates, as in `drivers.sim.bodies`."""
_FACE_U = NORMALS[[1, 2, 1, 1, 2, 1]]
_FACE_V = np.cross(NORMALS, _FACE_U)
"""With `_FACE_U`, the directions of each face's two edges in the die's coordinates."""
_PIP_POSITIONS = {
    1: [(0.0, 0.0)],
    2: [(-1.0, -1.0), (1.0, 1.0)],
    3: [(-1.0, -1.0), (0.0, 0.0), (1.0, 1.0)],
    4: [(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)],
    5: [(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 0.0)],
    6: [(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, 0.0), (1.0, 0.0)],
}
TEXTURE_PX = 128


@dataclass(frozen=True, slots=True)
class Lens:
    """A camera: image size and focal length in pixels, position, aim and distortion."""

    width: int = 640
    height: int = 480
    focal_px: float = 640.0
    place_mm: tuple[float, float, float] = (0.0, 0.0, 800.0)
    looks_at_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """k1, k2, p1, p2, as in OpenCV."""
    middle_px: tuple[float, float] | None = None
    """Principal point; None means the middle of the picture."""

    @property
    def middle(self) -> tuple[float, float]:
        """Principal point."""
        return self.middle_px or (self.width / 2 - 0.5, self.height / 2 - 0.5)

    @property
    def matrix(self) -> Array:
        """Camera matrix."""
        x, y = self.middle
        return np.array([[self.focal_px, 0, x], [0, self.focal_px, y], [0, 0, 1]], dtype=float)

    def part(self, left: int, top: int, width: int, height: int, zoom: float = 1.0) -> "Lens":
        """Return the camera for a part of the picture at `zoom` times the resolution.

        The arguments are in pixels of the higher resolution.
        """
        x, y = self.middle
        return replace(
            self,
            width=width,
            height=height,
            focal_px=self.focal_px * zoom,
            middle_px=((x + 0.5) * zoom - 0.5 - left, (y + 0.5) * zoom - 0.5 - top),
        )

    def pose(self) -> tuple[Array, Array]:
        """Return the rotation and translation from the table's axes to the camera's.

        The camera's x axis points right, y down and z ahead.
        """
        return _pose(self.place_mm, self.looks_at_mm)[:2]

    def project(self, points_mm: Array) -> Array:
        """Return the pixel coordinates (n, 2) of points (n, 3) on the table."""
        _, moved, turned = _pose(self.place_mm, self.looks_at_mm)
        found, _ = cv2.projectPoints(
            np.asarray(points_mm, float).reshape(-1, 1, 3),
            turned,
            moved,
            self.matrix,
            np.array(self.distortion),
        )
        return found.reshape(-1, 2)


@lru_cache(maxsize=64)
def _pose(
    place_mm: tuple[float, float, float], looks_at_mm: tuple[float, float, float]
) -> tuple[Array, Array, Array]:
    place, target = np.array(place_mm), np.array(looks_at_mm)
    ahead = (target - place) / np.linalg.norm(target - place)
    # A camera that looks straight down shows the table's y axis pointing up.
    right = np.cross(ahead, np.array([0.0, 1.0, 0.0]))
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(ahead, right), ahead])
    return rotation, -rotation @ place, cv2.Rodrigues(rotation)[0]


@dataclass(frozen=True, slots=True)
class DieMaterial:
    """Material of a die. Colours are in BGR order."""

    body: tuple[int, int, int] = (40, 30, 190)
    pips: tuple[int, int, int] = (240, 245, 245)
    pip_fraction: float = 0.09
    """Radius of a pip, as a fraction of the edge."""
    pitch_fraction: float = 0.27
    """Distance of the outer rows and columns of pips from the face's middle, as a fraction of the edge."""
    translucence: float = 0.25
    """How much of the felt shows through the body, from 0 (nothing) to 1."""
    shine: float = 0.0
    """Strength of the lamp's reflection in the pips, from 0 to 1."""


CASINO_RED = DieMaterial()
IVORY = DieMaterial(body=(205, 225, 232), pips=(25, 25, 25), translucence=0.0, pip_fraction=0.1)
BLACK = DieMaterial(body=(40, 36, 36), pips=(235, 235, 235), translucence=0.0)


@dataclass(frozen=True, slots=True)
class Die:
    """A die's centre, axes (as columns), edge and material."""

    centre_mm: Array
    axes: Array
    edge_mm: float = 19.0
    look: DieMaterial = CASINO_RED


@dataclass(frozen=True, slots=True)
class Light:
    """Lighting: the lamp's direction, brightness, ambient light, gradient, shadows and noise."""

    lamp: tuple[float, float, float] = (0.35, -0.25, 0.9)
    bright: float = 1.0
    ambient: float = 0.55
    slope: float = 0.15
    shadow: float = 0.45
    noise: float = 2.5
    """Standard deviation of a pixel's value, in grey levels."""


def flat_die(
    up: int,
    turn_deg: float,
    place_mm: tuple[float, float],
    edge_mm: float = 19.0,
    look: DieMaterial = CASINO_RED,
) -> Die:
    """Return a die that lies flat on the felt with face `up` on top."""
    normal = NORMALS[up - 1]
    side = NORMALS[1 if up in (1, 3, 4, 6) else 2]
    frame = np.stack([side, np.cross(normal, side), normal])
    turn = np.radians(turn_deg)
    spun = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    return Die(np.array([*place_mm, edge_mm / 2]), spun @ frame, edge_mm, look)


def leaning(die: Die, tilt_deg: float, towards_deg: float) -> Die:
    """Return a die tilted towards a direction, with its lowest corner on the felt."""
    turn, tilt = np.radians(towards_deg), np.radians(tilt_deg)
    about = np.array([-np.sin(turn), np.cos(turn), 0.0]) * tilt
    axes = cv2.Rodrigues(about)[0] @ die.axes
    lean = replace(die, axes=axes)
    middle = die.centre_mm - np.array([0.0, 0.0, float(_corners(lean)[:, 2].min())])
    return replace(lean, centre_mm=middle)


def felt(lens: Lens, colour: tuple[int, int, int], rng: np.random.Generator, marks: bool = False) -> Array:
    """Return the camera's picture of the empty cloth; `marks` adds a line and a ring."""
    grain = rng.normal(0.0, 5.0, (lens.height, lens.width, 1))
    soft = cv2.GaussianBlur(grain, (0, 0), 1.2).reshape(lens.height, lens.width, 1) * 2.0
    base: Array = np.clip(np.array(colour, float) + soft, 0, 255).astype(np.uint8)
    if marks:
        middle = lens.project(np.array([[*lens.looks_at_mm[:2], 0.0]]))[0]
        cv2.circle(base, (int(middle[0]), int(middle[1])), lens.height // 3, (220, 225, 225), 3, cv2.LINE_AA)
        cv2.line(
            base,
            (0, int(middle[1] * 1.5)),
            (lens.width, int(middle[1] * 1.5)),
            (40, 200, 220),
            4,
            cv2.LINE_AA,
        )
    return base


def draw(
    lens: Lens,
    background: Array,
    exposures: Sequence[Sequence[Die]],
    light: Light,
    rng: np.random.Generator,
) -> Array:
    """Return a picture (height, width, 3) of the dice over the background.

    `exposures` are the dice at several times while the shutter is open. Averaging them produces motion blur.
    """
    total: Array = np.zeros(background.shape, np.float32)
    for dice in exposures:
        total += _moment(lens, background, dice, light)
    total /= len(exposures)
    if light.slope:
        ys, xs = np.mgrid[0 : lens.height, 0 : lens.width]
        slope = 1.0 + light.slope * (
            (xs / lens.width - 0.5) * light.lamp[0] - (ys / lens.height - 0.5) * light.lamp[1]
        )
        total = total * slope[..., None]
    total = cv2.GaussianBlur(total * light.bright, (0, 0), 0.7)
    if light.noise:
        total = total + rng.normal(0.0, light.noise, background.shape)
    drawn: Array = np.clip(total, 0, 255).astype(np.uint8)
    return drawn


def _moment(lens: Lens, background: Array, dice: Sequence[Die], light: Light) -> Array:
    picture: Array = background.astype(np.float32)
    lamp = np.array(light.lamp) / np.linalg.norm(light.lamp)
    for die in dice:
        _shade(lens, picture, die, lamp, light.shadow * (1 - 0.6 * die.look.translucence))
    eye = np.array(lens.place_mm)
    for die in sorted(dice, key=lambda each: -float(np.linalg.norm(each.centre_mm - eye))):
        _paint(lens, picture, die, lamp, light.ambient)
    return picture


def _corners(die: Die) -> Array:
    unit = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
    return die.centre_mm + die.edge_mm * unit @ die.axes.T


def _shade(lens: Lens, picture: Array, die: Die, lamp: Array, depth: float) -> None:
    corners = _corners(die)
    fallen = corners - lamp * (corners[:, 2:] / lamp[2])
    outline = cv2.convexHull(lens.project(fallen).astype(np.float32)).reshape(-1, 2)
    left, top = np.maximum(outline.min(axis=0).astype(int) - 8, 0)
    right, bottom = np.minimum(outline.max(axis=0).astype(int) + 9, (lens.width, lens.height))
    if left >= right or top >= bottom:
        return
    mask: Array = np.zeros((bottom - top, right - left), np.float32)
    cv2.fillConvexPoly(mask, np.round(outline - (left, top)).astype(np.int32), 1.0, cv2.LINE_AA)
    mask = cv2.GaussianBlur(mask, (0, 0), 2.0)
    region = picture[top:bottom, left:right]
    region[...] = region * (1 - depth * mask)[..., None]


def _paint(lens: Lens, picture: Array, die: Die, lamp: Array, ambient: float) -> None:
    eye = np.array(lens.place_mm)
    for up in range(1, 7):
        normal = die.axes @ NORMALS[up - 1]
        middle = die.centre_mm + normal * die.edge_mm / 2
        if float(normal @ (eye - middle)) <= 0:
            continue
        side = die.axes @ _FACE_U[up - 1]
        other = die.axes @ _FACE_V[up - 1]
        half = die.edge_mm / 2
        corner_signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        quad = np.array([middle + side * half * a + other * half * b for a, b in corner_signs])
        seen = lens.project(quad).astype(np.float32)
        left, top = np.maximum(np.floor(seen.min(axis=0)).astype(int) - 2, 0)
        right, bottom = np.minimum(np.ceil(seen.max(axis=0)).astype(int) + 3, (lens.width, lens.height))
        if left >= right or top >= bottom:
            continue
        bright = ambient + (1 - ambient) * max(0.0, float(normal @ lamp)) * 1.15
        texture, solid = _texture(die.look, up)
        size = TEXTURE_PX - 1
        source = np.array([[0, 0], [size, 0], [size, size], [0, size]], np.float32)
        warp = cv2.getPerspectiveTransform(source, seen - np.array([left, top], np.float32))
        area = (int(right - left), int(bottom - top))
        coloured = cv2.warpPerspective(
            texture, warp, area, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
        )
        cover = cv2.warpPerspective(solid, warp, area, flags=cv2.INTER_LINEAR)
        region = picture[top:bottom, left:right]
        region += cover[..., None] * (coloured * np.float32(bright) - region)


_textures: dict[tuple[DieMaterial, int], tuple[Array, Array]] = {}


def _texture(look: DieMaterial, up: int) -> tuple[Array, Array]:
    key = (look, up)
    if key not in _textures:
        big = 4 * TEXTURE_PX
        face = np.full((big, big, 3), look.body, np.uint8)
        solid = np.full((big, big), 1.0 - look.translucence, np.float32)
        for x, y in _PIP_POSITIONS[up]:
            at = (int(big * (0.5 + x * look.pitch_fraction)), int(big * (0.5 + y * look.pitch_fraction)))
            radius = int(big * look.pip_fraction)
            cv2.circle(face, at, radius, look.pips, -1, cv2.LINE_AA)
            cv2.circle(solid, at, radius, 1.0, -1)
            if look.shine:
                glint = tuple(int(p + (255 - p) * look.shine) for p in look.pips)
                cv2.circle(
                    face, (at[0] - radius // 4, at[1] - radius // 3), radius // 3, glint, -1, cv2.LINE_AA
                )
        size = (TEXTURE_PX, TEXTURE_PX)
        _textures[key] = (
            cv2.resize(face, size, interpolation=cv2.INTER_AREA).astype(np.float32),
            cv2.resize(solid, size, interpolation=cv2.INTER_AREA),
        )
    return _textures[key]


MOMENTS = 3
"""Exposures per frame, enough for motion blur of up to one die edge in length."""
NOISES, NOISE_STEP_PX = 4, 7
"""Frames cycle through NOISES crops of one noise pattern, and then through the mirrored crops."""
MARGIN_PX = 14
SIGHT_STEP_US = 10_000


@dataclass(frozen=True, slots=True)
class FilmRig:
    """A camera with its lighting, cloth, dice, frame rate, exposure time and zoom of stills."""

    lens: Lens
    light: Light = field(default_factory=Light)
    cloth: tuple[int, int, int] = (60, 110, 30)
    look: DieMaterial = CASINO_RED
    die_mm: float = 19.0
    fps: float = 60.0
    shutter_us: int = 2_000
    zoom: float = 4.0


@dataclass(frozen=True, slots=True)
class Motion:
    """Poses of the dice over time: centres (mm) and axes."""

    t_us: Sequence[int]
    poses: Sequence[tuple[Array, Array]]

    def at(self, t_us: float, film_rig: FilmRig) -> list[Die]:
        """Return the dice at a time. Centres are interpolated; axes are those of the nearest pose."""
        after = min(max(bisect_right(self.t_us, t_us), 1), len(self.t_us) - 1)
        before = after - 1
        span = self.t_us[after] - self.t_us[before]
        fraction = min(max((t_us - self.t_us[before]) / span, 0.0), 1.0)
        nearest = after if fraction > 0.5 else before
        middles = self.poses[before][0] * (1 - fraction) + self.poses[after][0] * fraction
        axes = self.poses[nearest][1]
        return [Die(middles[at], axes[at], film_rig.die_mm, film_rig.look) for at in range(len(middles))]


class Filming:
    """One camera's video of a throw."""

    def __init__(self, film_rig: FilmRig, seed: int) -> None:
        """Set up the camera over an empty table."""
        self.film_rig = film_rig
        self._rng = np.random.default_rng(seed)
        lens, light = film_rig.lens, film_rig.light
        self._cloth = felt(lens, film_rig.cloth, self._rng, marks=True)
        plain = replace(light, noise=0.0)
        self._empty = draw(lens, self._cloth, [[]], plain, self._rng)
        height, width, _ = self._empty.shape
        reach = NOISE_STEP_PX * NOISES
        grain = self._rng.normal(0.0, light.noise, (height + reach, width + reach, 3)).astype(np.int16)
        self._noises = [grain[at : at + height, at : at + width] for at in range(0, reach, NOISE_STEP_PX)]
        self._count = 0
        self._bare: dict[int, Array] = {}
        """Cached pictures of the empty table with noise, by the frame's number in the cycle."""

    def lay_chip(self, place_mm: tuple[float, float], colour: tuple[int, int, int], across_mm: float) -> None:
        """Place a chip on the felt, where it is visible in all later frames."""
        turns = np.linspace(0.0, 2 * np.pi, 48)
        x, y = place_mm
        rim = [(x + across_mm / 2 * np.cos(turn), y + across_mm / 2 * np.sin(turn), 0.0) for turn in turns]
        outline = np.round(self.film_rig.lens.project(np.array(rim))).astype(np.int32)
        cv2.fillPoly(self._empty, [outline], colour, cv2.LINE_AA)
        self._bare.clear()

    def empty(self) -> Array:
        """Return a picture of the table without dice."""
        return self._under_noise()[0]

    def frames(
        self, motion: Motion, until_us: int, from_us: int = 0
    ) -> Iterator[tuple[int, Array, "RenderedStill"]]:
        """Yield the time, the picture and the still of each frame from `from_us` to `until_us`."""
        step = 1e6 / self.film_rig.fps
        for count in range(int(from_us / step), int(until_us / step)):
            t_us = round(count * step)
            moments = 1 if t_us > motion.t_us[-1] else MOMENTS
            opened = [t_us + self.film_rig.shutter_us * at / moments for at in range(moments)]
            exposures = [motion.at(t, self.film_rig) for t in opened]
            yield t_us, self._frame(exposures), RenderedStill(self, exposures)

    def in_sight_us(self, motion: Motion) -> int:
        """Return the time at which a die or its shadow first comes into view, or the motion's end."""
        lens = self.film_rig.lens
        for t_us in range(motion.t_us[0], motion.t_us[-1], SIGHT_STEP_US):
            for die in motion.at(t_us, self.film_rig):
                low, high = self._box([die], lens, MARGIN_PX)
                if bool(np.all(high > low)):
                    return t_us
        return motion.t_us[-1]

    def _frame(self, exposures: Sequence[Sequence[Die]]) -> Array:
        picture, noise = self._under_noise()
        # Dice can overlap in the picture, so they are all drawn before noise is added.
        dice: list[tuple[slice, slice]] = []
        clean = self._empty.copy()
        lens = self.film_rig.lens
        for die in range(len(exposures[0])):
            die_exposures = [moment[die] for moment in exposures]
            low, high = self._box(die_exposures, lens, MARGIN_PX)
            if bool(np.any(high <= low)):
                continue
            near = [list(moment) for moment in exposures]
            part = lens.part(int(low[0]), int(low[1]), int(high[0] - low[0]), int(high[1] - low[1]))
            box = (slice(low[1], high[1]), slice(low[0], high[0]))
            clean[box] = draw(part, self._empty[box], near, self._plain(), self._rng)
            dice.append(box)
        for box in dice:
            picture[box] = _add_noise(clean[box], noise[box])
        return picture

    def still(self, exposures: Sequence[Sequence[Die]], low: Array, high: Array) -> Array:
        """Return a part of the high-resolution picture; `low` and `high` are its corners in that picture."""
        zoom = self.film_rig.zoom
        width, height = int(high[0] - low[0]), int(high[1] - low[1])
        part = self.film_rig.lens.part(int(low[0]), int(low[1]), width, height, zoom)
        from_px, to_px = np.floor_divide(low, zoom).astype(int), np.ceil(np.asarray(high) / zoom).astype(int)
        behind = self._empty[from_px[1] : to_px[1], from_px[0] : to_px[0]]
        large = cv2.resize(behind, (width, height), interpolation=cv2.INTER_LINEAR)
        light = replace(self.film_rig.light, slope=0.0, bright=1.0)
        return draw(part, large, exposures, light, self._rng)

    def _plain(self) -> Light:
        return replace(self.film_rig.light, noise=0.0, slope=0.0, bright=1.0)

    def _box(self, dice: Sequence[Die], lens: Lens, margin: int) -> tuple[Array, Array]:
        lamp = np.array(self.film_rig.light.lamp)
        reach = []
        for die in dice:
            half = die.edge_mm * 0.87
            corners = die.centre_mm + half * np.array(
                [[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
            )
            reach += [corners, corners - lamp * (np.maximum(corners[:, 2:], 0) / lamp[2])]
        seen = lens.project(np.concatenate(reach))
        low = np.clip(np.floor(seen.min(axis=0)) - margin, 0, (lens.width, lens.height)).astype(int)
        high = np.clip(np.ceil(seen.max(axis=0)) + margin, 0, (lens.width, lens.height)).astype(int)
        return low, high

    def _under_noise(self) -> tuple[Array, Array]:
        """Return a new noisy picture of the empty table, and the noise."""
        self._count += 1
        key = self._count % (2 * NOISES)
        noise = self._noises[key % NOISES]
        if key >= NOISES:
            noise = noise[::-1]
        if key not in self._bare:
            self._bare[key] = _add_noise(self._empty, noise)
        return self._bare[key].copy(), noise


def _add_noise(picture: Array, noise: Array) -> Array:
    noisy: Array = cv2.add(picture, np.ascontiguousarray(noise), dtype=cv2.CV_8U)
    return noisy


class RenderedStill:
    """A still that is rendered on demand."""

    def __init__(self, filming: Filming, exposures: Sequence[Sequence[Die]]) -> None:
        """Store the exposures to render."""
        self._filming = filming
        self._exposures = exposures
        self.zoom = filming.film_rig.zoom

    def around(self, place: Array, margin: float) -> tuple[Array, Array]:
        """Return the picture around a point of the frame, and its upper left corner in the still."""
        lens = self._filming.film_rig.lens
        limit = np.array([lens.width, lens.height]) * self.zoom
        low = np.maximum((place - margin) * self.zoom, 0).astype(int)
        high = np.minimum((place + margin) * self.zoom, limit).astype(int)
        return self._filming.still(self._exposures, low, high), low
