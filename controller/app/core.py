"""The core: the thread that passes readings and time to the engine, and carries out the engine's effects.

The core never waits for the disk or for a watcher. It lights lamps at once. It queues outcomes for the
journal, which publishes them once they are durable.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from types import MappingProxyType

import msgspec

from controller.app.devices import Devices
from controller.app.faults import ActiveFaults, Fault
from controller.app.hub import Hub, Lamps, ReadingFilter
from controller.app.inlet import HALTED, Inlet, NextReading, PendingAnswers, PendingInput
from controller.app.recording import Recorder, RecordingSeries, Rotation, Segment
from controller.app.view import View
from controller.engine.resume import (
    CONTROLLER,
    CutOffAttempts,
    OpenAttempts,
    StoppedState,
    begun_between,
    is_lock_held,
)
from controller.journal.faults import CROWDED, JournalFault
from controller.journal.journal import Journal
from controller.journal.writer import Ticket
from controller.machines.flat import InputRefused
from controller.machines.refusals import PLAYER_ROLES
from controller.machines.setup import NextNumbers, Setup
from controller.machines.table import NOT_READY
from controller.model.effects import Effect, Lamp, LateReading, Proposed
from controller.model.outcomes import Awaited, Bets, Outcome, TableEvent
from controller.model.readings import AnyReading, Card, Input, Switch
from controller.publish.betting import BetKind, Betting
from drivers.health import Causes

BUSY_TICK_S = 0.02
"""Maximum time step while an attempt is in progress or readings arrive.

