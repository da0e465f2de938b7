"""Tests of the assignment of spots to dice that come into view at high speed."""

import numpy as np

from drivers.vision.arrivals import Arrivals, Sighting
from drivers.vision.moving import Spot

DIE_PX = 15.0
FRAME_US = 16_667


def spot(x: float, y: float = 100.0, *, at_border: bool = False) -> Spot:
    half = DIE_PX / 2
    mask = np.ones((8, 8), np.uint8)
    return Spot(x, y, x - half, y - half, x + half, y + half, DIE_PX**2, at_border, mask)


def arrived(*frames: list[Spot], frame_us: int = FRAME_US) -> list[list[float]]:
    """Return the positions of each recognized die, in order of arrival."""
    arrivals = Arrivals()
    found: list[tuple[Sighting, ...]] = []
    for at, spots in enumerate(frames):
        found += arrivals.add(at * frame_us, spots, DIE_PX)
    return [[sighting.spot.x for sighting in way] for way in found]


def test_a_die_that_follows_a_faster_one_into_view_is_not_taken_for_it() -> None:
    # The second die comes into view at the first die's position in the previous frame.
    frames = ([spot(40)], [spot(128), spot(20)], [spot(211), spot(110)], [spot(290), spot(199)])
    assert arrived(*frames) == [[40, 128, 211], [20, 110, 199]]


def test_two_dice_side_by_side_keep_their_own_tracks() -> None:
    frames = [[spot(30 + 60 * at, 100), spot(30 + 60 * at, 121)] for at in range(3)]
    arrivals = Arrivals()
    ways = [way for at, spots in enumerate(frames) for way in arrivals.add(at * FRAME_US, spots, DIE_PX)]
    assert sorted({each.spot.y for each in way}.pop() for way in ways) == [100, 121]
    assert all(len({each.spot.y for each in way}) == 1 for way in ways)


def test_a_slow_camera_does_not_wait_until_its_first_point_is_too_late() -> None:
    assert arrived([spot(40)], [spot(60)], frame_us=66_667) == [[40, 60]]


def test_a_hand_at_the_border_begins_no_track_and_a_die_at_the_border_keeps_its_own() -> None:
    hand = [spot(10, at_border=True)]
    assert arrived(hand, hand, hand, hand, hand, hand, hand) == []
    assert arrived([spot(100)], [spot(60)], [spot(20, at_border=True)]) == [[100, 60, 20]]
