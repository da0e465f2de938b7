"""R-PLACE-2: each player's chips have a separate colour, which no value chip has."""

from dataclasses import replace

from controller.machines.setup import State
from controller.model.readings import Input
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.rules.wheel.simulator import wheel
from tests.scenes import SECOND_US, input_at

ROULETTE = load_ruleset("roulette")
assert ROULETTE.spin is not None
WITH_VALUE_CHIPS = replace(ROULETTE, spin=replace(ROULETTE.spin, value_chip_colours=("Red", "green")))


def sold(*stacks: tuple[str, str | None], state: State | None = None) -> Played:
    """Sell stacks one after the other at an open table."""
    played = Played("roulette", state, wheel=wheel(), ruleset=WITH_VALUE_CHIPS)
    for second, (seat, colour) in enumerate(stacks, 1):
        entered: Input = input_at(second * SECOND_US, "chips", "dealer", seat=seat, what=colour)
        played.feed(entered)
    return played.finish()


def test_each_player_has_his_own_colour() -> None:
    assert sold(("1", "blue"), ("2", "pink")).refusals() == []
    assert sold(("1", "blue"), ("2", "Blue ")).refusals() == ["colour_taken"]


def test_no_chips_look_like_value_chips() -> None:
    assert sold(("1", "red"), ("1", "GREEN"), ("1", "blue")).refusals() == ["colour_taken", "colour_taken"]


def test_a_returned_colour_is_free_for_the_next_player() -> None:
    assert sold(("1", "blue"), ("1", None), ("2", "blue")).refusals() == []
    assert sold(("1", "blue"), ("1", "pink"), ("2", "blue")).refusals() == []


def test_chips_need_a_seat_and_only_a_player_with_chips_returns_them() -> None:
    assert sold(("", "blue"), ("3", None)).refusals() == ["bad_argument", "bad_argument"]


def test_colours_are_known_after_a_restart() -> None:
    assert sold(("2", "blue"), state=State(chips={"1": "blue"})).refusals() == ["colour_taken"]
