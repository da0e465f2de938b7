"""Single attempts for a person who practises, with the scene at the table and the correct result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, cast

from controller.model.readings import Input
from drivers.sim.dice import RIGID_BODY
from drivers.sim.scenes import Scene, Truth
from drivers.sim.table import Act, Play, shift_act

DICE: Mapping[str, float] = {
    RIGID_BODY: 6.0,
    "unsure_face": 3.0,
    "no_face": 2.0,
    "camera_down_ruled": 2.0,
    "die_lost_ruled": 1.0,
    "box_no_roll_late": 2.0,
    "box_sets_other_dice": 2.0,
    **dict.fromkeys(("off_table", "stacked", "one_short", "cocked_two_sides", "cocked_one_side"), 1.0),
}
"""Weights of throws; about half require a person's ruling."""
WHEEL: Mapping[str, float] = {
    "valid": 3.0,
    "wheel_down": 2.0,
    "dealer_no_spin": 2.0,
    "dealer_sets_number": 1.0,
    **dict.fromkeys(("short_spin", "same_direction", "foreign_object", "ball_out"), 1.0),
}
"""Weights of spins; four in ten require a person's ruling."""
SMART_WHEEL: Mapping[str, float] = {
    "valid": 3.0,
    "dealer_no_spin": 2.0,
    "dealer_sets_number": 2.0,
    **dict.fromkeys(("launched_again", "with_rotor", "rotor_turned"), 1.0),
}
"""Weights of a smart wheel's games; four in ten require a person's ruling."""
ROLLS: Mapping[str, float] = {
    "valid": 6.0,
    "unsure_face": 2.0,
    "no_face": 1.0,
    "camera_down_ruled": 1.0,
    "box_no_roll_late": 2.0,
    "box_sets_other_dice": 2.0,
    **dict.fromkeys(("off_table", "one_short"), 1.0),
}
"""Weights of rolls at High Roller; half require a person's ruling."""
DEALS: Mapping[str, float] = {
    "plain": 4.0,
    "unread_card": 2.0,
    "card_corrected": 2.0,
    "misdeal_late": 1.0,
    "misdeal_while_dealing": 1.0,
    **dict.fromkeys(("card_too_many", "card_twice", "shoe_opened"), 1.0),
}
"""Weights of deals at Three Card Poker; about half require a person's ruling."""
_VIRTUAL_INPUTS: Mapping[str, frozenset[str]] = {
    "three_card": frozenset({"seats", "no_more_bets", "play", "fold"}),
    "high_roller": frozenset({"close_table", "open_table", "draw_button", "buy", "set_card", "start_roll"}),
}
"""Inputs that virtual people make in practice, by game: players' decisions and the preparation of an
attempt."""

