"""Meetings: moments at which the dice are so close that the camera may have swapped their names.

The names are the numbers 1 and 2 by which the camera distinguishes the dice. Two dice never occupy the same
position, so a swap makes both tracks jump by an edge or more. A die moves like that only if it was struck
between two frames. At each meeting, the judge therefore compares how far the tracks jump if the names are
kept with how far they jump if the names are swapped.

If both tracks jump, each onto the other die's path, the names were certainly swapped. A die that passes the
other at 5 m/s moves 55 mm by the next frame, and no die can jump that far.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import hypot, inf
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.paths import MIN_NOISE_MM, Path, measure
from controller.rules.dice.scene import Scene

MEETING_MS = 30.0
"""Steps in which the dice are close together count as one meeting if they are at most this far apart, in ms.
This is three frames."""
MARGIN_MS = 50.0
"""Margin, in ms, before the first and after the last evidence of a touch. A swap outside this period changes
only the names."""
SPEED_STEPS = 3
"""Maximum number of steps over which a speed is averaged."""
SIDEWAYS_M_PER_S = 0.75
"""Maximum deviation of a hidden die from its line, in mm per ms."""
REACH_ERRORS = 4.0
"""Position errors by which dice that touch may seem to be out of reach. It is 2.8 standard deviations of the
difference between two positions."""
MIN_STEP_MS = 1.0
"""Minimum time, in ms, between two points for a meeting between them. The points of both dice in one frame
are closer together."""
STEP_ERRORS = 2.0
"""Error of a step compared with the steps beside it, in position errors. Both ends of the step and the two
ends of the speed contribute one error each."""
MAX_MEETINGS = 4
"""Maximum number of meetings that the judge considers; it ignores later ones. A fifth meeting would make 32
combinations."""
MAX_KEPT_COST = bands.MARGIN - 3.0
"""Maximum cost of keeping the camera's names. The camera has more information than its readings contain, so
the paths of the dice alone never rule out its names."""


WALL_EDGES = 2.5
"""Distance from a wall, in edges, within which a die may reach the wall and return between two frames."""
KNOCKED_M_PER_S = 0.75
"""Change of speed, in m/s, below which a die need not have collided. It is three times the error of a speed
measured over three steps."""
COLLISION_FRACTIONS = tuple(n / 16 for n in range(17))
"""Fractions of a step at which a collision is tested. At 5 m/s, two dice approach each other by 7 mm in a
sixteenth of a frame."""

MAX_JUMPS = 6
"""Maximum number of jumps that swapped names can explain. With more, the camera followed something else."""
SAME_JUMP_FRAMES = 2.5
"""Maximum time, in frames, between two jumps that are treated as one. A jump is detected from the speeds
around it."""


class Meeting(NamedTuple):
    """A time at which the names may have been swapped, and the costs of keeping and of swapping the names."""

    t: float
    kept: float
    swapped: float


class _Step(NamedTuple):
    """One die's step that spans a moment: its start, its end, and its speeds before and after (mm/ms)."""

    x: float
    y: float
    t: float
    x_after: float
    y_after: float
    t_after: float
    before: tuple[float, float]
    after: tuple[float, float]
    earlier: tuple[float, float] | None
    later: tuple[float, float] | None
    """These two speeds are measured one step farther away, without the steps next to this one; None if there
    are no such points."""
    hidden: float
    error_mm: float
    """The larger of the errors that the camera reported for the two points; 0 without such reports."""


def meetings(scene: Scene, paths: tuple[Path, Path], wall_times: Sequence[float]) -> list[Meeting]:
    """Find the meetings around the times with evidence of a touch, in time order."""
    if len(wall_times) < 2 or any(len(path.times) < 2 for path in paths):
        return []
    since, until = min(wall_times) - MARGIN_MS, max(wall_times) + MARGIN_MS
    noise = max(scene.errors.track_noise_mm, MIN_NOISE_MM)
    reach = reach_mm(scene, max(_max_error_mm(path) for path in paths))
    found: list[Meeting] = []
    for t in _instants(paths, since, until):
        meeting = _meeting(scene, paths, t, reach, noise)
        if meeting is None or meeting.swapped > bands.MARGIN:
            continue
        if found and t - found[-1].t <= MEETING_MS and not _between(wall_times, found[-1].t, t):
            if meeting.swapped - meeting.kept < found[-1].swapped - found[-1].kept:
                found[-1] = meeting
        elif len(found) < MAX_MEETINGS:
            found.append(meeting)
    return found


