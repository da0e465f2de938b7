"""What pay table files of several games hold: odds, limits and policies, each with its rule and reason.

Plain frozen dataclasses, so that the games need no configuration library.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from controller.settlement.money import MAX_CENTS, Ratio

AtLeastOne = Annotated[int, Ge(1)]
Amount = Annotated[int, Ge(1), Le(MAX_CENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pays:
    """What one row pays to one part of the stake: `pays: [17, 1]` is 17 to 1. `rule` is its source."""

    pays: tuple[AtLeastOne, AtLeastOne]
    rule: str

    @property
    def ratio(self) -> Ratio:
        """The odds as a ratio."""
        return Ratio(*self.pays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The least and the most that may be bet, in cents, both allowed."""

    value: tuple[Amount, Amount]
    rule: str
    reason: str

    def __post_init__(self) -> None:
        """Refuse limits that no bet could meet; raises ValueError."""
        if self.most_cents < self.least_cents:
            raise ValueError(f"a second amount of at least the first ({self.least_cents})")

    @property
    def least_cents(self) -> int:
        """The least that may be bet."""
        return self.value[0]

    @property
    def most_cents(self) -> int:
        """The most that may be bet."""
        return self.value[1]

    def holds(self, cents: int) -> bool:
        """Return whether an amount is within the limits."""
        return self.least_cents <= cents <= self.most_cents

    def __str__(self) -> str:
        return f"{self.least_cents} to {self.most_cents} cents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A policy that is on or off."""

    value: bool
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that must be there, at least 1."""

    value: AtLeastOne
    rule: str
    reason: str
