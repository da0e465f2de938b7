"""Outcomes: past facts that the table publishes, and what each type tells.

An outcome is `type`, `t`, `id`, `seq`, `data`. `t` is the time of the reading, input or timer that decided
it. `seq` is gap-free per table and `id` is table/session/seq, so that a consumer can drop a repeat and notice
a hole. `roll`, `spin` and `deal` number the attempts from 1; a review, its ruling and the call share one.
"""

from typing import Literal

import msgspec

from controller.model.verdicts import Notice, Reason

Seat = str | int
Phase = Literal["come_out", "point"]
CrapsCall = Literal["natural", "craps", "point_set", "point_made", "seven_out", "no_decision"]
Grade = Literal["sensors", "wheel", "person"]
Colour = Literal["red", "black", "green"]


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What one type of outcome tells; every key is always there."""


class RollCalled(Data, frozen=True, kw_only=True):
    """A valid roll: the faces in die order, and what they mean to the round."""

    roll: int
    dice: tuple[int, int]
    total: int
    phase: Phase
    point: int | None
    call: CrapsCall
    point_after: int | None
    shooter: Seat | None
    grade: Grade
    notices: tuple[Notice, ...]
    by: str | None
    who: str | None


class RollNoRoll(Data, frozen=True, kw_only=True):
    """A No Roll: nothing is decided, bets stand, the same shooter throws again."""

    roll: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class RollReview(Data, frozen=True, kw_only=True):
    """A throw that a person must rule on; `dice` are the faces seen, where both are known."""

    roll: int
    reasons: tuple[Reason, ...]
    dice: tuple[int, int] | None
    notices: tuple[Notice, ...]


class RollCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call: what it replaces (`corrects`, an outcome's id) and what holds now.

    `ruling` is the input that ruled. A roll that counts now has its call here, one that does not its reasons.
    """

    roll: int
    corrects: str
    ruling: str
    by: str
    who: str | None
    dice: tuple[int, int] | None = None
    total: int | None = None
    phase: Phase | None = None
    point: int | None = None
    call: CrapsCall | None = None
    point_after: int | None = None
    shooter: Seat | None = None
    reasons: tuple[Reason, ...] = ()


class SpinCalled(Data, frozen=True, kw_only=True):
    """A valid spin: the pocket the ball rests in, and the revolutions it provably made."""

    spin: int
    number: str
    colour: Colour
    revolutions: float | None
    grade: Grade
    notices: tuple[Notice, ...]
    by: str | None
    who: str | None


class SpinNoSpin(Data, frozen=True, kw_only=True):
    """A No Spin: nothing is decided, bets stand or may be taken back."""

    spin: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class SpinReview(Data, frozen=True, kw_only=True):
    """A spin that a person must rule on; `number` is the pocket seen, where one is."""

    spin: int
    reasons: tuple[Reason, ...]
    number: str | None
    notices: tuple[Notice, ...]


class SpinCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call, as for a roll."""

    spin: int
    corrects: str
    ruling: str
    by: str
    who: str | None
    number: str | None = None
    colour: Colour | None = None
    reasons: tuple[Reason, ...] = ()


class Bets(Data, frozen=True, kw_only=True):
    """Betting opened or closed for this round."""

    round: int
    cause: str
    notices: tuple[Notice, ...] = ()


class ShooterChanged(Data, frozen=True, kw_only=True):
    """The dice pass: to this seat, or (None) to whoever accepts them."""

    shooter: Seat | None
    cause: str
    by: str | None = None
    who: str | None = None


class Happening(Data, frozen=True, kw_only=True):
    """Something that happened to the table or a device, or an input that was refused.

    `what` is the input, device or thing concerned, `cause` a stable code, `says` a sentence for people.
    """

    cause: str
    what: str | None = None
    by: str | None = None
    who: str | None = None
    says: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One published fact."""

    type: str
    t: int
    id: str
    seq: int
    data: Data


OUTCOME_TYPES: dict[str, type[Data]] = {
    "roll.called": RollCalled,
    "roll.no_roll": RollNoRoll,
    "roll.review": RollReview,
    "roll.corrected": RollCorrected,
    "spin.called": SpinCalled,
    "spin.no_spin": SpinNoSpin,
    "spin.review": SpinReview,
    "spin.corrected": SpinCorrected,
    "bets.opened": Bets,
    "bets.closed": Bets,
    "shooter.changed": ShooterChanged,
    "table.opened": Happening,
    "table.closed": Happening,
    "table.locked": Happening,
    "table.unlocked": Happening,
    "device.down": Happening,
    "device.up": Happening,
    "device.fault": Happening,
    "input.refused": Happening,
}
"""Every type of outcome and what its data are."""
