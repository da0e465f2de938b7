"""A fresh table for every test of the daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.app.options import Options
from tests.app.house import House, HouseMaker
from tests.app.rig import Table


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Give a craps table with a folder of its own; whatever runs on it is ended."""
    one = Table(tmp_path)
    yield one
    if one.process is not None:
        one.kill()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[HouseMaker]:
    """Give a maker of daemons inside the test; each is closed."""
    made: list[House] = []

    def make(**settings: object) -> House:
        given = {"table": "craps", "self_test_devices": False, **settings}
        options = Options(journal=tmp_path / "journal", socket=tmp_path / "control", **given)  # type: ignore[arg-type]  # the tests' own settings
        made.append(House(tmp_path, options))
        return made[-1]

    yield make
    for one in made:
        for daemon in one.daemons:
            daemon.close()
