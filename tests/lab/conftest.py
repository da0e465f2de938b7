"""Fixtures that build the lab's machines once, and hooks that order its tests and print their figures."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.lab import kernel, results, root
from tests.lab.cache import CannotBuild
from tests.lab.machine import Machine
from tests.lab.report import Report

HERE = Path(__file__).parent
TEST_S = 900
"""Time limit of a test. It is longer than a machine's limit, so that a hung guest is reported with its last
lines."""
MakeMachine = Callable[..., Machine]
FIGURES = "lab"
REPORT = pytest.StashKey[Report]()
PASSED = pytest.StashKey[bool]()
_LONG = ("day", "debian", "upgrade", "cuts", "blocks", "units", "wheel")
LONGEST_FIRST = tuple(f"test_{what}" for what in _LONG)
"""The longest tests begin first, so that no core waits for them at the end.

Guests run in parallel. Each process runs its part of the list from the start, and then takes over tests from
the end of another part. The test after the running one is never taken over, so each part's longest test is
followed by its shortest.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the lab's tests, which only `make lab` runs, and begin each process with a long test.

    The time limit applies only to the test itself. The builds before the first test have the limit `BUILD_S`
    per step.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.lab)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(TEST_S, func_only=True))
    items.sort(key=_place)
    if items and all(item.path.is_relative_to(HERE) for item in items):
        count = _processes(items[0].config)
        parts = [items[nth::count] for nth in range(count)]
        items[:] = [item for part in parts for item in (*part[:1], *part[1:][-1:], *part[1:-1])]


def _processes(config: pytest.Config) -> int:
    """Return the number of processes that run the tests."""
    shared: dict[str, int] = getattr(config, "workerinput", {})
    return shared.get("workercount", 1)


def _place(item: pytest.Item) -> int:
    name = item.path.stem
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


class Worker(Protocol):
    """A test process, as its controlling process sees it."""

    config: pytest.Config
    workeroutput: dict[str, list[str]]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = Report()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the figures of a test process to the process that prints them."""
    output: dict[str, list[str]] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[FIGURES] = session.config.stash[REPORT].notes


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    """Collect the figures of a process that has finished."""
    node.config.stash[REPORT].notes += node.workeroutput.get(FIGURES, ())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash[REPORT].lines():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> Report:
    """Return the run's figures."""
    return pytestconfig.stash[REPORT]


@pytest.fixture(scope="session")
def built() -> tuple[Path, Path]:
    """Return the kernel and the disk; skip the test with a message if they can't be built.

    Both are built at the same time, because most of the disk's build is waiting for packages. With
    LAB_BUILD=no, the kernel is not built, and only an existing kernel is used.
    """
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("the lab needs /dev/shm for its machine's memory")
    try:
        if os.environ.get("LAB_BUILD") == "no":
            return kernel.kernel(), root.disk()
        with ThreadPoolExecutor() as builders:
            program, disk = builders.submit(kernel.kernel), builders.submit(root.disk)
        return program.result(), disk.result()
    except CannotBuild as why:
        pytest.skip(f"the lab cannot be built here: {why}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record on a test whether it passed, for `_unless_kept`."""
    outcome = yield
    if call.when == "call":
        item.stash[PASSED] = outcome.passed
    return outcome


@pytest.fixture(autouse=True)
def _unless_kept(request: pytest.FixtureRequest, report: Report) -> Iterator[None]:
    """Skip a long test that has passed with the same files, and show its figures.

    LAB_AGAIN=1 runs the test again.
    """
    test: pytest.Item = request.node
    if test.get_closest_marker("long") is None:
        yield
        return
    result = None if os.environ.get("LAB_AGAIN") else results.kept(test.name)
    if result is not None:
        report.notes += [f"{note} ({result.passed_at})" for note in result.notes]
        pytest.skip(f"passed with the same files at {result.passed_at}; LAB_AGAIN=1 runs it again")
    before = len(report.notes)
    yield
    if test.stash.get(PASSED, False):
        results.keep(test.name, report.notes[before:])


@pytest.fixture
def machine(built: tuple[Path, Path], tmp_path: Path) -> Iterator[MakeMachine]:
    """Make machines for one test, and cut the power of those that are still running at the test's end."""
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
