"""Rule by rule: a spin, what happened in it, what must be said of it."""

import pytest

from controller.model.readings import (
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    PocketBall,
    RotorIndex,
    Turning,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned
from tests.rules.wheel.judging import CALLED, KNOWN, codes, judged, played
from tests.rules.wheel.simulator import OTHER, Scene, in_order, spin, wheel

PLAIN = spin(Scene())


def pocket_read(t: int) -> PocketBall:
    return PocketBall(t=t, dev="wheel")


def object_at(t: int, where: str) -> ForeignObject:
    return ForeignObject(t=t, dev="wheel", where=where)


# A spin that counts


def test_R_SPIN_4_a_ball_at_rest_in_a_pocket_gives_its_number() -> None:
    verdict = judged(PLAIN)
    assert (verdict.ruling, verdict.number, verdict.reasons) == (Ruling.VALID, PLAIN.number, ())
    assert verdict.revolutions is not None
    assert verdict.revolutions_from is not None
    assert verdict.revolutions_to is not None
    assert verdict.revolutions_from <= 15.0 <= verdict.revolutions_to
    assert verdict.revolutions == pytest.approx(15.0, abs=0.4)
    assert verdict.sentence == (
        "20: the ball ran ccw against the cw rotor (R-SPIN-1) for 14.8 turns of 4 (14.7 to 15.5) (R-SPIN-2), "
        "and 3 reads on as many turns agree (R-SPIN-4)"
    )


@pytest.mark.parametrize("rotor", ["cw", "ccw"])
@pytest.mark.parametrize("pockets", ["american", "european"])
@pytest.mark.parametrize(
    ("reader_deg", "index_deg", "pocket"), [(0, 0, 0), (45, 200, 36), (303, 77, 18), (-90, 350, 9)]
)
def test_R_SPIN_4_the_pocket_is_found_whatever_the_wheel_and_its_sensors_angles(
    rotor: Turning, pockets: str, reader_deg: float, index_deg: float, pocket: int
) -> None:
    made = wheel(0, 90, 180, 270, reader_deg=reader_deg, index_deg=index_deg, pockets=pockets)
    scene = Scene(wheel=made, rotor=rotor, ball=OTHER[rotor], pocket=pocket, seed=pocket)
    verdict = judged(spin(scene))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, made.pockets_clockwise[pocket])


def test_R_SPIN_4_two_reads_are_not_yet_a_number() -> None:
    calm = spin(Scene(bounces=0))
    third = calm.of(PocketBall)[2]
    verdict = judged(calm, until_us=third.t - 1)
    assert (verdict.ruling, codes(verdict), verdict.number) == (Ruling.REVIEW, ["missing_reading"], None)
    assert verdict.reasons[0].seen == "2 of 3 pocket reads"
    assert judged(calm, until_us=third.t).number == calm.number


def test_R_SPIN_4_three_reads_within_one_turn_are_one() -> None:
    calm = spin(Scene(bounces=0, turns_read=1))
    read = calm.of(PocketBall)[0]
    verdict = judged(calm, calm.and_also(pocket_read(read.t + 2_000), pocket_read(read.t + 4_000)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])


def test_R_SPIN_4_a_ball_that_hops_is_read_where_it_stays() -> None:
    first = spin(Scene(pocket=7, bounces=0, turns_read=2))
    then = spin(Scene(pocket=11, bounces=0, settle_s=7.5, turns_read=4))
    verdict = judged(then, then.and_also(*first.of(PocketBall)))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, then.number)


def test_R_SPIN_4_a_differing_fourth_read_before_the_holds_end_is_a_conflict() -> None:
    calm = spin(Scene(bounces=0, turns_read=3))
    verdict = judged(calm, calm.and_also(pocket_read(calm.of(PocketBall)[-1].t + 200_000)))
    assert (verdict.ruling, codes(verdict), verdict.number) == (Ruling.REVIEW, ["conflict"], calm.number)


