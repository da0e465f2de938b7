"""Encodes and decodes the sentences of the node link, and defines the link's timing.

A sentence is a line of printable ASCII with a CRC-16.
"""

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
"""Time without a sentence after which a node is silent: three times the interval between beats."""
PING_EVERY_US = 984_000
"""Interval between pings. It is not a whole second, so pings rarely coincide with other periodic events."""
PING_RETRY_US = 100_000
NOT_RECEIVING_US = 1_900_000
"""Time without an answer after which a node that is still sending is reported as not receiving. It allows
for one ping interval and nine retries."""
FIRST_PING_US = 20_000
FIRST_PINGS = 8
MAX_AGE_US = 2_000_000
MAX_AHEAD_US = 2_000
SLOW_US = 12_000.0
"""Round-trip time of a ping above which a link is reported as slow. A round trip takes 10 ms at 115,200 baud,
and longer through an adapter that buffers bytes."""
RESEND_RETRY_US = 15_000
GIVE_UP_US = 60_000
"""Time after which a missing sentence is treated as lost. It is half the watermark's default delay, so a
reading repeated within this time is accepted."""

ANNOUNCE_US = 1_000_000
BEAT_US = 500_000
BEAT_AFTER_READING_US = 20_000
"""Maximum delay of a beat after a reading. The beat's number reveals the loss of the reading."""

MAX_SENTENCE = 512
"""Maximum length of a sentence in bytes, including its line end."""
NO_SESSION = "0000"
CLOCK_US = 1 << 32
"""The value at which the node's microsecond clock wraps to 0."""
MAX_SEQ = (1 << 32) - 1


class Speaker(StrEnum):
    """The sender of a sentence, identified by the sentence's first character."""

    NODE = "$"
    TABLE = ">"


class Flaw(StrEnum):
    """The reason why a line is not a sentence."""

    HALF = "half"
    BAD_CRC = "bad_crc"
    BAD_FORM = "bad_form"


class FlawError(ValueError):
    """Raised for a line that is not a sentence."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.value)
        self.flaw = flaw


class Sentence(NamedTuple):
    """The content of one line. `fields` are strings whose meaning depends on the verb."""

    speaker: Speaker
    node: str
    session: str
    seq: int
    clock_us: int
    verb: str
    fields: Mapping[str, str] = {}


class ReceivedSentence(NamedTuple):
    """A received sentence, the body that its seal covers, and the seal, which can be empty."""

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
    """Return the checksum as four digits: CRC-16/IBM-3740, polynomial 0x1021, initial value 0xFFFF."""
    return b"%04X" % crc_hqx(body, 0xFFFF)


def encode(sentence: Sentence) -> bytes:
    """Return a sentence's body, which ends before the seal or the `*`.

    Raises:
        ValueError: If a name, number or text cannot be encoded.
    """
    if not NODE_NAME.fullmatch(sentence.node):
        raise ValueError(
            f"found node name {sentence.node!r}, expected 1 to 16 letters, digits, _ or -, beginning with a"
            " letter or digit"
        )
    if not _VERB.fullmatch(sentence.verb) or not all(map(_VERB.fullmatch, sentence.fields)):
        raise ValueError(
            f"found {sentence.verb!r} with fields {list(sentence.fields)}, expected lower-case words of at"
            " most 32 characters"
        )
    if not _SESSION.fullmatch(sentence.session):
        raise ValueError(f"found session {sentence.session!r}, expected four digits 0-9 A-F")
    if not 0 <= sentence.seq <= MAX_SEQ or not 0 <= sentence.clock_us < CLOCK_US:
        raise ValueError(
            f"found sequence number {sentence.seq} and clock {sentence.clock_us}, expected 32-bit numbers"
        )
    head = (
        f"{sentence.speaker}{sentence.node} {sentence.session} {sentence.seq} {sentence.clock_us} "
        f"{sentence.verb}"
    )
    return head.encode() + b"".join(
        b" %b=%b" % (name.encode(), _escaped(value)) for name, value in sentence.fields.items()
    )


def finish(body: bytes, seal: bytes = b"") -> bytes:
    """Return the line for a body and its seal. Raises ValueError if it is longer than MAX_SENTENCE."""
    if seal:
        body += b" ~" + seal
    line = b"%b*%b\n" % (body, crc_of(body))
    if len(line) > MAX_SENTENCE:
        raise ValueError(f"found a sentence of {len(line)} bytes, expected at most {MAX_SENTENCE}")
    return line


def decode(line: bytes) -> ReceivedSentence:
    """Decode a line from which the line end and any noise before the sentence have been removed.

    Raises:
        FlawError: If the line is not exactly one sentence.
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
        raise ValueError(f"found {value!r}, expected only printable characters")
    return _UNSAFE.sub(lambda match: b"%%%02X" % ord(match[0]), value.encode())


