"""Readings and inputs in the second before the first beam pulse, and false drops."""

from controller.model.outcomes import SpinCalled
from controller.model.readings import BallBeam, BallDrop, ForeignObject
from tests.games.roulette.test_roulette_rounds import SPIN, no_spins, play
from tests.scenes import SECOND_US, input_at

FIRST_US = SPIN.of(BallBeam)[0].t


def test_R_IRR_3_an_object_between_the_hand_and_the_first_beam_belongs_to_the_spin() -> None:
    seen = ForeignObject(t=FIRST_US - SECOND_US // 2, dev="wheel", where="track")
    assert no_spins(play(SPIN, seen)) == [(["foreign_object"], "sensors")]
    early = ForeignObject(t=FIRST_US - 2 * SECOND_US, dev="wheel", where="track")
    assert [c.number for c in play(SPIN, early).data(SpinCalled)] == [SPIN.number]


def test_a_no_spin_entered_as_the_ball_is_launched_is_for_that_spin() -> None:
    said = input_at(FIRST_US - SECOND_US // 2, "no_spin", "dealer")
    assert no_spins(play(SPIN, said)) == [(["called"], "dealer")]


def test_a_no_spin_without_a_launch_after_it_is_refused() -> None:
    said = input_at(FIRST_US - 3 * SECOND_US, "no_spin", "dealer")
    played = play(SPIN, said)
    assert played.refusals() == ["no_attempt"]
    assert [c.number for c in played.data(SpinCalled)] == [SPIN.number]


def test_a_false_drop_after_which_the_ball_runs_on_does_not_split_the_spin() -> None:
    stray = BallDrop(t=(FIRST_US + SPIN.left_us) // 2, dev="wheel")
    assert [c.number for c in play(SPIN, stray).data(SpinCalled)] == [SPIN.number]
