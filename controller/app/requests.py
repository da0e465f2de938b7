"""The handling of the control socket's requests: permission checks, execution and answers."""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from controller.app.clock import iso
from controller.app.daemon import Daemon
from controller.app.faults import APPROVES
from controller.app.history import HistoryLimit
from controller.app.messages import (
    AnyRequest,
    Approve,
    BeginTest,
    BoardRequest,
    Enter,
    FaultsRequest,
    HistoryRequest,
    HoldPictures,
    IdentityRequest,
    LogRequest,
    OutboxRequest,
    PictureRequest,
    RecordingRequest,
    RecordingsRequest,
    RowRequest,
    RowsRequest,
    Settled,
    StatusRequest,
    TableRequest,
    Watch,
    answer,
    encode,
    refusal,
)
from controller.app.options import JOURNAL_FILE, RECORDINGS
from controller.app.peers import APPROVERS, INPUT_NEEDS, ROLES, Peer, RefusalKind, RefusalTally
from controller.app.recording import ENDING
from controller.app.running import RunningTable
from controller.app.service import last_logged
from controller.app.status import build_board, build_floor, build_status, describe_fault
from controller.app.view import View
from controller.engine.resume import CONTROLLER
from controller.games.registry import game_of
from controller.journal.contents import CONTROL
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.model.conversion import converter_of
from controller.model.readings import Input
from controller.people.tokens import Claims, TokenError, Verifier
from controller.replay.source import Source

R = TypeVar("R", bound=AnyRequest)

DURABLE_TIMEOUT_S = 2.0
"""Maximum wait until an acknowledgement is on the disk."""
NO_JOURNAL = "the journal is not open; see `tablectl faults`"
_input_of = converter_of(Input)
_ADVICE = {
    "not_allowed": "ask someone in a group that is allowed to do this",
    "nothing_to_approve": "no active fault needs this approval; `tablectl faults` lists the active ones",
    "overflow": "the controller's queue is full; enter the input again",
}


def _subject_of(request: Enter) -> str:
    return "" if request.what is None else str(request.what)


def _why_closed(request: Enter, view: View, game: str) -> bytes | None:
    """Return the refusal of a ruling on a review or proposal that is not open; None if it is open.

    The ruling must name the attempt, because a ruling without a number could apply to a later attempt.
    """
    named = _subject_of(request).partition(" ")[0]
    attempt = game_of(game).attempt.attempt
    if not named:
        message = f"a ruling with `of_review` must name the {attempt} by its number in `what`"
        return refusal("bad_request", message)
    awaited = view.awaited
    if awaited is not None and str(awaited.number) == named:
        return None
    return refusal(
        "review_closed",
        f"{attempt} {named} is no longer under review, because someone ruled on it or play continued; check"
        " the result, and correct it if necessary",
    )


