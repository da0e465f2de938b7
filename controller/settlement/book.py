"""The wager book of every game: the requests that it takes, one JSON object per line, and its answers.

Each game declares its own requests as subclasses of Request; what they share is here. A line that is not
exactly one of them is malformed and ends the run: acting on a bet that was only half understood would be a
guess.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple

import msgspec

from controller.model.verdicts import Reason

Cents = int
"""An amount of whole cents as a request gives it; `amounts` checks whether anybody can bet it."""
CENTS_FIELDS = ("amount", "to")
"""The fields that hold one."""


Asked = dict[str, object]
"""One request, as an object of its JSON line."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"
):
    """One line in. `do` names the subclass by its tag."""


class Working(Request, frozen=True, kw_only=True, tag="working"):
    """Call a bet on or off, or leave it to the rules again ("default").

    `stands`: the player said that the call is for later rounds too, where calls end with the come-out.
    """

    id: str
    on: bool | Literal["default"]
    stands: bool = False


class Reduce(Request, frozen=True, kw_only=True, tag="reduce"):
    """Reduce a bet to a smaller stake, in cents."""

    id: str
    to: Cents


class Increase(Request, frozen=True, kw_only=True, tag="increase"):
    """Press a bet to a larger stake, in cents."""

    id: str
    to: Cents


class Remove(Request, frozen=True, kw_only=True, tag="remove"):
    """Remove a bet."""

    id: str


class Malformed(Exception):
    """A line that is no request: its number (from 1), what was found, what was expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}: found {found}, expected {expected}")
        self.line = line
        self.found = found
        self.expected = expected


def because(reasons: Iterable[Reason]) -> str:
    """Return the causes of an outcome as the reason of a request: `off_table, cocked`."""
    return ", ".join(dict.fromkeys(reason.code for reason in reasons))


BOOK_ID = "BOOK-ID"
"""Not a document's rule but the wager book's: an id names one bet, once, and only while it is up."""
BOOK_AMOUNT = "BOOK-AMOUNT"
"""Not a document's rule but the wager book's: an increase raises a stake, a reduction lowers it."""
Status = Literal["win", "lose", "push", "void", "removed", "rejected", "pending"]


class AnswerLine(msgspec.Struct, frozen=True):
    """One line out."""


class Decided(AnswerLine, frozen=True):
    """A bet's resolution. Amounts are cents.

    `payout` is the winnings without the stake, `returned` all money handed back to the player.
    """

    id: str
    wager: str
    status: Status
    stake: int
    payout: int
    returned: int
    reason: str


class RefusedLine(AnswerLine, frozen=True, kw_only=True):
    """A request that can't be granted and changed nothing: the rule that forbids it, and what would be
    accepted."""

    id: str
    do: str
    status: Literal["refused"] = "refused"
    rule: str
    reason: str


class Reduced(AnswerLine, frozen=True, kw_only=True):
    """A granted reduction and the cents handed back."""

    id: str
    do: str = "reduce"
    status: Literal["reduced"] = "reduced"
    returned: int


class Bonus(Decided, frozen=True):
    """What a bet earns in addition to its own odds: its stake is 0, and its id the bet's followed by
    `:bonus`."""

    ENDING: ClassVar[str] = ":bonus"

    @property
    def bet(self) -> str:
        """The id of the bet that earned it."""
        return self.id.removesuffix(self.ENDING)


class PotShared(AnswerLine, frozen=True, kw_only=True):
    """Where the stakes of a game went, in cents: gross = rake + bonus + prize.

    `bonus_paid` is what the bonus pot added, `winner` the player who receives it and the prize.
    """

    id: str
    wager: Literal["pot"] = "pot"
    gross: int
    rake: int
    bonus: int
    prize: int
    bonus_paid: int
    winner: str


class PotRecorded(AnswerLine, frozen=True, kw_only=True):
    """A bonus pot, in cents, that becomes rake at the end of the hours of operation, and by which rule."""

    id: str
    do: Literal["end"] = "end"
    status: Literal["recorded"] = "recorded"
    rake: int
    rule: str


class Refusal(NamedTuple):
    """Why a request can't be granted: a rule's id, and a sentence that says what would be accepted."""

    rule: str
    reason: str

    def refuse(self, id: str, do: str) -> RefusedLine:  # noqa: A002 - the contract's own word
        """Answer a request about a bet, or about the table, that stands already."""
        return RefusedLine(id=id, do=do, rule=self.rule, reason=self.reason)

    def reject(self, id: str, wager: str, stake: int) -> Decided:  # noqa: A002 - the contract's own word
        """Answer a bet that was never accepted."""
        return Decided(id, wager, "rejected", stake, 0, 0, f"{self.rule}: {self.reason}")


def pending(id: str, wager: str, stake: int) -> Decided:  # noqa: A002 - the contract's own word
    """Return the line of a bet that is still undecided at the end."""
    return Decided(id, wager, "pending", stake, 0, 0, "not decided when the requests ended")


NEVER_LATE = Refusal("C34-MK-1b", "only craps wagers can be made with the dice out")


class Book(ABC):
    """A game's wager book. Deterministic: the same requests give the same lines."""

    @property
    @abstractmethod
    def vocabulary(self) -> Sequence[type[Request]]:
        """The requests this game understands."""

    @abstractmethod
    def apply(self, request: Request) -> list[AnswerLine]:
        """Carry out a request of the vocabulary and return its answer; never raises for such a request."""

    @abstractmethod
    def finish(self) -> list[AnswerLine]:
        """Return a line for each bet that is left, in the order they were made."""

    @property
    def breakage_cents(self) -> Fraction:
        """What rounding down has left with the house so far, exactly; zero if all is paid in full."""
        return Fraction()

    @property
    def remembers(self) -> bool:
        """Whether the book holds more than its bets, so that a fresh one would not be equivalent."""
        return False

    @property
    def line_bet_missing(self) -> bool:
        """Whether the shooter has not made the line bet that is required by now."""
        return False

    @property
    def late_refusal(self) -> Refusal | None:
        """Why no bet is accepted while the dice are out, even if it is confirmed; None if it is."""
        return NEVER_LATE

    @property
    def without_pair_plus(self) -> tuple[str, ...]:
        """The positions that have an Ante and no Pair Plus."""
        return ()

    @property
    def played(self) -> tuple[str, ...]:
        """The positions that have a Play wager."""
        return ()
