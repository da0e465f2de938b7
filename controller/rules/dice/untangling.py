"""Names that were exchanged for certain: both tracks leap, each into the other die's way.

A die that passes the other at five metres a second is 55 mm further in the next frame. A camera that takes
the one for the other there lets both tracks leap by that, which no die can, and which both tell of alike.
"""

from bisect import bisect_left
from math import hypot

from controller.rules.dice.meetings import exchanged_after, reach_mm
from controller.rules.dice.paths import Path, measure
from controller.rules.dice.scene import Scene

MOST_LEAPS = 6
"""More than this many leaps are no exchanges: then the camera followed something else."""
FRAMES = 2.5
"""A leap within so many frames of another is the same one, told by the speeds around it."""


def untangled(scene: Scene, paths: tuple[Path, Path]) -> tuple[Path, Path]:
    """Return the paths with the tails exchanged where the dice met and that leaves no leap."""
    near_ms = FRAMES * scene.errors.frame_ms
    leaps = sorted({jump.t for path in paths for jump in path.jumps})
    for t in leaps if len(leaps) <= MOST_LEAPS else ():
        if not _leaps_near(paths, t, near_ms):
            continue
        exchanged = exchanged_after(paths, t)
        for path in exchanged:
            measure(scene, path)
        if not _leaps_near(exchanged, t, near_ms) and _passed(exchanged, t) <= reach_mm(scene):
            paths = exchanged
    return paths


def _leaps_near(paths: tuple[Path, Path], t: float, near_ms: float) -> bool:
    return any(abs(jump.t - t) <= near_ms for path in paths for jump in path.jumps)


def _passed(paths: tuple[Path, Path], t: float) -> float:
    """Return how near each other the dice came in the step across a moment, in mm."""
    (one, i), (two, j) = ((path, bisect_left(path.times, t)) for path in paths)
    if not (0 < i < len(one.times) and 0 < j < len(two.times)):
        return float("inf")
    x, y = one.xs[i - 1] - two.xs[j - 1], one.ys[i - 1] - two.ys[j - 1]
    dx, dy = one.xs[i] - two.xs[j] - x, one.ys[i] - two.ys[j] - y
    way = dx * dx + dy * dy
    share = min(max(-(x * dx + y * dy) / way, 0.0), 1.0) if way > 0.0 else 0.0
    return hypot(x + share * dx, y + share * dy)
