"""The engine's side of the HTTP API. It starts the HTTP process, and answers the requests that this process
passes on.

An attack over HTTP reaches only the HTTP process. That process shares no memory with the engine, has no
access to the database or the engine's key, and runs at a lower priority. The engine restarts it if it ends or
stops responding. The engine binds the port, which therefore remains reserved during a restart.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from threading import Event, Lock, Thread

import msgspec

from controller.model.printable import excerpt
from controller.settlement_service.channel import (
    BEAT,
    MAX_ANSWER,
    MAX_REQUEST,
    Broken,
    Frames,
    HttpAnswer,
    HttpRequest,
    database_refusal,
    frame,
    refusal,
)
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import DatabaseUnavailable, SettlementFault
from controller.settlement_service.http_requests import HttpRequests, ReadBrokerState
from controller.settlement_service.upkeep import Pruning

STOP_TIMEOUT_S = 5.0
TURN_S = 0.5
PROBE_INTERVAL_S = 0.5
"""Interval between write tests of the database."""
SILENT_TURNS = 40
"""Number of turns (20 s) without a heartbeat after which the HTTP process is restarted. The process sends a
heartbeat every second."""
RESTART_DELAY_S = 2.0
"""Delay before the HTTP process is restarted."""
WORKERS = 64
"""Maximum number of simultaneous requests. Each can wait for its table's statement (0.2 s, or 0.6 s for a
silent table; 9 s with the dice out). The gate has a lower limit per table, so a silent table does not block
the other tables."""
MAX_WAITING = 64
"""Maximum number of requests waiting for a worker. Further requests are refused."""
BACKLOG = 128
_PROCESS = "controller.settlement_service.http_process"
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")
"""The environment variables passed to the HTTP process. Credentials and the notify socket are withheld."""
Say = Callable[[str], object]


class _Link:
    """The channel to one run of the HTTP process."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._lock = Lock()

    def answer(self, number: int, answer: HttpAnswer) -> None:
        """Send an answer; if this fails, close the channel, which ends the run."""
        payload = msgspec.json.encode(answer)
        if len(payload) > MAX_ANSWER:
            payload = msgspec.json.encode(
                refusal(503, "ENGINE", "the answer is too long; request fewer entries")
            )
        with self._lock:
            try:
                self.connection.sendall(frame(number, payload))
            except OSError:
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)


