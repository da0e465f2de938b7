"""A doubtful throw with the camera's files, for tests and for screenshots."""

from itertools import count

import cv2
import msgspec
import numpy as np

from controller.cli.camera_watching import Album
from controller.evidence.pictures import Closed, Folder
from controller.model.readings import DieRest, Reading
from drivers.vision.stills import Crop
from tests.console.rig import Screens
from tests.drivers.vision.scenes import pair, still
from tests.scenes import throw

taken = count(1)


def photographs() -> list[Closed]:
    """Return a camera's files of two dice, which show 3 and 4."""
    kept: list[Closed] = []
    one = Album("cam", kept.append)
    frame = cv2.resize(still(*pair(3, 4)), (640, 480))
    for die, up, left, top in ((1, 3, 130, 200), (2, 4, 330, 80)):
        for _ in range(4):
            one.frame(next(taken) * 33_000, frame, [], lambda _die: ())
        rest = DieRest(t=1, dev="cam", die=die, x=1, y=1, up=up, confidence=0.4)  # type: ignore[arg-type]
        cut = np.ascontiguousarray(frame[top : top + 180, left : left + 180])
        looks = [Crop(next(taken) * 33_000, cut) for _ in range(2)]
        one.frame(next(taken) * 33_000, frame, [rest], lambda _die, looks=looks: looks)  # type: ignore[misc]
    return kept


def reviewed(screens: Screens, album: list[Closed]) -> None:
    """Throw dice whose faces are doubtful. Their readings at rest name these pictures."""
    names = {1: album[0].sha256, 2: album[1].sha256}
    readings: list[Reading] = [
        msgspec.structs.replace(one, pictures=names[one.die]) if isinstance(one, DieRest) else one
        for one in throw(0, (3, 4), confidence=0.4)
    ]
    screens.play(readings)  # type: ignore[arg-type]


def kept_by(screens: Screens, album: list[Closed]) -> Folder:
    """Write the files to the console's folder of pictures."""
    folder = Folder(screens.kept)
    folder.begin()
    for closed in album:
        folder.keep(closed, 1_800_000_000.0)
    return folder
