"""A camera's picture files, and the folder that stores them with a quota and a maximum age.

A file is an uncompressed ZIP archive, named after its SHA-256. A separate thread writes the files, because
the camera must not wait for the disk. A file gets its final name only once it is complete.

Because pictures show people's hands, old files are deleted automatically. Each deletion is recorded with the
reason and the name of the person, or `retention` for an automatic deletion. The journal keeps the digest, and
`tablectl explain` reports the deletion.
"""

import hashlib
import io
import os
import re
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


MAX_BYTES = 16 * 2**20
"""Maximum size, in bytes, of a file to read; cameras write smaller files."""
MAX_ENTRIES = 1000
ABOUT = "about.json"
_NAME = re.compile(r"(die|whole|clip)-[0-9]{1,17}\.jpg", re.ASCII)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all archive entries; the time of a picture is in its name."""


class PictureDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A description of the pictures; `t_us` is the camera's time in us."""

    camera: str
    die: int
    kind: str
    """The reading that names the file: `die_rest` or `die_lost`."""
    t_us: int
    up: int | None = None
    confidence: float | None = None
    clip_cut: bool = False
    """Whether the clip reached its maximum size before the throw ended."""


_decode_about = msgspec.json.Decoder(PictureDescription).decode


class Closed(NamedTuple):
    """A complete file: its digest and contents."""

    sha256: str
    data: bytes


class _HashedStream(io.RawIOBase):
    """A stream in memory that computes a digest; it can't seek, so ZIP archives are written in order."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer") -> int:
        part = bytes(data)
        self.parts.append(part)
        self.size += len(part)
        self.digest.update(part)
        return len(part)


class Writer:
    """Builds one file in memory."""

    def __init__(self) -> None:
        self._bytes = _HashedStream()
        self._archive = zipfile.ZipFile(self._bytes, "w", zipfile.ZIP_STORED)

    @property
    def size(self) -> int:
        """The current size, in bytes."""
        return self._bytes.size

    def add(self, kind: str, t_us: int, jpeg: bytes) -> None:
        """Add a picture: `die` (a section of a frame), `whole` (a frame) or `clip` (a reduced frame)."""
        self._archive.writestr(zipfile.ZipInfo(f"{kind}-{t_us}.jpg", _EPOCH), jpeg)

    def close(self, about: PictureDescription) -> Closed:
        """Complete the file and return it."""
        self._archive.writestr(zipfile.ZipInfo(ABOUT, _EPOCH), msgspec.json.encode(about))
        self._archive.close()
        return Closed(self._bytes.digest.hexdigest(), b"".join(self._bytes.parts))


@dataclass(frozen=True, slots=True)
class Pictures:
    """A verified file; `entries` contains the JPEGs by name."""

    sha256: str
    about: PictureDescription
    entries: Mapping[str, bytes]

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the names of the pictures of one kind, in chronological order."""
        names = (name for name in self.entries if name.startswith(f"{kind}-"))
        return tuple(sorted(names, key=taken_us))


def taken_us(name: str) -> int:
    """Return the time of a picture, in us, from its name."""
    return int(name.rpartition("-")[2].removesuffix(".jpg"))


class UnsoundError(ValueError):
    """A file that was changed or does not come from a dice camera."""


def read(sha256: str, data: bytes) -> Pictures:
    """Verify a file with this digest, and return its pictures; raises UnsoundError."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise UnsoundError(f"was changed after it was written: found SHA-256 {found}, expected {sha256}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_ENTRIES or any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                infos = []
            entries = {info.filename: archive.read(info) for info in infos}
        about = _decode_about(entries.pop(ABOUT))
    except (zipfile.BadZipFile, LookupError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise UnsoundError(f"is not a dice camera's picture file ({error})") from error
    return Pictures(sha256, about, {name: jpeg for name, jpeg in entries.items() if _NAME.fullmatch(name)})


FOLDER = "/var/lib/table-camera"
"""The folder of an installed camera."""
DELETED = "deleted.jsonl"
HELD = "held.jsonl"
MAX_DELETED_LINES = 20_000
"""The approximate maximum number of recorded deletions, at 200 bytes each. When it is exceeded, only the
newest half is kept."""
ENDING = ".zip"
_PART = ".part"
_SHA256 = re.compile("[0-9a-f]{64}", re.ASCII)
_MODE = 0o640
"""The mode of the files; the folder's group, which includes the console, may read them."""
DAY_S = 86_400
MB = 1_000_000


class Limits(NamedTuple):
    """The maximum age of a file in days, and the maximum size of all files in units of 1,000,000 bytes."""

    days: int
    max_mb: int


