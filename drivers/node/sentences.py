"""Sentences of the node link, one readable ASCII line each, sealed by a CRC-16; and the link's times."""

import re
from binascii import crc_hqx
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from drivers.health import Change

HELLO_EVERY_US = 250_000
HELLO_WITHIN_US = 1_800_000
SYNC_WITHIN_US = 1_500_000
SILENT_US = 1_500_000
"""A node beats at least every 500 ms; after three missed beats it counts as silent."""
PING_EVERY_US = 984_000
"""Not a multiple of a second, so that pings do not synchronise with anything else."""
PING_AGAIN_US = 100_000
DEAF_US = 1_900_000
"""From the last answer: a ping and nine retries went unanswered, so a node that still sends does not
receive us.
"""
FIRST_PING_US = 20_000
FIRST_PINGS = 8
MAX_AGE_US = 2_000_000
AHEAD_US = 2_000
SLOW_US = 12_000.0
"""A ping and its answer take 10 ms at 115,200 baud; an adapter that buffers before it sends takes longer."""
ASK_AGAIN_US = 15_000
GIVE_UP_US = 60_000
"""Half the watermark that verdicts wait for: a reading repeated by then still counts."""

ANNOUNCE_US = 1_000_000
BEAT_US = 500_000
TRAIL_US = 20_000
"""A beat follows the last reading this soon, so that the loss of that reading is noticed soon."""


MAX_SENTENCE = 512
"""Bytes of a sentence at most, its line end included."""
NO_SESSION = "0000"
CLOCK_US = 1 << 32
"""The node clock counts microseconds and starts again here."""
MAX_SEQ = (1 << 32) - 1


class Speaker(StrEnum):
    """Who speaks: a node, or the table. It is the sentence's first character."""

    NODE = "$"
    TABLE = ">"


class Flaw(StrEnum):
    """Why a line is no sentence."""

    HALF = "half"
    BAD_CRC = "bad_crc"
    BAD_FORM = "bad_form"


class FlawError(ValueError):
    """A line that is no sentence, and why."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.value)
        self.flaw = flaw


class Sentence(NamedTuple):
    """What one line says. `fields` are texts; what they mean depends on the verb."""

    speaker: Speaker
    node: str
    session: str
    seq: int
    clock_us: int
    verb: str
    fields: Mapping[str, str] = {}


class ReceivedSentence(NamedTuple):
    """A sentence as it came: with the bytes its seal covers and the seal, empty if there is none."""

    sentence: Sentence
    body: bytes
    seal: bytes


NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,15}")
_WORD = r"[a-z][a-z0-9_]{0,31}"
_VERB = re.compile(_WORD)
_NUMBER = r"0|[1-9][0-9]{0,9}"
_VALUE = r"[!-#&-)+-<?-}]|%[2-7][0-9A-F]|%[89A-F][0-9A-F]"
_FORM = re.compile(
    (
        rf"([$>])({NODE_NAME.pattern}) ([0-9A-F]{{4}}) ({_NUMBER}) ({_NUMBER}) ({_WORD})"
        rf"((?: {_WORD}=(?:{_VALUE})*)*)(?: ~([0-9A-F]{{16}}))?"
    ).encode()
)
_SESSION = re.compile(r"[0-9A-F]{4}")
_ESCAPED = re.compile(rb"%([0-9A-F]{2})")
_UNSAFE = re.compile(rb"[^!-#&-)+-<?-}]")
_CRC_WIDTH = 5
_SPEAKERS = {b"$": Speaker.NODE, b">": Speaker.TABLE}


def crc_of(body: bytes) -> bytes:
    """Return the four digits that follow `*`: CRC-16/IBM-3740, polynomial 0x1021, start 0xFFFF."""
    return b"%04X" % crc_hqx(body, 0xFFFF)


def encode(sentence: Sentence) -> bytes:
    """Return a sentence's body: from its first character up to the seal or the `*`.

    Raises ValueError if the sentence can't be encoded: a name, number or text outside the format.
    """
    if not NODE_NAME.fullmatch(sentence.node):
        raise ValueError(f"{sentence.node!r} is not a node name: 1 to 16 letters, digits, _ or -")
    if not _VERB.fullmatch(sentence.verb) or not all(map(_VERB.fullmatch, sentence.fields)):
        raise ValueError(
            f"{sentence.verb!r} {list(sentence.fields)}: verbs and fields must be lower case words"
        )
    if not _SESSION.fullmatch(sentence.session):
        raise ValueError(f"{sentence.session!r} is not a session: four digits 0-9 A-F")
    if not 0 <= sentence.seq <= MAX_SEQ or not 0 <= sentence.clock_us < CLOCK_US:
        raise ValueError(f"{sentence.seq} or {sentence.clock_us} does not fit 32 bits")
    head = (
        f"{sentence.speaker}{sentence.node} {sentence.session} {sentence.seq} {sentence.clock_us} "
        f"{sentence.verb}"
    )
    return head.encode() + b"".join(
        b" %b=%b" % (name.encode(), _escaped(value)) for name, value in sentence.fields.items()
    )


def finish(body: bytes, seal: bytes = b"") -> bytes:
    """Make the line of a body and its seal; raises ValueError if it is longer than a sentence may be."""
    if seal:
        body += b" ~" + seal
    line = b"%b*%b\n" % (body, crc_of(body))
    if len(line) > MAX_SENTENCE:
        raise ValueError(f"a sentence of {len(line)} bytes, at most {MAX_SENTENCE} are allowed")
    return line


def decode(line: bytes) -> ReceivedSentence:
    """Read one line, without its line end and with nothing before its first character.

    Raises FlawError for whatever is not exactly a sentence.
    """
    if line[-_CRC_WIDTH : 1 - _CRC_WIDTH] != b"*":
        raise FlawError(Flaw.HALF)
    body = line[:-_CRC_WIDTH]
    if crc_of(body) != line[1 - _CRC_WIDTH :]:
        raise FlawError(Flaw.BAD_CRC)
    match = _FORM.fullmatch(body)
    if match is None or len(line) >= MAX_SENTENCE:
        raise FlawError(Flaw.BAD_FORM)
    speaker, node, session, seq, clock, verb, fields, seal = match.groups(b"")
    sentence = Sentence(
        speaker=_SPEAKERS[speaker],
        node=node.decode(),
        session=session.decode(),
        seq=int(seq),
        clock_us=int(clock),
        verb=verb.decode(),
        fields=_fields(fields),
    )
    if sentence.seq > MAX_SEQ or sentence.clock_us >= CLOCK_US:
        raise FlawError(Flaw.BAD_FORM)
    return ReceivedSentence(sentence, body[: match.end(7)], seal)


def _fields(text: bytes) -> dict[str, str]:
    if not text:
        return {}
    words = text.decode().split(" ")[1:]
    pairs = [word.split("=", 1) for word in words]
    fields = {name: _plain(value) if "%" in value else value for name, value in pairs}
    if len(fields) < len(pairs):
        raise FlawError(Flaw.BAD_FORM)
    return fields


def _plain(value: str) -> str:
    raw = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), value.encode())
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise FlawError(Flaw.BAD_FORM) from None
    if not text.isprintable():
        raise FlawError(Flaw.BAD_FORM)
    return text


def _escaped(value: str) -> bytes:
    if not value.isprintable():
        raise ValueError(f"{value!r} holds a character that can't be printed")
    return _UNSAFE.sub(lambda match: b"%%%02X" % ord(match[0]), value.encode())


@dataclass(frozen=True, slots=True)
class Hello:
    """How a node introduced itself: the kinds it can send (by channel, 0 for the node itself) and do."""

    node: str
    firmware: str
    boot: str
    reads: Mapping[int, tuple[str, ...]]
    does: tuple[str, ...]
    resend: int
    """How many of its last sentences it can repeat."""
    reset: str = ""
    """Why it started, as it reports: power, watchdog; empty if it does not say."""
    error_mm: float | None = None
    """How far off its positions may be, as it measured itself; None if it has not."""
    error_us: float | None = None
    """The same of its stamps, before the clock's own error."""


