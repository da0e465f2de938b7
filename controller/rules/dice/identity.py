"""Which die is which: what the walls' word is worth if the camera exchanged the dice where they met.

Swapping two dice must never turn a void into a call, nor a call into a void: where the tracks came so close,
and moved so alike, that they may have been exchanged, both readings of the throw are weighed.
"""

from bisect import bisect_left
from collections.abc import Iterable

from controller.rules.dice.encounter import Hit
from controller.rules.dice.paths import Path
from controller.rules.dice.scene import Scene

Pair = tuple[Hit, Hit]
Place = tuple[float, float, float, float]
"""x, y, and the speeds along x and y."""

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
    """Tell whether the camera may have exchanged the dice between these times."""
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


def _place_before(path: Path, t: float) -> Place:
    """Give where a die was headed at this time, by the points before it."""
    last = max(bisect_left(path.times, t) - 1, 0)
    return _headed(path, max(last - 3, 0), last, last, t)


def _place_after(path: Path, t: float) -> Place:
    """Give where a die came from at this time, by the points after it."""
    first = min(bisect_left(path.times, t), len(path.times) - 1)
    return _headed(path, first, min(first + 3, len(path.times) - 1), first, t)


def _headed(path: Path, i: int, j: int, anchor: int, t: float) -> Place:
    if i == j:
        return path.xs[anchor], path.ys[anchor], 0.0, 0.0
    span = path.times[j] - path.times[i]
    vx, vy = (path.xs[j] - path.xs[i]) / span, (path.ys[j] - path.ys[i]) / span
    ahead = min(max(t - path.times[anchor], -50.0), 50.0)
    return path.xs[anchor] + vx * ahead, path.ys[anchor] + vy * ahead, vx, vy


def _change(before: Place, after: Place, place_sd: float) -> float:
    """Give how much one motion must have changed to become another, in squared standard deviations."""
    x, y = (after[0] - before[0]) / place_sd, (after[1] - before[1]) / place_sd
    vx, vy = (after[2] - before[2]) / SPEED_SD_M_PER_S, (after[3] - before[3]) / SPEED_SD_M_PER_S
    return x * x + y * y + vx * vx + vy * vy


def _apart(one: Place, two: Place) -> float:
    x, y = one[0] - two[0], one[1] - two[1]
    return x * x + y * y
