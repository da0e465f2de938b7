"""Messages on the wire: decoding within limits, signatures, and topics.

A receiver must survive invalid messages, which any client with write access to a topic can send. An Ed25519
signature is always the last member of the JSON object. It covers the SHA-256 of a purpose followed by the
message without that member. Because of the purpose, a signature on one kind of message is not valid on
another kind.

`python -m controller.publish.wire --table NAME ... --settlement NAME [--staff NAME] [--players NAME=TABLE]`
prints mosquitto's access list. Names are the common names of certificates (`use_identity_as_username`).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Meta

from controller.model.printable import excerpt
from controller.model.tables import TABLE_NAME

T = TypeVar("T")
MAX_STATUS_BYTES = 32_768
"""Maximum size of a status in bytes. A typical status has a few hundred."""
MAX_EVENT_BYTES = 1_048_576
"""Maximum size of an event in bytes. An outcome with many reasons and notices has a few thousand."""


_MAX_REASON = 200
"""Maximum number of characters in the reason why a message is unreadable, which might quote the message."""


class UnreadableMessage(msgspec.DecodeError):
    """Bytes that are not the expected message, for example because they are too long or not JSON."""


def bounded(decode: Callable[[bytes], T], payload: bytes, max_bytes: int) -> T:
    """Decode a message. Raises UnreadableMessage, and no other exception, for invalid bytes."""
    if len(payload) > max_bytes:
        raise UnreadableMessage(f"found {len(payload)} bytes, expected at most {max_bytes}")
    try:
        return decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableMessage(excerpt(str(error), _MAX_REASON)) from error


EVENT = b"table-event\0"
STATEMENT = b"table-word\0"
ANSWER = b"settlement-answer\0"
"""Purposes of signatures: a table's events, its statement that bets are open, and the engine's answers."""

Signature = Annotated[str, Meta(pattern="^[0-9a-f]{128}$")]

_MEMBER = b',"signature":"%s"}'
_MEMBER_BYTES = len(_MEMBER % (b"0" * 128))


class Signer(Protocol):
    """A private key."""

    def sign(self, link: bytes) -> bytes:
        """Sign 32 bytes; return the 64-byte signature."""


class Verifier(Protocol):
    """A public key."""

    def verify(self, link: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's signature over these 32 bytes."""


def sign_message(unsigned: bytes, purpose: bytes, key: Signer) -> bytes:
    """Return the bytes of a JSON object with its signature added as the last member."""
    signature = key.sign(sha256(purpose + unsigned).digest()).hex().encode()
    return unsigned[:-1] + _MEMBER % signature


def is_signed(payload: bytes, purpose: bytes, key: Verifier) -> bool:
    """Return whether these bytes are a message signed by this key for this purpose."""
    unsigned, member = payload[:-_MEMBER_BYTES] + b"}", payload[-_MEMBER_BYTES:]
    signature = member.removeprefix(b',"signature":"').removesuffix(b'"}')
    if member != _MEMBER % signature:
        return False
    try:
        raw = bytes.fromhex(signature.decode("ascii"))
    except ValueError:
        return False
    return key.verify(sha256(purpose + unsigned).digest(), raw)


PREFIX = "tables"


class Topics(NamedTuple):
    """One table's topics. The table writes to all of them except `answer`."""

    outcome: str
    """Every outcome, for the settlement engine and the staff."""
    players: str
    """The outcomes for players."""
    status: str
    """The table's status, retained. The broker writes `offline` when the table's connection is lost."""
    answer: str
    """The settlement engine's answers. The engine is the only writer."""
    open: str
    """The statement that bets are open, for the settlement engine."""
    board: str
    """The table's board, retained."""


def topics_of(table: str, prefix: str = PREFIX) -> Topics:
    """Return a table's topics. Raises ValueError if the table's name can't be part of a topic."""
    check_name(table)
    return Topics(*(f"{prefix}/{table}/{word}" for word in Topics._fields))


def check_name(name: str) -> None:
    """Raise ValueError if a name can't be used as a topic level, a client id and a common name."""
    if not TABLE_NAME.fullmatch(name):
        raise ValueError(
            f"found the name {name!r}, expected 1 to 64 letters, digits, '-', '_' and '.', which are"
            " allowed in topics and certificates; change it in the table's file and in its certificate"
        )


def access_list(
    tables: Sequence[str],
    settlement: str,
    *,
    staff: Sequence[str] = (),
    players: Mapping[str, str] | None = None,
    prefix: str = PREFIX,
) -> str:
    """Return mosquitto's access list. Only named clients have access, and each table only to its own topics.

    `players` maps each players' display to its table.
    """
    topics = Topics(*(f"{prefix}/+/{word}" for word in Topics._fields))
    rules = [(settlement, "read", topic) for topic in (topics.outcome, topics.status, topics.open)]
    rules += [(settlement, "write", topics.answer)]
    for name in staff:
        rules += [(name, "read", topic) for topic in (topics.outcome, topics.status, topics.board)]
    for table in tables:
        own = topics_of(table, prefix)
        written = (own.outcome, own.players, own.status, own.open, own.board)
        rules += [(table, "write", topic) for topic in written]
        rules += [(table, "read", topic) for topic in (own.answer, own.status)]
    for name, table in (players or {}).items():
        shown = topics_of(table, prefix)
        rules += [(name, "read", topic) for topic in (shown.players, shown.board)]
    return "".join(_lines(rules))


def _lines(rules: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    yield "# Generated by python -m controller.publish.wire; clients that are not named have no access.\n"
    previous = None
    for name, access, topic in rules:
        if name != previous:
            check_name(name)
            yield f"\nuser {name}\n"
            previous = name
        yield f"topic {access} {topic}\n"


def main(arguments: list[str] | None = None) -> int:
    """Print the access list; return 2 if a name is not allowed."""
    parser = argparse.ArgumentParser(prog="python -m controller.publish.wire", description=__doc__)
    parser.add_argument("--table", action="append", required=True, metavar="NAME", help="a table")
    parser.add_argument("--settlement", required=True, metavar="NAME", help="the settlement engine")
    parser.add_argument("--staff", action="append", default=[], metavar="NAME", help="a staff display")
    parser.add_argument(
        "--players", action="append", default=[], metavar="NAME=TABLE", help="a players' display"
    )
    parser.add_argument("--prefix", default=PREFIX, help="the first part of every topic")
    given = parser.parse_args(arguments)
    displays = dict(pair.partition("=")[::2] for pair in given.players)
    try:
        text = access_list(
            given.table, given.settlement, staff=given.staff, players=displays, prefix=given.prefix
        )
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
