"""The creation, rotation and revocation of keys, and the keys' public history.

The history of a table's key is in the journal's rows. A settlement engine reports the history of its key. The
history of any other key is in `FILE.history.jsonl` beside the key's file. This history contains only public
keys and, for sensor nodes, fingerprints. Each step is signed with the key that it replaces or revokes, unless
that key is lost or is a node's key.
"""

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from controller.app.identity import read_approved, write_approved
from controller.app.options import APPROVED_FILE, ENGINE_PIN_FILE
from controller.journal.chain import WallTime
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation
from controller.journal.keys import (
    CREDENTIAL,
    Key,
    PublicKey,
    load_key,
    locked_folder,
    new_pem,
    read_key,
    write_key,
)
from controller.journal.opening import Authorization, KeyReplacement, check_replaceable, replace_key
from controller.publish.identity import read_pin, write_pin
from drivers.node.device import KEY, KEY_DIGITS

Kind = Literal["console", "release", "node"]
PUBLISHED = frozenset({"console", "release"})
"""Kinds of keys whose public key is stored in a `.pub` file, for programs that verify signatures."""
NODE_BYTES = 16
"""The size of a sensor node's HMAC key in bytes; the file contains it as 32 hexadecimal digits."""


class KeyFault(Exception):
    """A failed operation on a key file; the message never shows a secret key."""


class KeyStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a key's history: the replacement of the key `old` by `new`, or the revocation of `old`.

    `old` and `new` are public keys in hex, or, for a node's key, the first 32 digits of its SHA-256.
    `signature` is the old key's signature over the step, and `proof` is the new key's signature over the old
    key. A node's step has neither. A step with `lost` has no `signature`.
    """

    kind: str
    old: str
    new: str = ""
    who: str
    reason: str
    lost: bool = False
    proof: str = ""
    signature: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(KeyStep).decode


def make(kind: Kind, path: Path) -> str:
    """Create a key in a new file that only the owner can read; return the public key or fingerprint."""
    with locked_folder_of(path):
        if kind in PUBLISHED and _public_file(path) == path:
            raise KeyFault(f"{path}: .pub is for public keys; choose a name that does not end with .pub")
        write_key(path, _new_key(kind))
        _publish(kind, path, public_of(kind, path))
        return public_of(kind, path)


def public_of(kind: Kind, path: Path) -> str:
    """Return a key's public key in hex, or the fingerprint of a node's key."""
    if kind == "node":
        text = path.read_text(encoding="ascii").strip()
        if not KEY.fullmatch(text):
            raise KeyFault(f"{path}: found text that is not a key, expected {KEY_DIGITS}")
        return sha256(text.lower().encode()).hexdigest()[:32]
    return load_key(path, kind).public.raw.hex()


def rotate(kind: Kind, path: Path, *, who: str, reason: str, lost: bool = False) -> KeyStep:
    """Replace a key and return the step; a `lost` key does not sign the step.

    Raises KeyFault if the key's history is invalid or ends with a different key, or if a key declared lost
    exists; JournalFault or OSError if the key can't be read.
    """
    with locked_folder_of(path):
        return _rotate(kind, path, who, reason, lost=lost)


def _rotate(kind: Kind, path: Path, who: str, reason: str, *, lost: bool) -> KeyStep:
    if lost and path.exists():
        raise KeyFault(
            f"{path}: the key was declared lost, but its file exists; move the file elsewhere, or rotate"
            " the key"
        )
    old = None if lost else _signing_key(kind, path)
    # Read the history first, to detect the history of a different key before any change.
    steps = history(kind, path)
    before = (steps[-1].new if steps else "") if lost else public_of(kind, path)
    new_file = path.with_name(path.name + ".new")
    if (begun := _interrupted_step(kind, new_file, before, steps)) is not None:
        _publish(kind, path, begun.new)
        _move_into_place(new_file, path)
        return begun
    _require_newest(path, before, steps)
    new_file.unlink(missing_ok=True)
    write_key(new_file, _new_key(kind), like=None if lost else path.lstat())
    step = KeyStep(kind=kind, old=before, new=public_of(kind, new_file), who=who, reason=reason, lost=lost)
    if kind != "node":
        proof = load_key(new_file, kind).sign_handover(bytes.fromhex(before)).hex() if before else ""
        step = msgspec.structs.replace(step, proof=proof)
    _append(path, step, old)
    _publish(kind, path, step.new)  # before the move, to end trust in the old key first
    _move_into_place(new_file, path)
    return step


def _public_file(path: Path) -> Path:
    return path.with_suffix(".pub")


def _publish(kind: Kind, path: Path, public: str) -> None:
    """Write the public key to a world-readable file beside the key, owned by the folder's owner."""
    if kind not in PUBLISHED:
        return
    draft = _public_file(path).with_name(f"{_public_file(path).name}.new")
    draft.unlink(missing_ok=True)
    with open(draft, "xb", opener=_owner_writable) as file:
        os.fchmod(file.fileno(), 0o644)
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(public.encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_public_file(path))


