"""Tracks two dice from frame to frame, for a camera that does not distinguish them.

The dice keep their numbers while only one assignment of candidates to dice is plausible. If two assignments
are plausible, the dice are lost until the table is empty, because a die mistaken for the other could be
credited with a wall hit that it never made.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Literal

from controller.model.readings import Die, Face

OTHER: dict[Die, Die] = {1: 2, 2: 1}
_MAX_READINGS = 12
_MIN_READINGS = 3
_CLEAR_RATIO = 2.0
_MAX_BOUNCE = 0.5
"""Maximum fraction of a die's speed that remains after it bounces off a wall. The tracker does not know where
the walls are, so it allows for a bounce anywhere."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible die in one frame, with its position on the table and its face."""

    x: float
    y: float
    face: Face | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Sight:
    """A report about one die: a point of its track, its resting place, or its loss."""

    what: Literal["at", "rest", "lost"]
    die: Die
    x: float = 0.0
    y: float = 0.0
    face: Face | None = None
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerRules:
    """Limits on the motion of dice, and the times after which a die is considered to be at rest or lost."""

    die_mm: float = 19.0
    max_speed_mm_per_s: float = 6000.0
    still_mm: float = 4.0
    still_us: int = 250_000
    lost_us: int = 150_000
    empty_us: int = 2_000_000
    """Time without a candidate after which the next dice belong to a new throw."""


@dataclass(slots=True)
class _Track:
    t: int
    candidate: Candidate
    vx: float = 0.0
    vy: float = 0.0
    anchor: Candidate = field(init=False)
    still_since_us: int = field(init=False)
    readings: deque[Candidate] = field(default_factory=lambda: deque(maxlen=_MAX_READINGS))
    reported_face: tuple[Face | None] | None = None
    fresh: bool = True

    def __post_init__(self) -> None:
        self.anchor, self.still_since_us = self.candidate, self.t
        self.readings.append(self.candidate)

    def move(self, t: int, candidate: Candidate, still_mm: float) -> None:
        seconds = max(t - self.t, 1) / 1e6
        self.vx, self.vy = (
            (candidate.x - self.candidate.x) / seconds,
            (candidate.y - self.candidate.y) / seconds,
        )
        self.t, self.candidate, self.fresh = t, candidate, False
        if hypot(candidate.x - self.anchor.x, candidate.y - self.anchor.y) > still_mm:
            self.anchor, self.still_since_us = candidate, t
            self.readings.clear()
            self.reported_face = None
        self.readings.append(candidate)

    def face(self) -> tuple[Face | None, float]:
        """Return the face common to all readings, and its mean confidence; None and 0 if there is none."""
        faces = {reading.face for reading in self.readings}
        if len(faces) != 1 or None in faces:
            return None, 0.0
        return self.readings[0].face, sum(reading.confidence for reading in self.readings) / len(
            self.readings
        )


