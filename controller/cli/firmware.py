"""`tablectl firmware`: build a board's firmware, flash it, and verify the firmware that a board runs.

A UF2 file contains a board's files as a littlefs file system.
"""

import argparse
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from littlefs import LittleFS

import drivers
from controller.cli.link import OutOfReachError, add_json, add_socket, ask, report_out_of_reach
from controller.cli.shell import BAD_INPUT, FAILED, OK, add_subcommand, inaccessible_message, say
from controller.model.conversion import decode_strict
from drivers.firmware.shared.identity import SETTINGS, format_firmware_id, hash_files
from drivers.firmware.shared.program import VERSION
from drivers.node.device import KEY, KEY_DIGITS
from drivers.node.sentences import NODE_NAME

BOARDS = ("console", "wall", "wheel")
SECTOR_BYTES = 4096
"""The flash's erase unit, and MicroPython's littlefs block size on these boards."""
PROGRAM_BYTES = 256
"""The flash's page size, and the littlefs program size of MicroPython's rp2 port."""
SMALL_BYTES = 32
"""The littlefs read and look-ahead size of MicroPython's rp2 port."""
DISK_VERSION = 0x00020000
"""littlefs 2.0, which every version of MicroPython mounts."""
FLASH_AT = 0x10000000
"""The address of the flash in the chip's memory."""
UF2_START = (0x0A324655, 0x9E5D5157)
UF2_END = 0x0AB16F30
UF2_HAS_FAMILY = 0x2000


@dataclass(frozen=True, slots=True)
class Chip:
    """A board's chip, with its UF2 family ID and the sizes of its flash and file system."""

    family: int
    flash_bytes: int
    fs_bytes: int | None
    """Size of MicroPython's file system at the end of the flash; None if the size is unknown."""


CHIPS: Mapping[str, Chip] = {
    "rp2040": Chip(0xE48BFF56, 2 << 20, 1408 * 1024),
    "rp2350": Chip(0xE48BFF59, 4 << 20, None),
}
"""The chips of the Raspberry Pi Pico and Pico 2."""


def copy_firmware(folder: Path) -> str:
    """Copy the firmware's files to a folder; return their SHA-256. Boards report its first digits."""
    source = Path(drivers.__file__).parent
    shutil.copytree(
        source / "firmware",
        folder / "drivers" / "firmware",
        ignore=shutil.ignore_patterns("__pycache__", "main.py"),
    )
    shutil.copy(source / "__init__.py", folder / "drivers" / "__init__.py")
    shutil.copy(source / "firmware" / "main.py", folder / "main.py")
    return hash_files(str(folder))


def firmware_id(board: str) -> str:
    """Return the firmware ID that a board with this version's files reports in its hello."""
    with tempfile.TemporaryDirectory() as folder:
        return format_firmware_id(board, VERSION, copy_firmware(Path(folder)))


def file_system(settings: Mapping[str, object], fs_bytes: int) -> bytes:
    """Return a file system image with the firmware's files and a board's settings."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        copy_firmware(folder)
        (folder / SETTINGS).write_text(json.dumps(settings))
        system = LittleFS(
            block_size=SECTOR_BYTES,
            block_count=fs_bytes // SECTOR_BYTES,
            prog_size=PROGRAM_BYTES,
            read_size=SMALL_BYTES,
            lookahead_size=SMALL_BYTES,
            disk_version=DISK_VERSION,
        )
        for path in sorted(folder.rglob("*")):
            place = path.relative_to(folder).as_posix()
            if path.is_dir():
                system.makedirs(place, exist_ok=True)
                continue
            system.makedirs(path.relative_to(folder).parent.as_posix(), exist_ok=True)
            with system.open(place, "wb") as file:
                file.write(path.read_bytes())
        return bytes(system.context.buffer)


def uf2_of(image: bytes, chip: Chip) -> bytes:
    """Return the UF2 file for an image at the end of a chip's flash, without the erased sectors."""
    start = FLASH_AT + chip.flash_bytes - len(image)
    pages = [
        (start + at, image[at : at + PROGRAM_BYTES])
        for sector in _written(image)
        for at in range(sector, sector + SECTOR_BYTES, PROGRAM_BYTES)
    ]
    return b"".join(
        struct.pack(
            "<8I476sI",
            *UF2_START,
            UF2_HAS_FAMILY,
            address,
            PROGRAM_BYTES,
            number,
            len(pages),
            chip.family,
            page,
            UF2_END,
        )
        for number, (address, page) in enumerate(pages)
    )


