"""A running table: its journal, recorder, core and self-test."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from threading import Lock

import msgspec

from controller.app.background import Retention, Verifier
from controller.app.clock import iso
from controller.app.core import Core
from controller.app.devices import Devices
from controller.app.faults import (
    TEST_FAILED,
    WAITS,
    ActiveFaults,
    Fault,
    journal_fault,
    sensor_test_detector,
    test_fault,
)
from controller.app.hardware import Hardware
from controller.app.history import HistoryLimit, TableHistory
from controller.app.hub import Hub
from controller.app.identity import Digests
from controller.app.inlet import ROOM_FOR_READINGS, Inlet
from controller.app.options import Options
from controller.app.publishing import Publishing
from controller.app.recording import Closed, Recorder
from controller.app.service import ERROR, Watchdog, log
from controller.engine.resume import CONTROLLER, RESUMED_FROM, LastRow, StoppedState, opening_outcomes, resume
from controller.engine.session import SETTLEMENT
from controller.games.game import Game
from controller.games.registry import game_of
from controller.journal.chain import Row, WallTime
from controller.journal.contents import Identity, decode_outcome
from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.keys import Key
from controller.journal.opening import Acceptance
from controller.journal.reading import Reader
from controller.journal.verify import Progress, VerificationResult
from controller.journal.writer import Ticket
from controller.machines.setup import Setup
from controller.model.printable import printable
from controller.model.readings import Input
from controller.model.tables import TableSettings
from controller.publish.events import LateWagersQuery, PlayQuery
from controller.publish.players import first_board
from drivers.registry import DEVICE_MODULES, device_type

DEVICES_WITHIN_US = 20_000_000
"""Time after startup at which a device that is still down is reported; cameras take seconds to start."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check of the self-test, with a description of the findings."""

    name: str
    ok: bool
    says: str


class SelfTest:
    """The self-test of one table."""

    def __init__(
        self,
        journal: Journal,
        started: Ticket,
        devices: Devices,
        faults: ActiveFaults,
        required: frozenset[str],
        *,
        switches: Mapping[str, frozenset[str] | None],
    ) -> None:
        """Create the self-test from these parts.

        `started` is the ticket of the session's first row. `required` lists the devices that must be up.
        `switches` are the locking switches that each device must report; None if their names are unknown.
        """
        self._journal = journal
        self._started = started
        self._devices = devices
        self._faults = faults
        self._required = required
        self._switches = switches

    def run(self, now_us: int) -> tuple[Check, ...]:
        """Run all checks; `now_us` is the table's time."""
        return (
            self._check_journal(),
            self._check_devices(),
            self._check_switches(now_us),
            self._check_faults(),
        )

    def report_missing(self, since_start_us: int) -> None:
        """Report a fault if devices are still down long after startup; clear the fault if all are up."""
        missing = self._devices.missing(self._required)
        waits = any(fault.code == WAITS for fault in self._faults.present)
        if not missing:
            self._faults.clear("device_missing")
        elif waits and since_start_us > DEVICES_WITHIN_US:
            self._faults.report(Fault("device_missing", ", ".join(missing), _each(missing)))

    def _check_journal(self) -> Check:
        fault = self._journal.fault
        ok = fault is None and self._started.durable
        message = (
            "the session's first row is on the disk"
            if ok
            else str(fault or "the session's first row is not on the disk yet")
        )
        return Check(name="journal", ok=ok, says=message)

    def _check_devices(self) -> Check:
        missing = self._devices.missing(self._required)
        up = f"all required devices are up ({len(self._required)})"
        message = f"not up: {_each(missing)}" if missing else up
        return Check(name="devices", ok=not missing, says=message)

    def _check_switches(self, now_us: int) -> Check:
        opened = self._devices.open_switches
        if opened:
            return Check(name="switches", ok=False, says=f"open: {', '.join(opened)}")
        unreported = self._devices.unreported_switches(self._switches, now_us)
        if unreported:
            return Check(name="switches", ok=False, says="; ".join(starmap(_unreported, unreported.items())))
        return Check(name="switches", ok=True, says="all locking switches are closed")

    def _check_faults(self) -> Check:
        locking = [fault for fault in self._faults.locking if fault.code != WAITS]
        message = ", ".join(fault.code for fault in locking) or "no fault that locks play"
        return Check(name="faults", ok=not locking, says=message)


