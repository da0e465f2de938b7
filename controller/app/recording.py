"""Recordings: the raw readings in rotating files, written by a separate thread.

Each file can be replayed without the others. The core queues readings and never waits. If the disk refuses a
write, readings are kept, up to a limit, and the write is retried.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

import msgspec

from controller.app.faults import ActiveFaults, Fault
from controller.engine.session import OnInput, Session
from controller.journal.contents import Recording
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect, Judged
from controller.model.readings import AnyReading
from controller.replay.log import Header, LogWriter

ENDING = ".jsonl.gz"
_BATCH_S = 0.25
"""The interval between writes; a crash of the process loses at most one interval's readings."""
_IDLE_S = 1.0
"""Maximum wait for a reading when there is nothing to write or synchronize."""
_SYNC_S = 2.0
"""The interval between synchronizations to the disk; a power cut loses at most one interval's readings."""
MAX_UNWRITTEN = 8 * 1024 * 1024
"""Maximum number of compressed bytes kept while the disk refuses writes."""


class RecordingStart(NamedTuple):
    """A queue item of the recorder: the start of a recording."""

    name: str
    header: Header


class RecordingEnd(NamedTuple):
    """A queue item of the recorder: the end of a recording, `whole` or cut off during an attempt."""

    whole: bool


class Closed(NamedTuple):
    """A closed recording."""

    name: str
    sha256: str
    size: int
    readings: int


class Recorder:
    """The thread that writes recordings, one file at a time."""

    def __init__(
        self, folder: Path, faults: ActiveFaults, *, closed: Callable[[Closed], None], keep_bytes: int
    ) -> None:
        """Write to this folder; `closed` is called for each finished file, `keep_bytes` limits the total."""
        self._folder = folder
        self._faults = faults
        self._closed = closed
        self._keep_bytes = keep_bytes
        self._queue: SimpleQueue[RecordingStart | AnyReading | RecordingEnd | None] = SimpleQueue()
        self._file: RecordingFile | None = None
        self._is_urgent = Event()
        """Set when a recording ends or the recorder stops, to end the wait for more readings."""
        self._thread = Thread(target=self._work, name="recorder", daemon=True)
        self.turns = 0
        """Incremented in each iteration of the thread, for the watchdog."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def lossy(self) -> bool:
        """Whether readings are missing from the current recording."""
        file = self._file
        return file is not None and file.lossy

    def put(self, item: RecordingStart | AnyReading | RecordingEnd) -> None:
        """Queue an item and return at once."""
        self._queue.put(item)
        if isinstance(item, RecordingEnd):
            self._is_urgent.set()

    def stop(self, timeout_s: float) -> bool:
        """Write the queued items and end the thread; return False on a timeout."""
        self._queue.put(None)
        self._is_urgent.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        going = True
        while going:
            self.turns += 1
            going = self._take_waiting()
            if self._file is not None:
                self._file.write_out(self._faults)

    def _take_waiting(self) -> bool:
        has_unsaved = self._file is not None and self._file.has_unsaved
        try:
            item = self._queue.get(timeout=_BATCH_S if has_unsaved else _IDLE_S)
            # Without this wait, each reading would be compressed and written separately.
            self._is_urgent.wait(_BATCH_S)
            self._is_urgent.clear()
            while True:
                if item is None:
                    self._end(whole=False)
                    return False
                self._do(item)
                item = self._queue.get_nowait()
        except Empty:
            return True

    def _do(self, item: RecordingStart | AnyReading | RecordingEnd) -> None:
        match item:
            case RecordingStart(name=name, header=header):
                self._end(whole=False)
                with suppress(OSError):
                    self._make_room()
                self._file = RecordingFile(self._folder / (name + ENDING), name, header)
                self._faults.clear("recording_lost")
            case RecordingEnd(whole=whole):
                self._end(whole=whole)
            case _:
                if self._file is not None:
                    self._file.add(item)

    def _end(self, *, whole: bool) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.end(self._faults, whole=whole)
            self._closed(Closed(file.name, file.digest.hexdigest(), file.size, file.readings))

    def _make_room(self) -> None:
        """Delete the oldest recordings beyond the size limit; the journal keeps the outcomes' evidence."""
        found = [(path.stat(), path) for path in self._folder.glob("*" + ENDING)]
        size = sum(stat.st_size for stat, _ in found)
        for stat, path in sorted(found, key=lambda entry: entry[0].st_mtime_ns):
            if size <= self._keep_bytes:
                return
            path.unlink()
            size -= stat.st_size


