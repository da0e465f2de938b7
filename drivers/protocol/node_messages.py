"""What the table's end of a node link tells: readings, answers, and how the link is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Code = Literal[
    "starting",
    "no_hello",
    "wrong_device",
    "wrong_version",
    "wrong_key",
    "no_sync",
    "silent",
    "deaf",
    "restarted",
    "clock_step",
    "sentences_lost",
    "babbling",
    "bad_reading",
    "bad_clock",
    "forged",
    "noisy_line",
    "slow_link",
    "unanswered",
    "link",
]
"""Stable words for what can be wrong with a node or its link."""


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


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something is wrong from `since_us` on; `down` where readings are or may be missing."""

    code: Code
    seen: str
    down: bool
    since_us: int


@dataclass(frozen=True, slots=True)
class Well:
    """Nothing is wrong any more."""

    t_us: int
    seen: str


Message = Hello | Seen | Answered | Trouble | Well
