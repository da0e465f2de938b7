"""Tests of the path from a node's firmware in a process, through a cable and a link, to readings."""

import os
import pty
import select
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.model.readings import AnyReading, DeviceDown, DeviceUp, WallImpact
from drivers.link.serial_port import SerialPort
from drivers.link.station import Station
from drivers.node.device import NodeDevice, NodeSettings
from tests.drivers.link.ptys import PATIENCE_S, now_us

KEY = "000102030405060708090a0b0c0d0e0f"


class Cable:
    """Two pseudo-terminals, one for the table and one for the node, and a thread that connects them."""

    def __init__(self, name: Path) -> None:
        self.name = name
        self._table, table_port = pty.openpty()
        self._node, self._node_port = pty.openpty()
        for port in (table_port, self._node_port):
            tty.setraw(port)
        self.node_port = os.ttyname(self._node_port)
        self.name.symlink_to(os.ttyname(table_port))
        os.close(table_port)
        self._waking, self._wake = os.pipe()
        self._thread = Thread(target=self._carry)
        self._thread.start()

    def _carry(self) -> None:
        ways = {self._table: self._node, self._node: self._table}
        while True:
            for end in select.select([*ways, self._waking], [], [])[0]:
                if end == self._waking:
                    return
                with suppress(OSError):  # the other end is not open yet
                    os.write(ways[end], os.read(end, 4096))

    def noise(self, data: bytes) -> None:
        """Send bytes to the node that the table did not send."""
        os.write(self._node, data)

    def pull(self) -> None:
        self.name.unlink()
        os.write(self._wake, b"x")
        self._thread.join()
        for end in (self._table, self._node, self._node_port, self._waking, self._wake):
            os.close(end)


class Table:
    def __init__(self, port: Path, key: str = "") -> None:
        settings = NodeSettings(node="w1", port=str(port), key=key, reads=("wall_impact",))
        self.device = NodeDevice("w1", settings, os.urandom)
        self.station = Station(
            [(self.device, SerialPort(str(port), settings.baud))], now_us=now_us, random_fraction=lambda: 0.0
        )
        self.heard: SimpleQueue[AnyReading] = SimpleQueue()
        self.station.start(self.heard.put)

    def wait(self, wanted: Callable[[AnyReading], bool]) -> AnyReading:
        while True:
            try:
                reading = self.heard.get(timeout=PATIENCE_S)
            except Empty:
                raise AssertionError(self.device.status()) from None
            if wanted(reading):
                return reading

    def up(self) -> None:
        self.wait(lambda reading: isinstance(reading, DeviceUp))

    def down(self, code: str) -> None:
        self.wait(lambda reading: isinstance(reading, DeviceDown) and reading.code == code)

    def do(self, verb: str, **fields: str) -> None:
        self.station.run_on("w1", lambda _device, now: self._command(now, verb, fields))

    def _command(self, now: int, verb: str, fields: dict[str, str]) -> None:
        self.device.command(now, verb, fields)


class Board:
    def __init__(self, port: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "drivers.reference_node", port, "w1", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def sense(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def shown(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def cable(tmp_path: Path) -> Iterator[Cable]:
    cable = Cable(tmp_path / "usb-Acme_Node_w1-if00")
    yield cable
    with suppress(FileNotFoundError):
        cable.pull()


@pytest.mark.parametrize("key", ["", KEY], ids=["plain", "sealed"])
def test_a_reading_and_a_command_pass_through_the_whole_path(cable: Cable, key: str) -> None:
    board = Board(cable.node_port, "--key", key, "--clock-us", str((1 << 32) - 100_000))
    table = Table(cable.name, key)
    try:
        table.up()
        before = now_us()
        board.sense("wall_impact wall=left pos_mm=511.0 peak=421")
        impact = table.wait(lambda reading: isinstance(reading, WallImpact))
        assert isinstance(impact, WallImpact)
        assert (impact.wall, impact.pos_mm, impact.peak, impact.dev) == ("left", 511.0, 421.0, "w1")
        assert impact.arrived is not None
        assert before - PATIENCE_S * 1e6 < impact.t <= impact.arrived, (
            "the reading must have a time of the table's clock"
        )
        table.do("lamp", name="puck", shows="on")
        assert board.shown() == "lamp id=1 name=puck shows=on\n"
        board.sense("wall_impact wall=left pos_mm=512.0 peak=421")
        table.wait(lambda reading: isinstance(reading, WallImpact))
        assert [answer.ok for answer in table.device.results] == [True]
        assert table.device.status()["lost"] == 0
    finally:
        assert table.station.stop()
        board.end()


def test_a_node_that_dies_and_its_replacement_are_reported(cable: Cable) -> None:
    board = Board(cable.node_port)
    table = Table(cable.name)
    try:
        table.up()
        board.end()
        board = Board(cable.node_port)
        table.wait(
            lambda reading: isinstance(reading, DeviceDown) and reading.code in ("restarted", "silent")
        )
        table.up()
    finally:
        assert table.station.stop()
        board.end()


def test_a_pulled_cable_is_reported_and_cleared_by_a_new_one(cable: Cable, tmp_path: Path) -> None:
    board = Board(cable.node_port)
    table = Table(cable.name)
    try:
        table.up()
        cable.pull()
        table.down("unplugged")
        board.end()
        cable = Cable(tmp_path / "usb-Acme_Node_w1-if00")
        board = Board(cable.node_port)
        table.up()
    finally:
        assert table.station.stop()
        board.end()
        with suppress(FileNotFoundError):
            cable.pull()
