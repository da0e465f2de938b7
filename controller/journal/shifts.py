"""Summaries of shifts, and the comparison of a shadow's calls with the dealers' results.

A shift lasts from the table's opening to its closing. Corrected results replace the original results. A
shadow is a controller that makes its own calls while dealers run the table and enter the results.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import (
    FAULT_BEGAN,
    FAULT_OVER,
    SESSION_STARTED,
    Identity,
    RecordedFault,
    decode_outcome,
)
from controller.journal.reading import Rows
from controller.model.outcomes import ATTEMPT_KINDS, Data, Outcome, TableEvent, attempt_of
from controller.model.verdicts import Reason

RESULTS = frozenset({"roll.called", "spin.called", "deal.called"})
VOIDS = frozenset({"roll.no_roll", "spin.no_spin", "deal.void"})
REVIEWS = frozenset({"roll.review", "spin.review", "deal.review"})
CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
LOCKS = {"table.locked": True, "table.unlocked": False}
DEVICES = {"device.down": True, "device.up": False}
NOBODY = "nobody"
"""The value of `Review.by` while a review is open, or if the next attempt ended the review."""
NO_PERSON = frozenset({NOBODY, "sensors"})
"""The values of a void's `by` that are not the role of a person."""

Kind = Literal["result", "void", "open"]


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A person's ruling that called, voided or corrected a result."""

    attempt: int
    wall_us: int
    role: str
    who: str | None
    made: Literal["called", "voided", "corrected"]
    id: str


class Review(msgspec.Struct, kw_only=True):
    """A review, with its causes and result. `ended_us` is None while the review is open."""

    attempt: int
    wall_us: int
    causes: tuple[str, ...]
    id: str
    ended_us: int | None = None
    ended_as: Kind = "open"
    by: str = NOBODY


class Span(msgspec.Struct, kw_only=True):
    """The time span of a lock, a fault or a device's absence. `ended_us` is None until the span ends."""

    what: str
    cause: str
    began_us: int
    ended_us: int | None = None
    by: str | None = None


class Shift(msgspec.Struct, kw_only=True):
    """The summary of a shift. Wall times are in microseconds since 1970 (UTC).

    `synced` is True if the clock was synchronized at every row. `outcomes` lists the results, voids, reviews
    and corrections, in order, each with the wall time of its row.
    """

    table: str
    first_n: int
    opened_us: int
    opened_by: str | None
    last_n: int
    closed_us: int | None = None
    closed_by: str | None = None
    last_us: int = 0
    synced: bool = True
    results: int = 0
    voids: dict[str, int] = msgspec.field(default_factory=dict)
    reviews: list[Review] = msgspec.field(default_factory=list)
    rulings: list[Ruling] = msgspec.field(default_factory=list)
    faults: list[Span] = msgspec.field(default_factory=list)
    devices: list[Span] = msgspec.field(default_factory=list)
    locks: list[Span] = msgspec.field(default_factory=list)
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    outcomes: list[tuple[int, Outcome]] = msgspec.field(default_factory=list)

    def rulings_by(self) -> dict[str, dict[str, int]]:
        """Return, for each person ("role name"), how many results the person called, voided and corrected."""
        people: dict[str, dict[str, int]] = {}
        for ruling in self.rulings:
            none = {"called": 0, "voided": 0, "corrected": 0}
            made = people.setdefault(_person(ruling.role, ruling.who) or NOBODY, none)
            made[ruling.made] += 1
        return people


class Start(NamedTuple):
    """A shift's first row, its last row (None if the shift is open), and the faults active at its start."""

    first_n: int
    last_n: int | None
    active_faults: tuple[Span, ...]


