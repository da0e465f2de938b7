"""Measure the dice camera on one core, next to the decoding of a frame."""

import resource
import sys
import time
from collections.abc import Callable
from statistics import median

import cv2

from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from drivers.vision.reading import read_picture
from drivers.vision.stills import CROP_EDGES
from tests.benchmarks.figures import Figure, hand_over
from tests.drivers.vision.films import filming, rig, thrown
from tests.drivers.vision.scenes import EDGE_PX, pair, still

STILL_MS, FOLLOW_MS, MEMORY_MB = 50.0, 12.0, 250.0
"""Goals for reading the dice in a still, following a frame, and the process's memory, at 640 x 480."""
TIMES = 25


def _ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def _around(picture: Array, x: float, y: float) -> Array:
    """Return the part of a picture in which the camera reads a die that has come to rest."""
    reach = round(CROP_EDGES * EDGE_PX)
    return picture[max(0, round(y) - reach) : round(y) + reach, max(0, round(x) - reach) : round(x) + reach]


def main() -> int:
    cv2.setNumThreads(1)
    picture = still(*pair(5, 6))
    _, packed = cv2.imencode(".jpg", picture)
    floor = median(_ms(lambda: cv2.imdecode(packed, cv2.IMREAD_COLOR)) for _ in range(TIMES))
    whole = median(_ms(lambda: read_picture(picture, EDGE_PX, 2)) for _ in range(TIMES))
    around = [_around(picture, die.x, die.y) for die in read_picture(picture, EDGE_PX, 2).dice]
    reading = median(_ms(lambda: [read_picture(part, EDGE_PX) for part in around]) for _ in range(TIMES))
    camera = filming()
    follower = Follower(rig(), camera.empty())
    followed = []
    for t_us, frame, _ in camera.frames(thrown(5, 6), 480_000):
        followed.append(_ms(lambda t_us=t_us, frame=frame: follower.frame(t_us, frame)))  # type: ignore[misc]  # mypy infers no lambda with defaults
    following = median(followed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    beside = "decoding the frame"
    hand_over(
        Figure("dice camera, two dice at rest", reading, floor, "ms", beside),
        Figure("dice camera, a whole picture", whole, floor, "ms", beside),
        Figure("dice camera, a frame followed", following, floor, "ms", beside),
    )
    sys.stdout.write(
        f"dice camera, 640 x 480: {len(around)} dice at rest read {reading:.1f} ms ({reading / floor:.1f} x"
        f" decoding the frame; goal {STILL_MS:.0f} ms), a whole picture searched and read {whole:.1f} ms"
        f" ({whole / floor:.1f} x), a frame followed {following:.1f} ms ({following / floor:.1f} x; goal"
        f" {FOLLOW_MS:.0f} ms), {memory:.0f} MB (goal {MEMORY_MB:.0f})\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
