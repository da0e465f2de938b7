"""Undetected launches and spins, and a ball launched while the table is not in play."""

import pytest

from controller.machines.setup import State
from controller.model.outcomes import SpinCalled, SpinCorrected, SpinNoSpin, SpinReview, TableEvent
from controller.model.readings import (
    BallBeam,
    BallDrop,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    PocketBall,
    Reading,
    RotorIndex,
)
from tests.engine.play import Played
from tests.games.roulette.test_roulette_rounds import NEXT, SAME_WAY, SPIN, at, no_spins, play, rest_us
from tests.rules.wheel.simulator import Scene, Spin, spin
from tests.scenes import SECOND_US, input_at

LONG = spin(Scene(revolutions=20.0, pocket=9, bounces=0))


def dark(scene: Spin, since_us: int, until_us: int, *, reported: bool = True) -> list[Reading]:
    """Return the readings of a spin during part of which the wheel's board is down."""
    seen = [r for r in scene.readings if not since_us <= r.t < until_us]
    if not reported:
        return seen
    return [*seen, DeviceDown(t=since_us, dev="wheel"), DeviceUp(t=until_us, dev="wheel")]


def turns_left_us(scene: Spin, turns: float) -> int:
    """Return the time, from one beam's pulses, at which about this many revolutions are left."""
    pulses = [r.t for r in scene.of(BallBeam) if isinstance(r, BallBeam) and r.beam == 0]
    return pulses[-round(turns)]


def codes(played: Played) -> list[set[str]]:
    return [{reason.code for reason in review.reasons} for review in played.data(SpinReview)]


# --- an unseen launch ---


def test_R_SPIN_2_the_rest_of_a_run_with_an_unseen_launch_is_reviewed_and_not_void() -> None:
    played = play(dark(SPIN, at(-1), turns_left_us(SPIN, 3) - SECOND_US // 10))
    assert played.types("spin") == ["spin.review"]
    assert codes(played) == [{"missing_reading", "revolutions_unclear"}]
    assert "was down or blind until" in played.data(SpinReview)[0].reasons[0].seen


def test_R_SPIN_2_if_the_rest_of_the_run_alone_is_enough_the_number_is_called() -> None:
    played = play(dark(LONG, at(-1), turns_left_us(LONG, 8)))
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(1, LONG.number)]


def test_R_IRR_2_a_short_spin_long_after_the_wheel_came_back_is_no_spin() -> None:
    short = spin(Scene(revolutions=2.6, bounces=0))
    back: list[Reading] = [DeviceDown(t=at(-9), dev="wheel"), DeviceUp(t=at(-7), dev="wheel")]
    assert no_spins(play(short, back)) == [(["too_few_revolutions"], "sensors")]
    blink: list[Reading] = [
        DeviceDown(t=at(-0.3), dev="wheel"),
        DeviceUp(t=at(-0.2), dev="wheel"),
    ]
    assert no_spins(play(short, blink)) == [(["too_few_revolutions"], "sensors")], (
        "the time must be too short for four revolutions"
    )


def test_one_ball_is_one_spin_however_long_the_wheel_is_away_during_it() -> None:
    played = play(dark(LONG, at(2), at(10)))
    assert played.types("spin") == ["spin.review"]
    assert "missing_reading" in codes(played)[0]


def test_a_void_ball_that_runs_on_unseen_begins_no_spin_when_the_wheel_is_back() -> None:
    void = spin(Scene(ball="cw", rotor="cw", revolutions=20.0, bounces=0))
    assert (
        no_spins(play(void)) == no_spins(play(dark(void, at(4), at(11)))) == [(["same_direction"], "sensors")]
    )


# --- an unseen spin ---

AWAY: list[Reading] = [
    DeviceDown(t=rest_us(SPIN) + 5 * SECOND_US, dev="wheel"),
    DeviceUp(t=rest_us(SPIN) + 35 * SECOND_US, dev="wheel"),
]
RULED_US = rest_us(SPIN) + 40 * SECOND_US


@pytest.mark.parametrize("ruling", ["set_number", "no_spin", "void"])
def test_a_ruling_after_the_wheel_was_away_does_not_change_the_spin_before(ruling: str) -> None:
    played = play(SPIN, AWAY, input_at(RULED_US, ruling, "dealer", number="8"))
    assert played.types("spin") == ["spin.called"]
    (refused,) = [o.data for o in played.outcomes if o.type == "input.refused"]
    assert isinstance(refused, TableEvent)
    assert refused.cause == "which_spin"
    assert refused.says is not None
    assert "after spin 1 was decided, wheel was down for 30.0 s" in refused.says
    assert "what=1" in refused.says


def test_a_ruling_while_the_wheel_is_away_does_not_change_the_spin_before() -> None:
    played = play(SPIN, AWAY[0], input_at(RULED_US, "set_number", "dealer", number="8"))
    assert (played.types("spin"), played.refusals()) == (["spin.called"], ["which_spin"])


def test_a_ruling_that_names_its_spin_is_accepted() -> None:
    played = play(SPIN, AWAY, input_at(RULED_US, "set_number", "dealer", number="8", what="1"))
    assert [(c.spin, c.number) for c in played.data(SpinCorrected)] == [(1, "8")]


def test_a_ruling_that_names_another_spin_than_the_last_is_refused() -> None:
    played = play(SPIN, input_at(RULED_US, "set_number", "dealer", number="8", what="2"))
    assert (played.types("spin"), played.refusals()) == (["spin.called"], ["other_attempt"])


def test_a_wheel_away_too_briefly_for_a_spin_leaves_the_last_spin_open_to_rulings() -> None:
    blink: list[Reading] = [
        DeviceDown(t=rest_us(SPIN) + 5 * SECOND_US, dev="wheel"),
        DeviceUp(t=rest_us(SPIN) + 6 * SECOND_US, dev="wheel"),
    ]
    played = play(SPIN, blink, input_at(RULED_US, "set_number", "dealer", number="8"))
    assert [(c.spin, c.number) for c in played.data(SpinCorrected)] == [(1, "8")]


def test_a_review_accepts_its_ruling_while_the_wheel_is_still_away() -> None:
    lost = [r for r in SPIN.readings if r.t < at(3)]
    ruled = input_at(at(60), "set_number", "dealer", number="8")
    corrected = input_at(at(61), "set_number", "dealer", number="9")
    played = play(lost, DeviceDown(t=at(3), dev="wheel"), ruled, corrected)
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(1, "8")]
    assert [c.number for c in played.data(SpinCorrected)] == ["9"]


