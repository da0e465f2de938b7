"""Renders pictures of dice under a camera over a table."""

import numpy as np

from drivers.sim.filming import CASINO_RED, Die, DieMaterial, Lens, Light, draw, felt, flat_die
from drivers.vision.arrays import Array

GREEN = (60, 110, 30)
ABOVE = Lens(place_mm=(0.0, 0.0, 190.0))
EDGE_PX = 67.6  # edge of a 19 mm die under the camera, at mid-height: 640 px x 19 mm / (190 - 10) mm


def still(
    *dice: Die,
    seed: int = 1,
    lens: Lens = ABOVE,
    light: Light | None = None,
    cloth: tuple[int, int, int] = GREEN,
) -> Array:
    rng = np.random.default_rng(seed)
    return draw(lens, felt(lens, cloth, rng, marks=True), [dice], light or Light(), rng)


ASLANT = Lens(760, 960, 1200.0, (3450.0, 550.0, 1500.0), (3180.0, 550.0, 0.0))
"""A camera over the end of a 3600 by 1100 mm table, mounted as described in the guide."""
ASLANT_ZOOM, ASLANT_EDGE_PX = 4.0, 61.0
DIM_LENS = Lens(760, 960, 1200.0, (3470.0, 510.0, 1480.0), (3180.0, 550.0, 0.0))
DIM_LIGHT, GREY = Light(lamp=(0.1, 0.5, 0.9), bright=0.8), (70, 70, 75)
BLUE = DieMaterial(body=(150, 70, 25), pips=(240, 240, 240), translucence=0.15)
"""Dim light over a grey cloth, and dice whose sides differ little from their tops."""


def seen_aslant(
    die: Die, light: Light, *beside: Die, lens: Lens = ASLANT, cloth: tuple[int, int, int] = GREEN
) -> Array:
    """Return the part of the camera's still around a die on the felt, with other dice beside it."""
    half = 76
    left, top = np.round(lens.project(die.centre_mm[None])[0] * ASLANT_ZOOM).astype(int) - half
    part = lens.part(int(left), int(top), 2 * half, 2 * half, ASLANT_ZOOM)
    rng = np.random.default_rng(1)
    return draw(part, felt(part, cloth, rng), [[die, *beside]], light, rng)


def pair(first: int, second: int, *, seed: int = 1, look: DieMaterial = CASINO_RED) -> tuple[Die, Die]:
    """Return two dice that do not touch, with random rotations."""
    rng = np.random.default_rng(seed)
    turns = rng.uniform(0.0, 90.0, 2)
    return (
        flat_die(first, float(turns[0]), (-30.0, float(rng.uniform(-20, 20))), look=look),
        flat_die(second, float(turns[1]), (25.0, float(rng.uniform(-20, 20))), look=look),
    )
