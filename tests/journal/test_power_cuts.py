"""Killed processes and power cuts lose no published outcome."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.journal import store
from tests.journal import crash
from tests.journal.rig import PATIENCE_S

STATES = 40
KILLS = 25


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> crash.RecordedSession:
    """Record one session, from which all crash states are derived."""
    return crash.record(tmp_path_factory.mktemp("played"))


@pytest.fixture
def careless() -> Iterator[None]:
    """Disable the writer's waits for the disk."""
    store.SYNCHRONOUS = "NORMAL"
    yield
    store.SYNCHRONOUS = "FULL"


def test_the_recorded_session_includes_both_kinds_of_checkpoint(played: crash.RecordedSession) -> None:
    places = [place for place, line in enumerate(played.log) if line.op == "told"]
    during = played.log[places[0] : places[-1]]
    assert {(line.name, line.op) for line in during} >= {
        ("journal.db", "write"),
        ("journal.db", "sync"),
        ("journal.db-wal", "truncate"),
        ("head", "write"),
        ("head", "sync"),
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_no_crash_state_loses_a_published_outcome(
    played: crash.RecordedSession, tmp_path: Path, seed: int
) -> None:
    assert crash.losses(played, STATES // 2, seed, tmp_path) == {}


@pytest.mark.usefixtures("careless")
def test_a_writer_that_does_not_wait_is_caught(tmp_path: Path) -> None:
    """The same states must show losses with synchronous=NORMAL, or the check could not detect a loss."""
    careless_session = crash.record(tmp_path)
    store.SYNCHRONOUS = "FULL"
    found = crash.losses(careless_session, STATES, 1, tmp_path)
    assert found["lost"] + found["journal_cut_short"] > 0


def test_no_kill_loses_a_published_outcome() -> None:
    """The kills happen in separate processes, between and inside commits, with a restart after each kill."""
    command = [sys.executable, "-m", "tests.journal.soak", "--kills", str(KILLS)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert "killed inside a write" in done.stdout
    assert "killed from outside" in done.stdout


@pytest.mark.slow
def test_many_crash_states_lose_nothing(played: crash.RecordedSession, tmp_path: Path) -> None:
    assert crash.losses(played, 500, 3, tmp_path) == {}
