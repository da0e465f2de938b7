"""A release's lock file as pip-compile writes it, and the bill of materials made from it: `make sbom`.

The bill is CycloneDX 1.6 in JSON. The same lock and version give the same bytes: neither a time nor
anything of the machine is in it.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec

OURS = "table-controller"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"#\s*via\s+(.*)")


class LockFault(Exception):
    """A lock file that can't be read: the file, the line, what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One release that the lock names; `via` are the names of those that asked for it."""

    name: str
    version: str
    digests: tuple[str, ...] = ()
    via: tuple[str, ...] = field(default=())


def canonical(name: str) -> str:
    """Return a project's name as packaging tools compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> list[Pinned]:
    """Read every pinned release of a lock file.

    Raises:
        LockFault: a line pins nothing, or the file holds no release.
        OSError: the file can't be read.
    """
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    pinned = [_pinned(path, entry) for entry in _entries(text)]
    if not pinned:
        raise LockFault(f"{path}: found no release, expected lines as pip-compile writes them: NAME==VERSION")
    return pinned


def _entries(text: str) -> Iterator[str]:
    """Join each release with the comment lines below it."""
    entry = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith((" ", "\t")):
            entry += f" {line.strip()}"
            continue
        if entry:
            yield entry
        entry = line
    if entry:
        yield entry


def _pinned(path: Path, entry: str) -> Pinned:
    pin = _PIN.match(entry)
    if pin is None:
        raise LockFault(f"{path}: found {entry[:60]!r}, expected NAME==VERSION")
    via = _VIA.search(entry)
    asked = [] if via is None else [word.strip().split(" ")[0] for word in via[1].split(",")]
    return Pinned(
        name=canonical(pin["name"]),
        version=pin["version"],
        digests=tuple(sorted(_HASH.findall(entry))),
        via=tuple(sorted({canonical(word) for word in asked if word and not word.startswith("-")})),
    )


SPEC = "1.6"
Json = Mapping[str, object]


def bill(pinned: Sequence[Pinned], version: str) -> bytes:
    """Return the bill of the product at this version, made of these releases, as JSON."""
    ours = Pinned(OURS, version)
    everything = [ours, *pinned]
    content = {
        "metadata": {"component": {**_component(ours), "type": "application"}},
        "components": [_component(one) for one in sorted(pinned, key=lambda one: one.name)],
        "dependencies": [_depends(one, pinned) for one in sorted(everything, key=lambda one: one.name)],
    }
    serial = uuid5(NAMESPACE_URL, msgspec.json.encode(content).decode())
    head = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return msgspec.json.format(msgspec.json.encode({**head, **content}), indent=2) + b"\n"


def _component(one: Pinned) -> Json:
    """Name a release; its digests are those of its files, one for each kind of machine."""
    fields: dict[str, object] = {
        "type": "library",
        "bom-ref": _ref(one),
        "name": one.name,
        "version": one.version,
        "purl": _ref(one),
    }
    if one.digests:
        fields["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in one.digests]
    return fields


def _depends(one: Pinned, pinned: Sequence[Pinned]) -> Json:
    return {"ref": _ref(one), "dependsOn": sorted(_ref(other) for other in pinned if one.name in other.via)}


def _ref(one: Pinned) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def main(words: Sequence[str]) -> int:
    """Write the bill of a lock file to a file; 2 where the lock can't be read."""
    lock, target = (Path(word) for word in words)
    try:
        target.write_bytes(bill(read_lock(lock), metadata.version(OURS)))
    except LockFault as fault:
        sys.stderr.write(f"sbom: {fault}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"sbom: {error.filename}: {error.strerror}; SBOM= names the file to write\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
