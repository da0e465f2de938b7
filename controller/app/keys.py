"""Keys in files of their own: made, rotated and revoked, with a history that anybody may read.

A table's and an engine's key have their history where their signatures are trusted: in the journal's rows,
and in what the engine shows. For every other key it lies beside the file as `.history.jsonl`: public keys
only, each step signed by the key that it ends.
"""

import errno
import os
import re
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

Kind = Literal["console", "release", "node"]
PUBLISHED = frozenset({"console", "release"})
"""Keys whose public key lies beside them as `.pub`, for those who trust what they sign."""
NODE_BYTES = 16
"""A sensor node's HMAC key: 128 bits, as 32 hexadecimal digits."""
_NODE = re.compile(r"[0-9a-fA-F]{32,128}")


class KeyFault(Exception):
    """A key file can't be used in this way: what was found, what was expected, what to do. It never shows a
    key."""


class KeyStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a key's history: it was replaced by `new`, or revoked if there is none.

    Keys are public keys in hex; for a node's key, which has none, the first 32 digits of its SHA-256.
    `signature` is the old key's (for a node's key, none), `proof` the new one's signature of the old.
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
    """Create a key in a new file that only its owner can read; return its public key or fingerprint."""
    with alone_with(path):
        if kind in PUBLISHED and _public_of(path) == path:
            raise KeyFault(f"{path}: found the name of a public key's file, expected another ending")
        write_key(path, _fresh(kind))
        _publish(kind, path, shown(kind, path))
        return shown(kind, path)


def shown(kind: Kind, path: Path) -> str:
    """Return a key's public key, or the fingerprint of a node's key."""
    if kind == "node":
        text = path.read_text(encoding="ascii").strip()
        if not _NODE.fullmatch(text):
            raise KeyFault(f"{path}: found something else, expected 32 to 128 hexadecimal digits")
        return sha256(text.lower().encode()).hexdigest()[:32]
    return load_key(path, kind).public.raw.hex()


def rotate(kind: Kind, path: Path, *, who: str, reason: str, lost: bool = False) -> KeyStep:
    """Replace a key; if the old one is `lost`, only the person's statement joins the two.

    Raises KeyFault if there is no such key, or if there is one although it is said to be lost.
    """
    with alone_with(path):
        return _rotate(kind, path, who, reason, lost=lost)


def _rotate(kind: Kind, path: Path, who: str, reason: str, *, lost: bool) -> KeyStep:
    if lost and path.exists():
        raise KeyFault(f"{path}: found a key, expected it to be lost; move it away, or rotate it")
    old = None if lost else _held(kind, path)
    steps = history(kind, path)  # One that is not this key's is found before anything is made.
    before = (steps[-1].new if steps else "") if lost else shown(kind, path)
    made = path.with_name(path.name + ".new")
    if (begun := _begun(kind, made, before, steps)) is not None:
        _publish(kind, path, begun.new)
        _take_place(made, path)
        return begun
    _must_be_last(path, before, steps)
    made.unlink(missing_ok=True)
    write_key(made, _fresh(kind), like=None if lost else path.lstat())
    step = KeyStep(kind=kind, old=before, new=shown(kind, made), who=who, reason=reason, lost=lost)
    if kind != "node":
        proof = load_key(made, kind).sign_handover(bytes.fromhex(before)).hex() if before else ""
        step = msgspec.structs.replace(step, proof=proof)
    _append(path, step, old)
    _publish(kind, path, step.new)  # first, so that a stolen key is believed no longer than this
    _take_place(made, path)
    return step


def _public_of(path: Path) -> Path:
    return path.with_suffix(".pub")


def _publish(kind: Kind, path: Path, public: str) -> None:
    """Write a key's public key beside it, readable by all, owned by the owner of its folder."""
    if kind not in PUBLISHED:
        return
    draft = _public_of(path).with_name(f"{_public_of(path).name}.new")
    draft.unlink(missing_ok=True)
    with open(draft, "xb", opener=_not_for_others_to_write) as file:
        os.fchmod(file.fileno(), 0o644)
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(public.encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_public_of(path))


def _begun(kind: Kind, made: Path, before: str, steps: Sequence[KeyStep]) -> KeyStep | None:
    """Return the step of a rotation that was cut off before its new key took the old one's place."""
    if not steps or steps[-1].old != before or not steps[-1].new or not made.exists():
        return None
    return steps[-1] if shown(kind, made) == steps[-1].new else None


