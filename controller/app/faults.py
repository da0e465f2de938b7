"""The catalogue of all faults, including the journal's and publishing's, and the table's active faults.

An entry has a stable code, a description, the likely cause, what to do, when the fault clears, and whether
play is locked while it is active.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from threading import Lock
from typing import NamedTuple

from controller.journal.faults import DESCRIPTIONS, JournalFault
from controller.journal.faults import FAULTS as JOURNAL_FAULTS
from controller.publish.faults import FAULTS as PUBLISH_FAULTS


class FaultKind(NamedTuple):
    """One entry of the catalogue."""

    what: str
    cause: str
    next_step: str
    clears: str
    locks: bool = True


TEST_FAILED = "test_failed"
WAITS = "self_test_waits"

APPROVES: Mapping[str, frozenset[str]] = {
    "identity": frozenset({"identity_changed"}),
    "device": frozenset({"device_component"}),
    "clock": frozenset({"clock_stepped", "clock_behind"}),
}
"""The faults that each approval by a person clears."""

_APPROVED = "when a member of staff approves it"

_OWN_FAULTS: Mapping[str, FaultKind] = {
    "inlet_overflow": FaultKind(
        "readings were lost: more arrived than the core could process",
        "a device that sends without pause, or an overloaded machine",
        "find the device with the highest rate in `tablectl devices`, and stop other programs on the machine",
        "automatically, 30 s after the last loss",
    ),
    "core_failed": FaultKind(
        "the core stopped because of a bug in the controller",
        "a bug in the controller",
        "run `tablectl doctor --bundle FILE` and send the file to the manufacturer; systemd restarts the"
        " service",
        "when the controller restarts",
    ),
    "core_halted": FaultKind(
        "judging has stopped: outcomes could not be written to the journal",
        "the journal's fault, which is listed with this one",
        "fix that fault, then restart the controller",
        "when the controller restarts",
    ),
    "recording_failed": FaultKind(
        "the raw readings can't be recorded",
        "a full, worn or read-only disk",
        "free space on the recordings' disk, or repair it",
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
        "the self-test has not passed since the start",
        "the controller has just started, a device is missing, or a switch is open or not reported yet",
        "`tablectl status` shows what it is waiting for",
        "automatically, once all its checks pass",
    ),
    "device_missing": FaultKind(
        "a device in the table's file has not come up since the start",
        "the device's cable, power or firmware, or the name of its port in the file",
        "`tablectl devices` shows each device's last problem and what to do about it",
        "automatically, once every device is up",
    ),
    "device_down": FaultKind(
        "a device is disconnected or silent; attempts that need it go to review",
        "the device's cable, power or program; docs/devices names the cause for each code",
        "check the device's plug and power; `tablectl devices DEVICE` shows everything known about it",
        "automatically, once the device is up",
        locks=False,
    ),
    "reading_not_its_own": FaultKind(
        "a device sent a reading that it is not set up for; the reading was ignored",
        "another program or board in the device's place, a faulty script, or a kind missing from its `reads`",
        "check what is connected there; if it is the right device, add the kind to its `reads` in the table's"
        " file",
        "when the device starts again",
        locks=False,
    ),
    "readings_late": FaultKind(
        "a device's readings arrive too late to count",
        "a slow or shared USB hub, a busy machine, or a device whose clock drifts",
        "check its clock and rate in `tablectl devices`; connect it to its own port, or restart it; with"
        " a dice camera, the table's file needs `max_lateness_ms: 250`",
        "automatically, a minute after the last late reading",
        locks=False,
    ),
    "switch_open": FaultKind(
        "a door, lid or tamper switch that locks the table is open",
        "someone opened it, or its wire is disconnected",
        "close it and check what is behind it; then `tablectl input unlock --by supervisor`",
        "automatically, once the switch is closed; a person must still unlock the table",
        locks=False,
    ),
    "button_stuck": FaultKind(
        "a console sends the same input repeatedly, faster than a person can press",
        "a button that sticks or bounces, or something lying on it",
        "free the button or unplug the console; until then use `tablectl input` or a screen",
        "automatically, 10 s after the last such input",
    ),
    TEST_FAILED: FaultKind(
        "a guided test of a sensor or lamp failed and has not been repeated successfully",
        "the test's finding, which this fault shows after the device and its sensor",
        "fix the sensor or lamp, then repeat the test: `tablectl test DEVICE`",
        "when the test passes; a restart does not clear it",
        locks=False,
    ),
    "device_component": FaultKind(
        "a wheel reports that a sensor, its motor or its encoder failed",
        "a worn or dirty part of the wheel",
        "run the wheel's self-test and repair the wheel; then power-cycle it, or `tablectl approve device`",
        "when the wheel restarts or a member of staff approves it (after a restart of the controller: only on"
        " approval)",
    ),
    "device_configuration": FaultKind(
        "a wheel's settings are not the approved ones",
        "someone changed a parameter, or the wheel was replaced",
        "compare the settings in `tablectl devices`, restore the approved ones and power-cycle the wheel",
        "automatically, once the settings read back are the approved ones",
    ),
    "device_doubtful": FaultKind(
        "a wheel reports something impossible; spins that depend on it go to review",
        "one of its settings was changed, or a part of it is failing",
        "`tablectl devices DEVICE` shows what it reports; its page in docs/devices says what to do",
        "automatically, once its reports are possible again",
        locks=False,
    ),
    "clock_stepped": FaultKind(
        "the wall clock was changed by more than clock drift can explain",
        "a person, a time server or a failing clock battery changed it",
        "check the time, then `tablectl approve clock`",
        _APPROVED,
    ),
    "clock_behind": FaultKind(
        "the wall clock is behind the journal's last row",
        "no clock battery, and no contact with a time server yet",
        "set the clock or wait for the time server, or `tablectl approve clock`",
        "automatically, once the clock is right, or when a member of staff approves it",
    ),
    "identity_changed": FaultKind(
        "the program, rule set, pay table or configuration is not the last approved one",
        "an update, or a changed file",
        "if you changed it, `tablectl approve identity`; if not, find out who did before play continues",
        _APPROVED,
    ),
    "release_unverified": FaultKind(
        "the program's files are not those of a release signed by a trusted key",
        "a file was changed, added or removed, or an unsigned release was installed",
        "`tablectl release verify` names the files; install a signed release again (docs/installing.md)",
        "when the controller starts from a signed release",
    ),
    "source_failed": FaultKind(
        "a source of readings can't be read",
        "the source is missing, or the controller's user may not read it",
        "create the source, start the program that listens there, or correct its permissions",
        "automatically, as soon as the source can be read",
    ),
    "source_bad_line": FaultKind(
        "a source sent lines that are not readings",
        "another program writes to the source, or a writer was cut off mid-line",
        "stop the other program; the line is in the service's log",
        "automatically, 30 s after the last such line",
        locks=False,
    ),
    "verifier_ended": FaultKind(
        "the process that verifies the whole journal or the release's files returned no result",
        "the machine ran out of memory, someone killed or stopped it, or it gets no processor time",
        "see `journalctl -u table`; to verify by hand: `tablectl journal verify`, `tablectl release verify`",
        "automatically, once such a process completes; a new one starts 10 s after the last one ended",
        locks=False,
    ),
    "thread_stopped": FaultKind(
        "one of the controller's threads is stuck",
        "a disk that has stalled, or a bug in the controller",
        "wait for systemd to restart the service; if it was started by hand, stop it and start it again",
        "automatically, once the thread runs again",
    ),
}

_NOT_LOCKING = frozenset(
    {
        *("journal_ack_unknown", "journal_ack_differs", "journal_no_such_outcome"),
        *("journal_crowded", "journal_wal_grows"),
    }
)
"""The journal's faults that are caused by other programs' requests; they don't affect the table's results."""

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
"""Every fault by its code."""


class Fault(NamedTuple):
    """An active fault: where it is, what was found there, and a specific cause and remedy if known."""

    code: str
    where: str
    found: str
    likely: str = ""
    do: str = ""

    @property
    def kind(self) -> FaultKind:
        """The fault's entry in the catalogue, with the specific cause and remedy if the fault has them."""
        kind = CATALOGUE[self.code]
        return kind._replace(cause=self.likely or kind.cause, next_step=self.do or kind.next_step)

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.what}: {self.found}; {self.kind.next_step} [{self.code}]"


