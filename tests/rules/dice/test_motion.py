"""Lines through track points, and the turn at which two lines meet."""

from random import Random
from statistics import fmean, pstdev

import pytest

from controller.rules.dice.motion import Turn, line, line_from, line_until, turn_between

NOISE = 2.0


def turn_at(place: float, *, speed: float = 4.0, back: float = 0.8, seed: int | None = None) -> Turn:
    """Return the turn found for a die that turned here, 2 ms after the tenth point (points 11 ms apart)."""
    rng = Random(seed)
    times, places = [], []
    for i in range(20):
        t = 11.0 * i
        since = t - 101.0
        x = place - speed * since if since < 0 else place + back * since
        times.append(t)
        places.append(x + (0.0 if seed is None else rng.gauss(0.0, NOISE)))
    before, after = line_until(times, places, 9, NOISE), line_from(times, places, 10, NOISE)
    return turn_between(before, after, times[9], times[10])


@pytest.mark.parametrize("place", [-3.0, 0.0, 7.5, 24.0])
def test_a_turn_between_two_points_is_found_with_its_place_and_time(place: float) -> None:
    turn = turn_at(place)
    assert abs(turn.place - place) < 1.0
    assert abs(turn.t - 101.0) < 0.5
    assert turn.misfit < 0.1
    assert turn.change == pytest.approx(4.8, abs=0.2)


def test_the_error_of_a_turn_is_within_its_stated_bound() -> None:
    turns = [turn_at(0.0, seed=seed) for seed in range(300)]
    errors = [turn.place / turn.sd for turn in turns]
    assert abs(fmean(errors)) < 0.35
    assert 0.4 < pstdev(errors) < 1.1
    assert max(turn.sd for turn in turns) < 3.0


def test_a_turn_forced_to_a_wrong_time_fits_badly() -> None:
    times = [11.0 * i for i in range(12)]
    places = [max(300.0 - 4.0 * t, 0.0) for t in times]
    before, after = line_until(times, places, 5, NOISE), line_from(times, places, 6, NOISE)
    assert turn_between(before, after, 56.0, 58.0).misfit > 9.0


def test_an_extrapolated_line_has_a_larger_error() -> None:
    drawn = line([0.0, 11.0, 22.0], [0.0, 44.0, 88.0], NOISE, 22.0)
    assert drawn.variance_at(22.0) < drawn.variance_at(33.0) < drawn.variance_at(90.0)


def test_a_single_point_gives_a_place_and_no_speed() -> None:
    drawn = line([5.0], [70.0], NOISE, 5.0)
    assert (drawn.at(5.0), drawn.speed) == (70.0, 0.0)
    assert drawn.variance_at(16.0) > 100.0
