"""Valid spins, their direction, missing evidence and a person's No Spin, rule by rule."""

import pytest

from controller.model.readings import (
    BallBeam,
    DeviceDown,
    DeviceUp,
    PocketBall,
    RotorIndex,
    Turning,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned
from tests.rules.wheel.judging import CALLED, KNOWN, PLAIN, codes, judged, object_at, played, pocket_read
from tests.rules.wheel.simulator import OTHER, Scene, in_order, spin, wheel

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
        "20: the ball ran counter-clockwise against the clockwise rotor (R-SPIN-1) for 14.8 turns (14.8 to"
        " 15.1), 4 required (R-SPIN-2), and 3 pocket readings on as many turns agree (R-SPIN-4)"
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
    plain_spin = spin(Scene(bounces=0))
    third = plain_spin.of(PocketBall)[2]
    verdict = judged(plain_spin, until_us=third.t - 1)
    assert (verdict.ruling, codes(verdict), verdict.number) == (Ruling.REVIEW, ["missing_reading"], None)
    assert verdict.reasons[0].seen == "received only 2 of 3 pocket readings"


def test_R_SPIN_4_the_third_read_waits_for_the_index_pass_after_it() -> None:
    plain_spin = spin(Scene(bounces=0))
    third = plain_spin.of(PocketBall)[2]
    after = next(mark for mark in plain_spin.of(RotorIndex) if mark.t > third.t)
    assert judged(plain_spin, until_us=after.t - 1).number is None
    assert judged(plain_spin, until_us=after.t).number == plain_spin.number


def test_R_SPIN_4_three_reads_within_one_turn_are_one() -> None:
    plain_spin = spin(Scene(bounces=0, turns_read=1))
    read = plain_spin.of(PocketBall)[0]
    verdict = judged(
        plain_spin, plain_spin.and_also(pocket_read(read.t + 2_000), pocket_read(read.t + 4_000))
    )
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])


def test_R_SPIN_4_a_ball_that_hops_is_read_in_its_final_pocket() -> None:
    first = spin(Scene(pocket=7, bounces=0, turns_read=2))
    then = spin(Scene(pocket=11, bounces=0, settle_s=7.5, turns_read=4))
    verdict = judged(then, then.and_also(*first.of(PocketBall)))
    assert (verdict.ruling, verdict.number) == (Ruling.VALID, then.number)


def test_R_SPIN_4_a_differing_fourth_read_before_the_holds_end_is_a_conflict() -> None:
    plain_spin = spin(Scene(bounces=0))
    third = plain_spin.of(PocketBall)[2]
    after = next(mark for mark in plain_spin.of(RotorIndex) if mark.t > third.t)
    differs = pocket_read(after.t + 100_000)
    verdict = judged(plain_spin, plain_spin.and_also(differs), until_us=differs.t)
    assert (verdict.ruling, codes(verdict), verdict.number) == (
        Ruling.REVIEW,
        ["conflict"],
        plain_spin.number,
    )


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
    way = "clockwise" if direction == "cw" else "counter-clockwise"
    assert verdict.sentence == f"No Spin: the ball and the rotor both turned {way} (R-IRR-1)"


def test_R_IRR_1_the_same_direction_is_published_while_the_ball_still_runs() -> None:
    made = spin(Scene(ball="cw", rotor="cw"))
    table = played(made)
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["same_direction"])
    assert table.decided_us < made.left_us


def test_R_SPIN_1_all_true_causes_are_listed() -> None:
    verdict = judged(spin(Scene(ball="cw", rotor="cw", revolutions=2.5)))
    assert codes(verdict) == ["same_direction", "too_few_revolutions"]


@pytest.mark.parametrize("ball", ["cw", "ccw"])
def test_R_SPIN_1_two_beams_show_the_direction_by_their_unequal_distances(ball: Turning) -> None:
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
def test_R_SPIN_1_no_direction_is_guessed_from_beams_that_cannot_show_it(
    scene: Scene, rotor: Turning
) -> None:
    made = spin(Scene(wheel=scene.wheel, dead_beams=scene.dead_beams, rotor=rotor))
    verdict = judged(made)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["missing_reading"])
    assert "can't show the direction of the ball" in verdict.reasons[0].seen
    assert verdict.revolutions == pytest.approx(15.0, abs=1.1)


@pytest.mark.parametrize("seed", range(8))
def test_R_SPIN_1_opposite_beams_that_miss_pulses_show_no_direction_either(seed: int) -> None:
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


# Missing evidence


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


def test_R_IRR_1_readings_after_the_decision_are_ignored() -> None:
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


def test_a_judge_with_a_prepared_wheel_gives_the_same_verdict_as_one_without() -> None:
    assert judged(PLAIN, learned=KNOWN).number == judged(PLAIN, learned=Learned()).number
