"""`tablectl firmware` writes files that a board can mount and run."""

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("littlefs", reason="littlefs-python comes with the `firmware` extra")

from controller.cli.firmware import firmware_id
from controller.cli.main import main
from tests.cli.controller_at import FakeController
from tests.drivers.firmware.bench import MICROPYTHON

MOUNT = """
import os, sys
class Flash:
    def __init__(self, path):
        self.file = open(path, "rb")
        self.blocks = os.stat(path)[6] // 4096
    def readblocks(self, block, buf, off=0):
        self.file.seek(block * 4096 + off)
        self.file.readinto(buf)
    def writeblocks(self, block, buf, off=0):
        raise OSError("read only")
    def ioctl(self, op, arg):
        return self.blocks if op == 4 else 4096 if op == 5 else 0
os.mount(os.VfsLfs2(Flash(sys.argv[1]), progsize=256), "/board")
sys.path.insert(0, "/board")
from drivers.firmware.shared.identity import format_firmware_id, hash_files, load
from drivers.firmware.shared.program import VERSION
settings = load("/board/board.json")
print(settings["name"], settings["key"], format_firmware_id(settings["board"], VERSION, hash_files("/board")))
"""
KEY = "000102030405060708090a0b0c0d0e0f"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "pins.json").write_text('{"buzzer": 5}')
    (tmp_path / "console.key").write_text(KEY + "\n")
    uf2 = tmp_path / "console.uf2"
    given = ["--settings", str(tmp_path / "pins.json"), "--key-file", str(tmp_path / "console.key")]
    assert main(["firmware", "build", "console", "--name", "console", *given, "--out", str(uf2)]) == 0
    return uf2


def flash_of(uf2: Path) -> bytes:
    """Return the flash of the file system after a boot loader has written this UF2 file."""
    content = uf2.read_bytes()
    blocks = [content[at : at + 512] for at in range(0, len(content), 512)]
    flash = bytearray(b"\xff" * (1408 * 1024))
    for number, block in enumerate(blocks):
        first, second, flags, address, size, its, of, family = struct.unpack("<8I", block[:32])
        assert (first, second, flags, size) == (0x0A324655, 0x9E5D5157, 0x2000, 256)
        assert (its, of, family) == (number, len(blocks), 0xE48BFF56)
        assert struct.unpack("<I", block[-4:]) == (0x0AB16F30,)
        at = address - 0x100A0000
        assert 0 <= at < len(flash), "outside the Pico's file system"
        flash[at : at + size] = block[32 : 32 + size]
    return bytes(flash)


def test_a_uf2_writes_only_the_file_system_and_only_its_owner_may_read_it(built: Path) -> None:
    flash = flash_of(built)
    assert b"littlefs" in flash[:4096]
    assert built.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(
    MICROPYTHON is None, reason="needs MicroPython's unix port (Debian 13: apt install micropython)"
)
def test_micropython_mounts_the_built_file_system_and_finds_the_approved_files(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MICROPYTHON is not None
    (tmp_path / "flash").write_bytes(flash_of(built))
    (tmp_path / "mount.py").write_text(MOUNT)
    said = subprocess.run(
        [MICROPYTHON, str(tmp_path / "mount.py"), str(tmp_path / "flash")],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    capsys.readouterr()
    assert main(["firmware", "approved", "console"]) == 0
    assert said.stdout.split() == ["console", KEY, capsys.readouterr().out.strip()]


def test_a_uf2_is_copied_only_to_a_board_in_its_boot_loader(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = tmp_path / "RPI-RP2"
    drive.mkdir()
    assert main(["firmware", "flash", str(built), str(drive)]) == 2
    assert "hold BOOTSEL" in capsys.readouterr().err
    (drive / "INFO_UF2.TXT").write_text("UF2 Bootloader v3.0\nBoard-ID: RPI-RP2\n")
    assert main(["firmware", "flash", str(built), str(drive), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"flashed": str(drive / "console.uf2")}
    assert (drive / "console.uf2").read_bytes() == built.read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--name", "a b"], "expected 1 to 16 letters"),
        (
            ["--name", "w", "--chip", "rp2350"],
            "--fs-kib is missing, and the rp2350 has no default",
        ),
        (["--name", "w", "--fs-kib", "7"], "expected a multiple of 4"),
        (["--name", "w", "--settings", "HERE/none.json"], "No such file"),
        (["--name", "w", "--settings", "HERE/bad.json"], "found invalid JSON"),
        (["--name", "w", "--settings", "HERE/twice.json"], "found invalid JSON"),
        (
            ["--name", "w", "--key-file", "HERE/bad.json"],
            "expected an even number of hexadecimal digits",
        ),
        (
            ["--name", "w", "--key-file", "HERE/accent.key"],
            "expected an even number of hexadecimal digits",
        ),
    ],
)
def test_a_firmware_that_cannot_be_built_is_reported_and_nothing_is_written(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "accent.key").write_text("é", encoding="utf-8")
    (tmp_path / "twice.json").write_text('{"drop": 4, "drop": 5}')
    given = [word.replace("HERE", str(tmp_path)) for word in words]
    assert main(["firmware", "build", "wheel", *given, "--out", str(tmp_path / "out.uf2")]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "out.uf2").exists()


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[FakeController]:
    made = FakeController(tmp_path / "control.sock")
    yield made
    made.end()


def node(firmware: str | None, *, up: bool = True) -> dict[str, object]:
    return {"type": "node", "up": up, "figures": {"firmware": firmware}}


def verify(controller: FakeController, tmp_path: Path, console: dict[str, object], *words: str) -> int:
    devices = {"console": console, "shoe": {"type": "shoe", "up": True, "figures": {}}}
    controller.answers["status"] = {"status": {"devices": devices}}
    return main(["firmware", "verify", *words, "--socket", str(tmp_path / "control.sock")])


def test_a_board_that_runs_these_files_is_verified(
    controller: FakeController, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = firmware_id("console")
    assert verify(controller, tmp_path, node(runs), "console", "console", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"device": "console", "firmware": runs}


@pytest.mark.parametrize(
    ("console", "found"),
    [
        (node("console-1.0+0000000000000000"), ": found console-1.0+0000000000000000, expected console-1.0+"),
        (node(firmware_id("wheel")), ": found wheel-1.0+"),
        (node(None), " has sent no hello since the controller started"),
        (node(firmware_id("console"), up=False), " is offline; it last reported"),
    ],
    ids=["old files", "another board", "never heard", "offline"],
)
def test_a_board_that_may_run_other_files_is_not_verified(
    controller: FakeController,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    console: dict[str, object],
    found: str,
) -> None:
    assert verify(controller, tmp_path, console, "console", "console") == 1
    said = capsys.readouterr()
    assert f"console{found}" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("device", "expected"),
    [("consle", "its devices are console, shoe"), ("shoe", "a device of type shoe, expected a node")],
)
def test_only_a_node_of_the_table_can_be_verified(
    controller: FakeController,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    device: str,
    expected: str,
) -> None:
    assert verify(controller, tmp_path, node(None), "console", device) == 2
    assert expected in capsys.readouterr().err


def test_a_controller_that_does_not_answer_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["firmware", "verify", "console", "console", "--socket", str(tmp_path / "none")]) == 3
    assert "no controller responds" in capsys.readouterr().err
