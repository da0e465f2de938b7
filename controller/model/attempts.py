"""Which throw, spin or deal an outcome tells of, and which one waits for a person."""

from typing import Literal, NamedTuple

import msgspec

from controller.model.outcomes import Outcome
from controller.model.verdicts import Reason

_ATTEMPTS = frozenset({"roll", "spin", "deal"})


def attempt_of(outcome: Outcome) -> int | None:
    """Give the number of the throw, spin or deal that an outcome tells of; None for all others.

    A table has attempts of one kind alone, so the number names one.
    """
    word = outcome.type.partition(".")[0]
    number = getattr(outcome.data, word, None) if word in _ATTEMPTS else None
    return number if isinstance(number, int) else None


class DiceOut(NamedTuple):
    """What is known of a throw that is not called yet, and of the wagers lodged meanwhile (C34-MK-1b)."""

    confirmed: tuple[str, ...]
    """The ids of wagers that a dealer and a boxperson confirmed."""
    moving_us: int | None
    """A moment at which both dice were still in motion; None where nothing proves one, or nobody asks."""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A throw, spin or deal that waits for a person: what is open, and what may be said now.

    `reasons` are what is missing or contradictory, or why a No Roll or No Spin is proposed, `seen` what was
    seen so far, `proposes` what is called once a person accepts it; neither ever names a covered card.
    """

    attempt: Literal["roll", "spin", "deal"]
    number: int
    state: Literal["review", "proposed"]
    reasons: tuple[Reason, ...] = ()
    seen: str = ""
    proposes: str = ""
    may: tuple[str, ...] = ()
    """The rulings that are taken now."""

    @property
    def headline(self) -> str:
        """Say it in a line: `Roll 24 is under review (wall_unclear): say set_dice or no_roll`."""
        codes = ", ".join(dict.fromkeys(reason.code for reason in self.reasons))
        because = f" ({codes})" if codes else ""
        stands = f"proposed: {self.proposes}" if self.state == "proposed" else "under review"
        return f"{self.attempt.capitalize()} {self.number} is {stands}{because}: say {' or '.join(self.may)}"
