"""Attempts for a person who practises: one at a time, what is seen of each, and what is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, cast

from controller.model.readings import Input
from drivers.sim.dice import THROWN
from drivers.sim.scenes import Scene, Truth
from drivers.sim.table import Act, Play, moved

DICE: Mapping[str, float] = {
    THROWN: 6.0,
    "unsure_face": 3.0,
    "no_face": 2.0,
    "camera_down_ruled": 2.0,
    "die_lost_ruled": 1.0,
    "box_no_roll_late": 2.0,
    "box_sets_other_dice": 2.0,
    **dict.fromkeys(("off_table", "stacked", "one_short", "cocked_two_sides", "cocked_one_side"), 1.0),
}
"""Throws of which a third want a person's word."""
WHEEL: Mapping[str, float] = {
    "valid": 3.0,
    "wheel_down": 2.0,
    "dealer_no_spin": 2.0,
    "dealer_sets_number": 1.0,
    **dict.fromkeys(("short_spin", "same_direction", "foreign_object", "ball_out"), 1.0),
}
"""Spins of which half want a person's word."""
SMART_WHEEL: Mapping[str, float] = {
    "valid": 3.0,
    "dealer_no_spin": 2.0,
    "dealer_sets_number": 2.0,
    **dict.fromkeys(("launched_again", "with_rotor", "rotor_turned"), 1.0),
}
"""Games of a wheel that reads itself, of which four in ten want a person's word."""
ROLLS: Mapping[str, float] = {
    "valid": 6.0,
    "unsure_face": 2.0,
    "no_face": 1.0,
    "camera_down_ruled": 1.0,
    "box_no_roll_late": 2.0,
    "box_sets_other_dice": 2.0,
    **dict.fromkeys(("off_table", "one_short"), 1.0),
}
"""Rolls of High Roller of which half want a person's word."""
DEALS: Mapping[str, float] = {
    "plain": 4.0,
    "unread_card": 2.0,
    "card_put_right": 2.0,
    "misdeal_late": 1.0,
    "misdeal_while_dealing": 1.0,
    **dict.fromkeys(("card_too_many", "card_twice", "shoe_opened"), 1.0),
}
"""Deals of Three Card Poker of which half want a person's word."""
_STILL_SAID: Mapping[str, frozenset[str]] = {
    "three_card": frozenset({"seats", "no_more_bets", "play", "fold"}),
    "high_roller": frozenset({"close_table", "open_table", "draw_button", "buy", "set_card", "start_roll"}),
}
"""What virtual people enter all the same, by game: players' words, and what leads up to the attempt."""

