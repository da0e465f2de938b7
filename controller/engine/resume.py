"""Resumption after a stop: the attempts that were cut off, and the first outcomes of a new session.

This module has no side effects. The daemon reads the state, the open attempts and the journal's last rows,
and publishes the resulting outcomes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from controller.games.game import Game
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.outcomes import (
    ATTEMPT_KINDS,
    AttemptKind,
    Awaited,
    Bets,
    Data,
    DealReview,
    DealVoid,
    Outcome,
    RollNoRoll,
    RollReview,
    SpinNoSpin,
    SpinReview,
    TableEvent,
    outcome_id,
)
from controller.model.readings import AnyReading, BallBeam, Card, DieAt, DieReleased, Input, Reading
from controller.model.rulesets import RuleSet
from controller.model.verdicts import Reason

CONTROLLER = "controller"
"""The role in which the daemon locks and unlocks the table."""
NOBODY = "nobody"
"""The role recorded when an attempt on which nobody ruled is voided."""
RESUMED_FROM = frozenset({"table.locked", "table.unlocked", "bets.opened", "bets.closed", "input.refused"})
"""The types of outcomes from which a session restores data that its state does not contain."""

POWER_LOST = "power_lost"
CUT_OFF = "power was lost before the call"
_RULINGS = frozenset({"void", "no_roll", "no_spin", "misdeal"})


class _Kind(NamedTuple):
    """The readings that begin a kind of attempt, and the ruling on an attempt that was cut off."""

    begins: tuple[type[Reading], ...]
    ruling: str
    """The only possible ruling apart from `void`, because readings of the attempt might be missing."""
    void: str


_KINDS: Mapping[AttemptKind, _Kind] = {
    "roll": _Kind((DieReleased, DieAt), "no_roll", "No Roll"),
    "spin": _Kind((BallBeam,), "no_spin", "No Spin"),
    "deal": _Kind((Card,), "misdeal", "Void"),
}


class InFlight(NamedTuple):
    """An attempt that began but was not called, and whether its review was published."""

    attempt: AttemptKind
    number: int
    begun_t: int
    review_published: bool


class LastRow(NamedTuple):
    """A row of a type in `RESUMED_FROM`; `data` is None if the row's contents are unreadable."""

    name: str
    data: Data | None


class StoppedState(NamedTuple):
    """The state in which the last session stopped; the `pending` attempts were cut off and await a ruling.

    If `held` is set, a person or a switch locked the table or might have locked it, and only a person may
    unlock it. If `bets_closed` is set, the bets of the current round were closed; they reopen at the start
    or, if attempts are pending, once those attempts are void.
    """

    state: State
    first: NextNumbers
    pending: tuple[InFlight, ...]
    held: bool
    bets_closed: bool
    lock: TableEvent | None = None
    """The data of the journal's last lock or of the lock at this start; None if absent or unreadable."""


def resume(
    game: Game,
    state: State,
    first: NextNumbers,
    in_flight: tuple[InFlight, ...],
    last_rows: Iterable[LastRow],
) -> StoppedState:
    """Combine the journal's state, numbers and open attempts with the last rows of `RESUMED_FROM` types."""
    held: bool | None = None
    bets_closed = False
    lock: TableEvent | None = None
    for name, data in last_rows:
        if name in ("table.locked", "table.unlocked"):
            lock = data if name == "table.locked" and isinstance(data, TableEvent) else None
        if name.startswith("bets."):
            bets_closed = name == "bets.closed"
        elif isinstance(data, TableEvent):
            held = is_lock_held(name, data, held=held)
        elif data is None:  # unreadable; this might be a person's lock
            held = True
    locked = state.lock == "locked"
    for cut in in_flight:
        following = max(getattr(first, cut.attempt), cut.number + 1)
        first = msgspec.structs.replace(first, **{cut.attempt: following})
    return StoppedState(
        state=_state_after_stop(game, state, cut_off=bool(in_flight)),
        first=first,
        pending=in_flight,
        held=locked and held is not False,
        bets_closed=bets_closed and not game.bets_stay_closed(state),
        lock=lock if locked else _STARTED,
    )


_STARTED = TableEvent(
    cause="self_test", by=CONTROLLER, says="the controller started; play resumes after the self-test"
)