def test_a_ruling_after_the_dealer_closed_the_next_bets_does_not_change_the_spin_before() -> None:
    closed = input_at(RULED_US, "no_more_bets", "dealer")
    played = play(SPIN, closed, input_at(RULED_US + 9 * SECOND_US, "set_number", "dealer", number="8"))
    assert (played.types("spin"), played.refusals()) == (["spin.called"], ["which_spin"])


def test_a_number_entered_as_the_next_ball_is_launched_does_not_change_the_spin_before() -> None:
    pulse = NEXT.of(BallBeam)[0]
    played = play(
        SPIN, [r for r in NEXT.readings if r.t <= pulse.t], input_at(pulse.t + 1, "set_number", number="8")
    )
    assert (played.types("spin"), played.refusals()) == (["spin.called"], ["which_spin"])


def test_an_old_pulse_of_a_hand_neither_hides_nor_begins_a_spin() -> None:
    hand = BallBeam(t=rest_us(SPIN) + 9 * SECOND_US, dev="wheel", beam=1)
    played = play(SPIN, hand, input_at(RULED_US, "no_spin", "dealer"))
    assert [c.ruling for c in played.data(SpinCorrected)] == ["no_spin"]
    assert played.data(SpinNoSpin) == []


# --- a ball launched while the table is not in play ---


@pytest.mark.parametrize(
    ("stop", "go_on"), [("lock", "unlock"), ("close_table", "open_table"), ("test_mode", "test_mode")]
)
def test_a_ball_launched_while_the_table_is_not_in_play_never_counts(stop: str, go_on: str) -> None:
    before, after = input_at(1, stop, on=True), input_at(at(4), go_on, on=False)
    played = play(before, SPIN, after, NEXT)
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(1, NEXT.number)]
    assert played.types("spin") == ["spin.called"]


