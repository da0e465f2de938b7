"""Dice that push each other at a wall: one turns away from it, the other is knocked back into it.

What a knock gives a die points from the other die to it, give or take the slant of a face and what friction
adds. So the die that pushes lies nearer the wall, and is the one that may strike it again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import combinations
from math import hypot, inf
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.contacts import Contact
from controller.rules.dice.motion import line_from, line_until, turn_between
from controller.rules.dice.paths import LEAST_NOISE_MM, Path, approach_to
from controller.rules.dice.scene import Scene

SHARE = 0.35
"""The least share of a push that points away from the wall, by the dice's centres: the cosine of 70 degrees.
Faces that meet lie up to 45 degrees askew of that line, and friction of 0.5 adds 25."""
ERRORS = 1.2
"""How well it is known how much nearer the wall one die is, in errors of a track point: each place is carried
over half a frame from three points on one side, or five on both (0.85 errors), and there are two of them."""
SAME_MS = 6.0
"""A turn so near a moment is where the die was then: half a frame."""
BACK_MS = 8.0
"""A die is off the wall and back no sooner: at a metre a second it gets four millimetres away meanwhile."""


Seen = tuple[Path, Sequence[Contact]]
Pair = tuple[Seen, Seen]
"""Two dice, each by its path and its contacts: the one that was pushed, and the one that pushed it."""


class Place(NamedTuple):
    """A die's place at a moment, from a wall and along it, in mm."""

    gap_mm: float
    along_mm: float


def push_price(scene: Scene, pair: Pair, wall: str, t: float) -> float:
    """Return the price of the second die's having pushed the first away from a wall at a moment.

    Infinite where it was out of reach, or one of them was not in sight.
    """
    one, two = (_place(scene, path, contacts, wall, t) for path, contacts in pair)
    if one is None or two is None:
        return inf
    noise = max(scene.errors.track_noise_mm, LEAST_NOISE_MM)
    away = one.gap_mm - two.gap_mm
    apart = hypot(away, one.along_mm - two.along_mm)
    if apart > 2.0 * bands.contact_most(scene.table) + 2.0 * noise:
        return inf
    edge = scene.table.die_mm
    short = max(SHARE * max(apart, edge) - away, 0.0) / (ERRORS * noise)
    room = max(edge - apart, 0.0) / (ERRORS * noise)
    return bands.PUSHED + short * short + min(room * room, bands.ABOVE)


def overlap(scene: Scene, pair: Pair, wall: str, t: float) -> bool:
    """Return whether two dice seem to lie in each other at a moment: they met between two frames."""
    one, two = (_place(scene, path, contacts, wall, t) for path, contacts in pair)
    if one is None or two is None:
        return False
    return hypot(one.gap_mm - two.gap_mm, one.along_mm - two.along_mm) < scene.table.die_mm


def may_be_thrown_back(scene: Scene, paths: tuple[Path, Path], impacts: Sequence[int]) -> bool:
    """Return whether a second of these impacts may be of the die that made the first.

    So where the dice lay against each other between both: a die may strike the wall, and the other throw it
    back into it, all within a frame or two. Then what touched cannot be read from two tracks and two sounds.
    """
    near_mm = 2.0 * bands.MEAN_EDGES * scene.table.die_mm
    delay_ms = 0.5 * sum(scene.errors.impact_delay_ms)
    return any(
        first.wall == second.wall
        and BACK_MS <= (second.t - first.t) / 1000.0 <= bands.SHOVED_MS
        and any(_apart_mm(paths, scene.ms(impact.t) - delay_ms) <= near_mm for impact in (first, second))
        for first, second in combinations((scene.impacts[i] for i in impacts), 2)
    )


