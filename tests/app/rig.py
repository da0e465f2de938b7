"""A daemon in its own process, fed through a FIFO and watched through its socket."""

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from controller.cli.link import OutOfReachError, conversation
from controller.journal.chain import Row
from controller.journal.reading import Reader
from controller.model.readings import AnyReading
from controller.settings.places import config_home
from tests.processes import Forked

PATIENCE_S = 300.0
"""Time limit for a condition, in seconds, after which the daemon counts as hung."""
Json = dict[str, object]
encode = msgspec.json.Encoder().encode


def until(fact: Callable[[], bool], what: str | Callable[[], str]) -> None:
    """Poll until the condition is true; after the time limit, fail with a description of the wait."""
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        if time.monotonic() >= deadline:
            pytest.fail(f"waited {PATIENCE_S:g} s for {what if isinstance(what, str) else what()}")
        pause.wait(0.005)


def lines_of(feed: Iterable[tuple[int, AnyReading]], shift_us: int = 0) -> list[bytes]:
    """Encode readings for the daemon's input, shifted in time."""
    return [
        encode(msgspec.structs.replace(reading, t=reading.t + shift_us, arrived=arrived + shift_us)) + b"\n"
        for arrived, reading in feed
    ]


def tick(t_us: int) -> bytes:
    """Encode a reading whose only effect is to advance time."""
    return b'{"kind":"switch","t":%d,"arrived":%d,"dev":"feed","name":"tick","open":false}\n' % (t_us, t_us)


def _says_ready(said: socket.socket) -> bool:
    """Return whether the daemon soon sends READY as its next message to systemd."""
    said.settimeout(1.0)
    with suppress(TimeoutError):
        return said.recv(4096).startswith(b"READY=1")
    return False


