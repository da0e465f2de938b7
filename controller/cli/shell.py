"""Exit codes, messages, standard streams, signals, argument types and output files for all commands."""

import argparse
import codecs
import gc
import io
import math
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

from controller.model.printable import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


OK = 0
FAILED = 1
"""A check failed, or a request was refused."""
BAD_INPUT = 2
"""A log, a setting or an argument is invalid."""
OUT_OF_REACH = 3
"""A controller, a sign-in process or a database can't be reached."""
DEFECT = 70
"""A defect in the program: EX_SOFTWARE of sysexits.h."""
UNWRITABLE = 74
"""Standard output can't be written to (a full disk, a closed stream): EX_IOERR of sysexits.h."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The code that a shell reports for a command killed by SIGPIPE."""
EXIT_CODES_HELP = (
    "exit codes:\n"
    "  0 success, 1 findings or a refusal, 2 bad log, input or usage,\n"
    "  3 no controller, sign-in process or database responds, 4 another controller is running,\n"
    "  5 the last rows could not be written (both 4 and 5 from `run`),\n"
    "  70 a defect in the program, 74 the output could not be written,\n"
    "  129 hangup, 130 Ctrl-C, 141 broken pipe, 143 SIGTERM"
)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector during imports, which create almost no garbage.

    Otherwise, the collector takes a tenth of the import time of `tablectl run`.
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
    """Exclude a service's loaded modules and objects from garbage collection.

    A full collection stops all threads. With the modules included, it takes 25 to 90 ms, during which no
    result is called and no bet is accepted.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


UNLIMITED = 100_000
"""Width and height of a stream that is not a terminal; lines in a pipe are not wrapped."""


def say(text: object) -> None:
    """Write a message to standard error; if standard error is closed, drop the message."""
    if sys.stderr is None:
        return
    columns = get_terminal_size().columns if sys.stderr.isatty() else UNLIMITED
    for line in str(text).split("\n"):
        message = f"tablectl: {printable(line)}"
        parts = wrap(message, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        print("\n".join(parts or [message]), file=sys.stderr)


def caller() -> str:
    """Return the name of the process's effective user or, if the user has no name, the user ID.

    $LOGNAME is not used, because it can be forged.
    """
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())


def own_name() -> str:
    """Return the command that starts this program in a shell: its name on PATH, else its path."""
    called = Path(sys.argv[0])
    if called.name != "tablectl" or which("tablectl"):
        return "tablectl"
    return quote(str(called))


class Parser(argparse.ArgumentParser):
    """A parser that refuses abbreviated options, as do the parsers of its subcommands.

    A new option could make an abbreviation in a script ambiguous, or change its meaning.
    """

    def __init__(
        self,
        prog: str | None = None,
        *,
        description: str | None = None,
        epilog: str | None = None,
        formatter_class: type[argparse.HelpFormatter] = argparse.HelpFormatter,
    ) -> None:
        super().__init__(
            prog,
            description=description,
            epilog=epilog,
            formatter_class=formatter_class,
            allow_abbrev=False,
        )


def add_subcommand(
    to: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    """Add a subcommand; the list of subcommands and the subcommand's help show the summary."""
    return to.add_parser(name, help=summary, description=summary)


class Command(NamedTuple):
    """The functions and the examples of a command."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    EXAMPLES: tuple[str, ...]


MAX_ROW = 2**62
"""Maximum row number in an argument; SQLite's integers end at 2^63 - 1."""
MAX_SEED = 2**63 - 1
MAX_ATTEMPTS = 100_000
"""Maximum number of throws, spins or deals that a command accepts as a count."""


def whole_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `minimum` to `maximum` (inclusive)."""

    def number(text: str) -> int:
        try:
            found = int(text) if len(text) < 40 else maximum + 1
        except ValueError:
            found = minimum - 1
        if not minimum <= found <= maximum:
            shown = text if len(text) < 40 else f"{text[:20]}..."
            raise argparse.ArgumentTypeError(
                f"found {shown!r}, expected a whole number from {minimum} to {maximum}"
            )
        return found

    return number


def real_number(minimum: float, maximum: float, unit: str = "") -> Callable[[str], float]:
    """Return an argparse type for numbers from `minimum` to `maximum` (inclusive); `unit` is plural."""

    def number(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not minimum <= found <= maximum:
            raise argparse.ArgumentTypeError(
                f"found {text!r}, expected a number{f' of {unit}' if unit else ''}"
                f" from {minimum:g} to {maximum:g}"
            )
        return found

    return number


_SUBSTITUTES = {"—": "-", "…": "...", "°": " deg"}
_ESCAPE = "tablectl-escape"


class OutputError(Exception):
    """A failure to write to standard output; with `reader_gone`, the reader of the pipe has exited."""

    def __init__(self, reason: str, *, reader_gone: bool = False) -> None:
        super().__init__(f"can't write to standard output ({reason})")
        self.reader_gone = reader_gone


def guard_streams(environment: Mapping[str, str] = os.environ) -> None:
    """Make a failed write to standard output raise OutputError, and one to standard error drop the message.

    Call this once, before any I/O. /dev/null replaces each closed stream, so that no file opened later gets
    the stream's descriptor number.
    """
    closed = _closed_descriptors()
    text_encoding = "ascii" if _plain(environment) else (sys.stdout and sys.stdout.encoding) or "utf-8"
    codecs.register_error(_ESCAPE, _escaped)
    sys.stdout = _text(_Output(1, closed=1 in closed), text_encoding)
    sys.stderr = _text(_Messages(2), text_encoding, line_buffering=True)
    if 0 in closed:
        sys.stdin = None


def unwind_on_signals(*, service: bool = False) -> None:
    """Make SIGHUP, SIGINT and SIGTERM unwind the command, so that it cleans up.

    A second signal of the same kind ends the process at once. A signal that is already ignored, as under
    nohup, remains ignored. With `service`, every SIGTERM unwinds the command and makes it exit with OK, until
    the service installs its own handler.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop_before_ready if service and number == signal.SIGTERM else _leave)