def test_R_SPIN_4_reads_at_the_border_of_two_pockets_agree_on_none() -> None:
    half_a_pocket_deg = 360.0 / 38 / 2
    askew = spin(Scene(bounces=0, wheel=wheel(reader_deg=half_a_pocket_deg), read_jitter_s=0.0))
    as_configured = spin(Scene(bounces=0, wheel=wheel(reader_deg=0.0)))
    verdict = judged(as_configured, askew.readings)
    assert (verdict.ruling, codes(verdict), verdict.number) == (Ruling.REVIEW, ["conflict"], None)


# R-SPIN-1, R-IRR-1: the direction


@pytest.mark.parametrize("direction", ["cw", "ccw"])
def test_R_SPIN_1_a_ball_that_runs_with_the_rotor_is_no_spin(direction: Turning) -> None:
    verdict = judged(spin(Scene(ball=direction, rotor=direction)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["same_direction"])
    assert verdict.reasons[0].rule == "R-IRR-1"
    assert verdict.sentence == f"No Spin: the ball and the rotor both ran {direction} (R-IRR-1)"


def test_R_IRR_1_the_same_direction_is_told_while_the_ball_still_runs() -> None:
    made = spin(Scene(ball="cw", rotor="cw"))
    table = played(made)
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["same_direction"])
    assert table.decided_us < made.left_us


def test_R_SPIN_1_all_causes_that_hold_are_listed() -> None:
    verdict = judged(spin(Scene(ball="cw", rotor="cw", revolutions=2.5)))
    assert codes(verdict) == ["same_direction", "too_few_revolutions"]


@pytest.mark.parametrize("ball", ["cw", "ccw"])
def test_R_SPIN_1_two_beams_tell_the_direction_by_their_unequal_distances(ball: Turning) -> None:
    scene = Scene(wheel=wheel(20, 170), ball=ball, rotor=OTHER[ball])
    assert judged(spin(scene)).ruling is Ruling.VALID
    with_rotor = Scene(wheel=wheel(20, 170), ball=ball, rotor=ball)
    assert codes(judged(spin(with_rotor))) == ["same_direction"]


@pytest.mark.parametrize("rotor", ["cw", "ccw"])
@pytest.mark.parametrize(
    "scene",
    [Scene(wheel=wheel(20, 200)), Scene(wheel=wheel(0, 90, 180, 270), dead_beams=frozenset({1, 3}))],
    ids=["two opposite beams", "two opposite beams left of four"],
)
def test_R_SPIN_1_beams_that_cannot_tell_the_direction_are_never_guessed_from(
    scene: Scene, rotor: Turning
) -> None:
    made = spin(Scene(wheel=scene.wheel, dead_beams=scene.dead_beams, rotor=rotor))
    verdict = judged(made)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])
    assert "can't tell which way the ball ran" in verdict.reasons[0].seen
    assert verdict.revolutions == pytest.approx(15.0, abs=1.1)


