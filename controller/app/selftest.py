"""The self-test: what must be well before play, checked again until it is."""

import msgspec

from controller.app.board import Board
from controller.app.devices import Devices
from controller.journal.journal import Journal
from controller.journal.tickets import Ticket

WAITS = "self_test_waits"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must be well: whether it is, and in words what was found."""

    name: str
    ok: bool
    says: str


class SelfTest:
    """The checks of one table."""

    def __init__(
        self, journal: Journal, started: Ticket, devices: Devices, board: Board, wanted: frozenset[str]
    ) -> None:
        """`started` proves that the journal takes rows; `wanted` are the devices that must be up."""
        self._journal = journal
        self._started = started
        self._devices = devices
        self._board = board
        self._wanted = wanted

    def run(self) -> tuple[Check, ...]:
        """Check everything."""
        return (self._writable(), self._up(), self._closed(), self._well())

    def _writable(self) -> Check:
        fault = self._journal.fault
        ok = fault is None and self._started.durable
        says = (
            "the session's first row is on the disk"
            if ok
            else str(fault or "the disk has not taken a row yet")
        )
        return Check(name="journal", ok=ok, says=says)

    def _up(self) -> Check:
        missing = self._devices.missing(self._wanted)
        says = (
            f"not heard of, or down: {', '.join(missing)}" if missing else f"{len(self._wanted)} of them up"
        )
        return Check(name="devices", ok=not missing, says=says)

    def _closed(self) -> Check:
        opened = self._devices.open_switches
        says = f"open: {', '.join(opened)}" if opened else "none that locks the table is open"
        return Check(name="switches", ok=not opened, says=says)

    def _well(self) -> Check:
        locking = [fault for fault in self._board.locking if fault.code != WAITS]
        says = ", ".join(fault.code for fault in locking) or "no fault that locks play"
        return Check(name="faults", ok=not locking, says=says)


def passed(checks: tuple[Check, ...]) -> bool:
    """Tell whether all is well."""
    return all(check.ok for check in checks)
