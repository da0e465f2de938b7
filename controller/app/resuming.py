"""Where a table goes on after a stop: what it must tell first, and what still waits for a person's word."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from controller.app.faults import TEST_FAILED, Fault
from controller.games.game import Game
from controller.journal.chain import Row
from controller.journal.contents import WORDS, Word, outcome_of
from controller.journal.recovery import InFlight, Recovered
from controller.machines.setup import First, State
from controller.model.outcomes import Awaited, Data, DealVoid, Happening, Outcome, RollNoRoll, SpinNoSpin
from controller.model.readings import AnyReading, BallBeam, Card, DieAt, DieReleased, Input, Reading
from controller.model.rulesets import RuleSet
from controller.model.verdicts import Reason

CONTROLLER = "controller"
"""The role in which the daemon itself locks and unlocks."""
TELLING = frozenset({"table.locked", "table.unlocked", "bets.opened", "bets.closed", "input.refused"})
"""The rows that tell what a session's state does not hold."""
OUTLIVES_RESTARTS = frozenset({"clock_stepped", "device_component", TEST_FAILED})
"""Faults that only a person clears and that nothing at a start would find again."""
LOOK_BACK = 5000
"""Rows that are searched for what locked the table; a lock without its row counts as a person's."""
_BEGINNINGS: Mapping[Word, tuple[type[Reading], ...]] = {
    "roll": (DieReleased, DieAt),
    "spin": (BallBeam,),
    "deal": (Card,),
}
"""What can begin an attempt: what was cut off before then lapses."""
_RULINGS = frozenset({"void", "no_roll", "no_spin", "misdeal"})
_VOID: Mapping[Word, str] = {"roll": "No Roll", "spin": "No Spin", "deal": "Void"}


class Resumed(NamedTuple):
    """What the last session left: `pending` were cut off and wait for a ruling.

    `held` is a lock that a person or a switch asked for and only a person may undo. `bets_closed` tells that
    the bets of the present round were closed when all ended, and open again when play goes on.
    """

    state: State
    first: First
    pending: tuple[InFlight, ...]
    held: bool
    bets_closed: bool
    lock: Happening | None = None
    """What locked the table last, as it was told; None where that is not known any more."""
    faults: tuple[Fault, ...] = ()
    """Faults that only a person clears, and that nobody had cleared."""


def resume(game: Game, recovered: Recovered, recent: Iterable[Row]) -> Resumed:
    """Add what the last rows tell to what the journal recovered."""
    held: bool | None = None
    bets_closed = False
    lock: Happening | None = None
    for row in recent:
        if row.body is None or row.name not in TELLING:
            continue
        if row.name in ("table.locked", "table.unlocked"):
            lock = _lock_after(row.name, row.body)
        if row.name.startswith("bets."):
            bets_closed = row.name == "bets.closed"
            continue
        held = _holds_after(row.name, row.body, held)
    locked = recovered.state.lock == "locked"
    first = recovered.first
    for cut in recovered.in_flight:
        following = max(getattr(first, cut.attempt), cut.number + 1)
        first = msgspec.structs.replace(first, **{cut.attempt: following})
    return Resumed(
        state=_after_a_stop(game, recovered.state, cut_off=bool(recovered.in_flight)),
        first=first,
        pending=recovered.in_flight,
        held=locked and held is not False,
        bets_closed=bets_closed and not game.bets_stay_closed(recovered.state),
        lock=lock if locked else None,
        faults=tuple(
            Fault(fault.code, fault.where, fault.found)
            for fault in recovered.faults
            if fault.code in OUTLIVES_RESTARTS
        ),
    )


def _lock_after(name: str, body: bytes) -> Happening | None:
    with suppress(msgspec.MsgspecError, KeyError):
        data = outcome_of(body).data
        return data if name == "table.locked" and isinstance(data, Happening) else None
    return None


def _after_a_stop(game: Game, state: State, *, cut_off: bool) -> State:
    """Return the state for a table that was away.

    The last call can still be corrected, unless (`cut_off`) an attempt had begun after it.
    """
    if state.call is not None:
        call = None if cut_off else msgspec.structs.replace(state.call, away=True)
        state = msgspec.structs.replace(state, call=call)
    return game.after_stop(state)


def _holds_after(kind: str, body: bytes, held: bool | None) -> bool | None:
    try:
        data = outcome_of(body).data
    except (msgspec.MsgspecError, KeyError):
        # Rows before the last checkpoint are not verified yet: one that can't be read may be a person's lock.
        return True
    return holds(kind, data, held=held) if isinstance(data, Happening) else held


def holds(kind: str, data: Happening, *, held: bool | None) -> bool | None:
    """Tell whether the lock is a person's or a switch's, after this outcome; `held` is what it was before."""
    if kind == "table.unlocked":
        return False
    ours = data.by == CONTROLLER
    if kind == "table.locked":
        return not ours
    asked_again = data.cause == "already_locked" and data.what == "lock" and not ours
    return True if asked_again else held