@pytest.mark.parametrize("seed", range(8))
def test_R_SPIN_1_opposite_beams_that_miss_pulses_tell_no_direction_either(seed: int) -> None:
    verdict = judged(spin(Scene(wheel=wheel(20, 200), missed=0.1, seed=seed)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_R_SPIN_1_without_index_passes_nothing_is_certain() -> None:
    verdict = judged(PLAIN, PLAIN.without(RotorIndex))
    assert verdict.ruling is Ruling.REVIEW
    assert set(codes(verdict)) == {"missing_reading"}


def test_R_SPIN_1_the_rotors_direction_is_the_one_within_the_spin() -> None:
    began = PLAIN.of(BallBeam)[0].t
    before = [RotorIndex(t=began - back, dev="wheel", direction="ccw") for back in (9_000_000, 12_000_000)]
    within = [r for r in PLAIN.readings if not isinstance(r, RotorIndex) or r.t > began]
    verdict = judged(PLAIN, in_order([*before, *within]))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


# R-SPIN-2, R-IRR-2: the revolutions


@pytest.mark.parametrize("revolutions", [2.0, 2.5, 3.0])
def test_R_SPIN_2_under_four_revolutions_is_no_spin(revolutions: float) -> None:
    verdict = judged(spin(Scene(revolutions=revolutions)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])
    assert verdict.reasons[0].rule == "R-IRR-2"


def test_R_SPIN_2_the_measure_is_said_in_figures() -> None:
    verdict = judged(spin(Scene(revolutions=2.5)))
    assert verdict.revolutions is not None
    assert verdict.reasons[0].seen == (
        f"{verdict.revolutions:.1f} turns of 4"
        f" ({verdict.revolutions_from:.1f} to {verdict.revolutions_to:.1f}); R-SPIN-2"
    )


def test_R_IRR_2_too_few_revolutions_are_told_at_the_drop() -> None:
    made = spin(Scene(revolutions=2.6))
    table = played(made)
    assert codes(table.verdict) == ["too_few_revolutions"]
    assert table.decided_us == made.of(BallDrop)[0].t


@pytest.mark.parametrize("seed", range(6))
def test_gap_R_10_where_four_lies_within_the_unseen_start_a_person_rules(seed: int) -> None:
    made = spin(Scene(revolutions=4.05, seed=seed, wheel=wheel(0, 90, 180, 270)))
    late = [r for r in made.readings if not isinstance(r, BallBeam) or r.t > made.launched_us + 400_000]
    verdict = judged(made, late)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["revolutions_unclear"])


@pytest.mark.parametrize("seed", range(8))
def test_gap_R_10_close_calls_are_never_called_wrong(seed: int) -> None:
    short = judged(spin(Scene(revolutions=3.3, seed=seed)))
    assert short.ruling in (Ruling.VOID, Ruling.REVIEW)
    long = judged(spin(Scene(revolutions=4.6, seed=seed)))
    assert long.ruling in (Ruling.VALID, Ruling.REVIEW)


def test_R_SPIN_2_the_number_of_revolutions_is_a_setting() -> None:
    six = SpinRules(min_revolutions=6.0)
    assert codes(judged(spin(Scene(revolutions=5.0)), rules=six)) == ["too_few_revolutions"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dead", [0, 1, 2])
def test_R_SPIN_2_a_dead_beam_does_not_change_the_count(dead: int, seed: int) -> None:
    verdict = judged(spin(Scene(dead_beams=frozenset({dead}), seed=seed)))
    assert verdict.ruling is Ruling.VALID
    assert verdict.revolutions_from is not None
    assert verdict.revolutions_to is not None
    assert verdict.revolutions_from <= 15.0 <= verdict.revolutions_to
    assert [notice.code for notice in verdict.notices] == ["beam_silent"]


def test_R_SPIN_2_a_ball_that_slows_otherwise_is_still_counted() -> None:
    for power in (0.0, 1.0, 1.5):
        verdict = judged(spin(Scene(drag_power=power)))
        assert verdict.ruling is Ruling.VALID
        assert verdict.revolutions == pytest.approx(15.0, abs=0.4)


def test_R_SPIN_2_stray_pulses_are_not_the_balls() -> None:
    for seed in range(5):
        verdict = judged(spin(Scene(stray_pulses=3, seed=seed)))
        assert verdict.ruling is Ruling.VALID
        assert verdict.revolutions == pytest.approx(15.0, abs=0.4)


def test_R_SPIN_2_a_hand_in_the_track_before_the_launch_adds_no_turns() -> None:
    for before_us in range(600_000, 5_000_000, 200_000):
        hand = BallBeam(t=PLAIN.launched_us - before_us, dev="wheel", beam=before_us // 200_000 % 3)
        verdict = judged(PLAIN, PLAIN.and_also(hand))
        assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
        assert verdict.revolutions == pytest.approx(15.0, abs=0.7)


@pytest.mark.parametrize("seed", range(4))
def test_R_SPIN_2_where_most_passes_were_missed_no_run_is_proved(seed: int) -> None:
    verdict = judged(spin(Scene(missed=0.7, seed=seed)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["revolutions_unclear"])


@pytest.mark.parametrize("seed", range(4))
def test_R_SPIN_2_where_many_pulses_are_not_the_balls_no_run_is_proved(seed: int) -> None:
    verdict = judged(spin(Scene(stray_pulses=25, seed=seed)))
    assert verdict.ruling is Ruling.REVIEW
    assert "revolutions_unclear" in codes(verdict)


def test_R_SPIN_2_beams_that_are_not_where_they_should_be_prove_no_run() -> None:
    slightly = spin(Scene(wheel=wheel(10, 133, 250)))
    assert judged(slightly, PLAIN.readings).ruling is Ruling.VALID
    badly = spin(Scene(wheel=wheel(10, 142, 250)))
    verdict = judged(badly, PLAIN.readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["revolutions_unclear"])


@pytest.mark.parametrize("seed", [1, 33, 46, 52])
def test_R_SPIN_2_false_laps_at_the_start_do_not_hide_the_run(seed: int) -> None:
    made = spin(Scene(revolutions=6.0, missed=0.1, stray_pulses=4, dead_beams=frozenset({1}), seed=seed))
    verdict = judged(made)
    assert verdict.ruling is Ruling.VALID
    assert verdict.revolutions == pytest.approx(6.0, abs=0.6)


def test_R_SPIN_2_pulses_without_order_prove_no_run() -> None:
    chaos = [
        BallBeam(t=r.t, dev="wheel", beam=(i * i) % 3) if isinstance(r, BallBeam) else r
        for i, r in enumerate(PLAIN.readings)
    ]
    verdict = judged(PLAIN, chaos)
    assert verdict.ruling is Ruling.REVIEW
    assert "revolutions_unclear" in codes(verdict)


def test_R_SPIN_2_a_silent_drop_sensor_leaves_what_is_proved() -> None:
    verdict = judged(PLAIN, PLAIN.without(BallDrop))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
    assert "drop_silent" in [notice.code for notice in verdict.notices]
    short = spin(Scene(revolutions=3.0))
    unsure = judged(short, short.without(BallDrop))
    assert (unsure.ruling, codes(unsure)) == (Ruling.REVIEW, ["revolutions_unclear"])


def test_R_SPIN_2_a_drop_sensed_while_the_ball_runs_on_is_not_the_drop() -> None:
    middle = (PLAIN.launched_us + PLAIN.left_us) // 2
    verdict = judged(PLAIN, PLAIN.and_also(BallDrop(t=middle, dev="wheel")))
    assert verdict.ruling is Ruling.VALID
    assert verdict.revolutions == pytest.approx(15.0, abs=1.1)


def test_R_SPIN_2_a_drop_at_the_wrong_speed_is_a_conflict() -> None:
    taken_out = PLAIN.launched_us + 6_000_000
    readings = [r for r in PLAIN.readings if not isinstance(r, BallBeam | BallDrop) or r.t < taken_out]
    verdict = judged(PLAIN, in_order([*readings, BallDrop(t=taken_out, dev="wheel")]))
    assert verdict.ruling is Ruling.REVIEW
    assert "conflict" in codes(verdict)


# R-IRR-3: foreign objects


@pytest.mark.parametrize("where", ["track", "rotor"])
def test_R_IRR_3_a_foreign_object_before_the_ball_rests_is_no_spin(where: str) -> None:
    verdict = judged(PLAIN, PLAIN.and_also(object_at(PLAIN.left_us - 3_000_000, where)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["foreign_object"])
    assert verdict.reasons[0].rule == "R-IRR-3"


def test_R_IRR_3_it_is_told_at_once() -> None:
    entered = PLAIN.left_us - 3_000_000
    table = played(PLAIN, PLAIN.and_also(object_at(entered, "track")))
    assert (codes(table.verdict), table.decided_us) == (["foreign_object"], entered)


def test_R_IRR_3_after_the_ball_rests_it_changes_nothing() -> None:
    rested = PLAIN.of(PocketBall)[2].t
    verdict = judged(PLAIN, PLAIN.and_also(object_at(rested + 100_000, "rotor")))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
    assert [notice.code for notice in verdict.notices] == ["foreign_object"]


def test_R_IRR_3_something_on_the_felt_is_not_in_the_wheel() -> None:
    verdict = judged(PLAIN, PLAIN.and_also(object_at(PLAIN.left_us - 3_000_000, "felt")))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)
    assert [notice.code for notice in verdict.notices] == ["foreign_object"]


# !the ball out of the wheel, the rotor turned over or stopped, a second ball


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


def test_gap_R_8_five_turns_without_a_read_are_a_ball_out_where_the_reader_works() -> None:
    table = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0)))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["ball_out"])
    assert table.learned.pocket_reader_works == 0.0


