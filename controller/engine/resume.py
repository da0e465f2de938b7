"""What becomes of an attempt that was cut off, and what a table publishes before it continues after a stop.

All of it is pure: state, open attempts and the last rows in; outcomes and state out. The journal stores and
reads, the daemon passes them on.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from controller.games.game import Game
from controller.machines.setup import First, Setup, State
from controller.model.outcomes import (
    ATTEMPT_KINDS,
    AttemptKind,
    Awaited,
    Bets,
    Data,
    DealReview,
    DealVoid,
    Happening,
    Outcome,
    RollNoRoll,
    RollReview,
    SpinNoSpin,
    SpinReview,
    outcome_id,
)
from controller.model.readings import AnyReading, BallBeam, Card, DieAt, DieReleased, Input, Reading
from controller.model.rulesets import RuleSet
from controller.model.verdicts import Reason

CONTROLLER = "controller"
"""The role in which the daemon itself locks and unlocks."""
NOBODY = "nobody"
"""Who is named if play continues without a ruling."""
TELLING = frozenset({"table.locked", "table.unlocked", "bets.opened", "bets.closed", "input.refused"})
"""The rows that contain what a session's state does not."""

POWER_LOST = "power_lost"
CUT_OFF = "power was lost before the call"
_RULINGS = frozenset({"void", "no_roll", "no_spin", "misdeal"})


class _Kind(NamedTuple):
    """One kind of attempt: what begins it, and the one ruling on it after it was cut off."""

    begins: tuple[type[Reading], ...]
    ruling: str
    """The only rulings possible: it is not known whether all readings of the attempt are present."""
    void: str


_KINDS: Mapping[AttemptKind, _Kind] = {
    "roll": _Kind((DieReleased, DieAt), "no_roll", "No Roll"),
    "spin": _Kind((BallBeam,), "no_spin", "No Spin"),
    "deal": _Kind((Card,), "misdeal", "Void"),
}


class InFlight(NamedTuple):
    """An attempt that had begun and was not called: `told_review` if its review was already published."""

    attempt: AttemptKind
    number: int
    begun_t: int
    told_review: bool


class LastWord(NamedTuple):
    """One of the last rows of TELLING: its name and contents; None if it can't be read."""

    name: str
    data: Data | None


class Resumed(NamedTuple):
    """What the last session left: `pending` attempts were cut off and wait for a ruling.

    `held` is a lock that a person or a switch asked for, and only a person may undo. `bets_closed` means that
    the bets of the present round were closed at the end; they open again when play continues.
    """

    state: State
    first: First
    pending: tuple[InFlight, ...]
    held: bool
    bets_closed: bool
    lock: Happening | None = None
    """What locked the table last, as it was published; None if that is no longer known."""


def resume(
    game: Game,
    state: State,
    first: First,
    in_flight: tuple[InFlight, ...],
    last_words: Iterable[LastWord],
) -> Resumed:
    """Add what the last rows contain to the state, the numbers and the open attempts that the journal
    holds."""
    held: bool | None = None
    bets_closed = False
    lock: Happening | None = None
    for name, data in last_words:
        if name in ("table.locked", "table.unlocked"):
            lock = data if name == "table.locked" and isinstance(data, Happening) else None
        if name.startswith("bets."):
            bets_closed = name == "bets.closed"
        elif isinstance(data, Happening):
            held = holds(name, data, held=held)
        elif data is None:  # not verified yet, and may be a person's lock
            held = True
    locked = state.lock == "locked"
    for cut in in_flight:
        following = max(getattr(first, cut.attempt), cut.number + 1)
        first = msgspec.structs.replace(first, **{cut.attempt: following})
    return Resumed(
        state=_after_a_stop(game, state, cut_off=bool(in_flight)),
        first=first,
        pending=in_flight,
        held=locked and held is not False,
        bets_closed=bets_closed and not game.bets_stay_closed(state),
        lock=lock if locked else None,
    )


def holds(kind: str, data: Happening, *, held: bool | None) -> bool | None:
    """Return whether the lock is a person's or a switch's after this outcome; `held` is what it was
    before."""
    if kind == "table.unlocked":
        return False
    ours = data.by == CONTROLLER
    if kind == "table.locked":
        return not ours
    asked_again = data.cause == "already_locked" and data.what == "lock" and not ours
    return True if asked_again else held


def _after_a_stop(game: Game, state: State, *, cut_off: bool) -> State:
    """Return the state for a table that was away.

    The last call can still be corrected, unless (`cut_off`) an attempt had begun after it.
    """
    if state.call is not None:
        call = None if cut_off else msgspec.structs.replace(state.call, away=True)
        state = msgspec.structs.replace(state, call=call)
    return game.after_stop(state)


def causes_of(rules: RuleSet) -> Mapping[str, str]:
    """Return the rule id behind each cause."""
    attempts = rules.throw or rules.spin or rules.deal
    return {} if attempts is None else attempts.causes


def power_lost(causes: Mapping[str, str], seen: str = CUT_OFF) -> Reason:
    """Return the reason that is published for an attempt that was cut off."""
    return Reason(code=POWER_LOST, rule=causes.get(POWER_LOST, ""), seen=seen)


def is_of_the_past(reasons: Iterable[Reason], by: str) -> bool:
    """Return whether a void is that of an attempt that is over anyway: it was cut off, or nobody ruled on
    it."""
    return by == NOBODY or any(reason.code == POWER_LOST for reason in reasons)