class HttpSupervisor:
    """Runs an engine's HTTP API in a separate process."""

    def __init__(
        self,
        engine: Engine,
        host: str,
        port: int,
        *,
        certificate: Sequence[str] = (),
        broker: ReadBrokerState = lambda: "none",
        say: Say = sys.stderr.write,
    ) -> None:
        """Bind the port.

        Raises SettlementFault if the port can't be bound, and ImportError if the HTTP libraries are missing.
        """
        for library in ("fastapi", "uvicorn"):
            if find_spec(library) is None:
                raise ModuleNotFoundError(f"No module named {library!r}", name=library)
        self._engine = engine
        self._requests = HttpRequests(engine, broker)
        self._pruning = Pruning(engine)
        self._certificate = tuple(certificate)
        self._say = say
        try:
            self._listener = socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
            )
        except OSError as error:
            found, expected = error.strerror or str(error), "a free port on an address of this machine"
            raise SettlementFault("api_port", f"{host}:{port}", found, expected) from error
        self.ready = False
        """Whether requests are answered."""
        self.beats = 0
        """Incremented while the HTTP process is running."""
        self.probes = 0
        """Incremented while the database is writable."""
        self.starts = 0
        self._stopping = Event()
        self._probe_now = Event()
        self._health_requests: list[tuple[_Link, int]] = []
        self._lock = Lock()
        self._waiting = 0
        self._workers = ThreadPoolExecutor(WORKERS, "api")
        self._link: _Link | None = None
        self._threads = [
            Thread(target=self._run, name="http", daemon=True),
            Thread(target=self._probe, name="probe", daemon=True),
        ]

    def start(self) -> None:
        """Start answering requests."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop. Requests in progress are answered with 503, and must be repeated with the same key."""
        self._stopping.set()
        self._probe_now.set()
        link = self._link
        if link is not None:
            with suppress(OSError):
                link.connection.shutdown(socket.SHUT_WR)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(STOP_TIMEOUT_S)
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._listener.close()

    # --- the HTTP process ---

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                reason = self._serve_once()
            except Exception as error:  # noqa: BLE001 - if this thread ended, there would be no API
                reason = f"its process could not be run: {_shown(error)}"
            self.ready = False
            if not self._stopping.is_set():
                self._say(f"HTTP API: {reason}; restarting in {RESTART_DELAY_S:g} s\n")
                self._stopping.wait(RESTART_DELAY_S)

    def _serve_once(self) -> str:
        """Start the HTTP process and answer its requests until it ends; return why it ended."""
        own_end, other_end = socket.socketpair()
        with own_end, other_end:
            own_end.settimeout(TURN_S)
            process = self._start_process(other_end)
            self.starts += 1
            other_end.close()
            self._link = link = _Link(own_end)
            try:
                reason = self._receive_requests(link, process)
            finally:
                self._link = None
                self._end(process)
        return reason

    def _start_process(self, other_end: socket.socket) -> "subprocess.Popen[bytes]":
        files = (self._listener.fileno(), other_end.fileno())
        command = [sys.executable, "-P", "-m", _PROCESS, *map(str, files), *self._certificate]
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return subprocess.Popen(  # noqa: S603 - this program itself
            command, pass_fds=files, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )

    def _receive_requests(self, link: _Link, process: "subprocess.Popen[bytes]") -> str:
        frames = Frames(MAX_REQUEST)
        silent_turns = 0
        while True:
            try:
                data = link.connection.recv(65_536)
            except TimeoutError:
                silent_turns += 1
                if silent_turns > SILENT_TURNS:
                    return "its process stopped responding"
                continue
            except OSError as error:
                return f"nothing could be received from its process: {error.strerror}"
            if not data:
                code = self._exit_code(process)
                return f"its process ended ({code})"
            silent_turns = 0
            try:
                for number, payload in frames.feed(data):
                    self._receive(link, number, payload)
            except (Broken, msgspec.MsgspecError) as error:
                return f"its process sent an invalid request ({error})"

    def _exit_code(self, process: "subprocess.Popen[bytes]") -> str:
        with suppress(subprocess.TimeoutExpired):
            return f"exit {process.wait(TURN_S)}"
        return "it closed its channel"

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        with suppress(subprocess.TimeoutExpired):
            if self._stopping.is_set():
                process.wait(STOP_TIMEOUT_S / 2)
        if process.poll() is None:
            process.kill()
        process.wait()

    # --- its requests ---

    def _receive(self, link: _Link, number: int, payload: bytes) -> None:
        if number == BEAT:
            self.beats += 1
            self.ready = True
            return
        ask = _decode(payload)
        if ask.do == "health":
            self._queue_health(link, number)
            return
        with self._lock:
            full = self._waiting >= MAX_WAITING + WORKERS
            self._waiting += not full
        if full:
            reason = "too many requests are waiting; repeat this one with the same key"
            link.answer(number, refusal(503, "BUSY", reason))
        else:
            self._workers.submit(self._answer, link, number, ask)

    def _answer(self, link: _Link, number: int, ask: HttpRequest) -> None:
        try:
            answer = self._requests.answer(ask)
        except Exception as error:  # noqa: BLE001 - the caller must learn that the result is unknown
            self._say(f"HTTP API: {ask.do} failed: {_shown(error)}\n")
            reason = "the engine failed during this request; repeat it with the same key"
            answer = refusal(503, "ENGINE", reason)
        finally:
            with self._lock:
                self._waiting -= 1
        link.answer(number, answer)

    def _queue_health(self, link: _Link, number: int) -> None:
        if self._engine.write_fault is not None:
            link.answer(number, database_refusal(self._engine.write_fault))
            return
        with self._lock:
            self._health_requests.append((link, number))
        self._probe_now.set()

    # --- the database ---

    def _probe(self) -> None:
        """Test at intervals whether the database is writable, and drop old answers to requests."""
        while not self._stopping.is_set():
            self._probe_now.wait(PROBE_INTERVAL_S)
            self._probe_now.clear()
            with self._lock:
                asking, self._health_requests = self._health_requests, []
            answer: HttpAnswer | None = None
            try:
                self._engine.probe()
                self.probes += 1
                self._pruning.prune_if_due()
            except DatabaseUnavailable as error:
                answer = database_refusal(error)
            except Exception as error:  # noqa: BLE001 - health requests need this thread
                self._say(f"settlement: the database could not be tested: {_shown(error)}\n")
                answer = refusal(503, "ENGINE", "the engine failed; see its log")
            for link, number in asking:
                link.answer(
                    number, self._requests.answer(HttpRequest(do="health")) if answer is None else answer
                )


def _shown(error: Exception) -> str:
    """Return an exception as text for the log: printable and cut short, because a database exception quotes
    the values in its statement.
    """
    return f"{type(error).__name__}: {excerpt(str(error), _MAX_ERROR)}"


_MAX_ERROR = 1000
_decode = msgspec.json.Decoder(HttpRequest).decode
