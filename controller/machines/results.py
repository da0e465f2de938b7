"""What an attempt came to, its judge, what its game does with it, and the call open to correction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from controller.model.effects import Basis
from controller.model.outcomes import Data, Grade
from controller.model.readings import Card, Input, Reading
from controller.model.verdicts import Dealt, DealVerdict, Notice, Reason, SpinVerdict, ThrowVerdict


class StandingCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A roll, spin or deal that was called or declared void and is not settled.

    `state` is where it is in its life-cycle, `outcome` the id of the outcome that a correction replaces,
    `since` what people have entered after it. The game's state before it is under the game's own name, in
    that game's words; a deal keeps the cards and what people entered of them, for a ruling on one card.
    """

    number: int
    state: str
    outcome: str
    value: tuple[int, int] | str | Dealt | None = None
    since: tuple[Input, ...] = ()
    away: bool = False
    """Whether the controller stopped since then: an attempt may have been made that nobody saw."""
    craps: dict[str, object] | None = None
    high_roller: dict[str, object] | None = None
    seats: tuple[str, ...] = ()
    cards: tuple[Card | Input, ...] = ()
    played: tuple[str, ...] = ()
    """Of a deal: the positions where Play lies by the settlement engine's word, which nobody folds."""


def as_spoken(value: object) -> str:
    """Return how a value is said: `3-4`, `17`, `called`; empty for none."""
    match value:
        case None:
            return ""
        case (int() as one, int() as other):
            return f"{one}-{other}"
        case str():
            return value
        case _:
            return "called"


Value = TypeVar("Value")
Seen_co = TypeVar("Seen_co", covariant=True)
V = TypeVar("V", bound=ThrowVerdict | SpinVerdict | DealVerdict)

Decided = Literal["called", "void", "review", "lapsed"]
"""How an attempt was decided; a review that nobody ruled on lapses when the next attempt begins."""


class AttemptJudge(Protocol[Seen_co, V]):
    """What is seen of a game's attempts, and what its judge makes of that."""

    def judge(self, t: int, called: Reason | None) -> V:
        """Judge the attempt on what was seen up to t."""

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the attempt."""

    def basis(self) -> Basis:
        """Return what the judge's last word rests on beside them."""

    def value_of(self, verdict: V) -> Seen_co | None:
        """Return what the judge saw."""

    def value_entered(self, entered: Input) -> Seen_co:
        """Return what a person entered; raises InputRefused when it makes no sense."""

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether a person can know a result of the present attempt at t."""

    @property
    def last_entry(self) -> Input | None:
        """A person's last word that the value seen rests on; None where sensors saw all of it."""

    def decided(self, decided: Decided) -> None:
        """Wait no longer for what would decide the attempt."""


class AttemptRules(Protocol):
    """The rules by which attempts of every kind are called."""

    @property
    def call_hold_ms(self) -> float:
        """How long a call waits, in which what lay at rest may move again."""

    @property
    def causes(self) -> Mapping[str, str]:
        """The rule ids by cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[Value]):
    """What an attempt came to: its value where it counts, its reasons where it does not, and who says so."""

    number: int
    value: Value | None
    grade: Grade
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    warning: bool = False
    by: str | None = None
    who: str | None = None


class Results(Protocol[Value]):
    """What every game does with its attempts, from the first to what follows from the last."""

    def snapshot(self) -> object:
        """Return the game's state, to come back to when the result is corrected."""

    def restore(self, snapshot: object) -> None:
        """Go back to that state."""

    def began(self, t: int) -> None:
        """An attempt begins."""

    def call(self, result: Result[Value]) -> Data:
        """Apply a result that counts, and give what to publish."""

    def no_result(self, result: Result[Value]) -> Data:
        """Apply a result that does not count, and give what to publish."""

    def review(self, result: Result[Value]) -> Data:
        """Return what to publish for a review."""

    def correct(self, result: Result[Value], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply a result in place of the one just undone, then what people entered since.

        Returns what to publish. An entry that the corrected game no longer allows lapses.
        """

    def follow_up(self, t: int) -> None:
        """Publish what follows from a result: betting opens, the dice pass."""