def test_fault(where: str, found: str) -> Fault:
    """Return the fault of a failed test: `where` names device and sensor, `found` ends with what to do."""
    device = where.partition(", ")[0]
    return Fault(
        TEST_FAILED,
        where,
        found,
        do=f"follow the test's instruction, then repeat the test: tablectl test {device}",
    )


def test_duty(where: str) -> str:
    """Return the duty under which the fault of a failed test is active: one for each sensor."""
    return f"test of {where}"


def journal_fault(fault: JournalFault) -> Fault:
    """Convert a journal's fault to one of the daemon's."""
    return Fault(fault.code, fault.where, f"found {fault.found}, expected {fault.expected}")


def manual() -> Iterator[str]:
    """Yield the lines of the fault manual, a page of Markdown."""
    yield "# Faults"
    yield ""
    yield "These are the faults that `tablectl faults` can show."
    yield ""
    yield "This page is generated by `python -m controller.app.faults`."
    for code, kind in sorted(CATALOGUE.items()):
        yield ""
        yield f"## {code}"
        yield ""
        yield f"- what: {kind.what}"
        yield f"- likely cause: {kind.cause}"
        yield f"- what to do: {kind.next_step}"
        yield f"- clears: {kind.clears}"
        yield f"- play: {'locked until it clears' if kind.locks else 'continues'}"