def _interrupted_step(kind: Kind, new_file: Path, before: str, steps: Sequence[KeyStep]) -> KeyStep | None:
    """Return the step of a rotation that was interrupted before the new key was in place, if any."""
    if not steps or steps[-1].old != before or not steps[-1].new or not new_file.exists():
        return None
    return steps[-1] if public_of(kind, new_file) == steps[-1].new else None


def _require_newest(path: Path, key: str, steps: Sequence[KeyStep]) -> None:
    """Raise KeyFault unless this key is the newest in its history."""
    if not steps or steps[-1].new == key or not key:
        return
    if not steps[-1].new:
        raise KeyFault(
            f"{path}: {steps[-1].who} revoked key {key[:16]} ({steps[-1].reason}); move the file elsewhere,"
            " then run: tablectl keys replace"
        )
    raise KeyFault(
        f"{path}: found key {key[:16]}, expected its replacement {steps[-1].new[:16]}; restore the"
        " replacement, or move the file elsewhere and run: tablectl keys replace"
    )


def _move_into_place(new_file: Path, path: Path) -> None:
    new_file.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked_folder_of(path: Path) -> Iterator[None]:
    """Hold the lock on changes to the key's folder; raises KeyFault if another command holds it."""
    try:
        with locked_folder(path.parent):
            yield
    except BlockingIOError as error:
        raise KeyFault(
            f"{path.parent}: another command is changing keys in this folder, so nothing was changed; repeat"
            " this command when that one has finished"
        ) from error


def revoke(kind: Kind, path: Path, *, who: str, reason: str) -> KeyStep:
    """Delete a key without a replacement; return the step, signed with the key unless it is a node's key."""
    with locked_folder_of(path):
        step = KeyStep(kind=kind, old=public_of(kind, path), who=who, reason=reason)
        steps = history(kind, path)
        if steps and steps[-1].old == step.old and not steps[-1].new:
            step = steps[-1]  # An earlier revocation was interrupted before it deleted the key.
        else:
            _require_newest(path, step.old, steps)
            _append(path, step, _signing_key(kind, path))
        if kind in PUBLISHED:
            _public_file(path).unlink(missing_ok=True)
        path.unlink()
        return step


def history(kind: Kind, path: Path) -> list[KeyStep]:
    """Return a key's verified history.

    Raises:
        KeyFault: the history is for a different kind of key, or a step is unreadable, unsigned or out of
            sequence.
    """
    steps: list[KeyStep] = []
    for number, step in enumerate(_read(path), 1):
        where = f"{_history_of(path)}, line {number}"
        if step.kind != kind:
            raise KeyFault(
                f"{where}: found the history of a {step.kind} key, expected the history of a {kind} key"
            )
        if steps and step.old != steps[-1].new:
            raise KeyFault(
                f"{where}: found a step from key {step.old[:16]}, expected a step from {steps[-1].new[:16]}"
            )
        if step.kind != "node" and not _signed(step):
            raise KeyFault(
                f"{where}: found a step with a missing or invalid signature, expected a validly signed step"
            )
        steps.append(step)
    return steps


