"""A fresh table for every test of the daemon."""

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
    """Set the timeouts inside the test's own process to what a busy machine may need."""
    for module, limit in ((link, "TIMEOUT_S"), (running_module, "STOP_S"), (daemon_module, "STOP_S")):
        monkeypatch.setattr(module, limit, PATIENCE_S)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Return a craps table with its own folder; afterwards, stop whatever is still running on it."""
    one = Table(tmp_path)
    yield one
    if one.process is not None:
        one.kill()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[HouseMaker]:
    """Return a function that opens daemons in the test's own process; close each afterwards."""
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
