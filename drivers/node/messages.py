"""What the ends of a node link say to each other, and what the table's end tells of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from drivers.health import Change
from drivers.node.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Hello:
    """How a node introduced itself: the kinds it can send (by channel, 0 for the node itself) and do."""

    node: str
    firmware: str
    boot: str
    reads: Mapping[int, tuple[str, ...]]
    does: tuple[str, ...]
    resend: int
    """How many of its last sentences it can say again."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A reading: its kind and fields as text, and when it was seen on the table's clock."""

    t_us: int
    kind: str
    fields: Mapping[str, str]
    channel: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a command: done, refused by the node, or never answered."""

    command: int
    ok: bool
    says: str


Message = Hello | Seen | Answered | Change
"""What the table's end tells: who the node is, its readings, its answers, and how the link is."""


VERSION = 1
NONCE = re.compile(r"[0-9A-F]{16}")
_KIND = re.compile(r"(?:([0-9]{1,3}):)?([a-z][a-z_]{0,31})")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COUNT = re.compile(r"[0-9]{1,4}")


class HelloError(ValueError):
    """A hello that can't be taken, and why."""


def read_hello(sentence: Sentence) -> Hello:
    """Read a node's hello; raises HelloError where it is of another version or makes no sense."""
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
    )


def hello_fields(hello: Hello) -> dict[str, str]:
    """Write what a node says of itself."""
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


def _words(text: str, node: str) -> tuple[str, ...]:
    words = tuple(text.split(",")) if text else ()
    if not all(map(_WORD.fullmatch, words)):
        raise HelloError(f"node {node} says does={text}, words such as lamp,buzzer were expected")
    return words
