"""The daemon, which creates the parts of a table, supervises them, and stops them in order.

The daemon keeps running if a disk or a device fails. The lamp and the status show the fault, and the table
is locked if the fault locks play.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec

from controller.app import service
from controller.app.clock import Clock, DataClock, MonotonicClock, WallWatch, iso, system_wall
from controller.app.faults import WAITS, ActiveFaults, Change, Fault, journal_fault
from controller.app.hardware import Hardware
from controller.app.hub import Hub
from controller.app.identity import (
    Approved,
    Digests,
    changed_parts,
    digests_of,
    read_approved,
    write_approved,
)
from controller.app.inlet import OVERFLOW, Inlet, Source
from controller.app.options import Options
from controller.app.publishing import EngineMaker, Publishing
from controller.app.running import STOP_S, RunningTable
from controller.app.service import (
    CRITICAL,
    ERROR,
    EXTEND_START,
    INFO,
    NOTICE,
    READY,
    STOPPING,
    WATCHDOG,
    Notifier,
    Watchdog,
    log,
)
from controller.app.view import AttemptDrawing
from controller.journal.chain import WallTime
from controller.journal.faults import JournalFault
from controller.journal.keys import Key, new_key, service_key
from controller.journal.lock import os_fault
from controller.journal.opening import Acceptance
from controller.journal.reading import Reader
from controller.model.tables import TableSettings
from controller.publish.events import TableStatus
from controller.publish.sink import RandomFraction

if TYPE_CHECKING:
    from controller.app.release import ReleaseCheck

_NAMES_OF_PARTS = {
    "ruleset": "rule set",
    "paytable": "pay table",
    "table": "the table's file",
}
DUTY_INTERVAL_S = 0.5
REOPEN_S = 5.0
"""The interval between attempts to open the journal."""
STEP_US = 60_000_000
"""The smallest step of the wall clock that locks the table until a person approves the new time. The clock's
first synchronization does not lock the table."""
MAX_DECISION_WAIT_S = 10.0
"""Maximum wait after the end of standard input; longer than a throw of the dice plus the hold of a call."""
MIN_DECISION_WAIT_S = 1.0
"""Minimum wait after the end of standard input, during which queued readings can still begin an attempt."""
OVERFLOW_CLEARS_S = 30.0
PROGRESS_S = 2.0
"""The interval between progress reports of a verification during startup."""
_encode = msgspec.json.Encoder().encode

Draw = Callable[[Path, int], AttemptDrawing]
"""Returns the drawing and the pictures of an attempt, given the journal and the attempt's number."""


class InUseError(Exception):
    """Another controller uses the journal or the socket that the message names."""