def _since_boot_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Requests:
    """The handler of the requests sent to one controller; thread-safe."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._tally = RefusalTally()
        self._verifier = Verifier(daemon.options.sign_in_key, _since_boot_us)

    def answer(self, request: AnyRequest, peer: Peer) -> bytes:
        """Handle a request if this peer may send it, and return the answer."""
        try:
            return self._answer(request, peer)
        except JournalFault as fault:
            return refusal(fault.code, str(fault))

    def _answer(self, request: AnyRequest, peer: Peer) -> bytes:
        match request:
            case StatusRequest():
                return answer(status=build_status(self._daemon))
            case FaultsRequest():
                return answer(faults=[describe_fault(fault) for fault in self._daemon.faults.present])
            case BoardRequest() | TableRequest() | PictureRequest():
                return self._show(request, peer)
            case Enter(token=str() as token):
                return self._enter_signed(request, peer, token)
            case Enter():
                return self._if_may(peer, INPUT_NEEDS.get(request.name, "rule"), request, self._enter)
            case Approve():
                return self._approve_any(request, peer)
            case HoldPictures():
                return self._if_may(peer, "hold pictures", request, self._hold_pictures)
            case OutboxRequest() | Settled() if self._daemon.options.shadow:
                return refusal("shadow", "this controller is a shadow, so its calls must not be settled")
            case OutboxRequest():
                return self._if_may(peer, "read the outbox", request, self._outbox)
            case Settled():
                return self._if_may(peer, "settle", request, self._settled)
        return refusal(
            "bad_request",
            "`watch` and `test` need separate connections; `ask`, `try` and `tested` are accepted only during"
            " a test",
        )

    def _approve_any(self, request: Approve, peer: Peer) -> bytes:
        if request.what == "journal":
            return self._accept_journal(request, peer)
        if request.token is not None:
            return self._approve_signed(request, peer, request.token)
        return self._if_may(peer, "approve", request, self._approve)

    def _if_may(
        self, peer: Peer, action: str, request: R, do: Callable[[R, Peer, RunningTable], bytes]
    ) -> bytes:
        if not peer.may(action):
            return self.forbidden(peer, action)
        live = self._daemon.live
        if live is None:
            return refusal("no_journal", NO_JOURNAL)
        return do(request, peer, live)

    def forbidden(self, peer: Peer, action: str) -> bytes:
        """Journal the refusal of an action, and return the answer."""
        if (live := self._daemon.live) is not None:
            self._note_refusal(live, peer, action)
        return refusal("not_allowed", f"{peer.user} may not {action}; {_ADVICE['not_allowed']}")

    def identify(
        self, request: BeginTest | Watch | HistoryRequest, peer: Peer
    ) -> tuple[Peer, str | None] | bytes:
        """Return the peer and, with a token, the token's person; the peer then has the token's role.

        Return a refusal if the token is invalid.
        """
        if request.token is None:
            return peer, None
        claims = self._claims(request.token, peer, f"{request.__struct_config__.tag} with this token")
        return claims if isinstance(claims, bytes) else (peer.signed_in_as(claims.role), claims.person)

    def admit(
        self, request: BeginTest | Watch | HistoryRequest, peer: Peer, action: str
    ) -> tuple[Peer, str | None] | bytes:
        """Return the result of `identify` if the peer may then perform the action, else a refusal."""
        asking = self.identify(request, peer)
        if isinstance(asking, bytes) or asking[0].may(action):
            return asking
        return self.forbidden(asking[0], action)

    def _show(self, request: BoardRequest | TableRequest | PictureRequest, peer: Peer) -> bytes:
        """Answer a screen's request; every client may see the board, but the rest requires a permission."""
        live = self._daemon.live
        match request:
            case BoardRequest():
                return refusal("no_journal", NO_JOURNAL) if live is None else answer(**build_board(live))
            case PictureRequest():
                return self._if_may(peer, "see the table", request, self._picture)
        if not peer.may("see the table"):
            return self.forbidden(peer, "see the table")
        return answer(floor=build_floor(self._daemon))

    def _enter_signed(self, request: Enter, peer: Peer, token: str) -> bytes:
        """Enter an input for the person named in a screen's token; ignore the request's `by` and `who`."""
        claims = self._claims(token, peer, f"enter {request.name} with this token")
        if isinstance(claims, bytes):
            return claims
        signed = msgspec.structs.replace(request, by=claims.role, who=claims.person, token=None)
        enter = partial(self._enter, console=claims.console)
        action = INPUT_NEEDS.get(request.name, "rule")
        return self._if_may(peer.signed_in_as(claims.role), action, signed, enter)

    def _approve_signed(self, request: Approve, peer: Peer, token: str) -> bytes:
        """Handle an approval by the person named in a screen's token."""
        action = f"approve {request.what} with this token"
        claims = self._claims(token, peer, action)
        if isinstance(claims, bytes):
            return claims
        if claims.role not in APPROVERS:
            if (live := self._daemon.live) is not None:
                self._note_refusal(live, peer, action)
            return refusal(
                "not_theirs", f"a {' or a '.join(sorted(APPROVERS))} must approve this at a screen"
            )
        signed = msgspec.structs.replace(request, who=claims.person, token=None)
        approve = partial(self._approve, details={"role": claims.role, "console": claims.console})
        return self._if_may(peer.signed_in_as(claims.role), "approve", signed, approve)

    def _claims(self, token: str, peer: Peer, action: str) -> Claims | bytes:
        if not peer.may("act for a screen"):
            return self.forbidden(peer, "act for a screen")
        try:
            return self._verifier.verify(token)
        except TokenError as error:
            if (live := self._daemon.live) is not None:
                self._note_refusal(live, peer, action)
            return refusal(error.code, error.message)

    def _picture(self, request: PictureRequest, _peer: Peer, live: RunningTable) -> bytes:
        """Answer with a drawing of the attempt that awaits a ruling.

        Deals are not drawn, because cards can be face down. Spins are not drawn while bets are accepted.
        """
        view = live.core.view
        awaited = view.awaited
        if awaited is None or awaited.number != request.number:
            return refusal(
                "not_now",
                "no attempt with this number awaits a ruling; to draw an earlier one, run: tablectl explain",
            )
        if awaited.attempt == "deal" or (awaited.attempt == "spin" and not view.bets_closed):
            return answer(svg=None, pictures=())
        drawn = self._daemon.draw(self._daemon.options.place.journal, request.number)
        return answer(svg=drawn.svg, pictures=[named._asdict() for named in drawn.pictures])

    def _enter(self, request: Enter, peer: Peer, live: RunningTable, console: str | None = None) -> bytes:
        if request.by == CONTROLLER:
            return refusal("bad_request", f"found `by` {request.by!r}, expected a person's role")
        if request.by not in ROLES:
            return refusal("unknown_role", f"found `by` {request.by!r}, expected one of {', '.join(ROLES)}")
        if request.name == "unlock" and (why := self._daemon.why_locked()) is not None:
            self._note_refusal(live, peer, "unlock")
            return refusal("locked", f"the table can't be unlocked yet: {why}")
        if request.of_review:
            closed = _why_closed(request, live.core.view, live.setup.ruleset.game)
            if closed is not None:
                return closed
        arguments = msgspec.to_builtins(request)
        for key in ("do", "wait_s", "of_review"):
            arguments.pop(key, None)
        # Two people must confirm a late wager. A token or the kernel identifies them; a typed name does not.
        named = console is not None or request.name != "confirm_late"
        arguments["who"] = (request.who if named else None) or peer.user
        if request.what is not None:
            arguments["what"] = _subject_of(request)
        entered = _input_of({**arguments, "kind": "input", "t": 0, "dev": "control"})
        details = arguments if console is None else {**arguments, "console": console}
        self.note(live, peer, f"input {request.name}", details=details)
        pending = live.core.enter(entered)
        if pending is None:
            return refusal("overflow", _ADVICE["overflow"])
        if not request.wait_s:
            return answer(entered=request.name)
        if not pending.wait(request.wait_s):
            return refusal("no_answer", f"no result within {request.wait_s:g} s; see `tablectl watch`")
        if pending.refused is not None:
            return refusal(pending.refused.code, pending.message, pending.allowed)
        return answer(entered=request.name, obeyed=True, says=pending.answer or f"{request.name}: done")

    def _approve(
        self, request: Approve, peer: Peer, live: RunningTable, details: Mapping[str, object] | None = None
    ) -> bytes:
        holding = sorted({fault.code for fault in self._daemon.faults.present} & APPROVES[request.what])
        if not holding:
            return refusal("nothing_to_approve", _ADVICE["nothing_to_approve"])
        who = request.who or peer.user
        noted = {"what": request.what, "who": who, "reason": request.reason, **(details or {})}
        try:
            if request.what == "identity":
                self._daemon.approve_identity(peer.user, who)
            elif request.what == "device":
                self._daemon.approve_devices()
            else:
                self._daemon.approve_clock()
        except OSError as error:
            return refusal("not_kept", f"the approval can't be saved: {error.strerror}")
        self.note(live, peer, f"approve {request.what}", details=noted)
        return answer(approved=request.what, cleared=holding)

    def _accept_journal(self, request: Approve, peer: Peer) -> bytes:
        """Handle the acceptance of an older journal; refuse it while a journal is open."""
        if not peer.may("approve"):
            return self.forbidden(peer, "approve")
        if self._daemon.live is not None:
            return refusal("not_now", "the journal is open, so there is no older journal to accept")
        if not request.reason:
            return refusal("bad_request", "`reason` is empty; state why play continues with an older journal")
        self._daemon.accept_journal(peer.user, request.who or peer.user, request.reason)
        return answer(approved=request.what)

    def _hold_pictures(self, request: HoldPictures, peer: Peer, live: RunningTable) -> bytes:
        fields = {"sha256": request.sha256, "who": request.who, "reason": request.reason}
        self.note(live, peer, "hold pictures" if request.held else "release pictures", details=fields)
        return answer(journaled=request.sha256)

    def _outbox(self, request: OutboxRequest, _peer: Peer, _live: RunningTable) -> bytes:
        with Reader(self._daemon.options.place.journal) as reader:
            rows = reader.outbox(request.limit, request.after)
        waiting = [
            {"n": row.n, "chain": row.link.hex(), "outcome": msgspec.Raw(row.body)}
            for row in rows
            if row.body is not None
        ]
        return answer(outbox=waiting)

    def _settled(self, request: Settled, peer: Peer, live: RunningTable) -> bytes:
        ticket = live.journal.acknowledge(request.id, request.chain, peer.user)
        if not ticket.wait(DURABLE_TIMEOUT_S):
            return refusal("not_durable", "the acknowledgement is not on the disk yet; send it again")
        if ticket.fault is not None:
            return refusal("no_match", "found no outcome with this id and chain hash; see `tablectl faults`")
        return answer(closed=request.id)

    def note(
        self, live: RunningTable, peer: Peer, action: str, *, details: Mapping[str, object] | None = None
    ) -> None:
        """Journal an action, with the user and process as reported by the kernel."""
        used = {"user": peer.user, "uid": peer.uid, "pid": peer.pid, "did": action, "granted": True}
        live.core.note(CONTROL, used if details is None else {**used, "said": details})

    def sum_up(self, *, all_of_it: bool = False) -> None:
        """Journal the totals of the refusals that were too frequent for separate rows."""
        live = self._daemon.live
        if live is not None:
            now_us = self._daemon.monotonic.now_us()
            self._tally.sum_up(now_us, partial(live.core.note_if_room, CONTROL), all_of_it=all_of_it)

    def _note_refusal(self, live: RunningTable, peer: Peer, action: str) -> None:
        refused = RefusalKind(peer.uid, peer.user, action)
        if self._tally.gets_own_row(refused, self._daemon.monotonic.now_us()):
            used = {"user": peer.user, "uid": peer.uid, "pid": peer.pid, "did": action, "granted": False}
            if not live.core.note_if_room(CONTROL, used):
                self._tally.add_to_sum(refused)


