"""Effects, which the engine returns for a reading: outcomes to publish, and effects on the table itself."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Reading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

Verdict = ThrowVerdict | SpinVerdict | DealVerdict


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's input besides the attempt's readings. The same readings and basis produce the same verdict.

    `decided_at_us` is when the attempt was judged. `called` is a person's reason for declaring it void.
    `warnings` is how many warnings the shooter had been given. `sources` are the kinds of reading that each
    device was known to send. `learned` are the learned properties of the wheel or the walls. `late_close`
    tells whether bets were still open at the drop. `relaunched` tells whether the next ball was launched
    before this spin was decided. `late` are the attempt's readings that came too late to count. `doubt` says
    why its times can't be trusted. `objection` is why a result that would count went to a person.
    """

    decided_at_us: int
    called: Reason | None = None
    warnings: int = 0
    sources: Mapping[str, tuple[str, ...]] = {}
    learned: Mapping[str, float] = {}
    late_close: bool = False
    relaunched: bool = False
    late: tuple[AnyReading, ...] = ()
    doubt: str = ""
    objection: Reason | None = None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict behind the outcome just published, with all readings of the attempt and the basis."""

    outcome: Outcome
    verdict: Verdict
    readings: tuple[Reading, ...]
    basis: Basis


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """A result that the controller proposes for a person to confirm, with `calls: confirm`."""

    t: int
    attempt: int
    verdict: Verdict


class Lamp(msgspec.Struct, frozen=True, kw_only=True):
    """A new state of a lamp or marker."""

    t: int
    name: Literal["puck", "no_more_bets", "line_bet"]
    shows: str


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that does not count and has no effect.

    It came too late by `behind_us`, or its time is well after its arrival.
    """

    reading: Reading
    behind_us: int


Effect = Outcome | Judged | Proposed | Lamp | Late
