"""A board's key file that changes while the controller runs. A usable new key applies immediately."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.app.daemon import Daemon
from controller.app.device_types import hardware_of, load_with_hardware
from controller.app.hardware import KeyFiles, NewKey
from controller.app.options import Options
from controller.cli.main import main
from controller.settings.places import config_file
from drivers.node.device import NodeSettings
from drivers.sim.boards import Board
from tests.app.rig import until

OLD, NEW = "00" * 16, "11" * 16
READS = ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact")
"""The readings of the shipped table's camera."""


def settings(file: Path, key: str = OLD) -> dict[str, object]:
    return {"cam": NodeSettings(node="cam", port="/dev/x", key=key, key_file=str(file)), "wheel": object()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "cam.key"
    write(file, OLD)
    return file


def write(file: Path, text: str, mode: int = 0o600) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(f"{text}\n", encoding="utf-8")
    draft.chmod(mode)
    draft.replace(file)


def test_a_changed_key_is_reported_once(file: Path) -> None:
    files = KeyFiles(settings(file))
    assert list(files.changes()) == []
    write(file, NEW)
    assert list(files.changes()) == [NewKey("cam", NEW)]
    write(file, NEW)
    assert list(files.changes()) == []


def test_a_key_changed_between_loading_and_the_first_check_is_reported(file: Path) -> None:
    files = KeyFiles(settings(file, NEW))
    assert list(files.changes()) == [NewKey("cam", OLD)]


def test_the_same_key_in_other_letter_case_is_not_reported(file: Path) -> None:
    write(file, "aB" * 16)
    files = KeyFiles(settings(file, "Ab" * 16))
    write(file, "AB" * 16)
    assert list(files.changes()) == []


@pytest.mark.parametrize("way", ["gone", "empty", "others read it", "no key", "bytes", "a folder"])
def test_an_unusable_key_file_leaves_no_key_and_is_reported_once(way: str, file: Path) -> None:
    files = KeyFiles(settings(file))
    assert list(files.changes()) == []
    match way:
        case "gone":
            file.unlink()
        case "a folder":
            file.unlink()
            file.mkdir()
        case "bytes":
            file.write_bytes(b"\xff" * 32)
        case _:
            write(file, {"empty": "", "no key": "secret"}.get(way, NEW), 0o644 if "read" in way else 0o600)
    (change,) = files.changes()
    assert (change.device, change.key) == ("cam", "")
    assert change.flaw.startswith("found ")
    assert "secret" not in change.flaw
    assert list(files.changes()) == []
    if way == "a folder":
        file.rmdir()
    write(file, OLD)
    assert list(files.changes()) == [NewKey("cam", OLD)], (
        "the old key must also be reported, because no key was in use"
    )


class KeyedBoard:
    """A board behind a pseudo-terminal whose key a reflash changes."""

    def __init__(self, port: Path, key: str) -> None:
        self.port, self.key = port, key
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> "KeyedBoard":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        from controller.app.clock import MonotonicClock  # noqa: PLC0415 - the daemon's own clock

        clock, board = MonotonicClock(), Board("cam", READS, Random(1), key=self.key)
        end, port = pty.openpty()
        tty.setraw(port)
        self.port.symlink_to(os.ttyname(port))
        os.set_blocking(end, False)
        board.start(clock.now_us())
        while not self._stop.wait(0.005):
            now_us = clock.now_us()
            with suppress(BlockingIOError, OSError):
                board.receive(now_us, os.read(end, 4096))
            board.tick(now_us)
            with suppress(BlockingIOError, OSError):
                os.write(end, board.take_output())
        self.port.unlink()
        os.close(port)
        os.close(end)


@pytest.fixture
def daemon(tmp_path: Path, file: Path) -> Iterator[Daemon]:
    table = tmp_path / "table.yaml"
    shipped = config_file("tables", "craps").read_text(encoding="utf-8")
    port = "/dev/serial/by-id/usb-Table_Board_0001-if00"
    assert port in shipped
    text = shipped.replace(port, f"{tmp_path}/usb-Cam-if00\n    key_file: {file.name}")
    table.write_text(f"{text}\npublish: {{to: socket}}\n", encoding="utf-8")
    loaded = load_with_hardware(str(table))
    options = Options(table=str(table), journal=tmp_path / "journal", socket=tmp_path / "control")
    one = Daemon(
        options,
        loaded,
        environ={},
        sources=[lambda daemon: hardware_of(loaded, daemon.clock.now_us, faults=daemon.faults)],
    )
    one.open()
    thread = threading.Thread(target=one.run)
    thread.start()
    yield one
    one.stop()
    thread.join()
    assert one.close() == 0


def says(daemon: Daemon) -> tuple[bool, str]:
    assert daemon.live is not None
    seen = daemon.live.core.devices.seen.get("cam")
    return (False, "") if seen is None else (seen.up, seen.message)


@pytest.mark.live
def test_a_boards_key_is_rotated_while_the_controller_runs(
    daemon: Daemon, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The board must not stay at `wrong_key` until a restart when its file has the new key."""
    port = tmp_path / "usb-Cam-if00"
    board = KeyedBoard(port, OLD).start()
    until(lambda: says(daemon)[0], "the board to come up under its first key")
    assert main(["keys", "rotate", "node", str(file), "--reason", "yearly"]) == 0
    until(lambda: not says(daemon)[0], "the old key to be refused")
    assert "the table's key for this node was changed" in says(daemon)[1] or "valid seal" in says(daemon)[1]
    board.stop()
    board = KeyedBoard(port, file.read_text(encoding="ascii").strip()).start()
    until(lambda: says(daemon)[0], "the board to come up under its new key, without a restart")
    assert main(["keys", "revoke", "node", str(file), "--reason", "stolen"]) == 0
    until(lambda: not says(daemon)[0], "the revoked key to be refused")
    until(lambda: "an unreadable file" in says(daemon)[1], "the reason")
    board.stop()
    assert NEW not in capsys.readouterr().err
