"""Whose answers a table believes: those that its settlement engine's key signed.

The key is the one that the table's file names (`engine_key`), or the first that an engine showed, kept beside
the journal under the table's own signature. Another is believed where the one before signed it (a rotation).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from controller.journal.keys import PublicKey
from controller.publish.events import Answer, Meeting, answer_signed_by, endorsed
from controller.publish.signing import Signature, Signer, Verifier, is_signed, sign_message

PIN = b"table-engine pin\0"
Found = Literal["believed", "unsigned", "forged"]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    by: str
    signature: Signature | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Kept).decode


class Pin:
    """The settlement engine's public key, as this table holds it."""

    def __init__(self, key: bytes | None = None, keep: Callable[[bytes, str], None] | None = None) -> None:
        """Begin with this key (32 bytes), or none yet; `keep` makes one last that was learned."""
        self._key = None if key is None else PublicKey(key)
        self._keep = keep

    @property
    def key(self) -> str | None:
        """The public key in hexadecimal digits; None before an engine showed one."""
        return None if self._key is None else self._key.raw.hex()

    def recall(self, key: bytes | None) -> None:
        """Take up a key that was kept, unless the table's file names one."""
        if self._key is None and key is not None:
            self._key = PublicKey(key)

    def look(self, payload: bytes, answer: Answer) -> Found:
        """Return whether these bytes, read as this answer, are the engine's own."""
        if answer.signature is msgspec.UNSET:
            return "forged" if self._key is not None else "unsigned"
        if self._key is not None and answer_signed_by(payload, self._key):
            return "believed"
        if isinstance(answer, Meeting) and self._may_learn(answer):
            shown = PublicKey(bytes.fromhex(answer.key))
            if answer_signed_by(payload, shown):
                self._key = shown
                if self._keep is not None:
                    self._keep(shown.raw, answer.by)
                return "believed"
        return "forged"

    def _may_learn(self, meeting: Meeting) -> bool:
        return self._key is None or endorsed(meeting, self._key)


def read_pin(path: Path, key: Verifier) -> bytes | None:
    """Read the engine's key that was kept; None where none was, or not under this table's signature."""
    try:
        payload = path.read_bytes()
        kept = _decode(payload)
        return bytes.fromhex(kept.key) if is_signed(payload, PIN, key) else None
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def write_pin(path: Path, key: Signer, engine_key: bytes, by: str) -> None:
    """Keep the engine's key; raises OSError where the disk does not take it."""
    new = path.with_suffix(".new")
    new.write_bytes(sign_message(_encode(_Kept(key=engine_key.hex(), by=by)), PIN, key))
    new.replace(path)
