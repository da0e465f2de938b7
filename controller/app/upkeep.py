"""Upkeep of a running table's journal: all of it verified, contents older than the table keeps dropped.

A start verifies only what the state rests on. The rest is verified in the background:
`python -m controller.app.upkeep JOURNAL` takes two seconds for what a thread of the controller did in twelve,
and writes what it found as one line of JSON.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from controller.app.background import BackgroundProcess, lower_priority
from controller.app.faults import ActiveFaults, of_journal
from controller.app.service import ERROR, INFO, log
from controller.journal.chain import WallTime
from controller.journal.faults import FAULTS, JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.verify import Verified
from controller.model.tables import RetentionSettings


class Sound(msgspec.Struct, frozen=True, kw_only=True):
    """A sound journal, as in `Verified`."""

    rows: int
    outcomes: int
    signatures: int
    evidence: int
    dropped: int
    last_n: int
    last_link: bytes
    unvouched: tuple[str, ...]


class Unsound(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault, as in `JournalFault`."""

    code: str
    where: str
    found: str
    expected: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The result: one of the two."""

    verified: Sound | None = None
    fault: Unsound | None = None


def verify(journal: Path) -> Found:
    """Verify every page, row and signature."""
    try:
        with Reader(journal) as reader:
            return Found(verified=Sound(**reader.verify_all()._asdict()))
    except JournalFault as fault:
        told = Unsound(code=fault.code, where=fault.where, found=fault.found, expected=fault.expected)
        return Found(fault=told)


def main(journal: str) -> None:
    """Verify at the lowest priority, and say what was found."""
    lower_priority()
    sys.stdout.buffer.write(msgspec.json.encode(verify(Path(journal))) + b"\n")


DUTY = "verifying"
_decode = msgspec.json.Decoder(Found).decode


class Verifier:
    """One walk along the journal, from its first row."""

    def __init__(self, journal: Path, faults: ActiveFaults, *, done: Callable[[Verified], None]) -> None:
        """`done` is called when the journal is sound; a fault becomes active and locks play."""
        self._journal = journal
        self._faults = faults
        self._done = done
        words = ("-m", "controller.app.upkeep", str(journal))
        self._process = BackgroundProcess("verifier", words, faults, answered=self._answered)
        self.start = self._process.start
        self.stop = self._process.stop

    def _answered(self, output: bytes) -> bool:
        try:
            found = _decode(output)
        except msgspec.MsgspecError:
            return False
        if found.verified is not None:
            verified = Verified(**msgspec.structs.asdict(found.verified))
            log(INFO, f"{self._journal}: sound: {verified.rows} rows, {verified.outcomes} outcomes")
            self._done(verified)
        elif found.fault is not None and found.fault.code in FAULTS:
            fault = found.fault
            self._faults.began(
                of_journal(JournalFault(fault.code, fault.where, fault.found, fault.expected)), DUTY
            )
        return True


PRUNED_BY = "retention"
"""Named in the journal's own row as who decided it."""
LOOK_EVERY_US = 3_600_000_000
"""An hour: nothing outlives its time by more, and finding nothing to drop takes milliseconds."""
DAY_US = 86_400_000_000


class Retention:
    """Has the journal drop what the table keeps no longer; digests stay, so the chain goes on verifying."""

    def __init__(self, journal: Journal, settings: RetentionSettings, wall: Callable[[], WallTime]) -> None:
        """Look first when asked for the first time."""
        self._journal = journal
        self._settings = settings
        self._wall = wall
        self._due_us = 0

    def drop_expired(self, now_us: int) -> None:
        """Drop what is too old by now, once an hour of monotonic time `now_us`.

        A clock that is not synchronized drops nothing: one that is ahead would take what must stay.
        """
        settings, wall = self._settings, self._wall()
        if now_us < self._due_us or settings.keeps_all or not wall.synced:
            return
        self._due_us = now_us + LOOK_EVERY_US
        evidence_before_us = _before_us(wall, settings.evidence_days)
        bodies_before_us = _before_us(wall, settings.outcomes_days)
        try:
            with Reader(self._journal.place.journal) as reader:
                if not reader.has_older(evidence_before_us, bodies_before_us):
                    return
            self._journal.prune(
                evidence_before_us=evidence_before_us, bodies_before_us=bodies_before_us, by=PRUNED_BY
            )
        except JournalFault as fault:
            log(ERROR, f"{fault}; old contents are dropped in an hour instead")
            return
        log(INFO, f"{self._journal.place.journal}: dropping expired contents")


def _before_us(wall: WallTime, days: int | None) -> int:
    return 0 if days is None else max(0, wall.us - days * DAY_US)


if __name__ == "__main__":
    main(sys.argv[1])
