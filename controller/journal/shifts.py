"""Shifts, from the row that opened the table to the one that closed it, and a shadow's comparison.

Counts are of what the journal contains; a corrected result counts as what it was corrected to. A shadow is a
controller that makes its own calls next to the dealers; its calls are compared with what they entered.
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
    StandingFault,
    outcome_of,
)
from controller.journal.reading import Rows
from controller.model.outcomes import ATTEMPT_KINDS, Data, Happening, Outcome, attempt_of
from controller.model.verdicts import Reason

RESULTS = frozenset({"roll.called", "spin.called", "deal.called"})
VOIDS = frozenset({"roll.no_roll", "spin.no_spin", "deal.void"})
REVIEWS = frozenset({"roll.review", "spin.review", "deal.review"})
CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
LOCKS = {"table.locked": True, "table.unlocked": False}
DEVICES = {"device.down": True, "device.up": False}
NOBODY = "nobody"
"""The entry for who ruled, if the next attempt closed a review or it is still open."""
NO_PERSON = frozenset({NOBODY, "sensors"})
"""What `by` contains in a void other than a person's role."""

Kind = Literal["result", "void", "open"]


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A person's input that made, voided or changed a result: role and name, and what became of it."""

    attempt: int
    wall_us: int
    role: str
    who: str | None
    made: Literal["called", "voided", "corrected"]
    id: str


class Review(msgspec.Struct, kw_only=True):
    """A review: its causes, and how it ended. `ended_us` is None while it is open."""

    attempt: int
    wall_us: int
    causes: tuple[str, ...]
    id: str
    ended_us: int | None = None
    ended_as: Kind = "open"
    by: str = NOBODY


class Span(msgspec.Struct, kw_only=True):
    """From when to when a lock, a fault or a device's absence lasted; `ended_us` is None while it lasts."""

    what: str
    cause: str
    began_us: int
    ended_us: int | None = None
    by: str | None = None


class Shift(msgspec.Struct, kw_only=True):
    """A shift. Times are the wall clock's labels in microseconds since 1970, in UTC.

    `synced` tells whether that clock was synchronized at every row. `told` are the results, voids, reviews
    and corrections in order, each with the wall time of its row.
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
    told: list[tuple[int, Outcome]] = msgspec.field(default_factory=list)

    def rulings_by(self) -> dict[str, dict[str, int]]:
        """Return for each person, as "role name", how many results they called, voided and corrected."""
        people: dict[str, dict[str, int]] = {}
        for ruling in self.rulings:
            none = {"called": 0, "voided": 0, "corrected": 0}
            made = people.setdefault(_person(ruling.role, ruling.who) or NOBODY, none)
            made[ruling.made] += 1
        return people


class Start(NamedTuple):
    """Where a shift starts and ends (None: it continues), and the faults that were active when it started."""

    first_n: int
    last_n: int | None
    standing: tuple[Span, ...]


def starts_of(journal: Rows) -> list[Start]:
    """Return where each shift of a journal starts and ends, oldest first; nothing else of it is read."""
    starts: list[Start] = []
    standing: dict[str, Span] = {}
    is_open = False
    for row in journal.rows(types=_LANDMARKS):
        if row.name in (FAULT_BEGAN, FAULT_OVER):
            _follow_fault(standing, row)
        elif row.name == "table.closed" and is_open:
            starts[-1] = starts[-1]._replace(last_n=row.n)
            is_open = False
        elif row.name == "table.opened" or (not is_open and _starts_open(row)):
            starts.append(Start(row.n, None, tuple(standing.values())))
            is_open = True
    return starts


def shift_from(journal: Rows, start: Start) -> Shift:
    """Return the shift that starts there; a row whose body was dropped counts for nothing."""
    clerk: _Clerk | None = None
    for row in journal.rows(start.first_n, start.last_n):
        if clerk is None:
            clerk = _Clerk(_opened(journal.origin.table, row), start.standing)
        clerk.enter(row)
    assert clerk is not None, "a shift has its first row"
    return clerk.shift


def _starts_open(row: Row) -> bool:
    """Return whether a session starts with the table open: a new table's first shift is opened by nobody."""
    return (
        row.name == SESSION_STARTED
        and row.body is not None
        and _decode_identity(row.body).setup.state.table == "open"
    )


