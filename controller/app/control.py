"""The control socket: where people's tools, the web pages and settlement speak to the daemon."""

import os
import select
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TypeVar

import msgspec

from controller.app.answering import answered
from controller.app.daemon import Daemon, InUseError
from controller.app.hearing import Hearing
from controller.app.hub import Channel, Watcher
from controller.app.live import Live
from controller.app.log import ERROR, log
from controller.app.messages import (
    MAX_LINE,
    AnyRequest,
    Approve,
    AskFaults,
    AskOutbox,
    AskPast,
    AskStatus,
    BeginTest,
    Enter,
    Settled,
    Watch,
    answer,
    decode_request,
    refusal,
    too_long,
)
from controller.app.past import past
from controller.app.resuming import CONTROLLER
from controller.app.roles import INPUT_NEEDS, ROLES, Groups, Peer, credentials_of, group_id, peer_of
from controller.app.status import fault_of, status_of
from controller.app.testing import Tests
from controller.journal.contents import CONTROL
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.model.conversion import converter_of
from controller.model.readings import Input

R = TypeVar("R", bound=AnyRequest)

CLIENTS = 16
"""Places for connections at once; who finds none is told so and who has them."""
TURN_S = 0.5
SEND_S = 2.0
"""A client that takes longer to take a line is dropped."""
_APPROVES = {
    "identity": {"identity_changed"},
    "device": {"device_component"},
    "clock": {"clock_stepped", "clock_behind"},
}
"""What a person's approval clears."""
_input_of = converter_of(Input)
_SAYS = {
    "not_allowed": "this user may not do that; ask one who is in the group for it",
    "no_journal": "the journal is not open; see `tablectl faults`",
    "nothing_to_approve": "no fault waits for it; `tablectl faults` lists those that hold",
    "overflow": "the controller could not take it; enter it again",
}


