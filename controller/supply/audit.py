"""Compare an export of security advisories with what the lock files pin: `make audit ADVISORIES=FILE`.

Advisories are in the OSV format (ossf.github.io/osv-schema), as an operator brings them in a file.
Nothing is asked for over a network: an export of the PyPI ecosystem is fetched by whoever may.
"""

import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.version import InvalidVersion, Version

from controller.supply.sbom import LockFault, canonical, read_lock

ECOSYSTEM = "PyPI"


class Package(msgspec.Struct, frozen=True):
    """Whose releases an advisory is about."""

    ecosystem: str = ""
    name: str = ""


class Event(msgspec.Struct, frozen=True):
    """From, before or up to which release a range goes; one of them is set."""

    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None
    limit: str | None = None


class Range(msgspec.Struct, frozen=True):
    """A range of releases."""

    type: str = ""
    events: tuple[Event, ...] | None = None


class Affected(msgspec.Struct, frozen=True):
    """One package's releases that an advisory is about."""

    package: Package = Package()
    ranges: tuple[Range, ...] | None = None
    versions: tuple[str, ...] | None = None


class Advisory(msgspec.Struct, frozen=True):
    """One advisory. Some exporters write null for a list or text that is empty."""

    id: str
    summary: str | None = None
    details: str | None = None
    aliases: tuple[str, ...] | None = None
    withdrawn: str | None = None
    affected: tuple[Affected, ...] | None = None


class _Export(msgspec.Struct, frozen=True):
    vulns: tuple[Advisory, ...]


class AdvisoryFault(Exception):
    """An export that can't be read: the file, what was found and what was expected."""


_decode_one = msgspec.json.Decoder(Advisory).decode
_decode_many = msgspec.json.Decoder(list[Advisory]).decode
_decode_export = msgspec.json.Decoder(_Export).decode


def read_advisories(path: Path) -> list[Advisory]:
    """Read an export (a JSON object, array or lines, a zip or folder of such) without what was withdrawn.

    Raises:
        AdvisoryFault: a part of it is no advisory, or it holds none for Python packages: that would pass for
            a clean bill.
        OSError: the file can't be read.
    """
    read = [
        advisory
        for name, data in _parts(path)
        for advisory in _advisories(name, data)
        if advisory.withdrawn is None
    ]
    if not any(one.package.ecosystem == ECOSYSTEM for advisory in read for one in advisory.affected or ()):
        raise AdvisoryFault(f"{path}: found no advisory for {ECOSYSTEM}, expected an OSV export of it")
    return read


def affects(advisory: Advisory, name: str, version: str) -> bool | None:
    """Return whether an advisory is about this release; None if it does not say so clearly."""
    told = [
        _affects(one, version)
        for one in advisory.affected or ()
        if one.package.ecosystem == ECOSYSTEM and canonical(one.package.name) == name
    ]
    if True in told:
        return True
    return None if None in told else False


def _affects(affected: Affected, version: str) -> bool | None:
    if version in (affected.versions or ()):
        return True
    ranges = [one for one in affected.ranges or () if one.type in ("ECOSYSTEM", "SEMVER")]
    if not ranges:
        return False if affected.versions else None
    try:
        here = Version(version)
        return any(_within(one.events or (), here) for one in ranges)
    except InvalidVersion:
        return None


def _within(events: tuple[Event, ...], here: Version) -> bool:
    """Go through a range's events in order of their releases, as the OSV schema's evaluation does."""
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
        if here > release or (here == release and not beyond):
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


FINE, FOUND, BAD_INPUT = 0, 1, 2


class Finding(NamedTuple):
    """A pinned release that an advisory is about, or (not `certain`) may be about."""

    lock: Path
    release: str
    advisory: Advisory
    certain: bool

    def __str__(self) -> str:
        """Describe it in a line."""
        about = self.advisory.summary or (self.advisory.details or "").partition("\n")[0] or "no summary"
        names = ", ".join((self.advisory.id, *(self.advisory.aliases or ())))
        may = "" if self.certain else "may be affected, the advisory does not say which releases are: "
        return f"{self.lock}: {self.release}: {may}{names}: {about}"


def audit(advisories: Sequence[Advisory], locks: Sequence[Path]) -> Iterator[Finding]:
    """Find every pinned release that an advisory is about; raises as `read_lock` does."""
    for lock in locks:
        for pinned in read_lock(lock):
            for advisory in advisories:
                told = affects(advisory, pinned.name, pinned.version)
                if told is not False:
                    release = f"{pinned.name} {pinned.version}"
                    yield Finding(lock, release, advisory, certain=told is True)


def main(words: Sequence[str]) -> int:
    """Audit; 1 where something is found, 2 where export or lock can't be read."""
    export_first = bool(words) and not words[0].endswith(".lock")
    if not export_first:
        sys.stderr.write("audit: found no export, expected ADVISORIES=FILE: OSV advisories of PyPI\n")
        return BAD_INPUT
    try:
        advisories = read_advisories(Path(words[0]))
        locks = [Path(word) for word in words[1:]]
        findings = list(audit(advisories, locks))
    except (AdvisoryFault, LockFault) as fault:
        sys.stderr.write(f"audit: {fault}\n")
        return BAD_INPUT
    except OSError as error:
        sys.stderr.write(
            f"audit: {error.filename}: {error.strerror}, expected a file; ADVISORIES= names the export\n"
        )
        return BAD_INPUT
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    names = ", ".join(map(str, locks))
    sys.stderr.write(f"audit: {len(advisories)} advisories, {len(findings)} findings in {names}\n")
    return FOUND if findings else FINE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