def _must_be_last(path: Path, key: str, steps: Sequence[KeyStep]) -> None:
    """Make sure that a history continues from this key, so that its next step can follow."""
    if not steps or steps[-1].new == key or not key:
        return
    if not steps[-1].new:
        raise KeyFault(
            f"{path}: found key {key[:16]}, which was revoked: {steps[-1].who}, {steps[-1].reason}; move it"
            " away, then: tablectl keys replace"
        )
    raise KeyFault(
        f"{path}: found key {key[:16]}, expected {steps[-1].new[:16]}, which took over from it; put that one"
        " back, or move this one away, then: tablectl keys replace"
    )


def _take_place(made: Path, path: Path) -> None:
    made.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Hold the lock on changes to this key's folder; raises KeyFault if another command has it."""
    try:
        with locked_folder(path.parent):
            yield
    except BlockingIOError as error:
        raise KeyFault(
            f"{path.parent}: found another command that changes keys there, expected none; nothing was"
            " changed: try again when it is done"
        ) from error


def revoke(kind: Kind, path: Path, *, who: str, reason: str) -> KeyStep:
    """End a key without a successor: it is gone, and its history says so under its own signature."""
    with alone_with(path):
        step = KeyStep(kind=kind, old=shown(kind, path), who=who, reason=reason)
        steps = history(kind, path)
        if steps and steps[-1].old == step.old and not steps[-1].new:
            step = steps[-1]  # It was cut off before the key was gone.
        else:
            _must_be_last(path, step.old, steps)
            _append(path, step, _held(kind, path))
        if kind in PUBLISHED:
            _public_of(path).unlink(missing_ok=True)
        path.unlink()
        return step


def history(kind: Kind, path: Path) -> list[KeyStep]:
    """Read and check a key's history.

    Raises:
        KeyFault: it is of another kind of key, a step does not follow from the one before, or the key that it
            ends did not sign it.
    """
    steps: list[KeyStep] = []
    for number, step in enumerate(_read(path), 1):
        where = f"{_history_of(path)}, line {number}"
        if step.kind != kind:
            raise KeyFault(f"{where}: found a {step.kind}'s history, expected a {kind}'s")
        if steps and step.old != steps[-1].new:
            raise KeyFault(f"{where}: found the end of key {step.old[:16]}, expected {steps[-1].new[:16]}'s")
        if step.kind != "node" and not _signed(step):
            raise KeyFault(f"{where}: found a step that its keys did not sign, expected both signatures")
        steps.append(step)
    return steps


def follows(steps: Sequence[KeyStep], believed: str, key: str) -> bool:
    """Return whether a key is the trusted one, or took over from it step by step under signatures.

    A step on a person's statement alone (`lost`) and a revocation lead nowhere: whoever trusts the key must
    be told.
    """
    if key == believed:
        return True
    at = believed
    for step in steps:
        if step.old == at and step.new and not step.lost and _signed(step):
            at = step.new
        elif at != believed:
            return False
    return at == key


def unseal(sealed: Path, name: str) -> Key:
    """Read a key that systemd-creds sealed to this machine; it is in the clear only in memory."""
    words = ["systemd-creds", "decrypt", f"--name={name}", str(sealed), "-"]
    return read_key(_creds(words, b"", sealed), "table", sealed)


def seal_key(pem: bytes, sealed: Path, name: str) -> None:
    """Seal a key to this machine in a file; nothing is left behind if that fails."""
    made = sealed.with_name(sealed.name + ".sealing")
    try:
        _creds(["systemd-creds", "encrypt", f"--name={name}", "-", str(made)], pem, sealed)
        written = made.read_bytes() if made.exists() else b""
        opened = _creds(["systemd-creds", "decrypt", f"--name={name}", str(made), "-"], b"", sealed)
        if pem in written or opened != pem:
            raise KeyFault(
                f"{sealed}: found that systemd-creds did not seal the key, expected one that opens on this"
                " machine alone; nothing was changed"
            )
        made.chmod(0o600)
        made.replace(sealed)
    finally:
        made.unlink(missing_ok=True)


def _creds(words: list[str], given: bytes, sealed: Path) -> bytes:
    try:
        done = subprocess.run(words, input=given, capture_output=True, check=False)  # noqa: S603 - our own words
    except OSError as error:
        raise KeyFault(
            f"{sealed}: found no systemd-creds ({error.strerror}), expected systemd 250"
        ) from error
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()
        raise KeyFault(f"{sealed}: systemd-creds refused it: {why}; nothing was changed")
    return done.stdout


def _fresh(kind: Kind) -> bytes:
    return os.urandom(NODE_BYTES).hex().encode() + b"\n" if kind == "node" else new_pem(kind)


def _held(kind: Kind, path: Path) -> Key | None:
    shown(kind, path)
    return None if kind == "node" else load_key(path, kind)


