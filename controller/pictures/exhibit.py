"""What a picture is made of: one attempt with its verdict, and the table that it was made at."""

from typing import NamedTuple

from controller.machines.setup import Setup
from controller.model.effects import Judged
from controller.model.outcomes import Bets, Outcome


class Exhibit(NamedTuple):
    """One attempt: everything that was told of it, and its last verdict.

    `told` are its outcomes in order, `closed` is the outcome that closed the bets on it, `last` the outcome
    that holds; `judged` is None where a person alone ruled, or the evidence is gone.
    """

    setup: Setup
    number: int
    told: tuple[Outcome, ...]
    closed: Outcome | None
    judged: Judged | None

    @property
    def last(self) -> Outcome:
        """Give the outcome that holds."""
        return self.told[-1]

    @property
    def closed_by(self) -> str:
        """Give what closed the bets, in the outcomes' own word."""
        data = None if self.closed is None else self.closed.data
        return data.cause if isinstance(data, Bets) else ""

    @property
    def heading(self) -> str:
        """Name the attempt and what came of it, as in "Roll 3: No Roll"."""
        word, _, came = self.last.type.partition(".")
        said = {"no_roll": "No Roll", "no_spin": "No Spin", "review": "in review", "void": "void"}
        return f"{word.capitalize()} {self.number}: {said.get(came, came)}"
