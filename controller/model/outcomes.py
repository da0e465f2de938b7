"""Outcomes: past facts that the table publishes, and the contents of each type.

An outcome is `type`, `t`, `id`, `seq`, `data`. `t` is the time of the reading, input or timer that decided
it. `seq` is gap-free per table and `id` is table/session/seq, so that a consumer can drop a repeat and notice
a hole. `roll`, `spin` and `deal` number the attempts from 1; a review, its ruling and the call share one.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from controller.model.verdicts import Notice, Reason

Seat = str | int
Phase = Literal["come_out", "point"]
CrapsCall = Literal["natural", "craps", "point_set", "point_made", "seven_out", "no_decision"]
HighRollerCall = Literal["elimination", "no_match", "roll_off", "tie"]
"""A throw with or without a match, a roll of the roll-off, or one that leaves a tie at the top."""
Grade = Literal["sensors", "wheel", "person"]
Colour = Literal["red", "black", "green"]


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one type of outcome; every key of its game is always present."""


class RollCalled(Data, frozen=True, kw_only=True):
    """A valid roll: the faces in die order, and what they mean to the game.

    Phases, points and shooters are those of craps; None in High Roller. Craps alone tells `run_out`: whether
    an old shooter threw it only to decide Come and Don't Come bets, so that no point was set (C34-CONT-2b).
    High Roller alone tells its game's number, the player whose roll it was, who is still in after it (in the
    order of their rolls), and who rolls next (None when the game is won).
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
    What was told since as a consequence of the corrected roll (`player.eliminated`, `game.won`, `bonus.paid`)
    falls with it; what follows from the ruling is told after it.
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
    """A valid spin: the pocket the ball rests in, and the revolutions it provably made.

    `dropped_us` is when the ball left the track, where that was seen; for the staff and settlement alone.
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


class SeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one position's hand against the dealer's; `hand` is its rank in words."""

    seat: str
    hand: str
    result: Literal["win", "lose", "push", "dealer_does_not_play", "fold"]


class DealCalled(Data, frozen=True, kw_only=True):
    """A valid deal: every hand, told only once all positions have played or folded.

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
    """A void deal: all stakes go back and the cards are reshuffled (T-IRR-1). No card is named."""

    deal: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None
    notices: tuple[Notice, ...]


class DealReview(Data, frozen=True, kw_only=True):
    """A deal that a person must rule on. No card is named."""

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
    """A player has bought this many cards of this game; they are pitched one by one."""

    game: int
    player: Seat
    count: int
    by: str
    who: str | None


class CardPitched(Data, frozen=True, kw_only=True):
    """A card lies face up in front of its player: the total that matches it, 2 to 12 (H-MATCH-1).

    `replaces` is the card that was read or entered wrong in its place; `by` is `shoe`, or who entered it.
    """

    game: int
    player: Seat
    card: int
    replaces: int | None
    by: str
    who: str | None


class GameStarted(Data, frozen=True, kw_only=True):
    """Buying is over and the button throws: `seats` clockwise from the button, the cards of each, the money.

    A card is given by the total that matches it, 2 to 12 (H-MATCH-1). Amounts are cents.
    """

    game: int
    button: Seat
    seats: tuple[Seat, ...]
    cards: dict[str, tuple[int, ...]]
    card_cents: int
    bonus_take: int
    final: bool


class GameVoid(Data, frozen=True, kw_only=True):
    """A game that was abandoned: all stakes go back, without rake (!H-19)."""

    game: int
    reasons: tuple[Reason, ...]
    by: str
    who: str | None


class PlayerEliminated(Data, frozen=True, kw_only=True):
    """These players are out of this game, clockwise from the button."""

    game: int
    players: tuple[Seat, ...]


class RollDeclined(Data, frozen=True, kw_only=True):
    """A player leaves out one of the rolls that his matching cards give him (!H-17)."""

    game: int
    player: Seat
    by: str
    who: str | None


class Pot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a game's money goes, in cents: gross = rake + bonus + prize (H-MONEY-1)."""

    gross: int
    rake: int
    bonus: int
    prize: int


class GameWon(Data, frozen=True, kw_only=True):
    """A game is won: `total` is the roll that won it, `bonus_paid` what the Bonus Pot adds to the prize."""

    game: int
    player: Seat
    total: int
    pot: Pot
    bonus_paid: int


class BonusPaid(Data, frozen=True, kw_only=True):
    """The Bonus Pot is emptied: to the winner of the game just told (the same money as its `bonus_paid`).

    Recorded as rake (H-CLOSE-2) it goes to no player.
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
_DATA = {type_: msgspec.json.Decoder(kind) for type_, kind in OUTCOME_TYPES.items()}


def data_of(type_: str, text: bytes | msgspec.Raw) -> Data:
    """Read an outcome's data; raises KeyError for an unknown type, `msgspec.MsgspecError` for other data."""
    return _DATA[type_].decode(text)


Word = Literal["roll", "spin", "deal"]
"""The name of an attempt in outcomes and in the session's numbers."""
WORDS: tuple[Word, ...] = ("roll", "spin", "deal")


def attempt_of(outcome: Outcome) -> int | None:
    """Return the number of an outcome's throw, spin or deal; None for all others.

    A table has attempts of one kind alone, so the number names one.
    """
    word = outcome.type.partition(".")[0]
    number = getattr(outcome.data, word, None) if word in WORDS else None
    return number if isinstance(number, int) else None


class DiceOut(NamedTuple):
    """What is known of a throw that is not called yet, and of the wagers lodged meanwhile (C34-MK-1b)."""

    confirmed: tuple[str, ...]
    """The ids of wagers that a dealer and a boxperson confirmed."""
    moving_us: int | None
    """A moment at which both dice were provably in motion; None if there is none, or none is asked for."""


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """A throw, spin or deal that waits for a person: what is open, and what may be said now.

    `reasons` are what is missing or contradictory, or why a No Roll or No Spin is proposed, `seen` what was
    seen so far, `proposes` what is called once a person accepts it; neither ever names a covered card.
    """

    attempt: Word
    number: int
    state: Literal["review", "proposed"]
    reasons: tuple[Reason, ...] = ()
    seen: str = ""
    proposes: str = ""
    may: tuple[str, ...] = ()
    """The rulings that are accepted now."""
    lacks: tuple[str, ...] = ()
    """The positions of a deal with a card that was not read or not counted, for staff to enter."""
    entered: tuple[tuple[str, str], ...] = ()
    """The cards of a deal that a person entered, each with its position: another can take its place. None is
    named before all have acted."""

    @property
    def headline(self) -> str:
        """Describe it in a line: `Roll 24 is under review (wall_unclear): say set_dice or no_roll`."""
        codes = ", ".join(dict.fromkeys(reason.code for reason in self.reasons))
        because = f" ({codes})" if codes else ""
        stands = f"proposed: {self.proposes}" if self.state == "proposed" else "under review"
        return f"{self.attempt.capitalize()} {self.number} is {stands}{because}: say {' or '.join(self.may)}"