def test_gap_R_8_a_reader_not_known_to_work_is_a_missing_reading() -> None:
    table = played(spin(Scene(turns_read=0, bounces=0, settle_s=20.0)), learned=Learned())
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_gap_R_8_two_silent_spins_running_are_a_silent_reader() -> None:
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


def test_gap_R_8_a_rotor_turned_over_within_the_spin_is_no_spin() -> None:
    verdict = judged(PLAIN, in_order([*PLAIN.without(RotorIndex), *_turned_over(PLAIN.left_us - 5_000_000)]))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["rotor_reversed"])
    assert verdict.reasons[0].rule == "!R-8"


def test_gap_R_8_passes_that_change_direction_without_losing_time_are_a_reversal_too() -> None:
    middle = PLAIN.left_us - 5_000_000
    marks = [
        RotorIndex(t=r.t, dev="wheel", direction="ccw" if r.t > middle else "cw")
        for r in PLAIN.of(RotorIndex)
    ]
    table = played(PLAIN, in_order([*PLAIN.without(RotorIndex), *marks]))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["rotor_reversed"])
    assert table.decided_us < PLAIN.left_us


def test_gap_R_8_one_odd_index_pass_among_others_reverses_nothing() -> None:
    odd = [r for r in PLAIN.of(RotorIndex) if r.t > PLAIN.launched_us][2]
    readings = [RotorIndex(t=r.t, dev="wheel", direction="ccw") if r is odd else r for r in PLAIN.readings]
    verdict = judged(PLAIN, readings)
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


