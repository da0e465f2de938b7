"""The message contract: an outcome on the wire is a CloudEvents 1.0 event in JSON, signed by its table.

One journal row gives the same bytes whenever it is sent. What comes back is an answer: an acknowledgement
(the outcome has its effect and that is durable) or the wish to hear outcomes again.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Annotated, Literal, NamedTuple, Protocol
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Meta, UnsetType

from controller.journal.chain import Row, Wall
from controller.publish.players import player_data

CONTENT_TYPE = "application/cloudevents+json"
SCHEMA_VERSION = 1
MAX_ANSWER_BYTES = 4096

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
TimeQuality = Literal["synchronized", "unsynchronized"]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome for the settlement engine and the staff.

    `id` is table/session/number and never used twice; `sequence` is that number with leading zeros, gap-free
    per table. `time` is the wall clock when the journal took it, a label with its quality; `tabletime` is the
    deciding moment in microseconds of the table's monotonic clock. `subject` is the attempt, round or game,
    such as `roll/12`. `chain` is the hash of the outcome's journal row, which an acknowledgement repeats.
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
    signature: Annotated[str, Meta(pattern="^[0-9a-f]{128}$")] | UnsetType = UNSET

    @property
    def seq(self) -> int:
        """Give the outcome's number."""
        return int(self.sequence)

    @property
    def table(self) -> str:
        """Give the table's name."""
        return self.partitionkey


class PlayerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What players may see of an outcome: no readings, no measured times, no covered card, no staff's name.

    Types that are not for players leave gaps in `sequence`; a display drops what is not newer than what it
    shows.
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
    """The settlement engine's word that an outcome has had its effect: sent after its own commit.

    `id` and `chain` are the event's, `by` names the engine.
    """

    id: Name
    chain: Hash
    by: Name


class Again(msgspec.Struct, frozen=True, kw_only=True, tag="again", tag_field="answer"):
    """The settlement engine misses outcomes from this number on: send them all once more, in order."""

    from_seq: Annotated[int, Meta(ge=1)]
    by: Name


Answer = Acknowledgement | Again


class TableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a table stands: retained at the broker, which says `offline` itself when the table is gone.

    `session` counts the starts of the table's controller, so that one that starts over and over shows.
    `headline` is for people, `faults` are the codes of all that hold, `unacknowledged` is how many outcomes
    settlement has not acknowledged, `sequence` and `chain` are the newest outcome's.
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


class Signer(Protocol):
    """The table's private key."""

    def sign(self, link: bytes) -> bytes:
        """Sign 32 bytes; give 64."""


class Verifier(Protocol):
    """A table's public key."""

    def signed(self, link: bytes, signature: bytes) -> bool:
        """Tell whether this signature of 32 bytes is the key's own."""


class Message(NamedTuple):
    """A row as it goes out: the event's bytes, and the players' where they may see something of it."""

    n: int
    seq: int
    id: str
    chain: str
    event: bytes
    players: bytes | None


class _Told(msgspec.Struct, frozen=True, kw_only=True):
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


_PURPOSE = b"table-event\0"
_MEMBER = b',"signature":"%s"}'
_MEMBER_BYTES = len(_MEMBER % (b"0" * 128))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_encode = msgspec.json.Encoder().encode
_read_told = msgspec.json.Decoder(_Told).decode
_read_subject = msgspec.json.Decoder(_Subject).decode
_read_event = msgspec.json.Decoder(Event).decode
_read_answer: Callable[[bytes], Answer] = msgspec.json.Decoder(Answer).decode


def message_of(row: Row, table: str, key: Signer) -> Message:
    """Give an outcome's row as it goes out; ValueError where it is none or its body was dropped."""
    if row.seq is None or row.body is None:
        raise ValueError(f"row {row.n}: found no outcome's body, expected an outcome that is still whole")
    told = _read_told(row.body)
    chain = row.link.hex()
    event = Event(
        id=told.id,
        source=source_of(table),
        type=told.type,
        time=_label(row.wall),
        timequality=_quality(row.wall),
        subject=_subject_of(told.data),
        dataschema=schema_id("outcomes", told.type),
        sequence=f"{told.seq:020d}",
        partitionkey=table,
        session=told.id.split("/")[-2],
        tabletime=str(told.t),
        chain=chain,
        data=told.data,
    )
    unsigned = _encode(event)
    signature = key.sign(_digest(unsigned)).hex().encode()
    signed = unsigned[:-1] + _MEMBER % signature
    return Message(row.n, told.seq, told.id, chain, signed, _player_event(event))


def read_event(payload: bytes) -> Event:
    """Read an event; msgspec.ValidationError or DecodeError where it is none."""
    return _read_event(payload)


def signed_by(payload: bytes, key: Verifier) -> bool:
    """Tell whether these bytes are an event that this table's key signed.

    The signature covers the event without its last member, which is always `signature`.
    """
    unsigned, member = payload[:-_MEMBER_BYTES] + b"}", payload[-_MEMBER_BYTES:]
    signature = member.removeprefix(b',"signature":"').removesuffix(b'"}')
    if member != _MEMBER % signature:
        return False
    try:
        raw = bytes.fromhex(signature.decode("ascii"))
    except ValueError:
        return False
    return key.signed(_digest(unsigned), raw)


def read_answer(payload: bytes) -> Answer:
    """Read an answer; msgspec.ValidationError or DecodeError where it is none."""
    return _read_answer(payload)


def answer_bytes(answer: Answer) -> bytes:
    """Give an answer's bytes."""
    return _encode(answer)


def source_of(table: str) -> str:
    """Give the URI reference that names a table as a source of events."""
    return f"/tables/{quote(table, safe='')}"


def schema_id(family: Literal["outcomes", "players", "messages"], name: str) -> str:
    """Give the name under which a message's JSON Schema is known."""
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


def _digest(unsigned: bytes) -> bytes:
    return sha256(_PURPOSE + unsigned).digest()


def _label(wall: Wall) -> str:
    return (_EPOCH + timedelta(microseconds=wall.us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _quality(wall: Wall) -> TimeQuality:
    return "synchronized" if wall.synced else "unsynchronized"


def _subject_of(data: msgspec.Raw) -> str:
    subject = _read_subject(data)
    for word in ("roll", "spin", "deal", "round", "game"):
        number = getattr(subject, word)
        if number is not None:
            return f"{word}/{number}"
    return "table"
