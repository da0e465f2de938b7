"""Old evidence and old outcomes' contents leave the journal by themselves, after the table's own days."""

from collections.abc import Callable

from controller.app.service import ERROR, INFO, log
from controller.journal.chain import WallTime
from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.model.tables import RetentionSettings

PRUNED_BY = "retention"
"""Who decided, in the journal's own row about it."""
LOOK_EVERY_US = 3_600_000_000
"""An hour: no more than that is ever kept too long, and finding nothing to drop takes milliseconds."""
DAY_US = 86_400_000_000


class Retention:
    """Has the journal drop what the table keeps no longer; digests stay, so the chain goes on verifying."""

    def __init__(self, journal: Journal, settings: RetentionSettings, wall: Callable[[], WallTime]) -> None:
        """Look first when asked for the first time."""
        self._journal = journal
        self._settings = settings
        self._wall = wall
        self._due_us = 0

    def look(self, now_us: int) -> None:
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
        log(INFO, f"{self._journal.place.journal}: dropping what is kept no longer")


def _before_us(wall: WallTime, days: int | None) -> int:
    return 0 if days is None else max(0, wall.us - days * DAY_US)
