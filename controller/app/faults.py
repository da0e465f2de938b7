"""The catalogue of all faults, including those of the journal and of publishing, and the active faults.

Each entry has a stable code, a description, the likely cause, the remedy, the condition that clears the
fault, and whether the fault locks play.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from threading import Lock
from typing import NamedTuple

from controller.journal.faults import DESCRIPTIONS, JournalFault
from controller.journal.faults import FAULTS as JOURNAL_FAULTS
from controller.model.printable import printable
from controller.publish.faults import FAULTS as PUBLISH_FAULTS


class FaultKind(NamedTuple):
    """One entry of the catalogue."""

    what: str
    cause: str
    next_step: str
    clears: str
    locks: bool = True
    machine_locks: bool = False
    """Whether the table locks for the same cause, even though the fault itself locks nothing."""


TEST_FAILED = "test_failed"
WAITS = "self_test_waits"

APPROVES: Mapping[str, frozenset[str]] = {
    "identity": frozenset({"identity_changed"}),
    "device": frozenset({"device_component"}),
    "clock": frozenset({"clock_stepped", "clock_behind"}),
}
"""The faults cleared by each kind of approval."""

_APPROVED = "when a member of staff approves the change"

_OWN_FAULTS: Mapping[str, FaultKind] = {
    "inlet_overflow": FaultKind(
        "readings were lost: more arrived than the core could process",
        "a device that sends continuously, or an overloaded machine",
        "find the device with the highest rate in `tablectl devices`, and stop other programs on the machine",
        "automatically, 30 s after the last loss",
    ),
    "core_failed": FaultKind(
        "the core of the controller stopped on an error",
        "a bug in the controller",
        "run `tablectl doctor --bundle FILE` and send the file to the manufacturer; systemd restarts the"
        " service",
        "when the controller restarts",
    ),
    "core_halted": FaultKind(
        "judging has stopped because outcomes could not be written to the journal",
        "a fault in the journal, which is also listed",
        "fix the journal's fault, then restart the controller",
        "when the controller restarts",
    ),
    "recording_failed": FaultKind(
        "the raw readings can't be recorded",
        "a full, worn or read-only disk",
        "free space on the recordings' disk, or repair the disk",
        "automatically, as soon as a write succeeds",
    ),
    "recording_lost": FaultKind(
        "raw readings are missing from the current recording",
        "the disk refused writes for longer than readings can be buffered",
        "repair the disk; the outcomes' evidence is in the journal",
        "automatically, with the next recording",
        locks=False,
    ),
    WAITS: FaultKind(
        "the self-test has not passed since the controller started",
        "the controller has just started, a device is missing, or a switch is open or not reported yet",
        "`tablectl status` lists the checks that have not passed",
        "automatically, once all checks pass",
    ),
    "device_missing": FaultKind(
        "a device in the table's file has not connected since the controller started",
        "the device's cable, power or firmware, or the name of its port in the file",
        "`tablectl devices` shows each device's last fault and the remedy",
        "automatically, once every device is connected",
    ),
    "device_down": FaultKind(
        "a device is disconnected or silent; attempts that need it go to review",
        "the device's cable, power or program; docs/devices names the cause for each code",
        "check the device's plug and power; `tablectl devices DEVICE` shows the device's state",
        "automatically, once the device reconnects",
        locks=False,
    ),
    "reading_not_its_own": FaultKind(
        "a device sent a reading that it is not set up for; the reading was ignored",
        "a different program or board in the device's place, a faulty script, or a kind missing from `reads`",
        "check the connected device; if it is the correct one, add the kind to the device's `reads` in the"
        " table's file",
        "when the device restarts",
        locks=False,
    ),
    "readings_late": FaultKind(
        "a device's readings arrive too late to count",
        "a slow or shared USB hub, a busy machine, or a device whose clock drifts",
        "check the device's clock and rate in `tablectl devices`; connect the device directly, or"
        " restart it; for a dice camera, set `max_lateness_ms: 250` in the table's file",
        "automatically, a minute after the last late reading",
        locks=False,
    ),
    "switch_open": FaultKind(
        "a door, lid or tamper switch that locks the table is open",
        "someone opened the door or lid, or the switch's wire is disconnected",
        "check the compartment and close it; then run `tablectl input unlock --by supervisor`",
        "automatically, once the switch is closed; a person must still unlock the table",
        locks=False,
        machine_locks=True,
    ),
    "button_stuck": FaultKind(
        "a console keeps sending the same input without a pause",
        "a button that sticks or bounces, or an object lying on a button",
        "free the button or unplug the console; in the meantime, use `tablectl input` or a screen",
        "automatically, 10 s after the last such input",
    ),
    TEST_FAILED: FaultKind(
        "a guided test of a sensor or lamp failed, and no later test has passed",
        "a defective sensor or lamp; the fault shows the device, the sensor and the test's finding",
        "fix the sensor or lamp, then repeat the test: `tablectl test DEVICE`",
        "when the test passes; a restart does not clear it",
        locks=False,
    ),
    "device_component": FaultKind(
        "a wheel reports that a sensor, the motor or the encoder has failed",
        "a worn or dirty part of the wheel",
        "run the wheel's self-test and repair the wheel; then power-cycle it, or run `tablectl approve"
        " device`",
        "when the wheel restarts or a member of staff approves it; after a restart of the controller, only on"
        " approval",
    ),
    "device_configuration": FaultKind(
        "a wheel's settings are not the approved ones",
        "someone changed a parameter or replaced the wheel",
        "compare the settings in `tablectl devices`, restore the approved ones and power-cycle the wheel",
        "automatically, once the wheel reports the approved settings",
    ),
    "device_doubtful": FaultKind(
        "a wheel reports impossible values; spins that depend on them go to review",
        "a changed setting, or a failing part of the wheel",
        "compare the report in `tablectl devices DEVICE` with the device's page in docs/devices",
        "automatically, once the reported values are possible",
        locks=False,
    ),
    "clock_stepped": FaultKind(
        "the wall clock changed by more than clock drift can explain",
        "a person or a time server set the clock, or the clock's battery is failing",
        "check the time, then run `tablectl approve clock`",
        _APPROVED,
    ),
    "clock_behind": FaultKind(
        "the wall clock is behind the time of the journal's last row",
        "no clock battery, and no contact with a time server yet",
        "set the clock, wait for the time server, or run `tablectl approve clock`",
        "automatically, once the clock has passed that row's time, or when a member of staff approves the"
        " time",
    ),
    "identity_changed": FaultKind(
        "the program, rule set, pay table or configuration differs from the last approved one",
        "an update, or a changed file",
        "if the change was intended, run `tablectl approve identity`; otherwise find out who made the change"
        " before play continues",
        _APPROVED,
    ),
    "release_unverified": FaultKind(
        "the program's files do not match a release signed by a trusted key",
        "a file was changed, added or removed, or an unsigned release was installed",
        "`tablectl release verify` names the files; reinstall a signed release (docs/installing.md)",
        "when the controller starts from a signed release",
    ),
    "source_failed": FaultKind(
        "a source of readings can't be read",
        "the source's folder is missing, nothing listens on its socket, or the controller's user is not"
        " allowed to open it",
        "create the folder, start the program that listens on the socket, or correct the permissions",
        "automatically, as soon as the source can be read",
    ),
    "source_bad_line": FaultKind(
        "a source sent lines that are not readings",
        "another program writes to the source, or a writer was interrupted in the middle of a line",
        "find the line in the service's log, and stop the program that wrote it",
        "automatically, 30 s after the last such line",
        locks=False,
    ),
    "verifier_ended": FaultKind(
        "the process that verifies the whole journal or the release's files returned no result",
        "the machine ran out of memory, someone killed or stopped the process, or it got no processor time",
        "see `journalctl -u table`; verify manually with `tablectl journal verify` and `tablectl release"
        " verify`",
        "automatically, once the process completes; it is restarted 10 s after it ends without a result",
        locks=False,
    ),
    "thread_stopped": FaultKind(
        "one of the controller's threads is stuck",
        "a disk that has stalled, or a bug in the controller",
        "wait for systemd to restart the service; if you started the controller manually, restart it",
        "automatically, once the thread runs again",
    ),
}

_NOT_LOCKING = frozenset(
    {
        *("journal_ack_unknown", "journal_ack_differs", "journal_no_such_outcome"),
        *("journal_crowded", "journal_wal_grows"),
    }
)
"""Faults of the journal that other programs' requests cause; the table's results are unaffected."""

CATALOGUE: Mapping[str, FaultKind] = {
    **_OWN_FAULTS,
    **{
        code: FaultKind(
            DESCRIPTIONS[code], kind.cause, kind.next_step, kind.clears, locks=code not in _NOT_LOCKING
        )
        for code, kind in JOURNAL_FAULTS.items()
    },
    **{code: FaultKind(*kind) for code, kind in PUBLISH_FAULTS.items()},
}


class Fault(NamedTuple):
    """An active fault: its place, what was found there, and optionally a more specific cause and remedy."""

    code: str
    where: str
    found: str
    likely: str = ""
    do: str = ""

    @property
    def kind(self) -> FaultKind:
        """The fault's entry in the catalogue, with the fault's specific cause and remedy, if any."""
        kind = CATALOGUE[self.code]
        return kind._replace(cause=self.likely or kind.cause, next_step=self.do or kind.next_step)

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.what}: {self.found}; {self.kind.next_step} [{self.code}]"


def test_fault(where: str, found: str) -> Fault:
    """Return a failed test's fault: `where` is `DEVICE, SENSOR`, and `found` ends with an instruction."""
    device = where.partition(", ")[0]
    return Fault(
        TEST_FAILED,
        where,
        found,
        do=f"follow the test's instruction, then repeat the test: tablectl test {device}",
    )


