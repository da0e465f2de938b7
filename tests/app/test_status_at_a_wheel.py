"""The status, however often polled, does not reveal a ball's timing while bets are open (R-SPIN-3)."""

from collections.abc import Iterable, Mapping

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.app.status import build_status
from controller.cli.status import health
from controller.model.readings import AnyReading, BallBeam, RotorIndex
from tests.app.house import HouseMaker, drain, live_of, unlocked
from tests.app.rig import Json
from tests.scenes import SECOND_US, input_at

MACHINE_FIELDS = frozenset({"wall", "process", "journal"})
"""Fields that change without readings: the time of day, the CPU used, the rows written."""
EDGE = {"line": 17, "active": True, "since_us": 12_345_678, "edges": 41, "bounces": 3, "babbling": False}
FIGURES: Mapping[str, object] = {
    "firmware": "7",
    "troubles": ["noise"],
    "frames": 91,
    "lines": {"beam-0": EDGE},
    "last_malformed": "18 17",
}


class FakeHardware:
    """Devices whose counts increase with each edge."""

    kinds: Mapping[str, str] = {"wheel": "node"}

    def status(self) -> Mapping[str, Mapping[str, object]]:
        return {"wheel": FIGURES}


def comparable_status(daemon: Daemon) -> Json:
    """Return the fields of a status that could be compared with the next status."""
    status = msgspec.json.decode(msgspec.json.encode(build_status(daemon)), type=Json)
    return {name: value for name, value in status.items() if name not in MACHINE_FIELDS}


def see(daemon: Daemon, readings: Iterable[AnyReading]) -> None:
    for reading in readings:
        assert daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    drain(daemon)


@pytest.fixture
def wheel(house: HouseMaker) -> Daemon:
    """Return a wheel with open bets, whose rotor and ball were seen a moment ago."""
    daemon = house(table="roulette").open()
    daemon.hardware = FakeHardware()  # type: ignore[assignment]  # the parts of it that a status uses
    unlocked(daemon)
    now_us = (daemon.clock.now_us() // SECOND_US + 2) * SECOND_US
    see(daemon, [RotorIndex(t=now_us, dev="wheel", direction="cw")])
    assert live_of(daemon).core.view.betting
    return daemon


@pytest.mark.parametrize(
    "seen",
    [
        lambda t: RotorIndex(t=t, dev="wheel", direction="cw"),
        lambda t: BallBeam(t=t, dev="wheel", beam=1),
        lambda t: BallBeam(t=t, dev="another", beam=1),
    ],
    ids=["rotor", "ball", "a device that the file does not name"],
)
def test_R_SPIN_3_no_passage_of_ball_or_rotor_shows_in_a_status_while_bets_can_be_placed(
    wheel: Daemon, seen: object
) -> None:
    """Counts, the last passage's second, the table's time and a GPIO line's last edge would reveal it."""
    assert callable(seen)
    see(wheel, [seen(wheel.clock.now_us() + 1_000)])  # everybody sees the start of a spin
    before = comparable_status(wheel)
    now_us = wheel.clock.now_us()
    see(wheel, [seen(now_us + 200_000), seen(now_us + 413_000)])
    assert comparable_status(wheel) == before
    assert before["held_back"] is True


def test_a_devices_own_figures_show_nothing_that_reveals_timing(wheel: Daemon) -> None:
    devices = comparable_status(wheel)["devices"]
    assert isinstance(devices, dict)
    assert devices["wheel"]["figures"] == {"firmware": "7", "troubles": ["noise"]}
    assert health({**devices["wheel"], "figures": {}}) == "OK, counts are withheld until bets are closed"


def test_the_status_shows_every_figure_once_bets_are_closed(wheel: Daemon) -> None:
    now_us = wheel.clock.now_us()
    see(wheel, [input_at(now_us + 1_000, "no_more_bets", "dealer")])
    wheel.clock.reach(now_us + SECOND_US)
    drain(wheel)
    status = comparable_status(wheel)
    assert status["held_back"] is False
    assert status["readings"] == live_of(wheel).core.view.readings
    assert status["table_time_us"] == live_of(wheel).core.view.now_us
    devices = status["devices"]
    assert isinstance(devices, dict)
    assert devices["wheel"]["figures"] == FIGURES


def test_the_status_of_a_dice_table_hides_nothing(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    status = comparable_status(daemon)
    assert (status["held_back"], status["readings"]) == (False, live_of(daemon).core.view.readings)
