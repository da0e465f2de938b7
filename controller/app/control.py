"""The server of the control socket, which command-line tools, screens and settlement connect to."""

import os
import select
import socket
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread

import msgspec

from controller.app.core import awaited_line
from controller.app.daemon import Daemon, InUseError
from controller.app.hub import Channel, Watcher
from controller.app.messages import (
    MAX_LINE,
    Approve,
    BeginTest,
    Enter,
    HistoryRequest,
    HoldPictures,
    StatusRequest,
    Watch,
    answer,
    decode_request,
    refusal,
    too_long,
)
from controller.app.peers import (
    ACTIONS_PER_USER,
    CONNECTIONS_PER_USER,
    LINE_BYTES,
    LINES_PER_CONNECTION,
    LINES_PER_USER,
    STATUS_COST,
    Bucket,
    ConnectionSlot,
    ConnectionSlots,
    Groups,
    Peer,
    RateLimiter,
    credentials_of,
    group_id,
    has_every_role,
    is_listening,
    peer_of,
)
from controller.app.requests import NO_JOURNAL, Requests, history_lines
from controller.app.service import ERROR, log
from controller.app.testing import GuidedTests
from controller.journal.faults import JournalFault
from drivers.framing import LineSplitter

BACKLOG = 256
"""The length of the listen queue; when it is full, a client's `connect` waits or fails."""
ACCEPT_POLL_S = 0.5
"""The timeout of `accept`; the watchdog sees progress at least this often."""
_TOO_MANY_A_SECOND = "this user opens connections too quickly; send all requests over one connection"
SEND_TIMEOUT_S = 2.0
"""A client that does not read a line within this time is disconnected."""


