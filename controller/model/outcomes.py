"""Outcomes: the facts that the table publishes, and the data of each type.

An outcome has the fields `type`, `t`, `id`, `seq` and `data`. `t` is the time of the reading, input or timer
that decided it. `seq` has no gaps within a table and `id` is table/session/seq, so a consumer can drop
repeats and detect missing outcomes. `roll`, `spin` and `deal` number the attempts from 1; a review, its
ruling and the call have the same number.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from controller.model.verdicts import Notice, Reason

Seat = str | int
Phase = Literal["come_out", "point"]
CrapsCall = Literal["natural", "craps", "point_set", "point_made", "seven_out", "no_decision"]
HighRollerCall = Literal["elimination", "no_match", "roll_off", "tie"]
"""An elimination throw is `elimination` with a match, else `no_match`; a roll-off is `roll_off` or `tie`."""
Grade = Literal["sensors", "wheel", "person"]
Colour = Literal["red", "black", "green"]


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one type of outcome; all keys of its game are always present."""


class RollCalled(Data, frozen=True, kw_only=True):
    """A valid roll: the faces in die order, and their meaning in the game.

    `phase`, `point` and `shooter` are for craps; they are None in High Roller. Only craps has `run_out`:
    whether a previous shooter threw only to decide Come and Don't Come bets, so that no point was set
    (C34-CONT-2b). Only High Roller has `game` (its number), `player` (whose roll it was), `remaining` (the
    players who are still in, in the order of their rolls) and `next_player` (None once the game is won).
    """

    roll: int
    dice: tuple[int, int]
    total: int
    phase: Phase | None
    point: int | None
    call: CrapsCall | HighRollerCall
    point_after: int | None
    shooter: Seat | None
    grade: Grade
    notices: tuple[Notice, ...]
    by: str | None
    who: str | None
    run_out: bool | UnsetType = UNSET
    game: int | UnsetType = UNSET
    player: Seat | UnsetType = UNSET
    remaining: tuple[Seat, ...] | UnsetType = UNSET
    next_player: Seat | UnsetType | None = UNSET


class RollNoRoll(Data, frozen=True, kw_only=True):
    """A No Roll: nothing is decided, bets stand, and the same shooter throws again."""

    roll: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class RollReview(Data, frozen=True, kw_only=True):
    """A throw that a person must rule on; `dice` are the faces seen, if both are known."""

    roll: int
    reasons: tuple[Reason, ...]
    dice: tuple[int, int] | None
    notices: tuple[Notice, ...]


class RollCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call; `corrects` is the id of the outcome that it replaces.

    `ruling` is the name of the input. A roll that now counts has its call here; one that does not has its
    reasons. Outcomes that the corrected roll caused (`player.eliminated`, `game.won`, `bonus.paid`) are
    revoked with it; those that the ruling causes follow it.
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
    call: CrapsCall | HighRollerCall | None = None
    point_after: int | None = None
    shooter: Seat | None = None
    reasons: tuple[Reason, ...] = ()
    run_out: bool | UnsetType = UNSET
    game: int | UnsetType = UNSET
    player: Seat | UnsetType = UNSET
    remaining: tuple[Seat, ...] | UnsetType = UNSET
    next_player: Seat | UnsetType | None = UNSET


class SpinCalled(Data, frozen=True, kw_only=True):
    """A valid spin: the pocket in which the ball rests, and the revolutions that the ball provably made.

    `dropped_us` is when the ball left the track, if that was seen; only staff and settlement receive it.
    """

    spin: int
    number: str
    colour: Colour
    revolutions: float | None
    grade: Grade
    notices: tuple[Notice, ...]
    by: str | None
    who: str | None
    dropped_us: int | UnsetType = UNSET


class SpinNoSpin(Data, frozen=True, kw_only=True):
    """A No Spin: nothing is decided; bets stand or may be taken back."""

    spin: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class SpinReview(Data, frozen=True, kw_only=True):
    """A spin that a person must rule on; `number` is the pocket seen, if any."""

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


class SeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one position's hand against the dealer's; `hand` is its rank in words."""

    seat: str
    hand: str
    result: Literal["win", "lose", "push", "dealer_does_not_play", "fold"]


class DealCalled(Data, frozen=True, kw_only=True):
    """A valid deal with every hand, published once all positions have played or folded.

    `dealer` is arranged from the highest card down (T-DEAL-6). `results` are in the order in which the hands
    are reconciled (T-DEAL-7), folds last.
    """

    deal: int
    hands: dict[str, tuple[str, ...]]
    dealer: tuple[str, ...]
    folds: tuple[str, ...]
    qualifies: bool
    announcement: str
    results: tuple[SeatResult, ...]
    grade: Grade
    notices: tuple[Notice, ...]
    by: str | None
    who: str | None


class DealVoid(Data, frozen=True, kw_only=True):
    """A void deal: all stakes are returned and the cards are reshuffled (T-IRR-1). It names no card."""

    deal: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class DealReview(Data, frozen=True, kw_only=True):
    """A deal that a person must rule on. It names no card."""

    deal: int
    reasons: tuple[Reason, ...]
    notices: tuple[Notice, ...]


class DealCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call, as for a roll."""

    deal: int
    corrects: str
    ruling: str
    by: str
    who: str | None
    hands: dict[str, tuple[str, ...]] | None = None
    dealer: tuple[str, ...] | None = None
    folds: tuple[str, ...] = ()
    qualifies: bool | None = None
    announcement: str | None = None
    results: tuple[SeatResult, ...] = ()
    reasons: tuple[Reason, ...] = ()


class CardsBought(Data, frozen=True, kw_only=True):
    """A player has bought this many cards in this game. They are then pitched one by one."""

    game: int
    player: Seat
    count: int
    by: str
    who: str | None


class CardPitched(Data, frozen=True, kw_only=True):
    """A card lies face up in front of its player; `card` is the total that matches it, 2 to 12 (H-MATCH-1).

    `replaces` is the card that was read or entered wrongly. `by` is `shoe`, or the role that entered the
    card.
    """

    game: int
    player: Seat
    card: int
    replaces: int | None
    by: str
    who: str | None


class GameStarted(Data, frozen=True, kw_only=True):
    """Buying is over and the button throws: the `seats` clockwise from the button, their cards and the money.

    Each card is given as the total that matches it, 2 to 12 (H-MATCH-1). Amounts are in cents.
    """

    game: int
    button: Seat
    seats: tuple[Seat, ...]
    cards: dict[str, tuple[int, ...]]
    card_cents: int
    bonus_take: int
    final: bool


class GameVoid(Data, frozen=True, kw_only=True):
    """An abandoned game: all stakes are returned and no rake is taken (!H-19)."""

    game: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None


class PlayerEliminated(Data, frozen=True, kw_only=True):
    """These players are out of this game, clockwise from the button."""

    game: int
    players: tuple[Seat, ...]


class RollDeclined(Data, frozen=True, kw_only=True):
    """A player skips one of the rolls that the player's matching cards allow (!H-17)."""

    game: int
    player: Seat
    by: str
    who: str | None


class Pot(msgspec.Struct, frozen=True, kw_only=True):
    """The division of a game's money, in cents: gross = rake + bonus + prize (H-MONEY-1)."""

    gross: int
    rake: int
    bonus: int
    prize: int


class GameWon(Data, frozen=True, kw_only=True):
    """A game is won. `total` is the winning roll; `bonus_paid` is what the Bonus Pot adds to the prize."""

    game: int
    player: Seat
    total: int
    pot: Pot
    bonus_paid: int


class BonusPaid(Data, frozen=True, kw_only=True):
    """The Bonus Pot is paid to the winner of the game just published, whose `bonus_paid` is this `amount`.

    If the pot is recorded as rake (H-CLOSE-2), no player gets it.
    """

    player: Seat | None
    amount: int
    cause: Literal["in_a_row", "final_game", "recorded_as_rake"]


class Bets(Data, frozen=True, kw_only=True):
    """Betting opened or closed for this round."""

    round: int
    cause: str
    notices: tuple[Notice, ...] = ()


class ShooterChanged(Data, frozen=True, kw_only=True):
    """The dice pass to this seat, or to the next player who accepts them (None)."""

    shooter: Seat | None
    cause: str
    by: str | None = None
    who: str | None = None