_AT_THE_TABLE: Mapping[str, str] = {
    "no_wall_hit": "not both dice hit the wall",
    "off_table": "a die left the table",
    "stacked": "one die lies on the other",
    "on_bank": "a die lies on the bank",
    "in_cup": "a die lies in the dice cup",
    "on_rail": "a die lies on the rail",
    "cocked": "a die leans on more than one side",
    "not_simultaneous": "the dice left the hand one after the other",
    "one_die_thrown": "one die alone was thrown",
    "same_direction": "the ball ran the rotor's way",
    "too_few_revolutions": "the ball made less than four turns",
    "foreign_object": "something that is not the ball fell into the wheel",
    "ball_out": "the ball jumped out of the wheel",
    "rotor_reversed": "the rotor was turned the other way",
    "called": "somebody's hand was in the way",
    "wrong_count": "a position has a card too many",
    "card_twice": "the same card lies there twice",
    "shoe_opened": "the shoe was opened while the cards were out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """What the staff of a game does and says, where a person practises at it."""

    does: str
    """What Enter does."""
    rulings: str
    begins: str
    """What is told as soon as the person asked for it: some attempts take half a minute."""
    begins_game: str = ""
    """What is told instead where a game begins with more than its first attempt."""
    void: str
    """What a person enters if an attempt does not count."""
    role: str
    """Who rules."""
    stickperson: bool = False
    """Whether somebody else handles the dice."""
    dice: bool = False
    """Whether dice must be collected before the next attempt."""
    cards: bool = False
    """Whether a deal is ruled on, and settled, before the next attempt."""


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
        begins="The players bet; then the cards come.",
        void="misdeal",
        role="dealer",
        cards=True,
    ),
    "high_roller": Staff(
        does="lets the next player roll",
        rulings="no_roll, set_dice 3 4",
        begins="The player has the dice.",
        begins_game="The players draw for the button and buy their cards, half a minute; then one rolls.",
        void="no_roll",
        role="dealer",
        dice=True,
    ),
}
"""By game. At High Roller the dealer handles the dice as well."""
Hands = Mapping[str, tuple[str, ...]]
"""The cards of each position, in order of rank and suit; `dealer` is one."""
Result = tuple[int, int] | str | Hands
"""Dice, a number, or the hands of a deal."""


class Asked(NamedTuple):
    """What a player at High Roller asks for, how it is entered, and by which rule."""

    says: str
    name: str
    seat: str
    rule: str


DECLINES = 0.35
LEAVES = 0.08
"""How often a player who may asks for it, where the next roll is due."""
_STAY = 3
"""The fewest players that stay in the game."""


_Card = tuple[str, str, int]
"""A card as the controller tells it: its id, its player, the total that it matches."""


def asked_by_a_player(game: Mapping[str, object], rng: Random) -> Asked | None:
    """Return what a player asks for where a game of High Roller is so far; None for nothing.

    `game` is the controller's own word: `stage`, `seats`, `gone`, and in a roll-off `roll_off`.
    """
    match game:
        case {"stage": "roll_off", "roll_off": {"turns": [[_, player, _], *turns], **more}}:
            done = cast("list[tuple[int, _Card]]", more.get("done", []))
            others = [*cast("list[_Card]", turns), *(card for _, card in done)]
            if player in [owner for _, owner, _ in others] and rng.random() < DECLINES:
                return Asked(f"seat {player} leaves out this roll", "decline", str(player), "!H-17")
        case _:
            pass
    match game:
        case {"stage": "elimination" | "roll_off", "seats": list() as seats}:
            gone = cast("list[str]", game.get("gone", []))
            here = [str(seat) for seat in seats if str(seat) not in gone]
            if len(here) > _STAY and rng.random() < LEAVES:
                seat = rng.choice(here)
                return Asked(f"seat {seat} leaves the table", "leave", seat, "!H-19")
        case _:
            pass
    return None


class Right(NamedTuple):
    """What must stand in the end: a result, or (None) that it does not count."""

    result: Result | None
    spoken: bool
    """Whether no sensor can know it: a person has to say it."""


def first_alone(play: Play) -> Play:
    """Play attempts one at a time, each the first of an evening without trouble."""
    return lambda seed, _count, _after_trouble: play(seed, 1, False)


def second_alone(play: Play) -> Play:
    """Play attempts one at a time; an evening at a wheel begins with an honest spin, which is left out."""

    def one(seed: int, _count: int, after_trouble: bool) -> Act:
        both = play(seed, 2, after_trouble)
        begins_us, scene = both.scenes[0].end_us, both.scenes[1]
        feed = [(at, reading) for at, reading in both.feed if reading.t > begins_us]
        changes = [change for change in both.changes if change.at_us > begins_us]
        return replace(both, feed=feed, scenes=[scene], changes=changes)

    return one


LEAD_US = 1_000_000
"""Time from the person's word to the first sensor reading."""
AFTER_US = 1_000_000
"""Pause after the last reading before the next word is expected."""
ROTOR_US = 4_000_000
"""Lead before the ball's launch in which the rotor is watched: it passes its mark meanwhile."""


def at_once(play: Play, game: str) -> Play:
    """Play attempts that begin with the person's word: without the pauses before and after them."""

    def one(seed: int, count: int, after_trouble: bool) -> Act:
        act = play(seed, count, after_trouble)
        begins_us = max(act.scenes[0].start_us - ROTOR_US, 0)
        feed = [(at, reading) for at, reading in act.feed if reading.t > begins_us]
        heard = (at for at, reading in feed if not is_word(game, reading))
        first_us = min((*heard, *(change.at_us for change in act.changes)))
        brisk = moved(replace(act, feed=feed), LEAD_US - first_us)
        return replace(brisk, end_us=lies_at_us(game, brisk) + AFTER_US)

    return one


def is_word(game: str, reading: object) -> bool:
    """Return whether it is what a virtual person would say, and a person says who practises."""
    return isinstance(reading, Input) and reading.name not in _STILL_SAID.get(game, ())


def lies_at_us(game: str, act: Act) -> int:
    """Return when all is seen: the last reading of dice, ball or cards, or a smart wheel's last state."""
    read = (at for at, reading in act.feed if not is_word(game, reading))
    return max((*read, *(change.at_us for change in act.changes)))


def card_to_set(act: Act) -> Input | None:
    """Return how the virtual dealer would have put a card right; None if none is wrong."""
    entered = (reading for _, reading in act.feed if isinstance(reading, Input))
    return next(
        (reading for reading in entered if reading.name == "set_card" and reading.by == "dealer"), None
    )


def in_order(hands: Mapping[str, Sequence[str]]) -> Hands:
    """Return hands that can be compared: nobody minds in which order a hand's cards lie."""
    return {position: tuple(sorted(cards)) for position, cards in hands.items()}


def right_word(scene: Scene) -> Right | None:
    """Return what must stand of a scene; None if any word is as right."""
    truth = scene.truth
    match truth.ruled:
        case "called" | "corrected":
            result = truth.ruled_dice or truth.ruled_number
            return Right(result, spoken=True)
        case "void":
            return Right(None, spoken=True)
        case _ if truth.told:
            return _right_of_deal(truth)
        case _ if truth.verdict == "valid":
            return Right(truth.dice or truth.number, spoken=False)
        case _ if truth.verdict == "void":
            return Right(None, spoken="called" in truth.reasons)
        case _:
            return None


def _right_of_deal(truth: Truth) -> Right:
    """A card is set, or a deal called off, by a person alone."""
    ruled = any(outcome["type"] in ("deal.review", "deal.corrected") for outcome in truth.told)
    return Right(in_order(truth.hands) or None, spoken=ruled or "called" in _codes(truth))


def _codes(truth: Truth) -> Sequence[str]:
    """Return the reasons why an attempt does not count; none of a deal that does."""
    if not truth.told:
        return truth.reasons or ("called",)
    data = cast("Mapping[str, Sequence[Mapping[str, str]]]", truth.told[-1]["data"])
    return [reason["code"] for reason in data.get("reasons", ())]


def seen_at_the_table(scene: Scene, card: Input | None = None) -> Sequence[str]:
    """Return what a person at the table sees of a scene: what lies there, and what was wrong.

    `card` is what should be set of a deal.
    """
    right = right_word(scene)
    if right is None:
        return ("you did not see it either: call it No Roll or No Spin",)
    if right.result is None:
        if scene.truth.told and right.spoken:
            return ("a card was exposed",)
        return tuple(_AT_THE_TABLE.get(code, code.replace("_", " ")) for code in _codes(scene.truth))
    if isinstance(right.result, str):
        return (f"the ball lies in {right.result}",)
    if isinstance(right.result, Mapping):
        return _seen_of_hands(right.result, card)
    one, two = right.result
    return (f"the dice show {one} {two}",)


def _seen_of_hands(hands: Hands, card: Input | None) -> Sequence[str]:
    if card is None:
        return (f"the dealer shows {' '.join(hands['dealer'])}, and every hand is as the shoe read it",)
    whose = "the dealer" if card.seat == "dealer" else f"seat {card.seat}"
    read = "could not read" if card.what is None else f"read as {card.what}"
    return (f"{whose} has {card.card}, which the shoe {read}",)