def _append(path: Path, step: KeyStep, old: Key | None) -> None:
    if old is not None:
        signature = old.sign_history(_encode(step)).hex()
        step = msgspec.structs.replace(step, signature=signature)
    with open(_history_of(path), "ab", opener=_no_link) as file:
        file.truncate(len(_whole_lines(path)))
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(_encode(step) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _not_for_others_to_write(path: str, flags: int) -> int:
    return os.open(path, flags, 0o644)


def _no_link(path: str, flags: int) -> int:
    """Open a file of its own: root may write here in a folder of a service, which could lay a link there."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise KeyFault(f"{path}: found a symbolic link, expected a file; find who laid it there") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise KeyFault(f"{path}: found a link or no file, expected a file with one name; move it away")
    return descriptor


def _signed(step: KeyStep) -> bool:
    try:
        old = PublicKey(bytes.fromhex(step.old)) if step.old else None
        signature = bytes.fromhex(step.signature)
        if step.new and old is not None:
            taken_over = PublicKey(bytes.fromhex(step.new)).signed_handover(
                old.raw, bytes.fromhex(step.proof)
            )
            if not taken_over:
                return False
    except ValueError:
        return False
    unsigned = _encode(msgspec.structs.replace(step, signature=""))
    return step.lost or (old is not None and old.signed_history(unsigned, signature))


def _read(path: Path) -> Iterator[KeyStep]:
    file = _history_of(path)
    for number, line in enumerate(_whole_lines(path).splitlines(), 1):
        try:
            yield _decode(line)
        except msgspec.MsgspecError as error:
            raise KeyFault(
                f"{file}, line {number}: found {error}, expected a step of a key's history"
            ) from None


def _whole_lines(path: Path) -> bytes:
    """Return a history without the end of a line that a power cut truncated, which nobody was told of."""
    file = _history_of(path)
    written = file.read_bytes() if file.exists() else b""
    return written[: written.rfind(b"\n") + 1]


def _history_of(path: Path) -> Path:
    return path.with_name(path.name + ".history.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where a table's key is: in a file in the clear, or sealed to this machine by systemd-creds."""

    file: Path
    sealed: bool = False

    def read(self) -> Key:
        """Read it."""
        return unseal(self.file, CREDENTIAL) if self.sealed else load_key(self.file)

    def write(self, pem: bytes) -> None:
        """Write it if there is none."""
        if self.sealed:
            seal_key(pem, self.file, CREDENTIAL)
        else:
            write_key(self.file, pem)


def replace_table_key(
    place: JournalLocation, where: KeyPlace, word: Authorization, *, lost: bool, wall: Callable[[], WallTime]
) -> tuple[KeyReplacement, str]:
    """Replace a table's key; return the row that records it, and the new public key in hex.

    If it is cut off at any moment, repeating it continues where it was: the new key lies in `FILE.new` before
    the journal records it, and takes the old one's place afterwards.

    Raises JournalFault if a controller is running, the journal can't be continued, or the old key is not its
    own; KeyFault if systemd-creds refuses it, or if a key that is said to be lost is there.
    """
    with alone_with(where.file):
        return _replace_table_key(place, where, word, lost=lost, wall=wall)


def _replace_table_key(
    place: JournalLocation, where: KeyPlace, word: Authorization, *, lost: bool, wall: Callable[[], WallTime]
) -> tuple[KeyReplacement, str]:
    if lost and where.file.exists():
        raise KeyFault(f"{where.file}: found a key, expected it to be lost; move it away, or rotate it")
    old = None if lost else where.read()
    made = KeyPlace(file=where.file.with_name(where.file.name + ".new"), sealed=where.sealed)
    begun = _readable(made)
    check_replaceable(place, old, begun)
    if begun is None:
        made.file.unlink(missing_ok=True)  # Half a key, of which the journal knows nothing.
        made.write(new_pem())
    new = begun or made.read()
    replaced = replace_key(place, old, new, word, wall())
    if old is not None:
        _sign_anew(place.journal.parent, old, new)
    made.file.replace(where.file)
    return replaced, new.public.raw.hex()


def _readable(made: KeyPlace) -> Key | None:
    """Return the key made by a rotation that was cut off; None if there is none, or only half of one."""
    try:
        return made.read() if made.file.exists() else None
    except JournalFault as fault:
        if fault.code != "journal_key_unreadable":
            raise
        return None


def _sign_anew(folder: Path, old: Key, new: Key) -> None:
    """Keep what was approved and learned under the old key, so that a person need not do it again."""
    approved = read_approved(folder / APPROVED_FILE, old)
    if approved is not None:
        write_approved(folder / APPROVED_FILE, new, approved)
    engine_key = read_pin(folder / ENGINE_PIN_FILE, old.public)
    if engine_key is not None:
        write_pin(folder / ENGINE_PIN_FILE, new, engine_key, "the table's key was replaced")