def is_lock_held(kind: str, data: TableEvent, *, held: bool | None) -> bool | None:
    """Return whether a person's or a switch's lock is in force after this outcome.

    `held` says whether such a lock was in force before; None if unknown.
    """
    if kind == "table.unlocked":
        return False
    by_controller = data.by == CONTROLLER
    if kind == "table.locked":
        return not by_controller
    locked_again = data.cause == "already_locked" and data.what == "lock" and not by_controller
    return True if locked_again else held


def _state_after_stop(game: Game, state: State, *, cut_off: bool) -> State:
    """Return the state after a stop; the last call can't be corrected if a later attempt was `cut_off`."""
    if state.call is not None:
        call = None if cut_off else msgspec.structs.replace(state.call, away=True)
        state = msgspec.structs.replace(state, call=call)
    return game.after_stop(state)


def causes_of(rules: RuleSet) -> Mapping[str, str]:
    """Return the rule id for each cause of a void or review."""
    attempts = rules.throw or rules.spin or rules.deal
    return {} if attempts is None else attempts.causes


def power_lost_reason(causes: Mapping[str, str], seen: str = CUT_OFF) -> Reason:
    """Return the reason for an attempt that was cut off."""
    return Reason(code=POWER_LOST, rule=causes.get(POWER_LOST, ""), seen=seen)


def concerns_earlier_attempt(reasons: Iterable[Reason], by: str) -> bool:
    """Return whether a void concerns an earlier attempt, which was cut off or not ruled on."""
    return by == NOBODY or any(reason.code == POWER_LOST for reason in reasons)


def opening_outcomes(resumed: StoppedState, setup: Setup, t: int) -> tuple[list[Outcome], NextNumbers]:
    """Return the first outcomes of a session that starts at `t`, in us, and the next numbers.

    The outcomes are the unpublished reviews of attempts that were cut off, the opening of bets if no such
    attempt keeps them closed, and the locking of the table for the self-test.
    """
    causes = causes_of(setup.ruleset)
    first = setup.first
    parts = [_review(cut, causes) for cut in resumed.pending if not cut.review_published]
    if resumed.bets_closed and not resumed.pending:
        first = msgspec.structs.replace(first, round=first.round + 1)
        parts.append(("bets.opened", Bets(round=first.round, cause="restart")))
    if resumed.state.lock == "unlocked":
        parts.append(("table.locked", _STARTED))
    return _number_outcomes(parts, setup, first, t)


class CutOffAttempts:
    """The attempts that were cut off when the last session ended; if nobody rules on them, they lapse."""

    def __init__(self, pending: tuple[InFlight, ...], setup: Setup) -> None:
        self._setup = setup
        self._causes = causes_of(setup.ruleset)
        self.pending = pending

    def lapses_at(self, reading: AnyReading) -> bool:
        """Return whether this reading begins a new attempt, which makes the pending attempts lapse."""
        return isinstance(reading, tuple(kind for cut in self.pending for kind in _KINDS[cut.attempt].begins))

    def ruled_by(self, entered: Input) -> bool:
        """Return whether an input is a ruling on the pending attempts, without checking the role."""
        names = {None, "game", *(str(cut.number) for cut in self.pending)}
        return bool(self.pending) and entered.name in _RULINGS and entered.what in names

    @property
    def awaited(self) -> Awaited | None:
        """The first pending attempt, which awaits a ruling; None if no attempt is pending."""
        if not self.pending:
            return None
        cut = self.pending[0]
        may = (_KINDS[cut.attempt].ruling, "void")
        reasons = (power_lost_reason(self._causes),)
        return Awaited(attempt=cut.attempt, number=cut.number, state="review", reasons=reasons, may=may)

    @property
    def answer(self) -> str:
        """The answer to a ruling on the pending attempts, as a message."""
        calls = [
            (f"{cut.attempt.capitalize()} {cut.number}", _KINDS[cut.attempt].void) for cut in self.pending
        ]
        return "; ".join(f"{attempt}: {void}, because a power loss cut it off" for attempt, void in calls)

    def close(
        self, entered: Input | None, first: NextNumbers, t: int, *, bets_closed: bool
    ) -> tuple[list[Outcome], NextNumbers]:
        """Void the pending attempts, on a person's ruling (`entered`) or because play continues (None).

        Return the outcomes, with time `t` in us and numbered from `first`, and the next numbers. If bets are
        closed, one of the outcomes opens them.
        """
        if entered is None:
            code, seen, by, who = "unruled", "nobody ruled on it before play continued", NOBODY, None
        else:
            code, seen, by, who = "called", f"declared by the {entered.by}", entered.by, entered.who
        ruled = Reason(code=code, rule=self._causes.get(code, ""), seen=seen)
        parts = [_void(cut, (power_lost_reason(self._causes), ruled), by, who) for cut in self.pending]
        self.pending = ()
        if bets_closed:
            first = msgspec.structs.replace(first, round=first.round + 1)
            parts.append(("bets.opened", Bets(round=first.round, cause="result")))
        return _number_outcomes(parts, self._setup, first, t)


