"""A release's bill of materials (CycloneDX 1.6, JSON) from its lock file: `make sbom`.

The same lock and version give the same bytes: neither a time nor anything of the machine is in it.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec

from controller.supply.lock import OURS, LockFault, Pinned, read_lock

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
