"""Draw dice on a table as a camera sees them: perspective, lens, lamp, shadows, blur, translucence, noise.

Lengths in millimetres on the table: x, y on the felt, z up. Needs the extra `vision`. What is drawn is what
the tests of the dice camera read, so it is no kinder than a real picture: flanks show, pips shine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np

from drivers.vision.arrays import Array

NORMALS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0, -1, 0], [-1, 0, 0]], dtype=float)
"""Outward normals of the faces 1 to 6 in the die's own axes, as the thrown bodies have them."""
_SIDES = NORMALS[[1, 2, 1, 1, 2, 1]]
_OTHERS = np.cross(NORMALS, _SIDES)
"""Along each face's two sides, in the die's own axes."""
_SITES = {
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
    """A camera: size and focal length in pixels, where it hangs, at what it looks, how it distorts."""

    width: int = 640
    height: int = 480
    focal_px: float = 640.0
    place_mm: tuple[float, float, float] = (0.0, 0.0, 800.0)
    looks_at_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """k1, k2, p1, p2, as OpenCV has them."""
    middle_px: tuple[float, float] | None = None
    """Where its axis meets the picture; None: in the middle."""

    @property
    def middle(self) -> tuple[float, float]:
        """Return where its axis meets the picture."""
        return self.middle_px or (self.width / 2 - 0.5, self.height / 2 - 0.5)

    @property
    def matrix(self) -> Array:
        """Return the camera matrix."""
        x, y = self.middle
        return np.array([[self.focal_px, 0, x], [0, self.focal_px, y], [0, 0, 1]], dtype=float)

    def part(self, left: int, top: int, width: int, height: int, zoom: float = 1.0) -> "Lens":
        """Return what sees one part of the picture, `zoom` times as finely: lengths in its own pixels."""
        x, y = self.middle
        return replace(
            self,
            width=width,
            height=height,
            focal_px=self.focal_px * zoom,
            middle_px=((x + 0.5) * zoom - 0.5 - left, (y + 0.5) * zoom - 0.5 - top),
        )

    def pose(self) -> tuple[Array, Array]:
        """Return rotation and translation from the table's axes to the camera's: x right, y down, z ahead."""
        return _pose(self.place_mm, self.looks_at_mm)[:2]

    def seen(self, points_mm: Array) -> Array:
        """Return the pixels (n, 2) of places (n, 3)."""
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
    """Return rotation, translation, and the rotation as a vector, of a camera there that looks there."""
    place, target = np.array(place_mm), np.array(looks_at_mm)
    ahead = (target - place) / np.linalg.norm(target - place)
    # The table's y points up in the picture where the camera looks straight down.
    right = np.cross(ahead, np.array([0.0, 1.0, 0.0]))
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(ahead, right), ahead])
    return rotation, -rotation @ place, cv2.Rodrigues(rotation)[0]


@dataclass(frozen=True, slots=True)
class Look:
    """What a die is made of. Colours are blue, green, red."""

    body: tuple[int, int, int] = (40, 30, 190)
    pips: tuple[int, int, int] = (240, 245, 245)
    pip_share: float = 0.09
    """A pip's radius over the edge."""
    pitch_share: float = 0.27
    """From the middle of a face to its outer rows of pips, over the edge."""
    through: float = 0.25
    """How much of what is behind it a translucent body lets through; 0: opaque."""
    shine: float = 0.0
    """How strongly a lamp shows in its pips, 0 to 1."""


CASINO_RED = Look()
IVORY = Look(body=(205, 225, 232), pips=(25, 25, 25), through=0.0, pip_share=0.1)
BLACK = Look(body=(40, 36, 36), pips=(235, 235, 235), through=0.0)


@dataclass(frozen=True, slots=True)
class Die:
    """A die somewhere: middle, own axes (columns), edge, look."""

    centre_mm: Array
    axes: Array
    edge_mm: float = 19.0
    look: Look = CASINO_RED


@dataclass(frozen=True, slots=True)
class Light:
    """The room: the lamp's direction, brightness, what comes from all around, its slope, noise."""

    lamp: tuple[float, float, float] = (0.35, -0.25, 0.9)
    bright: float = 1.0
    ambient: float = 0.55
    slope: float = 0.15
    shadow: float = 0.45
    noise: float = 2.5
    """Standard deviation of a pixel, grey levels."""