class Control:
    """The server of the control socket, with one thread for each client."""

    def __init__(self, daemon: Daemon, path: Path, groups: Groups, socket_group: str | None = None) -> None:
        """Bind the socket.

        Raises:
            InUseError: another controller is listening on the socket.
            LookupError: one of the groups does not exist.
            OSError: the socket can't be created.
        """
        self._daemon = daemon
        self._path = path
        self._groups = groups
        self._slots = ConnectionSlots()
        self._lines = RateLimiter(LINES_PER_USER)
        self._actions = RateLimiter(ACTIONS_PER_USER)
        self._connections = RateLimiter(CONNECTIONS_PER_USER)
        self._stopping = False
        self._pause = Event()
        self._requests = Requests(daemon)
        self._tests = GuidedTests(daemon)
        self.turns = 0
        """Incremented in each iteration of the accepting thread, for the watchdog."""
        for group in groups:
            if group is not None:
                group_id(group)
        self._listener = _bind(path, None if socket_group is None else group_id(socket_group))
        self._thread = Thread(target=self._accept, name="control", daemon=True)

    def start(self) -> None:
        """Start accepting connections."""
        self._listener.settimeout(ACCEPT_POLL_S)
        self._daemon.watch_over("control", lambda: self.turns)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, and remove the socket."""
        self._stopping = True
        self._pause.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with suppress(OSError):
            self._path.unlink()
        self._requests.sum_up(all_of_it=True)

    # --- connections ---

    def _accept(self) -> None:
        while not self._stopping:
            self.turns += 1
            self._requests.sum_up()
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                # The client disconnected, or too many files are open; a later connection might succeed.
                if not self._stopping:
                    log(ERROR, f"{self._path}: a connection could not be accepted: {error.strerror}")
                    self._pause.wait(ACCEPT_POLL_S)
                continue
            slot = self._admit(connection)
            if slot is not None:
                Thread(target=self._serve, args=(slot,), name="client", daemon=True).start()

    def _admit(self, connection: socket.socket) -> ConnectionSlot | None:
        """Assign a slot to a connection; return None if the connection had to be refused or closed."""
        connection.settimeout(SEND_TIMEOUT_S)
        now_us = self._daemon.monotonic.now_us()
        try:
            _, uid, _ = credentials_of(connection)
            if not (has_every_role(uid) or self._connections.spend(uid, now_us)):
                self._refuse(connection, _TOO_MANY_A_SECOND)
                return None
            peer = peer_of(connection, self._groups)
        except OSError:
            connection.close()
            return None
        slot = self._slots.admit(connection, peer, now_us)
        if isinstance(slot, ConnectionSlot):
            return slot
        processes = ", ".join(map(str, slot))
        message = f"this user has the maximum number of connections; stop one of the processes {processes}"
        self._refuse(connection, message)
        return None

    def _refuse(self, connection: socket.socket, message: str) -> None:
        with connection, suppress(OSError):
            connection.setblocking(False)  # a new socket's buffer always has room for a line
            connection.send(refusal("too_many", message))

    def _serve(self, slot: ConnectionSlot) -> None:
        try:
            with slot.connection:
                self._converse(slot)
        except OSError:
            pass  # The client disconnected.
        finally:
            self._slots.leave(slot)

    def _wait_for_turn(self, slot: ConnectionSlot, bucket: Bucket, cost: float = 1.0) -> bool:
        """Wait until this client may send another line; return False if the controller stops first."""
        now_us = self._daemon.monotonic.now_us()
        wait_s = max(bucket.wait_s(now_us, cost), self._lines.wait_s(slot.peer.uid, now_us, cost))
        return not self._pause.wait(wait_s) if wait_s else not self._stopping

    def _converse(self, slot: ConnectionSlot) -> None:
        connection = slot.connection
        now_us = self._daemon.monotonic.now_us
        reader = LineReader(now_us(), MAX_LINE)
        bucket = Bucket(LINES_PER_CONNECTION, now_us())
        while True:
            left_s = reader.left_s(now_us())
            block = _receive(connection, left_s)
            connection.settimeout(SEND_TIMEOUT_S)
            if block is None or (left_s == 0 and b"\n" not in block):
                message = f"{reader.waits_for} did not arrive in time; reconnect and send it without delay"
                connection.sendall(refusal("too_slow", message))
                return
            if not block:
                return
            self._slots.note_line(slot, now_us(), busy=True)
            if not self._wait_for_turn(slot, bucket, len(block) / LINE_BYTES):
                return
            for line in reader.feed(block, now_us()):
                if not self._wait_for_turn(slot, bucket) or not self._answer(slot, bucket, line):
                    return
            self._slots.note_line(slot, now_us(), busy=False)

    def _answer(self, slot: ConnectionSlot, bucket: Bucket, line: bytes | None) -> bool:
        """Answer a line (None if it was too long); return False if the connection must end."""
        connection, peer = slot.connection, slot.peer
        if line is None:
            connection.sendall(too_long())
            return True
        try:
            request = decode_request(line)
        except ValueError as error:
            connection.sendall(refusal("bad_request", f"{error}; docs/control-socket.md lists the requests"))
            return True
        if isinstance(request, Enter | Approve | BeginTest | HoldPictures):
            self._pause.wait(self._actions.wait_s(peer.uid, self._daemon.monotonic.now_us()))
        if isinstance(request, StatusRequest) and not self._wait_for_turn(slot, bucket, STATUS_COST):
            return False
        if isinstance(request, Watch):
            self._watch(connection, peer, request)
            return False
        if isinstance(request, BeginTest):
            self._test(connection, peer, request)
            return False
        if isinstance(request, HistoryRequest):
            self._send_history(connection, peer, request)
        else:
            connection.sendall(self._requests.answer(request, peer))
        return True

    def _watch(self, connection: socket.socket, peer: Peer, request: Watch) -> None:
        admitted = self._requests.admit(request, peer, "watch")
        if isinstance(admitted, bytes):
            connection.sendall(admitted)
            return
        peer, _ = admitted
        hub = self._daemon.hub
        channels: set[Channel] = set(request.topics)
        if "readings" in channels and peer.may("timing"):
            channels.add("timing")
        watcher: Watcher = hub.watch(frozenset(channels))
        try:
            connection.sendall(answer(watching=request.topics) + self._present_state(request))
            while not self._stopping:
                lines = watcher.take(1.0)
                if watcher.dropped:
                    connection.sendall(
                        refusal("too_slow", "this client was too slow, so lines were missed; reconnect")
                    )
                    return
                # An empty send would not detect a disconnected client.
                if lines:
                    connection.sendall(b"".join(lines))
                elif _is_disconnected(connection):
                    return
        finally:
            hub.leave(watcher)

    def _present_state(self, request: Watch) -> bytes:
        """Return the line that shows a new watcher which attempt awaits a ruling; empty if none does."""
        live = self._daemon.live
        awaited = None if live is None else live.core.view.awaited
        return awaited_line(awaited) if awaited is not None and "outcomes" in request.topics else b""

    def _send_history(self, connection: socket.socket, peer: Peer, request: HistoryRequest) -> None:
        live = self._daemon.live
        admitted = self._requests.admit(request, peer, "read past records")
        if isinstance(admitted, bytes):
            connection.sendall(admitted)
        elif live is None:
            connection.sendall(refusal("no_journal", NO_JOURNAL))
        else:
            try:
                for line in history_lines(request, live, self._daemon.options.journal):
                    connection.sendall(line)
            except JournalFault as fault:
                connection.sendall(refusal(fault.code, str(fault)))

    def _test(self, connection: socket.socket, peer: Peer, request: BeginTest) -> None:
        live = self._daemon.live
        admitted = self._requests.admit(request, peer, "test")
        if isinstance(admitted, bytes):
            connection.sendall(admitted)
        elif live is None:
            connection.sendall(refusal("no_journal", NO_JOURNAL))
        else:
            peer, person = admitted
            if person is not None:
                request = msgspec.structs.replace(request, who=person)
            note = partial(self._requests.note, live, peer)
            stopping = self._pause.is_set
            self._tests.hold(connection, peer, live, request, note=note, stopping=stopping)


def _bind(path: Path, group: int | None) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        _remove_stale(path)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        if group is not None:
            os.chown(path, -1, group)
        path.chmod(0o660)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket of a controller that was killed.

    Raises:
        InUseError: another controller is listening on the socket.
        FileExistsError: the file is not a socket.
    """
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise FileExistsError(17, "found a file that is not a socket; move it elsewhere", str(path))
    if not is_listening(path):
        path.unlink()
        return
    raise InUseError(f"{path}: another controller is already listening on this socket; stop it first")