_OBSERVATIONS: Mapping[str, str] = {
    "no_wall_hit": "at least one die missed the wall",
    "off_table": "a die left the table",
    "stacked": "one die lies on the other",
    "on_bank": "a die lies on the bank",
    "in_cup": "a die lies in the dice cup",
    "on_rail": "a die lies on the rail",
    "cocked": "a die leans on more than one side",
    "not_simultaneous": "the dice left the hand one after the other",
    "one_die_thrown": "only one die was thrown",
    "same_direction": "the ball ran in the rotor's direction",
    "too_few_revolutions": "the ball made fewer than four turns",
    "foreign_object": "an object other than the ball fell into the wheel",
    "ball_out": "the ball jumped out of the wheel",
    "rotor_reversed": "the rotor changed direction",
    "called": "somebody's hand was in the way",
    "wrong_count": "a position has a card too many",
    "card_twice": "the same card is on the table twice",
    "shoe_opened": "the shoe was opened while the cards were out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """Duties of a game's staff, and the texts for the person who practises them."""

    does: str
    """Action that follows when the person presses Enter."""
    rulings: str
    begins: str
    """Text shown at the start of an attempt, which can take half a minute."""
    begins_game: str = ""
    """Text shown at the start of a game that begins with preparations."""
    void: str
    """Input for an attempt that does not count."""
    role: str
    stickperson: bool = False
    """Whether a stickperson handles the dice."""
    dice: bool = False
    """Whether dice must be collected before the next attempt."""
    cards: bool = False
    """Whether a deal must be ruled on and settled before the next attempt."""


STAFF: Mapping[str, Staff] = {
    "craps": Staff(
        does="throws the dice",
        rulings="no_roll, set_dice 3 4",
        begins="The shooter has the dice.",
        void="no_roll",
        role="boxperson",
        stickperson=True,
        dice=True,
    ),
    "roulette": Staff(
        does="spins the ball",
        rulings="no_spin, set_number 17",
        begins="The rotor turns; the ball is launched and runs for half a minute.",
        void="no_spin",
        role="dealer",
    ),
    "three_card": Staff(
        does="deals the cards",
        rulings="misdeal, set_card Kh seat=3",
        begins="The players bet, then the cards are dealt.",
        void="misdeal",
        role="dealer",
        cards=True,
    ),
    "high_roller": Staff(
        does="lets the next player roll",
        rulings="no_roll, set_dice 3 4",
        begins="The player has the dice.",
        begins_game="The players draw for the button and buy cards for half a minute. Then one player rolls.",
        void="no_roll",
        role="dealer",
        dice=True,
    ),
}
"""Staff of each game. At High Roller the dealer also handles the dice."""
Hands = Mapping[str, tuple[str, ...]]
"""Sorted cards of each position, `dealer` included."""
Result = tuple[int, int] | str | Hands


class SeatRequest(NamedTuple):
    """A player's request at High Roller, with its input and the rule that allows it."""

    text: str
    name: str
    seat: str
    rule: str


DECLINE_PROBABILITY = 0.35
"""Probability that a player who may decline the next roll declines it."""
LEAVE_PROBABILITY = 0.08
"""Probability that a player leaves before the next roll."""
_MIN_PLAYERS = 3
"""Number of players at or below which nobody leaves."""


_Card = tuple[str, str, int]
"""A card in the controller's report: id, player, and the total that it matches."""


def player_request(game: Mapping[str, object], rng: Random) -> SeatRequest | None:
    """Draw a player's request at the current stage of a High Roller game; None in most cases.

    `game` is the controller's report: `stage`, `seats`, `gone`, and in a roll-off `roll_off`.
    """
    match game:
        case {"stage": "roll_off", "roll_off": {"turns": [[_, player, _], *turns], **more}}:
            done = cast("list[tuple[int, _Card]]", more.get("done", []))
            others = [*cast("list[_Card]", turns), *(card for _, card in done)]
            if player in [owner for _, owner, _ in others] and rng.random() < DECLINE_PROBABILITY:
                return SeatRequest(f"seat {player} declines this roll", "decline", str(player), "!H-17")
        case _:
            pass
    match game:
        case {"stage": "elimination" | "roll_off", "seats": list() as seats}:
            gone = cast("list[str]", game.get("gone", []))
            present = [str(seat) for seat in seats if str(seat) not in gone]
            if len(present) > _MIN_PLAYERS and rng.random() < LEAVE_PROBABILITY:
                seat = rng.choice(present)
                return SeatRequest(f"seat {seat} leaves the table", "leave", seat, "!H-19")
        case _:
            pass
    return None


class CorrectResult(NamedTuple):
    """The correct final result of an attempt; `result` is None if the attempt does not count."""

    result: Result | None
    spoken: bool
    """Whether the result comes from a person's input instead of from the sensors."""


def first_only(play: Play) -> Play:
    """Return a play of single attempts, each the first of its session and without a preceding fault."""
    return lambda seed, _count, _after_fault: play(seed, 1, False)


def second_only(play: Play) -> Play:
    """Return a play of single attempts, each the second of its session.

    The first spin of a wheel's session is always valid.
    """

    def one(seed: int, _count: int, after_fault: bool) -> Act:
        both = play(seed, 2, after_fault)
        begins_us, scene = both.scenes[0].end_us, both.scenes[1]
        feed = [(at, reading) for at, reading in both.feed if reading.t > begins_us]
        changes = [change for change in both.changes if change.at_us > begins_us]
        return replace(both, feed=feed, scenes=[scene], changes=changes)

    return one


LEAD_US = 1_000_000
"""Time from the person's input to the first sensor reading."""
PAUSE_AFTER_US = 1_000_000
"""Pause between the last reading and the next input."""
ROTOR_US = 4_000_000
"""Time for which the rotor's readings precede the launch, enough for the mark to pass the index."""


def without_pauses(play: Play, game: str) -> Play:
    """Return a play without the pauses before and after an attempt; a person's input begins each attempt."""

    def one(seed: int, count: int, after_fault: bool) -> Act:
        act = play(seed, count, after_fault)
        begins_us = max(act.scenes[0].start_us - ROTOR_US, 0)
        feed = [(at, reading) for at, reading in act.feed if reading.t > begins_us]
        sensed_us = (at for at, reading in feed if not is_persons_input(game, reading))
        first_us = min((*sensed_us, *(change.at_us for change in act.changes)))
        shifted = shift_act(replace(act, feed=feed), LEAD_US - first_us)
        return replace(shifted, end_us=last_seen_us(game, shifted) + PAUSE_AFTER_US)

    return one


def is_persons_input(game: str, reading: object) -> bool:
    """Return whether the person who practises makes this input instead of a virtual person."""
    return isinstance(reading, Input) and reading.name not in _VIRTUAL_INPUTS.get(game, ())


def last_seen_us(game: str, act: Act) -> int:
    """Return the time of an act's last sensor reading or last change of a smart wheel."""
    read = (at for at, reading in act.feed if not is_persons_input(game, reading))
    return max((*read, *(change.at_us for change in act.changes)))


def card_to_set(act: Act) -> Input | None:
    """Return the virtual dealer's input that enters or corrects a card; None if the act has none."""
    entered = (reading for _, reading in act.feed if isinstance(reading, Input))
    return next(
        (reading for reading in entered if reading.name == "set_card" and reading.by == "dealer"), None
    )


def in_order(hands: Mapping[str, Sequence[str]]) -> Hands:
    """Return hands with sorted cards for comparison."""
    return {position: tuple(sorted(cards)) for position, cards in hands.items()}


def correct_result(scene: Scene) -> CorrectResult | None:
    """Return the correct result of a scene; None if any ruling is acceptable."""
    truth = scene.truth
    match truth.ruled:
        case "called" | "corrected":
            result = truth.ruled_dice or truth.ruled_number
            return CorrectResult(result, spoken=True)
        case "void":
            return CorrectResult(None, spoken=True)
        case _ if truth.told:
            return _correct_deal(truth)
        case _ if truth.verdict == "valid":
            return CorrectResult(truth.dice or truth.number, spoken=False)
        case _ if truth.verdict == "void":
            return CorrectResult(None, spoken="called" in truth.reasons)
        case _:
            return None


def _correct_deal(truth: Truth) -> CorrectResult:
    """Return a deal's correct result; only a person can set a card or call a misdeal."""
    ruled = any(outcome["type"] in ("deal.review", "deal.corrected") for outcome in truth.told)
    return CorrectResult(in_order(truth.hands) or None, spoken=ruled or "called" in _codes(truth))


def _codes(truth: Truth) -> Sequence[str]:
    """Return the codes of an attempt's reasons; none for a deal that counts."""
    if not truth.told:
        return truth.reasons or ("called",)
    data = cast("Mapping[str, Sequence[Mapping[str, str]]]", truth.told[-1]["data"])
    return [reason["code"] for reason in data.get("reasons", ())]


def observations(scene: Scene, card: Input | None = None) -> Sequence[str]:
    """Return a person's observations at the table: the result, or why the attempt does not count.

    `card` is the input that enters or corrects a card of a deal.
    """
    right = correct_result(scene)
    if right is None:
        return ("you did not see it either: rule No Roll or No Spin",)
    if right.result is None:
        if scene.truth.told and right.spoken:
            return ("a card was exposed",)
        return tuple(_OBSERVATIONS.get(code, code.replace("_", " ")) for code in _codes(scene.truth))
    if isinstance(right.result, str):
        return (f"the ball lies in {right.result}",)
    if isinstance(right.result, Mapping):
        return _seen_of_hands(right.result, card)
    one, two = right.result
    return (f"the dice show {one} {two}",)


def _seen_of_hands(hands: Hands, card: Input | None) -> Sequence[str]:
    if card is None:
        return (f"the dealer shows {' '.join(hands['dealer'])}; the shoe read every hand correctly",)
    owner = "the dealer" if card.seat == "dealer" else f"seat {card.seat}"
    read = "could not read" if card.what is None else f"read as {card.what}"
    return (f"{owner} has {card.card}, which the shoe {read}",)