def test_gap_R_8_an_odd_last_index_pass_is_a_conflict() -> None:
    last = PLAIN.of(RotorIndex)[-1]
    readings = [RotorIndex(t=r.t, dev="wheel", direction="ccw") if r is last else r for r in PLAIN.readings]
    verdict = judged(PLAIN, readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["conflict"])


def test_gap_R_8_a_rotor_turned_over_just_before_the_launch_is_play() -> None:
    began = PLAIN.of(BallBeam)[0].t
    stale = [
        RotorIndex(t=began - back, dev="wheel", direction="ccw")
        for back in (16_000_000, 13_000_000, 10_000_000)
    ]
    marks = [r for r in PLAIN.of(RotorIndex) if r.t > began - 3_000_000]
    verdict = judged(PLAIN, in_order([*PLAIN.without(RotorIndex), *stale, *marks]))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


def test_gap_R_8_a_rotor_that_runs_out_of_speed_is_no_spin() -> None:
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


# What was not seen


def test_R_SPIN_4_an_index_sensor_that_falls_silent_leaves_reads_without_a_place() -> None:
    readings = [r for r in PLAIN.readings if not isinstance(r, RotorIndex) or r.t < PLAIN.left_us - 4_000_000]
    verdict = judged(PLAIN, readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_R_SPIN_4_a_missed_index_pass_does_not_move_the_pocket() -> None:
    marks = [r for r in PLAIN.of(RotorIndex) if r.t > PLAIN.left_us]
    for missed in (marks[0], marks[1]):
        verdict = judged(PLAIN, [r for r in PLAIN.readings if r is not missed])
        assert (verdict.ruling, verdict.number) == (Ruling.VALID, PLAIN.number)


@pytest.mark.parametrize("standing", [True, False], ids=["down before the spin", "down within it"])
def test_R_SPIN_2_a_device_down_in_the_spin_is_a_review_never_a_no_spin(standing: bool) -> None:
    for made in (PLAIN, spin(Scene(revolutions=2.5)), spin(Scene(turns_read=0, bounces=0, settle_s=20.0))):
        at = made.launched_us + (-1_000_000 if standing else 1_000_000)
        verdict = judged(made, made.and_also(DeviceDown(t=at, dev="wheel", reason="unplugged")))
        assert verdict.ruling is Ruling.REVIEW
        assert "missing_reading" in codes(verdict)


def test_R_SPIN_1_a_certain_cause_outranks_a_device_that_is_down() -> None:
    made = spin(Scene(ball="cw", rotor="cw"))
    down = DeviceDown(t=made.left_us + 1_000_000, dev="reader")
    verdict = judged(made, made.and_also(down))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["same_direction"])


