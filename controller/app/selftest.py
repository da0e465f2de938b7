"""The self-test: what must be well before play, checked again until it is."""

from collections.abc import Mapping

import msgspec

from controller.app.board import Board
from controller.app.devices import Devices
from controller.app.faults import Fault
from controller.journal.journal import Journal
from controller.journal.tickets import Ticket

WAITS = "self_test_waits"
DEVICES_WITHIN_US = 20_000_000
"""A wheel is mute for seconds after power-on, a camera's program starts slowly: later it is a fault."""


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

    def look_for_missing(self, since_start_us: int) -> None:
        """Name the devices that are still not up so long after the start, until all are."""
        missing = self._devices.missing(self._wanted)
        waits = any(fault.code == WAITS for fault in self._board.present)
        if not missing:
            self._board.over("device_missing")
        elif waits and since_start_us > DEVICES_WITHIN_US:
            self._board.began(Fault("device_missing", ", ".join(missing), _each(missing)))

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
        says = f"not up: {_each(missing)}" if missing else f"{len(self._wanted)} of them up"
        return Check(name="devices", ok=not missing, says=says)

    def _closed(self) -> Check:
        opened = self._devices.open_switches
        says = f"open: {', '.join(opened)}" if opened else "none that locks the table is open"
        return Check(name="switches", ok=not opened, says=says)

    def _well(self) -> Check:
        locking = [fault for fault in self._board.locking if fault.code != WAITS]
        says = ", ".join(fault.code for fault in locking) or "no fault that locks play"
        return Check(name="faults", ok=not locking, says=says)


def _each(missing: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({says})" for name, says in missing.items())


def passed(checks: tuple[Check, ...]) -> bool:
    """Tell whether all is well."""
    return all(check.ok for check in checks)
