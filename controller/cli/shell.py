"""`tablectl` and the shell that called it: numbers, messages, streams, files, signals and exit codes."""

import argparse
import codecs
import gc
import io
import os
import pwd
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size, which
from textwrap import wrap
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


OK = 0
FAILED = 1
"""A check failed, or a request was refused."""
BAD_INPUT = 2
"""A bad log, bad settings or bad usage; nothing was done."""
OUT_OF_REACH = 3
"""No controller answers at the control socket."""
DEFECT = 70
"""A defect of the program; as in sysexits.h."""
UNWRITABLE = 74
"""Standard output can't be written (a full disk, a closed stream); as in sysexits.h."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The code that a shell reports for a writer whose reader has gone."""
IN_WORDS = (
    "exit codes:\n"
    "  0 fine, 1 findings or refused, 2 bad log, input or usage, 3 no controller answers,\n"
    "  4 another controller runs, 5 the disk did not take the last rows (both of `run`),\n"
    "  70 a defect of the program, 74 the output could not be written,\n"
    "  129 hung up, 130 Ctrl-C, 141 the reader went away, 143 SIGTERM"
)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while modules are imported: nearly all that they make is kept.

    The collector takes a tenth of the time that the imports of `tablectl run` take.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def startup_frozen() -> Iterator[None]:
    """Keep what a service has loaded so far out of the garbage collector's sight while it runs.

    A full collection stops all threads: with all modules in sight for 25 to 90 ms, in which no call is told
    and no bet granted.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


ENDLESS = 100_000
"""Columns and rows without a window: lines in a pipe are never wrapped."""


def say(text: object) -> None:
    """Write a message to standard error; if it is closed, the exit code remains."""
    if sys.stderr is None:
        return
    columns = get_terminal_size().columns if sys.stderr.isatty() else ENDLESS
    for line in str(text).split("\n"):
        told = f"tablectl: {printable(line)}"
        broken = wrap(told, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        print("\n".join(broken or [told]), file=sys.stderr)


def printable(text: str) -> str:
    """Escape what could move a terminal's cursor: whoever wrote a log chose the names in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def caller() -> str:
    """Return the name of the Unix user who runs this, as the kernel knows it: anybody can set $LOGNAME."""
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())


def own_name() -> str:
    """Return what calls this program from the caller's shell: its name if it is on PATH, else its path."""
    called = Path(sys.argv[0])
    if called.name != "tablectl" or which("tablectl"):
        return "tablectl"
    return quote(str(called))


class Command(NamedTuple):
    """One command of a module that has several."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    EXAMPLES: tuple[str, ...]


ROWS = 2**62
"""More rows than a journal ever has; SQLite's integers end at 2^63."""
SEEDS = 2**63 - 1
MANY = 100_000
"""More attempts than anybody watches."""


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return an argparse type for whole numbers in a range; anything else is a usage error."""

    def number(text: str) -> int:
        try:
            found = int(text) if len(text) < 40 else most + 1
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            shown = text if len(text) < 40 else f"{text[:20]}..."
            raise argparse.ArgumentTypeError(
                f"found {shown!r}, expected a whole number from {least} to {most}"
            )
        return found

    return number


_SUBSTITUTES = {"—": "-", "…": "...", "°": " deg"}
_ESCAPE = "tablectl-escape"


class OutputError(Exception):
    """Standard output can't be written; `reader_gone` if it was a pipe without a reader."""

    def __init__(self, reason: str, *, reader_gone: bool = False) -> None:
        super().__init__(f"found standard output not writable ({reason}), expected a place with room")
        self.reader_gone = reader_gone


