"""Messages signed by whoever says them: the Ed25519 signature is always the last member of the JSON object.

What is signed is SHA-256 of a purpose and of the message's bytes without that member, so that a message of
one kind can't pass for one of another.
"""

from hashlib import sha256
from typing import Annotated, Protocol

from msgspec import Meta

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
