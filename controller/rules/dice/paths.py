"""The path of a die, and the spans of the path that are near a wall.

A path consists of the positions of the die's centre. A die's distance from a wall is measured from the tips
of the wall's pyramids to that centre. The package `controller.rules.dice` defines the terms.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot, sqrt
from typing import NamedTuple

from controller.model.readings import DieAt, Reading
from controller.rules.dice.bands import MAX_LANDING_M_PER_S, max_contact_mm
from controller.rules.dice.motion import KINK_ERRORS
from controller.rules.dice.scene import DieSeen, Scene

MIN_NOISE_MM = 0.2
"""Minimum position error, in mm, that is assumed for a camera, regardless of the table's settings."""
JUMP_FACTOR = 1.4
"""Minimum ratio of the speed of a jump (a step that no die could have made) to that of the adjacent steps."""
JUMP_ERRORS = 13.0
"""Minimum length, in position errors, by which a jump exceeds the longest step that JUMP_FACTOR and
IMPOSSIBLE_M_PER_S allow. Each of its two points may be off by up to 4.6 standard deviations, along and across
the table."""
IMPOSSIBLE_M_PER_S = 15.0
"""Speed, in m/s, above which a step is a jump, regardless of the steps beside it. Throws reach at most half
this speed."""


SPEED_POINTS = 3
"""Number of points needed before a hidden period to show how fast the die flew."""
THROWN_M_PER_S = 8.0
"""Maximum speed, in m/s, that is assumed if there are fewer than SPEED_POINTS points. Dice are thrown at
1.2 to 7.5 m/s (docs/dice-physics.md)."""


CLOSE_ERRORS = 5.0
"""Position errors outside the contact band within which a point may be a touch. A larger error occurs once in
three million points."""
SPEED_FACTOR, SPEED_ERROR_M_PER_S = 1.2, 0.3
"""Maximum ratio of a die's speed within a step to the speeds that the track shows, which are means over
steps, and the error of such a speed in m/s (2 mm at both ends of a frame of 11 ms)."""
LOCAL_STEPS = 3
"""Number of steps before and after a step that show how fast the die was in it."""
STOP_STEPS = 4
"""Number of steps that show whether a die was stopping. The error of the speed is then 0.06 m/s."""
STOPPED_M_PER_S = 0.5
"""Speed, in m/s, below which a die may have stopped before its next point."""
UNMOVED_ERRORS = 7.0
"""Maximum distance along plus across the table, in position errors, between the last point of a die and its
rest if it did not move in between. Noise alone exceeds it in one case in 50,000."""
EVIDENCE_POINTS = 3
"""Number of points on each side of a moment that are evidence of the die's path there: those to which lines
are fitted."""


class Jump(NamedTuple):
    """A step that no die could have made.

    `t` is the time of its middle (ms), and `length_mm` the sum of its lengths along and across the table.
    """

    t: float
    length_mm: float


@dataclass(slots=True)
class Path:
    """A die's track as times (ms) and positions (mm), with its rest as the last point."""

    die: DieSeen
    times: list[float]
    xs: list[float]
    ys: list[float]
    rests: bool
    """Whether the last point is the die at rest at the end of its track."""
    readings: list[Reading]
    fastest: float = 0.0
    longest_ms: float = 0.0
    jumps: tuple[Jump, ...] = ()
    """Steps that the die cannot have made: the camera must have followed something else."""
    errors: list[float] | None = None
    """The error of each point, in mm, if the camera reports it. Otherwise the table's setting applies to all
    points."""
    knocks: tuple[int, ...] = ()
    """Index of the first point after each collision of the dice in which the camera swapped their names."""

    @property
    def jump_mm(self) -> float:
        """Return the length of the longest jump, in mm; 0 if there is none."""
        return max((jump.length_mm for jump in self.jumps), default=0.0)


