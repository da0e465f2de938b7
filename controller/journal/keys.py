"""Ed25519 signing keys, in files that only their owner can read or in systemd credentials."""

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
"""The name of the systemd credential: LoadCredentialEncrypted=table-key:/etc/table/key.cred."""
MAX_KEY_BYTES = 10_000
KeyKind = Literal["table", "engine", "console", "release"]
"""The kinds of keys. In a key file, the line before the PEM names the kind; PEM readers skip this line."""
_KEY_OF: Mapping[KeyKind, str] = {
    "table": "a table's key",
    "engine": "a settlement engine's key",
    "console": "a console's key",
    "release": "a release key",
}
_LABEL = re.compile(rb"\A(table|engine|console|release) key of the table controller\n")

_OTHERS = stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_ROW = b"table-journal row\0"
_HEAD = b"table-journal head\0"
_HANDOVER = b"table-journal key\0"
_HISTORY = b"table-key history\0"


class PublicKey:
    """A public key."""

    def __init__(self, raw: bytes) -> None:
        """Use the 32 bytes of an Ed25519 public key. Raises ValueError for other lengths."""
        self.raw = raw
        self._key = Ed25519PublicKey.from_public_bytes(raw)

    def verify(self, link: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's signature of a row's link."""
        return self._verifies(signature, _ROW + link)

    def verify_head(self, record: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's signature of a head record."""
        return self._verifies(signature, _HEAD + record)

    def verify_handover(self, old: bytes, signature: bytes) -> bool:
        """Return whether this key signed the statement that it replaces the `old` public key (32 bytes)."""
        return self._verifies(signature, _HANDOVER + old)

    def verify_history(self, step: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's signature of a step in its history."""
        return self._verifies(signature, _HISTORY + step)

    def _verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


class Key:
    """A private key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = PublicKey(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, link: bytes) -> bytes:
        """Sign a row's link; return the 64-byte signature, which covers the row and all earlier rows."""
        return self._private.sign(_ROW + link)

    def sign_handover(self, old: bytes) -> bytes:
        """Sign the statement that this key replaces the `old` public key."""
        return self._private.sign(_HANDOVER + old)

    def sign_history(self, step: bytes) -> bytes:
        """Sign a step in this key's history."""
        return self._private.sign(_HISTORY + step)

    def sign_head(self, record: bytes) -> bytes:
        """Sign a head record."""
        return self._private.sign(_HEAD + record)


def new_pem(kind: KeyKind = "table") -> bytes:
    """Generate a key; return the contents of its key file."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return f"{kind} key of the table controller\n".encode() + pem


def key_kind(pem: bytes) -> KeyKind:
    """Return the kind of the key in a key file. A key without a label (release 0.1.0) is a table's key."""
    label = _LABEL.match(pem)
    found = b"table" if label is None else label[1]
    kinds: dict[bytes, KeyKind] = {
        b"engine": "engine",
        b"console": "console",
        b"release": "release",
    }
    return kinds.get(found, "table")


def new_key(path: Path, kind: KeyKind = "table") -> PublicKey:
    """Create a key in a new file that only its owner can read. Raises FileExistsError if the file exists."""
    write_key(path, new_pem(kind))
    return load_key(path, kind).public


def write_key(path: Path, pem: bytes, *, like: os.stat_result | None = None) -> None:
    """Write a key to a new file that only its owner can read. Raises FileExistsError if the file exists.

    No incomplete file remains after an error. If root writes the file, the file belongs to the owner of its
    folder, which is the service's user. `like` is the status of the replaced key's file; the new file has the
    same group permission. If root writes the new file, it also has the same owner, unless only root could
    read the replaced file.
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
                    # Only linkat follows the link in /proc. Python calls linkat if `dst_dir_fd` is set.
                    unnamed = f"/proc/self/fd/{descriptor}"
                    os.link(unnamed, path.name, dst_dir_fd=folder, follow_symlinks=True)
        except OSError:
            if has_name:
                path.unlink()
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def _new_file(path: Path) -> tuple[int, bool]:
    """Open a new file; return its descriptor and whether it has a name.

    A file without a name is deleted when it is closed, unless it has been linked to a name.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o600), False
    except OSError:  # a file system without O_TMPFILE, such as FAT and some network shares
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), True


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder's keys against other commands. Raises BlockingIOError if another command has the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def load_key(path: Path, kind: KeyKind = "table", *, by_acl: bool = False) -> Key:
    """Load a key. Raises JournalFault if the file is missing or readable by others, or contains another kind
    of key.

    Set `by_acl` for a systemd credential, which the service's user can read through an ACL.
    """
    if by_acl:
        return _load(path, kind, _OTHERS, "a credential that others can't read")
    return _load(path, kind, _GROUP_AND_OTHERS, "a file that only its owner can read (mode 0600)")


def service_key(environ: Mapping[str, str], path: Path) -> Key:
    """Load the table's key from `$CREDENTIALS_DIRECTORY` if systemd provides it there, otherwise from `path`.

    systemd grants the service's user access with an ACL, which appears as a read permission for the group. No
    other user can enter the directory.
    """
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if directory is None or not (Path(directory) / CREDENTIAL).exists():
        return load_key(path)
    return _load(Path(directory) / CREDENTIAL, "table", _OTHERS, "a credential that others can't read")


def read_key(pem: bytes, kind: KeyKind, path: Path) -> Key:
    """Decode the contents of a key file. Raises JournalFault if the file contains no key of this kind."""
    try:
        private = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise JournalFault(
            "journal_key_unreadable", path, "no private key", "an Ed25519 private key (PEM)"
        ) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise JournalFault("journal_key_unreadable", path, "a key of another type", "an Ed25519 key (PEM)")
    if (found := key_kind(pem)) != kind:
        raise JournalFault("journal_key_unreadable", path, _KEY_OF[found], _KEY_OF[kind])
    return Key(private)


def _load(path: Path, kind: KeyKind, forbidden: int, expected: str) -> Key:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        found = f"no readable file ({error.strerror})"
        raise JournalFault("journal_key_missing", path, found, _KEY_OF[kind]) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise JournalFault(
                "journal_key_unreadable", path, "a path that is not a regular file", "a key file"
            )
        if mode & forbidden:
            found = f"mode {stat.S_IMODE(mode):04o}, which allows others to read the key"
            raise JournalFault("journal_key_exposed", path, found, expected)
        pem = os.read(descriptor, MAX_KEY_BYTES)
    finally:
        os.close(descriptor)
    return read_key(pem, kind, path)


if __name__ == "__main__":
    import sys

    # systemd/install.sh pipes the key to systemd-creds. The unencrypted key never reaches the disk.
    sys.stdout.buffer.write(new_pem())
