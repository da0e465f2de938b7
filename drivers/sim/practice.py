"""Attempts for a person who practises: one at a time, what is seen of each, and what is right."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from controller.model.readings import Input
from drivers.sim.dice import THROWN
from drivers.sim.scenes import Scene
from drivers.sim.table import Act, Play

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

_AT_THE_TABLE: Mapping[str, str] = {
    "no_wall_hit": "not both dice hit an end wall",
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
}


class Right(NamedTuple):
    """What must stand in the end: a result (dice or a number), or (None) that it does not count."""

    result: tuple[int, int] | str | None
    spoken: bool
    """Whether no sensor can know it: a person has to say it."""


def one_by_one(play: Play) -> Play:
    """Play attempts one at a time; an evening at a wheel begins with an honest spin, which is left out."""

    def one(seed: int, _count: int, after_trouble: bool) -> Act:
        both = play(seed, 2, after_trouble)
        begins_us, scene = both.scenes[0].end_us, both.scenes[1]
        feed = [(at, reading) for at, reading in both.feed if reading.t > begins_us]
        changes = [change for change in both.changes if change.at_us > begins_us]
        return replace(both, feed=feed, scenes=[scene], changes=changes)

    return one


def is_word(reading: object) -> bool:
    """Return whether it is what a virtual person would say."""
    return isinstance(reading, Input)


def lies_at_us(act: Act) -> int:
    """Return when all is seen: the last reading of dice or ball, or a smart wheel's last state."""
    read = (at for at, reading in act.feed if not is_word(reading))
    return max((*read, *(change.at_us for change in act.changes)))


def right_word(scene: Scene) -> Right | None:
    """Return what must stand of a scene; None where any word is as right."""
    truth = scene.truth
    match truth.ruled:
        case "called" | "corrected":
            result = truth.ruled_dice or truth.ruled_number
            return Right(result, spoken=True)
        case "void":
            return Right(None, spoken=True)
        case _ if truth.verdict == "valid":
            return Right(truth.dice or truth.number, spoken=False)
        case _ if truth.verdict == "void":
            return Right(None, spoken="called" in truth.reasons)
        case _:
            return None


def seen_at_the_table(scene: Scene) -> Sequence[str]:
    """Return what a person at the table sees of a scene: what lies there, and what was wrong."""
    right = right_word(scene)
    if right is None:
        return ("you did not see it either: call it No Roll or No Spin",)
    if right.result is None:
        return tuple(
            _AT_THE_TABLE.get(code, code.replace("_", " ")) for code in scene.truth.reasons or ("called",)
        )
    if isinstance(right.result, str):
        return (f"the ball lies in {right.result}",)
    one, two = right.result
    return (f"the dice show {one} {two}",)