class RecordingFile:
    """The file of the current recording, with a buffer for the compressed bytes not written yet."""

    def __init__(self, path: Path, name: str, header: Header) -> None:
        self.name = name
        self.digest = sha256()
        self.size = 0
        self.readings = 0
        self._path = path
        self._descriptor: int | None = None
        self._packed = BytesIO()
        self._log = LogWriter(self._packed, header, compress=True)
        self._unwritten = b""
        self._unsynced_turns = 0
        self._added = True
        self.lossy = False

    def add(self, reading: AnyReading) -> None:
        """Add a reading."""
        self.readings += 1
        self._added = True
        self._log.write(reading)

    @property
    def has_unsaved(self) -> bool:
        """Whether some readings might not be on the disk yet."""
        return self._added or bool(self._unwritten) or self._unsynced_turns > 0

    def write_out(self, faults: ActiveFaults, *, packed: bool = False) -> None:
        """Write the added readings; `packed` means that the log is closed and needs no flush."""
        if self._added and not packed:
            self._log.flush()
        self._added = False
        self._unwritten += b"" if self.lossy else self._packed.getvalue()
        self._packed.seek(0)
        self._packed.truncate()
        try:
            self._write()
        except OSError as error:
            faults.report(self._storage_fault(error), "recorder")
            self._drop_overflow(faults)
        else:
            faults.clear("recording_failed", "recorder")

    def end(self, faults: ActiveFaults, *, whole: bool) -> None:
        """Close the file; without `whole`, the log remains incomplete, as it does after a power cut."""
        if whole:
            self._log.close()
        self.write_out(faults, packed=whole)
        if self._descriptor is not None:
            # The journal records the file's digest, so the file must be on the disk before that row.
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                faults.report(self._storage_fault(error), "recorder")
            os.close(self._descriptor)

    def _storage_fault(self, error: OSError) -> Fault:
        return Fault("recording_failed", str(self._path), error.strerror or str(error))

    def _write(self) -> None:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o640)
        wrote = bool(self._unwritten)
        while self._unwritten:
            count = os.write(self._descriptor, self._unwritten)
            self.digest.update(self._unwritten[:count])
            self.size += count
            self._unwritten = self._unwritten[count:]
        self._unsynced_turns += wrote or self._unsynced_turns > 0
        if self._unsynced_turns * _BATCH_S >= _SYNC_S:
            os.fdatasync(self._descriptor)
            self._unsynced_turns = 0

    def _drop_overflow(self, faults: ActiveFaults) -> None:
        if len(self._unwritten) <= MAX_UNWRITTEN:
            return
        # A gap would damage the rest of the compressed stream, so writing to this file stops.
        self._unwritten = b""
        self.lossy = True
        found = f"the disk refused more than {MAX_UNWRITTEN:,} bytes"
        faults.report(Fault("recording_lost", str(self._path), found))


_encode = msgspec.json.Encoder().encode


