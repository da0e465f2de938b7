"""Write a file whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PUBLIC = 0o666


@contextmanager
def whole_file(path: Path, mode: int = _PUBLIC) -> Iterator[BinaryIO]:
    """Open a file beside this path that takes its place at the end; where anything fails it is taken away.

    It gets as much of `mode` as the umask leaves.

    Raises OSError where it can't be written: its file name is the path's own.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), mode & ~_umask())
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def why_not(path: Path) -> str | None:
    """Return why a file can't be written there, to check before long work; None if it can."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        return unwritable(path, error)
    os.close(descriptor)
    Path(name).unlink()
    return unwritable(path, IsADirectoryError(21, "it is a folder")) if path.is_dir() else None


def unwritable(path: Path, error: OSError) -> str:
    """Return why a file can't be written, and what to do about it."""
    if not path.parent.exists():
        return f"{path}: found no folder {path.parent}, expected one; make it: mkdir --parents {path.parent}"
    if not path.parent.is_dir():
        return f"{path}: found {path.parent} to be no folder, expected one; name another"
    why = error.strerror or str(error)
    return f"{path}: found that it can't be written ({why}), expected a file that can; name another"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
