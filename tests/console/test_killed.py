"""The console dies during a throw. The table continues to play, and the screens recover."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.rig import PATIENCE_S, until
from tests.console.rig import Screens
from tests.scenes import SECOND_US, throw


@pytest.fixture
def screens(tmp_path: Path) -> Iterator[Screens]:
    screens = Screens(tmp_path)
    screens.start()
    yield screens
    screens.close()


def shown(screens: Screens) -> str:
    with urllib.request.urlopen(f"{screens.url}/display", timeout=PATIENCE_S) as page:
        text: str = page.read().decode()
    return text


def rolls(screens: Screens) -> list[str]:
    return [row.name for row in screens.table.rows() if row.name.startswith("roll.")]


def test_a_console_killed_during_a_throw_costs_no_outcome_and_shows_it_afterwards(screens: Screens) -> None:
    before = screens.url
    screens.pause()
    out_us = screens.now_us + SECOND_US
    dice = throw(out_us, (2, 2))
    screens.feed_until(dice[:60], dice[59].t)
    until(lambda: screens.table.status()["attempt_open"] is True, "the dice to be in flight")
    screens.kill_console()
    with pytest.raises(OSError, match="refused"):
        shown(screens)
    screens.feed_until(dice[60:], dice[-1].t + 5 * SECOND_US)
    until(lambda: rolls(screens) == ["roll.called"], "the call")
    screens.resume()
    screens.start_console()
    assert screens.url == before, "browsers must find it at the same address"
    until(lambda: "Point" in shown(screens), "the display to show the point")
    screens.play(throw(10 * SECOND_US, (3, 1)))
    until(lambda: rolls(screens) == ["roll.called"] * 2, "the next call")
