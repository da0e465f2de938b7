"""Test of a spin that the boards' firmware detects, the daemon calls, and the settlement engine settles."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")
pytest.importorskip("sqlalchemy", reason="SQLAlchemy comes with the `settlement` extra")

from controller.model.outcomes import SpinCalled
from controller.model.readings import BallBeam, BallDrop, Input, PocketBall, RotorIndex
from controller.settings.places import config_home
from controller.settings.tables import load_table
from drivers.sim import wheel as spins
from drivers.sim.scenes import Feed
from tests.app.rig import until
from tests.drivers.firmware.daemon import (
    CHIPS,
    STAKE,
    Fitted,
    Place,
    books_are_consistent,
    first_called,
    new_places,
)

KEY = "000102030405060708090a0b0c0d0e0f"
ALMOST_OVER_US = (1 << 32) - 20_000_000
"""The console's clock wraps to 0 during the spin."""
CONSOLE = {
    "board": "console",
    "name": "console",
    "key": KEY,
    "keys": [{"pin": 2, "name": "no_more_bets", "by": "dealer"}],
    "switches": [{"pin": 3, "name": "key"}],
    "lamps": [{"pin": 4, "lamp": "lock", "lit_when": ["unlocked"]}],
}
NO_MORE_BETS = 2
BEAMS, INDEX, INDEX_B, POCKET, DROP = [2, 3, 4], 5, 6, 7, 8
WHEEL = {
    "board": "wheel",
    "name": "wheel",
    "beams": BEAMS,
    "index": INDEX,
    "index_b": INDEX_B,
    "pocket": POCKET,
    "drop": DROP,
}
BOARDS = (
    Fitted(WHEEL, ("ball_beam", "ball_drop", "rotor_index", "pocket_ball"), ppm=60),
    Fitted(CONSOLE, ("input", "switch"), start_us=ALMOST_OVER_US, ppm=-90),
)
CUT_US = 2_000
"""Duration for which a mark or ball covers a sensor."""
PRESSED_US = 100_000
BETWEEN_MARKS_US = 15_000
"""The time from one index sensor to the other."""
LEAD_US = 2_000_000
"""The time from the first input line to the first edge."""
SEED, PRINTED = 288, "22"
"""The shortest spin of 400 seeds in which the dealer closes the bets: 31 s."""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Iterator[Place]]:
    with closing(new_places(tmp_path, "roulette", BOARDS)) as made:
        yield made


def pulses(feed: Feed) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """Return the edges of a spin at the pins of the wheel board and of the console: time, pin, level."""
    wheel: list[tuple[int, int, int]] = []
    console: list[tuple[int, int, int]] = []
    start_us = min(reading.t for _, reading in feed) - LEAD_US

    def dark(edges: list[tuple[int, int, int]], pin: int, t_us: int, for_us: int = CUT_US) -> None:
        edges.extend([(t_us - start_us, pin, 0), (t_us - start_us + for_us, pin, 1)])

    for _, reading in feed:
        match reading:
            case BallBeam(t=t, beam=beam):
                dark(wheel, BEAMS[beam], t)
            case RotorIndex(t=t, direction=direction):
                dark(wheel, INDEX, t)
                dark(wheel, INDEX_B, t + (BETWEEN_MARKS_US if direction == "cw" else -BETWEEN_MARKS_US))
            case BallDrop(t=t):
                dark(wheel, DROP, t)
            case PocketBall(t=t):
                dark(wheel, POCKET, t)
            case Input(t=t):
                dark(console, NO_MORE_BETS, t, PRESSED_US)
            case _:
                pass  # the boards have no such sensor
    return sorted(wheel), sorted(console)


def play_spin(place: Place, feed: Feed) -> int | None:
    """Play a spin with bets; return ann's balance, or None if the spin went to review."""
    place.open()
    place.boards["console"].wait_for_output("out 4 1")
    place.bet(wager="even")
    place.bet(wager="dozen", which=2)
    place.bet(wager="odd")
    until(place.is_healthy, "both boards to be up")
    wheel, console = pulses(feed)
    for board, edges in ((place.boards["wheel"], wheel), (place.boards["console"], console)):
        for after_us, pin, level in edges:
            board.drive(pin, level, after_us=after_us)
    return place.settled()


@pytest.mark.live
def test_a_spin_sensed_by_the_boards_over_bad_cables_is_settled(places: Iterator[Place]) -> None:
    shipped = load_table(str(config_home() / "tables" / "roulette.yaml")).wheel
    assert shipped is not None
    scene, feed = spins.spin("dealer_early_no_more_bets", random.Random(SEED), 1_000_000, wheel=shipped)
    assert scene.truth.number == PRINTED
    place, cents = first_called(places, lambda place: play_spin(place, feed))

    # R-PAY-8, R-PAY-12: even and the second dozen pay 1 to 1 as printed; odd loses
    assert cents == CHIPS + STAKE
    assert place.table.terminate() == 0
    published = place.outcomes("spin.", "bets.")
    assert [one["type"] for one in published] == ["bets.closed", "spin.called", "bets.opened"]
    closed, called = (one["data"] for one in published[:2])
    assert isinstance(closed, dict)
    assert closed["cause"] == "dealer"
    assert msgspec.convert(called, SpinCalled, strict=False).number == PRINTED
    assert books_are_consistent(place.url)
