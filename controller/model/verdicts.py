"""Verdicts: what the rules make of one attempt, with every reason and the readings it rests on."""

from enum import StrEnum
from typing import Literal

import msgspec

from controller.model.readings import Reading


class Ruling(StrEnum):
    """The three ends of an attempt. A review is not a failure: it is what is said instead of a guess."""

    VALID = "valid"
    VOID = "void"
    REVIEW = "review"


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cause of a No Roll, a No Spin, a void deal or a review.

    `code` is the word of the contract (`no_wall_hit`), `rule` the id in the rule catalogue, `seen` what was
    seen in words and figures, `die` the die it concerns (None when it concerns the throw).
    """

    code: str
    rule: str
    seen: str
    die: int | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something worth saying that changes nothing: a near-wall hit, a late close, a warning."""

    code: str
    seen: str
    rule: str | None = None
    die: int | None = None


class ThrowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's word on a throw.

    `dice` are the faces the sensors read where both are certain enough to propose, in die order; a VALID
    verdict always has them. `warning` is set when the rule set lets the throw stand with a warning.
    `sentence` says it all in one plain line. `evidence` are the readings it rests on, in time order.
    """

    ruling: Ruling
    sentence: str
    dice: tuple[int, int] | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    warning: bool = False
    evidence: tuple[Reading, ...] = ()


class SpinVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's word on a spin.

    `number` is the pocket if one is certain; `revolutions` what the ball provably ran in the track, with
    `revolutions_from`/`revolutions_to` the interval that the unseen start leaves. `grade` is `wheel` where it
    rests on a smart wheel's word alone. Else as for a throw.
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
    """A whole deal: three cards a position (such as `Qh`), the dealer's three, and who folded."""

    hands: dict[str, tuple[str, ...]]
    dealer: tuple[str, ...]
    folds: tuple[str, ...]


class DealVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's word on a deal.

    `seats` are the positions that were named, `dealt` the whole deal where every card is known and every
    position has acted. `evidence` are the readings it rests on, until every position has acted without those
    that name a card.
    """

    ruling: Ruling
    sentence: str
    seats: tuple[str, ...] = ()
    dealt: Dealt | None = None
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    evidence: tuple[Reading, ...] = ()
