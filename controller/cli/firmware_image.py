"""A board's files as the board's flash has them: a littlefs file system, and the UF2 that puts it there."""

import json
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from littlefs import LittleFS

import drivers
from drivers.firmware.shared.identity import SETTINGS, firmware_of, hash_of
from drivers.firmware.shared.program import VERSION

BOARDS = ("console", "wall", "wheel")
SECTOR_BYTES = 4096
"""What the flash erases at once; MicroPython's littlefs block on these boards."""
PROGRAM_BYTES = 256
"""A page of the flash: MicroPython's rp2 port mounts with progsize=256, read and look-ahead sizes of 32."""
SMALL_BYTES = 32
DISK_VERSION = 0x00020000
"""littlefs 2.0, which every MicroPython mounts."""
FLASH_AT = 0x10000000
"""Where the chip sees its flash."""
UF2_START = (0x0A324655, 0x9E5D5157)
UF2_END = 0x0AB16F30
UF2_HAS_FAMILY = 0x2000


@dataclass(frozen=True, slots=True)
class Chip:
    """A board's chip: its UF2 family, and how much flash its board has."""

    family: int
    flash_bytes: int
    fs_bytes: int | None
    """The file system at the end, as MicroPython has it on this board; None where it is not known here."""


CHIPS: Mapping[str, Chip] = {
    "rp2040": Chip(0xE48BFF56, 2 << 20, 1408 * 1024),
    "rp2350": Chip(0xE48BFF59, 4 << 20, None),
}
"""Raspberry Pi Pico and Pico 2."""


def lay_out(folder: Path) -> str:
    """Put the files of a board below a folder; return their SHA-256, as every board with them says it."""
    source = Path(drivers.__file__).parent
    shutil.copytree(
        source / "firmware",
        folder / "drivers" / "firmware",
        ignore=shutil.ignore_patterns("__pycache__", "main.py"),
    )
    shutil.copy(source / "__init__.py", folder / "drivers" / "__init__.py")
    shutil.copy(source / "firmware" / "main.py", folder / "main.py")
    return hash_of(str(folder))


def approved_as(board: str) -> str:
    """Return what this board's hello says when it runs these files."""
    with tempfile.TemporaryDirectory() as folder:
        return firmware_of(board, VERSION, lay_out(Path(folder)))


def file_system(settings: Mapping[str, object], fs_bytes: int) -> bytes:
    """Return the file system with a board's files and its settings."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        lay_out(folder)
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
    """Return the UF2 that writes a file system to the end of a chip's flash; erased sectors are left out."""
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
