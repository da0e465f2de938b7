"""Draws the pictures for the camera's page in the technician's guide.

`python -m tests.drivers.vision.guide_pictures docs/pictures/camera` updates the pictures.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

from controller.cli.camera_live import annotate
from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from tests.cli.test_camera_faults import FAULTS
from tests.drivers.vision.films import filming, rig, thrown
from tests.drivers.vision.sheets import seen
from tests.drivers.vision.test_calibration import LENS, LYING, TABLE

AT_US = 700_000
WIDE, HIGH = 400, 300
QUALITY = 80


def followed() -> tuple[Array, Array]:
    """Return a frame of two dice at rest with the overlay of `camera live`."""
    camera = filming()
    follower = Follower(rig(), camera.empty())
    picture = camera.empty()
    for t_us, frame, still in camera.frames(thrown(6, 3), AT_US):
        picture = frame
        follower.frame(t_us, frame, still)
    return picture, annotate(picture, follower.tracks(), "following")


def faults(picture: Array) -> Array:
    """Return the frame with each of the six view faults, side by side."""
    tiles = []
    for says, (code, spoil) in FAULTS.items():
        tile = cv2.resize(spoil(AT_US, picture), (WIDE, HIGH), interpolation=cv2.INTER_AREA)
        tile = cv2.copyMakeBorder(tile, 0, 34, 0, 0, cv2.BORDER_CONSTANT, value=(255, 255, 255))
        words = f"{code}: {says}"
        cv2.putText(tile, words, (8, HIGH + 22), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1, cv2.LINE_AA)
        tiles.append(tile)
    rows: Array = np.vstack([np.hstack(tiles[:3]), np.hstack(tiles[3:])])
    return rows


def main() -> None:
    """Write the pictures to the folder given on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    picture, live = followed()
    lying = seen(LENS, *LYING["left-front"], walls=TABLE)
    board = cv2.resize(lying, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    drawn = {"live": live, "faults": faults(picture), "board-in-its-corner": board}
    for name, image in drawn.items():
        cv2.imwrite(str(folder / f"{name}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


if __name__ == "__main__":
    main()