class Daemon:
    """One table's daemon, from start to stop; `run` must be called in the main thread."""

    def __init__(
        self,
        options: Options,
        settings: TableSettings,
        *,
        environ: dict[str, str],
        sources: Sequence[Callable[["Daemon"], Source]] = (),
        wall: Callable[[], WallTime] = system_wall,
        clock: Clock | None = None,
        engine: EngineMaker | None = None,
        random_fraction: RandomFraction = lambda: 0.5,
        draw: Draw = lambda _journal, _number: AttemptDrawing(),
    ) -> None:
        """Create the parts without opening the journal.

        `sources` create the sources of readings. `clock` is the table's clock; its default is the machine's
        clock or, with data time, the readings' clock. `engine` creates a settlement engine in this process.
        `random_fraction` returns a number in the range [0, 1), with which publishing spreads its retries.
        `draw` creates the drawings for screens.

        Raises UnfitSettings if the table's `publish:` section can't be applied on this machine.
        """
        self.options = options
        self.draw = draw
        self.settings = settings
        self.hub = Hub()
        self.faults = ActiveFaults(self._report_fault)
        self.monotonic = MonotonicClock()
        self.clock: Clock = clock or (DataClock() if options.data_time else self.monotonic)
        self.inlet = Inlet(self.clock, capacity=options.capacity, overflowed=self._report_overflow)
        self.wall = wall
        self.digests: Digests = digests_of(options.table, settings)
        self.approved: Approved | None = None
        self.key: Key | None = None
        self.live: RunningTable | None = None
        self.started = wall()
        self.sources = [make(self) for make in sources]
        self.hardware = next((source for source in self.sources if isinstance(source, Hardware)), None)
        self.exit_code = service.STOPPED
        self._environ = environ
        self._notifier = Notifier(environ)
        self._watch = WallWatch(wall, self.monotonic.now_us, STEP_US)
        self._stop = Event()
        self._overflow_until_us = 0
        self._reopen_at_us = 0
        self._progress_due_us = 0
        self._input_ended_us: int | None = None
        self._accept: Acceptance | None = None
        self._watchdog = Watchdog(self.faults)
        self._begun = False
        self._behind_us = 0
        self._release_check: ReleaseCheck | None = None
        self._steps = 0
        """The number of steps of the wall clock that await approval."""
        self.publishing = Publishing(
            settings,
            options.journal,
            self.faults,
            engine=engine,
            random_fraction=random_fraction,
            now_us=self.monotonic.now_us,
            status=self._published_status,
        )

    # --- the main thread ---

    def open(self) -> None:
        """Open the journal and restore the table, without starting threads.

        If the journal can't be opened, report a fault; `run_periodic_tasks` retries every 5 s.

        Raises:
            InUseError: another controller uses the journal.
        """
        try:
            self._make_folders()
            self.key = self._key()
            live = RunningTable(
                self.options,
                self.settings,
                self.digests,
                self.key,
                faults=self.faults,
                hub=self.hub,
                inlet=self.inlet,
                wall=self.wall,
                failed=self._handle_core_failure,
                publishing=self.publishing,
                hardware=self.hardware,
                accept=self._accept,
                progress=self._report_progress,
            )
        except JournalFault as fault:
            if fault.code == "journal_in_use":
                raise InUseError(str(fault)) from fault
            found = journal_fault(fault)
            # Report a fault only once, even if it recurs at each retry.
            if found.code not in {active.code for active in self.faults.present}:
                self.faults.clear_all("opening")
                self.faults.report(found, "opening")
            self._reopen_at_us = self.monotonic.now_us() + round(REOPEN_S * 1e6)
            return
        # Other threads can unlock the table once `live` is set, so first report the faults that lock it.
        self._check_identity(live)
        self._check_release()
        self._check_clock_against_journal(live)
        self.faults.clear_all("opening")
        self.live = live
        log(
            INFO,
            f"{self.settings.table}: session {live.setup.session} after row {live.last_n},"
            f" {self.digests.software}",
        )

    def begin(self) -> None:
        """Start the threads if the journal is open and they are not running yet."""
        if self.live is not None and not self._begun:
            self._begun = True
            self.live.begin(self._watchdog)
            if self._release_check is not None:
                self._release_check.start()
            for source in self.sources:
                source.start(self.inlet)
                self._watchdog.watch(source.name, partial(getattr, source, "turns"))

    def run(self) -> None:
        """Start the table, and run the daemon's periodic tasks until `stop` is called."""
        if self.hardware is not None:
            self.hardware.power_on()
        self.begin()
        self._notifier.notify(READY, f"STATUS={self.headline()}")
        self.run_periodic_tasks()
        while not self._stop.wait(DUTY_INTERVAL_S):
            self.run_periodic_tasks()

    def run_periodic_tasks(self) -> None:
        """Run the daemon's periodic tasks once."""
        now_us = self.monotonic.now_us()
        if self.live is None and now_us >= self._reopen_at_us:
            self._reopen()
        self._check_wall()
        if self._overflow_until_us and now_us > self._overflow_until_us:
            self._overflow_until_us = 0
            self.faults.clear(OVERFLOW)
        if self.live is not None:
            self.live.test()
            if self._begun:
                self.live.publish(self._watchdog)
                self.live.drop_expired(now_us)
        if self.hardware is not None:
            self.hardware.refresh()
            self.hardware.refresh_keys()
        if self._input_ended_us is not None:
            since_s = (now_us - self._input_ended_us) / 1e6
            if since_s > MAX_DECISION_WAIT_S or (since_s > MIN_DECISION_WAIT_S and self._is_idle):
                self.stop()
        if self._watchdog.check(now_us):
            self._notifier.notify(WATCHDOG, f"STATUS={self.headline()}")

    def input_ended(self) -> None:
        """Stop the table once the attempt in progress is decided, because standard input has ended."""
        log(NOTICE, "standard input has ended; the table stops once the attempt in progress is decided")
        if isinstance(self.clock, DataClock):
            self.clock.reach(self.clock.now_us() + round(MAX_DECISION_WAIT_S * 1e6))
        self._input_ended_us = self.monotonic.now_us()

    def stop(self, code: int = service.STOPPED) -> None:
        """Make `run` return, and set the exit code; may be called from any thread or signal handler."""
        if code != service.STOPPED:
            self.exit_code = code
        self._stop.set()

    def close(self) -> int:
        """Stop the sources, the core, the recorder and the journal, in that order; return the exit code."""
        self._notifier.notify(STOPPING)
        if self._release_check is not None and self._begun:
            self._release_check.stop(STOP_S)
        for source in self.sources:
            if self._begun or source is self.hardware:
                source.stop(STOP_S)
        if self.live is not None and not self.live.end(begun=self._begun) and not self.exit_code:
            self.exit_code = service.NOT_FLUSHED
        log(NOTICE, f"{self.settings.table}: stopped")
        return self.exit_code

    # --- for the control socket ---

    def watch_over(self, name: str, turns: Callable[[], int]) -> None:
        """Add a thread to the watchdog; `turns` returns a count that increases while the thread is alive."""
        self._watchdog.watch(name, turns)

    def headline(self) -> str:
        """Return the table's status as one line."""
        present = [fault for fault in self.faults.present if fault.code != WAITS]
        first = next((fault for fault in present if fault.kind.locks), None)
        awaited = None if self.live is None else self.live.core.view.awaited
        if first is None and awaited is not None:
            return awaited.headline
        if present:
            first = first or present[0]
            return f"{first.code} ({first.found}): {first.kind.next_step}"
        if self.live is None:
            return "starting"
        view = self.live.core.view
        failing = [check.name for check in self.live.tested if not check.ok]
        waits = f", self-test is waiting for {', '.join(failing)}" if failing else ""
        return f"table {view.state.table}, {view.state.lock}{waits}"

    def why_locked(self) -> str | None:
        """Return the reason why the table can't be unlocked now; None if a person may unlock it."""
        if self.live is None:
            return self.headline()
        return self.live.why_locked()

    def approve_identity(self, by: str, who: str) -> None:
        """Approve the current identity; raises OSError if the approval can't be stored."""
        assert self.key is not None
        approved = Approved(digests=self.digests, by=by, who=who)
        write_approved(self.options.approved, self.key, approved)
        self.approved = approved
        self.faults.clear("identity_changed")

    def accept_journal(self, by: str, who: str, reason: str) -> None:
        """Accept an older journal on a person's decision; the next periodic run opens the journal."""
        self._accept = Acceptance(by=by, who=who, reason=reason)
        self._reopen_at_us = 0

    def approve_devices(self) -> None:
        """Approve the devices that reported a failed part."""
        self.faults.clear_code("device_component")

    def approve_clock(self) -> None:
        """Approve the wall clock's current time."""
        self._steps = 0
        self.faults.clear_code("clock_stepped")
        self.faults.clear("clock_behind")

    @property
    def _is_idle(self) -> bool:
        return self.live is None or not (self.inlet.waiting or self.live.core.view.in_flight)

    # --- parts ---

    def _reopen(self) -> None:
        try:
            self.open()
        except InUseError as error:
            log(CRITICAL, error)
            self.stop(service.IN_USE)
        self.begin()

    def _report_progress(self, rows: int, of: int) -> None:
        """Extend systemd's start timeout during the verification of the journal."""
        now_us = self.monotonic.now_us()
        if now_us >= self._progress_due_us:
            self._progress_due_us = now_us + round(PROGRESS_S * 1e6)
            message = f"STATUS=verifying the journal: row {rows} of {of}"
            self._notifier.notify(EXTEND_START, WATCHDOG, message)

    def _make_folders(self) -> None:
        for folder in (self.options.journal, self.options.recordings, self.options.place.head.parent):
            try:
                folder.mkdir(exist_ok=True, mode=0o750)
            except OSError as error:
                raise os_fault(error, folder, "a writable folder") from error
        if self.options.shadow:
            try:
                self.options.shadow_mark.touch()
            except OSError as error:
                expected = "a writable folder"
                raise os_fault(error, self.options.shadow_mark, expected) from error

    def _key(self) -> Key:
        place, path = self.options.place, self.options.key_file
        never_begun = not (place.journal.exists() or place.head.exists() or path.exists())
        if never_begun and "CREDENTIALS_DIRECTORY" not in self._environ:
            try:
                new_key(path)
            except OSError as error:
                raise os_fault(error, path, "a writable folder") from error
        return service_key(self._environ, path)

    def _check_identity(self, live: RunningTable) -> None:
        assert self.key is not None
        self.approved = read_approved(self.options.approved, self.key)
        if self.approved is None and live.journal.recovered.session == 1:
            # If the approval can't be stored, the table remains locked until a person approves the identity.
            with suppress(OSError):
                self.approve_identity("controller", "the first start")
        before = self.approved
        parts = ("approval",) if before is None else changed_parts(before.digests, self.digests)
        if parts:
            where = str(self.options.approved)
            named = ", ".join(_NAMES_OF_PARTS.get(part, part) for part in parts)
            found = f"different from the approved identity: {named}"
            if before is None:
                found = "no approval signed with this table's key"
            self.faults.report(Fault("identity_changed", where, found))
        live.core.note("identity.checked", {"digests": self.digests, "changed": parts})

    def _check_release(self) -> None:
        """Compare the program's files with the manufacturer's signed list, if a release key is trusted."""
        key = self.options.release_key
        if key is None or not os.path.lexists(key):
            return
        from controller.app.release import (  # noqa: PLC0415 - not needed at tables that trust no release key
            ReleaseCheck,
            ReleaseFault,
            place_of,
            trusted_keys,
            verify,
        )

        self._release_check = ReleaseCheck(key, self.faults)
        try:
            verify(place_of(), trusted_keys(key), compiled=False)
        except ReleaseFault as fault:
            self.faults.report(Fault("release_unverified", str(key), str(fault)))
        except OSError as error:
            found = f"{error.filename}: {error.strerror}"
            self.faults.report(Fault("release_unverified", str(key), found))

    def _check_clock_against_journal(self, live: RunningTable) -> None:
        with Reader(self.options.place.journal) as reader:
            last_n = live.journal.recovered.last_n
            last = next(reader.rows(last_n, last_n), None) if last_n else None
        now = self.wall()
        if last is not None and now.us < last.wall.us:
            found = f"{iso(now.us)} now, but {iso(last.wall.us)} in row {last.n}"
            self.faults.report(Fault("clock_behind", "wall clock", found))
            self._behind_us = last.wall.us

    def _check_wall(self) -> None:
        if self._behind_us and self.wall().us >= self._behind_us:
            self._behind_us = 0
            self.faults.clear("clock_behind")
        step = self._watch.step()
        if step is None:
            return
        now = self.wall()
        found = f"changed by {step.by_us / 1e6:+,.0f} s to {iso(now.us)}"
        if self.live is not None:
            fields = {"by_us": step.by_us, "wall_us": now.us, "synced": now.synced, "first": step.first_sync}
            self.live.core.note("clock.noted", fields)
        if not step.first_sync:
            self._steps += 1
            counted = f"{found}, the last of {self._steps} steps" if self._steps > 1 else found
            self.faults.report(Fault("clock_stepped", "wall clock", counted))

    # --- called by other threads ---

    def _report_overflow(self) -> None:
        self._overflow_until_us = self.monotonic.now_us() + round(OVERFLOW_CLEARS_S * 1e6)
        self.faults.report(Fault(OVERFLOW, "inlet", f"more than {self.options.capacity} readings waiting"))

    def _published_status(self) -> TableStatus:
        live = self.live
        locked = live is None or live.core.view.halted or live.core.view.state.lock == "locked"
        return TableStatus(
            table=self.settings.table,
            state="online",
            lock="locked" if locked else "unlocked",
            headline=self.headline(),
            faults=tuple(fault.code for fault in self.faults.present),
            session=None if live is None else int(live.setup.session),
            software=self.digests.software,
        )

    def _handle_core_failure(self) -> None:
        self.stop(service.DEFECT)

    def _report_fault(self, change: Change) -> None:
        fault = change.fault
        level = (CRITICAL if fault.kind.locks else ERROR) if change.began else NOTICE
        log(level, f"began: {fault}" if change.began else f"cleared: {fault.where}: {fault.code}")
        line = {
            "fault": {"code": fault.code, "where": fault.where, "found": fault.found, "began": change.began}
        }
        self.hub.publish("faults", _encode(line) + b"\n")
        self.inlet.wake()
        if self.live is None and self.hardware is not None:
            present = self.faults.present
            self.hardware.show("lock", "locked")
            self.hardware.show("fault", present[0].code if present else "none")
