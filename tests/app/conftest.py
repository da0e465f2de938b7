"""Fixtures: a fresh table for every test of the daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.app import daemon as daemon_module
from controller.app import running as running_module
from controller.app.options import Options
from controller.cli import link
from tests.app.house import House, HouseMaker
from tests.app.rig import PATIENCE_S, Table


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the timeouts in the test's process to values for a busy machine."""
    for module, limit in ((link, "TIMEOUT_S"), (running_module, "STOP_S"), (daemon_module, "STOP_S")):
        monkeypatch.setattr(module, limit, PATIENCE_S)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Yield a craps table with its own folder. Stop all its processes afterwards."""
    one = Table(tmp_path)
    yield one
    if one.process is not None:
        one.kill()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[HouseMaker]:
    """Yield a function that opens daemons in the test's process. Close them afterwards."""
    made: list[House] = []

    def make(**settings: object) -> House:
        given = {"table": "craps", "self_test_devices": False, **settings}
        options = Options(journal=tmp_path / "journal", socket=tmp_path / "control", **given)  # type: ignore[arg-type]  # test settings
        made.append(House(tmp_path, options))
        return made[-1]

    yield make
    for one in made:
        for daemon in one.daemons:
            daemon.close()