NO_LIMIT_US = 2**62


class _Arrival(msgspec.Struct):
    """The times in a recorded line; a header has none."""

    t: int = 0
    arrived: int | None = None


_decode_arrival = msgspec.json.Decoder(_Arrival).decode


def history_limit(view: View, game: str, last_n: int, opened: HistoryLimit) -> HistoryLimit:
    """Return the limit of the history that may be shown now; the caller must read `last_n` before `view`.

    If an attempt's readings must be hidden, the limit is `opened`, the limit when bets last opened.
    """
    hidden = view.must_hide_readings(game) or (game_of(game).dealt_face_down and view.attempt_open)
    return opened if hidden else HistoryLimit(last_n, view.now_us)


def history_lines(request: HistoryRequest, live: RunningTable, journal: Path) -> Iterator[bytes]:
    """Yield the answer to a request about the past; raises JournalFault if the journal can't be read."""
    with Reader(journal / JOURNAL_FILE) as reader:
        last_n = reader.last_n()
        view = live.core.view
        limit = history_limit(view, live.setup.ruleset.game, last_n, live.bets_opened)
        match request:
            case RowRequest():
                row = reader.find(request.id)
                if row.n > limit.n:
                    message = "bets are open, or the hand is not decided yet; repeat the request later"
                    yield refusal("not_now", message)
                else:
                    yield answer(row=row)
            case IdentityRequest():
                yield answer(identity=reader.identity_at(request.at), key=reader.key_at(request.at).raw)
            case RowsRequest():
                origin, held_back = reader.origin, limit.n < last_n
                yield answer(table=origin.table, key=origin.public_key, last_n=limit.n, held_back=held_back)
                to_n = limit.n if request.to_n is None else min(request.to_n, limit.n)
                for row in reader.rows(request.from_n, to_n, request.types, evidence=request.evidence):
                    yield encode({"row": row}) + b"\n"
                yield answer(end=True)
            case RecordingRequest():
                limit_us = limit.arrived_us if _is_of_session(request.name, view) else NO_LIMIT_US
                yield from _recorded(journal / RECORDINGS / (request.name + ENDING), limit_us)
            case RecordingsRequest():
                yield answer(recordings=list(_recordings(journal / RECORDINGS, view)))
            case LogRequest():
                yield answer(log=[{"at": iso(at_us), "says": message} for at_us, message in last_logged()])