def discard_output() -> None:
    """Discard the buffered standard output, and all later output."""
    raw = _raw_of(sys.stdout)
    if isinstance(raw, _Output):
        raw.discarded = True


def _leave(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _stop_before_ready(_number: int, _frame: FrameType | None) -> None:
    say("stopped before it was ready")
    raise SystemExit(OK)


class _Raw(io.RawIOBase):
    """A raw stream; a write to a full non-blocking terminal waits."""

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
    """Standard output; a failed write raises OutputError, which no other file raises."""

    def __init__(self, descriptor: int, *, closed: bool) -> None:
        super().__init__(descriptor)
        self.discarded = False
        self._stream_closed = closed

    def write(self, data: "ReadableBuffer", /) -> int:
        if self.discarded:
            return memoryview(data).nbytes
        if self._stream_closed:
            raise OutputError("the stream is closed")
        try:
            return self._put(data)
        except BrokenPipeError as error:
            raise OutputError("the reader has exited", reader_gone=True) from error
        except OSError as error:
            raise OutputError(error.strerror or str(error)) from error


class _Messages(_Raw):
    """Standard error; a message that can't be written is dropped."""

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


def _closed_descriptors() -> frozenset[int]:
    """Open /dev/null in place of each closed standard stream; return the streams' descriptor numbers."""
    closed = set()
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(taken, True)
        closed.add(taken)
    os.close(taken)
    return frozenset(closed)


def _plain(environment: Mapping[str, str]) -> bool:
    """Return whether the locale is C or POSIX; Python writes UTF-8 in these locales too."""
    if environment.get("PYTHONIOENCODING") or environment.get("PYTHONUTF8") == "1":
        return False
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return locale in ("C", "POSIX")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal can't show with ASCII or a `\\uXXXX` escape (valid in JSON)."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(char: str) -> str:
    if char in _SUBSTITUTES:
        return _SUBSTITUTES[char]
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def on_stop(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM and Ctrl-C, in a separate thread.

    The handler can interrupt the main thread while that thread holds the lock that `stop` needs. If the
    interpreter is already shutting down, no thread can be started and `stop` is not called.
    """

    from threading import Thread  # noqa: PLC0415 - all commands import this module, and few need threads

    def on_signal(*_: object) -> None:
        with suppress(RuntimeError):
            Thread(target=stop, name="stop", daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


_PUBLIC = 0o666


@contextmanager
def atomic_file(path: Path, mode: int = _PUBLIC) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the file at this path on success and is deleted after an error.

    The file's permissions are `mode` minus the umask. Raises OSError, which names this path if the folder
    can't be written to.
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


def unwritable_reason(path: Path) -> str | None:
    """Return why a file can't be written at this path, or None; call this before a long task."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        return unwritable_message(path, error)
    os.close(descriptor)
    Path(name).unlink()
    return unwritable_message(path, IsADirectoryError(21, "it is a folder")) if path.is_dir() else None


def unwritable_message(path: Path, error: OSError) -> str:
    """Return the reason why a file can't be written, and the next step."""
    if not path.parent.exists():
        return f"{path}: the folder {path.parent} does not exist; run: mkdir --parents {path.parent}"
    if not path.parent.is_dir():
        return f"{path}: {path.parent} is not a folder; choose a different path"
    why = error.strerror or str(error)
    return f"{path} cannot be written ({why}); choose a different file"


def inaccessible_message(path: object, error: OSError) -> str:
    """Return the message about a file that can't be read or written, and the next step."""
    why = error.strerror or str(error)
    return f"{path} cannot be accessed ({why}); name a file that this user can read or write"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
