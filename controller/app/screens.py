"""What screens show of the past: the board, the last results as the staff sees them, and plain counts.

Read from the journal when the first screen asks and followed from then on, each time a screen asks again:
a table without a screen does nothing for it.
"""

from collections import Counter, deque
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from controller.app.faults import APPROVES, Fault
from controller.app.peers import APPROVERS, INPUT_NEEDS, MAY, ROLES, Role
from controller.app.status import View, fault_of, lock_of
from controller.games.registry import game_of
from controller.journal.chain import Row
from controller.journal.reading import Reader
from controller.machines.flat import InputRefused
from controller.machines.roles import PLAYERS, require_role
from controller.model.geometry import DiceTable
from controller.model.outcomes import (
    Awaited,
    DealCalled,
    DealCorrected,
    RollCalled,
    RollCorrected,
    SpinCalled,
    SpinCorrected,
    data_of,
)
from controller.model.readings import Input
from controller.model.rulesets import RuleSet
from controller.publish.players import LOOK_BACK, RESULTS, TableBoard, follow, showing

if TYPE_CHECKING:
    from controller.app.daemon import Daemon
    from controller.app.running import RunningTable

WAITING = 1024
"""Rows that may wait for a screen to ask; with more of them all is read from the journal again."""
CORRECTABLE = 64
"""The newest results whose count may still change; what is older is settled."""
_ATTEMPTS = ("roll", "spin", "deal")


class StaffOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of an attempt, whole: for the staff alone."""

    type: str
    sequence: int
    data: Raw


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt and all that was told of it, the ruling that holds last."""

    attempt: str
    number: int
    told: tuple[StaffOutcome, ...]


class HistorySnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The past at one moment: `counts` is how often each result came since the table opened."""

    board: TableBoard
    results: tuple[Result, ...]
    counts: dict[str, int]


class _OutcomeMessage(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    seq: int
    data: Raw


_decode = msgspec.json.Decoder(_OutcomeMessage).decode


class Counts:
    """How often each result came since the table opened; a correction moves one from here to there."""

    def __init__(self) -> None:
        self._settled: Counter[str] = Counter()
        self._newest: dict[int, str | None] = {}

    def follow(self, type_: str, data: Raw) -> None:
        """Count one more outcome."""
        if type_ == "table.opened":
            self._settled.clear()
            self._newest.clear()
            return
        match data_of(type_, data):
            case RollCalled(roll=number, total=total) | RollCorrected(roll=number, total=total):
                self._came(number, None if total is None else str(total))
            case SpinCalled(spin=number, number=pocket) | SpinCorrected(spin=number, number=pocket):
                self._came(number, pocket)
            case DealCalled(deal=number, qualifies=plays) | DealCorrected(deal=number, qualifies=plays):
                self._came(number, None if plays is None else "plays" if plays else "does not play")
            case _:
                pass

    def _came(self, number: int, result: str | None) -> None:
        self._newest[number] = result
        if len(self._newest) > CORRECTABLE:
            oldest = self._newest.pop(next(iter(self._newest)))
            if oldest is not None:
                self._settled[oldest] += 1

    def now(self) -> dict[str, int]:
        """Return how often each result came."""
        return dict(self._settled + Counter(one for one in self._newest.values() if one is not None))


class Showing:
    """Follows what the journal tells. `told` returns at once, in the journal's thread; any thread may ask."""

    def __init__(self, first: Callable[[], TableBoard], open_journal: Callable[[], Reader]) -> None:
        """Start from this board, before any outcome of the journal."""
        self._first = first
        self._open_journal = open_journal
        self._lock = Lock()
        self._rows: deque[Row] = deque()
        self._listens = False
        self._board: TableBoard | None = None
        self._results: tuple[Result, ...] = ()
        self._counts = Counts()

    def told(self, rows: tuple[Row, ...]) -> None:
        """Note outcomes that have become durable."""
        if not self._listens:
            return
        if len(self._rows) >= WAITING:
            self._listens = False
            return
        self._rows.extend(rows)

    def shown(self, awaited: Awaited | None) -> HistorySnapshot:
        """Return what screens show now; raises JournalFault where the journal can't be read."""
        with self._lock:
            board = self._board
            if board is None or not self._listens:
                board = self._read()
            while self._rows:
                board = self._follow(board, self._rows.popleft())
            self._board = board
            return HistorySnapshot(
                board=showing(board, awaited), results=self._results, counts=self._counts.now()
            )

    def _read(self) -> TableBoard:
        self._rows.clear()
        self._listens = True  # first: what becomes durable while the journal is read must not be missed
        self._results, self._counts = (), Counts()
        board = self._first()
        with self._open_journal() as reader:
            for row in reader.rows(max(1, reader.last_n() - LOOK_BACK)):
                board = self._follow(board, row)
        return board

    def _follow(self, board: TableBoard, row: Row) -> TableBoard:
        if row.seq is None or row.body is None or row.seq <= board.sequence:
            return board
        told = _decode(row.body)
        self._counts.follow(told.type, told.data)
        word = told.type.partition(".")[0]
        number = getattr(data_of(told.type, told.data), word, None) if word in _ATTEMPTS else None
        if number is not None:
            self._note(word, number, StaffOutcome(type=told.type, sequence=told.seq, data=told.data))
        return follow(board, row)

    def _note(self, attempt: str, number: int, word: StaffOutcome) -> None:
        known = next((one for one in self._results if one.number == number), None)
        if known is None:
            one = Result(attempt=attempt, number=number, told=(word,))
            self._results = (one, *self._results)[:RESULTS]
            return
        grown = msgspec.structs.replace(known, told=(*known.told, word))
        self._results = tuple(grown if one is known else one for one in self._results)