def _each(missing: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({message})" for name, message in missing.items())


def _unreported(dev: str, switches: str) -> str:
    """Return a message about a device's unreported switches, with the remedy."""
    if switches == "any":
        return f"{dev} has not reported its switches since startup; wait 10 s, or open and close one of them"
    them = "each of them" if ", " in switches else "it"
    return f"{dev} has not reported {switches} since startup; open and close {them}"


def passed(checks: tuple[Check, ...]) -> bool:
    """Return whether every check passed."""
    return all(check.ok for check in checks)


OUTLIVES_RESTARTS = frozenset({"clock_stepped", "device_component", TEST_FAILED})
"""Faults restored at each startup until a person clears them, because nothing detects them again."""
LOOK_BACK = 5000
"""Maximum number of rows searched for the lock's cause; an older lock is treated as one set by a person."""
STOP_S = 5.0
_encode = msgspec.json.Encoder().encode


class RunningTable:
    """The journal, recorder, core and self-test of one session."""

    def __init__(
        self,
        options: Options,
        settings: TableSettings,
        digests: Digests,
        key: Key,
        *,
        faults: ActiveFaults,
        hub: Hub,
        inlet: Inlet,
        wall: Callable[[], WallTime],
        failed: Callable[[], None],
        publishing: Publishing,
        hardware: Hardware | None = None,
        accept: Acceptance | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Open the journal and restore the table's last state, with the table locked.

        `accept` is a person's decision to continue with an older journal. `progress` is called with the
        number of the last row verified so far and that of the journal's last row.

        Raises:
            JournalFault: the journal can't be opened or continued.
        """
        self._options = options
        self._faults = faults
        self._hub = hub
        self._inlet = inlet
        self._hardware = hardware
        self._publishing = publishing
        self.is_verified = False
        """Whether the whole journal is verified, including the rows before its last checkpoint."""
        self._begun_us = inlet.now_us
        self._unlock_requested_at = -1
        self._testing = Lock()
        self._tested: tuple[Check, ...] = ()
        self.started_wall = wall()
        self.journal = Journal.open(
            options.place,
            key,
            table=settings.table,
            wall=wall,
            on_durable=self._note_durable,
            alarm=self._handle_alarm,
            accept=accept,
            progress=progress,
        )
        self._retention = Retention(self.journal, settings.retention, wall)
        self.last_n = self.journal.recovered.last_n
        self.bets_opened = HistoryLimit(self.last_n, self._begun_us)
        """The last row and the time when bets last opened, or when this session began."""
        publishing.open(
            self.journal,
            key,
            table_now_us=None if options.data_time else lambda: inlet.now_us,
            wake=inlet.wake,
            line_bet=self._enter_line_bet,
            pair_plus=self._enter_without_pair_plus,
            played=self._enter_played,
            query_late=self._query_late,
            query_play=self._query_play,
        )
        self.history = TableHistory(
            lambda: first_board(
                settings.table,
                str(self.journal.recovered.session),
                settings.rules.game,
                self.journal.recovered.state,
                self.journal.recovered.first,
            ),
            lambda: Reader(options.place.journal),
        )
        self.recorder = Recorder(
            options.recordings, faults, closed=self._note_recording, keep_bytes=options.keep_bytes
        )
        self.verifier = Verifier(options.place.journal, faults, done=self._note_verified)
        try:
            self._start_session(settings, digests, failed)
        except BaseException:
            self.journal.close()
            raise

    def _start_session(self, settings: TableSettings, digests: Digests, failed: Callable[[], None]) -> None:
        options, faults = self._options, self._faults
        resumed = self._resume(game_of(settings.rules.game))
        self.setup = build_setup(settings, resumed, self.journal.recovered.session)
        started = self._start(digests, resumed)
        faults.report(Fault(WAITS, "self-test", "checking the journal, devices and switches"))
        for fault in self._lasting_faults():
            if fault.code != TEST_FAILED:
                faults.report(fault, "before the restart")
            elif fault.where.partition(", ")[0] in settings.devices:
                faults.report(test_fault(fault.where, fault.found), sensor_test_detector(fault.where))
        self.core = Core(
            self.setup,
            resumed,
            journal=self.journal,
            inlet=self._inlet,
            recorder=self.recorder,
            faults=faults,
            hub=self._hub,
            epoch=iso(self.started_wall.us - self._inlet.now_us),
            rotation=options.rotation,
            failed=failed,
            lit=_ignore_lamp if self._hardware is None else self._hardware.show,
            causes={
                name: device_type(device.type).causes
                for name, device in settings.devices.items()
                if device.type in DEVICE_MODULES
            },
            betting=self._publishing.note_betting,
            betting_due_us=self._publishing.betting_due_us,
            awaiting=self._publishing.note_awaited,
            late_confirmed=self._publishing.note_late_confirmed,
            play_requested=self._publishing.note_play_requested,
        )
        required = frozenset(settings.devices) if options.self_test_devices else frozenset()
        locking = self.setup.locking_switches
        switches = {
            name: None if device.switches is None else frozenset(device.switches) & locking
            for name, device in settings.devices.items()
            if name in required and "switch" in device.reads and locking
        }
        self.self_test = SelfTest(
            self.journal, started, self.core.devices, faults, required, switches=switches
        )
        self.core.why_locked = self.why_locked

    def begin(self, watchdog: Watchdog) -> None:
        """Start the threads, and register the recorder and the core with the watchdog."""
        self.recorder.start()
        self.core.start()
        watchdog.watch("recorder", lambda: self.recorder.turns)
        watchdog.watch("core", lambda: self.core.turns)
        self.verifier.start()

    def publish(self, watchdog: Watchdog) -> None:
        """Start publishing once the outbox is verified; call this only from the main thread."""
        self._publishing.start(watchdog, journal_verified=self.is_verified)

    def drop_expired(self, now_us: int) -> None:
        """Drop expired contents once the whole journal is verified; call this only from the main thread."""
        if self.is_verified:
            self._retention.drop_expired(now_us)

    def end(self, *, begun: bool = True) -> bool:
        """Stop all threads and close the journal; return whether all data is on the disk."""
        self.verifier.stop(1.0)
        clean = not begun or all([self.core.stop(STOP_S), self.recorder.stop(STOP_S)])
        if not self._publishing.stop(STOP_S):
            log(ERROR, "publishing did not end in time; outcomes that were not sent remain in the outbox")
        try:
            self.journal.close()
        except JournalFault as fault:
            self._faults.report(journal_fault(fault), "journal")
            return False
        return clean

    @property
    def late_wagers(self) -> tuple[tuple[str, str], ...]:
        """The wagers lodged during the current throw, each with its id and description."""
        return self._publishing.late_wagers

    # --- the self-test ---

    def why_locked(self) -> str | None:
        """Run the self-test and return its failing checks; None if a person may unlock the table."""
        self.test()
        failing = [f"{check.name}: {check.says}" for check in self.tested if not check.ok]
        return "; ".join(failing) or None

    @property
    def tested(self) -> tuple[Check, ...]:
        """The results of the last self-test."""
        return self._tested

    def test(self) -> None:
        """Run the self-test, publish a changed result, and unlock the table if the options permit it."""
        with self._testing:
            self._test()

    def _test(self) -> None:
        self.self_test.report_missing(self._inlet.now_us - self._begun_us)
        checks = self.self_test.run(self._inlet.now_us)
        if [(check.name, check.ok) for check in checks] != [(check.name, check.ok) for check in self._tested]:
            event = {"passed": passed(checks), "checks": checks}
            self.core.note("self_test.done", event)
            self._hub.publish("faults", b'{"self_test":%s}\n' % _encode(event))
        self._tested = checks
        if passed(checks):
            self._faults.clear(WAITS)
        view = self.core.view
        busy = view.held or view.halted or view.testing or view.in_flight
        may = self._options.unlock == "automatic" and not busy
        if (
            passed(checks)
            and may
            and view.state.lock == "locked"
            and self._unlock_requested_at != view.lock_changes
        ):
            unlock = Input(t=0, dev=CONTROLLER, name="unlock", by=CONTROLLER, reason="self_test_passed")
            if self._inlet.post(unlock, has_time=False):
                self._unlock_requested_at = view.lock_changes

    # --- at the start ---

    def _resume(self, game: Game) -> StoppedState:
        recovered = self.journal.recovered
        with Reader(self._options.place.journal) as reader:
            from_n = max(recovered.verified_from, recovered.last_n - LOOK_BACK)
            last_rows = map(_last_row, reader.rows(from_n, types=RESUMED_FROM))
            return resume(
                game, recovered.state, recovered.first, recovered.in_flight, filter(None, last_rows)
            )

    def _lasting_faults(self) -> Iterator[Fault]:
        for fault in self.journal.recovered.faults:
            if fault.code in OUTLIVES_RESTARTS:
                yield Fault(fault.code, fault.where, fault.found)

    def _start(self, digests: Digests, resumed: StoppedState) -> Ticket:
        """Journal the table's identity, then the outcomes that open the session."""
        identity = Identity(
            session=int(self.setup.session),
            software=digests.software,
            config=digests.config,
            boot=_boot_id(),
            setup=self.setup,
        )
        started = self.journal.start(identity)
        outcomes, first = opening_outcomes(resumed, self.setup, self._inlet.now_us)
        if outcomes:
            self.journal.append(outcomes, self.setup.state, first)
        self.setup = replace(self.setup, first=first)
        return started

    # --- called by other threads ---

    def _enter_line_bet(self, seat: str, has: bool) -> None:
        """Journal and enter settlement's answer about the shooter's line bet."""
        self.core.note("settlement.said", {"input": "line_bet", "seat": seat, "has": has})
        entered = Input(t=0, dev=SETTLEMENT, name="line_bet", by=SETTLEMENT, seat=seat, on=has)
        self._inlet.post(entered, has_time=False)

    def _enter_without_pair_plus(self, without: tuple[str, ...]) -> None:
        """Journal and enter settlement's answer about the positions without Pair Plus."""
        self.core.note("settlement.said", {"input": "pair_plus", "seats": without})
        entered = Input(t=0, dev=SETTLEMENT, name="pair_plus", by=SETTLEMENT, seats=without)
        self._inlet.post(entered, has_time=False)

    def _enter_played(self, round_: int, seats: tuple[str, ...]) -> None:
        """Journal and enter settlement's answer about the positions with Play in a round."""
        self.core.note("settlement.said", {"input": "played", "round": round_, "seats": seats})
        entered = Input(t=0, dev=SETTLEMENT, name="played", by=SETTLEMENT, seats=seats)
        self._inlet.post(msgspec.structs.replace(entered, what=str(round_)), has_time=False)

    def _query_late(self, query: LateWagersQuery) -> bool:
        """Lodge a wager made with the dice out, to be confirmed; return False if that is impossible.

        The wager's row is queued for the journal before the staff's consoles receive the description.
        """
        query = msgspec.structs.replace(query, says=printable(query.says))
        lodged = {"wager": query.wager, "says": query.says}
        fields = {"input": "late_wager", **lodged, "digest": query.digest, "nonce": query.nonce}
        if not self._publishing.lodge_late_wager(query, lambda: self.core.note("settlement.said", fields)):
            return False
        entered = Input(t=0, dev=SETTLEMENT, name="late_wager", by=SETTLEMENT, what=query.wager)
        self._inlet.post(msgspec.structs.replace(entered, reason=query.says), has_time=False)
        self._hub.publish("outcomes", b'{"late_wager":%s}\n' % _encode(lodged))
        return True

    def _query_play(self, query: PlayQuery) -> bool:
        """Enter a request for Play at some positions as an input; return False if that is impossible.

        As an input, the request is processed in order with the folds. The core then calls `play_requested`.
        """
        if query.round != self.core.view.first.round:
            return False  # The request is a copy of an earlier one, or bets have reopened.
        entered = Input(t=0, dev=SETTLEMENT, name="play_asked", by=SETTLEMENT, seats=query.seats)
        entered = msgspec.structs.replace(entered, what=query.nonce)
        return self._inlet.post(entered, has_time=False, spare=ROOM_FOR_READINGS)

    def _handle_alarm(self, fault: JournalFault | None) -> None:
        if fault is None:
            self._faults.clear_all("journal")
        else:
            self._faults.report(journal_fault(fault), "journal")

    def _note_durable(self, ticket: Ticket) -> None:
        self._publishing.note_durable(ticket.outcomes)
        self.history.note_durable(tuple(ticket.outcomes))
        for row in ticket.outcomes:
            assert row.body is not None
            self.last_n = row.n
            if row.name == "bets.opened":
                self.bets_opened = HistoryLimit(row.n, decode_outcome(row.body).t)
            line = b'{"outcome":%s,"n":%d,"chain":"%s"}\n' % (row.body, row.n, row.link.hex().encode())
            self._hub.publish("outcomes", line)
            if self._hardware is not None:
                self._hardware.note_durable(decode_outcome(row.body))

    def _note_verified(self, found: VerificationResult) -> None:
        self.is_verified = True
        self.core.note("journal.verified", {"rows": found.rows, "last_link": found.last_link.hex()})

    def _note_recording(self, recording: Closed) -> None:
        self.core.note("recording.closed", recording._asdict())


def _last_row(row: Row) -> LastRow | None:
    """Return the outcome in a row; None if the row's body was dropped."""
    if row.body is None:
        return None
    try:
        return LastRow(row.name, decode_outcome(row.body).data)
    except (msgspec.MsgspecError, KeyError):
        return LastRow(row.name, None)


def build_setup(settings: TableSettings, resumed: StoppedState, session: int) -> Setup:
    """Return the session's setup: the table's last state, with the table locked."""
    return Setup(
        table=settings.table,
        ruleset=settings.rules,
        session=str(session),
        first=resumed.first,
        state=msgspec.structs.replace(resumed.state, lock="locked", calls=settings.calls),
        calls=settings.calls,
        dice_table=settings.dice_table,
        wheel=settings.wheel,
        sources={
            name: tuple(
                f"{kind}:{device.wall}" if kind == "wall_impact" else kind
                for kind in device.reads
                if kind not in ("switch", "input")
            )
            for name, device in settings.devices.items()
        },
        locking_switches=frozenset(name for name, does in settings.switches.items() if does == "lock"),
    )


def _ignore_lamp(lamp: str, shows: str) -> None:
    """Do nothing; a table without hardware has only the lamps that watchers show."""


def _boot_id() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else f"pid {os.getpid()}"