def _receive(connection: socket.socket, within_s: float | None) -> bytes | None:
    """Return the received bytes; None after a timeout, b"" if the client closed the connection."""
    connection.settimeout(within_s)
    try:
        return connection.recv(MAX_LINE)
    except (TimeoutError, BlockingIOError):
        return None


def _is_disconnected(connection: socket.socket) -> bool:
    # If the socket has a timeout, Python waits in `recv` even with MSG_DONTWAIT.
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


FIRST_LINE_TIMEOUT_S = 60.0
"""Maximum time from the connection to the first byte; a silent client must not hold a slot indefinitely."""
LINE_TIMEOUT_S = 5.0
"""Maximum time from a line's first byte to its last."""


class LineReader:
    """A reader that splits one client's bytes into lines, with a time limit for each line."""

    def __init__(self, now_us: int, limit: int) -> None:
        self.waits_for = "the first request"
        """The data that a refusal names if it does not arrive in time."""
        self._lines = LineSplitter(limit)
        self._due_us: int | None = now_us + round(FIRST_LINE_TIMEOUT_S * 1e6)
        self._begun = False

    def left_s(self, now_us: int) -> float | None:
        """Return the time left for the client to send data; None if no limit applies now."""
        return None if self._due_us is None else max(0.0, (self._due_us - now_us) / 1e6)

    def feed(self, block: bytes, now_us: int) -> list[bytes | None]:
        """Return the lines completed by these bytes; None in place of a line that was too long."""
        lines = [None if line.dropped else line.text for line in self._lines.feed(block)]
        if block.endswith(b"\n"):
            self._begun, self._due_us = False, None
        elif lines or not self._begun:
            self._begun, self._due_us = True, now_us + round(LINE_TIMEOUT_S * 1e6)
            self.waits_for = "the rest of a line"
        return lines
