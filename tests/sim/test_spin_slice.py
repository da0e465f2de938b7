"""A part of the spin soak. `make soak` plays many more spins."""

import pytest

from drivers.sim.spins import simulate
from tests.sim.spin_referee import verdicts
from tests.sim.spin_soak import WELL, outcomes_of

KINDS = (
    "clean",
    "single_zero",
    "knee",
    "tilted_knee",
    "damp",
    "beams_2",
    "beams_8_uneven",
    "laps",
    "laps_pushed",
    "dust_doubled",
    "pushed",
    "pushed_in_run",
    "turned_before",
    "reversed_in_run",
    "hop",
    "drop_ghost",
    "silent_end",
    "board_away_during",
    "object_before",
    "ball_out_of_track",
    "relaunched_later",
    "wrong_way_then_right",
    "caught_dropped",
    "laid_by_hand",
)


@pytest.mark.parametrize("kind", KINDS)
def test_spins_of_a_kind_are_published_as_they_were(kind: str) -> None:
    header, feed, truths = simulate(kind, 11, 3)
    found = verdicts(truths, outcomes_of(header, feed))
    assert [(verdict.mark, verdict.published) for verdict in found if verdict.mark not in WELL] == []
