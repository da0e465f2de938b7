"""Tests of boards that communicate with the table's device, under CPython and MicroPython."""

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.model.readings import BallBeam, BallDrop, DeviceDown, Input, PocketBall, RotorIndex, Switch
from drivers.firmware.wheel.board import Wheel
from tests.drivers.firmware.bench import PYTHONS, Bench
from tests.drivers.link.ptys import now_us

KEY = "000102030405060708090a0b0c0d0e0f"
CONSOLE = {
    "board": "console",
    "name": "console",
    "key": KEY,
    "keys": [{"pin": 2, "name": "no_roll", "by": "boxperson"}],
    "switches": [{"pin": 3, "name": "key"}],
    "lamps": [{"pin": 4, "lamp": "review"}],
    "buzzer": 5,
}
WHEEL = {
    "board": "wheel",
    "name": "track",
    "beams": [2, 3],
    "index": 4,
    "index_b": 5,
    "pocket": 6,
    "drop": 7,
    "loop_out": 20,
    "loop_in": 21,
    "lamps": [{"pin": 8, "lamp": "fault", "dark_when": ["none", "off"]}],
}
Maker = Callable[..., Bench]


@pytest.fixture(params=PYTHONS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    python = PYTHONS[request.param]
    if python is None:
        pytest.skip("needs MicroPython's unix port (Debian 13: apt install micropython, or set MICROPYTHON)")
    made: list[Bench] = []

    def make(settings: dict[str, object], **options: object) -> Bench:
        made.append(Bench(tmp_path, python, settings, **options))  # type: ignore[arg-type]  # the tests' own options
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_console_sends_sealed_sentences_reports_its_switches_and_obeys_commands(bench: Maker) -> None:
    console = bench(CONSOLE, start_us=(1 << 32) - 500_000, ppm=80)
    console.up()
    key = console.wait(Switch)
    assert (key.name, key.open) == ("key", True)
    before_us = now_us()
    console.drive(2, 0)
    pressed = console.wait(Input)
    assert (pressed.name, pressed.by) == ("no_roll", "boxperson")
    assert before_us - 2000 <= pressed.t <= now_us(), "the press must have its own time"
    console.drive(3, 0)
    assert console.wait(Switch).open is False
    console.command("lamp", name="review", shows="on")
    console.wait_for_output("out 4 1")
    console.command("buzzer", ms="50")
    console.wait_for_output("out 5 1")
    console.wait_for_output("out 5 0")
    assert console.device.status()["forged"] == 0


def test_a_consoles_lamps_go_dark_when_the_table_falls_silent(bench: Maker) -> None:
    console = bench(CONSOLE)
    console.up()
    console.command("lamp", name="review", shows="on")
    console.wait_for_output("out 4 1")
    console.leave()
    console.wait_for_output("out 4 0")


def test_a_wheel_board_reports_beams_turns_and_reads_and_measures_its_stamps(bench: Maker) -> None:
    wheel = bench(WHEEL, ppm=-120)
    wheel.up()
    wheel.drive(3, 0)
    assert wheel.wait(BallBeam).beam == 1
    for pin in (4, 5):
        wheel.drive(pin, 0)
    assert wheel.wait(RotorIndex).direction == "cw"
    wheel.drive(7, 0)
    wheel.wait(BallDrop)
    wheel.drive(6, 0)
    wheel.wait(PocketBall)
    wheel.command("selftest")
    wheel.wait_for_output("out 20 1")
    wheel.drive(3, 1)
    wheel.drive(2, 0)
    wheel.wait(BallBeam)
    answer = wheel.device.results[0]
    assert answer.ok
    assert answer.message.startswith("timestamps within ")


def test_a_wheels_lamp_is_lit_and_goes_dark_when_the_table_falls_silent(bench: Maker) -> None:
    wheel = bench(WHEEL)
    wheel.up()
    wheel.command("lamp", name="fault", shows="device_down")
    wheel.wait_for_output("out 8 1")
    wheel.command("lamp", name="fault", shows="none")
    wheel.wait_for_output("out 8 0")
    wheel.command("lamp", name="fault", shows="clock_step")
    wheel.wait_for_output("out 8 1")
    wheel.leave()
    wheel.wait_for_output("out 8 0")


@pytest.mark.parametrize(("lost", "reason"), [(1, "1 edge lost"), (2, "2 edges lost")])
def test_a_wheel_board_reports_how_many_edges_were_lost(lost: int, reason: str) -> None:
    hardware = Mock()
    hardware.lost_edges.return_value = lost
    down, up = Wheel(hardware, WHEEL).report_lost_edges(1000)
    assert down == ("device_down", [("code", "sentences_lost"), ("reason", reason)], 1000)
    assert up[0] == "device_up"


def test_noise_on_the_line_costs_a_board_no_reading(bench: Maker) -> None:
    wheel = bench(WHEEL)
    wheel.up()
    wheel.cable.noise(b"\x00\xff$$$>>>\x03*~\n>track" * 50)
    wheel.drive(2, 0)
    assert wheel.wait(BallBeam).beam == 0
    assert wheel.board.poll() is None


def test_only_a_board_with_the_approved_files_may_play(bench: Maker) -> None:
    wheel = bench(WHEEL, approved=("wheel-1.0+0000000000000000",))
    down = wheel.until(lambda reading: isinstance(reading, DeviceDown) and reading.code == "wrong_firmware")
    assert isinstance(down, DeviceDown)
    assert wheel.firmware in down.reason