class TableEvent(Data, frozen=True, kw_only=True):
    """A change of the table or a device, or an input that was refused.

    `what` is the input, device or object concerned. `cause` is a stable code. `says` is a sentence for
    people.
    """

    cause: str
    what: str | None = None
    by: str | None = None
    who: str | None = None
    says: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One published outcome."""

    type: str
    t: int
    id: str
    seq: int
    data: Data


def outcome_id(table: str, session: str, seq: int) -> str:
    """Return the id of a session's outcome: table/session/number."""
    return f"{table}/{session}/{seq}"


OUTCOME_TYPES: dict[str, type[Data]] = {
    "roll.called": RollCalled,
    "roll.no_roll": RollNoRoll,
    "roll.review": RollReview,
    "roll.corrected": RollCorrected,
    "spin.called": SpinCalled,
    "spin.no_spin": SpinNoSpin,
    "spin.review": SpinReview,
    "spin.corrected": SpinCorrected,
    "deal.called": DealCalled,
    "deal.void": DealVoid,
    "deal.review": DealReview,
    "deal.corrected": DealCorrected,
    "cards.bought": CardsBought,
    "card.pitched": CardPitched,
    "game.started": GameStarted,
    "game.void": GameVoid,
    "game.won": GameWon,
    "player.eliminated": PlayerEliminated,
    "roll.declined": RollDeclined,
    "bonus.paid": BonusPaid,
    "bets.opened": Bets,
    "bets.closed": Bets,
    "shooter.changed": ShooterChanged,
    "table.opened": TableEvent,
    "table.closed": TableEvent,
    "table.locked": TableEvent,
    "table.unlocked": TableEvent,
    "device.down": TableEvent,
    "device.up": TableEvent,
    "device.fault": TableEvent,
    "input.refused": TableEvent,
}
"""Every type of outcome and the type of its data."""
_DATA = {type_: msgspec.json.Decoder(kind) for type_, kind in OUTCOME_TYPES.items()}


def data_of(type_: str, text: bytes | msgspec.Raw) -> Data:
    """Return an outcome's data from its JSON.

    Raises:
        KeyError: the type is unknown.
        msgspec.MsgspecError: the data do not match the type.
    """
    return _DATA[type_].decode(text)


AttemptKind = Literal["roll", "spin", "deal"]
"""The kind of attempt, as named in outcomes and in a session's numbers."""
ATTEMPT_KINDS: tuple[AttemptKind, ...] = ("roll", "spin", "deal")


def attempt_of(outcome: Outcome) -> int | None:
    """Return the number of an outcome's throw, spin or deal; None for other outcomes.

    A table has only one kind of attempt, so the number identifies it.
    """
    kind = outcome.type.partition(".")[0]
    number = getattr(outcome.data, kind, None) if kind in ATTEMPT_KINDS else None
    return number if isinstance(number, int) else None


class DiceOut(NamedTuple):
    """The state of a throw that is not called yet, for wagers made with the dice out (C34-MK-1b)."""

    confirmed: tuple[str, ...]
    """The ids of the wagers that both a dealer and a boxperson have confirmed."""
    moving_us: int | None
    """A time at which both dice were provably in motion; None if there is none or it was not requested."""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A throw, spin or deal that awaits a person's ruling or confirmation.

    `reasons` say what is missing or contradictory, or why a No Roll or No Spin is proposed. `seen` is what
    has been seen so far. `proposes` is what is called once a person accepts it. Neither names a covered card.
    """

    attempt: AttemptKind
    number: int
    state: Literal["review", "proposed"]
    reasons: tuple[Reason, ...] = ()
    seen: str = ""
    proposes: str = ""
    may: tuple[str, ...] = ()
    """The rulings that are accepted now."""
    lacks: tuple[str, ...] = ()
    """The positions of a deal for which staff must enter a card, because it was not read or not counted."""
    entered: tuple[tuple[str, str], ...] = ()
    """The cards of a deal that a person entered and can still replace, each with its position; empty until
    all positions have acted."""

    @property
    def headline(self) -> str:
        """Return a line for staff: `Roll 24 is under review (wall_unclear): enter set_dice or no_roll`."""
        codes = ", ".join(dict.fromkeys(reason.code for reason in self.reasons))
        because = f" ({codes})" if codes else ""
        status = f"proposed: {self.proposes}" if self.state == "proposed" else "under review"
        return (
            f"{self.attempt.capitalize()} {self.number} is {status}{because}: enter {' or '.join(self.may)}"
        )