MAX_PENDING_CHANGES = 3
"""Maximum number of changes of one fault that may wait for the core: it began, ended, and began again."""
Listener = Callable[["Change"], None]
"""Called on each change, in the thread that made it; it must return at once and must not change a fault."""


class Change(NamedTuple):
    """A fault began or ended."""

    fault: Fault
    began: bool


class ActiveFaults:
    """The active faults, at most one for each code and duty; thread-safe.

    A duty is the part of the program that detects the fault and clears it.
    """

    def __init__(self, listener: Listener = lambda _: None) -> None:
        """Report each change to this listener."""
        self._listener = listener
        self._active: dict[tuple[str, str], Fault] = {}
        self._changes: dict[tuple[str, str], list[tuple[int, Change]]] = {}
        """The changes that the core has not processed yet, by code and duty, numbered in order."""
        self._order = 0
        self._lock = Lock()

    def report(self, fault: Fault, duty: str = "") -> None:
        """Add a fault; if its code is active for this duty, only update its text, if `where` is the same."""
        with self._lock:
            active = self._active.get((fault.code, duty))
            if active is not None:
                if active.where == fault.where:
                    self._active[fault.code, duty] = fault
                return
            self._active[fault.code, duty] = fault
            change = Change(fault, began=True)
            self._note(change, duty)
        self._listener(change)

    def clear(self, code: str, duty: str = "") -> bool:
        """Clear a fault; return whether it was active."""
        with self._lock:
            fault = self._active.pop((code, duty), None)
            if fault is None:
                return False
            change = Change(fault, began=False)
            self._note(change, duty)
        self._listener(change)
        return True

    def _note(self, change: Change, duty: str) -> None:
        """Queue a change for the core.

        If a fault begins and ends repeatedly before the core fetches its changes, only the last ones are
        kept, so that a fault that recurs can't fill the journal.
        """
        key = (change.fault.code, duty)
        queued = self._changes.setdefault(key, [])
        if len(queued) == MAX_PENDING_CHANGES:
            del queued[:2]
        self._order += 1
        queued.append((self._order, change))

    def clear_duty(self, duty: str, *, but: Collection[str] = ()) -> None:
        """Clear every fault of a duty except those with these codes."""
        for code, its_duty in tuple(self._active):
            if its_duty == duty and code not in but:
                self.clear(code, duty)

    def clear_code(self, code: str) -> None:
        """Clear a fault for every duty."""
        for its_code, duty in tuple(self._active):
            if its_code == code:
                self.clear(code, duty)

    @property
    def present(self) -> tuple[Fault, ...]:
        """The active faults, the oldest first."""
        with self._lock:
            return tuple(self._active.values())

    @property
    def locking(self) -> tuple[Fault, ...]:
        """The active faults that lock play."""
        return tuple(fault for fault in self.present if fault.kind.locks)

    def changes(self) -> list[Change]:
        """Return the changes since the last call, for the journal."""
        if not self._changes:
            return []
        with self._lock:
            kept, self._changes = self._changes, {}
        return [change for _, change in sorted(chain.from_iterable(kept.values()), key=itemgetter(0))]


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n".join(manual()) + "\n")
