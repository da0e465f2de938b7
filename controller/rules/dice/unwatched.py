"""The test of whether the camera watched each die from its release until it came to rest (C34-INV-1a, !V1-25,
H-LEGAL-2).

A die that was out of sight for longer than a moment may have left the table and come back, or may have been
turned by hand. A rule set may forgive a wall hit that was not seen (CV1-SHOOT-4), but none forgives a die
that was not watched.
"""

from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from controller.model.readings import DeviceDown, DieAt, DieReleased, DieRest
from controller.model.rulesets import ThrowRules
from controller.rules.dice.findings import Findings
from controller.rules.dice.scene import MOVED_MM, DieSeen, Scene

STOPPED_MM_PER_S = 500.0
"""Speed, in mm/s, below which a die is treated as having already stopped if it now lies where it was last
seen. It is then assumed that only the report that it had come to rest was missing."""
LAST_POINTS = 5
"""Number of points over which a die's speed is reliable despite the noise."""

Sighting = DieReleased | DieAt | DieRest


class _Unwatched(NamedTuple):
    duration_us: int
    before: Sighting
    after: Sighting | None
    """The first sighting after the gap; None if the throw ended first."""


def judge_unwatched(scene: Scene, rules: ThrowRules, found: Findings, *, decided_at_us: int) -> None:
    """Add a review for each die that was unwatched for a time, or only a notice if it has not moved."""
    limit_us = rules.unwatched_ms * 1000.0
    rule = found.causes.get("off_table")
    for die in scene.dice:
        if die.offs or die.rest is None:
            continue
        for gap in _gaps(scene, die, limit_us, decided_at_us):
            away_s = gap.duration_us / 1e6
            seen = f"die {die.number} was out of sight for {away_s:.1f} s"
            found.evidence += [one for one in (gap.before, gap.after) if one is not None]
            if _unchanged(gap):
                found.note("unwatched", f"{seen} but has not moved", die=die.number, rule=rule)
                continue
            if gap.after is None:
                seen = f"die {die.number} had been out of sight for {away_s:.1f} s when the throw ended"
            else:
                seen += f" before it was seen {'at rest' if isinstance(gap.after, DieRest) else 'again'}"
            found.add_review("missing_reading", seen, die=die.number, rule=rule)


def _gaps(scene: Scene, die: DieSeen, limit_us: float, decided_at_us: int) -> Iterator[_Unwatched]:
    """Yield the periods, longer than `limit_us`, in which a die was not watched."""
    seen: list[Sighting] = [*die.releases, *die.seen_in_flight, *die.track, *die.rests]
    seen.sort(key=attrgetter("t"))
    for before, after in pairwise(seen):
        since_us: int | None = before.t
        if after.t - before.t > limit_us and was_still(die, before, after):
            since_us = _blind_since(scene, die, before, after.t)
        if since_us is not None and after.t - since_us > limit_us:
            yield _Unwatched(after.t - since_us, before, after)
    since_us = _blind_since(scene, die, seen[-1], decided_at_us)
    if since_us is not None and decided_at_us - since_us > limit_us:
        yield _Unwatched(decided_at_us - since_us, seen[-1], None)


def was_still(die: DieSeen, before: Sighting, after: Sighting) -> bool:
    """Return whether a die lay still between two sightings, so that a camera had nothing to report."""
    if isinstance(before, DieRest):
        return isinstance(after, DieAt) or _are_near(before, after)
    return isinstance(after, DieRest) and _are_near(before, after) and _had_stopped(die, before)


def _are_near(before: Sighting, after: Sighting) -> bool:
    return abs(after.x - before.x) + abs(after.y - before.y) <= MOVED_MM


def _had_stopped(die: DieSeen, last: Sighting) -> bool:
    points = [point for point in die.track if point.t <= last.t][-LAST_POINTS:]
    elapsed_s = (points[-1].t - points[0].t) / 1e6 if points else 0.0
    moved_mm = abs(points[-1].x - points[0].x) + abs(points[-1].y - points[0].y) if points else 0.0
    return elapsed_s > 0.0 and moved_mm <= STOPPED_MM_PER_S * elapsed_s


def _blind_since(scene: Scene, die: DieSeen, last: Sighting, until_us: int) -> int | None:
    """Return when a resting die was lost or its camera went down, or None if neither was reported."""
    lost_times = [lost.t for lost in die.losts]
    down_times = [event.t for event in scene.devices if type(event) is DeviceDown and event.dev == last.dev]
    return min((t for t in (*lost_times, *down_times) if last.t <= t < until_us), default=None)


def _unchanged(gap: _Unwatched) -> bool:
    before, after = gap.before, gap.after
    if not (isinstance(before, DieRest) and isinstance(after, DieRest)):
        return False
    same = (before.up, set(before.resting_sides), before.on) == (after.up, set(after.resting_sides), after.on)
    return same and _are_near(before, after)
