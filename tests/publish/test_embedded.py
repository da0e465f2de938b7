"""A settlement engine in the same process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Event, Lock, Thread
from typing import Any, TypeVar

import pytest

from controller.publish.embedded import Consumer, EmbeddedSink, EngineBlocked
from controller.publish.events import Acknowledgement, Answer, Message
from controller.publish.sink import Ready, Report
from tests.publish.house import ENGINE, PATIENCE_S, Alarms, Books, House, until

T = TypeVar("T")


class Engine(Consumer):
    """An engine in this process, which a test can make slow or faulty."""

    def __init__(self, house: House) -> None:
        self.books = Books(key=house.rig.key.public)
        self.may_work = Event()
        self.may_work.set()
        self.raises: list[Exception] = []

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        assert self.may_work.wait(PATIENCE_S)
        if self.raises:
            raise self.raises.pop(0)
        for one in self.books.enter(event):
            answer(one)


def house_with(folder: Path) -> tuple[House, Engine]:
    engines: list[Engine] = []

    def sink(house: House) -> EmbeddedSink:
        engines.append(Engine(house))
        return EmbeddedSink(engines[0], house.alarms)

    house = House(folder, sink)
    house.sink.start(house.pump.post)
    return house, engines[0]


def settled(house: House, engine: Engine, count: int, *, offer_again_now: bool = False) -> None:
    turn = house.offer_again_now if offer_again_now else house.turn
    until(lambda: len(engine.books.applied) == count and not house.waiting, turn)
    assert engine.books.seqs == list(range(1, count + 1))


def test_a_session_is_settled_within_the_process(tmp_path: Path) -> None:
    house, engine = house_with(tmp_path)
    settled(house, engine, house.play(30))
    assert not house.alarms.ever
    house.close()


def test_an_engine_that_fails_receives_the_outcome_again(tmp_path: Path) -> None:
    house, engine = house_with(tmp_path)
    engine.raises = [OSError(28, "No space left on device")] * 2
    count = house.play(10)
    settled(house, engine, count, offer_again_now=True)
    assert engine.raises == []
    assert "settlement_failed" in house.alarms.ever
    assert "settlement_failed" not in house.alarms.holding
    house.close()


@pytest.mark.parametrize("code", ["settlement_refused", "settlement_unfit"])
def test_an_engine_that_waits_for_a_person_is_a_fault_until_it_takes_the_outcome(
    tmp_path: Path, code: str
) -> None:
    """The cause is neither a bug nor a full disk, and the remedy differs."""
    house, engine = house_with(tmp_path)
    engine.raises = [
        OSError(28, "No space left on device"),
        EngineBlocked(code, "says why"),
        EngineBlocked(code, "again"),
    ]
    count = house.play(10)
    settled(house, engine, count, offer_again_now=True)
    assert engine.raises == []
    assert [fault for fault in house.alarms.ever if fault in ("settlement_failed", code)] == [
        "settlement_failed",
        code,
    ]
    assert not house.alarms.holding
    house.close()


def test_an_engine_that_hangs_delays_nothing_else(tmp_path: Path) -> None:
    house, engine = house_with(tmp_path)
    engine.may_work.clear()
    count = house.play(10)
    for _ in range(20):
        house.clock.forward(60)
        house.turn()
    assert "settlement_silent" in house.alarms.holding
    engine.may_work.set()
    settled(house, engine, count)
    house.turn()
    assert not house.alarms.holding
    house.close()


def test_what_still_waits_for_the_engine_is_not_handed_over_twice(tmp_path: Path) -> None:
    house, engine = house_with(tmp_path)
    engine.may_work.clear()
    count = house.play(10)
    for _ in range(20):
        house.clock.forward(60)
        house.turn()
    engine.may_work.set()
    settled(house, engine, count, offer_again_now=True)
    assert engine.books.repeats == 0
    house.close()


class Desk(Consumer):
    """A sink without a table, whose answers the test takes."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.answers: Queue[Report] = Queue()
        self.sink = EmbeddedSink(self, Alarms())
        self.sink.start(self.answers.put)
        assert isinstance(self.answers.get(timeout=PATIENCE_S), Ready)

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        self.taken.append(event)
        answer(Acknowledgement(id=event.decode(), chain="", by=ENGINE))

    def answered(self) -> str:
        """Wait for the next acknowledgement; return its id."""
        answer = self.answers.get(timeout=PATIENCE_S)
        assert isinstance(answer, Acknowledgement)
        return answer.id


def message(outcome_id: str) -> Message:
    return Message(n=1, seq=1, id=outcome_id, chain="", event=outcome_id.encode(), players=None)


def test_an_outcome_offered_while_its_acknowledgement_is_in_transit_is_not_handed_over_again() -> None:
    desk = Desk()
    desk.sink.offer([message("a")])
    assert desk.answered() == "a"
    until(lambda: not desk.sink._waiting)
    desk.sink.offer([message("a")])
    desk.sink.offer([message("b")])
    assert desk.answered() == "b"
    assert desk.taken == [b"a", b"b"]
    assert desk.sink.stop(PATIENCE_S)


def test_an_outcome_whose_acknowledgement_was_lost_is_handed_over_again_when_it_is_offered_later() -> None:
    desk = Desk()
    desk.sink.offer([message("a")])
    assert desk.answered() == "a"
    until(lambda: len(desk.taken) == 2, lambda: desk.sink.offer([message("a")]))
    assert desk.answered() == "a"
    assert desk.sink.stop(PATIENCE_S)


class InterruptedQueue(dict[str, bytes]):
    """A queue to which another thread adds an outcome between the check and the first entry."""

    def __init__(self, lock: Lock, offer: Callable[[], None]) -> None:
        super().__init__()
        self._lock = lock
        self._offers = [offer]

    def __iter__(self) -> Iterator[str]:
        return self._seen(super().__iter__())

    def items(self) -> Any:  # dict_items, as the sink's loop reads it
        return self._seen(iter(super().items()))

    def _seen(self, looks: Iterator[T]) -> Iterator[T]:
        if self._offers:
            other = Thread(target=self._offers.pop(), daemon=True)
            other.start()
            while other.is_alive() and not self._lock.locked():
                other.join(0.001)
        return looks


def test_an_offer_during_a_check_of_the_waiting_outcomes_stops_nothing() -> None:
    """The offer must not end the engine's thread, which settles all outcomes."""
    desk = Desk()
    sink = desk.sink
    sink._waiting = InterruptedQueue(sink._lock, lambda: sink.offer([message("second")]))
    sink._waiting["first"] = b"first"
    sink._wakeup.set()
    assert {desk.answered(), desk.answered()} == {"first", "second"}
    assert sink.stop(PATIENCE_S)