def find_shift_starts(journal: Rows) -> list[Start]:
    """Return the starts of a journal's shifts, oldest first."""
    starts: list[Start] = []
    active_faults: dict[str, Span] = {}
    is_open = False
    for row in journal.rows(types=_SHIFT_EVENTS):
        if row.name in (FAULT_BEGAN, FAULT_OVER):
            _update_faults(active_faults, row)
        elif row.name == "table.closed" and is_open:
            starts[-1] = starts[-1]._replace(last_n=row.n)
            is_open = False
        elif row.name == "table.opened" or (not is_open and _starts_with_open_table(row)):
            starts.append(Start(row.n, None, tuple(active_faults.values())))
            is_open = True
    return starts


def summarize(journal: Rows, start: Start) -> Shift:
    """Return the summary of a shift. Rows whose body was pruned are not counted."""
    builder: _ShiftBuilder | None = None
    for row in journal.rows(start.first_n, start.last_n):
        if builder is None:
            builder = _ShiftBuilder(_open_shift(journal.origin.table, row), start.active_faults)
        builder.add(row)
    assert builder is not None, "a shift has at least its first row"
    return builder.shift


def _starts_with_open_table(row: Row) -> bool:
    """Return whether this row starts a session with an open table, such as a new table's first session."""
    return (
        row.name == SESSION_STARTED
        and row.body is not None
        and _decode_identity(row.body).setup.state.table == "open"
    )


def _open_shift(table: str, row: Row) -> Shift:
    opened_by = None
    if row.name == "table.opened" and row.body is not None:
        data = decode_outcome(row.body).data
        assert isinstance(data, TableEvent)
        opened_by = _person(data.by, data.who)
    return Shift(table=table, first_n=row.n, opened_us=row.wall.us, opened_by=opened_by, last_n=row.n)


def _update_faults(active_faults: dict[str, Span], row: Row) -> Span | None:
    """Add a fault to the active faults or remove it; return its span if it began."""
    if row.body is None:
        return None
    fault = _decode_fault(row.body)
    what = fault.where or fault.code
    key = f"{fault.code} {what}"
    if row.name == FAULT_BEGAN:
        active_faults[key] = Span(what=what, cause=fault.code, began_us=row.wall.us)
        return active_faults[key]
    if key in active_faults:
        active_faults.pop(key).ended_us = row.wall.us
    return None


