"""The messages between a table and the settlement engine.

The table sends each outcome as a CloudEvents 1.0 event in JSON, signed with its key. The bytes are the same
each time an outcome is sent. The engine sends answers: acknowledgements, requests to send outcomes again,
queries, and reports on its progress and on bets.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import zip_longest
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Meta, UnsetType

from controller.journal.chain import Row, WallTime
from controller.journal.keys import PublicKey
from controller.publish.betting import Digest, Nonce
from controller.publish.players import player_data
from controller.publish.wire import (
    ANSWER,
    EVENT,
    MAX_EVENT_BYTES,
    MAX_STATUS_BYTES,
    Signature,
    Signer,
    Verifier,
    bounded,
    is_signed,
    sign_message,
)

CONTENT_TYPE = "application/cloudevents+json"
SCHEMA_VERSION = 1
MAX_ANSWER_BYTES = 4096
MAX_EARLIER = 12
"""Maximum number of earlier key rotations in an engine's report, 220 bytes each. A table that trusts none of
these keys accepts the newest key only if the table's file names it."""

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0)]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
TimeQuality = Literal["synchronized", "unsynchronized"]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome for the settlement engine and the staff.

    `id` is table/session/number, and is unique. `sequence` is the outcome's number with leading zeros; a
    table's numbers have no gaps. `time` is the wall time at which the journal recorded the outcome, for
    information only. `timequality` is the state of the wall clock at that time. `tabletime` is the time of
    the decision, in microseconds of the table's monotonic clock. `subject` is the attempt, round or game,
    such as `roll/12`. `chain` is the hash of the outcome's journal row; acknowledgements repeat it.
    """

    specversion: Literal["1.0"] = "1.0"
    id: Name
    source: Name
    type: str
    time: str
    timequality: TimeQuality
    subject: str
    datacontenttype: Literal["application/json"] = "application/json"
    dataschema: str
    sequence: Annotated[str, Meta(pattern="^[0-9]{20}$")]
    partitionkey: Name
    session: str
    tabletime: Annotated[str, Meta(pattern="^-?[0-9]+$")]
    chain: Hash
    data: msgspec.Raw
    signature: Signature | UnsetType = UNSET

    @property
    def seq(self) -> int:
        """The outcome's number."""
        return int(self.sequence)

    @property
    def table(self) -> str:
        """The table's name."""
        return self.partitionkey


class PlayerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome for players, without readings, measured times, face-down cards or staff names.

    `sequence` has gaps, because some types of outcome are not for players. A display must ignore an event
    that is not newer than the event shown.
    """

    specversion: Literal["1.0"] = "1.0"
    id: Name
    source: Name
    type: str
    time: str
    timequality: TimeQuality
    subject: str
    datacontenttype: Literal["application/json"] = "application/json"
    dataschema: str
    sequence: Annotated[str, Meta(pattern="^[0-9]{20}$")]
    partitionkey: Name
    data: msgspec.Raw


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True, tag="acknowledged", tag_field="answer"):
    """The settlement engine's acknowledgement of an outcome.

    The engine sends it after committing the outcome's effect. `id` and `chain` are those of the event. `by`
    is the engine's name.
    """

    id: Name
    chain: Hash
    by: Name
    signature: Signature | UnsetType = UNSET


class ResendRequest(msgspec.Struct, frozen=True, kw_only=True, tag="again", tag_field="answer"):
    """The settlement engine's request to resend all outcomes from number `from_seq` onwards, in order.

    `table` is the table addressed. `told` is the number of the newest outcome that the engine has received
    from the table. If `told` is lower than the newest acknowledged outcome, the request is an old copy.
    """

    table: Name | None = None
    """None in a request from release 0.1.0, which does not sign messages."""
    told: Count = 0
    from_seq: Annotated[int, Meta(ge=1)]
    by: Name
    signature: Signature | UnsetType = UNSET


class OpenQuery(msgspec.Struct, frozen=True, kw_only=True, tag="ask", tag_field="answer"):
    """A query about whether bets are open, sent for a bet that has arrived.

    `nonce` is used only once. A statement that repeats it covers the bet.
    """

    nonce: Nonce
    by: Name
    signature: Signature | UnsetType = UNSET


class LateWagersQuery(msgspec.Struct, frozen=True, kw_only=True, tag="ask_late", tag_field="answer"):
    """A query about whether a craps wager made with the dice out is confirmed in time (C34-MK-1b).

    The dealer and the boxperson confirm the wager by its id, `wager`; `says` describes the wager to them.
    `nonce` is as in `ask`, `round` is the round of bets that the release of the dice closed, and `digest` is
    the SHA-256 of the whole request.
    """

    table: Name
    round: int
    nonce: Nonce
    wager: Name
    digest: Digest
    says: Annotated[str, Meta(max_length=200)]
    by: Name
    signature: Signature | UnsetType = UNSET


class PlayQuery(msgspec.Struct, frozen=True, kw_only=True, tag="ask_play", tag_field="answer"):
    """A query about whether the table accepts Play at the positions `seats` (T-DEAL-4).

    `nonce` is as in `ask`, and `round` is the round of bets that the first card closed. Before the table
    answers, it enters the query as the input `play_asked`. After this input no player can fold at `seats`.
    """

    table: Name
    round: int
    nonce: Nonce
    seats: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=50)]
    by: Name
    signature: Signature | UnsetType = UNSET


class Endorsement(msgspec.Struct, frozen=True, kw_only=True):
    """A rotation of a settlement engine's key: `endorsed` is the previous key's signature over `key`."""

    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    endorsed: Signature


class ProgressReport(msgspec.Struct, frozen=True, kw_only=True, tag="meeting", tag_field="answer"):
    """A settlement engine's report to a table: the engine's progress with the table's outcomes, and its key.

    The engine sends it when the table connects or closes, and at intervals. Only the table named in `table`
    accepts it. `sequence` and `chain` are those of the newest settled outcome; `chain` is null if there is
    none. `key` is the engine's public key in hexadecimal digits, and `endorsed` is the previous key's
    signature over it. `earlier` lists the earlier rotations, newest first, for a table that was switched off
    when the keys were replaced. `told` is the number of the newest outcome known to the engine, settled or
    not. A table ignores a report whose `told` is lower than the newest acknowledged outcome, because such a
    report is an old copy.
    """

    table: Name
    told: Count = 0
    sequence: Annotated[int, Meta(ge=0)]
    chain: Hash | None
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    endorsed: Signature | None = None
    earlier: Annotated[tuple[Endorsement, ...], Meta(max_length=MAX_EARLIER)] = ()
    by: Name
    signature: Signature | UnsetType = UNSET


class LineBet(msgspec.Struct, frozen=True, kw_only=True, tag="line_bet", tag_field="answer"):
    """A report of whether the shooter at this seat has the Pass or Don't Pass bet that the rules now require.

    The table enters the report as the input `line_bet` (C34-DICE-4, CV1-SHOOT-1). Play does not wait for it.

    `session` is the session in the table's status. `sequence` is the number of the newest settled outcome,
    and `step` is the wager book's step, both at the time of the report. The table ignores older reports.
    """

    table: Name
    session: Count
    sequence: Count
    step: Count
    seat: Name
    has: bool
    by: Name
    signature: Signature | UnsetType = UNSET


class PairPlus(msgspec.Struct, frozen=True, kw_only=True, tag="pair_plus", tag_field="answer"):
    """A report of the positions with an Ante but no Pair Plus, from left to right.

    The table enters the report as the input `pair_plus` (T-DEAL-2b). Play does not wait for it. `session`,
    `sequence` and `step` are as in `line_bet`.
    """

    table: Name
    session: Count
    sequence: Count
    step: Count
    without: tuple[Name, ...]
    by: Name
    signature: Signature | UnsetType = UNSET


class PlayPlaced(msgspec.Struct, frozen=True, kw_only=True, tag="played", tag_field="answer"):
    """A report of the positions with a Play wager in this round of bets, from left to right.

    These positions can't fold. The table enters the report as the input `played` (T-DEAL-4). Without the
    report, a dealer's fold after a request for Play is refused for 10 s, and then accepted. `session`,
    `sequence` and `step` are as in `line_bet`.
    """

    table: Name
    session: Count
    sequence: Count
    step: Count
    round: int
    seats: tuple[Name, ...]
    by: Name
    signature: Signature | UnsetType = UNSET


Answer = (
    Acknowledgement
    | ResendRequest
    | OpenQuery
    | LateWagersQuery
    | PlayQuery
    | ProgressReport
    | LineBet
    | PairPlus
    | PlayPlaced
)


class TableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A table's status, retained by the broker.

    The broker publishes `offline` if the table's connection is lost. `session` counts the starts of the
    table's controller. `headline` is text for people to read, and `faults` lists the codes of all active
    faults. `unacknowledged` is the number of outcomes from the oldest unacknowledged one to the newest.
    `sequence` and `chain` are those of the newest outcome.
    """

    table: Name
    state: Literal["online", "offline"]
    lock: Literal["unlocked", "locked", "unknown"] = "unknown"
    headline: str = ""
    faults: tuple[str, ...] = ()
    session: int | None = None
    software: str | None = None
    unacknowledged: int | None = None
    sequence: int | None = None
    chain: Hash | None = None
    says_open: bool = False
    """Whether this table publishes the statement that bets are open. Release 0.1.0 does not."""


class Message(NamedTuple):
    """The message for a journal row: the event, and its version for players (None if there is none)."""

    n: int
    seq: int
    id: str
    chain: str
    event: bytes
    players: bytes | None