@dataclass(frozen=True, slots=True)
class Hello:
    """A node's description of itself."""

    node: str
    firmware: str
    boot: str
    """A string that is different each time the node starts."""
    reads: Mapping[int, tuple[str, ...]]
    """The kinds of reading that each channel can send. Channel 0 is the node itself."""
    does: tuple[str, ...]
    """The commands that the node can execute."""
    resend: int
    """How many of its most recent sentences the node can repeat."""
    reset: str = ""
    """The cause of the node's start, such as power or watchdog; empty if not reported."""
    error_mm: float | None = None
    """Largest measured error of the node's positions; None if not measured."""
    error_us: float | None = None
    """Largest measured timestamp error, apart from the error of the clock estimate; None if not measured."""


@dataclass(frozen=True, slots=True)
class NodeReading:
    """A node's reading, with its fields as text."""

    t_us: int
    kind: str
    fields: Mapping[str, str]
    channel: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: completed, refused by the node, or never acknowledged."""

    command: int
    ok: bool
    message: str


Message = Hello | NodeReading | CommandResult | Change
"""A report from the table's end: the node's hello, a reading, a command's result or a change in health."""


VERSION = 1
NONCE = re.compile(r"[0-9A-F]{16}")
_KIND = re.compile(r"(?:([0-9]{1,3}):)?([a-z][a-z_]{0,31})")
_DOES = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COUNT = re.compile(r"[0-9]{1,4}")
_ERROR = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


class HelloError(ValueError):
    """Raised for an invalid hello."""


def read_hello(sentence: Sentence) -> Hello:
    """Parse a node's hello. Raises HelloError for an unsupported version of the link or an invalid field."""
    fields = sentence.fields
    version = fields.get("version")
    if version != str(VERSION):
        raise HelloError(
            f"node {sentence.node} uses version {version or 'unknown'} of the link, expected {VERSION}"
        )
    if not _COUNT.fullmatch(fields.get("resend", "0")):
        raise HelloError(
            f"node {sentence.node} sent resend={fields['resend']}, expected a whole number of at most four"
            " digits"
        )
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
    """Return the fields of a node's hello; optional fields that are empty or not measured are left out."""
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
    if hello.reset:
        fields["reset"] = hello.reset
    for name, error in (("error_mm", hello.error_mm), ("error_us", hello.error_us)):
        if error is not None:
            fields[name] = f"{error:.3f}".rstrip("0").rstrip(".")
    return fields


def _reads(text: str, node: str) -> Mapping[int, tuple[str, ...]]:
    reads: dict[int, tuple[str, ...]] = {}
    for item in text.split(",") if text else ():
        match = _KIND.fullmatch(item)
        if match is None:
            raise HelloError(f"node {node} sent reads={text}, expected kinds such as 1:wall_impact")
        channel = int(match[1] or 0)
        reads[channel] = (*reads.get(channel, ()), match[2])
    return reads


def _error(fields: Mapping[str, str], name: str, node: str) -> float | None:
    if name not in fields:
        return None
    if not _ERROR.fullmatch(fields[name]):
        raise HelloError(
            f"node {node} sent {name}={fields[name]}, expected a number from 0 to 999999.999 with at most"
            " three decimals"
        )
    return float(fields[name])


def _words(text: str, node: str) -> tuple[str, ...]:
    words = tuple(text.split(",")) if text else ()
    if not all(map(_DOES.fullmatch, words)):
        raise HelloError(f"node {node} sent does={text}, expected words such as lamp,buzzer")
    return words