class _ShiftBuilder:
    def __init__(self, shift: Shift, active_faults: Iterable[Span]) -> None:
        self.shift = shift
        shift.faults.extend(active_faults)
        self._active_faults = {f"{span.cause} {span.what}": span for span in shift.faults}
        self._before_restart: dict[str, Span] = {}
        """The faults that were active when the controller last stopped, by code and location."""
        self._open_reviews: dict[int, Review] = {}
        self._locks: dict[str, Span] = {}
        self._absences: dict[str, Span] = {}
        self._voids: Counter[str] = Counter()
        self._outcomes: dict[str, Outcome] = {}

    def add(self, row: Row) -> None:
        if row.name == SESSION_STARTED:
            self._restart(self.shift.last_us or row.wall.us)
        self.shift.last_n, self.shift.last_us = row.n, row.wall.us
        self.shift.synced = self.shift.synced and row.wall.synced
        if row.name in (FAULT_BEGAN, FAULT_OVER):
            began = _update_faults(self._active_faults, row)
            if began is not None and not self._reopen_if_continued(began):
                self.shift.faults.append(began)
        elif row.seq is not None and row.body is not None:
            self._add_outcome(decode_outcome(row.body), row.wall.us)

    def _restart(self, stopped_us: int) -> None:
        """End all active faults at the time of the last row before a restart."""
        for key, span in self._active_faults.items():
            span.ended_us = stopped_us
            self._before_restart[key] = span
        self._active_faults.clear()

    def _reopen_if_continued(self, began: Span) -> bool:
        """Reopen the span of a fault that was active before a restart; return False if there is none."""
        key = f"{began.cause} {began.what}"
        before = self._before_restart.pop(key, None)
        if before is None:
            return False
        before.ended_us = None
        self._active_faults[key] = before
        return True

    def _add_outcome(self, outcome: Outcome, wall_us: int) -> None:
        if outcome.type in RESULTS | VOIDS | REVIEWS | CORRECTIONS:
            self.shift.outcomes.append((wall_us, outcome))
            self._outcomes[outcome.id] = outcome
            self._add_attempt(outcome, wall_us)
        elif isinstance(outcome.data, TableEvent):
            self._table_event(outcome.type, outcome.data, wall_us)

    def _add_attempt(self, outcome: Outcome, wall_us: int) -> None:
        data, number = outcome.data, _attempt_number(outcome.data)
        role, who = getattr(data, "by", None), getattr(data, "who", None)
        if outcome.type in REVIEWS:
            causes = tuple(reason.code for reason in reasons_of(data))
            review = Review(attempt=number, wall_us=wall_us, causes=causes, id=outcome.id)
            self._open_reviews[number] = review
            self.shift.reviews.append(review)
            return
        if outcome.type in CORRECTIONS:
            self._uncount(self._outcomes.get(getattr(data, "corrects", "")))
        void = outcome.type in VOIDS or (outcome.type in CORRECTIONS and bool(reasons_of(data)))
        self._count(data, void=void, by=1)
        if (ended := self._open_reviews.pop(number, None)) is not None:
            ended.ended_us, ended.ended_as = wall_us, "void" if void else "result"
            ended.by = _person(role, who) or NOBODY
        if role is not None and role not in NO_PERSON:
            made: Literal["called", "voided", "corrected"] = "voided" if void else "called"
            if outcome.type in CORRECTIONS:
                made = "corrected"
            self.shift.rulings.append(
                Ruling(attempt=number, wall_us=wall_us, role=role, who=who, made=made, id=outcome.id)
            )

    def _uncount(self, corrected: Outcome | None) -> None:
        if corrected is not None:
            void = corrected.type in VOIDS or (
                corrected.type in CORRECTIONS and bool(reasons_of(corrected.data))
            )
            self._count(corrected.data, void=void, by=-1)

    def _count(self, data: Data, *, void: bool, by: int) -> None:
        if not void:
            self.shift.results += by
            return
        causes = reasons_of(data)
        self._voids[causes[0].code if causes else "unknown"] += by
        self.shift.voids = {cause: count for cause, count in self._voids.most_common() if count}

    def _table_event(self, type_: str, data: TableEvent, wall_us: int) -> None:
        match type_:
            case "table.closed":
                self.shift.closed_us, self.shift.closed_by = wall_us, _person(data.by, data.who)
            case "table.locked" | "table.unlocked":
                self._update_spans(self.shift.locks, self._locks, data, wall_us, begins=LOCKS[type_])
            case "device.down" | "device.up":
                self._update_spans(self.shift.devices, self._absences, data, wall_us, begins=DEVICES[type_])
            case "input.refused":
                self.shift.refused[data.cause] = self.shift.refused.get(data.cause, 0) + 1
            case _:
                pass

    def _update_spans(
        self, spans: list[Span], open_spans: dict[str, Span], data: TableEvent, wall_us: int, *, begins: bool
    ) -> None:
        """Begin a span, unless it is already active, or end an active span."""
        what = "table" if open_spans is self._locks else data.what or ""
        if begins and what not in open_spans:
            open_spans[what] = Span(
                what=what, cause=data.cause, began_us=wall_us, by=_person(data.by, data.who)
            )
            spans.append(open_spans[what])
        elif not begins and what in open_spans:
            open_spans.pop(what).ended_us = wall_us


def _attempt_number(data: Data) -> int:
    return next(int(getattr(data, kind)) for kind in ATTEMPT_KINDS if hasattr(data, kind))


def reasons_of(data: Data) -> tuple[Reason, ...]:
    """Return the reasons for a void, a review or a correction to a void; empty for a result."""
    reasons: tuple[Reason, ...] = getattr(data, "reasons", ())
    return reasons


def _person(role: str | None, who: str | None) -> str | None:
    return " ".join(part for part in (role, who) if part) or None


