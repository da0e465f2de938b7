"""Tests of the conversion of node time to table time, with an error below a millisecond."""

from collections.abc import Callable
from random import Random

import pytest

from drivers.node.requests import MAX_CONTRADICTIONS, ClockAnswer, ClockStepError, NodeClock
from drivers.node.sentences import CLOCK_US, FIRST_PING_US, PING_EVERY_US

Delay = Callable[[Random], float]
HOUR_US = 3_600_000_000


class Board:
    """A node's clock, with its value at table time 0 and its rate."""

    def __init__(self, start_us: int, drift: float) -> None:
        self.start_us = start_us
        self.drift = drift

    def at(self, table_us: float) -> int:
        return int(self.start_us + table_us * (1 + self.drift)) % CLOCK_US


def ask(clock: NodeClock, board: Board, at_us: float, there_us: float, returned_us: float) -> None:
    got = at_us + there_us
    said = got + 150
    clock.learn(ClockAnswer(int(at_us), board.at(got), board.at(said), int(said + returned_us)))


def errors_of(
    board: Board, there: Delay, back: Delay, *, seed: int, length_us: float = HOUR_US
) -> list[float]:
    """Return the errors, in microseconds and in rising order, of times spread over the run."""
    rng = Random(seed)
    clock = NodeClock()
    errors = []
    now = 0.0
    while now < length_us:
        ask(clock, board, now, there(rng), back(rng))
        if clock.ready:
            for _ in range(3):
                seen = now + rng.random() * PING_EVERY_US
                arrived = int(seen + rng.random() * 80_000)
                errors.append(abs(clock.to_table(board.at(seen), arrived) - seen))
        now += PING_EVERY_US if clock.answers >= 8 else FIRST_PING_US
    return sorted(errors)


def usb(rng: Random) -> float:
    return 200 + rng.random() * 900


def quick(rng: Random) -> float:
    return 100 + rng.expovariate(1 / 300)


def slow_at_times(rng: Random) -> float:
    return 100 + rng.expovariate(1 / 2000)


def busy_at_times(rng: Random) -> float:
    return 150 + (30_000 if rng.random() < 0.1 else rng.random() * 100)


@pytest.mark.parametrize("drift", [100e-6, -100e-6])
@pytest.mark.parametrize(
    ("there", "back"), [(usb, usb), (quick, slow_at_times), (slow_at_times, quick), (usb, busy_at_times)]
)
def test_an_hour_with_drift_wrap_and_jitter_stays_within_a_millisecond(
    drift: float, there: Delay, back: Delay
) -> None:
    board = Board(CLOCK_US - 600_000_000, drift)
    for seed in (1, 2):
        errors = errors_of(board, there, back, seed=seed)
        assert errors[len(errors) * 99 // 100] < 1000


def test_the_clock_of_a_board_that_warms_up_is_followed() -> None:
    board = Board(0, 0.0)
    clock = NodeClock()
    rng = Random(3)
    now, worst = 0.0, 0.0
    while now < 600e6:
        drift = 30e-6 * now / 600e6
        board.start_us += int(PING_EVERY_US * drift)
        ask(clock, board, now, usb(rng), usb(rng))
        if clock.ready:
            seen = now + 500_000
            worst = max(worst, abs(clock.to_table(board.at(seen), int(seen)) - seen))
        now += PING_EVERY_US
    assert worst < 1000


def settled(board: Board) -> tuple[NodeClock, float]:
    clock = NodeClock()
    now = 0.0
    for _ in range(60):
        ask(clock, board, now, 300, 300)
        now += PING_EVERY_US
    return clock, now


def test_one_impossible_answer_is_ignored() -> None:
    board = Board(5_000_000, 20e-6)
    clock, now = settled(board)
    stray = Board(board.start_us + 50_000, 20e-6)
    ask(clock, stray, now, 300, 300)
    assert clock.outliers == 1
    assert abs(clock.to_table(board.at(now), int(now)) - now) < 100


def test_a_clock_that_was_set_is_noticed_after_three_answers() -> None:
    board = Board(5_000_000, 20e-6)
    clock, now = settled(board)
    stepped = Board(board.start_us + 50_000, 20e-6)
    for _ in range(MAX_CONTRADICTIONS - 1):
        ask(clock, stepped, now, 300, 300)
        now += PING_EVERY_US
    with pytest.raises(ClockStepError, match="clock was reset"):
        ask(clock, stepped, now, 300, 300)


def test_a_clock_with_an_impossible_rate_is_refused() -> None:
    with pytest.raises(ClockStepError, match=r"found a drift of -[0-9]+ ppm"):
        settled(Board(0, 700e-6))


def test_an_answer_dated_before_its_query_is_ignored() -> None:
    clock = NodeClock()
    clock.learn(ClockAnswer(sent_us=1000, received_us=0, answered_us=5000, returned_us=2000))
    assert (clock.answers, clock.outliers) == (0, 1)


def test_the_time_of_an_older_reading_is_found_across_the_wrap() -> None:
    board = Board(CLOCK_US - 60_000_000, 0.0)
    clock, _ = settled(board)
    now = 60_030_000.0
    assert board.at(now) < board.at(now - 60_000)
    assert abs(clock.to_table(board.at(now - 60_000), int(now)) - (now - 60_000)) < 100


def test_the_stated_error_covers_the_real_error() -> None:
    board = Board(77, 40e-6)
    clock = NodeClock()
    now = 0.0
    for _ in range(40):
        ask(clock, board, now, 200, 2200)
        now += PING_EVERY_US
    assert abs(clock.to_table(board.at(now), int(now)) - now) <= clock.error_us
