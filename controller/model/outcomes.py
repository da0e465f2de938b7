"""Outcomes: the facts that the table publishes, and the data of each type.

The `t` of an outcome is the time of the reading, input or timer that decided it. `seq` has no gaps within a
table, and `id` is table/session/seq, so a consumer can drop repeats and detect missing outcomes. `roll`,
`spin` and `deal` number the attempts from 1. A review, its ruling and its call have the same number.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from controller.model.verdicts import Notice, Reason

Seat = str | int
Phase = Literal["come_out", "point"]
CrapsCall = Literal["natural", "craps", "point_set", "point_made", "seven_out", "no_decision"]
HighRollerCall = Literal["elimination", "no_match", "roll_off", "tie"]
"""An elimination throw is `elimination` or `no_match`. A throw in the roll-off is `roll_off` or `tie`."""
Grade = Literal["sensors", "wheel", "person"]
Colour = Literal["red", "black", "green"]


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one type of outcome. All keys that a game uses are always present."""


class RollCalled(Data, frozen=True, kw_only=True):
    """A valid roll: the faces in die order, and the effect on the game.

    `phase`, `point`, `shooter` and `run_out` are for craps. `run_out` says whether the roll decided only
    Come and Don't Come bets and set no point (C34-CONT-2b). In High Roller, `phase`, `point` and `shooter`
    are None. `game`, `player`, `remaining` and `next_player` are for High Roller. `game` is the number of the
    game, and `player` rolled the dice. `remaining` lists the players still in the game, in rolling order.
    `next_player` is None once the game is won.
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
    """A No Roll. Nothing is decided, bets stay up, and the same shooter throws again."""

    roll: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class RollReview(Data, frozen=True, kw_only=True):
    """A throw that needs a person's ruling. `dice` are the detected faces, if both are known."""

    roll: int
    reasons: tuple[Reason, ...]
    dice: tuple[int, int] | None
    notices: tuple[Notice, ...]


class RollCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call. `corrects` is the id of the outcome that it replaces.

    `ruling` is the name of the input. A roll that now counts has its call here; a roll that no longer counts
    has its reasons. The outcomes that the original roll caused (`player.eliminated`, `game.won`,
    `bonus.paid`) are revoked. The outcomes that the ruling causes follow it.
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
    """A valid spin: the pocket in which the ball rests, and the number of revolutions proved.

    `dropped_us` is the time at which the ball left the track, if detected. Only staff and settlement receive
    it.
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
    """A No Spin. Nothing is decided, and bets stay up or may be taken back."""

    spin: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class SpinReview(Data, frozen=True, kw_only=True):
    """A spin that needs a person's ruling. `number` is the detected pocket, if any."""

    spin: int
    reasons: tuple[Reason, ...]
    number: str | None
    notices: tuple[Notice, ...]


class SpinCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call. The fields have the same meaning as for a roll."""

    spin: int
    corrects: str
    ruling: str
    by: str
    who: str | None
    number: str | None = None
    colour: Colour | None = None
    reasons: tuple[Reason, ...] = ()


class SeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one position's hand against the dealer's hand. `hand` is the rank as text, such as `Q-9-4
    high`."""

    seat: str
    hand: str
    result: Literal["win", "lose", "push", "dealer_does_not_play", "fold"]


class DealCalled(Data, frozen=True, kw_only=True):
    """A valid deal with every hand, published after all positions have played or folded.

    `dealer` is sorted, highest card first (T-DEAL-6). `results` are in the order in which the hands are
    reconciled (T-DEAL-7), with folds last.
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
    """A void deal. All stakes are returned, and the cards are reshuffled (T-IRR-1). No card is named."""

    deal: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class DealReview(Data, frozen=True, kw_only=True):
    """A deal that needs a person's ruling. No card is named."""

    deal: int
    reasons: tuple[Reason, ...]
    notices: tuple[Notice, ...]


class DealCorrected(Data, frozen=True, kw_only=True):
    """A person's ruling after the call. The fields have the same meaning as for a roll."""

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
    """A player's purchase of cards in this game. The cards are then pitched one by one."""

    game: int
    player: Seat
    count: int
    by: str
    who: str | None


class CardPitched(Data, frozen=True, kw_only=True):
    """A card that lies face up in front of its player. `card` is the total that matches it (H-MATCH-1).

    `replaces` is a card that was misread or entered incorrectly. `by` is `shoe`, or the role that entered the
    card.
    """

    game: int
    player: Seat
    card: int
    replaces: int | None
    by: str
    who: str | None