def sensor_test_detector(where: str) -> str:
    """Return the detector under which a failed test of a sensor is reported and cleared."""
    return f"test of {where}"


def journal_fault(fault: JournalFault) -> Fault:
    """Convert a fault of the journal to an active fault."""
    return Fault(fault.code, fault.where, f"found {fault.found}, expected {fault.expected}")


def manual() -> Iterator[str]:
    """Yield the lines of the fault manual, a page of Markdown."""
    yield "# Faults"
    yield ""
    yield "This page lists every fault that `tablectl faults` can show."
    yield ""
    yield "The page is generated by `python -m controller.app.faults`."
    for code, kind in sorted(CATALOGUE.items()):
        yield ""
        yield f"## {code}"
        yield ""
        yield f"- what: {kind.what}"
        yield f"- likely cause: {kind.cause}"
        yield f"- what to do: {kind.next_step}"
        yield f"- clears: {kind.clears}"
        lasts = "a person unlocks the table" if kind.machine_locks else "it clears"
        yield f"- play: {f'locked until {lasts}' if kind.locks or kind.machine_locks else 'continues'}"


MAX_PENDING_CHANGES = 3
"""Maximum number of one fault's changes in the queue: enough for began, ended and began again."""
Listener = Callable[["Change"], None]
"""Called on each change, in the thread that made the change. A listener must return at once, and must not
change faults.
"""


