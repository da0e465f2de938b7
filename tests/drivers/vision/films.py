"""Renders videos of two dice that slide into view, rotate, and come to rest, with their actual positions."""

import numpy as np

from controller.model.geometry import DiceTable
from drivers.sim.filming import Die, Filming, FilmRig, Lens, Motion, flat_die
from drivers.vision.arrays import Array
from drivers.vision.rig import LensSettings, Rig, RigFile

LENS = Lens(place_mm=(150.0, 100.0, 250.0), looks_at_mm=(150.0, 100.0, 0.0), focal_px=800.0)
FILM_RIG = FilmRig(LENS, fps=30.0, zoom=1.0)
TABLE = DiceTable(length_mm=300.0, width_mm=200.0, die_mm=19.0, wall_relief_mm=0.0)


def rig() -> Rig:
    """Return the rig of the rendering camera, with points measured on the felt."""
    return rig_through(LENS)


def rig_through(seeing: Lens) -> Rig:
    places = np.array([[70, 50, 0], [230, 50, 0], [230, 150, 0], [70, 150, 0], [150, 100, 0]], float)
    pixels = seeing.project(places)
    points = tuple(
        (float(x), float(y), float(place[0]), float(place[1]))
        for (x, y), place in zip(pixels, places, strict=True)
    )
    lens = LensSettings(focal_px=(seeing.focal_px, seeing.focal_px), middle_px=seeing.middle)
    return Rig(RigFile(camera="cam", table=TABLE, points=points, lens=lens))


def sliding(dice: list[tuple[Die, float]], seconds: float = 1.2) -> Motion:
    """Return dice that come from the left, each with the time at which it comes to rest, in seconds."""
    times = list(range(0, int(seconds * 1e6), 10_000))
    poses: list[tuple[Array, Array]] = []
    for t_us in times:
        left = [max(0.0, arrives - t_us / 1e6) for _, arrives in dice]
        centres = np.array(
            [die.centre_mm - (900 * ahead, 0, 0) for (die, _), ahead in zip(dice, left, strict=True)]
        )
        axes = np.array([_turned(8 * ahead) @ die.axes for (die, _), ahead in zip(dice, left, strict=True)])
        poses.append((centres, axes))
    return Motion(times, poses)


def _turned(angle: float) -> Array:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1.0]])


def thrown(first: int, second: int) -> Motion:
    return sliding(
        [(flat_die(first, 20.0, (190.0, 70.0)), 0.45), (flat_die(second, 65.0, (160.0, 130.0)), 0.5)]
    )


def filming(seed: int = 1) -> Filming:
    return Filming(FILM_RIG, seed)