class Segment:
    """An engine's session and the recording of all readings passed to it."""

    def __init__(
        self, setup: Setup, name: str, epoch: str, recorder: Recorder, on_input: OnInput | None = None
    ) -> None:
        """Start a recording with this name; `on_input` is called with the result of each input.

        Raises SetupError if the setup is incomplete for the game.
        """
        self.name = name
        self.session = Session(setup, on_input)
        self.size = 0
        """The recording's size in uncompressed bytes."""
        self.last_us = 0
        """The latest time of the recorded readings."""
        self.began_us: int | None = None
        self._recorder = recorder
        header = Header(
            version=1,
            table=setup.table,
            ruleset=setup.ruleset.name,
            epoch=epoch,
            dice_table=setup.dice_table,
            wheel=setup.wheel,
            session=setup.session,
            first=setup.first,
            state=msgspec.structs.replace(setup.state, calls=setup.state.calls or setup.calls),
            rules=setup.ruleset,
            sources={dev: tuple(kinds) for dev, kinds in setup.sources.items()},
            locking_switches=tuple(sorted(setup.locking_switches)),
        )
        self._digest = sha256(_encode(header) + b"\n")
        self._arrived_us = 0
        recorder.put(RecordingStart(name, header))

    def feed(self, reading: AnyReading) -> Sequence[Effect]:
        """Record a reading, pass it to the session, and return the effects."""
        line = _encode(reading) + b"\n"
        self._digest.update(line)
        self.size += len(line)
        self.last_us = max(self.last_us, reading.t)
        self._arrived_us = reading.t if reading.arrived is None else reading.arrived
        if self.began_us is None:
            self.began_us = self._arrived_us
        self._recorder.put(reading)
        return self.session.feed(reading)

    def recording(self, effects: Sequence[Effect]) -> Recording:
        """Return the recording's name and hash so far, and the times between which the effects arose."""
        arrivals = [
            reading.t if reading.arrived is None else reading.arrived
            for effect in effects
            if isinstance(effect, Judged)
            for reading in effect.readings
        ]
        from_us = min(arrivals, default=self._arrived_us)
        return Recording(
            name=self.name, from_us=from_us, to_us=self._arrived_us, sha256=self._digest.hexdigest()
        )

    def end(self) -> Sequence[Effect]:
        """End the recording between attempts; return the effects of delayed readings, as in a replay."""
        self._recorder.put(RecordingEnd(whole=True))
        return self.session.finish()

    def cut(self) -> None:
        """End the recording during an attempt, as after a power cut."""
        self._recorder.put(RecordingEnd(whole=False))


class Rotation(NamedTuple):
    """The size and age at which the next recording starts, once the table is quiet."""

    size: int = 16 * 1024 * 1024
    """Uncompressed bytes."""
    after_us: int = 6 * 3600 * 1_000_000
    quiet_us: int = 60_000_000
    """Time without an outcome or input after which the table is considered quiet. Until then, a call might be
    corrected."""


class RecordingSeries:
    """A session's consecutive recordings, numbered from 1."""

    def __init__(
        self,
        setup: Setup,
        epoch: str,
        recorder: Recorder,
        rotation: Rotation,
        on_input: OnInput | None = None,
    ) -> None:
        """Record a session of this setup; `on_input` is called with the result of each input."""
        self.rotation = rotation
        self._setup = setup
        self._epoch = epoch
        self._recorder = recorder
        self._on_input = on_input
        self._begun = 0

    def next(self, state: State, first: NextNumbers, after: Segment | None = None) -> Segment:
        """Start the next recording in this state, with the data carried over from `after`, if any."""
        self._begun += 1
        name = f"{self._setup.table}-{int(self._setup.session):06d}-{self._begun:03d}"
        standing = None if after is None else after.session.carried_readings()
        setup = replace(self._setup, state=msgspec.structs.replace(state, standing=standing), first=first)
        return Segment(setup, name, self._epoch, self._recorder, self._on_input)

    def due(self, segment: Segment, now_us: int) -> bool:
        """Return whether a recording is large or old enough to end, or has lost readings."""
        began_us = segment.began_us
        old = began_us is not None and now_us - began_us > self.rotation.after_us
        return old or segment.size > self.rotation.size or self._recorder.lossy