def _review(cut: InFlight, causes: Mapping[str, str]) -> tuple[str, Data]:
    number = cut.number
    reasons = (
        power_lost_reason(
            causes,
            f"{CUT_OFF}; rule {_KINDS[cut.attempt].ruling} or void; if play continues, the attempt is void",
        ),
    )
    match cut.attempt:
        case "roll":
            return "roll.review", RollReview(roll=number, reasons=reasons, dice=None, notices=())
        case "spin":
            return "spin.review", SpinReview(spin=number, reasons=reasons, number=None, notices=())
        case "deal":
            return "deal.review", DealReview(deal=number, reasons=reasons, notices=())


def _void(cut: InFlight, reasons: tuple[Reason, ...], by: str, who: str | None) -> tuple[str, Data]:
    number = cut.number
    match cut.attempt:
        case "roll":
            return "roll.no_roll", RollNoRoll(roll=number, reasons=reasons, by=by, who=who, notices=())
        case "spin":
            return "spin.no_spin", SpinNoSpin(spin=number, reasons=reasons, by=by, who=who, notices=())
        case "deal":
            return "deal.void", DealVoid(deal=number, reasons=reasons, by=by, who=who, notices=())


def _number_outcomes(
    parts: Sequence[tuple[str, Data]], setup: Setup, first: NextNumbers, t: int
) -> tuple[list[Outcome], NextNumbers]:
    outcomes = [
        Outcome(type=kind, t=t, id=outcome_id(setup.table, setup.session, seq), seq=seq, data=data)
        for seq, (kind, data) in enumerate(parts, first.seq)
    ]
    return outcomes, msgspec.structs.replace(first, seq=first.seq + len(outcomes))


class OpenAttempts:
    """For each kind of attempt, the numbers of the last that ended and the last that went to review."""

    def __init__(self, first: NextNumbers) -> None:
        """Treat all attempts before these next numbers as ended."""
        self._ended: dict[AttemptKind, int] = {kind: getattr(first, kind) - 1 for kind in ATTEMPT_KINDS}
        self._reviewed = dict(self._ended)

    def follow(self, outcome: Outcome) -> None:
        """Record an outcome; ignore outcomes that do not concern an attempt."""
        reached = self._reviewed if outcome.type.endswith(".review") else self._ended
        for kind in ATTEMPT_KINDS:
            number = getattr(outcome.data, kind, None)
            if isinstance(number, int):
                reached[kind] = max(reached[kind], number)

    def open_before(self, first: NextNumbers) -> bool:
        """Return whether an attempt before these next numbers awaits its call or a ruling."""
        return any(getattr(first, kind) - 1 > self._ended[kind] for kind in ATTEMPT_KINDS)

    def undecided_before(self, first: NextNumbers) -> bool:
        """Return whether an attempt before these next numbers has neither ended nor gone to review."""
        decided = {kind: max(self._ended[kind], self._reviewed[kind]) for kind in ATTEMPT_KINDS}
        return any(getattr(first, kind) - 1 > decided[kind] for kind in ATTEMPT_KINDS)


def begun_between(before: NextNumbers, now: NextNumbers) -> list[tuple[AttemptKind, int]]:
    """Return each kind of attempt begun between `before` and `now`, with the number of the last one."""
    return [
        (kind, getattr(now, kind) - 1) for kind in ATTEMPT_KINDS if getattr(now, kind) > getattr(before, kind)
    ]