def follows(steps: Sequence[KeyStep], trusted: str, key: str) -> bool:
    """Return whether a key is the trusted key, or its successor through signed steps.

    A revocation or a `lost` step breaks the succession. A person must then add the new key to the trusted
    keys.
    """
    if key == trusted:
        return True
    at = trusted
    for step in steps:
        if step.old == at and step.new and not step.lost and _signed(step):
            at = step.new
        elif at != trusted:
            return False
    return at == key


def unseal(sealed: Path, name: str) -> Key:
    """Return a key that systemd-creds sealed to this machine, decrypted only in memory."""
    command = ["systemd-creds", "decrypt", f"--name={name}", str(sealed), "-"]
    return read_key(_creds(command, b"", sealed), "table", sealed)


def seal_key(pem: bytes, sealed: Path, name: str) -> None:
    """Seal a key to this machine in a file; an error leaves no file behind."""
    draft = sealed.with_name(sealed.name + ".sealing")
    try:
        _creds(["systemd-creds", "encrypt", f"--name={name}", "-", str(draft)], pem, sealed)
        written = draft.read_bytes() if draft.exists() else b""
        opened = _creds(["systemd-creds", "decrypt", f"--name={name}", str(draft), "-"], b"", sealed)
        if pem in written:
            raise KeyFault(
                f"{sealed}: systemd-creds wrote the key without encrypting it; nothing was changed; check"
                " systemd-creds, then try again"
            )
        if opened != pem:
            raise KeyFault(
                f"{sealed}: the key that systemd-creds sealed does not decrypt to the original key; nothing"
                " was changed; check systemd-creds, then try again"
            )
        draft.chmod(0o600)
        draft.replace(sealed)
    finally:
        draft.unlink(missing_ok=True)


def _creds(command: list[str], stdin: bytes, sealed: Path) -> bytes:
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)  # noqa: S603 - our own
    except OSError as error:
        raise KeyFault(
            f"{sealed}: can't run systemd-creds ({error.strerror}); install systemd 250 or later"
        ) from error
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()
        raise KeyFault(f"{sealed}: systemd-creds refused the key: {why}; nothing was changed")
    return done.stdout


def _new_key(kind: Kind) -> bytes:
    return os.urandom(NODE_BYTES).hex().encode() + b"\n" if kind == "node" else new_pem(kind)


def _signing_key(kind: Kind, path: Path) -> Key | None:
    public_of(kind, path)
    return None if kind == "node" else load_key(path, kind)


