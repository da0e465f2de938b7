"""Which die is which: what the walls' word is worth if the camera exchanged the dice where they met.

Swapping two dice must never turn a void into a call, nor a call into a void: where the tracks came so close,
and moved so alike, that they may have been exchanged, both readings of the throw are weighed.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import pairwise
from math import hypot, inf

from controller.rules.dice.encounter import Hit
from controller.rules.dice.paths import Path
from controller.rules.dice.scene import Scene

Pair = tuple[Hit, Hit]
Place = tuple[float, float, float, float, int]
"""x, y, the speeds along x and y, and over how many steps those were taken."""

POINTS = 3
"""Steps that a speed is taken over, where there are as many."""
TOUCHING_EDGES = 1.42
"""Dice whose centres are this many edges apart may touch with their corners: a die's diagonal."""
KNOCK_SHARE = 0.25
"""The least share of their difference in speed that a knock takes from one die: half of it bounces back."""
MEETING_MS = 30.0
"""Steps near each other within this time are one meeting: three frames."""
PLACE_SD_MM = 6.0
"""How well four points tell where a die was headed when it was next seen."""
SPEED_SD_M_PER_S = 0.2
"""How well they tell its speed."""
SIDEWAYS_M_PER_S = 0.75
"""How far a die may get off its line for each millisecond that it is hidden."""
AS_LIKELY = 16.0
"""By this many squared standard deviations an exchange may fit worse than none and still be possible."""
TOGETHER_MS = 25.0
"""Two hits within this time are two dice's: no die turns at a wall twice in two frames."""


def possible_hits(scene: Scene, paths: tuple[Path, Path], walls: Iterable[str]) -> set[Pair]:
    """Give every pair of answers that the tracks allow, die 1's and die 2's, with and without exchanges."""
    wanted = set(walls)
    moments = sorted(
        (
            (e.t, label, e.hit)
            for label, path in enumerate(paths)
            for e in path.encounters
            if e.wall in wanted
        ),
        key=lambda moment: moment[0],
    )
    constant = [_whole(path, wanted) for path in paths]
    telling = [m for m in moments if m[2] is not Hit.NO]
    untracked = any(len(path.times) < 2 for path in paths)
    if untracked or len(telling) < 2:
        return {(constant[0], constant[1])}
    states: set[tuple[bool, Hit, Hit]] = {(False, Hit.NO, Hit.NO)}
    previous = None
    for t, label, hit in telling:
        if (
            previous is not None
            and t - previous > TOGETHER_MS
            and may_be_exchanged(scene, paths, previous, t)
        ):
            states |= {(not swapped, one, two) for swapped, one, two in states}
        states = {_with(state, label, hit) for state in states}
        previous = t
    return {(one, two) for _, one, two in states}


def _whole(path: Path, wanted: set[str]) -> Hit:
    return max((e.hit for e in path.encounters if e.wall in wanted), default=Hit.UNCLEAR)


def _with(state: tuple[bool, Hit, Hit], label: int, hit: Hit) -> tuple[bool, Hit, Hit]:
    swapped, one, two = state
    if (label == 0) != swapped:
        return swapped, max(one, hit), two
    return swapped, one, max(two, hit)


def may_be_exchanged(scene: Scene, paths: tuple[Path, Path], since: float, until: float) -> bool:
    """Tell whether the camera may have exchanged the dice between these times.

    Dice that knock each other exchange most of their speeds, and with them their names in a camera that
    follows speeds: where they may have knocked, no motion tells them apart.
    """
    return may_have_knocked(scene, paths, since, until) or fits_exchanged(scene, paths, since, until)


def may_have_knocked(scene: Scene, paths: tuple[Path, Path], since: float, until: float) -> bool:
    """Tell whether the dice came together between these times and did not keep their speeds."""
    one, two = paths
    touching = TOUCHING_EDGES * scene.table.die_mm + 3.0 * scene.errors.track_noise_mm
    instants = sorted({since, until, *_between(one, since, until), *_between(two, since, until)})
    apart = [_from_one_to_two(one, two, t) for t in instants]
    near = [
        (_nearest(a, b), 0.5 * (t + t_next))
        for (t, a), (t_next, b) in pairwise(zip(instants, apart, strict=True))
        if _nearest(a, b) <= touching * touching
    ]
    return any(not _kept_speeds(one, two, t, (since, until)) for t in _meetings(near))


def _meetings(near: list[tuple[float, float]]) -> list[float]:
    """Give the time of closest approach of each meeting; an exchange makes its own step the closest."""
    meetings: list[list[tuple[float, float]]] = []
    for moment in near:
        if meetings and moment[1] - meetings[-1][0][1] <= MEETING_MS:
            meetings[-1].append(moment)
        else:
            meetings.append([moment])
    return [min(meeting)[1] for meeting in meetings]


