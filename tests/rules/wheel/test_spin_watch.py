"""The live watch of a spin: No More Bets, the decision, and learning."""

from dataclasses import replace
from statistics import mean

import msgspec
import pytest

from controller.model.readings import BallBeam, BallDrop, ForeignObject, PocketBall, RotorIndex
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Ruling
from controller.rules.wheel import DROP_SENSOR_DELAY_US, Learned, SpinWatch
from tests.rules.wheel.judging import CALLED, KNOWN, RULES, as_kept, codes, judged, played
from tests.rules.wheel.simulator import Scene, Spin, in_order, spin, wheel

LAYOUTS = {
    "three": wheel(),
    "four": wheel(0, 90, 180, 270),
    "two": wheel(20, 170),
    "uneven": wheel(5, 85, 200),
}


def lead_s(made: Spin, learned: Learned = KNOWN) -> float:
    closed_us = played(made, learned=learned).closed_us
    assert closed_us is not None
    return (made.left_us - closed_us) / 1e6


# R-SPIN-3: No More Bets


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("revolutions", [4.6, 9.0, 16.0, 28.0])
def test_R_SPIN_3_no_more_bets_comes_three_seconds_before_the_drop(layout: str, revolutions: float) -> None:
    made = spin(Scene(wheel=LAYOUTS[layout], revolutions=revolutions))
    assert lead_s(made) == pytest.approx(3.0, abs=0.3)


@pytest.mark.parametrize("drop_speed", [0.47, 0.5, 0.53])
@pytest.mark.parametrize("friction", [0.038, 0.052])
def test_R_SPIN_3_the_first_spin_knows_only_the_wheels_nominal_speed(
    drop_speed: float, friction: float
) -> None:
    made = spin(Scene(drop_speed=drop_speed, friction=friction))
    assert lead_s(made, Learned()) == pytest.approx(3.0, abs=1.1)


KNEE_SPEEDS = Scene(friction=0.012, drag=0.04, knee=0.17, drop_speed=0.46, wheel=LAYOUTS["four"])
"""A real ball: it loses 0.2 rev/s2 at 0.85 rev/s, 0.05 at 0.6, and 0.02 at its drop."""


@pytest.mark.parametrize("revolutions", [7.0, 9.0, 16.0])
def test_R_SPIN_3_the_change_of_a_real_balls_deceleration_is_known_in_its_first_spin(
    revolutions: float,
) -> None:
    nominal = msgspec.structs.replace(KNEE_SPEEDS.wheel, drop_rev_per_s=0.46)
    made = spin(replace(KNEE_SPEEDS, wheel=nominal, revolutions=revolutions))
    assert lead_s(made, Learned()) == pytest.approx(3.0, abs=1.0)


@pytest.mark.parametrize(
    "scene", [KNEE_SPEEDS, replace(KNEE_SPEEDS, drop_speed=0.44), Scene(friction=0.02, drag=0.02)]
)
def test_R_SPIN_3_after_one_spin_of_a_wheel_the_next_drop_is_predicted(scene: Scene) -> None:
    learned = played(spin(replace(scene, seed=4)), learned=Learned()).learned
    for seed, revolutions in ((5, 6.0), (6, 11.0), (7, 19.0)):
        made = spin(replace(scene, seed=seed, revolutions=revolutions))
        assert lead_s(made, learned) == pytest.approx(3.0, abs=0.5)


@pytest.mark.parametrize("dead", [0, 1, 2])
@pytest.mark.parametrize("revolutions", [5.0, 12.0, 25.0])
def test_R_SPIN_3_a_dead_beam_does_not_disturb_the_prediction(dead: int, revolutions: float) -> None:
    made = spin(Scene(dead_beams=frozenset({dead}), revolutions=revolutions))
    assert lead_s(made) == pytest.approx(3.0, abs=0.5)


def test_R_SPIN_3_missed_and_doubled_pulses_do_not_disturb_the_prediction() -> None:
    for seed in range(12):
        made = spin(Scene(missed=0.05, doubled=0.05, jitter_s=0.001, seed=seed))
        assert lead_s(made) == pytest.approx(3.0, abs=0.5)


