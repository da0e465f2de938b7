"""Messages are offered in order, a limited number at a time, and again after a delay."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.tables import PublishSettings
from controller.publish.events import Message
from controller.publish.sink import Backoff, SilenceMonitor, Window
from tests.publish.house import SECOND_US, half

SETTINGS = PublishSettings(max_in_flight=5, retry_s=1.0, retry_most_s=8.0, max_unacknowledged=10)


def message(seq: int) -> Message:
    """Return an outcome's message; rows of other events separate the outcomes."""
    return Message(3 * seq, seq, f"t/1/{seq}", f"{seq:064x}", b"{}", None)


def test_waits_double_up_to_a_maximum_and_are_shortened_at_random() -> None:
    waits = Backoff(1.0, 8.0, lambda: 0.999999)
    assert [round(waits.next_us() / SECOND_US) for _ in range(6)] == [1, 2, 4, 8, 8, 8]
    waits.shorten()
    assert round(waits.next_us() / SECOND_US) == 8
    waits.reset()
    assert round(waits.next_us() / SECOND_US) == 1
    assert Backoff(1.0, 8.0, lambda: 0.0).next_us() == SECOND_US // 2
    assert max(Backoff(1.0, 1e9, half).next_us() for _ in range(1)) < SECOND_US


def test_a_wait_of_any_length_can_be_doubled() -> None:
    waits = Backoff(1.0, 60.0, half)
    assert [waits.next_us() for _ in range(5000)][-1] == 45 * SECOND_US


def test_unacknowledged_outcomes_are_offered_again_in_order() -> None:
    window = Window(SETTINGS, half)
    window.add([message(1), message(2), message(3)], 0)
    assert window.due(0) == ()
    window.remove("t/1/2", 0)
    assert window.due(SECOND_US) == (message(1), message(3))
    assert window.due(SECOND_US) == ()
    assert window.due(3 * SECOND_US) == (message(1), message(3))


def test_an_unacknowledged_outcome_holds_up_those_that_follow() -> None:
    window = Window(SETTINGS, half)
    window.add([message(seq) for seq in (1, 2, 3, 4, 5)], 0)
    for seq in (2, 3, 4):
        window.remove(f"t/1/{seq}", 0)
    assert window.room == 0
    window.remove("t/1/1", 0)
    assert window.room == 4


def test_only_an_acknowledgement_with_the_right_chain_counts() -> None:
    window = Window(SETTINGS, half)
    window.add([message(1)], 0)
    assert window.holds("t/1/1", message(1).chain)
    assert not window.holds("t/1/1", message(2).chain)
    assert not window.holds("t/1/2", message(2).chain)


def test_too_many_waiting_outcomes_are_a_fault_until_half_of_them_are_gone() -> None:
    monitor = SilenceMonitor(SETTINGS)
    assert [monitor.behind(waiting) for waiting in (10, 11, 6, 5, 10)] == [False, True, True, False, False]


def test_without_a_limit_waiting_outcomes_are_never_too_many() -> None:
    assert not SilenceMonitor(PublishSettings()).behind(1_000_000)


def test_too_long_a_silence_is_a_fault_until_the_next_acknowledgement() -> None:
    monitor = SilenceMonitor(SETTINGS)
    monitor.silent(0, 1)
    assert not monitor.silent(120 * SECOND_US, 1)
    assert monitor.silent(121 * SECOND_US, 1)
    monitor.note_acknowledgement(122 * SECOND_US)
    assert not monitor.silent(122 * SECOND_US, 1)


def test_silence_while_nothing_waits_does_not_count() -> None:
    monitor = SilenceMonitor(SETTINGS)
    monitor.silent(0, 0)
    monitor.silent(1000 * SECOND_US, 0)
    assert not monitor.silent(1001 * SECOND_US, 1)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["offer", "acknowledge", "wait", "lose"]), st.integers(0, 9))))
def test_whatever_happens_due_outcomes_are_in_order_and_within_limits(
    steps: list[tuple[str, int]],
) -> None:
    window = Window(SETTINGS, half)
    next_seq, now_us, open_seqs = 1, 0, set[int]()
    for step, value in steps:
        match step:
            case "offer":
                fresh = [message(next_seq + place) for place in range(min(value, window.room))]
                next_seq += len(fresh)
                window.add(fresh, now_us)
                open_seqs |= {one.seq for one in fresh}
            case "acknowledge" if open_seqs:
                seq = sorted(open_seqs)[value % len(open_seqs)]
                open_seqs.discard(seq)
                window.remove(f"t/1/{seq}", now_us)
            case "wait":
                now_us += value * SECOND_US
            case "lose":
                window.offer_again_now(now_us)
        due = [one.seq for one in window.due(now_us)]
        assert due in ([], sorted(open_seqs))
        assert len(window) == len(open_seqs)
        if open_seqs:
            assert max(open_seqs) - min(open_seqs) < 5
            assert window.due_us is not None
            assert window.due_us <= now_us + 8 * SECOND_US