def _written(image: bytes) -> Iterator[int]:
    erased = b"\xff" * SECTOR_BYTES
    for at in range(0, len(image), SECTOR_BYTES):
        if image[at : at + SECTOR_BYTES] != erased:
            yield at


EXAMPLES = (
    "tablectl firmware approved console                   # the ID for `firmware` in the table's file",
    "tablectl firmware build console --name console --settings console.json --out console.uf2",
    "tablectl firmware build wheel --name track --settings wheel.json --key-file track.key --out track.uf2",
    "tablectl firmware flash console.uf2 /media/RPI-RP2   # hold BOOTSEL while plugging the board in",
    "tablectl firmware verify console console             # does the board run this version's firmware?",
)
UF2_INFO_FILE = "INFO_UF2.TXT"
"""A file on the drive of a board in BOOTSEL mode."""


class FirmwareMismatchError(Exception):
    """A board's firmware is unknown or differs from this version's, or the board is offline."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(metavar="build|flash|verify|approved", required=True, dest="action")
    build = add_subcommand(actions, "build", "build the UF2 file of a board's firmware and settings")
    build.add_argument("board", choices=BOARDS, help="the kind of board")
    build.add_argument("--name", required=True, help="the node's name, as in the table's file")
    build.add_argument(
        "--settings", type=Path, metavar="FILE", help="the board's pins, as JSON (docs/devices/boards.md)"
    )
    build.add_argument(
        "--key-file", type=Path, metavar="FILE", help="the node's key, created by `tablectl keys make node`"
    )
    build.add_argument(
        "--chip",
        choices=sorted(CHIPS),
        default="rp2040",
        help="the board's chip: rp2040 for a Pico, rp2350 for a Pico 2 (default: %(default)s)",
    )
    build.add_argument(
        "--fs-kib",
        type=int,
        metavar="KIB",
        help="the size of the board's file system in KiB (required for a chip without a default)",
    )
    build.add_argument("--out", type=Path, required=True, metavar="FILE", help="the UF2 file to write")
    flash = add_subcommand(actions, "flash", "copy a UF2 file to a board in BOOTSEL mode")
    flash.add_argument("uf2", type=Path, metavar="UF2", help="the UF2 file")
    flash.add_argument("drive", type=Path, metavar="DRIVE", help="the board's drive, RPI-RP2 or RP2350")
    approved = add_subcommand(
        actions, "approved", "print the firmware ID that a board with this version's files reports"
    )
    approved.add_argument("board", choices=BOARDS, help="the kind of board")
    verify = add_subcommand(
        actions, "verify", "compare the firmware ID that a board reports with the ID of this version"
    )
    verify.add_argument("board", choices=BOARDS, help="the kind of board")
    verify.add_argument("device", metavar="DEVICE", help="the board's device in the table's file")
    add_socket(verify)
    for one in (build, flash, approved, verify):
        add_json(one)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Return 1 if the board's firmware differs or can't be verified, 2 for bad input, 3 if no controller
    responds.
    """
    try:
        match arguments.action:
            case "build":
                answer = _build(arguments)
            case "flash":
                answer = _flash(arguments.uf2, arguments.drive)
            case "verify":
                answer = _verify(arguments.board, arguments.device, arguments.socket)
            case _:
                answer = {"firmware": firmware_id(arguments.board)}
    except OutOfReachError as error:
        return report_out_of_reach(error)
    except FirmwareMismatchError as error:
        say(error)
        return FAILED
    except OSError as error:
        say(inaccessible_message(error.filename, error))
        return BAD_INPUT
    except ValueError as error:
        say(error)
        return BAD_INPUT
    print(msgspec.json.encode(answer).decode() if arguments.json else "\n".join(map(str, answer.values())))
    return OK