class Change(NamedTuple):
    """The beginning or the end of a fault."""

    fault: Fault
    began: bool


class ActiveFaults:
    """The active faults, at most one for each code and detector; thread-safe.

    A detector is the part of the program that detects the fault and clears it.
    """

    def __init__(self, listener: Listener = lambda _: None) -> None:
        """Start without faults; each change is passed to `listener`."""
        self._listener = listener
        self._active: dict[tuple[str, str], Fault] = {}
        self._changes: dict[tuple[str, str], list[tuple[int, Change]]] = {}
        """The changes that the core has not processed yet, by code and detector, numbered in order."""
        self._order = 0
        self._lock = Lock()

    def report(self, fault: Fault, detector: str = "") -> None:
        """Add a fault, with its place and text made printable, since they may quote external text.

        If the fault's code is already active for this detector, no change is reported, and the active
        fault's text is updated if `where` is the same.
        """
        fault = fault._replace(where=printable(fault.where), found=printable(fault.found))
        with self._lock:
            active = self._active.get((fault.code, detector))
            if active is not None:
                if active.where == fault.where:
                    self._active[fault.code, detector] = fault
                return
            self._active[fault.code, detector] = fault
            change = Change(fault, began=True)
            self._note(change, detector)
        self._listener(change)

    def clear(self, code: str, detector: str = "") -> bool:
        """Clear a fault; return whether it was active."""
        with self._lock:
            fault = self._active.pop((code, detector), None)
            if fault is None:
                return False
            change = Change(fault, began=False)
            self._note(change, detector)
        self._listener(change)
        return True

    def _note(self, change: Change, detector: str) -> None:
        """Queue a change for the core.

        Only the last few changes of a fault are kept, so that an intermittent fault can't fill the journal.
        """
        key = (change.fault.code, detector)
        queued = self._changes.setdefault(key, [])
        if len(queued) == MAX_PENDING_CHANGES:
            del queued[:2]
        self._order += 1
        queued.append((self._order, change))

    def clear_all(self, detector: str, *, but: Collection[str] = ()) -> None:
        """Clear every fault of a detector except those with the codes in `but`."""
        for code, its_detector in tuple(self._active):
            if its_detector == detector and code not in but:
                self.clear(code, detector)

    def clear_code(self, code: str) -> None:
        """Clear a fault for every detector."""
        for its_code, detector in tuple(self._active):
            if its_code == code:
                self.clear(code, detector)

    @property
    def present(self) -> tuple[Fault, ...]:
        """The active faults, oldest first."""
        with self._lock:
            return tuple(self._active.values())

    @property
    def locking(self) -> tuple[Fault, ...]:
        """The active faults that lock play."""
        return tuple(fault for fault in self.present if fault.kind.locks)

    def changes(self) -> list[Change]:
        """Return the changes since the last call, in order, for the journal."""
        if not self._changes:
            return []
        with self._lock:
            kept, self._changes = self._changes, {}
        return [change for _, change in sorted(chain.from_iterable(kept.values()), key=itemgetter(0))]


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n".join(manual()) + "\n")
