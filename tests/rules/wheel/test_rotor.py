"""The position of the rotor's mark between its passes, and readings that are not a pass."""

import pytest

from controller.model.readings import RotorIndex, Turning
from controller.rules.wheel.rotor import Rotor

PERIOD_US = 2_500_000


def mark(t: int, direction: Turning = "cw") -> RotorIndex:
    return RotorIndex(t=t, dev="wheel", direction=direction)


def passes(count: int, *, slower_us: int = 20_000, begin_us: int = 1_000_000) -> list[int]:
    times, period = [begin_us], PERIOD_US
    for _ in range(count - 1):
        times.append(times[-1] + period)
        period += slower_us
    return times


def followed(times: list[int]) -> Rotor:
    rotor = Rotor()
    for t in times:
        rotor.add_pass(mark(t))
    return rotor


def test_the_mark_is_placed_between_and_after_its_passes() -> None:
    times = passes(8)
    rotor = followed(times[:6])
    for turn, t in enumerate(times[4:], start=4):
        assert rotor.turns_at(t) == pytest.approx(turn, abs=0.003)


def test_three_passes_do_not_place_it_yet() -> None:
    times = passes(4)
    assert followed(times[:3]).turns_at(times[2] + 1) is None
    assert followed(times).turns_at(times[3] + 1) is not None


def test_long_after_its_last_pass_the_mark_is_not_placed() -> None:
    times = passes(6)
    rotor = followed(times)
    assert rotor.turns_at(times[-1] + 2 * PERIOD_US) is not None
    assert rotor.turns_at(times[-1] + 3 * PERIOD_US) is None


@pytest.mark.parametrize("missed", [1, 2, 3, 4, 5])
def test_a_missed_pass_is_a_gap_of_two_turns(missed: int) -> None:
    times = passes(10)
    rotor = followed([t for i, t in enumerate(times) if i != missed])
    turns = rotor.turns_at(times[-1] + PERIOD_US // 2)
    assert turns is not None
    assert turns % 1.0 == pytest.approx(0.46, abs=0.02)


@pytest.mark.parametrize("stray_us", [3_000, 300_000, 1_100_000, 1_250_000, 2_200_000])
def test_a_stray_pass_counts_for_nothing(stray_us: int) -> None:
    times = passes(10)
    rotor = followed(sorted([*times, times[6] + stray_us]))
    turns = rotor.turns_at(times[-1] + PERIOD_US // 2)
    assert turns is not None
    assert turns % 1.0 == pytest.approx(0.46, abs=0.02)


@pytest.mark.parametrize("stray_us", [1_230_000, 1_250_000, 1_270_000])
def test_turns_are_never_placed_at_twice_or_half_their_speed(stray_us: int) -> None:
    times = passes(14)
    too_many = sorted([*times, times[0] + stray_us])
    too_few = [t for i, t in enumerate(times) if i != 1]
    for marks in (too_many, too_few):
        rotor = Rotor()
        placed = []
        for t in marks:
            rotor.add_pass(mark(t))
            placed.append(rotor.turns_at(t + PERIOD_US // 4))
        placed_turns = [turns % 1.0 for turns in placed if turns is not None]
        assert placed_turns
        assert placed_turns == pytest.approx([0.24] * len(placed_turns), abs=0.02)


def test_uneven_passes_give_no_position() -> None:
    uneven = [t + (100_000 if i % 2 else 0) for i, t in enumerate(passes(10, slower_us=0))]
    rotor = followed(uneven)
    assert rotor.turns_at(uneven[-1] + 1) is None


def test_a_rotor_touched_by_a_hand_is_tracked_again() -> None:
    before, after = passes(6), passes(6, begin_us=20_000_000, slower_us=10_000)
    rotor = followed(before)
    run = rotor.run
    for t in after:
        rotor.add_pass(mark(t, "ccw"))
    assert (rotor.direction, rotor.run) == ("ccw", run + 1)
    assert rotor.turns_at(after[-1]) == pytest.approx(5, abs=0.01)


def test_random_passes_give_no_position() -> None:
    rotor = followed([0, 900_000, 3_700_000, 4_600_000, 9_000_000, 9_800_000, 14_900_000])
    assert rotor.turns_at(15_000_000) is None


@pytest.mark.parametrize("turns", [1.0, 5.0])
def test_the_time_of_future_turns_is_predicted(turns: float) -> None:
    times = passes(12)
    rotor = followed(times[:6])
    at = rotor.after_turns_us(times[5], turns)
    assert at == pytest.approx(times[5 + int(turns)], abs=60_000)


def test_a_rotor_that_slows_to_a_stop_is_distinguished_from_one_whose_index_falls_silent() -> None:
    steady = followed(passes(6, slower_us=5_000))
    stopping = followed([0, 3_000_000, 6_500_000, 11_000_000, 18_000_000])
    assert not steady.has_stopped_by(steady.times_us[-1] + 20_000_000)
    assert stopping.has_stopped_by(40_000_000)
    assert stopping.turns_at(40_000_000) is None
