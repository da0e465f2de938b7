"""Verdicts: the judges' decisions on attempts, with the reasons and the readings behind them."""

from enum import StrEnum
from typing import Literal

import msgspec

from controller.model.readings import Reading


class Ruling(StrEnum):
    """The possible rulings. An attempt that the readings do not decide goes to review."""

    VALID = "valid"
    VOID = "void"
    REVIEW = "review"


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cause of a No Roll, a No Spin, a void deal or a review.

    `code` is the contract's code, such as `no_wall_hit`. `rule` is the id in the rule catalogue. `seen`
    describes what was detected, with measured values. `die` is the die concerned; None for the whole throw.
    """

    code: str
    rule: str
    seen: str
    die: int | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A remark on an attempt that still counts, such as a near-wall hit, a late close or a warning."""

    code: str
    seen: str
    rule: str | None = None
    die: int | None = None


class ThrowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on a throw.

    `dice` are the faces in die order, if both are certain enough to propose. A VALID verdict always has them.
    `warning` is true if the throw counts with a warning. `sentence` states the verdict in one line.
    `evidence` holds the readings behind the verdict, in time order.
    """

    ruling: Ruling
    sentence: str
    dice: tuple[int, int] | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    warning: bool = False
    evidence: tuple[Reading, ...] = ()


class SpinVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on a spin.

    `number` is the pocket, if it is certain. `revolutions` is the proven number of revolutions in the track.
    The true number is between `revolutions_from` and `revolutions_to`, because the start of the run might
    have been missed. `grade` is `wheel` if the verdict is based only on a smart wheel's report. The other
    fields are as for a throw.
    """

    ruling: Ruling
    sentence: str
    number: str | None = None
    revolutions: float | None = None
    revolutions_from: float | None = None
    revolutions_to: float | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    evidence: tuple[Reading, ...] = ()
    grade: Literal["sensors", "wheel"] = "sensors"


class Dealt(msgspec.Struct, frozen=True, kw_only=True):
    """A complete deal: the three cards of each position and of the dealer, such as `Qh`, and the folds."""

    hands: dict[str, tuple[str, ...]]
    dealer: tuple[str, ...]
    folds: tuple[str, ...]


class DealVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on a deal.

    `seats` are the positions dealt in. `dealt` is the complete deal, after all cards are known and all
    positions have acted. `evidence` holds the readings behind the verdict. Readings that name a card are left
    out until all positions have acted.
    """

    ruling: Ruling
    sentence: str
    seats: tuple[str, ...] = ()
    dealt: Dealt | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    evidence: tuple[Reading, ...] = ()