def back_price(scene: Scene, path: Path, wall: str, t: float, fastest: float) -> float:
    """Return the price of a die's having been at a wall at a moment, and where it was seen before and after.

    A wall and a knock only slow the dice, so none flies faster than the fastest of the throw, in m/s.
    """
    least, most = scene.errors.impact_delay_ms
    spare = 0.5 * (most - least) + bands.CLOCKS_MS
    way = approach_to(scene, path, wall)
    k = min(max(bisect_right(path.times, t) - 1, 0), len(path.times) - 2)
    band = bands.contact_most(scene.table)
    short = min(
        max(way.gaps[k] - band - fastest * max(at - path.times[k], 0.0), 0.0)
        + max(way.gaps[k + 1] - band - fastest * max(path.times[k + 1] - at, 0.0), 0.0)
        for at in (t - spare, t, t + spare)
    )
    return (short / way.noise(k, k + 1)) ** 2


def seen_before(path: Path, t: float) -> float:
    """Return when a die was last seen before a moment; the moment itself where it was not."""
    j = bisect_left(path.times, t)
    return path.times[j - 1] if j else t


def _apart_mm(paths: tuple[Path, Path], t: float) -> float:
    """Return how far apart the dice's centres were at a moment, straight on between two frames."""
    (x, y), (u, v) = (_straight_on(path, t) for path in paths)
    return hypot(x - u, y - v)


def _straight_on(path: Path, t: float) -> tuple[float, float]:
    j = min(max(bisect_left(path.times, t), 1), len(path.times) - 1)
    if j < 1 or not path.times[j - 1] <= t <= path.times[j]:
        return inf, inf
    share = (t - path.times[j - 1]) / (path.times[j] - path.times[j - 1])
    x, y = path.xs[j - 1], path.ys[j - 1]
    return x + share * (path.xs[j] - x), y + share * (path.ys[j] - y)


def _place(scene: Scene, path: Path, contacts: Sequence[Contact], wall: str, t: float) -> Place | None:
    """Return where a die was at a moment; None where it was not in sight."""
    i = max(bisect_left(path.times, t) - 1, 0)
    if i + 1 >= len(path.times) or t < path.times[i]:
        return None
    step = path.times[i + 1] - path.times[i]
    if step > scene.hidden_ms:
        return None
    before, after = _at_point(scene, path, wall, i), _at_point(scene, path, wall, i + 1)
    share = (t - path.times[i]) / step
    along_mm = before.along_mm + share * (after.along_mm - before.along_mm)
    turns = [
        own
        for own in contacts
        if own.wall == wall and own.misfit <= bands.STANDS and abs(own.t - t) <= SAME_MS
    ]
    if turns and 0.0 < share < 1.0:
        nearest = min(turns, key=lambda own: abs(own.t - t))
        return Place(nearest.gap_mm + bands.LEAST_EDGES * scene.table.die_mm, along_mm)
    straight_mm = before.gap_mm + share * (after.gap_mm - before.gap_mm)
    return Place(_turning(scene, path, wall, i, t) or straight_mm, along_mm)


def _turning(scene: Scene, path: Path, wall: str, i: int, t: float) -> float | None:
    """Return how far from a wall a die was that turned from it sharply within a step; None if it did not."""
    way = approach_to(scene, path, wall)
    before = line_until(path.times, way.gaps, i, way.noise(i - 2, i))
    after = line_from(path.times, way.gaps, i + 1, way.noise(i + 1, i + 3))
    turn = turn_between(before, after, path.times[i], path.times[i + 1])
    sharply = turn.change - turn.change_sd > bands.CAUSELESS_M_PER_S and before.speed < 0.0
    if not sharply or turn.misfit > bands.STANDS:
        return None
    return max(before.at(t), after.at(t))


def _at_point(scene: Scene, path: Path, wall: str, i: int) -> Place:
    x, y = path.xs[i], path.ys[i]
    if wall in {"left", "right"}:
        return Place(x if wall == "left" else scene.table.length_mm - x, y)
    return Place(y if wall == "front" else scene.table.width_mm - y, x)