def reach_mm(scene: Scene, error_mm: float = 0.0) -> float:
    """Return the distance between centres, in mm, at which dice may touch.

    It is the distance at which two corners meet, plus `REACH_ERRORS`.
    """
    error = max(scene.errors.track_noise_mm, MIN_NOISE_MM, error_mm)
    return 2.0 * bands.max_contact_mm(scene.table) + REACH_ERRORS * error


def _max_error_mm(path: Path) -> float:
    return max(path.errors, default=0.0) if path.errors is not None else 0.0


def _between(wall_times: Sequence[float], since: float, until: float) -> bool:
    return any(since < t <= until for t in wall_times)


def _instants(paths: tuple[Path, Path], since: float, until: float) -> list[float]:
    """Return the times to check: midway between successive points of either path."""
    times = sorted(
        {
            t
            for path in paths
            for t in path.times[
                max(bisect_left(path.times, since) - 1, 0) : bisect_left(path.times, until) + 1
            ]
        }
    )
    return [0.5 * (a + b) for a, b in pairwise(times) if b - a > MIN_STEP_MS]


def _meeting(scene: Scene, paths: tuple[Path, Path], t: float, reach: float, noise: float) -> Meeting | None:
    if not _may_be_near(paths, t, reach):
        return None
    one, two = (_step(scene, path, t) for path in paths)
    if one is None or two is None:
        return None
    hidden = max(one.hidden, two.hidden)
    noise = max(one.error_mm, two.error_mm, noise)
    max_distance = reach_mm(scene, noise) + SIDEWAYS_M_PER_S * hidden
    distance = min(
        hypot(one.x - two.x, one.y - two.y),
        hypot(one.x_after - two.x_after, one.y_after - two.y_after),
        hypot(
            0.5 * (one.x + one.x_after - two.x - two.x_after),
            0.5 * (one.y + one.y_after - two.y - two.y_after),
        ),
        _distance_if_straight(one, two),
        _distance_if_swapped(one, two),
    )
    if distance > max_distance:
        return None
    error = STEP_ERRORS * noise + 0.5 * SIDEWAYS_M_PER_S * hidden
    costs = [
        _costs(scene, one, two, error),
        _costs_beside_a_wall(scene, (one, two), error),
        *_costs_if_knocked_into_a_wall(scene, (one, two), error),
    ]
    if all(swapped > kept + bands.MARGIN for kept, swapped in costs):
        # Measure the speeds without the step before or after, in which a die may have hit a wall.
        costs.append(_costs_from_near_steps(scene, paths, t, error))
    kept, swapped = min(costs, key=lambda both: both[1] - both[0])
    cheapest = min(kept, swapped)
    return Meeting(t, min(kept - cheapest, MAX_KEPT_COST), swapped - cheapest)


def _costs_from_near_steps(
    scene: Scene, paths: tuple[Path, Path], t: float, error: float
) -> tuple[float, float]:
    """Return the costs of keeping and of swapping the names, with speeds from only the adjacent steps."""
    one, two = (_step(scene, path, t, points=1) for path in paths)
    return _costs(scene, one, two, error) if one is not None and two is not None else (0.0, inf)


def _costs_beside_a_wall(scene: Scene, steps: tuple[_Step, _Step], error: float) -> tuple[float, float]:
    """Return the costs of keeping and of swapping the names if a die struck a wall in an adjacent step.

    No point shows the speed between the wall and this step. It is at most the speed on the other side of the
    touch, reversed, so the costs use that speed.
    """
    one, two = (
        step._replace(
            before=_reversed(scene, step.x, step.y, step.before, step.earlier),
            after=_reversed(scene, step.x_after, step.y_after, step.after, step.later),
        )
        for step in steps
    )
    return _costs(scene, one, two, error)


