"""The table's signing key: Ed25519, in a file that nobody else can read or in systemd's credentials."""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from controller.journal.faults import JournalFault

CREDENTIAL = "table-key"
"""The credential's name in the unit: LoadCredentialEncrypted=table-key:/etc/table/key.cred."""
MAX_KEY_BYTES = 10_000
KeyKind = Literal["table", "engine", "console", "release"]
"""The first line of a key file, before the PEM, says whose key it is; PEM readers skip it."""
_LABEL = re.compile(rb"\A(table|engine|console|release) key of the table controller\n")

_OTHERS = stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PURPOSE = b"table-journal row\0"
_HEAD = b"table-journal head\0"
_HANDOVER = b"table-journal key\0"
_HISTORY = b"table-key history\0"


class PublicKey:
    """Checks a journal's signatures; it can be given to anybody."""

    def __init__(self, raw: bytes) -> None:
        """Make a key of the 32 bytes of an Ed25519 public key."""
        self.raw = raw
        self._key = Ed25519PublicKey.from_public_bytes(raw)

    def signed(self, link: bytes, signature: bytes) -> bool:
        """Return whether this signature of a row's link is the key's own."""
        return self._made(signature, _PURPOSE + link)

    def signed_head(self, record: bytes, signature: bytes) -> bool:
        """Return whether this signature of a head record is the key's own."""
        return self._made(signature, _HEAD + record)

    def signed_handover(self, old: bytes, signature: bytes) -> bool:
        """Return whether this key took over from the old public key (32 bytes)."""
        return self._made(signature, _HANDOVER + old)

    def signed_history(self, step: bytes, signature: bytes) -> bool:
        """Return whether this key ended itself with this step of a history."""
        return self._made(signature, _HISTORY + step)

    def _made(self, signature: bytes, message: bytes) -> bool:
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


class Key:
    """The table's private key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = PublicKey(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, link: bytes) -> bytes:
        """Sign a row's link, and with it the row and all before it (64 bytes)."""
        return self._private.sign(_PURPOSE + link)

    def sign_handover(self, old: bytes) -> bytes:
        """Sign that this key takes over from the old public key (64 bytes)."""
        return self._private.sign(_HANDOVER + old)

    def sign_history(self, step: bytes) -> bytes:
        """Sign a step of this key's history (64 bytes)."""
        return self._private.sign(_HISTORY + step)

    def sign_head(self, record: bytes) -> bytes:
        """Sign a record of the head file (64 bytes)."""
        return self._private.sign(_HEAD + record)


def new_pem(kind: KeyKind = "table") -> bytes:
    """Make a key, in the form of a key file."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return f"{kind} key of the table controller\n".encode() + pem


def kind_of(pem: bytes) -> KeyKind:
    """Return whose key this is; release 0.1.0 knew only tables' keys, and wrote no kind."""
    label = _LABEL.match(pem)
    found = b"table" if label is None else label[1]
    kinds: dict[bytes, KeyKind] = {
        b"engine": "engine",
        b"console": "console",
        b"release": "release",
    }
    return kinds.get(found, "table")


def new_key(path: Path, kind: KeyKind = "table") -> PublicKey:
    """Make a key in a new file that only its owner can read; FileExistsError if there is one."""
    write_key(path, new_pem(kind))
    return load_key(path, kind).public


def write_key(path: Path, pem: bytes, *, like: os.stat_result | None = None) -> None:
    """Write a key whole into a new file that only its owner can read; FileExistsError if there is one.

    If a full disk did not take all of it, it is removed: part of a key would be taken for a damaged key. If
    root writes it, it belongs to the owner of its folder: the service whose key it is. A key that takes the
    place of another is `like` that one: it belongs to the same service, and the same group can read it.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        descriptor, has_name = _new_file(path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if os.geteuid() == 0:
                    shared = like is not None and (like.st_uid or like.st_mode & stat.S_IRGRP)
                    owner = like if like is not None and shared else os.fstat(folder)
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
                if like is not None:
                    os.fchmod(descriptor, 0o600 | like.st_mode & stat.S_IRGRP)
                file.write(pem)
                file.flush()
                os.fsync(descriptor)
                if not has_name:
                    # With a folder's descriptor this is linkat, which alone follows the link in /proc.
                    mine = f"/proc/self/fd/{descriptor}"
                    os.link(mine, path.name, dst_dir_fd=folder, follow_symlinks=True)
        except OSError:
            if has_name:
                path.unlink()
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def _new_file(path: Path) -> tuple[int, bool]:
    """Open a new file, and return whether it has its name yet: without one, nothing is left of half a key."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o600), False
    except OSError:  # A file system without such files: FAT, some over a network.
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), True


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock on changes to the keys of a folder; raises BlockingIOError if another command has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def load_key(path: Path, kind: KeyKind = "table", *, by_acl: bool = False) -> Key:
    """Read a key file; raises JournalFault if it is missing, open to others, or no key of this kind.

    `by_acl`: it is a credential of systemd, which lets the service's user in by an ACL.
    """
    if by_acl:
        return _load(path, kind, _OTHERS, "a credential closed to others")
    return _load(path, kind, _GROUP_AND_OTHERS, "a file that only its owner can read (mode 0600)")


def key_of_service(environ: Mapping[str, str], path: Path) -> Key:
    """Read the key from `$CREDENTIALS_DIRECTORY` where systemd gives one, else from this file.

    systemd lets the service's user in by an ACL, which shows as a group's right to read; its directory is
    closed to everybody else.
    """
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if directory is None or not (Path(directory) / CREDENTIAL).exists():
        return load_key(path)
    return _load(Path(directory) / CREDENTIAL, "table", _OTHERS, "a credential closed to others")


def read_key(pem: bytes, kind: KeyKind, path: Path) -> Key:
    """Read a key as its file holds it; raises JournalFault if it is none of this kind."""
    try:
        private = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise JournalFault("journal_key_unreadable", path, "no such key", "an Ed25519 key (PEM)") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise JournalFault("journal_key_unreadable", path, "a key of another kind", "an Ed25519 key (PEM)")
    if (found := kind_of(pem)) != kind:
        raise JournalFault("journal_key_unreadable", path, f"a key of kind {found}", f"one of kind {kind}")
    return Key(private)


def _load(path: Path, kind: KeyKind, forbidden: int, expected: str) -> Key:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        found = f"no readable file ({error.strerror})"
        raise JournalFault("journal_key_missing", path, found, "the table's signing key") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise JournalFault("journal_key_unreadable", path, "not a regular file", "a key file")
        if mode & forbidden:
            found = f"mode {stat.S_IMODE(mode):04o}, which lets others at the key"
            raise JournalFault("journal_key_exposed", path, found, expected)
        pem = os.read(descriptor, MAX_KEY_BYTES)
    finally:
        os.close(descriptor)
    return read_key(pem, kind, path)


if __name__ == "__main__":
    import sys

    # For who seals it at once: it is in the clear nowhere but in the pipe.
    sys.stdout.buffer.write(new_pem())
