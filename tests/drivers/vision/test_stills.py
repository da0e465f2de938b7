"""Which face in a part of a still is the die's that lies there."""

import numpy as np
import pytest

from drivers.sim.filming import IVORY, Light, standing
from drivers.vision.stills import NEAR_SHARE, SHARED_SHARE, face_in
from tests.drivers.vision.scenes import ASLANT, ASLANT_EDGE_PX, ASLANT_ZOOM, seen_aslant


@pytest.mark.parametrize(("first", "turn_deg", "off_mm"), [(2, 42.0, 4.0), (3, 44.0, 0.0), (3, 40.0, 4.0)])
def test_a_1_is_read_beside_a_die_whose_pip_makes_a_2_with_it(
    first: int, turn_deg: float, off_mm: float
) -> None:
    """The part leaves out the other die's far pips."""
    turn = np.radians(turn_deg)
    away = 19.2 * np.array([np.cos(turn), np.sin(turn)]) + off_mm * np.array([-np.sin(turn), np.cos(turn)])
    one = standing(1, turn_deg, (3100.0 + away[0], 500.0 + away[1]), look=IVORY)
    part = seen_aslant(one, Light(), standing(first, turn_deg, (3100.0, 500.0), look=IVORY))
    place = ASLANT.seen(one.centre_mm[None])[0]
    low = np.round(place * ASLANT_ZOOM) - 76
    found = {
        share: face_in(part, low, ASLANT_ZOOM, place, ASLANT_EDGE_PX / ASLANT_ZOOM, near_share=share)[0]
        for share in (NEAR_SHARE, SHARED_SHARE)
    }
    assert [seen is not None and seen.up for seen in found.values()] == [1, 1]


@pytest.mark.parametrize("up", [1, 2, 5])
def test_a_face_seen_26_degrees_off_the_vertical_is_its_dies_own_in_a_shared_spot_too(up: int) -> None:
    die = standing(up, 30.0, (2740.0, 550.0))
    part = seen_aslant(die, Light())
    place = ASLANT.seen(die.centre_mm[None])[0]
    low = np.round(place * ASLANT_ZOOM) - 76
    seen, _ = face_in(part, low, ASLANT_ZOOM, place, ASLANT_EDGE_PX / ASLANT_ZOOM, near_share=SHARED_SHARE)
    assert seen is not None
    assert seen.up == up
