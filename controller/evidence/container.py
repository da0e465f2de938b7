"""One file of pictures: a ZIP archive without compression, so that any tool opens it, named by its SHA-256.

The digest is taken of the bytes as they are written: nothing is read again when a die has come to rest.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAX_BYTES = 16 * 2**20
"""A larger file is not from this camera: a clip ends before that size."""
MAX_ENTRIES = 1000
ABOUT = "about.json"
_NAME = re.compile(r"(die|whole|clip)-[0-9]{1,17}\.jpg", re.ASCII)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The archive's own times are constant; a picture's time is in its name."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What the pictures are of. Times are microseconds of the camera's own clock."""

    camera: str
    die: int
    kind: str
    """The reading that names the file: `die_rest` or `die_lost`."""
    t_us: int
    up: int | None = None
    confidence: float | None = None
    clip_cut: bool = False
    """The clip reached its largest size before the throw ended."""


_decode = msgspec.json.Decoder(About).decode


class Closed(NamedTuple):
    """A complete file: its name and its contents."""

    sha256: str
    data: bytes


class _Hashed(io.RawIOBase):
    """Keeps what is written and its digest; it can't seek, so a ZIP archive is written sequentially."""

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
    """One file that is being written, in memory."""

    def __init__(self) -> None:
        """Start empty."""
        self._bytes = _Hashed()
        self._archive = zipfile.ZipFile(self._bytes, "w", zipfile.ZIP_STORED)

    @property
    def size(self) -> int:
        """Return the bytes so far."""
        return self._bytes.size

    def add(self, kind: str, t_us: int, jpeg: bytes) -> None:
        """Add a picture: `die` (cut out), `whole` (the frame) or `clip` (a small frame), and its time."""
        self._archive.writestr(zipfile.ZipInfo(f"{kind}-{t_us}.jpg", _EPOCH), jpeg)

    def close(self, about: About) -> Closed:
        """End the file; return it with its name."""
        self._archive.writestr(zipfile.ZipInfo(ABOUT, _EPOCH), msgspec.json.encode(about))
        self._archive.close()
        return Closed(self._bytes.digest.hexdigest(), b"".join(self._bytes.parts))


@dataclass(frozen=True, slots=True)
class Pictures:
    """A file that was read and verified: `entries` are its JPEGs by name."""

    sha256: str
    about: About
    entries: Mapping[str, bytes]

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the names of one kind, in order of time."""
        names = (name for name in self.entries if name.startswith(f"{kind}-"))
        return tuple(sorted(names, key=taken_us))


def taken_us(name: str) -> int:
    """Return when a picture was taken, by its name."""
    return int(name.rpartition("-")[2].removesuffix(".jpg"))


class UnsoundError(ValueError):
    """A file that is not what its name says; the message says what was found."""


def read(sha256: str, data: bytes) -> Pictures:
    """Return the pictures of a file named by this digest; raises UnsoundError."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise UnsoundError(f"changed since it was taken: found SHA-256 {found}, expected {sha256}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_ENTRIES or any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                infos = []
            entries = {info.filename: archive.read(info) for info in infos}
        about = _decode(entries.pop(ABOUT))
    except (zipfile.BadZipFile, LookupError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise UnsoundError(f"not a file of a dice camera ({error})") from error
    return Pictures(sha256, about, {name: jpeg for name, jpeg in entries.items() if _NAME.fullmatch(name)})
