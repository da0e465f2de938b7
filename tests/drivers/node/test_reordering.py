"""Tests of sequence numbers: repeated, missing and lost sentences."""

from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.node.sentences import GIVE_UP_US, RESEND_RETRY_US
from drivers.node.wire import MAX_MISSING, RESTART_GAP, Counters, Loss, ReorderBuffer


def order_of(*numbers: int) -> tuple[ReorderBuffer, Counters, list[str]]:
    counters = Counters()
    order = ReorderBuffer(counters)
    return order, counters, [order.place(seq, 1000 * at) for at, seq in enumerate(numbers)]


def test_a_session_may_begin_with_any_number() -> None:
    assert order_of(7, 8, 9)[2] == ["next", "next", "next"]


def test_missing_numbers_are_requested_from_the_first_to_the_last() -> None:
    order, _, places = order_of(0, 3, 5)
    assert places == ["next", "next", "next"]
    assert order.to_request(2000) == (1, 4)
    assert order.to_request(2000 + RESEND_RETRY_US - 1) is None
    assert order.to_request(2000 + RESEND_RETRY_US) == (1, 4)


def test_a_missing_number_that_arrives_is_recovered_and_no_longer_requested() -> None:
    order, counters, places = order_of(0, 3, 1, 2, 1)
    assert places == ["next", "next", "recovered", "recovered", "repeated"]
    assert order.next_deadline() is None
    assert (counters.gaps, counters.recovered, counters.repeated, counters.lost) == (1, 2, 1, 0)


def test_a_number_that_does_not_arrive_is_lost_since_the_last_one_before_it() -> None:
    order, counters, _ = order_of(0, 1, 4)
    assert order.losses(2000 + GIVE_UP_US - 1) is None
    assert order.losses(2000 + GIVE_UP_US) == Loss(2, since_us=1000)
    assert counters.lost == 2
    assert order.place(2, 90_000) == "reordered"


def test_without_repetition_a_missing_number_is_lost_at_once() -> None:
    order, _, _ = order_of(0, 2)
    assert order.losses(1000, give_up_all=True) == Loss(1, since_us=0)


def test_of_a_long_gap_only_the_last_are_remembered() -> None:
    order, counters, _ = order_of(0, 1001)
    assert order.to_request(1000) == (1001 - MAX_MISSING, 1000)
    assert order.losses(1000) == Loss(1000 - MAX_MISSING, since_us=0)
    assert counters.lost == 1000 - MAX_MISSING


def test_of_many_gaps_only_the_last_are_remembered() -> None:
    order, counters, _ = order_of(*range(0, 4 * MAX_MISSING, 2))
    missing = 2 * MAX_MISSING - 1
    assert order.losses(0) == Loss(missing - MAX_MISSING, since_us=0)
    assert order.losses(10**9) == Loss(MAX_MISSING, since_us=1000 * (missing - MAX_MISSING))
    assert counters.lost == missing


def test_a_number_far_behind_is_a_restart() -> None:
    assert order_of(1000, 1000 - RESTART_GAP, 1000 - RESTART_GAP - 1)[2] == ["next", "repeated", "restarted"]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 120), max_size=60))
def test_every_number_counts_at_most_once_and_each_is_received_missing_or_lost(numbers: list[int]) -> None:
    order, counters, places = order_of(*numbers)
    used = [seq for seq, place in zip(numbers, places, strict=True) if place in ("next", "recovered")]
    assert len(used) == len(set(used))
    order.losses(10**9)
    if used:
        assert counters.lost == max(used) - min(used[:1]) + 1 - len(used)
