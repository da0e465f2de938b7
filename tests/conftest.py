"""Configuration and fixtures for the tests of every package."""

import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine generates examples slowly, which is not a fault of the tested code.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")

TESTS = Path(__file__).parent
LIVE = (
    *("app", "cli", "console", "people", "publish", "settlement_service", "supply", "systemd", "technician"),
    *("upgrade", "sim", "drivers/link", "drivers/vision", "journal/test_power_cuts.py"),
)
"""Packages whose tests start processes, brokers, databases or browsers, or play whole sessions."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of tests that a run leaves out; the lab runs only if `-m` names it."""
    wanted = config.getoption("markexpr")
    if collection_path == TESTS / "lab" and "lab" not in wanted:
        return True
    return True if "not live" in wanted and _is_live(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make check` runs and `make test` leaves out."""
    for item in items:
        if _is_live(item.path):
            item.add_marker(pytest.mark.live)


@cache
def _is_live(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / live) for live in LIVE)


@pytest.fixture
def hears_signals() -> Iterator[None]:
    """Restore the default handling of signals, which a shell or nohup ignores for a background job."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