class _OutcomeMessage(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    t: int
    id: str
    seq: int
    data: msgspec.Raw


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    roll: int | None = None
    spin: int | None = None
    deal: int | None = None
    round: int | None = None
    game: int | None = None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_encode = msgspec.json.Encoder().encode
_read_outcome = msgspec.json.Decoder(_OutcomeMessage).decode
_read_subject = msgspec.json.Decoder(_Subject).decode
_read_event = msgspec.json.Decoder(Event).decode
_read_status = msgspec.json.Decoder(TableStatus).decode
_read_answer: Callable[[bytes], Answer] = msgspec.json.Decoder(Answer).decode


def build_message(row: Row, table: str, key: Signer) -> Message:
    """Return the message for a row's outcome.

    Raises ValueError if the row has no outcome or its body was pruned.
    """
    if row.seq is None or row.body is None:
        raise ValueError(f"row {row.n} has no outcome, or its outcome was pruned")
    outcome = _read_outcome(row.body)
    chain = row.link.hex()
    event = Event(
        id=outcome.id,
        source=source_of(table),
        type=outcome.type,
        time=_label(row.wall),
        timequality=_quality(row.wall),
        subject=_subject_of(outcome.data),
        dataschema=schema_id("outcomes", outcome.type),
        sequence=f"{outcome.seq:020d}",
        partitionkey=table,
        session=outcome.id.split("/")[-2],
        tabletime=str(outcome.t),
        chain=chain,
        data=outcome.data,
    )
    signed = sign_message(_encode(event), EVENT, key)
    return Message(row.n, outcome.seq, outcome.id, chain, signed, _player_event(event))


def read_event(payload: bytes) -> Event:
    """Decode an event. Raises UnreadableMessage if the bytes are not an event."""
    return bounded(_read_event, payload, MAX_EVENT_BYTES)


def signed_by(payload: bytes, key: Verifier) -> bool:
    """Return whether these bytes are an event signed by this key.

    The signature covers the event without its last member, which is always `signature`.
    """
    return is_signed(payload, EVENT, key)


def read_answer(payload: bytes) -> Answer:
    """Decode an answer. Raises UnreadableMessage if the bytes are not an answer."""
    return bounded(_read_answer, payload, MAX_ANSWER_BYTES)


def read_status(payload: bytes) -> TableStatus:
    """Decode a table's status. Raises UnreadableMessage if the bytes are not a status."""
    return bounded(_read_status, payload, MAX_STATUS_BYTES)


def answer_bytes(answer: Answer, key: Signer) -> bytes:
    """Encode an answer and sign it with the settlement engine's key."""
    return sign_message(_encode(answer), ANSWER, key)


def answer_signed_by(payload: bytes, key: Verifier) -> bool:
    """Return whether these bytes are an answer signed by this key."""
    return is_signed(payload, ANSWER, key)


def endorse(public: str, previous: Signer) -> str:
    """Sign a new public key with the previous key; both the key and the signature are in hex."""
    return previous.sign(_endorsement(public)).hex()


def endorsed(meeting: ProgressReport, previous: Verifier) -> bool:
    """Return whether this key endorsed the reported key, directly or through intermediate keys."""
    if meeting.endorsed is None:
        return False
    newest = Endorsement(key=meeting.key, endorsed=meeting.endorsed)
    for step, following in zip_longest((newest, *meeting.earlier), meeting.earlier):
        if is_endorsed(step.key, step.endorsed, previous):
            return True
        if following is None:
            return False
        if not is_endorsed(step.key, step.endorsed, PublicKey(bytes.fromhex(following.key))):
            return False
    return False


def is_endorsed(public: str, signature: str, previous: Verifier) -> bool:
    """Return whether the previous key made this signature over a new public key; both are in hex."""
    return previous.verify(_endorsement(public), bytes.fromhex(signature))


def _endorsement(public: str) -> bytes:
    return sha256(b"settlement-key\0" + bytes.fromhex(public)).digest()


def source_of(table: str) -> str:
    """Return the URI reference that names a table as a source of events."""
    return f"/tables/{quote(table, safe='')}"


def schema_id(family: Literal["outcomes", "players", "messages"], name: str) -> str:
    """Return the URN of a message's JSON Schema."""
    return f"urn:table-controller:{family}:{name}:{SCHEMA_VERSION}"


def _player_event(event: Event) -> bytes | None:
    data = player_data(event.type, event.data)
    if data is None:
        return None
    return _encode(
        PlayerEvent(
            id=event.id,
            source=event.source,
            type=event.type,
            time=event.time,
            timequality=event.timequality,
            subject=event.subject,
            dataschema=schema_id("players", event.type),
            sequence=event.sequence,
            partitionkey=event.partitionkey,
            data=msgspec.Raw(data),
        )
    )


def _label(wall: WallTime) -> str:
    return (_EPOCH + timedelta(microseconds=wall.us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _quality(wall: WallTime) -> TimeQuality:
    return "synchronized" if wall.synced else "unsynchronized"


def _subject_of(data: msgspec.Raw) -> str:
    subject = _read_subject(data)
    for word in ("roll", "spin", "deal", "round", "game"):
        number = getattr(subject, word)
        if number is not None:
            return f"{word}/{number}"
    return "table"
