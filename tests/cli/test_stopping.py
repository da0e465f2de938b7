"""A signal that comes inside the very wait that it ends."""

import signal
from collections.abc import Iterator
from threading import Condition, Event, Lock

import pytest

from controller.cli.shell import on_stop
from tests.app.rig import PATIENCE_S


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_though_the_main_thread_holds_the_lock_that_stopping_takes(
    number: signal.Signals,
) -> None:
    lock, told = Condition(Lock()), Event()

    def stop() -> None:
        with lock:
            told.set()

    on_stop(stop)
    with lock:
        signal.raise_signal(number)
        assert not told.is_set()
    assert told.wait(PATIENCE_S)