def _costs_if_knocked_into_a_wall(
    scene: Scene, steps: tuple[_Step, _Step], error: float
) -> Iterator[tuple[float, float]]:
    """Yield the costs of keeping and of swapping the names if a die was knocked into the wall in this step.

    The other die knocked it. It returns from the wall in the same step, so no point shows its speed on the
    way there. That speed is at most the speed of the die that knocked it, because their masses are equal.
    """
    for knocking, knocked in (steps, steps[::-1]):
        if _knocks_into_a_wall(scene, knocking, knocked):
            kept = _jump(knocking, knocking, error) + _jump(knocked, knocked, error)
            to_wall_and_back = _jump(knocked, knocking._replace(after=knocking.before), error)
            yield kept, _jump(knocking, knocked, error) + to_wall_and_back


def _knocks_into_a_wall(scene: Scene, knocking: _Step, knocked: _Step) -> bool:
    """Return whether a die flies towards an end wall and the die ahead of it is near that wall."""
    length, near = scene.table.length_mm, WALL_EDGES * scene.table.die_mm
    speed = knocking.before[0]
    ahead = (knocked.x - knocking.x) * speed > 0.0
    return ahead and (knocked.x < near if speed < 0.0 else length - knocked.x < near)


def _reversed(
    scene: Scene, x: float, y: float, beside: tuple[float, float], beyond: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the speed at a point or, near a wall, the speed one step farther away, reversed by the wall."""
    if beyond is None:
        return beside
    table, near = scene.table, WALL_EDGES * scene.table.die_mm
    if min(x, table.length_mm - x) < near:
        return -beyond[0], beyond[1]
    if min(y, table.width_mm - y) < near:
        return beyond[0], -beyond[1]
    return beside


def _costs(scene: Scene, one: _Step, two: _Step, error: float) -> tuple[float, float]:
    kept = _jump(one, one, error) + _jump(two, two, error)
    swapped = _jump(one, two, error) + _jump(two, one, error)
    if not one.hidden and not two.hidden and not _at_wall(scene, one, two):
        # Both costs measure the same positions after the step.
        swapped = max(swapped, _no_room_cost(scene, one, two, error))
    return kept, swapped


def _distance_if_straight(one: _Step, two: _Step) -> float:
    """Return the distance between the dice midway through their step if both had kept their incoming speed.

    Dice that fly towards each other turn where they collide, so the distance in the frames is larger than
    their smallest distance.
    """
    half = 0.5 * max(min(one.t_after, two.t_after) - max(one.t, two.t), 0.0)
    return hypot(
        one.x - two.x + half * (one.before[0] - two.before[0]),
        one.y - two.y + half * (one.before[1] - two.before[1]),
    )


def _distance_if_swapped(one: _Step, two: _Step) -> float:
    """Return the distance between the dice midway through their step if their names were swapped in it."""
    return hypot(
        0.5 * (one.x + two.x_after - two.x - one.x_after),
        0.5 * (one.y + two.y_after - two.y - one.y_after),
    )


def _at_wall(scene: Scene, one: _Step, two: _Step) -> bool:
    """Return whether a die may also have met a wall in this step and turned there."""
    table, near = scene.table, WALL_EDGES * scene.table.die_mm
    xs, ys = (one.x, one.x_after, two.x, two.x_after), (one.y, one.y_after, two.y, two.y_after)
    return (
        min(xs) < near
        or max(xs) > table.length_mm - near
        or min(ys) < near
        or max(ys) > table.width_mm - near
    )


def _no_room_cost(scene: Scene, one: _Step, two: _Step, error: float) -> float:
    """Return the cost of a collision that swapped speeds and names although the dice had too little room.

    Dice collide with their centres at least an edge apart. If each then takes the other's speed and name, its
    track jumps by that distance. A swap of dice that flew on unchanged needs no collision.
    """
    turned = min(
        hypot(one.before[0] - two.after[0], one.before[1] - two.after[1]),
        hypot(two.before[0] - one.after[0], two.before[1] - one.after[1]),
    )
    if turned < KNOCKED_M_PER_S:
        return 0.0
    costs = []
    for fraction in COLLISION_FRACTIONS:
        a, a_end = _collide(one, two, fraction)
        b, b_end = _collide(two, one, fraction)
        overlap = max(scene.table.die_mm - hypot(a[0] - b[0], a[1] - b[1]), 0.0)
        off_one = hypot(a_end[0] - two.x_after, a_end[1] - two.y_after)
        off_two = hypot(b_end[0] - one.x_after, b_end[1] - one.y_after)
        costs.append(off_one * off_one + off_two * off_two + overlap * overlap)
    return min(costs) / (error * error)


def _collide(start: _Step, end: _Step, fraction: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a die's positions at a collision, after a fraction of its step, and at the step's end."""
    step_time = max(end.t_after - start.t, 0.0)
    time_before, time_after = fraction * step_time, (1.0 - fraction) * step_time
    at = (start.x + start.before[0] * time_before, start.y + start.before[1] * time_before)
    return at, (at[0] + end.after[0] * time_after, at[1] + end.after[1] * time_after)


def _may_be_near(paths: tuple[Path, Path], t: float, reach: float) -> bool:
    """Check quickly whether the dice may be near each other in the step that spans a moment.

    Dice that fly towards each other pass within a step. If their names are swapped there, no point shows them
    near each other.
    """
    one, two = paths
    i, j = bisect_left(one.times, t), bisect_left(two.times, t)
    if not (0 < i < len(one.times) and 0 < j < len(two.times)):
        return False
    step_time = max(one.times[i] - one.times[i - 1], two.times[j] - two.times[j - 1])
    near = reach + SIDEWAYS_M_PER_S * step_time
    max_passing = near + (one.fastest + two.fastest) * step_time
    for first, second in ((one.xs, two.xs), (one.ys, two.ys)):
        before, after = first[i - 1] - second[j - 1], first[i] - second[j]
        if before * after > 0.0 and min(abs(before), abs(after)) > near and abs(before + after) > max_passing:
            return False
    return True


def _step(scene: Scene, path: Path, t: float, points: int = SPEED_STEPS) -> _Step | None:
    times = path.times
    j = bisect_left(times, t)
    if not 0 < j < len(times):
        return None
    i = j - 1
    step_time = times[j] - times[i]
    hidden = step_time if step_time > scene.hidden_ms and not (path.rests and j == len(times) - 1) else 0.0
    return _Step(
        path.xs[i],
        path.ys[i],
        times[i],
        path.xs[j],
        path.ys[j],
        times[j],
        _speed(path, max(i - points, 0), i),
        _speed(path, j, min(j + points, len(times) - 1)),
        _speed(path, max(i - 1 - points, 0), i - 1) if i > 1 else None,
        _speed(path, j + 1, min(j + 1 + points, len(times) - 1)) if j < len(times) - 2 else None,
        hidden,
        0.0 if path.errors is None else max(path.errors[i], path.errors[j]),
    )


def _speed(path: Path, i: int, j: int) -> tuple[float, float]:
    if i == j:
        return 0.0, 0.0
    span = path.times[j] - path.times[i]
    return (path.xs[j] - path.xs[i]) / span, (path.ys[j] - path.ys[i]) / span


def _jump(start: _Step, end: _Step, error: float) -> float:
    """Return the distance between a die's step and the nearest possible step, in squared errors.

    The die may have kept its incoming speed, taken its outgoing speed, stood still, or combined these
    motions. The possible steps form a triangle.
    """
    step_time = max(end.t_after - start.t, 0.0)
    x, y = end.x_after - start.x, end.y_after - start.y
    a = (start.before[0] * step_time, start.before[1] * step_time)
    b = (end.after[0] * step_time, end.after[1] * step_time)
    away = _from_triangle((x, y), a, b) / error
    return away * away


def _from_triangle(p: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the distance from a point to the triangle of the origin and two other points."""
    cross = a[0] * b[1] - a[1] * b[0]
    if abs(cross) > 1e-9:
        u = (p[0] * b[1] - p[1] * b[0]) / cross
        v = (a[0] * p[1] - a[1] * p[0]) / cross
        if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
            return 0.0
    zero = (0.0, 0.0)
    return min(_from_line(p, zero, a), _from_line(p, zero, b), _from_line(p, a, b))


def _from_line(p: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy
    fraction = 0.0 if length == 0.0 else ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length
    fraction = min(max(fraction, 0.0), 1.0)
    return hypot(p[0] - a[0] - fraction * dx, p[1] - a[1] - fraction * dy)


def swap_names_after(paths: tuple[Path, Path], t: float) -> tuple[Path, Path]:
    """Return the paths with their tails swapped after this time; each path belongs to its tail's die."""
    (one, i), (two, j) = ((path, bisect_left(path.times, t)) for path in paths)
    knocked = _has_turned(one, i) and _has_turned(two, j)
    return _splice(two, j, one, i, knocked=knocked), _splice(one, i, two, j, knocked=knocked)


def _has_turned(path: Path, j: int) -> bool:
    """Return whether a die turned immediately before point j, as both dice do in a collision."""
    last = len(path.times) - 1
    if not 0 < j <= last:
        return False
    speeds_in = [_speed(path, max(j - 1 - n, 0), j - 1) for n in range(1, SPEED_STEPS + 1)]
    speeds_out = [_speed(path, j, min(j + n, last)) for n in range(1, SPEED_STEPS + 1)]
    return all(
        hypot(after[0] - before[0], after[1] - before[1]) > KNOCKED_M_PER_S
        for before in speeds_in
        for after in speeds_out
    )


def _splice(head: Path, i: int, tail: Path, j: int, *, knocked: bool) -> Path:
    errors = None
    if head.errors is not None and tail.errors is not None:
        errors = head.errors[:i] + tail.errors[j:]
    path = Path(
        tail.die,
        head.times[:i] + tail.times[j:],
        head.xs[:i] + tail.xs[j:],
        head.ys[:i] + tail.ys[j:],
        tail.rests,
        head.readings[:i] + tail.readings[j:],
        errors=errors,
        knocks=(
            *(n for n in head.knocks if n < i),
            *([i] if knocked else []),
            *(n - j + i for n in tail.knocks if n > j),
        ),
    )
    path.fastest, path.longest_ms = max(head.fastest, tail.fastest), max(head.longest_ms, tail.longest_ms)
    return path


# --- names that were certainly swapped ---


def untangle_names(scene: Scene, paths: tuple[Path, Path]) -> tuple[Path, Path]:
    """Return the paths with their tails swapped at each meeting where the swap removes a jump."""
    near_ms = SAME_JUMP_FRAMES * scene.errors.frame_ms
    jump_times = sorted({jump.t for path in paths for jump in path.jumps})
    for t in jump_times if len(jump_times) <= MAX_JUMPS else ():
        if not _has_jump_near(paths, t, near_ms):
            continue
        swapped = swap_names_after(paths, t)
        for path in swapped:
            measure(scene, path)
        if not _has_jump_near(swapped, t, near_ms) and _passing_distance(swapped, t) <= reach_mm(scene):
            paths = swapped
    return paths


def _has_jump_near(paths: tuple[Path, Path], t: float, near_ms: float) -> bool:
    return any(abs(jump.t - t) <= near_ms for path in paths for jump in path.jumps)


def _passing_distance(paths: tuple[Path, Path], t: float) -> float:
    """Return the smallest distance, in mm, between the dice in the step that spans a moment."""
    (one, i), (two, j) = ((path, bisect_left(path.times, t)) for path in paths)
    if not (0 < i < len(one.times) and 0 < j < len(two.times)):
        return float("inf")
    x, y = one.xs[i - 1] - two.xs[j - 1], one.ys[i - 1] - two.ys[j - 1]
    dx, dy = one.xs[i] - two.xs[j] - x, one.ys[i] - two.ys[j] - y
    length = dx * dx + dy * dy
    fraction = min(max(-(x * dx + y * dy) / length, 0.0), 1.0) if length > 0.0 else 0.0
    return hypot(x + fraction * dx, y + fraction * dy)
