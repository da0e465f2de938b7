"""Common behaviour of all commands: name, numbers, stopping on a signal, and garbage collection."""

import argparse
import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Condition, Event, Lock

import pytest

from controller.cli.shell import collector_paused, on_stop, own_name, real_number, startup_frozen
from tests.app.rig import PATIENCE_S


@pytest.mark.parametrize(
    ("called", "on_path", "named"),
    [
        (".venv/bin/tablectl", False, ".venv/bin/tablectl"),
        (".venv/bin/tablectl", True, "tablectl"),
        ("a folder/tablectl", False, "'a folder/tablectl'"),
        ("controller/cli/main.py", False, "tablectl"),
    ],
)
def test_a_command_is_named_as_the_callers_shell_finds_it(
    called: str, on_path: bool, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if on_path:
        (tmp_path / "tablectl").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [called, "simulate"])
    assert own_name() == named


@pytest.fixture
def handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers_as_before")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_command_even_if_the_main_thread_holds_the_stop_lock(
    number: signal.Signals,
) -> None:
    lock, stopped = Condition(Lock()), Event()

    def stop() -> None:
        with lock:
            stopped.set()

    on_stop(stop)
    with lock:
        signal.raise_signal(number)
        assert not stopped.is_set()
    assert stopped.wait(PATIENCE_S)


def test_a_service_excludes_its_modules_from_garbage_collection() -> None:
    """A full collection of all modules would stop its threads. Later objects are still collected."""
    loaded: list[list[int]] = [[] for _ in range(100)]
    with startup_frozen():
        assert gc.get_freeze_count() > len(loaded)
        assert not any(seen is loaded for seen in gc.get_objects())
        later: list[object] = []
        assert any(seen is later for seen in gc.get_objects())
    assert gc.get_freeze_count() == 0


def import_in_a_pause() -> None:
    """Import a missing module."""
    with collector_paused():
        assert not gc.isenabled()
        raise ImportError


@pytest.mark.parametrize("was_on", [True, False])
def test_imports_pause_the_garbage_collector_and_restore_its_state(was_on: bool) -> None:
    """The test includes imports that fail."""
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with pytest.raises(ImportError):
            import_in_a_pause()
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("text", ["0.9", "10001", "nan", "inf", "-inf", "", "six"])
def test_a_number_outside_its_range_is_refused_with_the_range(text: str) -> None:
    expected = f"found '{text}', expected a number of pixels from 1 to 10000"
    with pytest.raises(argparse.ArgumentTypeError, match=expected):
        real_number(1, 10_000, "pixels")(text)


@pytest.mark.parametrize(("text", "number"), [("1", 1.0), ("71.5", 71.5), ("1e4", 10_000.0)])
def test_a_number_within_its_range_is_accepted(text: str, number: float) -> None:
    assert real_number(1, 10_000, "pixels")(text) == number