def _felt_of(table: DiceTable | None) -> dict[str, float] | None:
    """Return the size of the felt, to which a screen draws the dice; None where none are thrown."""
    return None if table is None else {"length_mm": table.length_mm, "width_mm": table.width_mm}


STAFF = tuple(role for role in ROLES if role not in PLAYERS)
"""Who can be at a screen of the staff's."""
_NOT_SHOWN = ("call", "learned", "standing")
"""Of the state: what no screen shows, or only the technician's."""


def floor_of(daemon: "Daemon") -> dict[str, object]:
    """Return the table's state for the staff's screens, as JSON values; raises JournalFault."""
    rules = daemon.settings.rules
    faults = daemon.faults.present
    told: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": rules.name,
        "title": rules.title,
        "game": rules.game,
        "calls": daemon.settings.calls,
        "hold_ms": _hold_ms(rules),
        "felt": _felt_of(daemon.settings.dice_table),
        "pockets": () if daemon.settings.wheel is None else daemon.settings.wheel.pockets_clockwise,
        "headline": daemon.headline(),
        "faults": [{**fault_of(fault), "approve": _approval_of(fault)} for fault in faults],
    }
    live = daemon.live
    if live is None:
        return {**told, "up": False}
    approvals = tuple(f"approve {what}" for what in map(_approval_of, faults) if what)
    return {**told, "up": True, **_of_view(live, live.core.view, rules, approvals)}


def board_of(live: "RunningTable") -> dict[str, object]:
    """Return what players may see: the board as it is published, and how often each result came.

    Raises JournalFault where the journal can't be read.
    """
    view = live.core.view
    shown = live.showing.shown(None if view.testing else view.awaited)
    return {"board": shown.board, "counts": shown.counts}


def _approval_of(fault: Fault) -> str | None:
    """Return what a person approves to clear this fault; None where an approval does not."""
    return next((what for what, codes in APPROVES.items() if fault.code in codes), None)


def _of_view(
    live: "RunningTable", view: View, rules: RuleSet, approvals: tuple[str, ...]
) -> dict[str, object]:
    state: dict[str, object] = msgspec.to_builtins(view.state)
    for key in _NOT_SHOWN:
        state.pop(key, None)
    word = game_of(rules.game).attempt.attempt
    standing = view.state.call
    return {
        "state": state,
        "lock": "locked" if view.halted else view.state.lock,
        "locked": lock_of(view),
        "testing": view.testing,
        "halted": view.halted,
        "attempt": {
            "word": word,
            "number": getattr(view.first, word) - 1,
            "under_way": view.in_flight,
            "open": view.attempt_open,
        },
        "hold_left_ms": _hold_left_ms(view),
        "standing": None if standing is None else standing.number,
        "bets": {"open": not view.bets_closed, "round": view.first.round},
        "awaited": view.awaited,
        "acted": view.acted,
        "allowed": view.allowed,
        "may": {role: _their_part((*view.allowed, *approvals), role, rules) for role in STAFF},
        "late": [{"wager": wager, "says": says} for wager, says in live.late_wagers],
        "results": live.showing.shown(view.awaited).results,
    }


def _their_part(allowed: tuple[str, ...], role: str, rules: RuleSet) -> tuple[str, ...]:
    return tuple(name for name in allowed if _is_theirs(name.partition(" ")[0], role, rules))


def _is_theirs(name: str, role: str, rules: RuleSet) -> bool:
    if name == "approve":
        return role in APPROVERS
    unix: Role = "technician" if role == "technician" else "staff"
    if unix not in MAY[INPUT_NEEDS.get(name, "rule")]:
        return False
    try:
        require_role(Input(t=0, dev="", name=name, by=role), rules)
    except InputRefused:
        return False
    return True


def _hold_left_ms(view: View) -> float | None:
    """Return for how long the call that is held can still be stopped; None where none is held."""
    return None if view.hold_ends_us is None else max(0, view.hold_ends_us - view.now_us) / 1000


def _hold_ms(rules: RuleSet) -> float:
    judged = rules.throw or rules.spin or rules.deal
    return 0.0 if judged is None else judged.call_hold_ms
