"""The folder of pictures contains only complete files. Removals begin with the oldest and are recorded."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controller.evidence.pictures import (
    DAY_S,
    MB,
    Closed,
    Folder,
    Hold,
    Limits,
    MissingError,
    PictureDescription,
    StorageThread,
    StoredFile,
    WallTime,
    Writer,
)
from tests.app.rig import until

ROOMY = Limits(days=3650, max_mb=1000)
NOW_S = 1_800_000_000.0


def taken(number: int, size: int = 100) -> Closed:
    writer = Writer()
    writer.add("die", 1000 + number, bytes([number % 256]) * size)
    writer.add("clip", 900, b"before")
    return writer.close(PictureDescription(camera="cam", die=1, kind="die_rest", t_us=1000 + number, up=6))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    one = Folder(tmp_path / "kept")
    one.begin()
    return one


def test_a_kept_file_is_found_by_its_digest_and_opens_in_any_tool(folder: Folder) -> None:
    closed = taken(1)
    folder.keep(closed, NOW_S)
    found = folder.pictures(closed.sha256)
    assert (found.about.camera, found.about.up) == ("cam", 6)
    assert found.of("die") == ("die-1001.jpg",)
    assert found.entries["clip-900.jpg"] == b"before"
    digest = subprocess.run(
        ["sha256sum", folder.path / f"{closed.sha256}.zip"], capture_output=True, text=True, check=True
    )
    assert digest.stdout.split()[0] == closed.sha256


def test_a_flipped_byte_is_named_and_nothing_is_shown(folder: Folder) -> None:
    closed = taken(1)
    folder.keep(closed, NOW_S)
    file = folder.path / f"{closed.sha256}.zip"
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    with pytest.raises(MissingError, match=r"changed after it was written: found SHA-256 .* as evidence"):
        folder.pictures(closed.sha256)


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06" + bytes(18), b"no archive at all"])
def test_a_file_under_its_own_digest_that_no_camera_wrote_is_refused(folder: Folder, data: bytes) -> None:
    closed = Closed(hashlib.sha256(data).hexdigest(), data)
    folder.keep(closed, NOW_S)
    with pytest.raises(MissingError, match="not a dice camera's picture file"):
        folder.pictures(closed.sha256)


def test_a_deleted_file_is_distinguished_from_one_that_never_existed(folder: Folder) -> None:
    closed = taken(1)
    folder.keep(closed, NOW_S)
    assert folder.delete(closed.sha256, NOW_S, by="ann", why="a guest asked")
    assert not folder.delete(closed.sha256, NOW_S, by="ann", why="again")
    with pytest.raises(MissingError, match="deleted by ann: a guest asked"):
        folder.pictures(closed.sha256)
    with pytest.raises(MissingError, match="never written, or were deleted without a record"):
        folder.pictures(taken(2).sha256)
    with pytest.raises(MissingError, match="64 hexadecimal digits"):
        folder.pictures("../../etc/passwd")


def test_the_oldest_files_are_removed_when_all_take_too_much_space(folder: Folder) -> None:
    files = [taken(number, 9 * MB) for number in range(4)]
    for age, closed in enumerate(files):
        folder.keep(closed, NOW_S + age)
    assert folder.prune(Limits(days=3650, max_mb=20), NOW_S + 9, by="retention") == 2
    assert [one.sha256 for one in folder.kept()] == [closed.sha256 for closed in files[2:]]
    assert {one.why for one in folder.deleted()} == {"the files together exceeded 20 MB"}


def test_old_files_are_removed_but_not_by_a_clock_that_may_be_wrong(folder: Folder) -> None:
    folder.keep(taken(1), NOW_S)
    folder.keep(taken(2), NOW_S + 20 * DAY_S)
    later_s = NOW_S + 40 * DAY_S
    assert folder.prune(Limits(days=30, max_mb=1000), later_s, by="retention", aged=False) == 0
    assert folder.prune(Limits(days=30, max_mb=1000), later_s, by="retention") == 1
    assert [one.sha256 for one in folder.kept()] == [taken(2).sha256]


def test_a_file_held_during_pruning_stays(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = taken(1), taken(2)
    folder.keep(first, NOW_S)
    folder.keep(second, NOW_S + 1)
    kept = folder.kept

    def kept_and_then_held() -> list[StoredFile]:
        files = kept()
        folder.hold(Hold(sha256=first.sha256, wall_s=NOW_S, by="ann", why="dispute 7"))
        return files

    monkeypatch.setattr(folder, "kept", kept_and_then_held)
    assert folder.prune(Limits(days=30, max_mb=1000), NOW_S + 40 * DAY_S, by="retention") == 1
    assert [one.sha256 for one in kept()] == [first.sha256]


def test_files_stored_under_a_slow_clock_do_not_count_as_the_oldest(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    walls = [WallTime(NOW_S, synced=True)]
    keeper = StorageThread(folder, ROOMY, lambda: walls[-1], print)
    keeper.keep(taken(1))
    until(lambda: len(folder.kept()) == 1, "the first file")
    walls.append(WallTime(0.0, synced=False))
    keeper.keep(taken(2))
    keeper.close()
    assert [one.wall_s for one in folder.kept()] == [NOW_S, NOW_S]


def test_a_disk_that_refuses_writes_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    folder = Folder(tmp_path / "kept")
    keeper = StorageThread(folder, ROOMY, lambda: WallTime(NOW_S, synced=True), said.append)
    folder.path.rename(tmp_path / "gone")
    for number in range(100):
        keeper.keep(taken(number))
    keeper.close()
    assert said
    assert all("not kept" in line or "can't be deleted" in line for line in said)


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from controller.evidence.pictures import Folder
from tests.evidence.test_pictures import taken
folder = Folder(Path(sys.argv[1]))
folder.begin()
print("begun", flush=True)
number = 0
while True:
    folder.keep(taken(number, 4_000_000), 1.0)
    number += 1
"""


def test_a_writer_killed_at_any_time_leaves_no_partial_file_that_is_accepted(tmp_path: Path) -> None:
    for life in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITES_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        until(lambda: len(list(tmp_path.iterdir())) > life, "any bytes written")  # noqa: B023 - called at once
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        folder = Folder(tmp_path)
        for one in folder.kept():
            assert folder.pictures(one.sha256).about.up == 6
    folder.begin()
    assert not list(tmp_path.glob(".*.part"))
