"""The last call while a person may still correct it, as a table's state carries it over a restart."""

import msgspec

from controller.model.readings import Card, Input
from controller.model.verdicts import Dealt


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
