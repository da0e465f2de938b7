"""Short-lived signed tokens, which identify the person at a screen to the daemon.

A token is `claims.signature`, both parts in base64url. The claims are JSON. The Ed25519 signature covers a
purpose prefix and the claims. A token's expiry is a time since boot, which does not depend on the wall clock.
"""

import base64
import binascii
from collections.abc import Callable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

TOKEN_LIFE_US = 10_000_000
"""Lifetime of a token. Each input has a new token, so a token need only outlast a slow answer."""
MAX_TOKEN = 1024
"""Maximum length of a token in characters."""
KEY_BYTES = 32
_PURPOSE = b"table-screen token\0"
_encode = msgspec.json.Encoder().encode

BootClock = Callable[[], int]
"""Microseconds since the machine's boot, from CLOCK_BOOTTIME, which all processes share."""


class TokenError(Exception):
    """An invalid token; `code` is stable, and `message` is for the person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Claims(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The person, role and console of a sign-in, and the token's expiry as a time since boot."""

    person: str
    role: str
    console: str
    until_us: int


_decode = msgspec.json.Decoder(Claims).decode


def issue(key: Ed25519PrivateKey, claims: Claims) -> str:
    """Return a signed token with these claims."""
    body = _encode(claims)
    return f"{_text(body)}.{_text(key.sign(_PURPOSE + body))}"


def verify(text: str, key: Ed25519PublicKey, now_us: int) -> Claims:
    """Return the claims of a token.

    Raises:
        TokenError: `bad_token` if this key did not sign the token, `signed_out` if the token has expired or
            expires later than a new token would.
    """
    body, _, signature = text[:MAX_TOKEN].partition(".")
    try:
        signed = _bytes(body)
        key.verify(_bytes(signature), _PURPOSE + signed)
        claims = _decode(signed)
    except (ValueError, InvalidSignature, msgspec.MsgspecError) as error:
        raise TokenError("bad_token", "the sign-in process did not sign this token; sign in again") from error
    if not claims.until_us - TOKEN_LIFE_US <= now_us < claims.until_us:
        raise TokenError("signed_out", "this sign-in has expired; sign in again")
    return claims


class Verifier:
    """Checks tokens with the public key in the sign-in process's file; a new key takes effect at once."""

    def __init__(self, file: Path | None, now_us: BootClock) -> None:
        """Use the key in this file; if `file` is None, refuse every token."""
        self._file = file
        self._now_us = now_us
        self._read: tuple[int, Ed25519PublicKey] | None = None

    def verify(self, text: str) -> Claims:
        """Return the claims of a token; raises TokenError."""
        return verify(text, self._key(), self._now_us())

    def _key(self) -> Ed25519PublicKey:
        if self._file is None:
            refused = "this controller accepts no sign-ins from screens; start it with --sign-in-key"
            raise TokenError("no_sign_in", refused)
        try:
            changed = self._file.stat().st_mtime_ns
            if self._read is None or self._read[0] != changed:
                self._read = changed, read_public(self._file)
        except (OSError, ValueError) as error:
            message = f"{self._file}: found no public key of the sign-in process; start that process"
            raise TokenError("no_sign_in", message) from error
        return self._read[1]


def read_public(file: Path) -> Ed25519PublicKey:
    """Return the public key in this file; raises OSError, or ValueError if the file contains no key."""
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(file.read_text(encoding="ascii").strip()))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