class Control:
    """Listens and answers, one thread a client."""

    def __init__(self, daemon: Daemon, path: Path, groups: Groups, socket_group: str | None = None) -> None:
        """Bind the socket.

        Raises:
            InUseError: another controller answers there.
            LookupError: there is no such group.
            OSError: the socket can't be made.
        """
        self._daemon = daemon
        self._path = path
        self._groups = groups
        self._inside: dict[socket.socket, int] = {}
        """The process at the other end of each connection that has a place."""
        self._lock = Lock()
        self._stopping = False
        self._pause = Event()
        self._tests = Tests(daemon)
        self.turns = 0
        """Goes up with each turn of the accepting thread."""
        for group in groups:
            if group is not None:
                group_id(group)
        self._listener = _bound(path, None if socket_group is None else group_id(socket_group))
        self._thread = Thread(target=self._accept, name="control", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._listener.settimeout(TURN_S)
        self._daemon.watch_over("control", lambda: self.turns)
        self._thread.start()

    def stop(self) -> None:
        """Answer no more, and take the socket away."""
        self._stopping = True
        self._pause.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with suppress(OSError):
            self._path.unlink()

    # --- connections ---

    def _accept(self) -> None:
        while not self._stopping:
            self.turns += 1
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                # Too many open files, or a client that gave up: the next one may fare better.
                if not self._stopping:
                    log(ERROR, f"{self._path}: a client could not be taken: {error.strerror}")
                    self._pause.wait(TURN_S)
                continue
            if self._admit(connection):
                Thread(target=self._serve, args=(connection,), name="client", daemon=True).start()

    def _admit(self, connection: socket.socket) -> bool:
        """Give a connection its place, or tell it that there is none."""
        connection.settimeout(SEND_S)
        pid, *_ = credentials_of(connection)
        with self._lock:
            if len(self._inside) < CLIENTS:
                self._inside[connection] = pid
                return True
            others = ", ".join(map(str, sorted(set(self._inside.values()))))
        says = f"all {CLIENTS} places at its control socket are taken; end one of the processes {others}"
        with connection, suppress(OSError):
            connection.sendall(refusal("too_many", says))
        return False

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._converse(connection, peer_of(connection, self._groups))
        except OSError:
            pass  # The client is gone: there is nobody left to tell.
        finally:
            with self._lock:
                del self._inside[connection]

    def _converse(self, connection: socket.socket, peer: Peer) -> None:
        now_us = self._daemon.monotonic.now_us
        hearing = Hearing(now_us(), MAX_LINE)
        while True:
            left_s = hearing.left_s(now_us())
            block = _received(connection, left_s)
            connection.settimeout(SEND_S)
            if block is None or (left_s == 0 and b"\n" not in block):
                says = f"{hearing.waits_for} did not come in time; connect again and send it at once"
                connection.sendall(refusal("too_slow", says))
                return
            if not block:
                return
            for line in hearing.hear(block, now_us()):
                if line is None:
                    connection.sendall(too_long())
                    continue
                try:
                    request = decode_request(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    connection.sendall(refusal("bad_request", f"{error}; docs/control-socket.md lists them"))
                    continue
                if isinstance(request, Watch):
                    self._watch(connection, peer, request)
                    return
                if isinstance(request, BeginTest):
                    self._test(connection, peer, request)
                    return
                if isinstance(request, AskPast):
                    self._tell_past(connection, peer, request)
                else:
                    connection.sendall(self._safe_answer(request, peer))

    def _watch(self, connection: socket.socket, peer: Peer, request: Watch) -> None:
        if not peer.may("watch"):
            connection.sendall(self._forbidden(peer, "watch"))
            return
        hub = self._daemon.hub
        heard: set[Channel] = set(request.topics)
        if "readings" in heard and peer.may("timing"):
            heard.add("timing")
        watcher: Watcher = hub.watch(frozenset(heard))
        try:
            connection.sendall(answer(watching=request.topics))
            while not self._stopping:
                lines = watcher.take(1.0)
                if watcher.dropped:
                    connection.sendall(refusal("too_slow", "lines were missed; connect again and ask anew"))
                    return
                # An empty send finds out nothing: whether the client is gone shows with the next line.
                if lines:
                    connection.sendall(b"".join(lines))
                elif _gone(connection):
                    return
        finally:
            hub.leave(watcher)

    def _tell_past(self, connection: socket.socket, peer: Peer, request: AskPast) -> None:
        live = self._daemon.live
        if not peer.may("read the past"):
            connection.sendall(self._forbidden(peer, "read the past"))
        elif live is None:
            connection.sendall(refusal("no_journal", _SAYS["no_journal"]))
        else:
            try:
                for line in past(request, live, self._daemon.options.journal):
                    connection.sendall(line)
            except JournalFault as fault:
                connection.sendall(refusal(fault.code, str(fault)))

    def _test(self, connection: socket.socket, peer: Peer, request: BeginTest) -> None:
        live = self._daemon.live
        if not peer.may("test"):
            connection.sendall(self._forbidden(peer, "test"))
        elif live is None:
            connection.sendall(refusal("no_journal", _SAYS["no_journal"]))
        else:
            note = partial(self._note, live, peer, granted=True)
            stopping = self._pause.is_set
            self._tests.hold(connection, peer, live, request, note=note, stopping=stopping)

    # --- answers ---

    def _safe_answer(self, request: AnyRequest, peer: Peer) -> bytes:
        try:
            return self._answer(request, peer)
        except JournalFault as fault:
            return refusal(fault.code, str(fault))

    def _answer(self, request: AnyRequest, peer: Peer) -> bytes:
        match request:
            case AskStatus():
                return answer(status=status_of(self._daemon))
            case AskFaults():
                return answer(faults=[fault_of(fault) for fault in self._daemon.board.present])
            case Enter():
                return self._if_may(peer, INPUT_NEEDS.get(request.name, "rule"), request, self._enter)
            case Approve(what="journal"):
                return self._accept_journal(request, peer)
            case Approve():
                return self._if_may(peer, "approve", request, self._approve)
            case AskOutbox():
                return self._if_may(peer, "outbox", request, self._outbox)
            case Settled():
                return self._if_may(peer, "settle", request, self._settled)
        return refusal("bad_request", "watch and test take a connection of their own, ask and try a test's")

    def _if_may(self, peer: Peer, deed: str, request: R, do: Callable[[R, Peer, Live], bytes]) -> bytes:
        if not peer.may(deed):
            return self._forbidden(peer, deed)
        live = self._daemon.live
        if live is None:
            return refusal("no_journal", _SAYS["no_journal"])
        return do(request, peer, live)

    def _forbidden(self, peer: Peer, deed: str) -> bytes:
        if (live := self._daemon.live) is not None:
            self._note(live, peer, deed, granted=False)
        return refusal("not_allowed", f"{peer.user} may not {deed}: {_SAYS['not_allowed']}")

    def _enter(self, request: Enter, peer: Peer, live: Live) -> bytes:
        if request.by == CONTROLLER:
            return refusal("bad_request", "`by` is a person's role, such as boxperson or dealer")
        if request.by not in ROLES:
            return refusal("unknown_role", f"found `by` {request.by!r}, expected one of {', '.join(ROLES)}")
        if request.name == "unlock" and (why := self._daemon.why_locked()) is not None:
            self._note(live, peer, "unlock", granted=False)
            return refusal("locked", f"the table can't be unlocked yet: {why}")
        arguments = msgspec.to_builtins(request)
        for key in ("do", "wait_s"):
            arguments.pop(key, None)
        arguments["who"] = request.who or peer.user
        entered = _input_of({**arguments, "kind": "input", "t": 0, "dev": "control"})
        self._note(live, peer, f"input {request.name}", granted=True, said=arguments)
        asked = live.core.enter(entered)
        if asked is None:
            return refusal("overflow", _SAYS["overflow"])
        if not request.wait_s:
            return answer(entered=request.name)
        if not asked.wait(request.wait_s):
            return refusal("no_answer", f"nothing came of it in {request.wait_s:g} s; see `tablectl watch`")
        if asked.refused is not None:
            return refusal(asked.refused.code, asked.says, asked.allowed)
        return answer(entered=request.name, obeyed=True)

    def _approve(self, request: Approve, peer: Peer, live: Live) -> bytes:
        holding = sorted({fault.code for fault in self._daemon.board.present} & _APPROVES[request.what])
        if not holding:
            return refusal("nothing_to_approve", _SAYS["nothing_to_approve"])
        who = request.who or peer.user
        said = {"what": request.what, "who": who, "reason": request.reason}
        try:
            if request.what == "identity":
                self._daemon.approve_identity(peer.user, who)
            elif request.what == "device":
                self._daemon.approve_devices()
            else:
                self._daemon.approve_clock()
        except OSError as error:
            return refusal("not_kept", f"the approval can't be kept: {error.strerror}")
        self._note(live, peer, f"approve {request.what}", granted=True, said=said)
        return answer(approved=request.what, cleared=holding)

    def _accept_journal(self, request: Approve, peer: Peer) -> bytes:
        """Let the table go on with an older journal: the one deed that is done while none is open."""
        if not peer.may("approve"):
            return self._forbidden(peer, "approve")
        if self._daemon.live is not None:
            return refusal("not_now", "the journal is open; nothing is to be accepted")
        if not request.reason:
            return refusal("bad_request", "`reason` must say why an older journal is gone on with")
        self._daemon.accept_journal(peer.user, request.who or peer.user, request.reason)
        return answer(approved=request.what)

    def _outbox(self, request: AskOutbox, _peer: Peer, _live: Live) -> bytes:
        with Reader(self._daemon.options.place.journal) as reader:
            rows = reader.outbox(request.limit, request.after)
        waiting = [
            {"n": row.n, "chain": row.link.hex(), "outcome": msgspec.Raw(row.body)}
            for row in rows
            if row.body is not None
        ]
        return answer(outbox=waiting)

    def _settled(self, request: Settled, peer: Peer, live: Live) -> bytes:
        ticket = live.journal.acknowledge(request.id, request.chain, peer.user)
        if not ticket.wait(SEND_S):
            return refusal("not_durable", "the disk has not taken it yet; acknowledge it again")
        if any(row.name == "outbox.refused" for row in ticket.rows):
            return refusal("no_match", "no outcome of this id and chain hash; see `tablectl faults`")
        return answer(closed=request.id)

    def _note(
        self, live: Live, peer: Peer, deed: str, *, granted: bool, said: Mapping[str, object] | None = None
    ) -> None:
        """Journal who did what, by the identity that the kernel gives."""
        used = {"user": peer.user, "uid": peer.uid, "pid": peer.pid, "did": deed, "granted": granted}
        live.core.note(CONTROL, used if said is None else {**used, "said": said})


def _bound(path: Path, group: int | None) -> socket.socket:
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
        listener.listen(CLIENTS)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket that a killed controller left; one that is answered is another controller's."""
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise FileExistsError(17, "a file that is no socket stands there", str(path))
    if not answered(path):
        path.unlink()
        return
    raise InUseError(f"{path}: found another controller answering there, expected none; stop that one first")


def _received(connection: socket.socket, within_s: float | None) -> bytes | None:
    """Receive what comes; None where that is nothing in this time, b"" where nothing will."""
    connection.settimeout(within_s)
    try:
        return connection.recv(MAX_LINE)
    except (TimeoutError, BlockingIOError):
        return None


def _gone(connection: socket.socket) -> bool:
    # Python itself waits for a socket with a time limit, whatever MSG_DONTWAIT says.
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
