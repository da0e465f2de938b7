"""Renders a video of two dice that bounce off the right wall together, with the impacts on the wall."""

from pathlib import Path

import cv2
import numpy as np

from controller.model.geometry import DiceTable
from controller.model.readings import Face, WallImpact
from drivers.sim.filming import Die, Filming, FilmRig, Motion, flat_die
from drivers.vision.arrays import Array
from tests.drivers.vision.films import LENS

TABLE = DiceTable(length_mm=3600.0, width_mm=1100.0, die_mm=19.0, wall_relief_mm=0.0)
EDGE_MM, OFF_X_MM, OFF_Y_MM = 240.0, 3360.0, 450.0
"""The right wall's position on the rendered felt, and the position of the felt's corner on the table."""
FPS = 60.0
EMPTY_FRAMES = 60
"""Number of frames from which the camera learns the empty table."""
OUT_MM_S, BACK_MM_S = 700.0, 350.0
CONTACT_MM = EDGE_MM - TABLE.die_mm / 2
HITS_US = (400_000, 430_000)
DELAY_US = 1_000
SEEN_US = 183_333
"""The time of the first frame in which a die is clear of the border. The path begins at 0."""
RIG = """
camera: cam
table: {length_mm: 3600, width_mm: 1100, die_mm: 19, wall_relief_mm: 0}
points: [[30, 40, 3430, 600], [600, 40, 3590, 600], [600, 440, 3590, 500], [30, 440, 3430, 500]]
"""


def dice_of(first: Face, second: Face) -> tuple[Die, Die]:
    return flat_die(first, 20.0, (170.0, 70.0)), flat_die(second, 65.0, (150.0, 130.0))


def way_of(first: Face, second: Face) -> Motion:
    """Return the path of the dice to the wall, back, and to rest."""
    dice = dice_of(first, second)
    times = list(range(0, 1_400_000, 4_000))
    poses: list[tuple[Array, Array]] = []
    for t_us in times:
        centres, axes = [], []
        for die, hit_us in zip(dice, HITS_US, strict=True):
            x, y, z = die.centre_mm
            if t_us < hit_us:
                place = CONTACT_MM - OUT_MM_S * (hit_us - t_us) / 1e6
            else:
                place = max(x, CONTACT_MM - BACK_MM_S * (t_us - hit_us) / 1e6)
            centres.append((place, y, z))
            axes.append(die.axes)
        poses.append((np.array(centres), np.array(axes)))
    return Motion(times, poses)


def film(path: Path, first: Face, second: Face) -> list[WallImpact]:
    """Write the video; return the wall's impacts, with times relative to the first release."""
    camera = Filming(FilmRig(LENS, fps=FPS, zoom=1.0), 1)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (LENS.width, LENS.height))
    for _ in range(EMPTY_FRAMES):
        writer.write(camera.empty())
    for _, frame, _ in camera.frames(way_of(first, second), 1_300_000):
        writer.write(frame)
    for _ in range(20):
        writer.write(camera.empty())
    writer.release()
    return [
        WallImpact(t=hit_us + DELAY_US - SEEN_US, dev="wall-right", wall="right", pos_mm=y, peak=900.0)
        for hit_us, y in zip(HITS_US, (OFF_Y_MM + 70.0, OFF_Y_MM + 130.0), strict=True)
    ]
