"""What a GPIO port and its device say to each other: one line of ASCII for each edge, level and order.

A port says `edge LINE LEVEL SEQ T` and `level LINE LEVEL T`: LEVEL is 1 where the line is active, SEQ numbers
the edges of one line from 1 since it was opened, T is the moment in table microseconds. A device says
`look LINE` (tell the level now), `set LINE LEVEL` and `rest LINE US` (do not listen for so long).
"""

from typing import NamedTuple


class Edge(NamedTuple):
    """A line changed."""

    line: int
    active: bool
    seq: int
    t_us: int


class Level(NamedTuple):
    """What a line was when it was looked at."""

    line: int
    active: bool
    t_us: int


class Look(NamedTuple):
    """Tell this line's level."""

    line: int


class Set(NamedTuple):
    """Switch an output."""

    line: int
    active: bool


class Rest(NamedTuple):
    """Leave a babbling line alone for so long."""

    line: int
    for_us: int


Sentence = Edge | Level
Order = Look | Set | Rest

_WORDS: dict[type[Sentence | Order], bytes] = {
    Edge: b"edge",
    Level: b"level",
    Look: b"look",
    Set: b"set",
    Rest: b"rest",
}
_LONGEST = 19
"""More digits than any time has; int() takes its time over very long numbers."""


def written(said: Sentence | Order) -> bytes:
    """Give the line of a sentence or an order."""
    return _WORDS[type(said)] + b"".join(b" %d" % value for value in said) + b"\n"


def sentences_of(data: bytes) -> tuple[list[Sentence], int]:
    """Give the whole sentences in a port's bytes, and how many lines are none."""
    sentences: list[Sentence] = []
    bad = 0
    for line in data.splitlines():
        match _numbers(line):
            case (b"edge", [int(number), 0 | 1 as active, int(seq), int(t_us)]):
                sentences.append(Edge(number, bool(active), seq, t_us))
            case (b"level", [int(number), 0 | 1 as active, int(t_us)]):
                sentences.append(Level(number, bool(active), t_us))
            case _:
                bad += 1
    return sentences, bad


def orders_of(data: bytes) -> list[Order]:
    """Give the orders in a device's bytes. Raises ValueError for what is none: only a defect makes one."""
    orders: list[Order] = []
    for line in data.splitlines():
        match _numbers(line):
            case (b"look", [int(number)]):
                orders.append(Look(number))
            case (b"set", [int(number), 0 | 1 as active]):
                orders.append(Set(number, bool(active)))
            case (b"rest", [int(number), int(for_us)]):
                orders.append(Rest(number, for_us))
            case _:
                raise ValueError(f"found {line!r}, expected look, set or rest with its numbers")
    return orders


def _numbers(line: bytes) -> tuple[bytes, list[int]]:
    word, *rest = line.split(b" ")
    if not all(part.isdigit() and len(part) <= _LONGEST for part in rest):
        return b"", []
    return word, [int(part) for part in rest]
