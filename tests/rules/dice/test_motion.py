"""Curves through track points, and the turn where the way in meets the way out."""

from random import Random
from statistics import fmean, pstdev

import pytest

from controller.rules.dice.motion import Sample, curve, turns_near

NOISE = 2.0


def turn_at(place: float, *, speed: float = 4.0, back: float = 0.8, seed: int | None = None) -> list[Sample]:
    """Give points 11 ms apart of a die that turns at this place 2 ms after its tenth point."""
    rng = Random(seed)
    samples = []
    for i in range(20):
        t = 11.0 * i
        since = t - 101.0
        x = place - speed * since if since < 0 else place + back * since
        samples.append((t, x + (0.0 if seed is None else rng.gauss(0.0, NOISE))))
    return samples


@pytest.mark.parametrize("place", [-3.0, 0.0, 7.5, 24.0])
def test_a_turn_between_two_points_is_found_where_and_when_it_was(place: float) -> None:
    turn = turns_near(turn_at(place), 8, 10, NOISE)[0]
    assert abs(turn.place - place) < 1.0
    assert abs(turn.t - 101.0) < 0.5
    assert turn.speed_in == pytest.approx(-4.0, abs=0.1)
    assert turn.speed_out == pytest.approx(0.8, abs=0.1)


def test_the_errors_of_a_turn_are_what_it_says() -> None:
    turns = [turns_near(turn_at(0.0, seed=seed), 8, 10, NOISE)[0] for seed in range(300)]
    places = [turn.place / turn.place_sd for turn in turns]
    times = [(turn.t - 101.0) / turn.t_sd for turn in turns]
    assert abs(fmean(places)) < 0.35
    assert 0.75 < pstdev(places) < 1.25
    assert 0.75 < pstdev(times) < 1.25
    assert max(turn.place_sd for turn in turns) < 2.5


def test_a_curve_carried_on_says_that_it_knows_less() -> None:
    drawn = curve(turn_at(0.0)[:9][::-1], NOISE)
    assert drawn is not None
    assert drawn.variance_at(88.0) < drawn.variance_at(110.0) < drawn.variance_at(180.0)


@pytest.mark.parametrize("samples", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 5.0)]])
def test_no_curve_goes_through_fewer_than_two_instants(samples: list[Sample]) -> None:
    assert curve(samples, NOISE) is None


def test_a_motion_without_a_turn_has_none() -> None:
    straight = [(11.0 * i, 500.0 - 40.0 * i) for i in range(12)]
    assert turns_near(straight, 5, 7, NOISE) == []
