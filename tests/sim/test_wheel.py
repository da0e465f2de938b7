"""The readings of the simulated wheel agree with its truth."""

from itertools import pairwise
from random import Random

import msgspec
import pytest

from controller.model.geometry import Wheel
from controller.model.readings import AnyReading, BallBeam, BallDrop, PocketBall, RotorIndex
from drivers.sim import wheel
from drivers.sim.scenes import Scene

SEEDS = range(5)
TWO_BEAMS = msgspec.structs.replace(wheel.AMERICAN, beams_deg=(25, 140))


def play(kind: str, seed: int, on: Wheel = wheel.AMERICAN) -> tuple[Scene, list[AnyReading]]:
    scene, feed = wheel.spin(kind, Random(seed), 2_000_000, wheel=on)
    return scene, [reading for _, reading in feed]


def pocket_at(on: Wheel, readings: list[AnyReading], t: int) -> str:
    """Return the ball's pocket by the specified formula, from the mark's motion in the last index passes."""
    index = [r for r in readings if isinstance(r, RotorIndex)]
    number = min(max(sum(r.t <= t for r in index) - 2, 0), len(index) - 3)
    a, b, c = (index[number + i].t for i in range(3))
    turns = (t - a) * ((t - c) / ((b - a) * (b - c)) + 2 * (t - b) / ((c - a) * (c - b)))
    mark = on.rotor_index_deg + (1 if index[-1].direction == "ccw" else -1) * 360 * turns
    count = len(on.pockets_clockwise)
    return on.pockets_clockwise[round(((mark - on.pocket_reader_deg) % 360) / (360 / count)) % count]


def test_the_same_seed_plays_the_same_session_and_another_seed_another() -> None:
    assert wheel.simulate(7, n=4) == wheel.simulate(7, n=4)
    assert wheel.simulate(7, n=4)[1] != wheel.simulate(8, n=4)[1]


@pytest.mark.parametrize("kind", wheel.KINDS)
def test_every_kind_occurs_and_its_readings_arrive_as_real_ones_do(kind: str) -> None:
    for seed in SEEDS:
        scene, feed = wheel.spin(kind, Random(seed), 2_000_000)
        assert scene.truth.verdict in scene.truth.allowed
        assert feed == sorted(feed, key=lambda item: item[0])
        assert all(1000 <= arrived - r.t <= 3000 for arrived, r in feed)


@pytest.mark.parametrize("kind", ["valid", "hop", "glitchy", "dealer_early_no_more_bets"])
@pytest.mark.parametrize("seed", range(12))
def test_the_pocket_formula_gives_the_intended_pocket(kind: str, seed: int) -> None:
    on = wheel.draw_wheel_geometry(Random(seed))
    scene, readings = play(kind, seed, on)
    reads = [r.t for r in readings if isinstance(r, PocketBall)]
    assert {pocket_at(on, readings, t) for t in reads[-3:]} == {scene.truth.number}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ball_that_hops_was_seen_in_another_pocket_twice_at_most(seed: int) -> None:
    scene, readings = play("hop", seed)
    reads = [r.t for r in readings if isinstance(r, PocketBall)]
    others = [t for t in reads if pocket_at(wheel.AMERICAN, readings, t) != scene.truth.number]
    assert others
    laps = [r.t for r in readings if isinstance(r, RotorIndex)]
    assert len(reads) - len(others) >= 3
    assert len(laps) > 5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_drop_is_sensed_a_moment_after_the_ball_left_the_track(seed: int) -> None:
    scene, readings = play("valid", seed)
    drop = next(r.t for r in readings if isinstance(r, BallDrop))
    assert scene.truth.drop_us is not None
    assert drop - scene.truth.drop_us == pytest.approx(120_000, abs=50_000)
    assert max(r.t for r in readings if isinstance(r, BallBeam)) < drop


@pytest.mark.parametrize("seed", SEEDS)
def test_each_beam_sees_every_turn_once_unless_it_is_meant_to_fail(seed: int) -> None:
    scene, readings = play("valid", seed)
    assert scene.truth.revolutions is not None
    for beam in range(len(wheel.AMERICAN.beams_deg)):
        times = [r.t for r in readings if isinstance(r, BallBeam) and r.beam == beam]
        assert abs(len(times) - scene.truth.revolutions) <= 1
        laps = [b - a for a, b in pairwise(times)]
        assert all(later > earlier - 1500 for earlier, later in pairwise(laps))


def test_a_dead_beam_is_never_seen() -> None:
    _, feed, _ = wheel.simulate(5, n=4, wheel=wheel.AMERICAN, dead_beams=frozenset((1,)))
    assert {r.beam for _, r in feed if isinstance(r, BallBeam)} == {0, 2}


@pytest.mark.parametrize("on", [wheel.AMERICAN, TWO_BEAMS], ids=["three beams", "two beams"])
def test_a_dying_beam_misses_the_rest_of_the_run(on: Wheel) -> None:
    missed_most = 0
    for seed in SEEDS:
        _, readings = play("dying_beam", seed, on)
        pulses = [r.beam for r in readings if isinstance(r, BallBeam)]
        passes = [pulses.count(beam) for beam in range(len(on.beams_deg))]
        missed_most = max(missed_most, max(passes) - min(passes))
    assert missed_most > 1


def test_a_spin_with_a_dying_beam_may_be_reviewed_only_if_one_other_beam_remains() -> None:
    assert play("dying_beam", 1, TWO_BEAMS)[0].truth.allowed == ("valid", "review")
    assert play("dying_beam", 1)[0].truth.allowed == ("valid",)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ball_runs_against_the_rotor_unless_it_is_meant_not_to(seed: int) -> None:
    for kind, against in (("valid", True), ("same_direction", False)):
        _, readings = play(kind, seed)
        first = [r for r in readings if isinstance(r, BallBeam)][:2]
        ball = "ccw" if (first[0].beam + 1) % 3 == first[1].beam else "cw"
        rotor = next(r.direction for r in readings if isinstance(r, RotorIndex) and r.t > first[0].t)
        assert (ball != rotor) is against


def test_spins_near_four_turns_may_be_reviewed_but_are_never_called_wrong() -> None:
    for kind, wrong in (("edge_short", "valid"), ("edge_long", "void")):
        assert wrong not in play(kind, 1)[0].truth.allowed


def test_random_wheels_can_always_determine_the_balls_direction() -> None:
    for seed in range(200):
        beams = sorted(wheel.draw_wheel_geometry(Random(seed)).beams_deg)
        gaps = [(b - a) % 360 for a, b in zip(beams, [*beams[1:], beams[0]], strict=True)]
        assert 2 <= len(beams) <= 5
        assert len(beams) > 2 or max(gaps) - min(gaps) >= 90