def test_the_last_turns_of_such_a_ball_are_not_a_spin() -> None:
    played = play(SAME_WAY, state=State(lock="locked"))
    unlocked = input_at(SAME_WAY.left_us - 3 * SECOND_US, "unlock")
    assert played.types("spin") == play(SAME_WAY, unlocked, state=State(lock="locked")).types("spin") == []


def test_a_hand_in_a_beam_before_the_unlock_does_not_hide_a_launch_after_it() -> None:
    hand = BallBeam(t=at(-2), dev="wheel", beam=1)
    played = play(hand, input_at(at(-1), "unlock"), SPIN, state=State(lock="locked"))
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(1, SPIN.number)]


def test_a_ruling_after_such_a_ball_does_not_change_the_spin_before() -> None:
    locked, unlocked = input_at(80 * SECOND_US, "lock"), input_at(NEXT.left_us, "unlock")
    ruled = input_at(NEXT.end_us, "set_number", "dealer", number="8")
    played = play(SPIN, locked, NEXT, unlocked, ruled)
    assert (played.types("spin"), played.refusals()[-1]) == (["spin.called"], "which_spin")


# --- edges that are known to be missing ---


def test_R_SPIN_4_no_number_is_read_in_a_turn_with_lost_index_edges() -> None:
    reads = SPIN.of(PocketBall)
    marks = [r for r in SPIN.of(RotorIndex) if reads[0].t < r.t < reads[1].t]
    lost = DeviceFault(t=reads[0].t + 1000, dev="wheel", code="lost_edges")
    seen = [r for r in SPIN.readings if r not in marks]
    plain, with_doubt = play(SPIN), play(seen, lost)
    assert [c.number for c in with_doubt.data(SpinCalled)] == [SPIN.number]
    assert called_us(plain) < called_us(with_doubt), "the readings must come from certain revolutions"


def test_R_SPIN_4_a_loss_between_two_passes_one_turn_apart_only_delays_the_call() -> None:
    lost = DeviceFault(t=SPIN.of(PocketBall)[0].t + 1000, dev="wheel", code="lost_edges")
    played = play(SPIN, lost)
    assert [c.number for c in played.data(SpinCalled)] == [SPIN.number]
    assert called_us(played) == called_us(play(SPIN))


def test_R_SPIN_4_a_loss_reported_during_the_hold_moves_no_read_placed_by_passes_on_both_sides() -> None:
    lost = DeviceFault(t=rest_us(SPIN) + 1000, dev="wheel", code="lost_edges")
    assert [c.number for c in play(SPIN, lost).data(SpinCalled)] == [SPIN.number]


def called_us(played: Played) -> int:
    return next(o.t for o in played.outcomes if o.type == "spin.called")


# --- a ball that never ran ---


@pytest.mark.parametrize("drop_told", [True, False])
@pytest.mark.parametrize("hand", [(0,), (0, 2), (1, 1)])
def test_R_SPIN_2_a_ball_placed_in_a_pocket_by_hand_is_never_called(
    hand: tuple[int, ...], drop_told: bool
) -> None:
    kept = SPIN.of(RotorIndex, PocketBall)
    laid_us = SPIN.left_us
    pulses: list[Reading] = [
        BallBeam(t=laid_us - (2 - i) * 600_000, dev="wheel", beam=beam) for i, beam in enumerate(hand)
    ]
    drop: list[Reading] = [BallDrop(t=laid_us, dev="wheel")] if drop_told else []
    played = play(kept, pulses, drop)
    assert played.data(SpinCalled) == []


@pytest.mark.parametrize("turns", [1.2, 2.5, 3.5])
def test_R_SPIN_2_a_ball_caught_before_its_fourth_turn_and_dropped_by_hand_is_never_called(
    turns: float,
) -> None:
    passes = round(turns * 3)
    caught_us = SPIN.of(BallBeam)[passes].t
    seen = [r for r in SPIN.without(BallDrop) if not isinstance(r, BallBeam) or r.t < caught_us]
    for held_s in (2.0, 3.5, 5.5):
        dropped: list[Reading] = [BallDrop(t=caught_us + round(held_s * SECOND_US), dev="wheel")]
        assert play(seen, dropped).data(SpinCalled) == []
