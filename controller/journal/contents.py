"""What rows contain, and how they are drafted: outcomes, events, and the state after each."""

import zlib
from collections.abc import Sequence
from typing import cast

import msgspec

from controller.journal.chain import Draft, WallTime
from controller.machines.setup import First, Setup, State
from controller.model.effects import Basis, Effect, Judged, Lamp, Late, Proposed, Verdict
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
"""The name of every row that is not an outcome."""
LANDMARKS = frozenset({SESSION_STARTED, CHECKPOINT, ACCEPTED, PRUNED, KEY_REPLACED})
"""Events that are signed like outcomes, wherever they are in a commit."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who plays from here on: written as the first row of every session.

    `setup` is all that a replay needs; `config` the SHA-256 of the table's configuration, `boot` the
    machine's boot id. `setup.session` is the session's number, as in outcomes' ids.
    """

    session: int
    software: str
    config: str
    boot: str
    setup: Setup


class Recording(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the raw readings behind a row are: the recording's name, its span, and the hash of its file."""

    name: str
    from_us: int
    to_us: int
    sha256: str | None = None


class After(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What held after a row was written: the session's state and next numbers."""

    state: State
    first: First
    recording: Recording | None = None


class SessionStart(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt began: `number` is its number, `t` the table's time in microseconds."""

    attempt: AttemptKind
    number: int
    t: int


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """The state changed without an outcome: a card for the button, a player who sat down or left, the end of
    the hours.

    `changed` names the parts of the state; the row's `after` contains them.
    """

    changed: tuple[str, ...]


class AttemptProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the last attempt of a kind has come."""

    number: int
    t: int = 0
    review: bool = False
    ended: bool = False


class StandingFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that began and is not over: its code, its place, and what was found there."""

    code: str
    where: str = ""
    found: str = ""


class AckProof(msgspec.Struct, frozen=True, kw_only=True):
    """A signed acknowledgement as it came, and the public key in hex of the engine that signed it."""

    words: str
    key: str


class Ack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settlement engine's acknowledgement of an outcome: its id and its row's link in hex.

    `proof` is kept if it was signed; an engine in the table's own process signs nothing.
    """

    id: str
    chain: str
    by: str
    proof: AckProof | None = None


class AckRefused(msgspec.Struct, frozen=True, kw_only=True):
    """An acknowledgement that fits no outcome of this journal.

    `count` are those since the row before: if many come, only the first in each ten seconds get a row.
    """

    id: str
    chain: str
    by: str
    code: str
    count: int = 1


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """From here on evidence below one row and outcomes' bodies below another may be gone."""

    evidence_below: int
    bodies_below: int
    by: str
    who: str | None


class KeyReplaced(msgspec.Struct, frozen=True, kw_only=True):
    """From the next row on another key signs: both public keys in hex, and who replaced it and why.

    The row is signed with the old key; `proof` is the new key's signature (hex) of the old key, which shows
    that whoever replaced it has the new one. If the old key was `lost`, the new one signs the row, and only
    the named person's statement joins the two.
    """

    old: str
    new: str
    proof: str
    by: str
    who: str
    reason: str
    lost: bool = False


class AcceptedJournal(msgspec.Struct, frozen=True, kw_only=True):
    """A named person let the table continue with a journal that differs from what the head file remembers.

    `seq` and `session` are the last ones that may have been used; later ones can't collide with them.
    """

    code: str
    seq: int
    session: int
    by: str
    who: str
    reason: str


class RepairedJournal(msgspec.Struct, frozen=True, kw_only=True):
    """Writing works again after this fault; `rows` waited for it."""

    code: str
    found: str
    since: int
    rows: int


def canonical(outcome: Outcome) -> bytes:
    """Return an outcome's canonical bytes: exactly what is published, signed and hashed."""
    return _encode(outcome)


def encode(value: object) -> bytes:
    """Return an event's bytes."""
    return _encode(value)


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    t: int
    id: str
    seq: int
    data: msgspec.Raw


def outcome_of(body: bytes) -> Outcome:
    """Read an outcome's canonical bytes."""
    envelope = _decode_envelope(body)
    data = data_of(envelope.type, envelope.data)
    return Outcome(type=envelope.type, t=envelope.t, id=envelope.id, seq=envelope.seq, data=data)


_encode = msgspec.json.Encoder().encode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode


LEVEL = 3
"""Level of zlib: on a throw's readings it takes half the time of level 6, for an eighth more bytes."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the judge had in addition to the readings, and its verdict.

    The keys up to `objection` and `sources` are those of the verdict's `Basis`. `rests_on` are the positions
    among `readings` of those that the verdict rests on.
    """

    decided_at_us: int
    called: Reason | None = None
    warnings: int = 0
    learned: dict[str, float] = {}
    late_close: bool = False
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
        """Return the verdict as it was, with the readings it rests on."""
        bare = self.throw or self.spin or self.deal
        assert bare is not None
        return msgspec.structs.replace(bare, evidence=tuple(self.readings[place] for place in self.rests_on))

    @property
    def basis(self) -> Basis:
        """Return what the judge had in addition to the readings, as it was."""
        return Basis(
            decided_at_us=self.decided_at_us,
            called=self.called,
            warnings=self.warnings,
            sources=self.sources,
            learned=self.learned,
            late_close=self.late_close,
            late=self.late,
            doubt=self.doubt,
            objection=self.objection,
        )


_encode_evidence = msgspec.json.Encoder().encode
_decode_evidence = msgspec.json.Decoder(Evidence).decode


def evidence_of(judged: Judged) -> Evidence:
    """Make the evidence of a verdict just given."""
    basis = judged.basis
    readings = list(judged.readings)
    places = {id(reading): place for place, reading in enumerate(readings)}
    rests_on: list[int] = []
    for reading in judged.verdict.evidence:
        if id(reading) not in places:
            places[id(reading)] = len(readings)
            readings.append(reading)
        rests_on.append(places[id(reading)])
    bare = msgspec.structs.replace(judged.verdict, evidence=())
    return Evidence(
        decided_at_us=basis.decided_at_us,
        called=basis.called,
        warnings=basis.warnings,
        learned=dict(basis.learned),
        late_close=basis.late_close,
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
    """Compress evidence; the same evidence gives the same bytes on one machine."""
    return zlib.compress(_encode_evidence(evidence), LEVEL)


def unpack(packed: bytes) -> Evidence:
    """Read packed evidence whose digest has been checked."""
    return _decode_evidence(zlib.decompress(packed))


class Drafter:
    """Drafts rows in order, and remembers which attempts are noted to have begun."""

    def __init__(self, first: First) -> None:
        """Continue from these numbers."""
        self._first = first
        self._state = State()

    def session(self, setup: Setup) -> None:
        """Begin a session."""
        self._first, self._state = setup.first, setup.state

    def effects(self, effects: Sequence[Effect], after: After, wall: WallTime) -> list[Draft]:
        """Draft the rows of one reading's effects; the last one contains the state afterwards.

        Without any effect the state has changed nevertheless: a row of its own records it.
        """
        begun = self._begun(after.first)
        drafts: list[Draft] = []
        ended: set[tuple[AttemptKind, int]] = set()
        for place, effect in enumerate(effects):
            match effect:
                case Outcome():
                    drafts.append(outcome_draft(effect, wall, _proof(effects[place + 1 : place + 2])))
                    ended |= _ends(effect)
                case Lamp():
                    drafts.append(event_draft(LAMP, effect, wall))
                case Proposed():
                    bare = msgspec.structs.replace(effect.verdict, evidence=())
                    told = msgspec.structs.replace(effect, verdict=bare)
                    drafts.append(event_draft(PROPOSED, told, wall))
                case _:
                    pass
        t = max((effect.t for effect in effects if isinstance(effect, Outcome | Lamp | Proposed)), default=0)
        drafts += [_begin(word, number, t, wall) for word, number in begun if (word, number) not in ended]
        if not (effects or drafts):
            noted = Noted(changed=differing(self._state, after.state))
            drafts.append(event_draft(STATE_NOTED, noted, wall))
        self._first, self._state = after.first, after.state
        if drafts:
            drafts[-1] = msgspec.structs.replace(drafts[-1], after=encode(after))
        return drafts

    def begins(self, attempt: AttemptKind, number: int, t: int, wall: WallTime) -> list[Draft]:
        """Note that this attempt began, unless that is noted already."""
        first = msgspec.structs.replace(self._first, **{attempt: number + 1})
        begun = self._begun(first)
        if begun:
            self._first = first
        return [_begin(word, number, t, wall) for word, number in begun]

    def _begun(self, first: First) -> list[tuple[AttemptKind, int]]:
        """Return the attempts that the session's numbers show to have begun since the last ones."""
        return [
            (word, getattr(first, word) - 1)
            for word in ATTEMPT_KINDS
            if getattr(first, word) > getattr(self._first, word)
        ]


def differing(before: State, after: State) -> tuple[str, ...]:
    """Return the names of the parts in which two states differ."""
    return tuple(name for name in State.__struct_fields__ if getattr(before, name) != getattr(after, name))


def outcome_draft(outcome: Outcome, wall: WallTime, proof: Evidence | None = None) -> Draft:
    """Draft an outcome's row: its bytes exactly as they will be published."""
    return Draft(
        name=outcome.type,
        wall=wall,
        seq=outcome.seq,
        body=canonical(outcome),
        evidence=None if proof is None else pack(proof),
        signed=True,
    )


def event_draft(name: str, data: object, wall: WallTime) -> Draft:
    """Draft the row of an event that is not an outcome."""
    return Draft(name=name, wall=wall, body=encode(data), signed=name in LANDMARKS)


def late_draft(late: Sequence[Late], wall: WallTime) -> Draft:
    """Draft one row for readings that came too late to count."""
    return event_draft(LATE, late, wall)


def _proof(following: Sequence[Effect]) -> Evidence | None:
    return evidence_of(judged) if following and isinstance(judged := following[0], Judged) else None


def _begin(word: AttemptKind, number: int, t: int, wall: WallTime) -> Draft:
    return event_draft(ATTEMPT_BEGUN, SessionStart(attempt=word, number=number, t=t), wall)


def _attempt_of(outcome: Outcome) -> tuple[AttemptKind, int] | None:
    for word in ATTEMPT_KINDS:
        number = getattr(outcome.data, word, None)
        if isinstance(number, int):
            return word, number
    return None


def _ends(outcome: Outcome) -> set[tuple[AttemptKind, int]]:
    attempt = _attempt_of(outcome)
    return set() if attempt is None or outcome.type.endswith(".review") else {attempt}
