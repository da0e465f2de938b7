"""The settlement engine's own key, with which it signs what it answers: Ed25519, made at the first start.

A rotated key is shown with the signature of the one before, so that tables which believe that one go along.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from controller.journal.faults import JournalFault
from controller.journal.keys import Key, PublicKey, alone_in, load_key, new_key
from controller.publish.events import endorse, is_endorsed
from controller.settlement_service.faults import SettlementFault

CREDENTIAL = "settlement-key"
"""The credential's name in the unit: LoadCredentialEncrypted=settlement-key:/etc/table/settlement.cred."""
FOLDER = Path("/var/lib/table")
"""Where the key lies for an engine whose database is no file."""


class EngineKey(NamedTuple):
    """The engine's key, and (once rotated) the signature of the key before over its public half, in hex."""

    key: Key
    endorsed: str | None = None

    @property
    def public(self) -> str:
        """The public key in hexadecimal digits, as a table's `engine_key` has it."""
        return self.key.public.raw.hex()


def key_path(database: str) -> Path:
    """Return where an engine's key lies: `settlement.key` beside an SQLite file, else in /var/lib/table."""
    try:
        url = make_url(database)
    except ArgumentError:
        return FOLDER / "settlement.key"
    if url.drivername.startswith("sqlite") and url.database and url.database != ":memory:":
        return Path(url.database).absolute().with_suffix(".key")
    return FOLDER / "settlement.key"


def engine_key(path: Path, environ: Mapping[str, str]) -> EngineKey:
    """Read the engine's key from its credential or file, making one where there never was any.

    Raises:
        SettlementFault: the key can't be read or made.
    """
    directory = environ.get("CREDENTIALS_DIRECTORY")
    credential = None if directory is None else Path(directory) / CREDENTIAL
    try:
        if credential is not None and credential.exists():
            held = load_key(credential, "engine", by_acl=True)
            return EngineKey(held, _endorsed(path, held))
        if not path.exists() and not _finish(path):
            new_key(path, "engine")
        held = load_key(path, "engine")
        return EngineKey(held, _endorsed(path, held))
    except JournalFault as fault:
        raise SettlementFault(
            "key_unusable", str(path), fault.found, "the settlement engine's key"
        ) from fault
    except OSError as error:
        found = error.strerror or str(error)
        raise SettlementFault("key_unusable", str(path), found, "a folder that can be written") from error


def rotate(path: Path) -> EngineKey:
    """Put a new key in the place of this one, signed by it; the old one is kept beside it as `.before`.

    Cut off at any moment, done again it goes on where it was, and an engine that starts meanwhile has one of
    the two keys.

    Raises:
        SettlementFault: there is no key to rotate, another command rotates it, or the disk takes no other.
    """
    try:
        with alone_in(path.parent):
            return _rotate(path)
    except BlockingIOError as error:
        found, expected = "another command that changes keys there", "none; try again when it is done"
        raise SettlementFault("key_unusable", str(path), found, expected) from error
    except JournalFault as fault:
        raise SettlementFault("key_unusable", str(path), fault.found, fault.expected) from fault
    except OSError as error:
        found = error.strerror or str(error)
        raise SettlementFault("key_unusable", str(path), found, "a folder that can be written") from error


def _rotate(path: Path) -> EngineKey:
    before = engine_key(path, {})
    made, kept = path.with_suffix(".new"), path.with_suffix(".before")
    if not (_names_its_key(path) and _finish(path)):
        made.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)
        os.link(path, kept)
        public = new_key(made, "engine")
        _write_endorsement(path, f"{endorse(public.raw.hex(), before.key)} {before.public}")
        made.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    held = load_key(path, "engine")
    return EngineKey(held, _endorsed(path, held))


def _finish(path: Path) -> bool:
    """Let the key of a rotation that was cut off take its place, if it is endorsed; return whether it has."""
    made = path.with_suffix(".new")
    try:
        if not made.exists() or _endorsed(path, load_key(made, "engine")) is None:
            return False
    except JournalFault:
        return False
    made.replace(path)
    return True


def _endorsed(path: Path, held: Key) -> str | None:
    """Return the signature of the key before over this one; None where that was made for another.

    The file holds it with that key's public half; releases before this one wrote the signature alone.
    """
    file = _endorsement_of(path)
    if not file.exists():
        return None
    try:
        signature, _, before = file.read_text(encoding="ascii").strip().partition(" ")
        fits = not before or is_endorsed(held.public.raw.hex(), signature, PublicKey(bytes.fromhex(before)))
    except ValueError:
        return None
    return signature if fits and signature else None


def _names_its_key(path: Path) -> bool:
    """Return whether the endorsement says whose it is: else it may be of a rotation before."""
    file = _endorsement_of(path)
    return file.exists() and b" " in file.read_bytes().strip()


def _write_endorsement(path: Path, words: str) -> None:
    file = _endorsement_of(path)
    draft = file.with_name(file.name + ".new")
    with draft.open("w", encoding="ascii") as stream:
        stream.write(words)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(file)


def _endorsement_of(path: Path) -> Path:
    return path.with_suffix(".endorsed")
