"""The interface between settlement and a game: one `Wagers` instance per game, in the game's package."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar

from controller.model.outcomes import Outcome
from controller.model.rulesets import RuleSet
from controller.settlement.book import AnswerLine, Book, RawRequest, Refusal, Request
from controller.settlement.paytable import Report

T = TypeVar("T")
BetsReport = Literal["line_bet", "pair_plus", "played"]


class LoadPayTable(Protocol):
    """Loads a rule set's pay table from its file."""

    def __call__(self, shape: type[T], /) -> T:
        """Return the pay table as this type. Raise SettingsError, listing all mistakes, if it is invalid."""


class PayTableDifference(NamedTuple):
    """A value that differs between the rule set and the pay table."""

    section: str
    key: str
    played: int
    paid: int


class PayTableDiffers(Exception):
    """The rule set and the pay table differ in values that they must share."""

    def __init__(self, figures: Sequence[PayTableDifference]) -> None:
        super().__init__(", ".join(figure.key for figure in figures))
        self.figures = tuple(figures)


class PlayState(Protocol):
    """The state of play at a table, apart from its bets."""

    @property
    def point(self) -> int | None:
        """The point; None if there is none."""

    @property
    def shooter(self) -> str | None:
        """The player who has the dice; None if unknown."""

    def follow(self, request: Request) -> None:
        """Update the state after an accepted request."""

    def is_redundant(self, request: Request) -> bool:
        """Return whether a request only repeats the current state."""

    def names_shooter(self, request: Request) -> bool:
        """Return whether a request announces a shooter, named or not.

        The table repeats such requests after a correction.
        """

    def prelude(self) -> Sequence[RawRequest]:
        """Return the requests that bring a new, empty book to this state."""


class NoPlayState:
    """The state of play in a game that has no state between attempts except its bets."""

    point: int | None = None
    shooter: str | None = None

    def follow(self, request: Request) -> None:
        """Do nothing, because there is no state."""

    def is_redundant(self, request: Request) -> bool:
        """Return False, because every request has an effect."""
        del request
        return False

    def names_shooter(self, request: Request) -> bool:
        """Return False, because the game has no shooter."""
        del request
        return False

    def prelude(self) -> Sequence[RawRequest]:
        """Return no requests, because a new book is already in this state."""
        return ()


class EndedAttempt(NamedTuple):
    """An attempt that has ended. `remembers` says whether the book has state besides its bets."""

    play_state: PlayState
    requests: Sequence[RawRequest]
    lines: Sequence[AnswerLine]
    remembers: bool


def decided_by(do: str) -> Callable[[EndedAttempt], Sequence[RawRequest] | None]:
    """Return a `settled_at` function for a book that starts afresh after each request named `do`."""

    def settled_at(ended: EndedAttempt) -> Sequence[RawRequest] | None:
        return () if any(raw["do"] == do for raw in ended.requests) else None

    return settled_at


def _always_false(raw: RawRequest) -> bool:
    del raw
    return False


def _no_point(outcome: Outcome) -> int | Literal["off"] | None:
    del outcome
    return None


def _no_requests(outcome: Outcome, players: Mapping[str, str]) -> Sequence[RawRequest]:
    del outcome, players
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wagers:
    """A game's wagers, as seen by the rest of the controller."""

    pay_table: type[object]
    """The type of the game's pay tables."""
    open: Callable[[RuleSet, LoadPayTable], Book]
    """Returns an empty book with the game's pay table. Raises SettingsError or PayTableDiffers."""
    report: Callable[[RuleSet, LoadPayTable], Report]
    """Returns the exact edges of the game's pay table. Raises SettingsError."""
    requests_of: Callable[[Outcome], list[RawRequest]]
    """Returns the book requests that an outcome requires; for a correction, the corrected requests."""
    closed: Refusal
    """The refusal of bets while betting is closed."""
    settled_at: Callable[[EndedAttempt], Sequence[RawRequest] | None]
    """Returns the requests that bring a new, empty book to the state reached; None if no requests can."""
    play_state: Callable[[], PlayState] = NoPlayState
    """Returns the initial state of play."""
    prelude_after: Callable[[Outcome, Mapping[str, str]], Sequence[RawRequest]] = _no_requests
    """Returns the requests that bring a new book to the table's state after an outcome.

    The mapping names the player of each seat.
    """
    point_after: Callable[[Outcome], int | Literal["off"] | None] = _no_point
    """Returns the point after an outcome; None if the outcome does not state it."""
    accepted_while_closed: Callable[[RawRequest], bool] = _always_false
    """Returns whether a request is accepted while betting is closed."""
    accepts_late: bool = False
    """Whether late bets are accepted if the dealer and the boxperson confirm them."""
    bets_reports: frozenset[BetsReport] = frozenset()
    """The reports on bets that settlement sends to the table."""
    bought_at_table: Refusal | None = None
    """The refusal of bets in a game whose cards are bought at the table, which reports the purchases."""
    returns_stakes_at_open_and_close: bool = True
    """Whether all stakes are returned when the table opens or closes."""
