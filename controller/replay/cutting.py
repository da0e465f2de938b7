"""Extraction of pieces from recordings; a piece replays with the same outcomes as in the whole recording."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from controller.engine.session import Session
from controller.model.effects import Effect, Judged
from controller.model.outcomes import Outcome, attempt_of
from controller.model.readings import AnyReading, BallBeam, Card, DieAt, DieReleased, Reading, WheelStatus
from controller.model.rulesets import RuleSet
from controller.replay.log import Header, Log, open_log
from controller.replay.run import build_setup
from controller.replay.source import LogError

FindRules = Callable[[Log], RuleSet]
_LAUNCHES = (DieReleased, DieAt, BallBeam, WheelStatus, Card)
"""The kinds of readings that can begin an attempt."""
_END_US = 2**62
_MAX_NEIGHBOURS = 2
"""Maximum number of neighbouring attempts to include in a piece on each side."""


class UncuttableError(LogError):
    """A cut that changes the outcomes, because an attempt was in progress."""


class Piece(NamedTuple):
    """A piece of a recording, with its outcomes."""

    header: Header
    readings: list[AnyReading]
    outcomes: list[Outcome]


def cut(log: Log, ruleset: RuleSet, from_us: int, to_us: int) -> Piece:
    """Return the readings that arrived at or after `from_us` and before `to_us`, with the state at `from_us`.

    Raises LogError if a line is invalid, and UncuttableError if a cut during an attempt changes the outcomes.
    """
    setup = build_setup(log.header, ruleset, log.name)
    session = Session(setup)
    header = log.header
    readings: list[AnyReading] = []
    effects: list[Effect] = []
    for reading in log:
        arrived = _arrival(reading)
        if arrived < from_us:
            session.feed(reading)
            continue
        if arrived >= to_us:
            break
        if not readings:
            # Advance the time to the cut, as a live table would have fired the timers due before the cut.
            session.advance(from_us)
            header = msgspec.structs.replace(
                header,
                ruleset=ruleset.name,
                rules=None if header.rules is None else ruleset,
                session=setup.session,
                first=session.first(),
                state=msgspec.structs.replace(session.state(), standing=session.carried_readings()),
            )
        readings.append(reading)
        effects += session.feed(reading)
    effects += session.finish()
    piece = Piece(header, readings, _outcomes(effects))
    if _outcomes_by_itself(piece, ruleset, log.name) != piece.outcomes:
        found = f"an attempt in progress at {from_us} us"
        raise UncuttableError(
            log.name, found, "a cut between two attempts", "start the piece earlier or later"
        )
    return piece


def _outcomes_by_itself(piece: Piece, ruleset: RuleSet, name: str) -> list[Outcome]:
    session = Session(build_setup(piece.header, ruleset, name))
    effects = [effect for reading in piece.readings for effect in session.feed(reading)]
    return _outcomes([*effects, *session.finish()])


def _arrival(reading: Reading) -> int:
    return reading.t if reading.arrived is None else reading.arrived


def _outcomes(effects: Iterable[Effect]) -> list[Outcome]:
    return [effect for effect in effects if isinstance(effect, Outcome)]


@dataclass(slots=True)
class _ReplayResult:
    """The outcomes of each attempt in a log, and the arrival time, in us, of the attempt's first reading."""

    lateness_us: int
    outcomes: dict[int, list[Outcome]] = field(default_factory=dict)
    launched_us: dict[int, int] = field(default_factory=dict)

    def record(self, effects: Iterable[Effect]) -> None:
        """Record the effects of the log's next reading."""
        for effect in effects:
            outcome = effect.outcome if isinstance(effect, Judged) else effect
            number = attempt_of(outcome) if isinstance(outcome, Outcome) else None
            if number is None:
                continue
            if isinstance(effect, Judged):
                self._record_launch(effect, number)
            elif isinstance(outcome, Outcome):
                self.outcomes.setdefault(number, []).append(outcome)

    def _record_launch(self, judged: Judged, number: int) -> None:
        # The evidence can contain readings from before the attempt.
        before_us = self.outcomes[number - 1][-1].t if number - 1 in self.outcomes else 0
        launches = (r for r in judged.readings if isinstance(r, _LAUNCHES) and r.t >= before_us)
        first_us = min(map(_arrival, launches), default=judged.basis.decided_at_us)
        self.launched_us.setdefault(number, first_us)

    def bounds(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the arrival times, in us, at which a piece can begin and end, shortest piece first."""
        for neighbours in range(_MAX_NEIGHBOURS + 1):
            begin_number = first - neighbours
            launched = self.launched_us.get(begin_number, 0)
            called = [outcomes[-1].t for other, outcomes in self.outcomes.items() if other < begin_number]
            begins = {max(called, default=-1) + self.lateness_us + 1, launched - 1}
            ends = [self.launched_us.get(last + 1 + after, _END_US) for after in range(_MAX_NEIGHBOURS + 1)]
            yield from ((begin, end) for end in dict.fromkeys(ends) for begin in sorted(begins) if begin >= 0)


def cut_attempt(path: str, number: int | None, rules: FindRules) -> Piece:
    """Extract one attempt from a log, from the call of the previous attempt to the launch of the next.

    `number` is the attempt's number, or None for the last attempt; `rules` returns the log's rule set.
    Inseparable attempts, such as a review and the launch that closes it, are extracted together.

    Raises LogError if the log is bad or does not contain the attempt, or if the outcomes depend on other
    readings.
    """
    with open_log(path) as log:
        replayed = _replay_log(log, rules(log))
    wanted = max(replayed.outcomes, default=None) if number is None else number
    if wanted is None or wanted not in replayed.outcomes:
        expected = "one" if number is None else f"number {number}"
        if not replayed.outcomes:
            advice = "use a log in which an attempt was called or voided"
            raise LogError(path, "no throw, spin or deal", expected, advice)
        numbers = f"numbers {min(replayed.outcomes)} to {max(replayed.outcomes)}"
        raise LogError(path, f"throws, spins or deals with {numbers}", expected, "name one of them with #n")
    return _shortest(path, rules, replayed, range(wanted, wanted + 1))


def cut_attempts(path: str, first: int, last: int, rules: FindRules) -> Piece:
    """Extract the attempts from `first` to `last` from a log, like `cut_attempt`.

    Raises:
        LogError: the log is bad or does not contain all of the attempts, or the outcomes depend on other
            readings.
    """
    with open_log(path) as log:
        replayed = _replay_log(log, rules(log))
    missing = [number for number in range(first, last + 1) if number not in replayed.outcomes]
    if missing:
        found = f"no throw, spin or deal #{missing[0]}"
        raise LogError(path, found, f"all from #{first} to #{last}", "try the next recording")
    return _shortest(path, rules, replayed, range(first, last + 1))


def _shortest(path: str, rules: FindRules, replayed: _ReplayResult, wanted: range) -> Piece:
    expected = [outcome for number in wanted for outcome in replayed.outcomes[number]]
    for from_us, to_us in replayed.bounds(wanted[0], wanted[-1]):
        piece = _piece(path, rules, from_us, to_us)
        if piece is not None and _by_number(piece.outcomes, wanted) == expected:
            return piece
    found = f"{expected[-1].type} #{wanted[-1]}, which depends on readings outside it"
    raise LogError(path, found, "an attempt that depends on no other reading", "use the whole log")


def _by_number(outcomes: Sequence[Outcome], wanted: Iterable[int]) -> list[Outcome]:
    return [outcome for number in wanted for outcome in outcomes if attempt_of(outcome) == number]


def _piece(path: str, rules: FindRules, from_us: int, to_us: int) -> Piece | None:
    with open_log(path) as log:
        try:
            return cut(log, rules(log), from_us, to_us)
        except UncuttableError:
            return None


def _replay_log(log: Log, ruleset: RuleSet) -> _ReplayResult:
    session = Session(build_setup(log.header, ruleset, log.name))
    replayed = _ReplayResult(round(ruleset.max_lateness_ms * 1000))
    for reading in log:
        replayed.record(session.feed(reading))
    replayed.record(session.finish(cut=log.truncated))
    return replayed
