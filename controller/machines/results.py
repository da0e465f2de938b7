"""What an attempt came to, and what a game does with that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from controller.model.outcomes import Data, Grade
from controller.model.readings import Input
from controller.model.verdicts import Notice, Reason

Value = TypeVar("Value")


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