def _build(arguments: argparse.Namespace) -> dict[str, object]:
    settings = _settings(arguments)
    chip = CHIPS[arguments.chip]
    fs_bytes = chip.fs_bytes if arguments.fs_kib is None else arguments.fs_kib * 1024
    if fs_bytes is None:
        raise ValueError(
            f"--fs-kib is missing, and the {arguments.chip} has no default;"
            " to find the size, enter at the board's prompt:"
            " import rp2; f = rp2.Flash(); print(f.ioctl(4, 0) * f.ioctl(5, 0) // 1024)"
        )
    if not 64 * 1024 <= fs_bytes < chip.flash_bytes or fs_bytes % SECTOR_BYTES:
        raise ValueError(
            f"--fs-kib: found {fs_bytes // 1024}, expected a multiple of 4 from 64 to"
            f" {(chip.flash_bytes - SECTOR_BYTES) // 1024}, so that the file system is smaller than the flash"
        )
    content = uf2_of(file_system(settings, fs_bytes), chip)
    _write_private(arguments.out, content)
    return {"uf2": str(arguments.out), "firmware": firmware_id(arguments.board)}


def _settings(arguments: argparse.Namespace) -> dict[str, object]:
    if not NODE_NAME.fullmatch(arguments.name):
        raise ValueError(
            f"--name: found {arguments.name!r}, expected 1 to 16 letters, digits, _ or -,"
            " beginning with a letter or digit"
        )
    settings: object = {}
    if arguments.settings is not None:
        try:
            settings = decode_strict(arguments.settings.read_bytes())
        except ValueError as error:
            raise ValueError(
                f"{arguments.settings}: found invalid JSON ({error}), expected a JSON object with the"
                " board's pins"
            ) from error
    if not isinstance(settings, dict):
        raise ValueError(  # noqa: TRY004 - an invalid value in a file, not a wrong type in the program
            f"{arguments.settings}: found no JSON object, expected one with the board's pins"
        )
    settings |= {"board": arguments.board, "name": arguments.name}
    if arguments.key_file is not None:
        key = arguments.key_file.read_text(encoding="ascii", errors="replace").strip()
        if not KEY.fullmatch(key):
            raise ValueError(
                f"{arguments.key_file}: found no key, expected {KEY_DIGITS};"
                " create a key with `tablectl keys make node FILE`"
            )
        settings["key"] = key
    return settings


def _flash(uf2: Path, drive: Path) -> dict[str, object]:
    if not (drive / UF2_INFO_FILE).is_file():
        raise ValueError(
            f"{drive} is not the drive of a board in BOOTSEL mode (it has no {UF2_INFO_FILE}); "
            "hold BOOTSEL while plugging the board in"
        )
    content = uf2.read_bytes()
    if content[:4] != b"UF2\n" or len(content) % 512:
        raise ValueError(
            f"{uf2} is not a UF2 file; use one from `tablectl firmware build` or from MicroPython"
        )
    target = drive / uf2.name
    with target.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return {"flashed": str(target)}


def _verify(board: str, device: str, socket: str) -> dict[str, object]:
    status = ask(socket, {"do": "status"})["status"]
    devices = status["devices"] if isinstance(status, dict) else {}
    if device not in devices:
        raise ValueError(f"the table has no device {device!r}; {_listed(devices)}")
    kind, figures = devices[device]["type"], devices[device]["figures"]
    if kind != "node":
        raise ValueError(
            f"{device}: found a device of type {kind or 'unknown'}, expected a node;"
            " only a board with firmware from `tablectl firmware` reports its firmware ID"
        )
    runs, expected = figures.get("firmware"), firmware_id(board)
    if not runs:
        raise FirmwareMismatchError(
            f"{device} has sent no hello since the controller started, expected one with {expected};"
            f" power-cycle the board, and see tablectl devices {device}"
        )
    if runs != expected:
        raise FirmwareMismatchError(
            f"{device}: found {runs}, expected {expected};"
            f" build the firmware with this version's `tablectl firmware build {board}` and flash it, or,"
            " if the board's firmware is newer, update the table's software"
        )
    if not devices[device]["up"]:
        raise FirmwareMismatchError(
            f"{device} is offline; it last reported {runs};"
            f" see tablectl devices {device}, and repeat this command when the device is online"
        )
    return {"device": device, "firmware": runs}


def _listed(devices: Mapping[str, object]) -> str:
    return f"its devices are {', '.join(devices)}" if devices else "it has no devices"


def _write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read, because the file might contain a key."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        os.fchmod(descriptor, 0o600)
        opened.write(content)
