"""R-SPIN-2, R-SPIN-4: nothing is certain if a device could not detect it or may have missed it."""

import re

import msgspec
import pytest

from controller.model.readings import (
    BallBeam,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    PocketBall,
    Reading,
    RotorIndex,
)
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned, Sources
from tests.rules.wheel.judging import KNOWN, codes, judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin

SHORT = spin(Scene(revolutions=2.6, bounces=0))
GONE = spin(Scene(turns_read=0, bounces=0, settle_s=20.0))
SPLIT: Sources = {"wheel": ("ball_beam", "ball_drop"), "rotor": ("rotor_index",), "pockets": ("pocket_ball",)}


def lost(t: int, dev: str = "wheel", code: str = "lost_edges") -> DeviceFault:
    return DeviceFault(t=t, dev=dev, code=code)


def away(since_us: int, back_us: int, dev: str = "wheel") -> list[Reading]:
    return [DeviceDown(t=since_us, dev=dev), DeviceUp(t=back_us, dev=dev)]


def test_R_SPIN_2_a_board_away_until_the_first_pulse_may_have_hidden_turns() -> None:
    first_us = SHORT.launched_us
    verdict = judged(SHORT, SHORT.and_also(*away(first_us - 9_000_000, first_us - 500_000)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading", "revolutions_unclear"])
    assert verdict.revolutions_to is not None
    assert verdict.revolutions_to > 9.0


def test_R_SPIN_2_a_board_that_sends_no_beams_hides_no_launch() -> None:
    first_us = SHORT.launched_us
    others = away(first_us - 9_000_000, first_us - 500_000, "pockets")
    verdict = judged(SHORT, SHORT.and_also(*others), sources=SPLIT)
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])


def test_R_SPIN_2_the_first_of_several_reports_of_an_absence_gives_its_beginning() -> None:
    first_us = SHORT.launched_us
    again = DeviceDown(t=first_us - 600_000, dev="wheel", code="no_hello")
    verdict = judged(SHORT, SHORT.and_also(*away(first_us - 9_000_000, first_us - 500_000), again))
    assert verdict.ruling is Ruling.REVIEW


def blind(made: Spin, since_us: int, back_us: int) -> list[Reading]:
    """Return the remaining readings if the board is up but its sensors detect nothing for some time."""
    return [reading for reading in made.readings if not since_us <= reading.t < back_us]


@pytest.mark.parametrize("before_the_drop_s", [1.5, 2.5, 3.5, 4.5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_R_SPIN_2_sensors_that_saw_nothing_for_turns_until_the_first_pulse_may_have_missed_turns(
    before_the_drop_s: float, seed: int
) -> None:
    made = spin(Scene(revolutions=15.0, seed=seed))
    back_us = made.left_us - round(before_the_drop_s * 1e6)
    first_us = next(pulse.t for pulse in made.of(BallBeam) if pulse.t >= back_us)
    verdict = judged(made, blind(made, made.launched_us - 4_000_000, first_us))
    assert verdict.ruling is Ruling.REVIEW
    assert "revolutions_unclear" in codes(verdict)


@pytest.mark.parametrize("before_us", [3_000, 200_000])
@pytest.mark.parametrize("seed", range(6))
def test_R_SPIN_2_a_mark_seen_just_before_the_first_pulse_proves_no_launch_after_it(
    before_us: int, seed: int
) -> None:
    made = spin(Scene(revolutions=9.0, seed=seed))
    first_us = next(pulse.t for pulse in made.of(BallBeam) if pulse.t >= made.left_us - 3_500_000)
    turn_us = 2_500_000
    marks = [
        RotorIndex(t=first_us - before_us - turn * turn_us, dev="wheel", direction="cw")
        for turn in range(-8, 9)
    ]
    back_us = first_us - before_us
    seen = in_order([*made.without(RotorIndex), *marks])
    seen = [r for r in seen if not back_us - 3 * turn_us + 100_000 < r.t < back_us]
    verdict = judged(made, seen)
    assert verdict.ruling is Ruling.REVIEW
    assert {"missing_reading", "revolutions_unclear"} <= {*codes(verdict)}


@pytest.mark.parametrize("marks_after", [0, 1])
def test_R_SPIN_2_an_overdue_mark_is_known_before_the_next_turn_is_over(marks_after: int) -> None:
    launched_us = SHORT.launched_us
    last = [mark for mark in SHORT.of(RotorIndex) if mark.t < launched_us][-1]
    seen = [reading for reading in SHORT.readings if reading is not last]
    after_us = [reading.t for reading in seen if isinstance(reading, RotorIndex) and reading.t > launched_us]
    until_us = after_us[marks_after] - 1
    assert judged(SHORT, seen, until_us=until_us).ruling is not Ruling.VOID


def test_R_SPIN_2_one_missed_index_pass_before_a_launch_may_have_hidden_its_turns() -> None:
    last = [mark for mark in SHORT.of(RotorIndex) if mark.t < SHORT.launched_us][-1]
    verdict = judged(SHORT, [reading for reading in SHORT.readings if reading is not last])
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading", "revolutions_unclear"])


@pytest.mark.parametrize("missed", [1, 2, 3])
def test_R_SPIN_2_a_mark_not_due_before_the_first_pulse_hid_no_launch(missed: int) -> None:
    """The mark's passes are missed while the ball is detected, so only the index sensor is faulty."""
    marks = [
        RotorIndex(t=SHORT.launched_us + 900_000 + turn * 2_500_000, dev="wheel", direction="cw")
        for turn in (*range(-6, 0), *range(missed, 9))
    ]
    verdict = judged(SHORT, in_order([*SHORT.without(RotorIndex), *marks]))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])