def test_gap_R_9_the_lead_is_a_setting() -> None:
    five = SpinRules(no_more_bets_lead_s=5.0)
    closed_us = played(spin(Scene()), rules=five).closed_us
    assert closed_us is not None
    assert (spin(Scene()).left_us - closed_us) / 1e6 == pytest.approx(5.0, abs=0.3)


@pytest.mark.parametrize("revolutions", [2.2, 2.6, 3.0, 3.4])
def test_R_SPIN_3_a_slow_launch_closes_the_bets_as_soon_as_it_is_known(revolutions: float) -> None:
    for seed in range(4):
        made = spin(Scene(revolutions=revolutions, seed=seed))
        closed_us = played(made).closed_us
        assert closed_us is not None
        assert closed_us < made.left_us
        assert closed_us - made.launched_us < 2_600_000


def test_R_SPIN_3_a_ball_whose_laps_are_not_seen_still_closes_the_bets_in_time() -> None:
    one_beam = wheel(10.0)
    watch = SpinWatch(one_beam, RULES, KNOWN)
    for t in (0, 5_100_000, 10_300_000):
        watch.receive(BallBeam(t=t, dev="wheel", beam=0))
    assert watch.predicted_drop_us() is None
    assert watch.no_more_bets_at_us() == 2_500_000


def test_R_SPIN_3_a_hand_that_cuts_a_beam_closes_nothing() -> None:
    watch = SpinWatch(wheel(), RULES, KNOWN)
    watch.receive(BallBeam(t=1_000_000, dev="wheel", beam=1))
    watch.receive(BallBeam(t=1_020_000, dev="wheel", beam=1))
    assert watch.no_more_bets_at_us() is None
    assert not watch.is_spin
    assert not watch.ball_runs


def test_R_SPIN_3_after_the_drop_there_is_nothing_left_to_close() -> None:
    made = spin(Scene())
    watch = played(made).watch
    assert watch.no_more_bets_at_us() is None
    assert watch.left_track_us == made.of(BallDrop)[0].t - DROP_SENSOR_DELAY_US == made.left_us
    assert not watch.ball_runs


# The watch during the spin


def test_R_SPIN_1_both_directions_are_known_early() -> None:
    made = spin(Scene(ball="cw", rotor="ccw"))
    watch = SpinWatch(made.scene.wheel, RULES, KNOWN)
    for reading in as_kept(made.readings):
        if reading.t > made.launched_us + 4_000_000:
            break
        watch.receive(reading)
    assert (watch.direction, watch.rotor_direction) == ("cw", "ccw")
    speed = watch.speed_rev_per_s()
    assert speed is not None
    assert 1.0 < speed < 1.6
    assert watch.ball_runs
    assert watch.is_spin


def test_R_SPIN_4_the_index_pass_after_the_third_agreeing_read_decides() -> None:
    made = spin(Scene(bounces=0))
    table = played(made)
    third = made.of(PocketBall)[2]
    pocket = table.watch.pocket()
    assert pocket is not None
    assert (pocket.number, pocket.reading) == (made.number, third)
    assert table.decided_us == next(mark.t for mark in made.of(RotorIndex) if mark.t > third.t)
    assert table.verdict.ruling is Ruling.VALID


def test_R_SPIN_4_reads_from_before_the_rotor_was_placed_count_once_it_is() -> None:
    made = spin(Scene(bounces=0, turns_read=5))
    reads, marks = made.of(PocketBall)[:3], made.of(RotorIndex)
    before = [mark for mark in marks if mark.t < reads[2].t][-3:]
    fourth = next(mark for mark in marks if mark.t > reads[2].t)
    table = played(made, in_order([*made.without(RotorIndex, PocketBall), *reads, *before, fourth]))
    assert (table.verdict.ruling, table.verdict.number) == (Ruling.VALID, made.number)
    assert table.decided_us == fourth.t


def test_gap_R_8_the_spin_is_abandoned_five_turns_after_the_drop() -> None:
    made = spin(Scene(turns_read=0, bounces=0, settle_s=25.0))
    table = played(made)
    dropped = made.of(BallDrop)[0].t
    marks = [r.t for r in made.of(RotorIndex) if r.t > dropped]
    assert marks[4] < table.decided_us <= marks[5]


