"""Runs a board's files in a process at one end of a cable, with the table's device at the other end."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import drivers
from controller.model.readings import AnyReading, DeviceUp
from drivers.firmware.shared.identity import format_firmware_id, hash_files
from drivers.firmware.shared.program import VERSION
from drivers.link.serial_port import SerialPort
from drivers.link.station import Station
from drivers.node.device import ChannelSettings, NodeDevice, NodeSettings
from drivers.node.sentences import CommandResult
from tests.drivers.link.ptys import PATIENCE_S, now_us
from tests.drivers.node.test_reference_node import Cable

T = TypeVar("T")
FILES = Path(drivers.__file__).parent
HOSTED = Path(__file__).parent / "hosted.py"
MICROPYTHON = os.environ.get("MICROPYTHON") or shutil.which("micropython")
"""Path of MicroPython's unix port, from the environment variable `MICROPYTHON` or the search path."""


def install(root: Path, settings: Mapping[str, object]) -> None:
    """Install a board's files and settings below a root folder."""
    shutil.copytree(
        FILES / "firmware", root / "drivers/firmware", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(FILES / "__init__.py", root / "drivers/__init__.py")
    (root / "board.json").write_text(json.dumps(settings))


class HostedBoard:
    """A board's process at the end of a cable."""

    def __init__(
        self,
        root: Path,
        python: str,
        settings: Mapping[str, object],
        cable: Cable,
        *,
        start_us: int = 0,
        ppm: int = 0,
    ) -> None:
        self.root = root
        self.root.mkdir()
        install(self.root, settings)
        self.cable = cable
        self.board = subprocess.Popen(
            [python, str(HOSTED), self.cable.node_port, f"{self.root}/", str(start_us), str(ppm)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(self.root), "MICROPYPATH": f"{self.root}:.frozen"},
        )

    @property
    def firmware(self) -> str:
        """The firmware id that the board's hello must report."""
        board = json.loads((self.root / "board.json").read_text())["board"]
        return format_firmware_id(board, VERSION, hash_files(str(self.root)))

    def order(self, line: str) -> None:
        """Send the board one of the input lines described in hosted.py."""
        assert self.board.stdin is not None
        self.board.stdin.write(line + "\n")
        self.board.stdin.flush()

    def drive(self, pin: int, level: int, *, after_us: int | None = None) -> None:
        """Set a pin, either immediately or `after_us` after the board read the first line with a delay."""
        self.order(f"{pin} {level}{'' if after_us is None else f' {after_us}'}")

    def wait_for_output(self, line: str) -> None:
        assert self.board.stdout is not None
        while (said := self.board.stdout.readline()) != f"{line}\n":
            assert said, f"the board ended before it printed {line}"

    def close(self) -> None:
        self.board.kill()
        self.board.communicate()
        with suppress(FileNotFoundError):
            self.cable.pull()


class Bench(HostedBoard):
    """A board at a table."""

    def __init__(
        self,
        folder: Path,
        python: str,
        settings: Mapping[str, object],
        *,
        start_us: int = 0,
        ppm: int = 0,
        approved: tuple[str, ...] = (),
        wall: str = "",
    ) -> None:
        self.left = False
        cable = Cable(folder / "usb-Table_Board-if00")
        super().__init__(folder / "root", python, settings, cable, start_us=start_us, ppm=ppm)
        name = str(settings["name"])
        node = NodeSettings(
            node=name,
            port=str(self.cable.name),
            key=str(settings.get("key", "")),
            firmware=approved,
            channels={0: ChannelSettings(dev=name, fields={"wall": wall})} if wall else {},
        )
        self.device = NodeDevice(name, node, os.urandom)
        port = SerialPort(str(self.cable.name), node.baud)
        self.station = Station([(self.device, port)], now_us=now_us, random_fraction=lambda: 0.0)
        self.heard: SimpleQueue[AnyReading] = SimpleQueue()
        self.station.start(self.heard.put)

    def wait(self, kind: type[T]) -> T:
        return self.until(lambda reading: isinstance(reading, kind))  # type: ignore[return-value]

    def until(self, wanted: Callable[[AnyReading], bool]) -> AnyReading:
        while True:
            try:
                reading = self.heard.get(timeout=PATIENCE_S)
            except Empty:
                raise AssertionError(self.device.status()) from None
            if wanted(reading):
                return reading

    def up(self) -> None:
        self.wait(DeviceUp)

    def command(self, verb: str, **fields: str) -> None:
        def ask(_device: object, now: int) -> None:
            self.device.command(now, verb, fields)

        self.station.run_on(self.device.name, ask)

    def answer(self) -> CommandResult:
        """Wait for an answer from the board, and return the first answer."""
        end, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while not self.device.results:
            assert time.monotonic() < end, self.device.status()
            pause.wait(0.01)
        return self.device.results[0]

    def leave(self) -> None:
        """Stop the table. The board stays connected."""
        if not self.left:
            self.left = True
            assert self.station.stop()

    def close(self) -> None:
        self.leave()
        super().close()


PYTHONS = {"cpython": sys.executable, "micropython": MICROPYTHON}