class GameStarted(Data, frozen=True, kw_only=True):
    """The start of a game, once buying is over.

    `seats` are clockwise from the button. Each card is the total that matches it, 2 to 12 (H-MATCH-1).
    Amounts are in cents.
    """

    game: int
    button: Seat
    seats: tuple[Seat, ...]
    cards: dict[str, tuple[int, ...]]
    card_cents: int
    bonus_take: int
    final: bool


class GameVoid(Data, frozen=True, kw_only=True):
    """An abandoned game. All stakes are returned, and no rake is taken (!H-19)."""

    game: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None


class PlayerEliminated(Data, frozen=True, kw_only=True):
    """The players who are out of this game, clockwise from the button."""

    game: int
    players: tuple[Seat, ...]


class RollDeclined(Data, frozen=True, kw_only=True):
    """A player skips one of the rolls that the player's matching cards allow (!H-17)."""

    game: int
    player: Seat
    by: str
    who: str | None


class Pot(msgspec.Struct, frozen=True, kw_only=True):
    """The split of a game's money, in cents: gross = rake + bonus + prize (H-MONEY-1)."""

    gross: int
    rake: int
    bonus: int
    prize: int


class GameWon(Data, frozen=True, kw_only=True):
    """A win. `total` is the winning roll. `bonus_paid` is the amount that the Bonus Pot adds to the prize."""

    game: int
    player: Seat
    total: int
    pot: Pot
    bonus_paid: int


class BonusPaid(Data, frozen=True, kw_only=True):
    """A payment from the Bonus Pot to the winner of the game just published.

    `amount` is the `bonus_paid` of that game. If the pot is recorded as rake (H-CLOSE-2), `player` is None.
    """

    player: Seat | None
    amount: int
    cause: Literal["in_a_row", "final_game", "recorded_as_rake"]


class Bets(Data, frozen=True, kw_only=True):
    """The opening or closing of betting for a round."""

    round: int
    cause: str
    notices: tuple[Notice, ...] = ()


class ShooterChanged(Data, frozen=True, kw_only=True):
    """The dice pass to this seat or, for None, to the next player who accepts them."""

    shooter: Seat | None
    cause: str
    by: str | None = None
    who: str | None = None


class TableEvent(Data, frozen=True, kw_only=True):
    """A change in the state of the table or of a device, or a refused input.

    `what` is the input, device or object concerned. `cause` is a stable code. `says` is a message for people.
    """

    cause: str
    what: str | None = None
    by: str | None = None
    who: str | None = None
    says: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A published outcome."""

    type: str
    t: int
    id: str
    seq: int
    data: Data


def outcome_id(table: str, session: str, seq: int) -> str:
    """Return the id of an outcome: table/session/seq."""
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
"""The data type of each outcome type."""
_DATA = {type_: msgspec.json.Decoder(kind) for type_, kind in OUTCOME_TYPES.items()}


def data_of(type_: str, text: bytes | msgspec.Raw) -> Data:
    """Return an outcome's data, decoded from JSON.

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

    The number identifies the attempt, because each table has only one kind of attempt.
    """
    kind = outcome.type.partition(".")[0]
    number = getattr(outcome.data, kind, None) if kind in ATTEMPT_KINDS else None
    return number if isinstance(number, int) else None


class DiceOut(NamedTuple):
    """The state of a throw that is not yet called, for late wagers (C34-MK-1b)."""

    confirmed: tuple[str, ...]
    """The ids of the wagers that both a dealer and a boxperson have confirmed."""
    moving_us: int | None
    """A time at which both dice were provably in motion; None if there is none or it was not requested."""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A throw, spin or deal that needs a person's ruling or confirmation.

    `reasons` say what is missing or contradictory, or why a No Roll or No Spin is proposed. `seen` is the
    result as detected. `proposes` is the call that will be made if a person accepts the proposal. Neither
    `seen` nor `proposes` names a card that is still face down.
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
    """The positions of a deal for which staff must enter a card that was not read or not counted."""
    entered: tuple[tuple[str, str], ...] = ()
    """The cards that a person entered and can still replace, each with its position.

    Empty until all positions have acted.
    """

    @property
    def headline(self) -> str:
        """A line for staff, such as `Roll 24 is under review (wall_unclear): enter set_dice or no_roll`."""
        codes = ", ".join(dict.fromkeys(reason.code for reason in self.reasons))
        because = f" ({codes})" if codes else ""
        status = f"proposed: {self.proposes}" if self.state == "proposed" else "under review"
        return (
            f"{self.attempt.capitalize()} {self.number} is {status}{because}: enter {' or '.join(self.may)}"
        )
