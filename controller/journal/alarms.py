"""Which faults hold now, told once each."""

from collections.abc import Callable
from threading import Lock

from controller.journal.faults import JournalFault

Alarm = Callable[[JournalFault | None], None]
"""Hears each fault as it begins, and None when all is well again. It must return at once."""


FROM_OUTSIDE = "ack"
"""The duty whose faults are of what settlement, or whoever passes for it, sent: the journal is well."""
WAL = "wal"
"""The duty of keeping the WAL small: a reader in the way is a fault, and rows are written all the same."""


class Alarms:
    """The faults of the writer's several duties."""

    def __init__(self, alarm: Alarm) -> None:
        """Tell this listener."""
        self._alarm = alarm
        self._holding: dict[str, JournalFault] = {}
        self._lock = Lock()

    @property
    def present(self) -> JournalFault | None:
        """A fault of writing that holds now, the first that began; whatever others send is none."""
        with self._lock:
            return next(
                (fault for duty, fault in self._holding.items() if duty not in (FROM_OUTSIDE, WAL)), None
            )

    def began(self, duty: str, fault: JournalFault) -> None:
        """This duty fails."""
        with self._lock:
            before = self._holding.get(duty)
            self._holding[duty] = fault
        if before is None or before.code != fault.code:
            self._alarm(fault)

    def over(self, duty: str) -> None:
        """This duty succeeded."""
        with self._lock:
            all_well = self._holding.pop(duty, None) is not None and not self._holding
        if all_well:
            self._alarm(None)
