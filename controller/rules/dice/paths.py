"""A die's path, and the spans of it that are near a wall.

Distances from a wall are those of the die's face: its centre's less half an edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from controller.model.readings import DieAt, Reading
from controller.rules.dice.encounter import Encounter
from controller.rules.dice.motion import Sample
from controller.rules.dice.scene import DieSeen, Scene

LEAST_NOISE_MM = 0.2
"""No camera is better than this, whatever its table's settings say."""
JUMP_FACTOR = 1.4
"""A step this much faster than those before and after it was not the die's own."""
IMPOSSIBLE_M_PER_S = 15.0
"""Nor was one as fast as this, whatever is beside it: nobody throws a die half so fast."""


@dataclass(slots=True)
class Path:
    """A die's track as times and places, with its rest as the last point."""

    die: DieSeen
    times: list[float]
    xs: list[float]
    ys: list[float]
    rests: bool
    """Whether the last point is the die at rest where its track ended."""
    readings: list[Reading]
    fastest: float = 0.0
    longest_ms: float = 0.0
    jump_mm: float = 0.0
    """The greatest step that the die can't have made: there the camera followed something else."""
    encounters: list[Encounter] = field(default_factory=list)


def path_of(scene: Scene, die: DieSeen) -> Path:
    """Line up a die's track points, one for each instant, and its rest."""
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
    _start_in_hand(scene, path)
    rest = die.rest
    if rest is not None and times and scene.ms(rest.t) > times[-1]:
        path.times.append(scene.ms(rest.t))
        path.xs.append(rest.x)
        path.ys.append(rest.y)
        path.readings.append(rest)
        path.rests = True
    if len(path.times) > 1:
        _measure(path, 13.0 * scene.errors.track_noise_mm)
    return path


def _start_in_hand(scene: Scene, path: Path) -> None:
    """Let a path whose first points were not seen start where the die left the hand."""
    release = path.die.releases[0] if path.die.releases else None
    if release is None or not path.times or path.times[0] - scene.ms(release.t) <= scene.hidden_ms:
        return
    path.times.insert(0, scene.ms(release.t))
    path.xs.insert(0, release.x)
    path.ys.insert(0, release.y)
    path.readings.insert(0, release)


def _measure(path: Path, spare_mm: float) -> None:
    """Measure a path's steps: the longest, the fastest, and those faster than the die before and after."""
    waits = [b - a for a, b in pairwise(path.times)]
    ways = [
        abs(b - a) + abs(d - c) for (a, b), (c, d) in zip(pairwise(path.xs), pairwise(path.ys), strict=True)
    ]
    speeds = [way / wait for way, wait in zip(ways, waits, strict=True)]
    path.longest_ms = max(waits)
    path.fastest = max(speeds)
    if len(speeds) < 3:
        return
    around = [*map(max, speeds, speeds[2:])]
    around = [speeds[1], *around, speeds[-2]]
    path.jump_mm = max(
        (
            way
            for way, wait, own in zip(ways, waits, around, strict=True)
            if way > min(JUMP_FACTOR * own, IMPOSSIBLE_M_PER_S) * wait + spare_mm
        ),
        default=0.0,
    )


class Span(NamedTuple):
    """The first and the last point of a part of a path."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Approach:
    """A die's way along one wall's own line, and the impacts that the wall heard."""

    scene: Scene
    path: Path
    wall: str
    samples: list[Sample]
    along: list[float]
    heard: tuple[int, ...]

    @property
    def noise(self) -> float:
        """Give the error of one track point; a camera without any is not believed."""
        return max(self.scene.errors.track_noise_mm, LEAST_NOISE_MM)


def approach_to(scene: Scene, path: Path, wall: str) -> Approach:
    """Measure a die's track as distances of its face from a wall."""
    half = scene.table.die_mm / 2.0
    if wall == "left":
        gaps = [x - half for x in path.xs]
    elif wall == "right":
        end = scene.table.length_mm - half
        gaps = [end - x for x in path.xs]
    elif wall == "front":
        gaps = [y - half for y in path.ys]
    else:
        end = scene.table.width_mm - half
        gaps = [end - y for y in path.ys]
    heard = tuple(i for i, impact in enumerate(scene.impacts) if impact.wall == wall)
    along = path.ys if wall in {"left", "right"} else path.xs
    return Approach(scene, path, wall, list(zip(path.times, gaps, strict=True)), along, heard)


def spans_near(way: Approach) -> list[Span]:
    """Find the spans of points between which the die may have reached the wall."""
    samples = way.samples
    close = 10.0 * way.noise
    fastest = 1.2 * way.path.fastest + 0.3
    spans: list[Span] = []
    for i, ((t, gap), (t_next, gap_next)) in enumerate(pairwise(samples)):
        to_cover = gap + gap_next - close
        step = t_next - t
        if to_cover > fastest * step or (to_cover > 0.0 and to_cover > _local_speed(way, i) * step):
            continue
        if spans and i <= spans[-1].last + 1:
            spans[-1] = Span(spans[-1].first, i + 1)
        else:
            spans.append(Span(i, i + 1))
    return spans


def _local_speed(way: Approach, i: int) -> float:
    """Give the most that the die may have moved at between points i and i + 1."""
    samples = way.samples
    if _rested_in_place(way, i):
        return speed_between(samples, max(i - 4, 0), i)
    before = speed_between(samples, max(i - 3, 0), i)
    after = speed_between(samples, i + 1, min(i + 4, len(samples) - 1))
    return 1.2 * max(before, after, speed_between(samples, i, i + 1)) + 0.3


def _rested_in_place(way: Approach, i: int) -> bool:
    """Tell whether the gap after point i is only the wait until a stopped die was reported at rest."""
    path = way.path
    if not path.rests or i != len(path.times) - 2:
        return False
    moved = abs(path.xs[-1] - path.xs[i]) + abs(path.ys[-1] - path.ys[i])
    return moved <= 7.0 * way.noise and speed_between(way.samples, max(i - 4, 0), i) <= 0.5


def speed_between(samples: Sequence[Sample], i: int, j: int) -> float:
    """Give the speed, in m/s, by two of the points."""
    return abs(samples[j][1] - samples[i][1]) / (samples[j][0] - samples[i][0]) if j > i else 0.0


def hidden_ms(way: Approach, span: Span) -> float | None:
    """Give how long the die was hidden within a span; None when it was not."""
    times = way.path.times
    steps = [times[i + 1] - times[i] for i in range(*span) if not _rested_in_place(way, i)]
    longest = max(steps, default=0.0)
    return longest if longest > way.scene.hidden_ms else None


def points_around(way: Approach, span: Span) -> tuple[Reading, ...]:
    """Give the readings of a span and a few on each side of it."""
    return tuple(way.path.readings[max(span.first - 3, 0) : span.last + 4])