def _kept_speeds(one: Path, two: Path, t: float, within: tuple[float, float]) -> bool:
    """Tell whether both dice went on as they came: a knock takes a share of what they differed by.

    Only points within the given times tell: at their ends a die turned at the wall.
    """
    ways = [(_place_before(path, t, within[0]), _place_after(path, t, within[1])) for path in (one, two)]
    (here, here_after), (there, there_after) = ways
    if not all(way[4] for way in (here, here_after, there, there_after)):
        return False
    differed = hypot(here[2] - there[2], here[3] - there[3])
    changed = max(hypot(after[2] - before[2], after[3] - before[3]) for before, after in ways)
    error = 0.5 * SPEED_SD_M_PER_S * max(POINTS / way[4] for pair in ways for way in pair)
    return changed + error < KNOCK_SHARE * differed


def _between(path: Path, since: float, until: float) -> list[float]:
    return path.times[bisect_left(path.times, since) : bisect_left(path.times, until)]


def _from_one_to_two(one: Path, two: Path, t: float) -> tuple[float, float]:
    here, there = _at(one, t), _at(two, t)
    return there[0] - here[0], there[1] - here[1]


def _at(path: Path, t: float) -> tuple[float, float]:
    """Give a die's place at this time, straight from point to point."""
    j = min(max(bisect_left(path.times, t), 1), len(path.times) - 1)
    i = j - 1
    share = min(max((t - path.times[i]) / (path.times[j] - path.times[i]), 0.0), 1.0)
    x, y = path.xs[i], path.ys[i]
    return x + share * (path.xs[j] - x), y + share * (path.ys[j] - y)


def _nearest(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Give the squared distance from the origin to the line between two places."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = dx * dx + dy * dy
    share = 0.0 if length == 0.0 else min(max(-(start[0] * dx + start[1] * dy) / length, 0.0), 1.0)
    x, y = start[0] + share * dx, start[1] + share * dy
    return x * x + y * y


def fits_exchanged(scene: Scene, paths: tuple[Path, Path], since: float, until: float) -> bool:
    """Tell whether at some time between these the dice's motions fit an exchange about as well as none."""
    one, two = paths
    if len(one.times) < 2 or len(two.times) < 2:
        return False
    reach = 2.0 * scene.table.die_mm + 4.0 * scene.errors.track_noise_mm
    for t, hidden in _instants(scene, paths, since, until):
        here, there = _place_before(one, t), _place_before(two, t)
        here_after, there_after = _place_after(one, t), _place_after(two, t)
        near = reach + SIDEWAYS_M_PER_S * hidden
        if min(_apart(here, there), _apart(here_after, there_after)) > near * near:
            continue
        place_sd = PLACE_SD_MM + SIDEWAYS_M_PER_S * hidden
        kept = _change(here, here_after, place_sd) + _change(there, there_after, place_sd)
        exchanged = _change(here, there_after, place_sd) + _change(there, here_after, place_sd)
        if exchanged <= kept + AS_LIKELY:
            return True
    return False


def _instants(
    scene: Scene, paths: tuple[Path, Path], since: float, until: float
) -> list[tuple[float, float]]:
    """Give the times to look at, between the points of either track, and how long a die was hidden there."""
    instants = []
    for path in paths:
        times = path.times
        first = max(bisect_left(times, since) - 1, 0)
        for i in range(first, len(times) - 1):
            if times[i] > until:
                break
            step = times[i + 1] - times[i]
            hidden = step if step > scene.hidden_ms and not (path.rests and i == len(times) - 2) else 0.0
            instants.append((0.5 * (times[i] + times[i + 1]), hidden))
    return instants


def _place_before(path: Path, t: float, since: float = -inf) -> Place:
    """Give where a die was headed at this time, by the points before it."""
    last = max(bisect_left(path.times, t) - 1, 0)
    first = min(max(last - POINTS, bisect_left(path.times, since)), last)
    return _headed(path, first, last, last, t)


def _place_after(path: Path, t: float, until: float = inf) -> Place:
    """Give where a die came from at this time, by the points after it."""
    first = min(bisect_left(path.times, t), len(path.times) - 1)
    last = max(min(first + POINTS, bisect_left(path.times, until) - 1), first)
    return _headed(path, first, min(last, len(path.times) - 1), first, t)


def _headed(path: Path, i: int, j: int, anchor: int, t: float) -> Place:
    at_rest = path.rests and j == len(path.times) - 1
    if i == j:
        return path.xs[anchor], path.ys[anchor], 0.0, 0.0, POINTS if at_rest else 0
    span = path.times[j] - path.times[i]
    vx, vy = (path.xs[j] - path.xs[i]) / span, (path.ys[j] - path.ys[i]) / span
    ahead = min(max(t - path.times[anchor], -50.0), 50.0)
    return path.xs[anchor] + vx * ahead, path.ys[anchor] + vy * ahead, vx, vy, POINTS if at_rest else j - i


def _change(before: Place, after: Place, place_sd: float) -> float:
    """Give how much one motion must have changed to become another, in squared standard deviations."""
    x, y = (after[0] - before[0]) / place_sd, (after[1] - before[1]) / place_sd
    vx, vy = (after[2] - before[2]) / SPEED_SD_M_PER_S, (after[3] - before[3]) / SPEED_SD_M_PER_S
    return x * x + y * y + vx * vx + vy * vy


def _apart(one: Place, two: Place) -> float:
    x, y = one[0] - two[0], one[1] - two[1]
    return x * x + y * y
