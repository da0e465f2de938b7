"""Verdicts: the judge's decision on one attempt, with its reasons and the readings on which it is based."""

from enum import StrEnum
from typing import Literal

import msgspec

from controller.model.readings import Reading


class Ruling(StrEnum):
    """The three possible rulings. An attempt that the readings leave in doubt goes to review."""

    VALID = "valid"
    VOID = "void"
    REVIEW = "review"


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cause of a No Roll, a No Spin, a void deal or a review.

    `code` is the contract's code (such as `no_wall_hit`). `rule` is the id in the rule catalogue. `seen`
    describes what was seen, with measured values. `die` is the die concerned (None for the throw as a whole).
    """

    code: str
    rule: str
    seen: str
    die: int | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A remark on an attempt that still counts: a near-wall hit, a late close, a warning."""

    code: str
    seen: str
    rule: str | None = None
    die: int | None = None


class ThrowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on a throw.

    `dice` are the faces in die order if both are certain enough to propose; a VALID verdict always has them.
    `warning` is set if the throw counts with a warning. `sentence` states the verdict in one line. `evidence`
    are the readings on which it is based, in time order.
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

    `number` is the pocket if it is certain. `revolutions` are those that the ball provably made in the track;
    the true number lies between `revolutions_from` and `revolutions_to`, because the start may be unseen.
    `grade` is `wheel` if the verdict is based on a smart wheel's report alone. The other fields are as for a
    throw.
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
    """A complete deal: the three cards (such as `Qh`) of each position and the dealer, and the folds."""

    hands: dict[str, tuple[str, ...]]
    dealer: tuple[str, ...]
    folds: tuple[str, ...]


class DealVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on a deal.

    `seats` are the positions dealt to. `dealt` is the complete deal, once every card is known and every
    position has acted. `evidence` are the readings on which the verdict is based; until every position has
    acted, readings that name a card are left out.
    """

    ruling: Ruling
    sentence: str
    seats: tuple[str, ...] = ()
    dealt: Dealt | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    evidence: tuple[Reading, ...] = ()
