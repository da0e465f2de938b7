"""Effects: what the engine returns for a reading. Outcomes are published, the others are for watchers."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Reading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

Verdict = ThrowVerdict | SpinVerdict | DealVerdict


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict rests on beside the attempt's readings: with both the judge says the same again.

    `decided_at_us` is when the judge was asked, `called` what a person had said by then, `warnings` what the
    shooter had had, `sources` which reading kinds each device was known to send, `learned` what was known of
    the wheel or the walls, `late_close` whether bets were still open at the drop, `relaunched` whether the
    next ball was launched before it was decided. `late` are readings of it that came too late to count,
    `doubt` says what else happened to its times, `objection` is why a result that would count was put to a
    person all the same.
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
    """The verdict behind the outcome just published, every reading of the attempt, and its further basis."""

    outcome: Outcome
    verdict: Verdict
    readings: tuple[Reading, ...]
    basis: Basis


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """With `calls: confirm`: a result that the controller proposes and a person must confirm."""

    t: int
    attempt: int
    verdict: Verdict


class Lamp(msgspec.Struct, frozen=True, kw_only=True):
    """A lamp or marker that must show something else from now on."""

    t: int
    name: Literal["puck", "no_more_bets", "line_bet"]
    shows: str


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that came too late to count (or claims a time well after its arrival); it changes nothing."""

    reading: Reading
    behind_us: int


Effect = Outcome | Judged | Proposed | Lamp | Late
