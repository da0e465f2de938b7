"""The session, which turns one table's readings, timers and inputs into outcomes."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from controller.engine.reorder_buffer import STEP_US, ClockStep, ReorderBuffer
from controller.engine.resume import causes_of, power_lost_reason
from controller.games.registry import game_of
from controller.machines.agenda import NEVER_US, Agenda
from controller.machines.flat import InputRefused
from controller.machines.health import Health
from controller.machines.refusals import RULINGS, SETTLEMENT_INPUTS, require_role
from controller.machines.setup import CarriedReadings, NextNumbers, Setup, State
from controller.machines.table import TableMode
from controller.model.effects import Effect, LateReading
from controller.model.outcomes import Awaited, DiceOut, TableEvent
from controller.model.readings import (
    AnyReading,
    Card,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieReleased,
    Input,
    Switch,
)

LATEST_ATTEMPT_INPUTS = RULINGS | {"decline"}
"""Inputs about the attempt in progress or the last attempt, unless they name a different attempt."""
ORDERED_INPUTS = frozenset({"test_mode"})
"""Inputs that never overtake earlier readings, because they decide whether readings count."""
REJECTION_REPORT_US = 8_000_000
"""Minimum time between two reports of rejected attempts; a rejected attempt causes many readings."""

CLOCK_OFF = "readings with impossible times don't count; check the device's clock"

_NOTHING: tuple[Effect, ...] = ()
OnInput = Callable[[Input, InputRefused | None, str], None]
"""Called for each decided input, with the refusal (None if the input was accepted) and the answer."""
_BEGINS_ALONE = (DieReleased, Card)
"""Kinds of readings that begin an attempt at once; a ball's launch is detected only after a revolution."""
_CHANGES_MODE = frozenset({Input, Switch, DeviceUp, DeviceDown, DeviceFault})
"""The kinds of readings that can change whether the game receives readings."""


SETTLEMENT = "settlement"
"""The role of the settlement engine, the only role that may enter the inputs in `SETTLEMENT_INPUTS`."""


