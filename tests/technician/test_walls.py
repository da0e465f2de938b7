"""A wall sensor's threshold is between the loudest noise and the softest die, or does not exist."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import WallImpact
from controller.replay.log import open_log
from controller.technician.calibration import (
    MIN_MARGIN,
    ListenToWall,
    UnfitError,
    calibrate_wall,
    separate_peaks,
)

LOGS = Path(__file__).parents[1] / "logs"
AT = ("devices", "wall-left", "least_peak")


@given(
    dice=st.lists(st.integers(100, 1023), min_size=5, max_size=20),
    noise=st.lists(st.integers(1, 200), max_size=20),
    before=st.integers(0, 50),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_every_die_is_above_the_threshold_and_all_noise_below(
    dice: list[float], noise: list[float], before: float
) -> None:
    loudest = max(noise, default=before)
    if min(dice) < MIN_MARGIN * loudest:
        with pytest.raises(UnfitError, match=r"found noise with a peak of \d+ and a die with a peak of \d+"):
            calibrate_wall(AT, dice, noise, (), before)
        return
    threshold = calibrate_wall(AT, dice, noise, (), before).values[AT]
    assert isinstance(threshold, float)
    assert loudest < threshold <= min(dice) / 2


def test_distributions_and_margins_are_reported_as_figures() -> None:
    found = calibrate_wall(AT, [200, 300, 400, 500, 600], [10, 20], [250, 40], 0.0)
    assert found.report == (
        "dice      5 impacts: softest 200, median 400, loudest 600",
        "noise     2 impacts: softest 10, median 15, loudest 20",
        "knocks    2 impacts: softest 40, median 145, loudest 250",
        (
            "threshold 63.2: the softest die is 3.2 times the threshold, and the threshold is 3.2 times the"
            " loudest noise"
        ),
        "1 of 2 knocks reach the threshold; only tracks distinguish them from dice",
    )


def test_too_few_throws_give_no_threshold() -> None:
    with pytest.raises(UnfitError, match="found 4 throws, expected at least 5"):
        calibrate_wall(AT, [200, 300, 400, 500], [], [], 0.0)


@pytest.mark.parametrize("name", ["sim-craps-12-034-a", "sim-craps-12-034-b"])
def test_a_recording_separates_dice_from_noise(name: str) -> None:
    with open_log(str(LOGS / f"{name}.jsonl.gz")) as log:
        table, readings = log.header.dice_table, list(log)
    assert table is not None
    dice, room = separate_peaks(readings, "wall-right", "right", table, 12_000)
    assert len(dice) >= 5
    assert len(room) < len(dice)
    found = calibrate_wall(AT, dice, [], [], 0.0)
    assert isinstance(found.values[AT], float)


def impact(peak: float, dev: str = "wall-left") -> WallImpact:
    return WallImpact(t=1, dev=dev, wall="left", pos_mm=1, peak=peak)


def test_noise_is_measured_for_a_quiet_period_and_a_knock_until_it_comes() -> None:
    quiet = ListenToWall("wall-left", "left", "quiet_left", "hands off")
    knock = ListenToWall("wall-left", "left", "knock_left", "knock", max_impacts=1)
    assert not quiet.is_complete(1.0)
    assert quiet.is_complete(5.0)
    assert not knock.is_complete(5.0)
    for step in (quiet, knock):
        step.receive(impact(9))
        step.receive(impact(500, dev="wall-right"))
    assert knock.is_complete(0.0)
    assert quiet.peaks == knock.peaks == [9]
