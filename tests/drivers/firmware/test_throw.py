"""Test of a throw that wall boards detect, the daemon calls, and the settlement engine settles."""

import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")
pytest.importorskip("sqlalchemy", reason="SQLAlchemy comes with the `settlement` extra")
pytest.importorskip("numpy", reason="numpy comes with the `vision` extra")

from controller.model.outcomes import RollCalled
from controller.model.readings import Input, WallImpact
from drivers.readings import to_texts
from drivers.sim import dice
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
from tests.drivers.firmware.piezo import AT_MM, LENGTH_MM, SPEED_M_S, Hit, sense_hit

KEY = "000102030405060708090a0b0c0d0e0f"
SENSES = ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact")
SENSORS = (2, 3, 4, 5)
PULSE = 19
COLLECTED = 2
SEED, DICE = 38, (3, 4)
"""The shortest throw of 120 seeds that is certainly called a seven. Its dice strike the wall 41 ms apart."""
LEAD_US = 2_000_000
"""The time between sending the boards' input lines and the first event. The boards read the lines in it."""
PRESSED_US = 100_000
PRESS_US = 400
HARD = 700
"""The peak of the simulated session, in ADC counts, that corresponds to a force of 1."""


def wall(side: str) -> dict[str, object]:
    """Return the settings of an end wall, whose sensors detect the self-test's pulse at the wave's speed."""
    echo = [(SENSORS[n], 100 + (AT_MM[n] - AT_MM[0]) * 1000 // SPEED_M_S) for n in (1, 2, 3)]
    along = {"at_mm": list(AT_MM), "length_mm": LENGTH_MM, "speed_m_s": SPEED_M_S}
    pins = {"sensors": list(SENSORS), "peak": 26, "discharge": 10, "pulse": PULSE, "echo": echo}
    return {"board": "wall", "name": f"wall-{side}", **along, **pins}


BOARDS = (
    Fitted({"board": "cam", "name": "cam", "reads": list(SENSES)}, SENSES, ppm=35),
    Fitted(wall("left"), ("wall_impact",), ppm=60, wall="left"),
    Fitted(wall("right"), ("wall_impact",), start_us=(1 << 32) - 20_000_000, ppm=-40, wall="right"),
    Fitted(
        {
            "board": "console",
            "name": "console",
            "key": KEY,
            "keys": [{"pin": COLLECTED, "name": "dice_collected", "by": "stickperson"}],
            "switches": [{"pin": 3, "name": "key"}],
            "lamps": [{"pin": 4, "lamp": "lock", "lit_when": ["unlocked"]}],
        },
        ("input", "switch"),
        ppm=-90,
    ),
)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Iterator[Place]]:
    with closing(new_places(tmp_path, "craps", BOARDS)) as made:
        yield made


def orders(feed: Feed) -> dict[str, list[tuple[int, str]]]:
    """Return the input lines of a throw, each with its time in the throw, for each board's process."""
    rng = random.Random(SEED)
    lines: dict[str, list[tuple[int, str]]] = {
        name: [] for name in ("cam", "wall-left", "wall-right", "console")
    }
    start_us = min(reading.t for _, reading in feed) - LEAD_US
    for arrived_us, reading in feed:
        at_us = reading.t - start_us
        match reading:
            case WallImpact():
                hit = Hit(reading.pos_mm, rng.uniform(20, 130), max(0.3, reading.peak / HARD), PRESS_US)
                signals = sense_hit(hit, rng)
                board = lines[reading.dev]
                board += [(at_us + us, f"{SENSORS[n]} {0 if on else 1}") for n, on, us in signals.edges]
                board.append((at_us, f"peak {signals.peak}"))
            case Input():
                lines["console"] += [
                    (at_us, f"{COLLECTED} 0"), (at_us + PRESSED_US, f"{COLLECTED} 1"),
                ]  # fmt: skip
            case _:
                kind, fields = to_texts(reading)
                words = " ".join(f"{name}={value}" for name, value in fields.items())
                lines["cam"].append((arrived_us - start_us, f"say {kind} {at_us} {{at}} {words}"))
    return lines


def play_throw(place: Place, feed: Feed) -> int | None:
    """Play a throw with bets; return ann's balance, or None if the throw went to review."""
    place.open()
    place.boards["console"].wait_for_output("out 4 1")
    place.bet(wager="pass")
    place.bet(wager="dont_pass")
    place.bet(wager="any7")
    until(place.is_healthy, "all boards to be up")
    for name, lines in orders(feed).items():
        board = place.boards[name]
        board.order("hold")
        for at_us, words in sorted(lines):
            board.order(words.format(at=at_us) if "{at}" in words else f"{words} {at_us}")
        board.order("ready")
        board.wait_for_output("ready")
    zero_us = time.monotonic_ns() // 1000
    for board in place.boards.values():
        board.order(f"zero {zero_us}")
    return place.settled()


@pytest.mark.live
def test_a_throw_sensed_by_four_boards_over_bad_cables_is_settled(places: Iterator[Place]) -> None:
    scene, feed = dice.throw("valid", random.Random(SEED), 1_000_000)
    assert scene.truth.dice == DICE
    assert scene.truth.allowed == ("valid",)
    place, cents = first_called(places, lambda place: play_throw(place, feed))

    # a seven on the come-out: pass pays 1 to 1, don't pass loses, any seven pays 4 to 1
    assert cents == CHIPS + 4 * STAKE
    assert place.table.terminate() == 0
    (called,) = place.outcomes("roll.")
    roll = msgspec.convert(called["data"], RollCalled, strict=False)
    assert (roll.dice, roll.call, roll.grade) == (DICE, "natural", "sensors")
    assert books_are_consistent(place.url)
