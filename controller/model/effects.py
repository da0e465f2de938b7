"""Effects: the outcomes and other values that the engine returns for a reading."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Reading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

Verdict = ThrowVerdict | SpinVerdict | DealVerdict


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's input besides the attempt's readings. The same readings and basis produce the same verdict.

    `decided_at_us` is the time of the judgement. `called` is a person's reason for declaring the attempt
    void. `warnings` is the number of warnings given to the shooter. `sources` are the kinds of reading that
    each device was known to send. `learned` holds the learned properties of the wheel or the walls.
    `late_close` says whether betting was open at the drop. `relaunched` says whether the next ball was
    launched before the decision on this spin. `late` holds the readings that arrived too late to be used.
    `doubt` says why the attempt's times are unreliable. `objection` is the reason why a valid result went to
    review.
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
    """The verdict behind the outcome just published, with the attempt's readings and the basis."""

    outcome: Outcome
    verdict: Verdict
    readings: tuple[Reading, ...]
    basis: Basis


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """A result that needs a person's confirmation (`calls: confirm`)."""

    t: int
    attempt: int
    verdict: Verdict


class Lamp(msgspec.Struct, frozen=True, kw_only=True):
    """The new state of a lamp or marker."""

    t: int
    name: Literal["puck", "no_more_bets", "line_bet"]
    shows: str


class LateReading(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that has no effect.

    It arrived `behind_us` microseconds too late, or its time is well after its arrival.
    """

    reading: Reading
    behind_us: int


Effect = Outcome | Judged | Proposed | Lamp | LateReading
