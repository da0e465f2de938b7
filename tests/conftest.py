"""What tests of every package may use."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def hears_signals() -> Iterator[None]:
    """Undo for a while what a shell or nohup does to a job in its background: it does not hear these."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
