"""What the journal's rows add up to: from where a session that starts now continues."""

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import (
    ACCEPTED,
    ATTEMPT_BEGUN,
    CHECKPOINT,
    CLOSED,
    FAULT_BEGAN,
    FAULT_OVER,
    SESSION_STARTED,
    AcceptedJournal,
    Ack,
    After,
    AttemptProgress,
    Identity,
    SessionStart,
    StandingFault,
    encode,
)
from controller.journal.outbox import Ranges, with_number, without
from controller.machines.setup import First, State
from controller.model.outcomes import WORDS, Word

_IDENTITY = msgspec.json.Decoder(Identity)
_BEGUN = msgspec.json.Decoder(SessionStart)
_ACCEPTED = msgspec.json.Decoder(AcceptedJournal)
_AFTER = msgspec.json.Decoder(After)
_ACK = msgspec.json.Decoder(Ack)
_FAULT = msgspec.json.Decoder(StandingFault)


class Memory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The sum of the rows so far; a checkpoint row holds it, so that a start need not read further back."""

    session: int = 0
    """The last session's number."""
    session_row: int = 0
    """The row that holds its identity; 0 before the first."""
    seq: int = 0
    """The last outcome's number."""
    state: State = State()
    first: First = First()
    attempts: dict[Word, AttemptProgress] = {}
    waiting: Ranges = ()
    """The numbers of the outcomes that settlement has not acknowledged."""
    faults: dict[str, StandingFault] = {}
    """By code and place the faults that began and are not over, in whichever session."""
    layout: int = 1
    """The layout that the writer of these rows keeps: the file's own header is signed by nobody."""

    def take(self, row: Row) -> None:
        """Add the next row."""
        if row.seq is not None:
            self.seq = row.seq
            self.waiting = with_number(self.waiting, row.seq)
        body = row.body
        if body is not None and row.name == SESSION_STARTED:
            identity = _IDENTITY.decode(body)
            self.session, self.session_row = identity.session, row.n
            self.state, self.first = identity.setup.state, identity.setup.first
        elif body is not None and row.name == ATTEMPT_BEGUN:
            begun = _BEGUN.decode(body)
            self.attempts = {**self.attempts, begun.attempt: AttemptProgress(number=begun.number, t=begun.t)}
        elif body is not None and row.name == ACCEPTED:
            accepted = _ACCEPTED.decode(body)
            self.seq = max(self.seq, accepted.seq)
            self.session = max(self.session, accepted.session)
        elif body is not None and row.name == CLOSED:
            self.waiting = without(self.waiting, number_in(_ACK.decode(body).id))
        elif body is not None and row.name in (FAULT_BEGAN, FAULT_OVER):
            self._take_fault(_FAULT.decode(body), began=row.name == FAULT_BEGAN)
        elif row.name != CHECKPOINT:
            self._end_attempt(row.name)
        if row.after is not None:
            after = _AFTER.decode(row.after)
            self.state, self.first = after.state, after.first

    def _take_fault(self, fault: StandingFault, *, began: bool) -> None:
        place = f"{fault.code} {fault.where}"
        others = {key: other for key, other in self.faults.items() if key != place}
        self.faults = {**others, place: fault} if began else others

    def _end_attempt(self, name: str) -> None:
        if name == "roll.declined":
            return  # a roll that a player left out ends no other
        for word in WORDS:
            standing = self.attempts.get(word)
            if standing is None or not name.startswith(f"{word}."):
                continue
            if name == f"{word}.review":
                standing = msgspec.structs.replace(standing, review=True)
            else:
                standing = msgspec.structs.replace(standing, ended=True)
            self.attempts = {**self.attempts, word: standing}


def number_in(told_id: str) -> int:
    """Return an outcome's number, the last part of its id (table/session/number)."""
    return int(told_id.rpartition("/")[2])


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a checkpoint row: what the rows before it add up to, and whether it is the orderly end."""

    memory: Memory
    closed: bool = False


def checkpoint_body(memory: Memory, *, closed: bool) -> bytes:
    """Return a checkpoint's bytes."""
    return encode(Checkpoint(memory=memory, closed=closed))


def checkpoint_of(body: bytes) -> Checkpoint:
    """Read a checkpoint's bytes."""
    return _CHECKPOINT.decode(body)


_CHECKPOINT = msgspec.json.Decoder(Checkpoint)
