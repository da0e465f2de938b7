"""The contents of the journal's rows: outcomes, events, evidence, and the session's state after a row."""

import zlib
from collections.abc import Sequence
from typing import cast

import msgspec

from controller.journal.chain import Draft, WallTime
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Basis, Effect, Judged, Lamp, LateReading, Proposed, Verdict
from controller.model.outcomes import ATTEMPT_KINDS, AttemptKind, Outcome, data_of
from controller.model.readings import AnyReading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

SESSION_STARTED = "session.started"
ATTEMPT_BEGUN = "attempt.begun"
STATE_NOTED = "state.noted"
CHECKPOINT = "journal.checkpoint"
ACCEPTED = "journal.accepted"
PRUNED = "journal.pruned"
KEY_REPLACED = "key.replaced"
HEALED = "journal.healed"
CLOSED = "outbox.closed"
ACK_REFUSED = "outbox.refused"
LATE = "readings.late"
LAMP = "lamp.shows"
PROPOSED = "attempt.proposed"
CLOCK = "clock.noted"
CONTROL = "control.used"
FAULT_BEGAN = "fault.began"
FAULT_OVER = "fault.over"

EVENTS = (
    *(SESSION_STARTED, ATTEMPT_BEGUN, STATE_NOTED, CHECKPOINT, ACCEPTED, PRUNED, HEALED, CLOSED, ACK_REFUSED),
    KEY_REPLACED,
    *(LATE, LAMP, PROPOSED, CLOCK, CONTROL, FAULT_BEGAN, FAULT_OVER, "identity.checked"),
    *("journal.verified", "recording.closed", "self_test.done", "settlement.said"),
    "late.confirmed",
)
"""The names of all events. An event is a row without an outcome."""
SIGNED_EVENTS = frozenset({SESSION_STARTED, CHECKPOINT, ACCEPTED, PRUNED, KEY_REPLACED})
"""The events that are always signed. Any other event is signed only if its row is the last of a commit."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A session's program and setup, recorded in the first row of the session.

    `config` is the SHA-256 of the table's configuration, and `boot` the machine's boot id. `setup` contains
    all inputs of a replay except the readings. `setup.session` is the session's number, which also appears in
    the ids of outcomes.
    """

    session: int
    software: str
    config: str
    boot: str
    setup: Setup


