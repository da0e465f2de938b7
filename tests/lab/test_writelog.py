"""The disk states that a log of writes allows. These tests need no machine."""

import random
from pathlib import Path

import pytest

from tests.lab.writelog import ENTRY, FLUSH, FUA, MAGIC, MARK, SUPER, NotALogError, apply, read, states

SECTOR = 512


def _log(path: Path, *entries: tuple[int, bytes, int]) -> Path:
    blocks = [SUPER.pack(MAGIC, 1, len(entries), SECTOR)]
    for sector, data, flags in entries:
        if flags & MARK:
            blocks.append(ENTRY.pack(0, 0, flags, len(data)) + data)
        else:
            blocks.append(ENTRY.pack(sector, len(data) // SECTOR, flags, 0))
            blocks.append(data)
    path.write_bytes(b"".join(block.ljust(-(-len(block) // SECTOR) * SECTOR, b"\0") for block in blocks))
    return path


def _filled(byte: bytes, sectors: int = 1) -> bytes:
    return byte * SECTOR * sectors


def test_a_flush_makes_the_writes_before_it_durable_and_none_after(tmp_path: Path) -> None:
    log = _log(
        tmp_path / "log",
        (0, _filled(b"a"), 0),
        (0, b"", FLUSH),
        (0, b"told-1", MARK),
        (1, _filled(b"b", 2), 0),
        (3, _filled(b"c"), FUA),
    )
    seen = set()
    for n, state in enumerate(states(read(log), 200, random.Random(1))):
        image = tmp_path / f"state-{n}"
        image.write_bytes(bytes(SECTOR * 4))
        apply(state, image)
        sectors = [image.read_bytes()[at : at + 1] for at in range(0, SECTOR * 4, SECTOR)]
        seen.add((state.mark, b"".join(sectors)))
        assert state.mark == "" or sectors[0] == b"a"
    assert ("told-1", b"a\0\0c") in seen
    assert ("told-1", b"ab\0c") in seen, "a write must be torn between its sectors in some state"
    assert ("told-1", b"a\0bc") in seen
    assert ("", b"\0\0\0\0") in seen


def test_another_file_is_not_a_log(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(SECTOR))
    with pytest.raises(NotALogError, match="found magic 0x0 version 0"):
        read(tmp_path / "other")