def standing(
    up: int, turn_deg: float, place_mm: tuple[float, float], edge_mm: float = 19.0, look: Look = CASINO_RED
) -> Die:
    """Return a die that lies flat on the felt with this face up."""
    normal = NORMALS[up - 1]
    side = NORMALS[1 if up in (1, 3, 4, 6) else 2]
    frame = np.stack([side, np.cross(normal, side), normal])
    turn = np.radians(turn_deg)
    spun = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    return Die(np.array([*place_mm, edge_mm / 2]), spun @ frame, edge_mm, look)


def leaning(die: Die, tilt_deg: float, towards_deg: float) -> Die:
    """Return a die that leans that way from where it lay, its lowest corner on the felt."""
    turn, tilt = np.radians(towards_deg), np.radians(tilt_deg)
    about = np.array([-np.sin(turn), np.cos(turn), 0.0]) * tilt
    axes = cv2.Rodrigues(about)[0] @ die.axes
    lean = replace(die, axes=axes)
    middle = die.centre_mm - np.array([0.0, 0.0, float(_corners(lean)[:, 2].min())])
    return replace(lean, centre_mm=middle)


def felt(lens: Lens, colour: tuple[int, int, int], rng: np.random.Generator, marks: bool = False) -> Array:
    """Return the empty table as this camera sees it: cloth with its grain, and a printed line and ring."""
    grain = rng.normal(0.0, 5.0, (lens.height, lens.width, 1))
    soft = cv2.GaussianBlur(grain, (0, 0), 1.2).reshape(lens.height, lens.width, 1) * 2.0
    base: Array = np.clip(np.array(colour, float) + soft, 0, 255).astype(np.uint8)
    if marks:
        middle = lens.seen(np.array([[*lens.looks_at_mm[:2], 0.0]]))[0]
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

    `exposures` are the dice at moments while the shutter was open: their mean is the motion blur.
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
        _shade(lens, picture, die, lamp, light.shadow * (1 - 0.6 * die.look.through))
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
    outline = cv2.convexHull(lens.seen(fallen).astype(np.float32)).reshape(-1, 2)
    left, top = np.maximum(outline.min(axis=0).astype(int) - 8, 0)
    right, bottom = np.minimum(outline.max(axis=0).astype(int) + 9, (lens.width, lens.height))
    if left >= right or top >= bottom:
        return
    mask: Array = np.zeros((bottom - top, right - left), np.float32)
    cv2.fillConvexPoly(mask, np.round(outline - (left, top)).astype(np.int32), 1.0, cv2.LINE_AA)
    mask = cv2.GaussianBlur(mask, (0, 0), 2.0)
    there = picture[top:bottom, left:right]
    there[...] = there * (1 - depth * mask)[..., None]


def _paint(lens: Lens, picture: Array, die: Die, lamp: Array, ambient: float) -> None:
    eye = np.array(lens.place_mm)
    for up in range(1, 7):
        normal = die.axes @ NORMALS[up - 1]
        middle = die.centre_mm + normal * die.edge_mm / 2
        if float(normal @ (eye - middle)) <= 0:
            continue
        side = die.axes @ _SIDES[up - 1]
        other = die.axes @ _OTHERS[up - 1]
        half = die.edge_mm / 2
        ways = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        quad = np.array([middle + side * half * a + other * half * b for a, b in ways])
        seen = lens.seen(quad).astype(np.float32)
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
        there = picture[top:bottom, left:right]
        there += cover[..., None] * (coloured * np.float32(bright) - there)


_textures: dict[tuple[Look, int], tuple[Array, Array]] = {}


def _texture(look: Look, up: int) -> tuple[Array, Array]:
    """Return a face's colours and how solid each of its points is."""
    key = (look, up)
    if key not in _textures:
        big = 4 * TEXTURE_PX
        face = np.full((big, big, 3), look.body, np.uint8)
        solid = np.full((big, big), 1.0 - look.through, np.float32)
        for x, y in _SITES[up]:
            at = (int(big * (0.5 + x * look.pitch_share)), int(big * (0.5 + y * look.pitch_share)))
            radius = int(big * look.pip_share)
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
