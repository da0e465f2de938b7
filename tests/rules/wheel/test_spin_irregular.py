"""Irregularities of the ball, the rotor and the wheel, rule by rule (R-IRR-3, !R-8)."""

import pytest

from controller.model.readings import (
    BallBeam,
    BallOut,
    PocketBall,
    RotorIndex,
)
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned
from tests.rules.wheel.judging import PLAIN, codes, judged, object_at, played, pocket_read
from tests.rules.wheel.simulator import Scene, in_order, spin

# R-IRR-3: foreign objects


@pytest.mark.parametrize("where", ["track", "rotor"])
def test_R_IRR_3_a_foreign_object_before_the_ball_rests_is_no_spin(where: str) -> None:
    verdict = judged(PLAIN, PLAIN.and_also(object_at(PLAIN.left_us - 3_000_000, where)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["foreign_object"])
    assert verdict.reasons[0].rule == "R-IRR-3"


def test_R_IRR_3_a_foreign_object_is_published_at_once() -> None:
    entered = PLAIN.left_us - 3_000_000
    table = played(PLAIN, PLAIN.and_also(object_at(entered, "track")))
    assert (codes(table.verdict), table.decided_us) == (["foreign_object"], entered)


def test_R_IRR_3_a_foreign_object_after_the_ball_rests_changes_nothing() -> None:
    rested = PLAIN.of(PocketBall)[2].t
    verdict = judged(PLAIN, PLAIN.and_also(object_at(rested + 100_000, "rotor")))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
    assert [notice.code for notice in verdict.notices] == ["foreign_object"]


def test_R_IRR_3_an_object_on_the_felt_is_not_in_the_wheel() -> None:
    verdict = judged(PLAIN, PLAIN.and_also(object_at(PLAIN.left_us - 3_000_000, "felt")))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
    assert [notice.code for notice in verdict.notices] == ["foreign_object"]


# !the ball out of the wheel, the rotor reversed or stopped, a second ball


def test_gap_R_8_a_ball_seen_outside_the_wheel_is_no_spin() -> None:
    out = BallOut(t=PLAIN.left_us + 700_000, dev="wheel")
    verdict = judged(PLAIN, in_order([*PLAIN.without(PocketBall), out]))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["ball_out"])
    table = played(PLAIN, in_order([*PLAIN.without(PocketBall), out]))
    assert (codes(table.verdict), table.decided_us) == (["ball_out"], out.t)


def test_gap_R_8_a_ball_seen_outside_after_it_rested_is_a_conflict() -> None:
    out = BallOut(t=PLAIN.end_us - 1, dev="wheel")
    verdict = judged(PLAIN, PLAIN.and_also(out))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])


def test_gap_R_8_five_turns_without_a_read_are_a_ball_out_if_the_reader_works() -> None:
    table = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0)))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["ball_out"])
    assert table.learned.pocket_reader_works == 0.0


def test_gap_R_8_a_reader_not_known_to_work_is_a_missing_reading() -> None:
    table = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0)), learned=Learned())
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_gap_R_8_two_silent_spins_in_a_row_are_a_silent_reader() -> None:
    first = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0)))
    second = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0, seed=2)), learned=first.learned)
    assert (codes(first.verdict), codes(second.verdict)) == (["ball_out"], ["missing_reading"])


def test_gap_R_8_before_five_turns_are_over_the_ball_is_not_out() -> None:
    made = spin(Scene(turns_read=0, bounces=0, settle_s=20.0))
    turn_us = round(1e6 / made.scene.rotor_speed)
    verdict = judged(made, until_us=made.left_us + 4 * turn_us)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def _turned_over(after_us: int) -> list[RotorIndex]:
    return [
        RotorIndex(
            t=r.t + (700_000 if r.t > after_us else 0),
            dev="wheel",
            direction="ccw" if r.t > after_us else "cw",
        )
        for r in PLAIN.of(RotorIndex)
        if isinstance(r, RotorIndex)
    ]


def test_gap_R_8_a_rotor_reversed_within_the_spin_is_no_spin() -> None:
    verdict = judged(PLAIN, in_order([*PLAIN.without(RotorIndex), *_turned_over(PLAIN.left_us - 5_000_000)]))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["rotor_reversed"])
    assert verdict.reasons[0].rule == "!R-8"


def test_gap_R_8_passes_that_change_direction_without_a_delay_are_a_reversal_too() -> None:
    middle = PLAIN.left_us - 5_000_000
    marks = [
        RotorIndex(t=r.t, dev="wheel", direction="ccw" if r.t > middle else "cw")
        for r in PLAIN.of(RotorIndex)
    ]
    table = played(PLAIN, in_order([*PLAIN.without(RotorIndex), *marks]))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["rotor_reversed"])
    assert table.decided_us < PLAIN.left_us


def test_gap_R_8_one_contrary_index_pass_among_others_is_not_a_reversal() -> None:
    odd = [r for r in PLAIN.of(RotorIndex) if r.t > PLAIN.launched_us][2]
    readings = [RotorIndex(t=r.t, dev="wheel", direction="ccw") if r is odd else r for r in PLAIN.readings]
    verdict = judged(PLAIN, readings)
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


def test_gap_R_8_a_contrary_last_index_pass_is_a_conflict() -> None:
    last = PLAIN.of(RotorIndex)[-1]
    readings = [RotorIndex(t=r.t, dev="wheel", direction="ccw") if r is last else r for r in PLAIN.readings]
    verdict = judged(PLAIN, readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])


def test_gap_R_8_a_rotor_reversed_just_before_the_launch_is_normal_play() -> None:
    began = PLAIN.of(BallBeam)[0].t
    stale = [
        RotorIndex(t=began - back, dev="wheel", direction="ccw")
        for back in (16_000_000, 13_000_000, 10_000_000)
    ]
    marks = [r for r in PLAIN.of(RotorIndex) if r.t > began - 3_000_000]
    verdict = judged(PLAIN, in_order([*PLAIN.without(RotorIndex), *stale, *marks]))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


def test_gap_R_8_a_rotor_that_comes_to_a_stop_is_no_spin() -> None:
    made = spin(Scene(rotor_speed=0.25, rotor_deceleration=0.012, turns_read=0, bounces=0, settle_s=25.0))
    verdict = played(made).verdict
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["rotor_reversed"])
    assert "stop" in verdict.reasons[0].seen


def test_gap_R_8_a_pocket_read_turn_after_turn_while_the_ball_runs_is_a_second_ball() -> None:
    marks = [r.t for r in PLAIN.of(RotorIndex)]
    first, second = [t for t in marks if t > PLAIN.launched_us + 1_000_000][:2]
    reads = [pocket_read(first + 400_000), pocket_read(second + 400_000)]
    verdict = judged(PLAIN, PLAIN.and_also(*reads))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])