def test_R_SPIN_2_a_device_that_came_back_before_the_launch_does_not_matter() -> None:
    was_down = DeviceDown(t=PLAIN.launched_us - 2_000_000, dev="wheel")
    is_up = DeviceUp(t=PLAIN.launched_us - 1_000_000, dev="wheel")
    assert judged(PLAIN, PLAIN.and_also(was_down, is_up)).ruling is Ruling.VALID


def test_R_SPIN_2_a_device_that_does_not_serve_the_wheel_does_not_matter() -> None:
    down = DeviceDown(t=PLAIN.launched_us + 1_000_000, dev="lamps")
    sources = {"lamps": (), "rim": ("ball_beam", "ball_drop")}
    assert judged(PLAIN, PLAIN.and_also(down), sources=sources).ruling is Ruling.VALID
    rim = DeviceDown(t=PLAIN.launched_us + 1_000_000, dev="rim")
    assert judged(PLAIN, PLAIN.and_also(rim), sources=sources).ruling is Ruling.REVIEW


# A person's No Spin


def test_R_IRR_1_a_called_no_spin_lists_what_was_certain_by_then() -> None:
    alone = judged(PLAIN, until_us=PLAIN.launched_us + 6_000_000, called=CALLED)
    assert (alone.ruling, codes(alone)) == (Ruling.VOID, ["called"])
    made = spin(Scene(ball="cw", rotor="cw"))
    both = judged(made, until_us=made.left_us - 1_000_000, called=CALLED)
    assert codes(both) == ["called", "same_direction"]


def test_R_IRR_1_readings_after_the_decision_are_not_looked_at() -> None:
    late = object_at(PLAIN.left_us - 1_000_000, "track")
    verdict = judged(PLAIN, PLAIN.and_also(late), until_us=PLAIN.launched_us + 6_000_000, called=CALLED)
    assert codes(verdict) == ["called"]
    assert all(r.t <= PLAIN.launched_us + 6_000_000 for r in verdict.evidence)


def test_rules_are_named_by_the_rule_set() -> None:
    rules = SpinRules(causes={"too_few_revolutions": "H-7"})
    verdict = judged(spin(Scene(revolutions=2.5)), rules=rules)
    assert verdict.reasons[0].rule == "H-7"
    assert verdict.sentence.endswith("(H-7)")


def test_a_verdicts_evidence_alone_gives_the_same_verdict() -> None:
    verdict = judged(PLAIN)
    assert judged(PLAIN, list(verdict.evidence)) == verdict


def test_a_judge_that_knows_the_wheel_is_the_judge_that_does_not() -> None:
    assert judged(PLAIN, learned=KNOWN).number == judged(PLAIN, learned=Learned()).number
