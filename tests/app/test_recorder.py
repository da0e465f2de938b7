"""The recorder: recordings that replay, a limit on their total size, and a disk that refuses writes."""

import errno
import os
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from controller.app import recording as module
from controller.app.faults import ActiveFaults
from controller.app.recording import Closed, Recorder, RecordingEnd, RecordingStart
from controller.model.readings import BallBeam
from controller.replay.log import Header, open_log
from controller.replay.source import LogError
from tests.app.rig import PATIENCE_S, until

HEADER = Header(version=1, table="roulette", ruleset="roulette")


class Desk:
    """A recorder and the recordings it closed."""

    def __init__(self, folder: Path, keep_bytes: int = 10**9) -> None:
        self.folder = folder
        self.faults = ActiveFaults()
        self.closed: list[Closed] = []
        self.recorder = Recorder(folder, self.faults, closed=self.closed.append, keep_bytes=keep_bytes)
        self.recorder.start()

    def recording(self, name: str, readings: int, *, whole: bool = True) -> None:
        """Write one recording."""
        self.recorder.put(RecordingStart(name, HEADER))
        for t in range(readings):
            self.recorder.put(BallBeam(t=t, dev="wheel", beam=t % 3, arrived=t))
        self.recorder.put(RecordingEnd(whole=whole))

    def has_closed(self, name: str) -> bool:
        return name in [recording.name for recording in self.closed]

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl.gz"


@pytest.mark.parametrize("whole", [True, False])
def test_a_recording_holds_every_reading_and_reports_whether_it_was_cut_off(
    tmp_path: Path, whole: bool
) -> None:
    desk = Desk(tmp_path)
    desk.recording("one", 500, whole=whole)
    assert desk.recorder.stop(PATIENCE_S)
    with open_log(str(desk.path("one"))) as log:
        assert [reading.t for reading in log] == list(range(500))
        assert log.truncated is not whole
    data = desk.path("one").read_bytes()
    assert desk.closed == [Closed("one", sha256(data).hexdigest(), len(data), 500)]


def test_readings_are_in_the_file_before_the_recording_ends(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.recorder.put(RecordingStart("one", HEADER))
    desk.recorder.put(BallBeam(t=5, dev="wheel", beam=0))

    def there() -> bool:
        with suppress(LogError), open_log(str(desk.path("one"))) as log:
            return [reading.t for reading in log] == [5]
        return False  # the file or its header is not there yet

    until(there, "the reading to reach the file")
    assert desk.recorder.stop(PATIENCE_S)


def test_readings_are_written_together_unless_the_recording_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Separate writes would be compressed separately, and every eighth would be synchronized."""
    monkeypatch.setattr(module, "_BATCH_S", 10 * PATIENCE_S)
    written: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        written.append(data)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    desk = Desk(tmp_path)
    desk.recording("one", 100)
    until(partial(desk.has_closed, "one"), "the recording to end")
    assert len(written) == 1
    assert desk.recorder.stop(PATIENCE_S)


@pytest.mark.parametrize("whole", [True, False])
def test_a_recording_is_on_the_disk_before_its_digest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """The journal's row must not state more than a power cut leaves of the file."""
    on_disk: list[int] = []
    told: list[tuple[int, int]] = []
    real = os.fdatasync

    def sync(descriptor: int) -> None:
        real(descriptor)
        on_disk.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fdatasync", sync)
    desk = Desk(tmp_path)
    desk.recorder._closed = lambda recording: told.append((recording.size, on_disk[-1] if on_disk else 0))
    desk.recording("one", 500, whole=whole)
    assert desk.recorder.stop(PATIENCE_S)
    [(size, synced)] = told
    assert synced == size


def test_a_recording_that_cannot_be_synced_at_its_end_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", refuse)
    desk = Desk(tmp_path)
    desk.recording("one", 5)
    assert desk.recorder.stop(PATIENCE_S)
    assert [fault.code for fault in desk.faults.present] == ["recording_failed"]


def test_the_oldest_recordings_make_room_for_new_ones(tmp_path: Path) -> None:
    desk = Desk(tmp_path, keep_bytes=1)
    for name in ("a", "b", "c"):
        desk.recording(name, 100)
        until(partial(desk.has_closed, name), "the recording to end")
    assert desk.recorder.stop(PATIENCE_S)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl.gz"]


def test_a_disk_that_refuses_writes_is_a_fault_and_nothing_is_lost_once_it_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    real = os.write

    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    desk.recorder.put(RecordingStart("one", HEADER))
    desk.recorder.put(BallBeam(t=1, dev="wheel", beam=0))
    until(lambda: [fault.code for fault in desk.faults.locking] == ["recording_failed"], "the fault")
    monkeypatch.setattr(os, "write", real)
    until(lambda: not desk.faults.present, "the disk to recover")
    desk.recorder.put(BallBeam(t=2, dev="wheel", beam=0))
    desk.recorder.put(RecordingEnd(whole=True))
    assert desk.recorder.stop(PATIENCE_S)
    with open_log(str(desk.path("one"))) as log:
        assert [reading.t for reading in log] == [1, 2]


def test_a_disk_that_refuses_writes_for_too_long_costs_the_rest_of_the_recording_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_UNWRITTEN", 100)
    desk = Desk(tmp_path)
    real = os.write

    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", refuse)
    desk.recorder.put(RecordingStart("one", HEADER))
    for t in range(1000):
        desk.recorder.put(BallBeam(t=t * 7919, dev="wheel", beam=t % 3))
    until(
        lambda: "recording_lost" in [fault.code for fault in desk.faults.present], "the loss to be reported"
    )
    monkeypatch.setattr(os, "write", real)
    desk.recording("two", 3)
    until(lambda: not desk.faults.present, "the next recording to be complete")
    assert desk.recorder.stop(PATIENCE_S)
    with open_log(str(desk.path("two"))) as log:
        assert len(list(log)) == 3
