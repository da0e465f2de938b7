"""A part of the throws of `python -m tests.sim.seen_throws`."""

import pytest

from drivers.sim.bodies.flights import Kind
from drivers.sim.rendered_throws import RIGS
from tests.sim.seen_throws import count, throw


def test_a_filmed_throw_is_never_called_wrong() -> None:
    seen = throw(0)
    assert seen is not None
    assert seen.faces == ((6, 6), (6, 6))
    # One die stopped 350 mm before the wall and came into view 250 ms after the other die. The hand is out of
    # view, so the camera can't determine the die's release or its earlier positions.
    assert seen.call == "roll.review"
    assert count([seen]) == {"face right": 2, "review of the release": 1}


def test_dice_that_come_into_view_at_five_metres_a_second_are_not_confused() -> None:
    # The second die comes into view at the place where the first die was one frame earlier.
    seen = throw(125)
    assert seen is not None
    assert seen.faces == ((5, 5), (2, 2))
    assert (seen.call, sorted(seen.dice)) == ("roll.called", [2, 5])


def test_a_die_that_turns_at_the_wall_between_two_frames_is_not_lost() -> None:
    seen = throw(1076)
    assert seen is not None
    assert seen.faces == ((6, 6), (4, 4))
    assert (seen.call, sorted(seen.dice)) == ("roll.called", [4, 6])


def test_a_die_cut_by_the_border_is_not_two_dice() -> None:
    # The other die stops before the wall and comes into view half a second later. The throw is a No Roll.
    seen = throw(1014)
    assert seen is not None
    assert seen.faces == ((3, 3), (1, 1))
    assert seen.call == "roll.no_roll"


def test_two_dice_that_come_into_view_as_one_spot_are_not_a_track_that_jumps() -> None:
    # High under the camera the dice form a spot that is too large for one die. They separate 300 ms later.
    seen = throw(9261, "at_wall", RIGS[1])
    assert seen is not None
    assert seen.faces == ((5, 5), (1, 1))
    assert seen.call == "roll.review"
    assert count([seen]) == {"face right": 2, "review of the release": 1}


def test_a_throw_that_stops_short_of_the_wall_is_void() -> None:
    # One die came to 1 mm from the wall; the other turned back half a metre before it.
    seen = throw(9002, "near_miss")
    assert seen is not None
    assert seen.truth.verdict == "no_roll"
    assert seen.faces == ((6, 6), (5, 5))
    assert seen.call == "roll.no_roll"


@pytest.mark.parametrize(("seed", "kind"), [(7026, "together"), (7063, "apart")])
def test_a_die_whose_spot_varies_with_noise_from_frame_to_frame_is_at_rest(seed: int, kind: Kind) -> None:
    # The ivory die lies still on brown cloth, and the centre of its spot shifts by 3 to 6 pixels.
    seen = throw(seed, kind, RIGS[1])
    assert seen is not None
    # The landing of a die depends on the rounding of the processor's arithmetic.
    faces = sorted(true for true, _ in seen.faces)
    assert all(read == true for true, read in seen.faces)
    assert (seen.call, sorted(seen.dice)) == ("roll.called", faces)