class DiceTracker:
    """Tracks the two dice of a table."""

    def __init__(self, rules: TrackerRules) -> None:
        self._rules = rules
        self._tracks: dict[Die, _Track] = {}
        self._known: set[Die] = set()
        self._unknown = False
        self._empty_since_us: int | None = None

    def frame(self, t: int, candidates: Iterable[Candidate]) -> list[Sight]:
        """Handle all candidates of one frame and return the resulting reports."""
        found = self._merge(candidates)
        if self._is_empty(t, found):
            return self._lose_missing(t)
        if self._unknown:
            return []
        matched = self._match(t, found)
        if matched is None:
            return self._lose_all()
        sights = [
            sight for die, candidate in sorted(matched.items()) for sight in self._follow(t, die, candidate)
        ]
        return sights + self._lose_missing(t)

    def _is_empty(self, t: int, found: Sequence[Candidate]) -> bool:
        if found:
            self._empty_since_us = None
            return False
        if self._empty_since_us is None:
            self._empty_since_us = t
        if not self._tracks and t - self._empty_since_us >= self._rules.empty_us:
            self._unknown = False
            self._known.clear()
        return True

    def _merge(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Merge candidates less than half a die apart. If their faces differ, the result has no face."""
        merged: list[Candidate] = []
        for candidate in sorted(candidates, key=lambda b: (b.x, b.y, b.face or 0, b.confidence)):
            index = next(
                (n for n, other in enumerate(merged) if _distance(candidate, other) < self._half), None
            )
            if index is None:
                merged.append(candidate)
            elif merged[index].face != candidate.face:
                merged[index] = Candidate(merged[index].x, merged[index].y, None, 0.0)
        return merged

    def _match(self, t: int, found: Sequence[Candidate]) -> dict[Die, Candidate] | None:
        """Return the candidate for each die; None if the assignment is ambiguous."""
        live = sorted(self._tracks)
        if len(found) > 2 or (not live and self._known):
            return None
        if not live:
            dice: tuple[Die, Die] = (1, 2)
            return dict(zip(dice, found, strict=False))
        if len(live) == 1:
            return self._match_one(t, live[0], found)
        if len(found) == 1:
            return self._match_single(t, found[0])
        straight: dict[Die, Candidate] = {1: found[0], 2: found[1]}
        crossed: dict[Die, Candidate] = {1: found[1], 2: found[0]}
        if any(track.fresh for track in self._tracks.values()):
            return self._match_by_direction(t, straight, crossed)
        return self._match_clearly(t, straight, crossed)

    def _match_by_direction(
        self, t: int, straight: dict[Die, Candidate], crossed: dict[Die, Candidate]
    ) -> dict[Die, Candidate] | None:
        """Match dice of unknown speed so that the vector between them changes least.

        A mistake is harmless, because only one point of each new track has been reported.
        """
        one, two = self._tracks[1].candidate, self._tracks[2].candidate

        def change(matched: dict[Die, Candidate]) -> float:
            x, y = matched[2].x - matched[1].x, matched[2].y - matched[1].y
            return hypot(x - (two.x - one.x), y - (two.y - one.y))

        better = min(straight, crossed, key=change)
        return better if all(self._reaches(t, die, candidate) for die, candidate in better.items()) else None

    def _match_one(self, t: int, die: Die, found: Sequence[Candidate]) -> dict[Die, Candidate] | None:
        other = OTHER[die]
        if len(found) == 1:
            return {die: found[0]} if self._reaches(t, die, found[0]) else {other: found[0]}
        first, second = found
        matched = self._match_clearly(t, {die: first}, {die: second})
        if matched is None:
            return None
        return {**matched, other: second if matched[die] is first else first}

    def _match_single(self, t: int, candidate: Candidate) -> dict[Die, Candidate] | None:
        """Match a single candidate to one of two dice. Dice that touch might briefly look like one die."""
        matched = self._match_clearly(t, {1: candidate}, {2: candidate})
        return {} if matched is None else matched

    def _match_clearly(
        self, t: int, one: dict[Die, Candidate], two: dict[Die, Candidate]
    ) -> dict[Die, Candidate] | None:
        possible = [
            matched
            for matched in (one, two)
            if all(self._reaches(t, die, candidate) for die, candidate in matched.items())
        ]
        if len(possible) < 2:
            return possible[0] if possible else None
        better, worse = sorted(possible, key=lambda matched: self._cost(t, matched))
        clear = self._cost(t, better) * _CLEAR_RATIO + self._half <= self._cost(t, worse)
        return better if clear else None

    def _reaches(self, t: int, die: Die, candidate: Candidate) -> bool:
        track = self._tracks[die]
        reach = self._rules.max_speed_mm_per_s * (t - track.t) / 1e6 + self._half
        return _distance(track.candidate, candidate) <= reach

    def _cost(self, t: int, matched: dict[Die, Candidate]) -> float:
        return sum(_track_error(self._tracks[die], t, candidate) for die, candidate in matched.items())

    def _follow(self, t: int, die: Die, candidate: Candidate) -> list[Sight]:
        rules = self._rules
        track = self._tracks.get(die)
        self._known.add(die)
        if track is None:
            self._tracks[die] = _Track(t, candidate)
            return [Sight("at", die, candidate.x, candidate.y)]
        track.move(t, candidate, rules.still_mm)
        still = t - track.still_since_us >= rules.still_us and len(track.readings) >= _MIN_READINGS
        if not still:
            return [Sight("at", die, candidate.x, candidate.y)]
        face, confidence = track.face()
        if track.reported_face == (face,) or (track.reported_face is not None and face is None):
            return []
        track.reported_face = (face,)
        return [Sight("rest", die, track.anchor.x, track.anchor.y, face, confidence)]

    def _lose_missing(self, t: int) -> list[Sight]:
        lost = sorted(d for d, track in self._tracks.items() if t - track.t >= self._rules.lost_us)
        for die in lost:
            del self._tracks[die]
        self._unknown = self._unknown or (bool(lost) and not self._tracks and len(self._known) > 1)
        return [Sight("lost", die) for die in lost]

    def _lose_all(self) -> list[Sight]:
        self._unknown = True
        lost = sorted(self._tracks)
        self._tracks.clear()
        return [Sight("lost", die) for die in lost]

    @property
    def _half(self) -> float:
        return self._rules.die_mm / 2


def _distance(a: Candidate, b: Candidate) -> float:
    return hypot(a.x - b.x, a.y - b.y)


def _track_error(track: _Track, t: int, candidate: Candidate) -> float:
    """Return a candidate's distance from the nearest position that the die could have reached.

    The die has either moved straight ahead or bounced off a wall.
    """
    seconds = (t - track.t) / 1e6
    ex, x_bounced = _axis_error(track.candidate.x, track.vx * seconds, candidate.x)
    ey, y_bounced = _axis_error(track.candidate.y, track.vy * seconds, candidate.y)
    return min(hypot(ex, ey), hypot(x_bounced, ey), hypot(ex, y_bounced))


def _axis_error(last: float, step: float, found: float) -> tuple[float, float]:
    """Return the errors along one axis, without and with a bounce off a wall."""
    low, high = sorted((last + step, last - _MAX_BOUNCE * step))
    return abs(found - last - step), max(low - found, found - high, 0.0)
