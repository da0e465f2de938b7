"""Effects: what the engine hands out for a reading. Outcomes are published, the others are for watching."""

from typing import Literal

import msgspec

from controller.model.outcomes import Outcome
from controller.model.readings import Reading
from controller.model.verdicts import DealVerdict, SpinVerdict, ThrowVerdict

Verdict = ThrowVerdict | SpinVerdict | DealVerdict


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict behind the outcome just published, and every reading of the attempt."""

    outcome: Outcome
    verdict: Verdict
    readings: tuple[Reading, ...]


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """With `calls: confirm`: what the controller proposes and a person must confirm."""

    t: int
    attempt: int
    verdict: Verdict


class Lamp(msgspec.Struct, frozen=True, kw_only=True):
    """A lamp or marker that must show something else from now on."""

    t: int
    name: Literal["puck", "no_more_bets"]
    shows: str


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that came too late to count (or claims a time well after its arrival); it changes nothing."""

    reading: Reading
    behind_us: int


Effect = Outcome | Judged | Proposed | Lamp | Late