@contextmanager
def _way_into(fifo: Path) -> Iterator[int]:
    """Open a FIFO for a single writer, and keep the descriptor open for the duration of the write.

    Raises:
        BrokenPipeError: no process has the FIFO open for reading.
    """
    try:
        descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise BrokenPipeError(errno.EPIPE, "nothing reads this FIFO", str(fifo)) from error
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass
class Table:
    """A table's folder, and the daemon that is running in it."""

    folder: Path
    name: str = "craps"
    arguments: tuple[str, ...] = ("--data-time", "--no-self-test-devices", "--unlock", "person")
    environ: Mapping[str, str] = field(default_factory=dict)
    publish: str = "{to: socket}"
    """The `publish` setting of the table's file. By default only the test settles outcomes."""
    control: Path | None = None
    """The control socket, if it is outside the folder."""
    published: list[Json] = field(default_factory=list)
    """Every outcome line that a watcher received, over all runs."""
    anew: bool = False
    """Whether each run is a new interpreter with its own hash seed, instead of a fork."""
    process: subprocess.Popen[bytes] | Forked | None = None
    _fifo: int | None = None
    """Opened for reading and writing, so that the daemon's input does not end between writes."""
    _watcher: threading.Thread | None = None

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def socket(self) -> str:
        return str(self.control or self.folder / "control")

    @property
    def log(self) -> str:
        """Return the daemon's messages on standard error over all runs."""
        return (self.folder / "log").read_text(encoding="utf-8")

    def command(self) -> list[str]:
        paths = [
            "--journal",
            str(self.journal),
            "--socket",
            self.socket,
            "--readings",
            str(self.folder / "in"),
        ]
        table = self._file()
        return [sys.executable, "-m", "controller.cli.main", "run", table, *paths, *self.arguments]

    def _process(self, environ: Mapping[str, str]) -> subprocess.Popen[bytes] | Forked:
        command = self.command()
        if not self.anew:
            return Forked(command[3:], log=self.folder / "log", environ=environ)
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _file(self) -> str:
        """Return a copy of the shipped table file with `publish` set, or the name if no such file ships."""
        shipped = config_home() / "tables" / f"{self.name}.yaml"
        if not shipped.exists():
            return self.name
        file = self.folder / shipped.name
        file.write_text(f"{shipped.read_text(encoding='utf-8')}\npublish: {self.publish}\n", encoding="utf-8")
        return str(file)

    def start(self, *, watch: bool = True, ready: bool = True) -> None:
        """Start the daemon. With `ready`, wait until it reports ready, and then watch it with `watch`."""
        assert self.process is None, "the daemon is already running"
        (self.folder / "in").unlink(missing_ok=True)
        os.mkfifo(self.folder / "in")
        self._fifo = os.open(self.folder / "in", os.O_RDWR)
        notify = self.folder / "notify"
        notify.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
            said.bind(str(notify))
            self.process = self._process({**os.environ, "NOTIFY_SOCKET": str(notify), **self.environ})
            if ready:
                until(lambda: self._lives() and _says_ready(said), "the daemon to be ready")
        if watch and ready:
            self._watch()

    def _lives(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon has ended: {self.log}"
        return True

    def _watch(self) -> None:
        until(self._hears, "the watcher to be answered")

    def _hears(self) -> bool:
        hearing = threading.Event()
        self._watcher = threading.Thread(target=self._listen, args=(hearing,), daemon=True)
        self._watcher.start()
        while not hearing.wait(0.01):
            if not self._watcher.is_alive():
                return hearing.is_set()  # the controller of a busy machine may not have responded in time
        return True

    def _listen(self, hearing: threading.Event) -> None:
        try:
            for line in conversation(self.socket, {"do": "watch", "topics": ["outcomes"]}):
                hearing.set()
                if "outcome" in line:
                    self.published.append(line)
        except Exception:  # noqa: BLE001 a killed daemon may cut a line short; complete lines count
            return

    def ask(self, **request: object) -> Json:
        """Send a request over the control socket."""
        return next(conversation(self.socket, request))

    def answers(self) -> bool:
        try:
            self.status()
        except OutOfReachError:
            return False
        return True

    def status(self) -> Json:
        status = self.ask(do="status")["status"]
        assert isinstance(status, dict)
        return status

    def enter(self, name: str, by: str = "boxperson", **arguments: object) -> Json:
        """Enter a person's input."""
        return self.ask(do="input", name=name, by=by, who="ann", **arguments)

    def unlock(self) -> None:
        """Wait for the self-test and unlock the table; the program may have been edited meanwhile."""
        refused = ""

        def unlocked() -> bool:
            nonlocal refused
            answer = self.enter("unlock")
            refused = str(answer.get("says"))
            if "identity_changed" in refused:
                self.ask(do="approve", what="identity")
            return answer["ok"] is True

        until(unlocked, lambda: f"the table to be unlocked; {refused}")

    def feed(self, lines: Iterable[bytes]) -> None:
        """Write lines as fast as the daemon accepts them. A kill loses the unread lines."""
        data = memoryview(b"".join(lines))
        deadline = time.monotonic() + PATIENCE_S
        with suppress(BrokenPipeError), _way_into(self.folder / "in") as fifo:
            while data:
                assert time.monotonic() < deadline, "the daemon does not accept its readings"
                _, ready, _ = select.select([], [fifo], [], 1.0)
                if ready:
                    data = data[os.write(fifo, data[:4096]) :]

    def kill(self) -> None:
        """Kill the daemon, as a power cut would, and read the outcomes that it had published."""
        assert self.process is not None
        self.process.kill()
        self._over()

    def terminate(self) -> int:
        """Stop the daemon in order, as systemd does, and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self._over()

    def _over(self) -> int:
        assert self.process is not None
        code = self.process.wait(PATIENCE_S)
        if self._watcher is not None:
            self._watcher.join(PATIENCE_S)
        if self._fifo is not None:
            os.close(self._fifo)
        self.process = self._watcher = self._fifo = None
        return code

    def rows(self) -> list[Row]:
        with Reader(self.journal / "journal.db") as reader:
            return list(reader.rows(evidence=True))
