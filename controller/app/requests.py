"""What clients of the control socket ask for, and who may: each request is carried out and answered in a
line."""

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
from controller.app.history import Until
from controller.app.messages import (
    AnyRequest,
    Approve,
    AskPast,
    BeginTest,
    BoardRequest,
    Enter,
    FaultsRequest,
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
from controller.app.status import board_of, fault_of, floor_of, status_of
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

DURABLE_S = 2.0
"""How long to wait for an acknowledgement to reach the disk."""
NO_JOURNAL = "the journal is not open; see `tablectl faults`"
_input_of = converter_of(Input)
_SAYS = {
    "not_allowed": "this user may not do that; ask someone in the group that may",
    "nothing_to_approve": "no fault waits for this approval; `tablectl faults` lists the active ones",
    "overflow": "the controller's queue is full; enter it again",
}


def _about(request: Enter) -> str:
    return "" if request.what is None else str(request.what)


def _closed(request: Enter, view: View) -> str | None:
    """Return why a ruling's review or proposal is closed; None if it is still open."""
    named = _about(request).partition(" ")[0]
    awaited = view.awaited
    if awaited is not None and str(awaited.number) == named:
        return None
    word = next((word for word in ("spin", "deal") if getattr(view.first, word) > 1), "roll")
    return (
        f"{word} {named} is no longer under review: somebody ruled on it, or play went on; check"
        " the result, and correct it if it is wrong"
    )


def _since_boot_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Requests:
    """Answers requests of a running controller; any thread may ask."""

    def __init__(self, daemon: Daemon) -> None:
        """Answer for this controller."""
        self._daemon = daemon
        self._tally = RefusalTally()
        self._verifier = Verifier(daemon.options.sign_in_key, _since_boot_us)

    def answer(self, request: AnyRequest, peer: Peer) -> bytes:
        """Handle the request, if this peer may make it, and return the answer's line."""
        try:
            return self._answer(request, peer)
        except JournalFault as fault:
            return refusal(fault.code, str(fault))

    def _answer(self, request: AnyRequest, peer: Peer) -> bytes:
        match request:
            case StatusRequest():
                return answer(status=status_of(self._daemon))
            case FaultsRequest():
                return answer(faults=[fault_of(fault) for fault in self._daemon.faults.present])
            case BoardRequest() | TableRequest() | PictureRequest():
                return self._show(request, peer)
            case Enter(token=str() as token):
                return self._enter_signed(request, peer, token)
            case Enter():
                return self._if_may(peer, INPUT_NEEDS.get(request.name, "rule"), request, self._enter)
            case Approve():
                return self._approve_however(request, peer)
            case HoldPictures():
                return self._if_may(peer, "hold pictures", request, self._hold_pictures)
            case OutboxRequest() | Settled() if self._daemon.options.shadow:
                return refusal("shadow", "this controller is a shadow: its calls must not be settled")
            case OutboxRequest():
                return self._if_may(peer, "outbox", request, self._outbox)
            case Settled():
                return self._if_may(peer, "settle", request, self._settled)
        return refusal(
            "bad_request",
            "`watch` and `test` need a connection of their own; `ask` and `try` belong to a test",
        )

    def _approve_however(self, request: Approve, peer: Peer) -> bytes:
        if request.what == "journal":
            return self._accept_journal(request, peer)
        if request.token is not None:
            return self._approve_signed(request, peer, request.token)
        return self._if_may(peer, "approve", request, self._approve)

    def _if_may(
        self, peer: Peer, deed: str, request: R, do: Callable[[R, Peer, RunningTable], bytes]
    ) -> bytes:
        if not peer.may(deed):
            return self.forbidden(peer, deed)
        live = self._daemon.live
        if live is None:
            return refusal("no_journal", NO_JOURNAL)
        return do(request, peer, live)

    def forbidden(self, peer: Peer, deed: str) -> bytes:
        """Refuse a deed, and journal that it was refused."""
        if (live := self._daemon.live) is not None:
            self._note_refusal(live, peer, deed)
        return refusal("not_allowed", f"{peer.user} may not {deed}: {_SAYS['not_allowed']}")

    def at_screen(self, request: BeginTest | Watch | AskPast, peer: Peer) -> tuple[Peer, str | None] | bytes:
        """Return the role and the person for whom a request is made: those of the token if there is one.

        Return the refusal if the token proves nothing.
        """
        if request.token is None:
            return peer, None
        claims = self._claims(request.token, peer, f"{request.__struct_config__.tag} with this token")
        return claims if isinstance(claims, bytes) else (peer.signed_in_as(claims.role), claims.person)

    def admitted(
        self, request: BeginTest | Watch | AskPast, peer: Peer, deed: str
    ) -> tuple[Peer, str | None] | bytes:
        """Return the role and the person for whom a request is made, if they may make it; else the
        refusal."""
        asking = self.at_screen(request, peer)
        if isinstance(asking, bytes) or asking[0].may(deed):
            return asking
        return self.forbidden(asking[0], deed)

    def _show(self, request: BoardRequest | TableRequest | PictureRequest, peer: Peer) -> bytes:
        """Answer what a screen shows: the board to anybody, the rest to the staff's screens."""
        live = self._daemon.live
        match request:
            case BoardRequest():
                return refusal("no_journal", NO_JOURNAL) if live is None else answer(**board_of(live))
            case PictureRequest():
                return self._if_may(peer, "see the table", request, self._picture)
        if not peer.may("see the table"):
            return self.forbidden(peer, "see the table")
        return answer(floor=floor_of(self._daemon))

    def _enter_signed(self, request: Enter, peer: Peer, token: str) -> bytes:
        """Enter an input from a screen for the person whom the token names, whatever the screen itself
        claims."""
        claims = self._claims(token, peer, f"enter {request.name} with this token")
        if isinstance(claims, bytes):
            return claims
        signed = msgspec.structs.replace(request, by=claims.role, who=claims.person, token=None)
        enter = partial(self._enter, console=claims.console)
        deed = INPUT_NEEDS.get(request.name, "rule")
        return self._if_may(peer.signed_in_as(claims.role), deed, signed, enter)

    def _approve_signed(self, request: Approve, peer: Peer, token: str) -> bytes:
        """Approve from a screen for the person whom the token names."""
        deed = f"approve {request.what} with this token"
        claims = self._claims(token, peer, deed)
        if isinstance(claims, bytes):
            return claims
        if claims.role not in APPROVERS:
            if (live := self._daemon.live) is not None:
                self._note_refusal(live, peer, deed)
            return refusal("not_theirs", f"a {' or a '.join(sorted(APPROVERS))} approves this; call one")
        signed = msgspec.structs.replace(request, who=claims.person, token=None)
        approve = partial(self._approve, said={"role": claims.role, "console": claims.console})
        return self._if_may(peer.signed_in_as(claims.role), "approve", signed, approve)

    def _claims(self, token: str, peer: Peer, deed: str) -> Claims | bytes:
        """Return the person whom a token names, or the refusal of this request."""
        if not peer.may("speak for a screen"):
            return self.forbidden(peer, "speak for a screen")
        try:
            return self._verifier.verify(token)
        except TokenError as error:
            if (live := self._daemon.live) is not None:
                self._note_refusal(live, peer, deed)
            return refusal(error.code, error.says)

    def _picture(self, request: PictureRequest, _peer: Peer, live: RunningTable) -> bytes:
        """Draw what waits for a person: no covered card, and nothing of a ball while bets are accepted."""
        view = live.core.view
        awaited = view.awaited
        if awaited is None or awaited.number != request.number:
            return refusal(
                "not_now",
                "only an attempt that waits for a person is drawn; `tablectl explain` draws past ones",
            )
        if awaited.attempt == "deal" or (awaited.attempt == "spin" and not view.bets_closed):
            return answer(svg=None, pictures=())
        drawn = self._daemon.draw(self._daemon.options.place.journal, request.number)
        return answer(svg=drawn.svg, pictures=[named._asdict() for named in drawn.pictures])

    def _enter(self, request: Enter, peer: Peer, live: RunningTable, console: str | None = None) -> bytes:
        if request.by == CONTROLLER:
            return refusal("bad_request", "`by` is a person's role, such as boxperson or dealer")
        if request.by not in ROLES:
            return refusal("unknown_role", f"found `by` {request.by!r}, expected one of {', '.join(ROLES)}")
        if request.name == "unlock" and (why := self._daemon.why_locked()) is not None:
            self._note_refusal(live, peer, "unlock")
            return refusal("locked", f"the table can't be unlocked yet: {why}")
        if request.of_review and (closed := _closed(request, live.core.view)) is not None:
            return refusal("review_closed", closed)
        arguments = msgspec.to_builtins(request)
        for key in ("do", "wait_s", "of_review"):
            arguments.pop(key, None)
        # Who confirms a late wager is whom a token or the kernel names: a typed name makes no second person.
        named = console is not None or request.name != "confirm_late"
        arguments["who"] = (request.who if named else None) or peer.user
        if request.what is not None:
            arguments["what"] = _about(request)
        entered = _input_of({**arguments, "kind": "input", "t": 0, "dev": "control"})
        said = arguments if console is None else {**arguments, "console": console}
        self.note(live, peer, f"input {request.name}", said=said)
        asked = live.core.enter(entered)
        if asked is None:
            return refusal("overflow", _SAYS["overflow"])
        if not request.wait_s:
            return answer(entered=request.name)
        if not asked.wait(request.wait_s):
            return refusal("no_answer", f"no result within {request.wait_s:g} s; see `tablectl watch`")
        if asked.refused is not None:
            return refusal(asked.refused.code, asked.says, asked.allowed)
        return answer(entered=request.name, obeyed=True, says=asked.answer or f"{request.name}: done")

    def _approve(
        self, request: Approve, peer: Peer, live: RunningTable, said: Mapping[str, object] | None = None
    ) -> bytes:
        holding = sorted({fault.code for fault in self._daemon.faults.present} & APPROVES[request.what])
        if not holding:
            return refusal("nothing_to_approve", _SAYS["nothing_to_approve"])
        who = request.who or peer.user
        noted = {"what": request.what, "who": who, "reason": request.reason, **(said or {})}
        try:
            if request.what == "identity":
                self._daemon.approve_identity(peer.user, who)
            elif request.what == "device":
                self._daemon.approve_devices()
            else:
                self._daemon.approve_clock()
        except OSError as error:
            return refusal("not_kept", f"the approval can't be saved: {error.strerror}")
        self.note(live, peer, f"approve {request.what}", said=noted)
        return answer(approved=request.what, cleared=holding)

    def _accept_journal(self, request: Approve, peer: Peer) -> bytes:
        """Accept an older journal: the one request that is granted while no journal is open."""
        if not peer.may("approve"):
            return self.forbidden(peer, "approve")
        if self._daemon.live is not None:
            return refusal("not_now", "the journal is open; there is nothing to accept")
        if not request.reason:
            return refusal("bad_request", "`reason` must say why play continues with an older journal")
        self._daemon.accept_journal(peer.user, request.who or peer.user, request.reason)
        return answer(approved=request.what)

    def _hold_pictures(self, request: HoldPictures, peer: Peer, live: RunningTable) -> bytes:
        fields = {"sha256": request.sha256, "who": request.who, "reason": request.reason}
        self.note(live, peer, "hold pictures" if request.held else "release pictures", said=fields)
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
        if not ticket.wait(DURABLE_S):
            return refusal("not_durable", "it is not on the disk yet; acknowledge it again")
        if ticket.fault is not None:
            return refusal("no_match", "no outcome of this id and chain hash; see `tablectl faults`")
        return answer(closed=request.id)

    def note(
        self, live: RunningTable, peer: Peer, deed: str, *, said: Mapping[str, object] | None = None
    ) -> None:
        """Journal who did what, by the identity that the kernel gives."""
        used = {"user": peer.user, "uid": peer.uid, "pid": peer.pid, "did": deed, "granted": True}
        live.core.note(CONTROL, used if said is None else {**used, "said": said})

    def sum_up(self, *, all_of_it: bool = False) -> None:
        """Journal refusals that were too frequent to get a row each."""
        live = self._daemon.live
        if live is not None:
            now_us = self._daemon.monotonic.now_us()
            self._tally.sum_up(now_us, partial(live.core.note_if_room, CONTROL), all_of_it=all_of_it)

    def _note_refusal(self, live: RunningTable, peer: Peer, deed: str) -> None:
        refused = RefusalKind(peer.uid, peer.user, deed)
        if self._tally.in_full(refused, self._daemon.monotonic.now_us()):
            used = {"user": peer.user, "uid": peer.uid, "pid": peer.pid, "did": deed, "granted": False}
            if not live.core.note_if_room(CONTROL, used):
                self._tally.uncounted(refused)


NEVER = 2**62


class _Arrival(msgspec.Struct):
    """Of a recorded line, when it arrived; the header has no time."""

    t: int = 0
    arrived: int | None = None


_decode_arrival = msgspec.json.Decoder(_Arrival).decode


def past_until(view: View, game: str, last_n: int, opened: Until) -> Until:
    """Return how much of the past may be shown while an attempt is open; read `last_n` before `view`."""
    hidden = view.must_hide_readings(game) or (game_of(game).dealt_face_down and view.attempt_open)
    return opened if hidden else Until(last_n, view.now_us)


def past(request: AskPast, live: RunningTable, journal: Path) -> Iterator[bytes]:
    """Answer in lines; raises JournalFault if the journal does not contain what is asked for."""
    with Reader(journal / JOURNAL_FILE) as reader:
        last_n = reader.last_n()
        view = live.core.view
        until = past_until(view, live.setup.ruleset.game, last_n, live.bets_opened)
        match request:
            case RowRequest():
                row = reader.find(request.id)
                if row.n > until.n:
                    yield refusal("not_now", "bets are open or its hand is not decided; ask again then")
                else:
                    yield answer(row=row)
            case IdentityRequest():
                yield answer(identity=reader.identity_at(request.at), key=reader.key_at(request.at).raw)
            case RowsRequest():
                origin, held_back = reader.origin, until.n < last_n
                yield answer(table=origin.table, key=origin.public_key, last_n=until.n, held_back=held_back)
                to_n = until.n if request.to_n is None else min(request.to_n, until.n)
                for row in reader.rows(request.from_n, to_n, request.types, evidence=request.evidence):
                    yield encode({"row": row}) + b"\n"
                yield answer(end=True)
            case RecordingRequest():
                limit_us = until.arrived_us if _is_of_now(request.name, view) else NEVER
                yield from _recorded(journal / RECORDINGS / (request.name + ENDING), limit_us)

            case RecordingsRequest():
                yield answer(recordings=list(_recordings(journal / RECORDINGS, view)))
            case LogRequest():
                yield answer(log=[{"at": iso(at_us), "says": says} for at_us, says in last_logged()])


def _is_of_now(name: str, view: View) -> bool:
    """Return whether a recording is one of this session, to which readings are still added."""
    return name.startswith(view.recording.rpartition("-")[0] + "-")


def _recordings(folder: Path, view: View) -> Iterator[dict[str, object]]:
    """Yield each recording; without the size of this session's, which grows with each pass of a ball
    (R-SPIN-3)."""
    for path in sorted(folder.glob(f"*{ENDING}"), reverse=True):
        name = path.name.removesuffix(ENDING)
        kept = None
        if not _is_of_now(name, view):
            with suppress(OSError):  # it is made room for meanwhile
                kept = path.stat()
        yield {
            "name": name,
            "bytes": None if kept is None else kept.st_size,
            "ended": None if kept is None else iso(kept.st_mtime_ns // 1000),
        }


def _recorded(path: Path, limit_us: int) -> Iterator[bytes]:
    """Yield the lines of a recording as written so far, up to the first that arrived after the limit."""
    try:
        stream = path.open("rb")
    except OSError as error:
        yield refusal("no_recording", f"{path.name}: {error.strerror}; it was deleted to make room, or moved")
        return
    yield answer(recording=path.name)
    rest = b""
    try:
        with stream:
            for block in Source(stream):
                *lines, rest = (rest + block).split(b"\n")
                told = [line for line in lines if _arrival(line) <= limit_us]
                yield encode({"lines": b"".join(line + b"\n" for line in told).decode()}) + b"\n"
                if len(told) < len(lines):
                    break
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield refusal("damaged", f"{path.name}: {error}; the journal has its outcomes' own evidence")
    else:
        yield answer(end=True)


def _arrival(line: bytes) -> int:
    arrival = _decode_arrival(line)
    return arrival.t if arrival.arrived is None else arrival.arrived