def build_path(scene: Scene, die: DieSeen) -> Path:
    """Return a die's path: its track points, one for each time, and its rest."""
    readings: list[DieAt] = die.track
    start = scene.start_us
    times = [(p.t - start) / 1000.0 for p in readings]
    if any(b <= a for a, b in pairwise(times)):
        readings = [
            p
            for p, after in zip(readings, [*readings[1:], None], strict=True)
            if after is None or after.t > p.t
        ]
        times = [(p.t - start) / 1000.0 for p in readings]
    path = Path(die, times, [p.x for p in readings], [p.y for p in readings], False, list(readings))
    default_mm = scene.errors.track_noise_mm
    if any(p.error_mm is not None for p in readings):
        path.errors = [default_mm if p.error_mm is None else p.error_mm for p in readings]
    _start_in_hand(scene, path)
    rest = die.rest
    if rest is not None and times and scene.ms(rest.t) > times[-1]:
        path.times.append(scene.ms(rest.t))
        path.xs.append(rest.x)
        path.ys.append(rest.y)
        path.readings.append(rest)
        if path.errors is not None:
            path.errors.append(path.errors[-1])
        path.rests = True
    measure(scene, path)
    return path


def _start_in_hand(scene: Scene, path: Path) -> None:
    """Start a path at the die's release if its first points were not seen."""
    release = path.die.releases[0] if path.die.releases else None
    if release is None or not path.times or path.times[0] - scene.ms(release.t) <= scene.hidden_ms:
        return
    path.times.insert(0, scene.ms(release.t))
    path.xs.insert(0, release.x)
    path.ys.insert(0, release.y)
    path.readings.insert(0, release)
    if path.errors is not None:
        path.errors.insert(0, scene.errors.track_noise_mm)


def measure(scene: Scene, path: Path) -> None:
    """Set a path's longest step, its highest speed, and its jumps."""
    if len(path.times) < 2:
        return
    spare_mm = JUMP_ERRORS * scene.errors.track_noise_mm
    durations = [b - a for a, b in pairwise(path.times)]
    distances = [
        abs(b - a) + abs(d - c) for (a, b), (c, d) in zip(pairwise(path.xs), pairwise(path.ys), strict=True)
    ]
    speeds = [distance / duration for distance, duration in zip(distances, durations, strict=True)]
    path.longest_ms = max(durations)
    path.fastest = max(speeds)
    if len(speeds) < 3:
        return
    neighbour_speeds = [*map(max, speeds, speeds[2:])]
    neighbour_speeds = [max(speeds[1:3]), *neighbour_speeds, max(speeds[-3:-1])]
    path.jumps = tuple(
        Jump(t + 0.5 * duration, distance)
        for t, distance, duration, neighbour_speed in zip(
            path.times, distances, durations, neighbour_speeds, strict=False
        )
        if distance > min(JUMP_FACTOR * neighbour_speed, IMPOSSIBLE_M_PER_S) * duration + spare_mm
    )
    if path.jumps and path.jumps[0].t < path.times[1] and _landed_at_first(scene, path):
        path.jumps = path.jumps[1:]


def _landed_at_first(scene: Scene, path: Path) -> bool:
    """Return whether a landing on the felt explains why the first step of a track was faster than the second.

    No earlier step shows the die's speed. Beside a wall, the wall may have changed the speed, so the step is
    still treated as a jump.
    """
    if len(path.times) < 3:
        return False
    x, y, table = path.xs[0], path.ys[0], scene.table
    error = scene.errors.track_noise_mm
    if min(x, table.length_mm - x, y, table.width_mm - y) < max_contact_mm(table) + JUMP_ERRORS * error:
        return False
    first, second = (b - a for a, b in pairwise(path.times[:3]))
    if first > scene.hidden_ms:
        return False
    vx, vy = (path.xs[1] - x) / first, (path.ys[1] - y) / first
    lost = hypot(vx - (path.xs[2] - path.xs[1]) / second, vy - (path.ys[2] - path.ys[1]) / second)
    return hypot(vx, vy) <= THROWN_M_PER_S and lost <= MAX_LANDING_M_PER_S + KINK_ERRORS * error / min(
        first, second
    )


class Span(NamedTuple):
    """The first and the last point of a part of a path."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Approach:
    """A die's path relative to one wall: its distances from the wall, and its positions along the wall."""

    scene: Scene
    path: Path
    wall: str
    gaps: list[float]
    along: list[float]
    close: float
    """Distance from the wall, in mm, within which a point may be a touch: the contact band plus
    `CLOSE_ERRORS`."""

    def noise(self, first: int, last: int) -> float:
        """Return the RMS error of these track points, in mm, but at least MIN_NOISE_MM."""
        errors = self.path.errors
        if errors is None:
            return max(self.scene.errors.track_noise_mm, MIN_NOISE_MM)
        errors_here = errors[max(first, 0) : last + 1]
        return max(sqrt(sum(error * error for error in errors_here) / len(errors_here)), MIN_NOISE_MM)