def test_gap_R_8_each_read_postpones_the_end_but_not_indefinitely() -> None:
    made = spin(Scene(turns_read=1, bounces=0, settle_s=1.0))
    watch = SpinWatch(made.scene.wheel, RULES, KNOWN)
    for reading in as_kept(made.readings):
        watch.receive(reading)
    first = watch.give_up_at_us()
    assert first is not None
    assert first > made.of(PocketBall)[0].t + 6_000_000
    for i in range(100):
        watch.receive(PocketBall(t=made.end_us + 1_000_000 + i * 700_000, dev="wheel"))
    last = watch.give_up_at_us()
    assert last is not None
    assert last < made.left_us + 40_000_000


def test_a_spin_whose_drop_was_not_sensed_also_ends() -> None:
    made = spin(Scene(turns_read=0, bounces=0, settle_s=25.0))
    table = played(made, made.without(BallDrop))
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.REVIEW, ["missing_reading"])
    assert table.decided_us < made.left_us + 25_000_000


def test_a_watch_without_a_ball_waits_for_nothing() -> None:
    watch = SpinWatch(wheel(), RULES, KNOWN)
    watch.receive(RotorIndex(t=1, dev="wheel", direction="cw"))
    assert watch.give_up_at_us() is None
    assert watch.predicted_drop_us() is None
    assert watch.speed_rev_per_s() is None
    assert watch.decided_by is None


def test_a_watchs_verdict_is_the_judges() -> None:
    for scene in (Scene(), Scene(ball="cw"), Scene(revolutions=2.5), Scene(dead_beams=frozenset({1}))):
        made = spin(scene)
        watch = SpinWatch(scene.wheel, RULES, KNOWN)
        for reading in as_kept(made.readings):
            watch.receive(reading)
        for until_us in (made.end_us, made.left_us, made.launched_us + 3_000_000):
            assert watch.verdict(until_us)[0] == judged(made, until_us=until_us)
        assert watch.verdict(made.left_us, CALLED)[0] == judged(made, until_us=made.left_us, called=CALLED)


# Learning


def test_R_SPIN_3_the_drop_speed_is_learned_from_the_spins() -> None:
    learned = Learned()
    leads = []
    for seed in range(12):
        made = spin(Scene(drop_speed=0.45, seed=seed, revolutions=8.0 + seed))
        table = played(made, learned=learned)
        assert table.closed_us is not None
        leads.append((made.left_us - table.closed_us) / 1e6)
        learned = table.learned
    assert learned.drop_rev_per_s == pytest.approx(0.45, abs=0.006)
    assert leads[0] > 3.6
    assert mean(leads[4:]) == pytest.approx(3.0, abs=0.15)


def test_R_SPIN_3_what_is_learned_follows_a_wheel_that_changes() -> None:
    learned = Learned()
    for speed in [0.45] * 60 + [0.5] * 120:
        learned = learned.after_drop(speed, 0.05, {}, {})
    assert learned.drop_speed(0.45)[0] == pytest.approx(0.5, abs=0.005)


def test_what_is_learned_goes_through_a_recordings_state_unchanged() -> None:
    played_on = KNOWN.after_drop(0.47, 0.052, {0.5: 0.05, 1.2: 0.1}, {0.5: 2.5}).after_reads(missed=True)
    assert played_on.left_s
    for learned in (Learned(), KNOWN, played_on, played_on.after_silence()):
        assert Learned.from_figures(learned.figures()) == learned


def test_a_ball_with_a_foreign_object_in_its_way_teaches_nothing_of_the_drop() -> None:
    made = spin(Scene())
    assert played(made).learned.spins == KNOWN.spins + 1
    watch = SpinWatch(made.scene.wheel, RULES, KNOWN)
    for reading in as_kept(made.and_also(ForeignObject(t=made.left_us - 1, dev="wheel", where="track"))):
        watch.receive(reading)
    verdict, learned = watch.verdict(made.end_us)
    assert (codes(verdict), learned) == (["foreign_object"], KNOWN)


def test_readings_without_a_ball_teach_nothing() -> None:
    made = spin(Scene())
    watch = SpinWatch(made.scene.wheel, RULES, KNOWN)
    for reading in as_kept(made.without(BallBeam)):
        watch.receive(reading)
    assert watch.verdict(made.end_us)[1] == KNOWN
