"""Tests of the inlet: its limit, its order, and reports of discarded arrivals."""

from threading import Thread

from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.link.link import Arrival, Backoff, Inlet, LinkDown, Overflow


def drained(inlet: Inlet) -> list[Arrival]:
    arrivals = []
    while (arrival := inlet.take(0)) is not None:
        arrivals.append(arrival)
    return arrivals


def test_posted_arrivals_are_taken_in_order() -> None:
    inlet = Inlet()
    inlet.post("a", 1, b"x")
    inlet.post("b", 2, b"y")
    assert drained(inlet) == [Arrival("a", 1, b"x"), Arrival("b", 2, b"y")]


def test_an_empty_queue_returns_nothing() -> None:
    assert Inlet().take(0) is None
    assert Inlet().take(0.001) is None


def test_dropped_arrivals_are_reported_where_they_are_missing() -> None:
    inlet = Inlet(size=2)
    for number in range(5):
        inlet.post("a", number, b"12")
    assert inlet.take(0) == Arrival("a", 0, b"12")
    inlet.post("a", 9, b"34")
    assert drained(inlet) == [
        Arrival("a", 1, b"12"),
        Arrival("a", 2, Overflow(6)),
        Arrival("a", 9, b"34"),
    ]
    assert inlet.lost == 6


def test_a_source_whose_last_arrivals_were_dropped_is_reported_too() -> None:
    inlet = Inlet(size=1)
    inlet.post("a", 1, b"1")
    inlet.post("b", 2, b"22")
    assert drained(inlet) == [Arrival("a", 1, b"1"), Arrival("b", 2, Overflow(2))]


def test_there_is_always_room_to_report_a_link_down() -> None:
    inlet = Inlet(size=1)
    inlet.post("a", 1, b"1")
    inlet.post("a", 2, LinkDown("unplugged", "gone"))
    assert [arrival.t_us for arrival in drained(inlet)] == [1, 2]


def test_several_threads_lose_nothing_unreported() -> None:
    inlet = Inlet(size=64)

    def post(source: str) -> None:
        for number in range(2000):
            inlet.post(source, number, b"xx")

    threads = [Thread(target=post, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    arrivals: list[Arrival] = []
    while any(thread.is_alive() for thread in threads):
        arrivals += drained(inlet)
    arrivals += drained(inlet)
    for name in "abc":
        mine = [arrival.event for arrival in arrivals if arrival.source == name]
        reported = sum(event.lost for event in mine if isinstance(event, Overflow))
        assert sum(len(event) for event in mine if isinstance(event, bytes)) + reported == 4000


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20))
def test_delays_grow_up_to_a_limit(chances: list[float]) -> None:
    draws = iter(chances)
    backoff = Backoff(lambda: next(draws), first_s=0.1, max_s=2.0)
    delays = [backoff.next_s() for _ in chances]
    full = [min(2.0, 0.1 * 2**n) for n in range(len(chances))]
    assert all(most / 2 <= delay <= most for delay, most in zip(delays, full, strict=True))


def test_after_success_the_delays_begin_again() -> None:
    backoff = Backoff(lambda: 0.0, first_s=0.1, max_s=2.0)
    assert [backoff.next_s() for _ in range(3)] == [0.05, 0.1, 0.2]
    backoff.reset()
    assert backoff.next_s() == 0.05