class StoredFile(NamedTuple):
    """A file in the folder: its digest, size in bytes and wall time."""

    sha256: str
    size: int
    wall_s: float


class DeletionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a deletion: the time, the person or `retention`, and the reason."""

    sha256: str
    wall_s: float
    by: str
    why: str


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """A hold on a file, or the release of a hold if `held` is False, with the person and the reason."""

    sha256: str
    wall_s: float
    by: str
    why: str
    held: bool = True


class HeldError(Exception):
    """A file that must not be deleted; the message names the person who placed the hold, and the reason."""


_decode_deleted = msgspec.json.Decoder(DeletionRecord).decode
_decode_hold = msgspec.json.Decoder(Hold).decode


class MissingError(Exception):
    """Pictures that can't be shown; the message states the reason."""


class Folder:
    """A folder of picture files; several processes may use it at the same time."""

    def __init__(self, path: Path) -> None:
        """Use this folder; for reading, the folder need not exist."""
        self.path = path

    def begin(self) -> None:
        """Create the folder if needed, and delete incomplete files; raises OSError."""
        self.path.mkdir(mode=0o750, parents=True, exist_ok=True)
        for part in self.path.glob(f".*{_PART}"):
            part.unlink(missing_ok=True)

    def keep(self, closed: Closed, wall_s: float) -> None:
        """Write a file, and rename it once its contents are on the disk; raises OSError."""
        descriptor, name = tempfile.mkstemp(_PART, ".", self.path)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(closed.data)
                stream.flush()
                os.fchmod(stream.fileno(), _MODE)
                os.fsync(stream.fileno())
            os.utime(part, (wall_s, wall_s))
            part.replace(self._file(closed.sha256))
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._sync()

    def kept(self) -> list[StoredFile]:
        """Return the stored files, oldest first; raises OSError if the folder can't be read."""
        found = []
        for entry in os.scandir(self.path):
            sha256 = entry.name.removesuffix(ENDING)
            if entry.name.endswith(ENDING) and _SHA256.fullmatch(sha256):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    found.append(StoredFile(sha256, status.st_size, status.st_mtime))
        return sorted(found, key=lambda one: (one.wall_s, one.sha256))

    def prune(self, limits: Limits, now_s: float, *, by: str, aged: bool = True, room: int = 0) -> int:
        """Delete files that are too old, then the oldest until the quota is met; return the number deleted.

        If the clock is not synchronized, pass `aged` as False to apply only the quota. `room` is the size, in
        bytes, to reserve for a new file. Held files are neither deleted nor counted. Raises OSError.
        """
        held = self.holds()
        files = [one for one in self.kept() if one.sha256 not in held]
        total = room + sum(one.size for one in files)
        deleted = 0
        for one in files:
            old = aged and now_s - one.wall_s > limits.days * DAY_S
            full = total > limits.max_mb * MB
            if not old and not full:
                break
            too_much = f"the files together exceeded {limits.max_mb} MB"
            why = f"older than {limits.days} days" if old else too_much
            with suppress(HeldError):  # A hold may have been placed since the holds were read.
                deleted += self.delete(one.sha256, now_s, by=by, why=why)
            total -= one.size
        return deleted

    def delete(self, sha256: str, now_s: float, *, by: str, why: str) -> bool:
        """Delete a file, and record the person and the reason; return False if the file does not exist.

        Raises OSError, HeldError if the file is held, and MissingError if `sha256` is not a SHA-256.
        """
        if (hold := self.holds().get(sha256)) is not None:
            raise HeldError(f"held by {hold.by}: {hold.why}")
        try:
            self._file(sha256).unlink()
        except FileNotFoundError:
            return False
        self._record(DeletionRecord(sha256=sha256, wall_s=now_s, by=by, why=why))
        self._sync()
        return True

    def hold(self, hold: Hold) -> None:
        """Record a hold on a file, or its release; raises OSError."""
        path = self.path / HELD
        with path.open("ab") as stream:
            os.fchmod(stream.fileno(), _MODE)
            stream.write(msgspec.json.encode(hold) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self._sync()

    def holds(self) -> dict[str, Hold]:
        """Return the holds in force, by digest; skip unreadable lines. Raises OSError."""
        found: dict[str, Hold] = {}
        path = self.path / HELD
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with suppress(msgspec.MsgspecError):
                hold = _decode_hold(line)
                found[hold.sha256] = hold
        return {sha256: hold for sha256, hold in found.items() if hold.held}

    def pictures(self, sha256: str) -> Pictures:
        """Verify a file and return its pictures; raises MissingError."""
        try:
            with self._file(sha256).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise MissingError(self._why_missing(sha256)) from None
        except OSError as error:
            raise MissingError(f"{self.path} can't be read ({error.strerror}); {_READ_ADVICE}") from error
        try:
            return read(sha256, data)
        except UnsoundError as error:
            raise MissingError(f"{self._file(sha256).name} {error}; do not use it as evidence") from error

    def stamp(self, sha256: str) -> tuple[int, int, int] | None:
        """Return values that change if the file is changed or replaced; None if it can't be accessed.

        Raises MissingError if `sha256` is not a SHA-256.
        """
        try:
            status = self._file(sha256).stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def deleted(self) -> Iterator[DeletionRecord]:
        """Yield the recorded deletions, oldest first; skip unreadable lines."""
        with suppress(OSError):
            for line in (self.path / DELETED).read_bytes().splitlines():
                with suppress(msgspec.MsgspecError):
                    yield _decode_deleted(line)

    def _why_missing(self, sha256: str) -> str:
        for one in self.deleted():
            if one.sha256 == sha256:
                return f"deleted by {one.by}: {one.why}"
        try:
            os.scandir(self.path).close()
        except OSError as error:
            return f"{self.path} can't be read ({error.strerror}); {_READ_ADVICE}"
        return f"not in {self.path}, because they were never written, or were deleted without a record"

    def _record(self, deleted: DeletionRecord) -> None:
        path = self.path / DELETED
        with path.open("ab") as stream:
            os.fchmod(stream.fileno(), _MODE)
            stream.write(msgspec.json.encode(deleted) + b"\n")
            large = stream.tell() > MAX_DELETED_LINES * 200
        if large:
            newest = path.read_bytes().splitlines(keepends=True)[-MAX_DELETED_LINES // 2 :]
            part = path.with_name(f".{DELETED}{_PART}")
            part.write_bytes(b"".join(newest))
            part.chmod(_MODE)
            part.replace(path)

    def _file(self, sha256: str) -> Path:
        if _SHA256.fullmatch(sha256) is None:
            raise MissingError(f"found {sha256[:80]!r}, expected a SHA-256: 64 hexadecimal digits")
        return self.path / f"{sha256}{ENDING}"

    def _sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_READ_ADVICE = "run as root, or as a member of the folder's group (table-camera on an installed table)"


MAX_WAITING = 6
"""Maximum number of files, each of at most 12 MB, in the queue for the disk."""
PRUNE_INTERVAL_S = 3600.0
"""Maximum interval between two checks for old files."""
PRUNED_BY = "retention"


class WallTime(NamedTuple):
    """The wall time in seconds since 1970, and whether the clock is synchronized."""

    s: float
    synced: bool


class StorageThread:
    """A thread that stores files, and deletes the oldest when they are too old or the quota is exceeded."""

    def __init__(
        self, folder: Folder, limits: Limits, wall: Callable[[], WallTime], say: Callable[[str], None]
    ) -> None:
        """Start the thread and create the folder if needed; `say` reports problems. Raises OSError."""
        self._folder = folder
        self._limits = limits
        self._wall = wall
        self._say = say
        self._queue: Queue[Closed | None] = Queue(MAX_WAITING)
        folder.begin()
        self._thread = threading.Thread(target=self._work, name="evidence", daemon=True)
        self._thread.start()

    def keep(self, closed: Closed) -> None:
        """Queue a file for writing; if the queue is full, drop the file and report the loss."""
        try:
            self._queue.put_nowait(closed)
        except Full:
            self._say(f"{self._folder.path}: the disk is too slow; pictures {closed.sha256} were not kept")

    def close(self) -> None:
        """Write all queued files, and stop the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        self._prune(0)
        while True:
            try:
                closed = self._queue.get(timeout=PRUNE_INTERVAL_S)
            except Empty:
                self._prune(0)
                continue
            if closed is None:
                return
            self._prune(len(closed.data))
            try:
                self._folder.keep(closed, self._file_time_s())
            except OSError as error:
                self._say(f"{self._folder.path}: pictures {closed.sha256} were not kept ({error.strerror})")

    def _file_time_s(self) -> float:
        """Return a new file's time; without a synchronized clock, it is at least the newest file's time."""
        wall = self._wall()
        if wall.synced:
            return wall.s
        return max([wall.s, *(one.wall_s for one in self._folder.kept()[-1:])])

    def _prune(self, room: int) -> None:
        wall = self._wall()
        try:
            self._folder.prune(self._limits, wall.s, by=PRUNED_BY, aged=wall.synced, room=room)
        except OSError as error:
            self._say(f"{self._folder.path}: old pictures can't be deleted ({error.strerror})")
