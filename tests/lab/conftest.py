"""The lab's machines, built once, and where their figures are printed."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import kernel, root
from tests.lab.cache import CannotBuild
from tests.lab.machine import Machine
from tests.lab.report import Report

HERE = Path(__file__).parent
TEST_S = 900
"""Above a machine's own patience, so that a guest that hangs is told with its console's last lines."""
MakeMachine = Callable[..., Machine]
REPORT = pytest.StashKey[Report]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the lab's tests: nothing but `make lab` runs them.

    The limit of a test is for the test alone: what is built for the first one has its own, `BUILD_S` a step.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.lab)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(TEST_S, func_only=True))


def pytest_configure(config: pytest.Config) -> None:
    """Begin a report for this run's figures."""
    config.stash[REPORT] = Report()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figures."""
    for line in config.stash[REPORT].lines():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> Report:
    """Return the run's figures."""
    return pytestconfig.stash[REPORT]


@pytest.fixture(scope="session")
def built() -> tuple[Path, Path]:
    """Return kernel and disk, or skip with what is missing for them."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("the lab needs /dev/shm for its machine's memory")
    try:
        return kernel.kernel(), root.disk()
    except CannotBuild as why:
        pytest.skip(f"the lab cannot be built here: {why}")


@pytest.fixture
def machine(built: tuple[Path, Path], tmp_path: Path) -> Iterator[MakeMachine]:
    """Make machines for one test; whatever still runs at its end is cut off."""
    made: list[Machine] = []

    def make(**settings: Any) -> Machine:
        one = Machine(*built, tmp_path / f"machine-{len(made)}", **settings)
        made.append(one)
        return one

    yield make
    for one in made:
        if one.runs:
            one.cut()
        shutil.rmtree(one.folder, ignore_errors=True)
