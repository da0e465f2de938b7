"""Audit of the releases pinned by lock files against an export of advisories: `make audit ADVISORIES=FILE`.

The export contains advisories for the PyPI ecosystem in the OSV format (ossf.github.io/osv-schema). This
program does not use the network; download the export first.
"""

import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.version import InvalidVersion, Version

from controller.supply.sbom import LOCK_REMEDY, LockFault, canonical, read_lock

ECOSYSTEM = "PyPI"


class Package(msgspec.Struct, frozen=True):
    """The package that an advisory affects."""

    ecosystem: str = ""
    name: str = ""


class Event(msgspec.Struct, frozen=True):
    """A boundary of a range of releases; exactly one field is set."""

    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None
    limit: str | None = None


class Range(msgspec.Struct, frozen=True):
    """A range of affected releases."""

    type: str = ""
    events: tuple[Event, ...] | None = None


class Affected(msgspec.Struct, frozen=True):
    """The affected releases of one package."""

    package: Package = Package()
    ranges: tuple[Range, ...] | None = None
    versions: tuple[str, ...] | None = None


class Advisory(msgspec.Struct, frozen=True):
    """An advisory; fields can be null, because some exporters write null for an empty list or text."""

    id: str
    summary: str | None = None
    details: str | None = None
    aliases: tuple[str, ...] | None = None
    withdrawn: str | None = None
    affected: tuple[Affected, ...] | None = None


class _Export(msgspec.Struct, frozen=True):
    vulns: tuple[Advisory, ...]


class AdvisoryFault(Exception):
    """An export that can't be used."""


_decode_one = msgspec.json.Decoder(Advisory).decode
_decode_many = msgspec.json.Decoder(list[Advisory]).decode
_decode_export = msgspec.json.Decoder(_Export).decode


def read_advisories(path: Path) -> list[Advisory]:
    """Return the advisories of an export, except withdrawn ones.

    An export is a JSON object, a JSON array, JSON lines, or a zip archive or a folder of such files.

    Raises:
        AdvisoryFault: a part of the export is not an advisory, or it has no advisory for a Python package.
        OSError: the file can't be read.
    """
    read = [
        advisory
        for name, data in _parts(path)
        for advisory in _advisories(name, data)
        if advisory.withdrawn is None
    ]
    if not any(one.package.ecosystem == ECOSYSTEM for advisory in read for one in advisory.affected or ()):
        raise AdvisoryFault(f"{path}: no advisory for {ECOSYSTEM}; use PyPI's OSV export")
    return read


def affects(advisory: Advisory, name: str, version: str) -> bool | None:
    """Return whether an advisory affects this release; None if it does not list the affected releases."""
    affected = [
        _affects(one, version)
        for one in advisory.affected or ()
        if one.package.ecosystem == ECOSYSTEM and canonical(one.package.name) == name
    ]
    if True in affected:
        return True
    return None if None in affected else False


def _affects(affected: Affected, version: str) -> bool | None:
    if version in (affected.versions or ()):
        return True
    ranges = [one for one in affected.ranges or () if one.type in ("ECOSYSTEM", "SEMVER")]
    if not ranges:
        return False if affected.versions else None
    try:
        release_version = Version(version)
        return any(_within(one.events or (), release_version) for one in ranges)
    except InvalidVersion:
        return None


def _within(events: tuple[Event, ...], release_version: Version) -> bool:
    """Return whether a release is within a range, using the OSV schema's evaluation algorithm."""
    steps: list[tuple[Version, int, bool]] = []
    for event in events:
        if event.introduced is not None:
            steps.append((Version("0.dev0" if event.introduced == "0" else event.introduced), 0, True))
        if event.fixed is not None:
            steps.append((Version(event.fixed), 0, False))
        if event.last_affected is not None:
            steps.append((Version(event.last_affected), 1, False))
    inside = False
    for release, beyond, begins in sorted(steps):
        if release_version > release or (release_version == release and not beyond):
            inside = begins
    return inside


def _parts(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            yield str(file), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".json"):
                    yield f"{path}, {name}", archive.read(name)
    else:
        yield str(path), path.read_bytes()


def _advisories(name: str, data: bytes) -> list[Advisory]:
    text = data.strip()
    try:
        if text.startswith(b"["):
            return _decode_many(text)
        whole = msgspec.json.decode(text)
        return list(_decode_export(text).vulns) if "vulns" in whole else [_decode_one(text)]
    except (msgspec.MsgspecError, TypeError) as error:
        try:
            return [_decode_one(line) for line in text.splitlines() if line.strip()]
        except msgspec.MsgspecError:
            raise AdvisoryFault(f"{name}: found {error}, expected advisories in the OSV format") from None


NO_FINDINGS, FINDINGS, BAD_INPUT = 0, 1, 2


class Finding(NamedTuple):
    """A pinned release that an advisory affects or, if not `certain`, might affect."""

    lock: Path
    release: str
    advisory: Advisory
    certain: bool

    def __str__(self) -> str:
        about = self.advisory.summary or (self.advisory.details or "").partition("\n")[0] or "no summary"
        names = ", ".join((self.advisory.id, *(self.advisory.aliases or ())))
        may = "" if self.certain else "might be affected (the advisory does not list the affected releases): "
        return f"{self.lock}: {self.release}: {may}{names}: {about}"


def audit(advisories: Sequence[Advisory], locks: Sequence[Path]) -> Iterator[Finding]:
    """Yield a finding for each pinned release and each advisory that affects, or might affect, the release.

    Raises the exceptions of `read_lock`.
    """
    for lock in locks:
        for pinned in read_lock(lock):
            for advisory in advisories:
                affected = affects(advisory, pinned.name, pinned.version)
                if affected is not False:
                    release = f"{pinned.name} {pinned.version}"
                    yield Finding(lock, release, advisory, certain=affected is True)


def main(arguments: Sequence[str]) -> int:
    """Run the audit; return 1 if there are findings, 2 if an export or lock file can't be read."""
    export_first = bool(arguments) and not arguments[0].endswith(".lock")
    if not export_first:
        sys.stderr.write("audit: no export named; use ADVISORIES=FILE with OSV advisories for PyPI\n")
        return BAD_INPUT
    try:
        advisories = read_advisories(Path(arguments[0]))
        locks = [Path(word) for word in arguments[1:]]
        findings = list(audit(advisories, locks))
    except (AdvisoryFault, LockFault) as fault:
        sys.stderr.write(f"audit: {fault}\n")
        return BAD_INPUT
    except OSError as error:
        is_lock = error.filename in arguments[1:]
        remedy = LOCK_REMEDY if is_lock else "name the export with ADVISORIES=FILE"
        sys.stderr.write(f"audit: {error.filename}: {error.strerror}; {remedy}\n")
        return BAD_INPUT
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    names = ", ".join(map(str, locks))
    sys.stderr.write(f"audit: {len(advisories)} advisories, {len(findings)} findings in {names}\n")
    return FINDINGS if findings else NO_FINDINGS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