class Session:
    """Processes one table's readings, and returns effects in chronological order.

    A session uses one thread, no clock and no I/O. Therefore the same readings produce the same effects at a
    live table and in a replay.
    """

    def __init__(self, setup: Setup, on_input: OnInput | None = None) -> None:
        """Start from the setup; `on_input` is called with the result of each input.

        Raises SetupError if the setup is incomplete for the game.
        """
        state = setup.state
        self._setup = setup
        self._on_input = on_input
        self._agenda = Agenda(setup.table, setup.session, setup.first.seq)
        self._agenda.inspections.restore(state.inspect)
        self._dice_set = state.dice_set
        self._health = Health(self._agenda, setup.sources)
        for name in state.down:
            self._health.down[name] = DeviceDown(t=0, dev=name, reason="down since before this recording")
        carried = CarriedReadings() if state.standing is None else state.standing
        self._health.restore(carried.devices)
        self._mode = TableMode(self._agenda, opening=state.table, lock=state.lock)
        self._order = ReorderBuffer(setup.ruleset.max_lateness_ms)
        self._game = game_of(setup.ruleset.game).machine(setup, self._agenda, self._health)
        self._receive = self._game.receive
        self._plays = self._mode.why_not_playing is None
        """Whether the game receives readings: the table must be open, unlocked and not in test mode."""
        self._plays_from_us = carried.plays_from_us
        """The time at which play last began; 0 if before the first recording."""
        self._did_not_play = carried.did_not_play
        """The refusal code for attempts before `_plays_from_us`; empty for test mode."""
        self._rejection_reported_until_us = 0
        self.late = 0
        """The number of readings that did not count because of their times."""

    def feed(self, reading: AnyReading) -> Sequence[Effect]:
        """Handle one reading; return the effects that are now final."""
        if type(reading) is Input:
            self._handle_input(reading)
        else:
            self._process(reading, self._order.put(reading))
        return self._take_effects() if self._agenda.effects else _NOTHING

    def feed_all(self, readings: Iterable[AnyReading]) -> Sequence[Effect]:
        """Handle readings in order of arrival; return the same effects as repeated calls to `feed`."""
        for reading, behind_us in self._order.put_all(readings):
            if behind_us is not None:
                self._process(reading, behind_us)
            elif isinstance(reading, Input):
                self._run()
                self._handle_input(reading)
        self._run()
        return self._take_effects()

    def _handle_input(self, entered: Input) -> None:
        """Handle an input immediately if possible, otherwise in order of time with the readings.

        An input is not handled immediately if it is in `ORDERED_INPUTS`, if an attempt is in progress or not
        yet called, or if the reorder buffer does not allow it.

        A ruling that names no attempt applies to the attempt that is in progress when the ruling is made. The
        first reading of that attempt might be delayed; therefore a ruling that would be refused now waits for
        delayed readings. If a ruling has been accepted and a delayed reading then begins an earlier attempt,
        a person must rule on that attempt.
        """
        if entered.name not in ORDERED_INPUTS and self._order.advance_to_input(entered):
            self._run()  # A replay has no ticks, so a live table's ticks must not affect the result.
            if self._order.may_decide_now(entered) and not self._game.attempt_in_flight:
                if not self._is_for_latest(entered):
                    self._handle(entered)
                    return
                if self._accept_now(entered):
                    return
        self._process(entered, self._order.put(entered))

    @staticmethod
    def _is_for_latest(entered: Input) -> bool:
        names_attempt = entered.what is not None and entered.what.isdecimal()
        return entered.name in LATEST_ATTEMPT_INPUTS and not names_attempt

    def _accept_now(self, entered: Input) -> bool:
        """Apply a ruling; if it is refused, change and publish nothing, and return False."""
        if self._try_to_execute(entered) is not None:
            return False
        if self._on_input is not None:
            self._on_input(entered, None, self._agenda.answer)
        return True

    def _process(self, reading: AnyReading, behind_us: int) -> None:
        """Process the readings that are ready, then report this reading if it does not count."""
        self._run()
        if behind_us:
            self._set_aside(reading, behind_us)
        if self._order.set_aside or self._order.clock_steps:
            self._report_losses()

    def advance(self, now_us: int) -> Sequence[Effect]:
        """Advance time without a reading; a live table calls this at each tick."""
        self._order.advance(now_us)
        self._run()
        return self._take_effects()

    @property
    def due_us(self) -> int:
        """The time, in us, at which `advance` must be called unless a reading arrives first."""
        return self._order.due_us(self._agenda.next_due_us)

    @property
    def certain_us(self) -> int:
        """The time, in us, up to which the outcomes are certain: no later reading can change them."""
        return self._order.certain_us

    @property
    def hold_ends_us(self) -> int | None:
        """The time, in us, until which a held call can be stopped; None if no call is held."""
        return self._agenda.due_us("hold")

    @property
    def awaits_play(self) -> bool:
        """Whether Play wagers are accepted, that is, whether a position must still play or fold."""
        return self._game.awaits_play

    @property
    def acted(self) -> Mapping[str, str]:
        """`play` or `fold` for each position that has acted in the current deal."""
        return self._game.acted()

    @property
    def dice_out(self) -> DiceOut | None:
        """The state of the open craps throw, on which late wagers depend; None if no throw is open."""
        return self._game.dice_out

    def finish(self, *, cut: bool = False) -> Sequence[Effect]:
        """Handle all remaining readings; fire all timers unless `cut` is set.

        With `cut`, the attempt in progress goes to review with `power_lost`, because later readings might be
        missing.
        """
        if cut:
            self._game.stop_judging()
            for ready in self._order.flush():
                self._handle(ready)
            self._report_losses()
            self._game.cut_short(self._order.now, power_lost_reason(causes_of(self._setup.ruleset)))
            return self._take_effects()
        for ready in self._order.flush():
            self._fire_timers(ready.t)
            self._handle(ready)
        self._report_losses()
        self._fire_timers(NEVER_US)
        return self._take_effects()

    @property
    def testing(self) -> bool:
        """Whether test mode is on."""
        return self._mode.testing

    def state(self) -> State:
        """Return the state between attempts, as in a recording's header."""
        table = State(
            table="open" if self._mode.opening == "open" else "closed",
            lock="locked" if self._mode.lock == "locked" else "unlocked",
            calls=self._setup.state.calls or self._setup.calls,
            down=tuple(sorted(self._health.down)),
            inspect=self._agenda.inspections.waiting,
            dice_set=self._dice_set,
        )
        return msgspec.structs.replace(table, **self._game.memory())

    def carried_readings(self) -> CarriedReadings:
        """Return the data that the next recording needs besides the state, such as active device faults."""
        return CarriedReadings(
            devices=tuple(self._health.current_faults),
            wheel=self._game.wheel_state,
            bets_opened_us=self._game.bets_opened_us,
            plays_from_us=self._plays_from_us,
            did_not_play=self._did_not_play,
        )

    def allowed(self) -> tuple[str, ...]:
        """Return the names of the inputs that are allowed now."""
        table_inputs = tuple(self._mode.allowed())
        if self._mode.testing or self._mode.opening == "closed":
            return table_inputs
        inspected = ("inspected",) if self._agenda.inspections.waiting else ()
        dice_set = ("dice_set",) if self._has_dice and not self._game.open_attempt else ()
        open_attempt = {"close_table", "test_mode on"} if self._game.open_attempt else set()
        return (
            *self._game.allowed(self._order.now),
            *inspected,
            *dice_set,
            *(name for name in table_inputs if name not in open_attempt),
        )

    def awaited(self) -> Awaited | None:
        """Return the attempt that a person must rule on or confirm, with the allowed inputs, or None."""
        awaited = self._game.awaited()
        if awaited is None:
            return None
        may = tuple(name for name in self.allowed() if name in RULINGS - {"play", "fold"})
        return msgspec.structs.replace(awaited, may=may)

    def first(self) -> NextNumbers:
        """Return the next numbers of outcomes, attempts and rounds."""
        return msgspec.structs.replace(NextNumbers(seq=self._agenda.next_seq), **self._game.next_numbers())

    def _report_losses(self) -> None:
        order = self._order
        while order.set_aside:
            self._set_aside(*order.set_aside.pop(0))
        while order.clock_steps:
            self._step_back(order.clock_steps.pop(0))

    def _set_aside(self, reading: AnyReading, behind_us: int) -> None:
        self.late += 1
        self._agenda.effects.append(LateReading(reading=reading, behind_us=behind_us))
        now_us = self._order.now
        # Even a reading whose time is in the future was made no later than now.
        seen = msgspec.structs.replace(reading, t=min(reading.t, now_us))
        if self._mode.testing:
            self._reject_late(seen)
            return
        if behind_us > STEP_US:
            fault = DeviceFault(t=now_us, dev=reading.dev, reason=CLOCK_OFF, code="clock_off")
            self._health.receive(fault, publish=True)
        if isinstance(reading, Input):
            self._refuse(msgspec.structs.replace(reading, t=now_us), InputRefused("input_late"))
        elif not self._plays and not self._game.open_attempt:
            self._reject_late(seen, self._mode.why_not_playing or "")
        elif not (self._plays and self._began_before_play(seen)):
            self._game.late(seen)

    def _began_before_play(self, reading: AnyReading) -> bool:
        """Reject an attempt that began before play; return whether this late reading began one."""
        if reading.t >= self._plays_from_us:
            return False
        if self._game.open_attempt:
            self._game.reject_late(reading)
            return False
        return self._reject_late(reading, self._did_not_play)

    def _reject_late(self, reading: AnyReading, why_not: str = "") -> bool:
        """Reject the attempt begun by a late reading from before play; return whether there was one."""
        begun = self._game.reject_late(reading)
        begun = begun or (isinstance(reading, _BEGINS_ALONE) and self._note_if_begun(reading))
        if begun and why_not:
            self._reject(reading, why_not, self._correction_advice() if self._plays else "")
        return begun

    def _correction_advice(self) -> str:
        """Return what to do if the rejected attempt was called: only a person can then void it."""
        call = self.state().call
        if call is None or call.value is None:
            return ""
        rules = self._setup.ruleset
        kind = "roll" if rules.throw else "spin" if rules.spin else "deal"
        return f"; if it is {kind} {call.number}, declare that {kind} void before it is settled"

    def _step_back(self, step: ClockStep) -> None:
        """Report a clock that was set back, and mark the attempt in progress as doubtful."""
        if self._mode.testing:
            return
        back_s = step.back_us / 1_000_000
        text = f"the clock was set back by {back_s:.3f} s; the table's time continues without that step"
        event = TableEvent(cause="clock_step", what=step.reading.dev, says=text)
        self._agenda.publish("device.fault", self._order.now, event)
        self._game.doubt("the clock was set back during the attempt, so its times are inconsistent")

    def _take_effects(self) -> Sequence[Effect]:
        effects, self._agenda.effects = self._agenda.effects, []
        return effects

    def _run(self) -> None:
        agenda, order, known = self._agenda, self._order, self._health.known
        for ready in order.ready():
            if agenda.next_due_us < ready.t:
                self._fire_timers(ready.t)
            kind = type(ready)
            if self._plays and kind not in _CHANGES_MODE:
                if (ready.dev, kind) not in known:
                    self._health.sent(ready)
                self._receive(ready)
            else:
                self._handle(ready)
        if agenda.next_due_us < order.watermark:
            self._fire_timers(order.watermark)

    def _fire_timers(self, before_us: int) -> None:
        for name, due_us in self._agenda.due_before(before_us):
            self._game.timer(name, due_us)

    def _handle(self, reading: AnyReading) -> None:
        why_not = self._mode.why_not_playing or ""
        self._dispatch(reading)
        played_before, self._plays = (
            self._plays,
            self._mode.why_not_playing is None and not self._mode.testing,
        )
        if self._plays and not played_before:
            self._plays_from_us, self._did_not_play = reading.t, why_not

    def _dispatch(self, reading: AnyReading) -> None:
        if isinstance(reading, Input):
            self._enter(reading)
            return
        if self._mode.testing:
            if isinstance(reading, DeviceUp | DeviceDown | DeviceFault):
                self._health.receive(reading, publish=False)
            else:
                # An attempt that begins during a test must not count after the test.
                self._note_if_begun(reading)
            return
        if isinstance(reading, DeviceUp | DeviceDown | DeviceFault):
            self._health.receive(reading, publish=True)
        elif isinstance(reading, Switch):
            if reading.open and reading.name in self._setup.locking_switches:
                self._mode.lock_by_switch(reading)
            if self._game.open_attempt:
                self._game.receive(reading)
            return
        else:
            self._health.sent(reading)
        if self._mode.why_not_playing is not None:
            if self._note_if_begun(reading):
                self._reject(reading, self._mode.why_not_playing)
                return
            if not self._game.open_attempt:
                return
        self._game.receive(reading)

    def _note_if_begun(self, reading: AnyReading) -> bool:
        begun = self._game.begins_attempt(reading)
        if begun:
            self._game.reject_attempt(reading)
        return begun

    def _reject(self, reading: AnyReading, cause: str, advice: str = "") -> None:
        if reading.t < self._rejection_reported_until_us:
            return
        self._rejection_reported_until_us = reading.t + REJECTION_REPORT_US
        text = f"an attempt was made while the table was not in play; it does not count{advice}"
        self._agenda.publish("input.refused", reading.t, TableEvent(cause=cause, what=reading.dev, says=text))

    def _enter(self, entered: Input) -> None:
        refused = self._try_to_execute(entered)
        if refused is not None and refused.code != "testing":
            self._refuse(entered, refused)
        elif self._on_input is not None:
            self._on_input(entered, refused, self._agenda.answer)

    def _refuse(self, entered: Input, refused: InputRefused) -> None:
        self._agenda.refuse(entered, refused.code, refused.message)
        if self._on_input is not None:
            self._on_input(entered, refused, "")

    def _try_to_execute(self, entered: Input) -> InputRefused | None:
        if self._mode.testing and entered.name != "test_mode":
            return InputRefused("testing")
        self._agenda.answer = ""
        try:
            self._execute(entered)
        except InputRefused as refused:
            return refused
        return None

    def _execute(self, entered: Input) -> None:
        if entered.name in SETTLEMENT_INPUTS:
            if entered.by != SETTLEMENT:
                raise InputRefused("unknown_input", "only the settlement engine may report bets")
            # Accepted even at a closed or locked table; a game ignores reports that it does not use.
            self._game.enter(entered)
            return
        require_role(entered, self._setup.ruleset)
        match entered.name:
            case "open_table":
                self._mode.open(entered)
                self._game.reset(entered.t)
            case "close_table":
                if self._game.open_attempt:
                    raise InputRefused("attempt_open")
                self._mode.close(entered)
            case "lock":
                self._mode.lock_by_input(entered)
            case "unlock":
                self._mode.unlock(entered)
            case "test_mode":
                self._set_test_mode(entered)
            case "inspected":
                self._agenda.inspections.confirm(entered)
            case _:
                self._execute_in_play(entered)

    def _execute_in_play(self, entered: Input) -> None:
        if self._mode.opening == "closed":
            raise InputRefused("table_closed")
        if entered.name == "dice_set" and self._has_dice:
            self._change_dice(entered)
        elif not self._game.enter(entered):
            raise InputRefused("unknown_input", f"this table has no input {entered.name!r}")

    @property
    def _has_dice(self) -> bool:
        return self._setup.ruleset.throw is not None

    def _change_dice(self, entered: Input) -> None:
        """Put a different set of dice into play; raises InputRefused."""
        if self._game.open_attempt:
            raise InputRefused("attempt_open")
        if not entered.what:
            raise InputRefused("bad_argument", "no set of dice was named; give its name or number in `what`")
        previous, self._dice_set = self._dice_set, entered.what
        was = "" if previous in (None, entered.what) else f", was {previous}"
        self._agenda.answer = f"Set of dice: {entered.what}{was}"

    def _set_test_mode(self, entered: Input) -> None:
        on = entered.on is not False
        if on and self._game.open_attempt:
            raise InputRefused("attempt_open")
        self._mode.set_test_mode(on)
        if not on:
            self._health.publish_pending(entered.t)