def opening_words(resumed: Resumed, setup: Setup, t: int) -> tuple[list[Outcome], First]:
    """Return what a session that starts at `t` publishes first, and the numbers that come next.

    That is the review of each attempt that was cut off, unless it was published already; that bets open again
    if no such attempt keeps them closed; and that the table is locked until its self-test has passed.
    """
    causes = causes_of(setup.ruleset)
    first = setup.first
    told = [_review(cut, causes) for cut in resumed.pending if not cut.told_review]
    if resumed.bets_closed and not resumed.pending:
        first = msgspec.structs.replace(first, round=first.round + 1)
        told.append(("bets.opened", Bets(round=first.round, cause="restart")))
    if resumed.state.lock == "unlocked":
        says = "the controller started; play resumes after the self-test"
        told.append(("table.locked", Happening(cause="self_test", by=CONTROLLER, says=says)))
    return _numbered(told, setup, first, t)


class CutOff:
    """The attempts that the last session left in progress: a person rules on them, or they lapse."""

    def __init__(self, pending: tuple[InFlight, ...], setup: Setup) -> None:
        """Wait with these."""
        self._setup = setup
        self._causes = causes_of(setup.ruleset)
        self.pending = pending

    def lapses_at(self, reading: AnyReading) -> bool:
        """Return whether play continues with this reading, and so without a ruling."""
        return isinstance(reading, tuple(kind for cut in self.pending for kind in _KINDS[cut.attempt].begins))

    def ruled_by(self, entered: Input) -> bool:
        """Return whether an input is a ruling on them, if whoever entered it may rule."""
        names = {None, "game", *(str(cut.number) for cut in self.pending)}
        return bool(self.pending) and entered.name in _RULINGS and entered.what in names

    @property
    def awaited(self) -> Awaited | None:
        """What was cut off, in the form of what waits for a person; None if nothing was."""
        if not self.pending:
            return None
        cut = self.pending[0]
        may = (_KINDS[cut.attempt].ruling, "void")
        reasons = (power_lost(self._causes),)
        return Awaited(attempt=cut.attempt, number=cut.number, state="review", reasons=reasons, may=may)

    @property
    def answer(self) -> str:
        """The result of a ruling on them, in words."""
        calls = [
            (f"{cut.attempt.capitalize()} {cut.number}", _KINDS[cut.attempt].void) for cut in self.pending
        ]
        return "; ".join(f"{attempt}: {void}, was cut off by a power loss" for attempt, void in calls)

    def close(
        self, entered: Input | None, first: First, t: int, *, bets_closed: bool
    ) -> tuple[list[Outcome], First]:
        """Close them as void, by a person's ruling or (None) because play continues without one.

        Returns what is published at `t`, after these next numbers, and the numbers that come then. Bets that
        are closed open again.
        """
        if entered is None:
            code, seen, by, who = "unruled", "nobody ruled on it before play went on", NOBODY, None
        else:
            code, seen, by, who = "called", f"declared by the {entered.by}", entered.by, entered.who
        ruled = Reason(code=code, rule=self._causes.get(code, ""), seen=seen)
        told = [_void(cut, (power_lost(self._causes), ruled), by, who) for cut in self.pending]
        self.pending = ()
        if bets_closed:
            first = msgspec.structs.replace(first, round=first.round + 1)
            told.append(("bets.opened", Bets(round=first.round, cause="result")))
        return _numbered(told, self._setup, first, t)


def _review(cut: InFlight, causes: Mapping[str, str]) -> tuple[str, Data]:
    number = cut.number
    reasons = (
        power_lost(
            causes, f"{CUT_OFF}; it can only be ruled {_KINDS[cut.attempt].ruling}; resuming play voids it"
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


def _numbered(
    told: Sequence[tuple[str, Data]], setup: Setup, first: First, t: int
) -> tuple[list[Outcome], First]:
    outcomes = [
        Outcome(type=kind, t=t, id=outcome_id(setup.table, setup.session, seq), seq=seq, data=data)
        for seq, (kind, data) in enumerate(told, first.seq)
    ]
    return outcomes, msgspec.structs.replace(first, seq=first.seq + len(outcomes))


class OpenAttempts:
    """Knows the last attempt of each kind that ended or went to review."""

    def __init__(self, first: First) -> None:
        """Start with the assumption that everything before these numbers has ended."""
        self._ended: dict[AttemptKind, int] = {word: getattr(first, word) - 1 for word in ATTEMPT_KINDS}
        self._reviewed = dict(self._ended)

    def follow(self, outcome: Outcome) -> None:
        """Handle an outcome, whether it concerns an attempt or not."""
        reached = self._reviewed if outcome.type.endswith(".review") else self._ended
        for word in ATTEMPT_KINDS:
            number = getattr(outcome.data, word, None)
            if isinstance(number, int):
                reached[word] = max(reached[word], number)

    def open_before(self, first: First) -> bool:
        """Return whether an attempt before these numbers waits for its call or for a ruling."""
        return any(getattr(first, word) - 1 > self._ended[word] for word in ATTEMPT_KINDS)

    def undecided_before(self, first: First) -> bool:
        """Return whether an attempt before these numbers is undecided, or decided but not called yet."""
        decided = {word: max(self._ended[word], self._reviewed[word]) for word in ATTEMPT_KINDS}
        return any(getattr(first, word) - 1 > decided[word] for word in ATTEMPT_KINDS)


def begun_between(before: First, now: First) -> list[tuple[AttemptKind, int]]:
    """Return the attempts that have begun since these were the next numbers."""
    return [
        (word, getattr(now, word) - 1) for word in ATTEMPT_KINDS if getattr(now, word) > getattr(before, word)
    ]
