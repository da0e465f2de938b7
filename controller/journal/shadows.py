"""What a controller in the shadow of a table called by itself, held against what its dealers entered."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from controller.journal.contents import outcome_of
from controller.journal.reading import Rows
from controller.journal.shifts import CORRECTIONS, NO_PERSON, RESULTS, REVIEWS, VOIDS, reasons_of
from controller.model.outcomes import Data, Happening, Outcome, attempt_of

Agreement = Literal["agrees", "differs", "review", "not_entered", "entered_first"]
"""Whether the dealer's word and the controller's are the same; `review`: the controller had none."""
VOID = "void"
_STANDS = frozenset({"no_change", "already_void"})
"""How a word is refused that says what stands already."""
_RULINGS = frozenset(
    {"set_dice", "no_roll", "set_number", "no_spin", "set_card", "misdeal", "void", "accept"}
)


class Compared(msgspec.Struct, kw_only=True):
    """One attempt: the controller's own word, the last that a person entered, and the row's wall time."""

    attempt: int
    wall_us: int
    called: str | None = None
    """A result such as 3-4 or 17, `void`, or None where it went to review, or a person was first."""
    why: tuple[str, ...] = ()
    """The causes of its void or its review."""
    entered: str | None = None
    by: str | None = None

    @property
    def agreement(self) -> Agreement:
        """Return how the two words stand to each other."""
        if self.called is None:
            return "review" if self.why else "entered_first"
        if self.entered is None:
            return "not_entered"
        return "agrees" if self.entered == self.called else "differs"


def compared(journal: Rows) -> list[Compared]:
    """Return every attempt of a journal, in order of its number."""
    attempts: dict[int, Compared] = {}
    latest: Compared | None = None
    for wall_us, outcome in _told(journal):
        number = attempt_of(outcome)
        if number is None:
            if latest is not None and _confirms(outcome.data):
                _enter(latest, latest.entered or latest.called, outcome.data)
            continue
        latest = attempts.setdefault(number, Compared(attempt=number, wall_us=wall_us))
        _take(latest, outcome)
    return [attempts[number] for number in sorted(attempts)]


def _told(journal: Rows) -> Iterator[tuple[int, Outcome]]:
    for row in journal.rows(types=RESULTS | VOIDS | REVIEWS | CORRECTIONS | {"input.refused"}):
        if row.body is not None:
            yield row.wall.us, outcome_of(row.body)


def _take(attempt: Compared, outcome: Outcome) -> None:
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
    """Return whether a person entered what stands already: it is refused, since it changes nothing."""
    return isinstance(data, Happening) and data.cause in _STANDS and data.what in _RULINGS


def _result(data: Data) -> str:
    """Return a result as it is compared: the dice whichever is which, the number, or every hand."""
    dice = getattr(data, "dice", None)
    if dice:
        return "-".join(map(str, sorted(dice)))
    number = getattr(data, "number", None)
    if number is not None:
        return str(number)
    hands: Iterable[tuple[str, Iterable[str]]] = (getattr(data, "hands", None) or {}).items()
    dealer = " ".join(getattr(data, "dealer", None) or ())
    return "; ".join([*(f"{seat}: {' '.join(sorted(cards))}" for seat, cards in hands), f"dealer: {dealer}"])
