"""The sign-in process's key, which signs the tokens; the key commands call it the `console` key.

The process creates the key at its first start. `tablectl keys ... console` rotates, revokes and replaces it.
The process checks the key's file for changes before it signs a token, so a new key takes effect at once.
"""

import os
import re
import stat
from pathlib import Path

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from controller.people.register import HISTORY_FILE, KEY_FILE, PUBLIC_FILE, write_private
from controller.people.tokens import KEY_BYTES

LABEL = b"console key of the table controller\n"
"""The first line of the key's file, which the key commands check."""
_PUBLIC_MODE = 0o644
_HEX_FORM = re.compile(rb"[0-9a-fA-F]{%d}" % (2 * KEY_BYTES))
"""The format of a key file from earlier releases."""


class _Step(msgspec.Struct, frozen=True):
    old: str = ""
    new: str = ""
    who: str = ""
    reason: str = ""


_decode_step = msgspec.json.Decoder(_Step).decode


class SigningKey:
    """The key in a folder. It is read again after its file has changed."""

    def __init__(self, folder: Path) -> None:
        """Read the key, or create the first key; write the public key for everyone to read.

        Raises:
            OSError: the folder can't be written to.
            ValueError: the file contains no key, users other than its owner can read it, or the key was
                revoked or replaced.
        """
        self._file = folder / KEY_FILE
        if not os.path.lexists(self._file) and not (folder / HISTORY_FILE).exists():
            write_private(self._file, _pem(Ed25519PrivateKey.generate()))
        self._stamp = _file_stamp(self._file)
        self._key = _load(folder)

    @property
    def key(self) -> Ed25519PrivateKey:
        """The current key; raises OSError or ValueError if its file has become unusable."""
        stamp = _file_stamp(self._file)
        if stamp != self._stamp:
            self._key, self._stamp = _load(self._file.parent), stamp
        return self._key


def _file_stamp(file: Path) -> tuple[int, int, int]:
    """Return the file's inode, modification time (ns) and size; zeros if there is no file."""
    try:
        now = file.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return now.st_ino, now.st_mtime_ns, now.st_size


def _load(folder: Path) -> Ed25519PrivateKey:
    file, last = folder / KEY_FILE, _last_step(folder / HISTORY_FILE)
    if not file.exists():
        why = f" ({last.who} revoked it: {last.reason})" if last and not last.new else ""
        raise ValueError(
            f"{file}: there is no key{why}; run: tablectl keys replace console {file} --reason WORDS"
        )
    key = _read(file)
    public = _public(key)
    if last is not None and last.new != public:
        key = _finish_rotation(file, last, public)
        public = _public(key)
    if not _is_published(folder / PUBLIC_FILE, public):  # a rewrite would fail on a full disk
        write_private(folder / PUBLIC_FILE, public.encode(), mode=_PUBLIC_MODE)
    return key


def _is_published(file: Path, public: str) -> bool:
    try:
        return file.read_bytes() == public.encode() and stat.S_IMODE(file.stat().st_mode) == _PUBLIC_MODE
    except OSError:
        return False


def _finish_rotation(file: Path, last: _Step, found: str) -> Ed25519PrivateKey:
    """Finish an interrupted rotation; raises ValueError for a revoked key or a restored old key."""
    new_file = file.with_name(f"{file.name}.new")
    if last.new and last.old == found and new_file.exists():
        key = _read(new_file)
        if _public(key) == last.new:
            new_file.replace(file)
            return key
    was = f"key {last.new[:16]} replaced it" if last.new else "the key was revoked"
    raise ValueError(
        f"{file}: found key {found[:16]}, expected a different one: {was} ({last.who}: {last.reason}); move"
        f" the file away, then run: tablectl keys replace console {file} --reason WORDS"
    )


def _last_step(history: Path) -> _Step | None:
    """Return the last entry of the key's history; an incomplete last line is ignored."""
    written = history.read_bytes() if history.exists() else b""
    lines = written[: written.rfind(b"\n") + 1].splitlines()
    try:
        return _decode_step(lines[-1]) if lines else None
    except msgspec.MsgspecError as error:
        raise ValueError(
            f"{history}: found an unreadable last line ({error}), expected an entry of the key's history;"
            " restore the file from a backup"
        ) from error


def _read(file: Path) -> Ed25519PrivateKey:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(
            f"{file}: found mode {mode:04o}, expected 0600, because anyone who has the key can sign in as"
            f" anyone; run: chmod 600 {file}; if others might have read the key, also run:"
            f" tablectl keys rotate console {file} --reason WORDS"
        )
    text = file.read_bytes()
    if _HEX_FORM.fullmatch(text.strip()):
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text.strip().decode()))
        write_private(file, _pem(key))
        return key
    found = _key_in(text)
    if found is None:
        raise ValueError(
            f"{file}: found {len(text)} bytes that are not a key, expected the sign-in process's key; move"
            f" the file away, then run: tablectl keys replace console {file} --reason WORDS"
        )
    return found


def _key_in(text: bytes) -> Ed25519PrivateKey | None:
    try:
        found = load_pem_private_key(text, None) if text.startswith(LABEL) else None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return found if isinstance(found, Ed25519PrivateKey) else None


def _pem(key: Ed25519PrivateKey) -> bytes:
    return LABEL + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
