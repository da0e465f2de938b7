"""Recordings: the raw readings in rotating files, written by a thread of their own.

Each piece is a log with the header that lets it replay alone. The core hands over readings and never waits;
what the disk refuses is kept and tried again, up to a limit.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from controller.app.board import Board
from controller.app.faults import Fault
from controller.model.readings import AnyReading
from controller.replay.header import Header
from controller.replay.writer import LogWriter

ENDING = ".jsonl.gz"
_BATCH_S = 0.25
"""Readings reach the file this often, so at most these are lost with the process."""
_SYNC_S = 2.0
"""The file reaches the disk this often: so much may be lost with the power."""
MAX_UNWRITTEN = 8 * 1024 * 1024
"""Compressed bytes that may wait for a disk which refuses them."""


class Begin(NamedTuple):
    """Begin a piece."""

    name: str
    header: Header


class End(NamedTuple):
    """End the piece: `whole`, or cut off in the middle of an attempt, which its replay then knows."""

    whole: bool


class Closed(NamedTuple):
    """A piece that is complete."""

    name: str
    sha256: str
    size: int
    readings: int


class Recorder:
    """One thread, one file at a time."""

    def __init__(
        self, folder: Path, board: Board, *, closed: Callable[[Closed], None], keep_bytes: int
    ) -> None:
        """Write into this folder; `closed` hears of each piece, `keep_bytes` bounds them all together."""
        self._folder = folder
        self._board = board
        self._closed = closed
        self._keep_bytes = keep_bytes
        self._queue: SimpleQueue[Begin | AnyReading | End | None] = SimpleQueue()
        self._piece: _Piece | None = None
        self._thread = Thread(target=self._work, name="recorder", daemon=True)
        self.turns = 0
        """Goes up with each turn of the thread."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def lossy(self) -> bool:
        """Whether readings are missing from the present piece."""
        piece = self._piece
        return piece is not None and piece.lossy

    def put(self, item: Begin | AnyReading | End) -> None:
        """Hand over the next thing to write, at once."""
        self._queue.put(item)

    def stop(self, timeout_s: float) -> bool:
        """Write what waits and end; False where the disk took too long."""
        self._queue.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        going = True
        while going:
            self.turns += 1
            going = self._take_waiting()
            if self._piece is not None:
                self._piece.write_out(self._board)

    def _take_waiting(self) -> bool:
        try:
            item = self._queue.get(timeout=_BATCH_S)
            while True:
                if item is None:
                    self._end(whole=False)
                    return False
                self._do(item)
                item = self._queue.get_nowait()
        except Empty:
            return True

    def _do(self, item: Begin | AnyReading | End) -> None:
        match item:
            case Begin(name=name, header=header):
                self._end(whole=False)
                with suppress(OSError):
                    self._make_room()
                self._piece = _Piece(self._folder / (name + ENDING), name, header)
                self._board.over("recording_lost")
            case End(whole=whole):
                self._end(whole=whole)
            case _:
                if self._piece is not None:
                    self._piece.add(item)

    def _end(self, *, whole: bool) -> None:
        piece, self._piece = self._piece, None
        if piece is not None:
            piece.end(self._board, whole=whole)
            self._closed(Closed(piece.name, piece.digest.hexdigest(), piece.size, piece.readings))

    def _make_room(self) -> None:
        """Delete the oldest pieces beyond the limit: what was told keeps its evidence in the journal."""
        found = [(path.stat(), path) for path in self._folder.glob("*" + ENDING)]
        size = sum(stat.st_size for stat, _ in found)
        for stat, path in sorted(found, key=lambda entry: entry[0].st_mtime_ns):
            if size <= self._keep_bytes:
                return
            path.unlink()
            size -= stat.st_size


class _Piece:
    """A file being written: packed bytes wait until the disk takes them."""

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

    def write_out(self, board: Board, *, packed: bool = False) -> None:
        """Write all that was added."""
        if self._added and not packed:
            self._log.flush()
        self._added = False
        self._unwritten += b"" if self.lossy else self._packed.getvalue()
        self._packed.seek(0)
        self._packed.truncate()
        try:
            self._write()
        except OSError as error:
            board.began(Fault("recording_failed", str(self._path), error.strerror or str(error)), "recorder")
            self._give_up_where_too_much_waits(board)
        else:
            board.over("recording_failed", "recorder")

    def end(self, board: Board, *, whole: bool) -> None:
        """End the file; one that is not whole ends as a power cut would leave it."""
        if whole:
            self._log.close()
        self.write_out(board, packed=whole)
        if self._descriptor is not None:
            os.close(self._descriptor)

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

    def _give_up_where_too_much_waits(self, board: Board) -> None:
        if len(self._unwritten) <= MAX_UNWRITTEN:
            return
        # A hole in a packed stream damages all after it: the piece ends here, and the next is whole again.
        self._unwritten = b""
        self.lossy = True
        board.began(Fault("recording_lost", str(self._path), f"{MAX_UNWRITTEN:,} bytes refused"))
