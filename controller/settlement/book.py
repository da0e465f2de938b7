"""The interface of the games' wager books: requests, one JSON object per line, and answers.

Each game declares its requests as subclasses of Request. The common requests are here. A line that is not
exactly one request is malformed and ends the run, because a bet must not be booked unless all of it is
understood.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple

import msgspec

from controller.model.verdicts import Reason

Cents = int
"""An amount in whole cents, as stated in a request. `run.impossible_amount` checks its range."""
CENTS_FIELDS = ("amount", "to")
"""The fields that contain an amount."""

RawRequest = dict[str, object]
"""A request, as the object on its JSON line."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"
):
    """A line of input. Its `do` is the tag of the subclass."""


class Working(Request, frozen=True, kw_only=True, tag="working"):
    """Call a bet on or off, or return it to the rules' default ("default").

    In some games, calls lapse when the next point is set. With `stands`, this call does not.
    """

    id: str
    on: bool | Literal["default"]
    stands: bool = False


class Reduce(Request, frozen=True, kw_only=True, tag="reduce"):
    """Reduce a bet to a smaller stake, in cents."""

    id: str
    to: Cents


class Increase(Request, frozen=True, kw_only=True, tag="increase"):
    """Increase (press) a bet to a larger stake, in cents."""

    id: str
    to: Cents


class Remove(Request, frozen=True, kw_only=True, tag="remove"):
    """Remove a bet."""

    id: str


class MalformedLine(Exception):
    """A line that is not a request. `line` counts from 1."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}: found {found}, expected {expected}")
        self.line = line
        self.found = found
        self.expected = expected


def format_reasons(reasons: Iterable[Reason]) -> str:
    """Return the causes of an outcome as the reason in a request, such as `off_table, cocked`."""
    return ", ".join(dict.fromkeys(reason.code for reason in reasons))


BOOK_ID = "BOOK-ID"
"""A rule of the wager book. An id names one bet, is used once, and is valid while the bet is up."""
BOOK_AMOUNT = "BOOK-AMOUNT"
"""A rule of the wager book. An increase raises a stake, and a reduction lowers it."""
Status = Literal["win", "lose", "push", "void", "removed", "rejected", "pending"]


class AnswerLine(msgspec.Struct, frozen=True):
    """A line of output."""


class Decided(AnswerLine, frozen=True):
    """The result of a bet, in cents.

    `payout` is the winnings without the stake. `returned` is all money paid to the player, stake included.
    """

    id: str
    wager: str
    status: Status
    stake: int
    payout: int
    returned: int
    reason: str


class RefusedLine(AnswerLine, frozen=True, kw_only=True):
    """The answer to a refused request, which changed nothing.

    `rule` is the rule by which it was refused. `reason` states what would be accepted.
    """

    id: str
    do: str
    status: Literal["refused"] = "refused"
    rule: str
    reason: str


class Reduced(AnswerLine, frozen=True, kw_only=True):
    """An accepted reduction, and the amount returned, in cents."""

    id: str
    do: str = "reduce"
    status: Literal["reduced"] = "reduced"
    returned: int


class Bonus(Decided, frozen=True):
    """A bonus that a bet wins in addition to its payout. Its stake is 0, and its id is the bet's id plus
    `:bonus`."""

    ENDING: ClassVar[str] = ":bonus"

    @property
    def bet(self) -> str:
        """The id of the bet that earned the bonus."""
        return self.id.removesuffix(self.ENDING)


class PotShared(AnswerLine, frozen=True, kw_only=True):
    """The split of a game's stakes, in cents: gross = rake + bonus + prize.

    `bonus_paid` is paid from the Bonus Pot. `winner` is the player who receives it and the prize.
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
    """A Bonus Pot, in cents, that is recorded as rake at the end of the hours of operation."""

    id: str
    do: Literal["end"] = "end"
    status: Literal["recorded"] = "recorded"
    rake: int
    rule: str


class Refusal(NamedTuple):
    """The reason for a refusal: the id of a rule, and a message that states what would be accepted."""

    rule: str
    reason: str

    def refuse(self, id: str, do: str) -> RefusedLine:  # noqa: A002 - the name in the contract
        """Return the answer to a refused request about the table or about a bet that is up."""
        return RefusedLine(id=id, do=do, rule=self.rule, reason=self.reason)

    def reject(self, id: str, wager: str, stake: int) -> Decided:  # noqa: A002 - the name in the contract
        """Return the answer to a refused bet."""
        return Decided(id, wager, "rejected", stake, 0, 0, f"{self.rule}: {self.reason}")


def pending(id: str, wager: str, stake: int) -> Decided:  # noqa: A002 - the name in the contract
    """Return the line for a bet that is undecided when the requests end."""
    return Decided(id, wager, "pending", stake, 0, 0, "not decided when the requests ended")


NEVER_LATE = Refusal("C34-MK-1b", "only craps wagers can be made with the dice out")


class Book(ABC):
    """The wager book of a game. It is deterministic, so the same requests produce the same lines."""

    @property
    @abstractmethod
    def vocabulary(self) -> Sequence[type[Request]]:
        """The types of request that the game accepts."""

    @abstractmethod
    def apply(self, request: Request) -> list[AnswerLine]:
        """Carry out a request from the vocabulary and return the answer. No such request raises an error."""

    @abstractmethod
    def finish(self) -> list[AnswerLine]:
        """Return a line for each undecided bet, oldest first."""

    @property
    def breakage_cents(self) -> Fraction:
        """The exact amount, in cents, that the house has kept by rounding winnings down."""
        return Fraction()

    @property
    def remembers(self) -> bool:
        """Whether the book has state besides its bets that a new book would lack."""
        return False

    @property
    def line_bet_missing(self) -> bool:
        """Whether the shooter lacks the line bet that is now required."""
        return False

    @property
    def late_refusal(self) -> Refusal | None:
        """The reason for refusing late bets; None if confirmed late bets are accepted."""
        return NEVER_LATE

    @property
    def without_pair_plus(self) -> tuple[str, ...]:
        """The positions with an Ante but without Pair Plus."""
        return ()

    @property
    def played(self) -> tuple[str, ...]:
        """The positions with Play."""
        return ()
