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
from controller.journal.keys import Key, load_key, new_key
from controller.publish.events import endorse
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
            return EngineKey(load_key(credential, "engine", by_acl=True), _endorsed(path))
        if not path.exists():
            new_key(path, "engine")
        return EngineKey(load_key(path, "engine"), _endorsed(path))
    except JournalFault as fault:
        raise SettlementFault(
            "key_unusable", str(path), fault.found, "the settlement engine's key"
        ) from fault
    except OSError as error:
        found = error.strerror or str(error)
        raise SettlementFault("key_unusable", str(path), found, "a folder that can be written") from error


def rotate(path: Path) -> EngineKey:
    """Put a new key in the place of this one, signed by it; the old one is kept beside it as `.before`.

    Raises:
        SettlementFault: there is no key to rotate, or the disk does not take another.
    """
    before = engine_key(path, {})
    made = path.with_suffix(".new")
    try:
        made.unlink(missing_ok=True)
        public = new_key(made, "engine")
        signature = endorse(public.raw.hex(), before.key)
        _endorsement_of(path).write_text(signature, encoding="ascii")
        path.replace(path.with_suffix(".before"))
        made.replace(path)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        found = error.strerror or str(error)
        raise SettlementFault("key_unusable", str(path), found, "a folder that can be written") from error
    return EngineKey(load_key(path, "engine"), signature)


def _endorsed(path: Path) -> str | None:
    file = _endorsement_of(path)
    return file.read_text(encoding="ascii").strip() if file.exists() else None


def _endorsement_of(path: Path) -> Path:
    return path.with_suffix(".endorsed")