class Recording(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recording that contains a row's raw readings: its name, time span (us), and its file's SHA-256."""

    name: str
    from_us: int
    to_us: int
    sha256: str | None = None


class StateAfterRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The session's state and next numbers after a row."""

    state: State
    first: NextNumbers
    recording: Recording | None = None


class AttemptBegun(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of an attempt, at time `t` (us) on the table's clock."""

    attempt: AttemptKind
    number: int
    t: int


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """A change of state without an outcome, for example because a player sat down or left.

    `changed` names the fields that changed. The row's `after` contains the new state.
    """

    changed: tuple[str, ...]


class AttemptProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of the latest attempt of a kind. The attempt began at time `t` (us)."""

    number: int
    t: int = 0
    review: bool = False
    ended: bool = False


class RecordedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: its code, its location, and what was found there."""

    code: str
    where: str = ""
    found: str = ""


class AckProof(msgspec.Struct, frozen=True, kw_only=True):
    """A signed acknowledgement as received, and the public key (hex) of the engine that signed it."""

    words: str
    key: str


class Ack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settlement engine's acknowledgement of an outcome: the outcome's id, and its row's link in hex.

    `proof` is the signed acknowledgement; None if the engine runs in the table's own process and does not
    sign.
    """

    id: str
    chain: str
    by: str
    proof: AckProof | None = None


class AckRefused(msgspec.Struct, frozen=True, kw_only=True):
    """An acknowledgement that matches no outcome of this journal.

    Only the first few refusals in any ten seconds are written. `count` is the number of refusals since the
    last one written, including this one.
    """

    id: str
    chain: str
    by: str
    code: str
    count: int = 1


class PruningDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to prune the evidence before one row, and the bodies of outcomes before another row."""

    evidence_below: int
    bodies_below: int
    by: str
    who: str | None


class KeyReplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A replacement of the signing key by a named person. The new key signs all later rows.

    The old key signs this row. `proof`, the new key's signature over the old public key, proves
    possession of the new key. If the old key was `lost`, the new key signs this row, and only the statement
    of the named person links the two keys. All keys and signatures are in hex.
    """

    old: str
    new: str
    proof: str
    by: str
    who: str
    reason: str
    lost: bool = False


class AcceptedJournal(msgspec.Struct, frozen=True, kw_only=True):
    """A named person's acceptance of a journal with the fault `code`. The table continues with this journal.

    `seq` and `session` are the highest numbers that might have been used; the table continues after them.
    """

    code: str
    seq: int
    session: int
    by: str
    who: str
    reason: str


class WritingResumed(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a write fault that began at `since` (us since 1970).

    `rows` is the number of rows in the delayed commit.
    """

    code: str
    found: str
    since: int
    rows: int


def canonical(outcome: Outcome) -> bytes:
    """Return an outcome's canonical bytes, which are hashed, signed and published."""
    return _encode(outcome)


def encode(value: object) -> bytes:
    """Encode the body of an event."""
    return _encode(value)


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    t: int
    id: str
    seq: int
    data: msgspec.Raw


def decode_outcome(body: bytes) -> Outcome:
    """Decode an outcome's canonical bytes."""
    envelope = _decode_envelope(body)
    data = data_of(envelope.type, envelope.data)
    return Outcome(type=envelope.type, t=envelope.t, id=envelope.id, seq=envelope.seq, data=data)


_encode = msgspec.json.Encoder().encode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode


ZLIB_LEVEL = 3
"""For a throw's readings, this level takes half the time of level 6; the result is an eighth larger."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A verdict with the readings and the other inputs of its judge.

    The fields up to `objection`, and `sources`, are those of the verdict's `Basis`. `rests_on` contains the
    indexes of the `readings` on which the verdict is based. `throw`, `spin` or `deal` is the verdict itself.
    """

    decided_at_us: int
    called: Reason | None = None
    warnings: int = 0
    learned: dict[str, float] = {}
    late_close: bool = False
    relaunched: bool = False
    late: tuple[AnyReading, ...] = ()
    doubt: str = ""
    objection: Reason | None = None
    throw: ThrowVerdict | None = None
    spin: SpinVerdict | None = None
    deal: DealVerdict | None = None
    rests_on: tuple[int, ...] = ()
    sources: dict[str, tuple[str, ...]] = {}
    readings: tuple[AnyReading, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The original verdict, with the readings on which it is based."""
        bare = self.throw or self.spin or self.deal
        assert bare is not None
        return msgspec.structs.replace(bare, evidence=tuple(self.readings[index] for index in self.rests_on))

    @property
    def basis(self) -> Basis:
        """The judge's inputs other than the readings."""
        return Basis(
            decided_at_us=self.decided_at_us,
            called=self.called,
            warnings=self.warnings,
            sources=self.sources,
            learned=self.learned,
            late_close=self.late_close,
            relaunched=self.relaunched,
            late=self.late,
            doubt=self.doubt,
            objection=self.objection,
        )


_encode_evidence = msgspec.json.Encoder().encode
_decode_evidence = msgspec.json.Decoder(Evidence).decode


def build_evidence(judged: Judged) -> Evidence:
    """Return the evidence of a verdict."""
    basis = judged.basis
    readings = list(judged.readings)
    indexes = {id(reading): index for index, reading in enumerate(readings)}
    rests_on: list[int] = []
    for reading in judged.verdict.evidence:
        if id(reading) not in indexes:
            indexes[id(reading)] = len(readings)
            readings.append(reading)
        rests_on.append(indexes[id(reading)])
    bare = msgspec.structs.replace(judged.verdict, evidence=())
    return Evidence(
        decided_at_us=basis.decided_at_us,
        called=basis.called,
        warnings=basis.warnings,
        learned=dict(basis.learned),
        late_close=basis.late_close,
        relaunched=basis.relaunched,
        late=basis.late,
        doubt=basis.doubt,
        objection=basis.objection,
        throw=bare if isinstance(bare, ThrowVerdict) else None,
        spin=bare if isinstance(bare, SpinVerdict) else None,
        deal=bare if isinstance(bare, DealVerdict) else None,
        rests_on=tuple(rests_on),
        sources=dict(sorted(basis.sources.items())),
        readings=tuple(cast("list[AnyReading]", readings)),
    )


def pack(evidence: Evidence) -> bytes:
    """Encode and compress evidence. On one machine, the same evidence always produces the same bytes."""
    return zlib.compress(_encode_evidence(evidence), ZLIB_LEVEL)


def unpack(packed: bytes) -> Evidence:
    """Decode packed evidence. The caller must check its digest first."""
    return _decode_evidence(zlib.decompress(packed))


class Drafter:
    """Drafts rows, in order, and records the beginning of each attempt only once."""

    def __init__(self, first: NextNumbers) -> None:
        """Start with `first`, the numbers of the next outcome and the next attempts."""
        self._first = first
        self._state = State()

    def begin_session(self, setup: Setup) -> None:
        """Continue with the state and numbers of a new session."""
        self._first, self._state = setup.first, setup.state

    def draft_effects(self, effects: Sequence[Effect], after: StateAfterRow, wall: WallTime) -> list[Draft]:
        """Draft the rows of one reading's effects. The last row contains the state after these effects.

        If the state changes without any effect, a separate row records the change.
        """
        begun = self._new_attempts(after.first)
        drafts: list[Draft] = []
        ended: set[tuple[AttemptKind, int]] = set()
        for index, effect in enumerate(effects):
            match effect:
                case Outcome():
                    evidence = _evidence_in(effects[index + 1 : index + 2])
                    drafts.append(outcome_draft(effect, wall, evidence))
                    ended |= _ended_attempt(effect)
                case Lamp():
                    drafts.append(event_draft(LAMP, effect, wall))
                case Proposed():
                    bare = msgspec.structs.replace(effect.verdict, evidence=())
                    bare_proposal = msgspec.structs.replace(effect, verdict=bare)
                    drafts.append(event_draft(PROPOSED, bare_proposal, wall))
                case _:
                    pass
        t = max((effect.t for effect in effects if isinstance(effect, Outcome | Lamp | Proposed)), default=0)
        drafts += [_attempt_draft(*attempt, t, wall) for attempt in begun if attempt not in ended]
        if not (effects or drafts):
            noted = Noted(changed=changed_fields(self._state, after.state))
            drafts.append(event_draft(STATE_NOTED, noted, wall))
        self._first, self._state = after.first, after.state
        if drafts:
            drafts[-1] = msgspec.structs.replace(drafts[-1], after=encode(after))
        return drafts

    def begin_attempt(self, attempt: AttemptKind, number: int, t: int, wall: WallTime) -> list[Draft]:
        """Draft the row for the beginning of an attempt, unless it is already recorded."""
        first = msgspec.structs.replace(self._first, **{attempt: number + 1})
        begun = self._new_attempts(first)
        if begun:
            self._first = first
        return [_attempt_draft(kind, number, t, wall) for kind, number in begun]

    def _new_attempts(self, first: NextNumbers) -> list[tuple[AttemptKind, int]]:
        """Return the attempts that have begun since the last draft, judging by the session's next numbers."""
        return [
            (kind, getattr(first, kind) - 1)
            for kind in ATTEMPT_KINDS
            if getattr(first, kind) > getattr(self._first, kind)
        ]


def changed_fields(before: State, after: State) -> tuple[str, ...]:
    """Return the names of the fields in which two states differ."""
    return tuple(name for name in State.__struct_fields__ if getattr(before, name) != getattr(after, name))


def outcome_draft(outcome: Outcome, wall: WallTime, evidence: Evidence | None = None) -> Draft:
    """Draft an outcome's row."""
    return Draft(
        name=outcome.type,
        wall=wall,
        seq=outcome.seq,
        body=canonical(outcome),
        evidence=None if evidence is None else pack(evidence),
        signed=True,
    )


def event_draft(name: str, data: object, wall: WallTime) -> Draft:
    """Draft the row of an event that is not an outcome."""
    return Draft(name=name, wall=wall, body=encode(data), signed=name in SIGNED_EVENTS)


def late_draft(late: Sequence[LateReading], wall: WallTime) -> Draft:
    """Draft a row for readings that arrived too late."""
    return event_draft(LATE, late, wall)


def _evidence_in(following: Sequence[Effect]) -> Evidence | None:
    return build_evidence(judged) if following and isinstance(judged := following[0], Judged) else None


def _attempt_draft(kind: AttemptKind, number: int, t: int, wall: WallTime) -> Draft:
    return event_draft(ATTEMPT_BEGUN, AttemptBegun(attempt=kind, number=number, t=t), wall)


def _attempt_of(outcome: Outcome) -> tuple[AttemptKind, int] | None:
    for kind in ATTEMPT_KINDS:
        number = getattr(outcome.data, kind, None)
        if isinstance(number, int):
            return kind, number
    return None


def _ended_attempt(outcome: Outcome) -> set[tuple[AttemptKind, int]]:
    attempt = _attempt_of(outcome)
    return set() if attempt is None or outcome.type.endswith(".review") else {attempt}
