"""Effects, which the engine returns for a reading: outcomes to publish, and others for the table's use."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Reading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

Verdict = ThrowVerdict | SpinVerdict | DealVerdict


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's input beside the attempt's readings; the same readings and basis give the same verdict.

    `decided_at_us` is when the attempt was judged, `called` what a person had said by then, `warnings` how
    many the shooter had had, `sources` which kinds of readings each device was known to send, `learned` the
    learned properties of the wheel or the walls, `late_close` whether bets were still open at the drop,
    `relaunched` whether the next ball was launched before this spin was decided. `late` are the attempt's
    readings that came too late to count, `doubt` says why its times can't be trusted, `objection` is why a
    result that would count went to a person.
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
    """With `calls: confirm`: a result that the controller proposes for a person to confirm."""

    t: int
    attempt: int
    verdict: Verdict


class Lamp(msgspec.Struct, frozen=True, kw_only=True):
    """A new state of a lamp or marker."""

    t: int
    name: Literal["puck", "no_more_bets", "line_bet"]
    shows: str


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that came too late to count, by `behind_us`, or whose time lies well after its arrival.

    It changes nothing.
    """

    reading: Reading
    behind_us: int


Effect = Outcome | Judged | Proposed | Lamp | Late
