"""Debian 13 runs the tests and boards under MicroPython; an arm64 Debian installs, replays and plays."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.cache import BUILD_S, CannotBuild, alone
from tests.lab.debian import SOURCES, Debian, copy_checkout
from tests.lab.report import Report
from tests.lab.root import CHECKOUT, product

TRIXIE = Debian(
    "trixie",
    "amd64",
    ("python3", "python3-venv", "make", "git", "ca-certificates", "micropython", "procps", "systemd"),
)
ARM64 = Debian("bookworm", "arm64", ("python3", "python3-venv", "make", "ca-certificates", "procps"))
TESTS_S = 3000
INSTALL_S = BUILD_S
TABLECTL = "/usr/local/bin/tablectl"
BOARDS = ("drivers/firmware",)
"""Tests of the boards' files with the real daemon, under MicroPython if it is installed."""
SUITE = ("drivers", "rules", "games", "engine", "journal", "settings", "replay", "app")
DEMO = "demo --throws 8 --spins 3 --games 1 --deals 2 --fast"
PASSED = re.compile(r"(\d+) passed")


def _with_tools(debian: Debian, root: Path) -> None:
    copy_checkout(root)
    debian.run(root, "make .venv/.dev", folder=SOURCES, timeout_s=INSTALL_S)


def _recipe() -> bytes:
    return b"".join((CHECKOUT / name).read_bytes() for name in ("requirements-dev.lock", "pyproject.toml"))


@pytest.fixture
def trixie() -> Iterator[Path]:
    """Provide a Debian 13 with MicroPython and this checkout's tools, for one test at a time."""
    try:
        root = TRIXIE.root("tools", _with_tools, _recipe())
    except CannotBuild as why:
        pytest.skip(f"Debian 13 is not available here: {why}")
    with alone(root):
        copy_checkout(root)
        yield root


def _tests(root: Path, *folders: str) -> str:
    paths = " ".join(f"tests/{folder}" for folder in folders)
    pytest_ = f"nice .venv/bin/python -m pytest -q -n 2 -m 'not slow' {paths}"
    return TRIXIE.run(root, pytest_, folder=SOURCES, timeout_s=TESTS_S)


@pytest.mark.long
@pytest.mark.timeout(TESTS_S + INSTALL_S, func_only=True)
def test_a_throw_and_a_spin_sensed_by_boards_under_micropython_are_settled(
    trixie: Path, report: Report
) -> None:
    version = TRIXIE.run(trixie, "micropython -c 'import sys; print(sys.version)'").strip()

    said = _tests(trixie, *BOARDS)

    report.note("boards under MicroPython", f"{version}: {said.splitlines()[-1]}")
    assert "MicroPython's unix port" not in said, "the tests under MicroPython were skipped"
    assert PASSED.search(said)


@pytest.mark.long
@pytest.mark.timeout(TESTS_S + INSTALL_S, func_only=True)
def test_debian_13_runs_the_tests(trixie: Path, report: Report) -> None:
    said = _tests(trixie, *SUITE)

    report.note("the tests on Debian 13", said.splitlines()[-1])
    assert PASSED.search(said)


def _installed(debian: Debian, root: Path) -> None:
    copy_checkout(root)
    install = "make install TABLE=craps EXTRAS=journal,hardware,settlement PYTHON=/usr/bin/python3"
    debian.run(root, install, folder=SOURCES, timeout_s=INSTALL_S)


@pytest.fixture
def arm64() -> Iterator[Path]:
    """Provide an arm64 Debian 12 with the controller installed, for one test at a time."""
    try:
        root = ARM64.root("installed", _installed, product())
    except CannotBuild as why:
        pytest.skip(f"an arm64 Debian is not available here: {why}")
    with alone(root):
        yield root


@pytest.mark.long
@pytest.mark.timeout(TESTS_S, func_only=True)
def test_an_arm64_debian_replays_every_recorded_log_as_expected(arm64: Path, report: Report) -> None:
    logs = sorted((CHECKOUT / "tests/logs").glob("*.jsonl.gz"))
    assert logs
    folder = f"{SOURCES}/tests/logs"
    expected = [
        log for log in logs if (log.parent / log.name.replace(".jsonl.gz", ".expected.jsonl")).exists()
    ]
    checks = [
        f"{TABLECTL} replay {log.name} --check {log.name.replace('.jsonl.gz', '.expected.jsonl')} >/dev/null"
        for log in expected
    ]

    ARM64.run(arm64, " && ".join(["true", *checks]), folder=folder, timeout_s=TESTS_S)

    report.note("replays on arm64 under qemu", f"{len(checks)} of {len(checks)} as expected")
    assert checks


@pytest.mark.long
@pytest.mark.timeout(TESTS_S, func_only=True)
def test_a_demonstration_on_arm64_equals_the_one_here(arm64: Path, report: Report) -> None:
    there = ARM64.run(arm64, f"{TABLECTL} {DEMO}", timeout_s=TESTS_S)

    here = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", *DEMO.split()],
        cwd=CHECKOUT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    played = _played(there)
    assert played == _played(here.stdout)
    report.note(
        "a demonstration on arm64 under qemu", f"{len(played)} lines, identical to the host's: {played[-1]}"
    )


def _played(said: str) -> list[str]:
    """Return the demonstration without the suggested commands, which differ in a checkout."""
    played, _, _ = said.partition("\nTry next\n")
    assert "calls are correct" in played
    return played.strip().splitlines()