@dataclass(frozen=True, slots=True)
class NodeReading:
    """A reading: its kind and fields as text, and when it was seen on the table's clock."""

    t_us: int
    kind: str
    fields: Mapping[str, str]
    channel: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: done, refused by the node, or never answered."""

    command: int
    ok: bool
    says: str


Message = Hello | NodeReading | CommandResult | Change
"""What the table's end reports: who the node is, its readings, its answers, and the link's health."""


VERSION = 1
NONCE = re.compile(r"[0-9A-F]{16}")
_KIND = re.compile(r"(?:([0-9]{1,3}):)?([a-z][a-z_]{0,31})")
_DOES = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COUNT = re.compile(r"[0-9]{1,4}")
_ERROR = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


class HelloError(ValueError):
    """A hello that can't be accepted, and why."""


def read_hello(sentence: Sentence) -> Hello:
    """Read a node's hello; raises HelloError if it is of another version or makes no sense."""
    fields = sentence.fields
    version = fields.get("version")
    if version != str(VERSION):
        raise HelloError(f"node {sentence.node} speaks version {version}, the table version {VERSION}")
    if not _COUNT.fullmatch(fields.get("resend", "0")):
        raise HelloError(f"node {sentence.node} says resend={fields['resend']}, a number was expected")
    return Hello(
        node=sentence.node,
        firmware=fields.get("fw", "unknown"),
        boot=fields.get("boot", ""),
        reads=_reads(fields.get("reads", ""), sentence.node),
        does=_words(fields.get("does", ""), sentence.node),
        resend=int(fields.get("resend", "0")),
        reset=fields.get("reset", ""),
        error_mm=_error(fields, "error_mm", sentence.node),
        error_us=_error(fields, "error_us", sentence.node),
    )


def hello_fields(hello: Hello) -> dict[str, str]:
    """Return what a node reports of itself."""
    fields = {"version": str(VERSION), "fw": hello.firmware, "boot": hello.boot}
    reads = [
        f"{channel}:{kind}" if channel else kind for channel, kinds in hello.reads.items() for kind in kinds
    ]
    if reads:
        fields["reads"] = ",".join(reads)
    if hello.does:
        fields["does"] = ",".join(hello.does)
    if hello.resend:
        fields["resend"] = str(hello.resend)
    return fields


def _reads(text: str, node: str) -> Mapping[int, tuple[str, ...]]:
    reads: dict[int, tuple[str, ...]] = {}
    for item in text.split(",") if text else ():
        match = _KIND.fullmatch(item)
        if match is None:
            raise HelloError(f"node {node} says reads={text}, kinds such as 1:wall_impact were expected")
        channel = int(match[1] or 0)
        reads[channel] = (*reads.get(channel, ()), match[2])
    return reads


def _error(fields: Mapping[str, str], name: str, node: str) -> float | None:
    if name not in fields:
        return None
    if not _ERROR.fullmatch(fields[name]):
        raise HelloError(f"node {node} says {name}={fields[name]}, a number from 0 up was expected")
    return float(fields[name])


def _words(text: str, node: str) -> tuple[str, ...]:
    words = tuple(text.split(",")) if text else ()
    if not all(map(_DOES.fullmatch, words)):
        raise HelloError(f"node {node} says does={text}, words such as lamp,buzzer were expected")
    return words