_SHIFT_EVENTS = frozenset({"table.opened", "table.closed", SESSION_STARTED, FAULT_BEGAN, FAULT_OVER})
_decode_identity = msgspec.json.Decoder(Identity).decode
_decode_fault = msgspec.json.Decoder(RecordedFault).decode


Agreement = Literal["agrees", "differs", "review", "not_entered", "entered_first"]
"""The comparison of the dealers' and the controller's results for an attempt. With `review` and
`entered_first`, the controller has no result."""
VOID = "void"
_UNCHANGED_CAUSES = frozenset({"no_change", "already_void"})
"""The causes given when an input is refused because it repeats the current result."""
_RULINGS = frozenset(
    {"set_dice", "no_roll", "set_number", "no_spin", "set_card", "misdeal", "void", "accept"}
)


class ShadowComparison(msgspec.Struct, kw_only=True):
    """The comparison for one attempt: the controller's result, and the last result that a person entered."""

    attempt: int
    wall_us: int
    called: str | None = None
    """The controller's result, such as 3-4, 17 or `void`; None if it has none (see `Agreement`)."""
    why: tuple[str, ...] = ()
    """The reasons for the controller's void or review."""
    entered: str | None = None
    by: str | None = None

    @property
    def agreement(self) -> Agreement:
        """The comparison of the two results."""
        if self.called is None:
            return "review" if self.why else "entered_first"
        if self.entered is None:
            return "not_entered"
        return "agrees" if self.entered == self.called else "differs"


def compare_attempts(journal: Rows) -> list[ShadowComparison]:
    """Return the comparisons of all attempts in a journal, in order."""
    attempts: dict[int, ShadowComparison] = {}
    latest: ShadowComparison | None = None
    for wall_us, outcome in _outcomes(journal):
        number = attempt_of(outcome)
        if number is None:
            if latest is not None and _repeats_result(outcome.data):
                _enter(latest, latest.entered or latest.called, outcome.data)
            continue
        latest = attempts.setdefault(number, ShadowComparison(attempt=number, wall_us=wall_us))
        _add(latest, outcome)
    return [attempts[number] for number in sorted(attempts)]


def _outcomes(journal: Rows) -> Iterator[tuple[int, Outcome]]:
    for row in journal.rows(types=RESULTS | VOIDS | REVIEWS | CORRECTIONS | {"input.refused"}):
        if row.body is not None:
            yield row.wall.us, decode_outcome(row.body)


def _add(attempt: ShadowComparison, outcome: Outcome) -> None:
    data = outcome.data
    reasons = tuple(dict.fromkeys(reason.code for reason in reasons_of(data)))
    if outcome.type in REVIEWS:
        attempt.why = reasons
        return
    by = getattr(data, "by", None)
    result = VOID if reasons else _result(data)
    if by is not None and by not in NO_PERSON:
        _enter(attempt, result, data)
    elif by not in NO_PERSON or "unruled" not in reasons:
        attempt.called, attempt.why = result, reasons


def _enter(attempt: ShadowComparison, result: str | None, data: Data) -> None:
    attempt.entered = result
    attempt.by = " ".join(
        str(part) for part in (getattr(data, "by", None), getattr(data, "who", None)) if part
    )


def _repeats_result(data: Data) -> bool:
    """Return whether a person's input was refused because it repeats the current result."""
    return isinstance(data, TableEvent) and data.cause in _UNCHANGED_CAUSES and data.what in _RULINGS


def _result(data: Data) -> str:
    """Return a result as comparable text: the sorted dice, the number, or all hands."""
    dice = getattr(data, "dice", None)
    if dice:
        return "-".join(map(str, sorted(dice)))
    number = getattr(data, "number", None)
    if number is not None:
        return str(number)
    hands: Iterable[tuple[str, Iterable[str]]] = (getattr(data, "hands", None) or {}).items()
    dealer = " ".join(getattr(data, "dealer", None) or ())
    return "; ".join([*(f"{seat}: {' '.join(sorted(cards))}" for seat, cards in hands), f"dealer: {dealer}"])