def _opened(table: str, row: Row) -> Shift:
    opened_by = None
    if row.name == "table.opened" and row.body is not None:
        data = outcome_of(row.body).data
        assert isinstance(data, Happening)
        opened_by = _person(data.by, data.who)
    return Shift(table=table, first_n=row.n, opened_us=row.wall.us, opened_by=opened_by, last_n=row.n)


def _follow_fault(standing: dict[str, Span], row: Row) -> Span | None:
    """Begin or end a fault among the active ones; return one that began."""
    if row.body is None:
        return None
    fault = _decode_fault(row.body)
    what = fault.where or fault.code
    key = f"{fault.code} {what}"
    if row.name == FAULT_BEGAN:
        standing[key] = Span(what=what, cause=fault.code, began_us=row.wall.us)
        return standing[key]
    if key in standing:
        standing.pop(key).ended_us = row.wall.us
    return None


class _Clerk:
    """Enters one shift's rows."""

    def __init__(self, shift: Shift, standing: Iterable[Span]) -> None:
        self.shift = shift
        shift.faults.extend(standing)
        self._standing = {f"{span.cause} {span.what}": span for span in shift.faults}
        self._before: dict[str, Span] = {}
        """The faults that were active when the controller last stopped."""
        self._open_reviews: dict[int, Review] = {}
        self._lock: dict[str, Span] = {}
        self._away: dict[str, Span] = {}
        self._voids: Counter[str] = Counter()
        self._outcomes: dict[str, Outcome] = {}

    def enter(self, row: Row) -> None:
        """Enter a row, whatever it contains."""
        if row.name == SESSION_STARTED:
            self._restart(self.shift.last_us or row.wall.us)
        self.shift.last_n, self.shift.last_us = row.n, row.wall.us
        self.shift.synced = self.shift.synced and row.wall.synced
        if row.name in (FAULT_BEGAN, FAULT_OVER):
            began = _follow_fault(self._standing, row)
            if began is not None and not self._is_open(began):
                self.shift.faults.append(began)
        elif row.seq is not None and row.body is not None:
            self._outcome(outcome_of(row.body), row.wall.us)

    def _restart(self, stopped_us: int) -> None:
        """End the faults of a controller that has stopped, with its last row."""
        for key, span in self._standing.items():
            span.ended_us = stopped_us
            self._before[key] = span
        self._standing.clear()

    def _is_open(self, began: Span) -> bool:
        """Continue a fault that was active when the controller stopped, if the next one finds it again."""
        key = f"{began.cause} {began.what}"
        before = self._before.pop(key, None)
        if before is None:
            return False
        before.ended_us = None
        self._standing[key] = before
        return True

    def _outcome(self, outcome: Outcome, wall_us: int) -> None:
        if outcome.type in RESULTS | VOIDS | REVIEWS | CORRECTIONS:
            self.shift.told.append((wall_us, outcome))
            self._outcomes[outcome.id] = outcome
            self._attempt(outcome, wall_us)
        elif isinstance(outcome.data, Happening):
            self._happening(outcome.type, outcome.data, wall_us)

    def _attempt(self, outcome: Outcome, wall_us: int) -> None:
        data, number = outcome.data, _number_of_attempt(outcome.data)
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

    def _happening(self, type_: str, data: Happening, wall_us: int) -> None:
        match type_:
            case "table.closed":
                self.shift.closed_us, self.shift.closed_by = wall_us, _person(data.by, data.who)
            case "table.locked" | "table.unlocked":
                self._last(self.shift.locks, self._lock, data, wall_us, begins=LOCKS[type_])
            case "device.down" | "device.up":
                self._last(self.shift.devices, self._away, data, wall_us, begins=DEVICES[type_])
            case "input.refused":
                self.shift.refused[data.cause] = self.shift.refused.get(data.cause, 0) + 1
            case _:
                pass

    def _last(
        self, spans: list[Span], lasting: dict[str, Span], data: Happening, wall_us: int, *, begins: bool
    ) -> None:
        """Begin or end something that lasts; a second lock while one is active continues it."""
        what = "table" if lasting is self._lock else data.what or ""
        if begins and what not in lasting:
            lasting[what] = Span(what=what, cause=data.cause, began_us=wall_us, by=_person(data.by, data.who))
            spans.append(lasting[what])
        elif not begins and what in lasting:
            lasting.pop(what).ended_us = wall_us