Readings, faults, queries about bets and due timers end a step early. The step therefore limits only the age
of the view, the lamps and the allowed inputs.
"""
MIN_TICK_S = 0.0001
"""Minimum time step, used when a timer or a statement is overdue."""
IDLE_TICK_S = 0.25
"""Maximum time step when idle; also the step while data time does not advance."""
BUSY_US = 600_000
"""The core is treated as busy for this long after the last reading, because a call can be held that long."""
ALLOWED_US = 20_000
"""The interval between updates of the allowed inputs, which change with time as the dice come to rest."""
ALLOWED_IDLE_US = 200_000
"""The interval between updates of the allowed inputs when idle."""
_WITHOUT_OUTCOME = (Input, Card)
"""Readings that can change the state without an outcome, such as a seat taken or a card for the button."""
NUDGE = b'{"table":"changed"}\n'
_encode = msgspec.json.Encoder().encode


def awaited_line(awaited: Awaited | None) -> bytes:
    """Return the line that shows watchers which attempt awaits a ruling; it contains null if none does."""
    return b'{"awaited":%s}\n' % _encode(awaited)


class Core:
    """The thread that owns the engine."""

    def __init__(
        self,
        setup: Setup,
        resumed: StoppedState,
        *,
        journal: Journal,
        inlet: Inlet,
        recorder: Recorder,
        faults: ActiveFaults,
        hub: Hub,
        epoch: str,
        rotation: Rotation,
        failed: Callable[[], None],
        lit: Callable[[str, str], None],
        causes: Mapping[str, Causes] = MappingProxyType({}),
        betting: Callable[[Betting, int], None] = lambda _betting, _now_us: None,
        betting_due_us: Callable[[int], int | None] = lambda _lateness_us: None,
        awaiting: Callable[[Awaited | None], None] = lambda _awaited: None,
        late_confirmed: Callable[[str, Ticket], None] = lambda _wager, _row: None,
        play_requested: Callable[[str, int], None] = lambda _nonce, _received_us: None,
    ) -> None:
        """Start from the resumed state.

        `causes` are the faults that each device can report, with their remedies. The following callbacks
        must return at once:

        - `failed`: the core stopped because of a bug;
        - `lit`: a lamp changed;
        - `betting`: called in each iteration with the betting state and the table's time;
        - `betting_due_us`: returns the time of the next statement about betting, given the maximum lateness
          in us; None if no statement is due;
        - `awaiting`: a different attempt awaits a ruling, or none does; not called in test mode;
        - `late_confirmed`: staff confirmed a wager made with the dice out; called with the wager's id and the
          confirmation's row;
        - `play_requested`: settlement requested Play; called with the request's nonce and time once no fold
          can precede the request.
        """
        self.devices = Devices(setup, faults, causes)
        self.lamps = Lamps(hub, lit)
        self.turns = 0
        """Incremented in each iteration of the thread, for the watchdog."""
        self.why_locked: Callable[[], str | None] = lambda: None
        """Returns the reason why the table can't be unlocked now, or None."""
        self._setup = setup
        self._journal = journal
        self._inlet = inlet
        self._faults = faults
        self._hub = hub
        self._reading_filter = ReadingFilter(hub, setup.ruleset)
        self._failed = failed
        self._note_betting = betting
        self._betting_due_us = betting_due_us
        self._awaiting = awaiting
        self._late_confirmed = late_confirmed
        self._play_requested = play_requested
        self._cut_off = CutOffAttempts(resumed.pending, setup)
        self._held = resumed.held
        self._bets_closed = resumed.bets_closed and bool(resumed.pending)
        self._awaited = self._cut_off.awaited
        self._locked_by = resumed.lock
        self._answers = PendingAnswers(inlet)
        self._ticket: Ticket | None = None
        self._halted = False
        self._lock_requested = False
        self._lock_changes = 0
        self._last_activity_us = 0
        self._last_outcome_us = 0
        self._last_reading_us = 0
        self._now_us = 0
        self._time_is_frozen = False
        self._allowed_inputs: tuple[str, ...] = ()
        self._acted: Mapping[str, str] = {}
        self._allowed_at_us = 0
        self._hold_ends_us: int | None = None
        self._allowed_stale = True
        self._readings = 0
        self._unsettled = False
        self._settles_us = 0
        self._attempts = OpenAttempts(setup.first)
        self._state, self._first = setup.state, setup.first
        self._lateness_us = round(setup.ruleset.max_lateness_ms * 1000)
        self._recordings = RecordingSeries(setup, epoch, recorder, rotation, self._input_decided)
        self._segment = self._recordings.next(self._state, self._first)
        self._state = self._segment.session.state()
        self._stop = Event()
        self._thread = Thread(target=self._work, name="core", daemon=True)
        self._show_lock()
        if self._awaited is not None:
            self.lamps.set("review", "on")
            self._awaiting(self._awaited)

    # --- for other threads ---

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Process the queue, make any held call, and stop; return False on a timeout."""
        self._stop.set()
        self._inlet.wake()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def view(self) -> View:
        """The core's current state."""
        return View(
            now_us=self._now_us,
            state=self._state,
            first=self._first,
            attempt_open=self._attempt_open,
            in_flight=self._attempts.undecided_before(self._first),
            held=self._held,
            bets_closed=self._bets_closed,
            testing=self._testing,
            halted=self._halted,
            hold_ends_us=self._hold_ends_us,
            pending=self._cut_off.pending,
            allowed=self._allowed_inputs,
            acted=self._acted,
            awaited=self._awaited,
            locked_by=self._locked_by,
            lock_changes=self._lock_changes,
            recording=self._segment.name,
            readings=self._readings,
            late=self._segment.session.late,
        )

    @property
    def _testing(self) -> bool:
        return self._segment.session.testing

    def enter(self, entered: Input) -> PendingInput | None:
        """Queue a person's input; return its pending answer, or None if the queue is full."""
        return self._answers.enter(entered)

    def _input_decided(self, entered: AnyReading, refused: InputRefused | None, answer: str = "") -> None:
        if refused is None and isinstance(entered, Input) and entered.name == "confirm_late":
            self._journal_confirmation(entered)
        elif refused is None and isinstance(entered, Input) and entered.name == "play_asked":
            self._play_requested(entered.what or "", entered.t)
        allowed = () if refused is None or self._halted else self._allowed()
        self._answers.record(entered, refused, allowed, answer)

    def _journal_confirmation(self, entered: Input) -> None:
        """Journal the confirmation of a wager made with the dice out.

        The confirmation is valid only if its row is on the disk in time (C34-MK-1b).
        """
        fields = {
            "wager": entered.what,
            "by": entered.by,
            "who": entered.who,
            "dev": entered.dev,
            "t": entered.t,
        }
        row = self.note("late.confirmed", fields)
        if row is not None and entered.what is not None and not self._testing:
            self._late_confirmed(entered.what, row)

    def _allowed(self) -> tuple[str, ...]:
        pending = self._cut_off.awaited
        also = () if pending is None or self._testing else pending.may
        return tuple(dict.fromkeys((*also, *self._segment.session.allowed())))

    # --- the thread ---

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self.turn(self._tick_s())
            self.drain()
        except Exception as error:  # noqa: BLE001 - every error that stops the core must be reported
            self._faults.report(Fault("core_failed", "core", f"{type(error).__name__}: {error}"))
            self.lamps.set("lock", "locked")
            self._failed()

    def turn(self, timeout_s: float) -> bool:
        """Process the next reading, or advance the time after a timeout; return whether a reading arrived."""
        taken = self._inlet.take(timeout_s)
        self._turn(taken)
        return taken.reading is not None

    def _turn(self, taken: NextReading) -> None:
        self.turns += 1
        self._time_is_frozen = taken.reading is None and taken.now_us == self._now_us
        self._now_us = taken.now_us
        if taken.reading is not None:
            self._handle(taken.reading, taken.now_us)
        elif not self._halted:
            self._process(self._segment.session.advance(taken.now_us))
            self._unsettled = self._unsettled and taken.now_us <= self._settles_us
            self._rotate(taken.now_us)
        self.lamps.mark_test(testing=self._testing)
        self.devices.expire(self._now_us)
        self._note_faults()
        self._lock_on_fault()
        if self._awaited is not None:
            self._note_awaited()  # The allowed rulings change with time, as the dice come to rest.
        self._note_betting(self._current_betting, self._now_us)
        self._note_allowed()

    @property
    def _current_betting(self) -> Betting:
        """The bets that are accepted now, and the time up to which their acceptance is certain."""
        session = self._segment.session
        plays = self._state.table == "open" and self._state.lock == "unlocked"
        takes: BetKind | None = None
        if plays and not (self._testing or self._halted or self._lock_requested or self._cut_off.pending):
            takes = "wagers" if not self._bets_closed else "play" if session.awaits_play else None
        in_play = plays and not (self._testing or self._halted or self._lock_requested)
        out = session.dice_out if in_play and self._bets_closed else None
        acted = session.acted if takes == "play" else {}
        folded = tuple(sorted(seat for seat, act in acted.items() if act == "fold"))
        return Betting(takes, self._first.round, self._first.seq - 1, session.certain_us, out, folded)

    def drain(self) -> None:
        """Process all queued readings, make any held call, and end the recording."""
        rules = self._setup.ruleset
        attempts = rules.throw or rules.spin or rules.deal
        hold_ms = attempts.call_hold_ms if attempts else 0.0
        needed_us = self._lateness_us + round(hold_ms * 1000) + 1
        while True:
            before_us = self._now_us
            arrived = self.turn(BUSY_TICK_S)
            time_is_frozen = not arrived and self._now_us == before_us
            if time_is_frozen or (not arrived and self._now_us > self._last_reading_us + needed_us):
                break
        self._end_recording()
        self._note_faults()

    def _end_recording(self) -> None:
        """End the recording; mark it as cut off if an attempt is in progress or the core has halted."""
        if self._halted:
            self._segment.cut()
        elif self._attempts.undecided_before(self._first):
            # Time has advanced since the last reading; the reading `stopped` makes a replay advance as well.
            now_us = self._now_us
            stopped = Switch(t=now_us, dev=CONTROLLER, name="stopped", open=False, arrived=now_us)
            self._process(self._segment.feed(stopped))
            self._segment.cut()
        else:
            self._process(self._segment.end())

    def _tick_s(self) -> float:
        if self._time_is_frozen:
            return IDLE_TICK_S
        due_us = self._segment.session.due_us
        betting_due_us = self._betting_due_us(self._lateness_us)
        if betting_due_us is not None:
            due_us = min(due_us, betting_due_us)
        due_s = (due_us - self._inlet.now_us) / 1e6
        is_busy = self._busy or self._testing
        return min(BUSY_TICK_S if is_busy else IDLE_TICK_S, max(MIN_TICK_S, due_s))

    @property
    def _busy(self) -> bool:
        """Whether an attempt is in progress, or the last reading is so recent that a call may be held."""
        return self._attempt_open or self._now_us - self._last_reading_us < BUSY_US

    @property
    def _betting(self) -> bool:
        """Whether bets are open, which requires a table that is open, unlocked and not in test mode."""
        plays = self._state.table == "open" and self._state.lock == "unlocked" and not self._testing
        return plays and not self._bets_closed

    @property
    def _attempt_open(self) -> bool:
        """Whether an attempt awaits its call or a ruling."""
        return self._attempts.open_before(self._first)

    def _handle(self, reading: AnyReading, now_us: int) -> None:
        self._readings += 1
        self._last_reading_us = now_us
        self.devices.note(reading)
        self._reading_filter.publish(reading, betting=self._betting, testing=self._testing)
        if self._halted:
            self._input_decided(reading, HALTED)
            self._answers.answer(None)
            return
        if isinstance(reading, Input):
            reading = self._check_unlock(reading)
            self._last_activity_us = now_us
            self._allowed_stale = True
            if reading.name == "test_mode":
                self._lock_requested = False
            if self._rules_on_pending(reading):
                answer = self._cut_off.answer
                self._void_pending(reading, min(now_us, reading.t))
                if reading.what != "game":
                    self._input_decided(reading, None, answer)
                    self._answers.answer(self._ticket)
                    return
        elif self._lapses_at(reading):
            self._void_pending(None, min(now_us, reading.t))
        if isinstance(reading, _WITHOUT_OUTCOME):
            self._unsettled = True
            self._settles_us = max(now_us, reading.t) + self._lateness_us
        self._process(self._segment.feed(reading))

    def _check_unlock(self, entered: Input) -> Input:
        """Return the input, marked NOT_READY if it is a person's `unlock` before the self-test has passed.

        The session refuses the marked input. The mark is recorded, because a replay has no self-test.
        """
        by_person = entered.name == "unlock" and entered.dev != CONTROLLER
        if not by_person or self._state.lock == "unlocked" or self._testing:
            return entered
        why = self.why_locked()
        if why is None:
            return entered
        message = f"the table can't be unlocked yet: {why}"
        refused = msgspec.structs.replace(entered, what=NOT_READY, reason=message)
        self._answers.replace(entered, refused)
        return refused

    # --- the engine's effects ---

    def _process(self, effects: Sequence[Effect]) -> None:
        self._ticket = None
        for effect in effects:
            if isinstance(effect, LateReading) and not isinstance(effect.reading, Input):
                self.devices.note_late(effect.reading, effect.behind_us, self._now_us)
        self._carry_out(effects)
        self._answers.record_late(effects)
        self._answers.answer(self._ticket)

    def _carry_out(self, effects: Sequence[Effect]) -> None:
        session = self._segment.session
        if all(isinstance(effect, LateReading) for effect in effects):
            if effects:
                self._append(effects, self._segment)
            self._note_begun(session.first())
            self._note_state()
            return
        self._state, self._first = session.state(), session.first()
        self._allowed_stale = True
        self._append(effects, self._segment)
        for effect in effects:
            match effect:
                case Lamp():
                    self.lamps.set(effect.name, effect.shows)
                case Proposed():
                    self._hub.publish("outcomes", b'{"proposed":%s}\n' % _encode(effect))
                case Outcome():
                    self._follow(effect)
                case _:
                    pass
        self._note_awaited()

    def _note_awaited(self) -> None:
        """Update the lamp and notify the watchers if a different attempt awaits a ruling."""
        awaited = self._segment.session.awaited() or self._cut_off.awaited
        if awaited != self._awaited:
            self._awaited = awaited
            self.lamps.set("review", "off" if awaited is None else "on")
            self._hub.publish("outcomes", awaited_line(awaited))
            self._awaiting(None if self._testing else awaited)

    def _note_allowed(self) -> None:
        """Update the allowed inputs, and notify the screens of any change."""
        hold_ends_us = self._segment.session.hold_ends_us
        if hold_ends_us != self._hold_ends_us:
            self._hold_ends_us = hold_ends_us
            self._allowed_stale = True
        every_us = ALLOWED_US if self._busy else ALLOWED_IDLE_US
        if not self._allowed_stale and self._now_us - self._allowed_at_us < every_us:
            return
        before, self._allowed_inputs = self._allowed_inputs, () if self._halted else self._allowed()
        acted_before, self._acted = self._acted, self._segment.session.acted
        if self._allowed_stale or self._allowed_inputs != before or self._acted != acted_before:
            self._hub.publish("table", NUDGE)
        self._allowed_at_us, self._allowed_stale = self._now_us, False

    def _append(self, effects: Sequence[Effect], segment: Segment | None) -> None:
        recording = None if segment is None else segment.recording(effects)
        try:
            self._ticket = self._journal.append(effects, self._state, self._first, recording)
        except JournalFault as fault:
            self._halt(fault)

    def _note_begun(self, first: NextNumbers) -> None:
        """Journal each attempt that began without an outcome; a restart treats the attempt as cut off."""
        before, self._first = self._first, first
        for kind, number in begun_between(before, first):
            try:
                self._journal.attempt_begun(kind, number, self._segment.last_us)
            except JournalFault as fault:
                self._halt(fault)

    def _note_state(self) -> None:
        """Journal a change of state that has no outcome, for use after a restart; do nothing in test mode."""
        if not self._unsettled or self._testing or self._halted:
            return
        state = self._segment.session.state()
        if state != self._state:
            self._state = state
            self._append((), self._segment)

    def _halt(self, fault: JournalFault) -> None:
        """Stop judging, because outcomes can't be journaled and therefore can't be published."""
        self._halted = True
        self._faults.report(Fault("core_halted", fault.where, f"{fault.code}: {fault.found}"))
        self.lamps.set("lock", "locked")

    def _follow(self, outcome: Outcome) -> None:
        self._last_activity_us = self._last_reading_us
        self._last_outcome_us = outcome.t
        data = outcome.data
        if isinstance(data, Bets):
            self._bets_closed = outcome.type == "bets.closed"
            if self._bets_closed:
                self._reading_filter.bets_closed()
        elif isinstance(data, TableEvent):
            self._held = bool(is_lock_held(outcome.type, data, held=self._held))
            if outcome.type in ("table.locked", "table.unlocked"):
                self._locked_by = data if outcome.type == "table.locked" else None
                self._lock_changes += 1
                self._lock_requested = False
                self._show_lock()
        else:
            self._attempts.follow(outcome)

    # --- locks and faults ---

    def _lock_on_fault(self) -> None:
        if self._state.lock == "locked" or self._lock_requested or self._halted or self._testing:
            return
        locking = self._faults.locking
        if locking:
            lock_input = Input(t=0, dev=CONTROLLER, name="lock", by=CONTROLLER, reason=locking[0].code)
            self._lock_requested = self._inlet.post(lock_input, has_time=False)
            self.lamps.set("lock", "locked")

    def _show_lock(self) -> None:
        self.lamps.set("lock", self._state.lock)

    def _note_faults(self) -> None:
        for change in self._faults.changes():
            name = "fault.began" if change.began else "fault.over"
            self.note(
                name, {"code": change.fault.code, "where": change.fault.where, "found": change.fault.found}
            )
            present = self._faults.present
            self.lamps.set("fault", present[0].code if present else "none")

    def note(self, name: str, data: Mapping[str, object]) -> Ticket | None:
        """Journal an event; if the journal fails, halt the core and return None."""
        try:
            return self._journal.note(name, data)
        except JournalFault as fault:
            self._halt(fault)
            return None

    def note_if_room(self, name: str, data: Mapping[str, object]) -> bool:
        """Journal an event caused by clients; return False if the journal fails or has room only for play."""
        try:
            self._journal.note(name, data, outside=True)
        except JournalFault as fault:
            if fault.code != CROWDED:
                self._halt(fault)
            return False
        return True

    # --- attempts that were cut off before the start ---

    def _lapses_at(self, reading: AnyReading) -> bool:
        plays = self._state.lock == "unlocked" and not self._testing
        return plays and self._cut_off.lapses_at(reading)

    def _rules_on_pending(self, entered: Input) -> bool:
        free = not self._testing and not self._attempt_open
        return free and entered.by not in PLAYER_ROLES and self._cut_off.ruled_by(entered)

    def _void_pending(self, entered: Input | None, t_us: int) -> None:
        """Void the attempts that were cut off, on a person's ruling or because play continues.

        `t_us` is the time of the ruling, or of the reading that continues play. The outcomes carry this
        time, or the last outcome's time if that is later.
        """
        self._process(self._segment.end())
        t_us = max(t_us, self._last_outcome_us)
        outcomes, self._first = self._cut_off.close(entered, self._first, t_us, bets_closed=self._bets_closed)
        self._append(outcomes, None)
        for outcome in outcomes:
            self._follow(outcome)
        self._segment = self._recordings.next(self._state, self._first, self._segment)
        self._note_awaited()

    # --- recordings ---

    def _rotate(self, now_us: int) -> None:
        if self._recordings.due(self._segment, now_us) and self._is_idle(now_us):
            self._process(self._segment.end())
            self._segment = self._recordings.next(self._state, self._first, self._segment)

    def _is_idle(self, now_us: int) -> bool:
        """Return whether later readings are independent of earlier ones, so that a recording may end."""
        busy = self._attempt_open or self._bets_closed or self._testing or self._lock_requested
        quiet = (
            now_us - self._last_activity_us > self._recordings.rotation.quiet_us
            and now_us - self._segment.last_us > self._lateness_us
        )
        return quiet and not busy
