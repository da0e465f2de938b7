"""The bill of materials of a release, generated from pip-compile's lock file: `make sbom`.

The format is CycloneDX 1.6 (JSON). The bill contains neither the time nor data about the machine, so the same
lock file and version always produce the same bytes.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec

PRODUCT = "table-controller"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"#\s*via\s+(.*)")


LOCK_REMEDY = "write the lock files with `make lock`"
"""The next step if a lock file can't be opened."""


class LockFault(Exception):
    """A lock file that can't be used."""


@dataclass(frozen=True, slots=True)
class PinnedRelease:
    """A pinned release; `via` contains the names of the packages that require it."""

    name: str
    version: str
    digests: tuple[str, ...] = ()
    via: tuple[str, ...] = field(default=())


def canonical(name: str) -> str:
    """Return a project's normalized name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> list[PinnedRelease]:
    """Return the pinned releases of a lock file.

    Raises:
        LockFault: a line does not pin a release, or the file pins none.
        OSError: the file can't be read.
    """
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    pinned = [_pinned(path, entry) for entry in _entries(text)]
    if not pinned:
        raise LockFault(
            f"{path}: no pinned version; use a lock file from pip-compile, with lines like NAME==VERSION"
        )
    return pinned


def _entries(text: str) -> Iterator[str]:
    """Yield each release's line, joined with the indented lines below it."""
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


def _pinned(path: Path, entry: str) -> PinnedRelease:
    pin = _PIN.match(entry)
    if pin is None:
        raise LockFault(f"{path}: found {entry[:60]!r}, expected NAME==VERSION")
    via = _VIA.search(entry)
    required_by = [] if via is None else [word.strip().split(" ")[0] for word in via[1].split(",")]
    return PinnedRelease(
        name=canonical(pin["name"]),
        version=pin["version"],
        digests=tuple(sorted(_HASH.findall(entry))),
        via=tuple(sorted({canonical(word) for word in required_by if word and not word.startswith("-")})),
    )


SPEC = "1.6"
Json = Mapping[str, object]


def bill(pinned: Sequence[PinnedRelease], version: str) -> bytes:
    """Return the bill for this version of the product and these releases, as JSON."""
    product = PinnedRelease(PRODUCT, version)
    everything = [product, *pinned]
    content = {
        "metadata": {"component": {**_component(product), "type": "application"}},
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


def _component(one: PinnedRelease) -> Json:
    """Return a release as a component, with the digests of its files for all platforms."""
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


def _depends(one: PinnedRelease, pinned: Sequence[PinnedRelease]) -> Json:
    return {"ref": _ref(one), "dependsOn": sorted(_ref(other) for other in pinned if one.name in other.via)}


def _ref(one: PinnedRelease) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def main(arguments: Sequence[str]) -> int:
    """Write the bill for a lock file (first argument) to a file (second argument); return 2 on an error."""
    lock, target = (Path(word) for word in arguments)
    try:
        target.write_bytes(bill(read_lock(lock), metadata.version(PRODUCT)))
    except LockFault as fault:
        sys.stderr.write(f"sbom: {fault}\n")
        return 2
    except OSError as error:
        remedy = LOCK_REMEDY if error.filename == str(lock) else "name the output file with SBOM=FILE"
        sys.stderr.write(f"sbom: {error.filename}: {error.strerror}; {remedy}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
