"""The Ed25519 key with which the settlement engine signs its answers. It is created at the first start.

After a rotation, the new key is published with the previous key's signature. Tables that trust the previous
key then accept the new key.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from controller.journal.faults import JournalFault
from controller.journal.keys import Key, PublicKey, load_key, locked_folder, new_key
from controller.publish.events import MAX_EARLIER, Endorsement, endorse, is_endorsed
from controller.settlement_service.faults import SettlementFault

CREDENTIAL = "settlement-key"
"""The name of the systemd credential: LoadCredentialEncrypted=settlement-key:/etc/table/settlement.cred."""
FOLDER = Path("/var/lib/table")
"""The key's folder if the engine's database is not a file."""


class EngineKey(NamedTuple):
    """The engine's key, and the endorsements of its rotations, the newest first."""

    key: Key
    endorsements: tuple[Endorsement, ...] = ()

    @property
    def endorsed(self) -> str | None:
        """The previous key's signature over this public key, in hex; None if there was no rotation."""
        return self.endorsements[0].endorsed if self.endorsements else None

    @property
    def earlier(self) -> tuple[Endorsement, ...]:
        """The endorsements of earlier rotations, for tables that missed some of them."""
        return self.endorsements[1:]

    @property
    def public(self) -> str:
        """The public key in hex, as in a table's `engine_key`."""
        return self.key.public.raw.hex()


def key_path(database: str) -> Path:
    """Return the path of an engine's key: its SQLite file's path with the suffix `.key`, or
    /var/lib/table/settlement.key if its database is not a file.
    """
    try:
        url = make_url(database)
    except ArgumentError:
        return FOLDER / "settlement.key"
    if url.drivername.startswith("sqlite") and url.database and url.database != ":memory:":
        return Path(url.database).absolute().with_suffix(".key")
    return FOLDER / "settlement.key"


def engine_key(path: Path, environ: Mapping[str, str]) -> EngineKey:
    """Return the engine's key from its credential or file. If neither exists, create the file.

    Raises SettlementFault if the key can't be read or created.
    """
    directory = environ.get("CREDENTIALS_DIRECTORY")
    credential = None if directory is None else Path(directory) / CREDENTIAL
    try:
        if credential is not None and credential.exists():
            held = load_key(credential, "engine", by_acl=True)
            return EngineKey(held, _endorsements(path, held))
        if not path.exists() and not _finish(path):
            new_key(path, "engine")
        held = load_key(path, "engine")
        return EngineKey(held, _endorsements(path, held))
    except JournalFault as fault:
        raise SettlementFault(
            "key_unusable", str(path), fault.found, "the settlement engine's key"
        ) from fault
    except OSError as error:
        found = f"a file that can't be written ({error.strerror or error})"
        expected = "a folder that this user can write to"
        raise SettlementFault("key_unusable", str(path), found, expected) from error


def rotate(path: Path) -> EngineKey:
    """Replace the key with a new key that the old key has signed; keep the old key next to it as `.before`.

    The next call completes an interrupted rotation. An engine started in between uses one of the two keys.

    Raises SettlementFault if the key can't be read, another command is changing keys in the folder, or the
    new key can't be written.
    """
    try:
        with locked_folder(path.parent):
            return _rotate(path)
    except BlockingIOError as error:
        found, expected = (
            "another command that is changing keys there",
            "none; repeat this command when that one has finished",
        )
        raise SettlementFault("key_unusable", str(path), found, expected) from error
    except JournalFault as fault:
        raise SettlementFault("key_unusable", str(path), fault.found, fault.expected) from fault
    except OSError as error:
        found = f"a file that can't be written ({error.strerror or error})"
        expected = "a folder that this user can write to"
        raise SettlementFault("key_unusable", str(path), found, expected) from error


def _rotate(path: Path) -> EngineKey:
    before = engine_key(path, {})
    made, kept = path.with_suffix(".new"), path.with_suffix(".before")
    if not (_names_its_key(path) and _finish(path)):
        made.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)
        os.link(path, kept)
        public = new_key(made, "engine")
        newest = _Handover(endorse(public.raw.hex(), before.key), before.public)
        _write_handovers(path, newest, *(one for one in _handovers(path, before.key) if one.before))
        made.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    held = load_key(path, "engine")
    return EngineKey(held, _endorsements(path, held))


def _finish(path: Path) -> bool:
    """Complete an interrupted rotation if its new key is endorsed; return whether this was done."""
    made = path.with_suffix(".new")
    try:
        if not made.exists() or not _handovers(path, load_key(made, "engine")):
            return False
    except JournalFault:
        return False
    made.replace(path)
    return True


def _endorsements(path: Path, held: Key) -> tuple[Endorsement, ...]:
    """Return the endorsements of this key and of earlier keys, the newest first."""
    handovers = _handovers(path, held)
    keys = (held.public.raw.hex(), *(one.before for one in handovers))
    return tuple(
        Endorsement(key=key, endorsed=one.signature) for key, one in zip(keys, handovers, strict=False)
    )


class _Handover(NamedTuple):
    signature: str
    """The previous key's signature over its successor, in hex."""
    before: str
    """The previous public key; empty in files from earlier releases, which do not contain it."""


def _handovers(path: Path, held: Key) -> list[_Handover]:
    """Read the handovers to a key, the newest first. The file has one `SIGNATURE KEY` per line.

    Skip leading lines for another key, left by an interrupted rotation. Stop at the first later line that
    does not endorse the key named in the line above it.
    """
    file = _endorsement_path(path)
    try:
        lines = file.read_text(encoding="ascii").splitlines() if file.exists() else []
    except ValueError:
        return []
    found: list[_Handover] = []
    public = held.public.raw.hex()
    for line in lines:
        signature, _, before = line.strip().partition(" ")
        try:
            fits = not before or is_endorsed(public, signature, PublicKey(bytes.fromhex(before)))
        except ValueError:
            fits = False
        if signature and fits:
            found.append(_Handover(signature, before))
            public = before
        if (found and not fits) or (fits and not before):
            break
    return found[: 1 + MAX_EARLIER]


def _names_its_key(path: Path) -> bool:
    """Return whether the endorsement file names the previous key.

    A file without the previous key can't be verified, and might be from an earlier rotation.
    """
    file = _endorsement_path(path)
    return file.exists() and b" " in file.read_bytes().strip()


def _write_handovers(path: Path, *handovers: _Handover) -> None:
    file = _endorsement_path(path)
    draft = file.with_name(file.name + ".new")
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="ascii") as stream:  # never through a symbolic link
        stream.writelines(f"{one.signature} {one.before}\n" for one in handovers)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(file)


def _endorsement_path(path: Path) -> Path:
    return path.with_suffix(".endorsed")