def approach_to(scene: Scene, path: Path, wall: str) -> Approach:
    """Return a die's path relative to a wall."""
    if wall == "left":
        gaps = path.xs
    elif wall == "right":
        end = scene.table.length_mm
        gaps = [end - x for x in path.xs]
    elif wall == "front":
        gaps = path.ys
    else:
        end = scene.table.width_mm
        gaps = [end - y for y in path.ys]
    along = path.ys if wall in {"left", "right"} else path.xs
    close = max_contact_mm(scene.table) + CLOSE_ERRORS * max(scene.errors.track_noise_mm, MIN_NOISE_MM)
    return Approach(scene, path, wall, gaps, along, close)


def spans_near(approach: Approach) -> list[Span]:
    """Return the spans of points between which the die may have reached the wall."""
    times, gaps = approach.path.times, approach.gaps
    fastest = _max_speed(approach.path.fastest)
    spans: list[Span] = []
    for i in range(len(gaps) - 1):
        to_cover = gaps[i] + gaps[i + 1] - 2.0 * approach.close
        step = times[i + 1] - times[i]
        if speed_unknown(approach.scene, approach.path, i):
            if to_cover > THROWN_M_PER_S * step:
                continue
        elif to_cover > fastest * step or (to_cover > 0.0 and to_cover > _local_speed(approach, i) * step):
            continue
        if spans and i <= spans[-1].last + 1:
            spans[-1] = Span(spans[-1].first, i + 1)
        else:
            spans.append(Span(i, i + 1))
    return spans


def speed_unknown(scene: Scene, path: Path, i: int) -> bool:
    """Return whether a die was hidden after point i, with too few earlier points to show its speed."""
    return i + 1 < SPEED_POINTS and path.times[i + 1] - path.times[i] > scene.hidden_ms


def _max_speed(shown: float) -> float:
    """Return the highest speed, in m/s, that a die may have had in a step if its track shows this speed."""
    return SPEED_FACTOR * shown + SPEED_ERROR_M_PER_S


def _local_speed(approach: Approach, i: int) -> float:
    """Return the highest speed, in m/s, that the die may have had between points i and i + 1."""
    if waited_at_rest(approach, i):
        return speed_between(approach, max(i - STOP_STEPS, 0), i)
    before = speed_between(approach, max(i - LOCAL_STEPS, 0), i)
    after = speed_between(approach, i + 1, min(i + 1 + LOCAL_STEPS, len(approach.gaps) - 1))
    return _max_speed(max(before, after, speed_between(approach, i, i + 1)))


def waited_at_rest(approach: Approach, i: int) -> bool:
    """Return whether the die had stopped at point i, and the next point only reports that it is at rest."""
    path = approach.path
    if not path.rests or i != len(path.times) - 2:
        return False
    moved = abs(path.xs[-1] - path.xs[i]) + abs(path.ys[-1] - path.ys[i])
    speed = speed_between(approach, max(i - STOP_STEPS, 0), i)
    return moved <= UNMOVED_ERRORS * approach.noise(i, i) and speed <= STOPPED_M_PER_S


def speed_between(approach: Approach, i: int, j: int) -> float:
    """Return the speed towards or away from the wall, in m/s, between two of the points."""
    times, gaps = approach.path.times, approach.gaps
    return abs(gaps[j] - gaps[i]) / (times[j] - times[i]) if j > i else 0.0


def hidden_step(approach: Approach, span: Span) -> int | None:
    """Return the point of a span after which the die was hidden for longest; None if it was not hidden."""
    times = approach.path.times
    steps = [(times[i + 1] - times[i], i) for i in range(*span) if not waited_at_rest(approach, i)]
    longest, i = max(steps, default=(0.0, 0))
    return i if longest > approach.scene.hidden_ms else None


def points_around(approach: Approach, first: int, last: int) -> tuple[Reading, ...]:
    """Return the readings of some points and of up to `EVIDENCE_POINTS` on each side of them."""
    return tuple(approach.path.readings[max(first - EVIDENCE_POINTS, 0) : last + EVIDENCE_POINTS + 1])
