"""The table's identity: digests of the program, the rule set, the pay table and the configuration.

The last approved identity is stored beside the journal, signed with the table's key. A different identity is
reported at each startup until a person approves it.
"""

import os
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import msgspec

import controller
import drivers
from controller.journal.keys import Key
from controller.model.tables import TableSettings
from controller.settings.places import config_file, config_names

PARTS = ("program", "ruleset", "paytable", "table")
_PURPOSE = b"table identity\0"


class Digests(msgspec.Struct, frozen=True, kw_only=True):
    """The SHA-256 of each part, in hex; `paytable` is empty for a rule set without a pay table."""

    version: str
    program: str
    ruleset: str
    paytable: str
    table: str

    @property
    def software(self) -> str:
        """The program's version and digest in one line."""
        return f"{self.version} sha256:{self.program}"

    @property
    def config(self) -> str:
        """The digests of the configuration in one line."""
        return f"table:{self.table} ruleset:{self.ruleset} paytable:{self.paytable}"


class Approved(msgspec.Struct, frozen=True, kw_only=True):
    """The digests approved by a person, or automatically at a table's first start."""

    digests: Digests
    by: str
    who: str
    signature: str = ""


_decode_approved = msgspec.json.Decoder(Approved).decode


def digests_of(name: str, settings: TableSettings) -> Digests:
    """Return the digests of the installed program and of this table's rules and files."""
    rules = settings.rules
    paytable = config_file("paytables", rules.name) if rules.name in config_names("paytables") else None
    return Digests(
        version=metadata.version("table-controller"),
        program=_program(),
        ruleset=sha256(msgspec.json.encode(rules, order="deterministic")).hexdigest(),
        paytable="" if paytable is None else sha256(paytable.read_bytes()).hexdigest(),
        table=sha256(config_file("tables", name).read_bytes()).hexdigest(),
    )


def changed_parts(before: Digests, now: Digests) -> tuple[str, ...]:
    """Return the names of the parts that differ."""
    return tuple(part for part in PARTS if getattr(before, part) != getattr(now, part))


def read_approved(path: Path, key: Key) -> Approved | None:
    """Return the last approval, or None if the file contains no approval signed with this key."""
    try:
        kept = _decode_approved(path.read_bytes())
        signature = bytes.fromhex(kept.signature)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None
    return kept if key.public.verify(_message(kept), signature) else None


def write_approved(path: Path, key: Key, approved: Approved) -> None:
    """Sign and store an approval; raises OSError."""
    signature = key.sign(_message(approved)).hex()
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with new.open("xb") as file:  # "x" does not follow a link; key commands write this file as root
        file.write(msgspec.json.encode(msgspec.structs.replace(approved, signature=signature)))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _message(approved: Approved) -> bytes:
    unsigned = msgspec.structs.replace(approved, signature="")
    return _PURPOSE + sha256(msgspec.json.encode(unsigned)).digest()


def _program() -> str:
    digest = sha256()
    for package in (controller, drivers):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root.parent).as_posix().encode()
            digest.update(b"%d:%s" % (len(name), name))
            digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()
