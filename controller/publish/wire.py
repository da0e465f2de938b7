"""Messages on the wire: read within bounds, and signed by whoever says them.

Who may write to a topic may write anything there, and what is retained comes again at each connection: a
message that a reader does not expect must cost one message, never the thread or the connection.

The Ed25519 signature is always the last member of the JSON object. What is signed is SHA-256 of a purpose and
of the message's bytes without that member, so that a message of one kind can't pass for one of another.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Protocol, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")
MAX_STATUS_BYTES = 32_768
"""A status names a table and its faults: a few hundred bytes."""
MAX_EVENT_BYTES = 1_048_576
"""An outcome with all its reasons and notices has a few thousand bytes."""


class Unreadable(msgspec.DecodeError):
    """Bytes that are none of what was expected: too many, no JSON, nested without end, or another message."""


def bounded(decode: Callable[[bytes], T], payload: bytes, most_bytes: int) -> T:
    """Return what these bytes are; raises Unreadable, and nothing else, where they are none of it."""
    if len(payload) > most_bytes:
        raise Unreadable(f"{len(payload)} bytes, more than {most_bytes}")
    try:
        return decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


EVENT = b"table-event\0"
WORD = b"table-word\0"
ANSWER = b"settlement-answer\0"
"""Purposes: what a table tells, its word that bets are open, and what the settlement engine answers."""

Signature = Annotated[str, Meta(pattern="^[0-9a-f]{128}$")]

_MEMBER = b',"signature":"%s"}'
_MEMBER_BYTES = len(_MEMBER % (b"0" * 128))


class Signer(Protocol):
    """A private key."""

    def sign(self, link: bytes) -> bytes:
        """Sign 32 bytes; return 64."""


class Verifier(Protocol):
    """A public key."""

    def signed(self, link: bytes, signature: bytes) -> bool:
        """Return whether this signature of 32 bytes is the key's own."""


def sign_message(unsigned: bytes, purpose: bytes, key: Signer) -> bytes:
    """Return a JSON object's bytes with its signature as the last member."""
    signature = key.sign(sha256(purpose + unsigned).digest()).hex().encode()
    return unsigned[:-1] + _MEMBER % signature


def is_signed(payload: bytes, purpose: bytes, key: Verifier) -> bool:
    """Return whether these bytes are a message that this key signed for this purpose."""
    unsigned, member = payload[:-_MEMBER_BYTES] + b"}", payload[-_MEMBER_BYTES:]
    signature = member.removeprefix(b',"signature":"').removesuffix(b'"}')
    if member != _MEMBER % signature:
        return False
    try:
        raw = bytes.fromhex(signature.decode("ascii"))
    except ValueError:
        return False
    return key.signed(sha256(purpose + unsigned).digest(), raw)