def test_a_board_blind_until_the_first_pulse_is_reported_with_the_duration() -> None:
    last = [mark for mark in SHORT.of(RotorIndex) if mark.t < SHORT.launched_us][-2:]
    verdict = judged(SHORT, [reading for reading in SHORT.readings if reading not in last])
    assert re.match(
        r"wheel sent nothing for [2-9]\.\d s before the ball's first pulse", verdict.reasons[0].seen
    )


def test_R_SPIN_2_an_index_pass_reported_twice_does_not_make_the_next_overdue() -> None:
    twice = [
        msgspec.structs.replace(mark, t=mark.t + 7_000)
        for mark in SHORT.of(RotorIndex)
        if mark.t < SHORT.launched_us
    ]
    verdict = judged(SHORT, SHORT.and_also(*twice))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])


def test_R_SPIN_2_an_index_sensor_on_another_board_says_nothing_about_the_beams() -> None:
    marks = [mark for mark in SHORT.of(RotorIndex) if not -8_000_000 < mark.t - SHORT.launched_us < 0]
    early = [
        RotorIndex(t=SHORT.launched_us - before_us, dev="rotor", direction="cw")
        for before_us in (14_500_000, 12_000_000)
    ]
    late = [msgspec.structs.replace(mark, dev="rotor") for mark in marks]
    verdict = judged(SHORT, in_order([*early, *SHORT.without(RotorIndex), *late]))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])


@pytest.mark.parametrize("seconds", [-0.5, 0.1, 2.0])
def test_R_SPIN_2_edges_lost_at_a_beam_leave_the_turns_open(seconds: float) -> None:
    fault = lost(SHORT.launched_us + round(seconds * 1e6))
    verdict = judged(SHORT, SHORT.and_also(fault))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading", "revolutions_unclear"])
    assert verdict.revolutions_to is None
    assert "2.6" not in verdict.sentence or "or more" in verdict.sentence


def test_R_SPIN_2_edges_lost_at_a_beam_do_not_affect_a_proved_run() -> None:
    made = spin(Scene())
    verdict = judged(made, made.and_also(lost(made.launched_us + 2_000_000)), sources=SPLIT)
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


def test_R_SPIN_2_a_loss_that_was_over_before_the_launch_does_not_matter() -> None:
    fault = lost(SHORT.launched_us - 3_000_000)
    verdict = judged(SHORT, SHORT.and_also(fault, DeviceUp(t=SHORT.launched_us - 2_000_000, dev="wheel")))
    assert verdict.ruling is Ruling.VOID


@pytest.mark.parametrize("code", ["lost_edges", "babbling", "stuck"])
def test_gap_R_8_a_faulty_pocket_reader_proves_no_ball_out(code: str) -> None:
    verdict = played(GONE, GONE.and_also(lost(GONE.left_us, "pockets", code))).verdict
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_R_SPIN_4_reads_in_a_turn_that_lost_its_index_pass_are_placed_by_the_passes_around() -> None:
    made = spin(Scene(bounces=0))
    reads = made.of(PocketBall)
    missing = [r for r in made.of(RotorIndex) if reads[0].t < r.t < reads[1].t]
    seen = [r for r in made.readings if r not in missing]
    assert judged(made, seen).ruling is Ruling.VALID, "a missed pass must not move the rotor's position"
    verdict = judged(made, sorted([*seen, lost(reads[0].t + 1)], key=lambda r: r.t))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


def test_R_SPIN_4_reads_between_passes_one_turn_apart_keep_their_places() -> None:
    made = spin(Scene(bounces=0))
    verdict = judged(made, made.and_also(lost(made.of(PocketBall)[1].t + 1)))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


def test_R_SPIN_4_edges_lost_elsewhere_move_no_pocket() -> None:
    made = spin(Scene(bounces=0))
    verdict = judged(made, made.and_also(lost(made.of(PocketBall)[2].t - 1)), sources=SPLIT)
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.number)


def test_a_verdict_on_a_hidden_launch_comes_again_from_its_evidence() -> None:
    first_us = SHORT.launched_us
    verdict = judged(SHORT, SHORT.and_also(*away(first_us - 9_000_000, first_us - 500_000)))
    assert judged(SHORT, list(verdict.evidence)) == verdict


def test_R_IRR_3_a_wheel_whose_sensors_were_all_silent_for_turns_proves_nothing() -> None:
    made = spin(Scene(revolutions=20.0, turns_read=8))
    until_us = made.left_us + 1_000_000
    seen = [r for r in made.readings if not until_us - 9_000_000 < r.t < until_us]
    verdict = judged(made, seen)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])
    assert "no sensor of the wheel reported anything for" in verdict.sentence


# --- a pocket reader that is known to work ---


def missing_a_turn() -> Learned:
    made = spin(Scene(bounces=0))
    reads = made.of(PocketBall)
    return played(made, [r for r in made.readings if r is not reads[1]]).learned


def test_gap_R_8_a_pocket_reader_that_missed_a_turn_is_not_known_to_work() -> None:
    learned = missing_a_turn()
    assert not learned.pocket_reader_known
    verdict = played(GONE, learned=learned).verdict
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_gap_R_8_a_pocket_reader_that_reads_every_turn_again_is_trusted_after_a_while() -> None:
    learned = missing_a_turn()
    for _ in range(19):
        learned = learned.after_reads(missed=False)
    assert not learned.pocket_reader_known
    assert learned.after_reads(missed=False).pocket_reader_known


def test_gap_R_8_a_ball_that_hops_is_not_a_missed_read() -> None:
    learned = KNOWN
    for seed in range(6):
        learned = played(spin(Scene(bounces=2, seed=seed)), learned=learned).learned
    assert learned.pocket_reader_known