def _is_of_session(name: str, view: View) -> bool:
    """Return whether a recording belongs to the current session, which can still add readings to it."""
    return name.startswith(view.recording.rpartition("-")[0] + "-")


def _recordings(folder: Path, view: View) -> Iterator[dict[str, object]]:
    """Yield each recording, the newest first.

    The sizes and times of the current session's recordings are omitted, because they would reveal each pass
    of the ball (R-SPIN-3).
    """
    for path in sorted(folder.glob(f"*{ENDING}"), reverse=True):
        name = path.name.removesuffix(ENDING)
        kept = None
        if not _is_of_session(name, view):
            with suppress(OSError):  # The recorder might delete the file to make room.
                kept = path.stat()
        yield {
            "name": name,
            "bytes": None if kept is None else kept.st_size,
            "ended": None if kept is None else iso(kept.st_mtime_ns // 1000),
        }


def _recorded(path: Path, limit_us: int) -> Iterator[bytes]:
    """Yield the lines written to a recording so far, except those that arrived after the limit."""
    try:
        stream = path.open("rb")
    except OSError as error:
        message = f"{path.name}: {error.strerror}; the recording was moved, or deleted to make room"
        yield refusal("no_recording", message)
        return
    yield answer(recording=path.name)
    rest = b""
    try:
        with stream:
            for block in Source(stream):
                *lines, rest = (rest + block).split(b"\n")
                shown = [line for line in lines if _arrival(line) <= limit_us]
                yield encode({"lines": b"".join(line + b"\n" for line in shown).decode()}) + b"\n"
                if len(shown) < len(lines):
                    break
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield refusal("damaged", f"{path.name}: {error}; the outcomes' evidence is in the journal")
    else:
        yield answer(end=True)


def _arrival(line: bytes) -> int:
    arrival = _decode_arrival(line)
    return arrival.t if arrival.arrived is None else arrival.arrived