def causes_of(rules: RuleSet) -> Mapping[str, str]:
    """Give the rule id behind each cause."""
    attempts = rules.throw or rules.spin or rules.deal
    return {} if attempts is None else attempts.causes


class CutOff:
    """The attempts that the last session left in flight: a person rules on them, or they lapse."""

    def __init__(self, pending: tuple[InFlight, ...], rules: RuleSet) -> None:
        """Wait with these."""
        self._causes = causes_of(rules)
        self.pending = pending

    def lapses_at(self, reading: AnyReading) -> bool:
        """Tell whether play goes on with this reading, and so without a ruling."""
        return isinstance(reading, tuple(kind for cut in self.pending for kind in _BEGINNINGS[cut.attempt]))

    def ruled_by(self, entered: Input) -> bool:
        """Return whether an input is a ruling on them, if whoever entered it may rule."""
        names = {None, "game", *(str(cut.number) for cut in self.pending)}
        return bool(self.pending) and entered.name in _RULINGS and entered.what in names

    @property
    def awaited(self) -> Awaited | None:
        """Return what was cut off as what waits for a person."""
        if not self.pending:
            return None
        cut = self.pending[0]
        reasons = (self._reason("power_lost", "power was lost before the call"),)
        ruling = {"roll": "no_roll", "spin": "no_spin", "deal": "misdeal"}[cut.attempt]
        return Awaited(
            attempt=cut.attempt, number=cut.number, state="review", reasons=reasons, may=(ruling, "void")
        )

    @property
    def answer(self) -> str:
        """Say what a ruling on them comes to."""
        return "; ".join(
            f"{cut.attempt.capitalize()} {cut.number}: {_VOID[cut.attempt]}, was cut off by a power loss"
            for cut in self.pending
        )

    def close(self, entered: Input | None) -> list[tuple[str, Data]]:
        """Close them as void, by a person's ruling or because play goes on without one.

        Gives each outcome's type and data.
        """
        if entered is None:
            code, seen, by, who = "unruled", "nobody ruled on it before play went on", "nobody", None
        else:
            code, seen, by, who = "called", f"declared by the {entered.by}", entered.by, entered.who
        reasons = (self._reason("power_lost", "power was lost before the call"), self._reason(code, seen))
        told = [_void(cut, reasons, by, who) for cut in self.pending]
        self.pending = ()
        return told

    def _reason(self, code: str, seen: str) -> Reason:
        return Reason(code=code, rule=self._causes.get(code, ""), seen=seen)


def _void(cut: InFlight, reasons: tuple[Reason, ...], by: str, who: str | None) -> tuple[str, Data]:
    number = cut.number
    match cut.attempt:
        case "roll":
            return "roll.no_roll", RollNoRoll(roll=number, reasons=reasons, by=by, who=who, notices=())
        case "spin":
            return "spin.no_spin", SpinNoSpin(spin=number, reasons=reasons, by=by, who=who, notices=())
        case "deal":
            return "deal.void", DealVoid(deal=number, reasons=reasons, by=by, who=who, notices=())


def numbered(told: Sequence[tuple[str, Data]], session: str, first_seq: int, t: int) -> list[Outcome]:
    """Make outcomes of what is to be told; `session` is the source as their ids begin, table/session."""
    return [
        Outcome(type=kind, t=t, id=f"{session}/{seq}", seq=seq, data=data)
        for seq, (kind, data) in enumerate(told, first_seq)
    ]


class Progress:
    """Knows the last attempt of each kind that ended or went to review."""

    def __init__(self, first: First) -> None:
        """Start with everything before these numbers ended."""
        self._ended: dict[Word, int] = {word: getattr(first, word) - 1 for word in WORDS}
        self._reviewed = dict(self._ended)

    def follow(self, outcome: Outcome) -> None:
        """Take an outcome, whether it concerns an attempt or not."""
        reached = self._reviewed if outcome.type.endswith(".review") else self._ended
        for word in WORDS:
            number = getattr(outcome.data, word, None)
            if isinstance(number, int):
                reached[word] = max(reached[word], number)

    def open_before(self, first: First) -> bool:
        """Tell whether an attempt before these numbers waits for its call or for a ruling."""
        return any(getattr(first, word) - 1 > self._ended[word] for word in WORDS)

    def undecided_before(self, first: First) -> bool:
        """Tell whether an attempt before these numbers is not decided, or its call not made."""
        decided = {word: max(self._ended[word], self._reviewed[word]) for word in WORDS}
        return any(getattr(first, word) - 1 > decided[word] for word in WORDS)


def begun_between(before: First, now: First) -> list[tuple[Word, int]]:
    """Name the attempts that have begun since these were the next numbers."""
    return [(word, getattr(now, word) - 1) for word in WORDS if getattr(now, word) > getattr(before, word)]
