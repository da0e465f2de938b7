"""Hold an export of security advisories against what the lock files pin: `make audit ADVISORIES=FILE`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from controller.supply.advisories import Advisory, AdvisoryFault, affects, read_advisories
from controller.supply.lock import LockFault, read_lock

FINE, FOUND, BAD_INPUT = 0, 1, 2


class Finding(NamedTuple):
    """A pinned release that an advisory is about, or (not `certain`) may be about."""

    lock: Path
    release: str
    advisory: Advisory
    certain: bool

    def __str__(self) -> str:
        """Say it in a line."""
        about = self.advisory.summary or self.advisory.details.partition("\n")[0] or "no summary"
        names = ", ".join((self.advisory.id, *self.advisory.aliases))
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
    except (AdvisoryFault, LockFault, OSError) as fault:
        sys.stderr.write(f"audit: {fault}\n")
        return BAD_INPUT
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    names = ", ".join(map(str, locks))
    sys.stderr.write(f"audit: {len(advisories)} advisories, {len(findings)} findings in {names}\n")
    return FOUND if findings else FINE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