def _append(path: Path, step: KeyStep, old: Key | None) -> None:
    if old is not None:
        signature = old.sign_history(_encode(step)).hex()
        step = msgspec.structs.replace(step, signature=signature)
    with open(_history_of(path), "ab", opener=_not_a_link) as file:
        file.truncate(len(_complete_lines(path)))
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(_encode(step) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _owner_writable(path: str, flags: int) -> int:
    return os.open(path, flags, 0o644)


def _not_a_link(path: str, flags: int) -> int:
    """Open a regular file; refuse a link, which a service could create in a folder where root writes."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise KeyFault(f"{path}: found a symbolic link, expected a file; find out who created it") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise KeyFault(f"{path}: found a hard link or a special file, expected a regular file; remove it")
    return descriptor


def _signed(step: KeyStep) -> bool:
    try:
        old = PublicKey(bytes.fromhex(step.old)) if step.old else None
        signature = bytes.fromhex(step.signature)
        if step.new and old is not None:
            new = PublicKey(bytes.fromhex(step.new))
            if not new.verify_handover(old.raw, bytes.fromhex(step.proof)):
                return False
    except ValueError:
        return False
    unsigned = _encode(msgspec.structs.replace(step, signature=""))
    return step.lost or (old is not None and old.verify_history(unsigned, signature))


def _read(path: Path) -> Iterator[KeyStep]:
    file = _history_of(path)
    for number, line in enumerate(_complete_lines(path).splitlines(), 1):
        try:
            yield _decode(line)
        except msgspec.MsgspecError as error:
            raise KeyFault(
                f"{file}, line {number}: found unreadable text ({error}), expected an entry in the history"
            ) from None


def _complete_lines(path: Path) -> bytes:
    """Return a history's complete lines, without a last line that a power cut left incomplete."""
    file = _history_of(path)
    written = file.read_bytes() if file.exists() else b""
    return written[: written.rfind(b"\n") + 1]


def _history_of(path: Path) -> Path:
    return path.with_name(path.name + ".history.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """The file of a table's key: unencrypted, or sealed to this machine by systemd-creds."""

    file: Path
    sealed: bool = False

    def read(self) -> Key:
        """Return the key."""
        return unseal(self.file, CREDENTIAL) if self.sealed else load_key(self.file)

    def write(self, pem: bytes) -> None:
        """Write a new key."""
        if self.sealed:
            seal_key(pem, self.file, CREDENTIAL)
        else:
            write_key(self.file, pem)


def replace_table_key(
    place: JournalLocation,
    where: KeyPlace,
    authorization: Authorization,
    *,
    lost: bool,
    wall: Callable[[], WallTime],
) -> tuple[KeyReplacement, str]:
    """Replace a table's key; return the row that records the replacement, and the new public key in hex.

    The function writes the new key to `FILE.new`, records it in the journal, and then replaces the old file.
    A second call completes an interrupted replacement.

    Raises JournalFault if a controller is running, the journal can't be continued, or the old key is not the
    journal's; KeyFault if systemd-creds fails, or if a key declared lost exists.
    """
    with locked_folder_of(where.file):
        return _replace_table_key(place, where, authorization, lost=lost, wall=wall)


def _replace_table_key(
    place: JournalLocation,
    where: KeyPlace,
    authorization: Authorization,
    *,
    lost: bool,
    wall: Callable[[], WallTime],
) -> tuple[KeyReplacement, str]:
    if lost and where.file.exists():
        raise KeyFault(
            f"{where.file}: the key was declared lost, but its file exists; move this file elsewhere, or"
            " rotate the key"
        )
    old = None if lost else where.read()
    new_place = KeyPlace(file=where.file.with_name(where.file.name + ".new"), sealed=where.sealed)
    begun = _readable(new_place)
    check_replaceable(place, old, begun)
    if begun is None:
        new_place.file.unlink(missing_ok=True)  # Any key in this file is incomplete and not in the journal.
        new_place.write(new_pem())
    new = begun or new_place.read()
    replaced = replace_key(place, old, new, authorization, wall())
    if old is not None:
        _sign_again(place.journal.parent, old, new)
    new_place.file.replace(where.file)
    return replaced, new.public.raw.hex()


def _readable(new_place: KeyPlace) -> Key | None:
    """Return the new key of an interrupted replacement; None if there is none or it is incomplete."""
    try:
        return new_place.read() if new_place.file.exists() else None
    except JournalFault as fault:
        if fault.code != "journal_key_unreadable":
            raise
        return None


def _sign_again(folder: Path, old: Key, new: Key) -> None:
    """Sign the approved identity and the learned engine key with the new key."""
    approved = read_approved(folder / APPROVED_FILE, old)
    if approved is not None:
        write_approved(folder / APPROVED_FILE, new, approved)
    engine_key = read_pin(folder / ENGINE_PIN_FILE, old.public)
    if engine_key is not None:
        write_pin(folder / ENGINE_PIN_FILE, new, engine_key, "the table's key was replaced")
