"""The ball's revolutions, rule by rule (R-SPIN-2, R-IRR-2)."""

import pytest

from controller.model.readings import BallBeam, BallDrop, RotorIndex
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Ruling
from tests.rules.wheel.judging import PLAIN, codes, judged, played
from tests.rules.wheel.simulator import Scene, in_order, spin, wheel

# R-SPIN-2, R-IRR-2: the revolutions


@pytest.mark.parametrize("revolutions", [2.0, 2.5, 3.0])
def test_R_SPIN_2_under_four_revolutions_is_no_spin(revolutions: float) -> None:
    verdict = judged(spin(Scene(revolutions=revolutions)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.VOID, ["too_few_revolutions"])
    assert verdict.reasons[0].rule == "R-IRR-2"


def test_R_SPIN_2_the_verdict_states_the_measured_revolutions() -> None:
    verdict = judged(spin(Scene(revolutions=2.5)))
    assert verdict.revolutions is not None
    assert verdict.reasons[0].seen == (
        f"{verdict.revolutions:.1f} turns"
        f" ({verdict.revolutions_from:.1f} to {verdict.revolutions_to:.1f}), 4 required; R-SPIN-2"
    )


def test_R_IRR_2_too_few_revolutions_are_published_once_the_next_pass_is_overdue() -> None:
    made = spin(Scene(revolutions=2.6))
    table = played(made)
    assert codes(table.verdict) == ["too_few_revolutions"]
    marks = [mark.t for mark in made.of(RotorIndex) if mark.t > made.of(BallDrop)[0].t]
    assert table.decided_us in marks[:2]


@pytest.mark.parametrize("seed", range(6))
def test_gap_R_10_if_the_unseen_start_leaves_four_revolutions_open_a_person_rules(seed: int) -> None:
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


def test_R_SPIN_2_a_ball_with_another_law_of_slowing_is_still_counted() -> None:
    for power in (0.0, 1.0, 1.5):
        verdict = judged(spin(Scene(drag_power=power)))
        assert verdict.ruling is Ruling.VALID
        assert verdict.revolutions == pytest.approx(15.0, abs=0.4)


def test_R_SPIN_2_stray_pulses_do_not_count_as_the_balls() -> None:
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


def test_R_SPIN_2_a_whole_turn_that_no_beam_detected_may_have_been_run() -> None:
    made = spin(Scene(wheel=wheel(0, 180), revolutions=4.4, bounces=0))
    pulses = made.of(BallBeam)
    lost = pulses[3:6]
    verdict = judged(made, [reading for reading in made.readings if reading not in lost])
    assert (verdict.ruling, set(codes(verdict))) == (
        Ruling.REVIEW,
        {"missing_reading", "revolutions_unclear"},
    )
    assert verdict.revolutions_to is not None
    assert verdict.revolutions_to >= 4.4


@pytest.mark.parametrize("revolutions", [4.1, 4.43, 4.7, 5.2, 6.5])
@pytest.mark.parametrize(
    "beams_deg",
    [(0, 180), (10, 100), (0, 150), (10, 130, 250), (5, 85, 200), (0, 90, 180, 270), (0, 40, 170, 260, 300)],
)
def test_R_SPIN_2_undetected_turns_void_no_spin_wherever_they_are(
    beams_deg: tuple[float, ...], revolutions: float
) -> None:
    made = spin(Scene(wheel=wheel(*beams_deg), revolutions=revolutions, bounces=0))
    pulses = made.of(BallBeam)
    for lost in range(1, 2 * len(beams_deg) + 2):
        for at in range(1, len(pulses) - lost + 1):
            gone = pulses[at : at + lost]
            verdict = judged(made, [reading for reading in made.readings if reading not in gone])
            message = f"{lost} lost after {at} of {len(pulses)}: {verdict.sentence}"
            assert verdict.ruling is not Ruling.VOID, message
            if verdict.revolutions_from is not None:
                assert verdict.revolutions_from <= revolutions + 0.05, message
            assert verdict.revolutions_to is None or verdict.revolutions_to >= 4.0, message


@pytest.mark.parametrize("seed", range(4))
def test_R_SPIN_2_where_most_passes_were_missed_no_run_is_proved(seed: int) -> None:
    verdict = judged(spin(Scene(missed=0.7, seed=seed)))
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["revolutions_unclear"])


@pytest.mark.parametrize("seed", range(4))
def test_R_SPIN_2_with_many_stray_pulses_no_run_is_proved(seed: int) -> None:
    verdict = judged(spin(Scene(stray_pulses=25, seed=seed)))
    assert verdict.ruling is Ruling.REVIEW
    assert "revolutions_unclear" in codes(verdict)


def test_R_SPIN_2_misplaced_beams_prove_no_run() -> None:
    slightly = spin(Scene(wheel=wheel(10, 133, 250)))
    assert judged(slightly, PLAIN.readings).ruling is Ruling.VALID
    badly = spin(Scene(wheel=wheel(10, 200, 250)))
    verdict = judged(badly, PLAIN.readings)
    assert (verdict.ruling, codes(verdict)) == (Ruling.REVIEW, ["revolutions_unclear"])


@pytest.mark.parametrize("seed", [33, 52])
def test_R_SPIN_2_false_laps_at_the_start_do_not_hide_the_run(seed: int) -> None:
    made = spin(Scene(revolutions=6.0, missed=0.1, stray_pulses=4, dead_beams=frozenset({1}), seed=seed))
    verdict = judged(made)
    assert verdict.ruling is Ruling.VALID
    assert verdict.revolutions == pytest.approx(6.0, abs=0.6)


def test_R_SPIN_2_random_pulses_prove_no_run() -> None:
    chaos = [
        BallBeam(t=r.t, dev="wheel", beam=(i * i) % 3) if isinstance(r, BallBeam) else r
        for i, r in enumerate(PLAIN.readings)
    ]
    verdict = judged(PLAIN, chaos)
    assert verdict.ruling is Ruling.REVIEW
    assert "revolutions_unclear" in codes(verdict)


@pytest.mark.parametrize(
    ("pulses", "seen"),
    [
        (0, "no beam detected the ball"),
        (1, "a single beam pulse does not form the run of a ball"),
        (2, "the 2 beam pulses do not form the run of a ball"),
    ],
)
def test_R_SPIN_2_a_spin_with_hardly_any_pulses_says_how_many(pulses: int, seen: str) -> None:
    missing = PLAIN.of(BallBeam)[pulses:]
    verdict = judged(PLAIN, [reading for reading in PLAIN.readings if reading not in missing])
    assert verdict.ruling is Ruling.REVIEW
    assert [reason.seen for reason in verdict.reasons if reason.code == "revolutions_unclear"] == [seen]


def test_R_SPIN_2_a_silent_drop_sensor_does_not_change_what_is_proved() -> None:
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