def _number_of_attempt(data: Data) -> int:
    """Return the attempt's number of a roll's, a spin's or a deal's outcome."""
    return next(int(getattr(data, word)) for word in ATTEMPT_KINDS if hasattr(data, word))


def reasons_of(data: Data) -> tuple[Reason, ...]:
    """Return the causes of a void, a review or a correction to a void; empty for a result."""
    reasons: tuple[Reason, ...] = getattr(data, "reasons", ())
    return reasons


def _person(role: str | None, who: str | None) -> str | None:
    return " ".join(part for part in (role, who) if part) or None


_LANDMARKS = frozenset({"table.opened", "table.closed", SESSION_STARTED, FAULT_BEGAN, FAULT_OVER})
_decode_identity = msgspec.json.Decoder(Identity).decode
_decode_fault = msgspec.json.Decoder(StandingFault).decode


Agreement = Literal["agrees", "differs", "review", "not_entered", "entered_first"]
"""Whether the dealer's result and the controller's agree; `review`: the controller had none."""
VOID = "void"
_STANDS = frozenset({"no_change", "already_void"})
"""The refusals of an input that repeats the present result."""
_RULINGS = frozenset(
    {"set_dice", "no_roll", "set_number", "no_spin", "set_card", "misdeal", "void", "accept"}
)


class Compared(msgspec.Struct, kw_only=True):
    """One attempt: the controller's own result, the last that a person entered, and the row's wall time."""

    attempt: int
    wall_us: int
    called: str | None = None
    """A result such as 3-4 or 17, `void`, or None if it went to review, or a person was first."""
    why: tuple[str, ...] = ()
    """The causes of its void or its review."""
    entered: str | None = None
    by: str | None = None

    @property
    def agreement(self) -> Agreement:
        """Return how the two results compare."""
        if self.called is None:
            return "review" if self.why else "entered_first"
        if self.entered is None:
            return "not_entered"
        return "agrees" if self.entered == self.called else "differs"


def compared(journal: Rows) -> list[Compared]:
    """Return every attempt of a journal, in order of its number."""
    attempts: dict[int, Compared] = {}
    latest: Compared | None = None
    for wall_us, outcome in _outcomes(journal):
        number = attempt_of(outcome)
        if number is None:
            if latest is not None and _confirms(outcome.data):
                _enter(latest, latest.entered or latest.called, outcome.data)
            continue
        latest = attempts.setdefault(number, Compared(attempt=number, wall_us=wall_us))
        _add(latest, outcome)
    return [attempts[number] for number in sorted(attempts)]


def _outcomes(journal: Rows) -> Iterator[tuple[int, Outcome]]:
    for row in journal.rows(types=RESULTS | VOIDS | REVIEWS | CORRECTIONS | {"input.refused"}):
        if row.body is not None:
            yield row.wall.us, outcome_of(row.body)


def _add(attempt: Compared, outcome: Outcome) -> None:
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


def _enter(attempt: Compared, result: str | None, data: Data) -> None:
    attempt.entered = result
    attempt.by = " ".join(
        str(part) for part in (getattr(data, "by", None), getattr(data, "who", None)) if part
    )


def _confirms(data: Data) -> bool:
    """Return whether a person entered what holds already: it is refused, since it changes nothing."""
    return isinstance(data, Happening) and data.cause in _STANDS and data.what in _RULINGS


def _result(data: Data) -> str:
    """Return a result in the form in which it is compared: the dice in any order, the number, or every
    hand."""
    dice = getattr(data, "dice", None)
    if dice:
        return "-".join(map(str, sorted(dice)))
    number = getattr(data, "number", None)
    if number is not None:
        return str(number)
    hands: Iterable[tuple[str, Iterable[str]]] = (getattr(data, "hands", None) or {}).items()
    dealer = " ".join(getattr(data, "dealer", None) or ())
    return "; ".join([*(f"{seat}: {' '.join(sorted(cards))}" for seat, cards in hands), f"dealer: {dealer}"])