def guard(environment: Mapping[str, str] = os.environ) -> None:
    """Guard the process's standard streams, once, before anything is read or written.

    A stream that was closed gets its number kept by /dev/null, so that no file opened later is taken for it.
    """
    closed = _closed()
    text_encoding = "ascii" if _plain(environment) else (sys.stdout and sys.stdout.encoding) or "utf-8"
    codecs.register_error(_ESCAPE, _escaped)
    sys.stdout = _text(_Output(1, closed=1 in closed), text_encoding)
    sys.stderr = _text(_Messages(2), text_encoding, line_buffering=True)
    if 0 in closed:
        sys.stdin = None


def end_quietly_on_signals(*, service: bool = False) -> None:
    """Make a hang-up, Ctrl-C or SIGTERM unwind the command, so that it cleans up.

    A second one ends it at once. What nohup ignores stays ignored. A service that is told to stop before it
    has begun is stopped in order.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _not_begun if service and number == signal.SIGTERM else _leave)


def give_up_output() -> None:
    """Discard what is left in the buffer of standard output."""
    raw = _raw_of(sys.stdout)
    if isinstance(raw, _Output):
        raw.given_up = True


def _leave(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _not_begun(_number: int, _frame: FrameType | None) -> None:
    say("stopped before it had begun")
    raise SystemExit(OK)


class _Raw(io.RawIOBase):
    """One descriptor; it waits if a terminal shared with another program would block."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def _put(self, data: "ReadableBuffer") -> int:
        while True:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:
                select.select([], [self._descriptor], [])


class _Output(_Raw):
    """Standard output, whose failure is distinguished from every other."""

    def __init__(self, descriptor: int, *, closed: bool) -> None:
        super().__init__(descriptor)
        self.given_up = False
        self._closed = closed

    def write(self, data: "ReadableBuffer", /) -> int:
        if self.given_up:
            return memoryview(data).nbytes
        if self._closed:
            raise OutputError("it is closed")
        try:
            return self._put(data)
        except BrokenPipeError as error:
            raise OutputError("the reader is gone", reader_gone=True) from error
        except OSError as error:
            raise OutputError(error.strerror or str(error)) from error


class _Messages(_Raw):
    """Standard error: if a message can't be written, the exit code remains."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return self._put(data)
        except OSError:
            return memoryview(data).nbytes


def _text(raw: _Raw, encoding: str, *, line_buffering: bool = False) -> io.TextIOWrapper:
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffered, encoding=encoding, errors=_ESCAPE, line_buffering=line_buffering or raw.isatty()
    )


def _raw_of(stream: object) -> object:
    return getattr(getattr(stream, "buffer", None), "raw", None)


def _closed() -> frozenset[int]:
    """Open /dev/null in place of each closed standard stream; return which were closed."""
    closed = set()
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(taken, True)
        closed.add(taken)
    os.close(taken)
    return frozenset(closed)


def _plain(environment: Mapping[str, str]) -> bool:
    """Return whether the locale is C or POSIX; Python itself would write UTF-8 there."""
    if environment.get("PYTHONIOENCODING") or environment.get("PYTHONUTF8") == "1":
        return False
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return locale in ("C", "POSIX")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write what the terminal can't show in ASCII: by a substitute, or as an escape that JSON knows too."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(char: str) -> str:
    if char in _SUBSTITUTES:
        return _SUBSTITUTES[char]
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def on_stop(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM and Ctrl-C.

    The handler may interrupt the main thread inside the very wait whose lock `stop` takes, so another thread
    takes it; a signal at the interpreter's own end finds none any more, and is not needed.
    """

    from threading import Thread  # noqa: PLC0415 - few commands need it, and all import this module

    def heard(*_: object) -> None:
        with suppress(RuntimeError):
            Thread(target=stop, name="stop", daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, heard)


_PUBLIC = 0o666


@contextmanager
def whole_file(path: Path, mode: int = _PUBLIC) -> Iterator[BinaryIO]:
    """Open a file beside this path that takes its place at the end; if anything fails, it is deleted.

    It gets as much of `mode` as the umask leaves.

    Raises OSError if it can't be written: its file name is the path's own.
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
    return f"{path}: found it not writable ({why}), expected a writable file; name another"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
