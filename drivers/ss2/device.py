"""The device for an SS2 wheel.

It reports the wheel's status frames, silence and faults. The judge decides whether a number counts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.model.readings import AnyReading, WheelStatus
from controller.model.tables import ReportedDevice
from drivers.device import DeviceType, RandomBytes, StreamAddress
from drivers.health import LINK, Change, Fault, Health, PortReopening, build_readings
from drivers.ss2.faults import COMPONENT, POWER_CYCLE, ROTOR_SPEED, SELF_TEST, WHEEL_FAULTS
from drivers.ss2.protocol import (
    BAUD,
    LAST_SPIN,
    READ_STATUS,
    VOID_GAME,
    ApprovedSettings,
    BareNumber,
    Bonus,
    Decoder,
    DiscardedLine,
    Flag,
    Message,
    Question,
    Reply,
    RequestResult,
    Requests,
    SelfTestCode,
    State,
    Status,
    games_between,
    read_parameter,
)

MAX_RPM_X10 = 300
"""Maximum plausible speed of a rotor, which turns at 10 to 25 rpm. A higher speed indicates a faulty encoder,
drive or setting."""
_IN_PLAY = frozenset({State.BALL_IN_RIM, State.NO_MORE_BETS, State.WINNING_NUMBER})
_MAX_FORWARD_GAMES = LAST_SPIN // 2
_LASTING = frozenset({COMPONENT, ROTOR_SPEED})
"""Faults that remain active until the wheel's frames show that they are over."""


def is_plausible_speed(rotor_rpm_x10: int) -> bool:
    """Return whether a rotor in play could have this speed, in tenths of a revolution per minute."""
    return 0 < rotor_rpm_x10 <= MAX_RPM_X10


@dataclass(frozen=True, slots=True)
class WheelFault:
    """A fault's code and description."""

    code: str
    seen: str


class GameMonitor:
    """Finds faults by comparing each status frame with the previous one."""

    def __init__(self, *, state_7: bool) -> None:
        """Start without a frame.

        `state_7` is True if the wheel is configured to report state 7, "the ball is not detected in the
        track".
        """
        self._state_7 = state_7
        self._last: Status | None = None
        self._reported: set[str] = set()

    def check(self, status: Status) -> Iterator[WheelFault]:
        """Check the next frame; yield the faults that have not been reported in this game."""
        last, self._last = self._last, status
        if last is not None and last.spin != status.spin:
            self._reported.clear()
        faults = [*self._check_frame(status), *(self._check_change(last, status) if last is not None else ())]
        for fault in faults:
            if fault.code not in self._reported:
                self._reported.add(fault.code)
                yield fault

    def _check_frame(self, status: Status) -> Iterator[WheelFault]:
        if status.flags & Flag.COMPONENT_FAULT:
            yield WheelFault(COMPONENT, "a sensor, the motor or the encoder failed (flag 4)")
        if status.state in _IN_PLAY and not is_plausible_speed(status.rotor_rpm_x10):
            rpm = status.rotor_rpm_x10 / 10
            limit = f"more than 0 and at most {MAX_RPM_X10 / 10:g}"
            yield WheelFault(ROTOR_SPEED, f"found a rotor speed of {rpm:g} rpm in play, expected {limit}")
        if status.state == State.BALL_NOT_DETECTED and not self._state_7:
            yield WheelFault("unknown_state", "found state 7, which the table's file does not allow")

    def _check_change(self, last: Status, status: Status) -> Iterator[WheelFault]:
        games = games_between(last.spin, status.spin)
        if games > _MAX_FORWARD_GAMES:
            seen = f"the wheel was powered off; its spin number went from {last.spin:03} to {status.spin:03}"
            yield WheelFault(POWER_CYCLE, seen)
        elif status.number is None and last.number is not None:
            seen = f"the wheel was powered off; it no longer has its last number, {last.number}"
            yield WheelFault(POWER_CYCLE, seen)
        elif games > 1 or (games == 1 and last.state != State.WINNING_NUMBER):
            before = f"state {last.state} of game {last.spin:03}"
            after = f"state {status.state} of game {status.spin:03}"
            shown = status.number or "no number"
            seen = f"no frame was received between {before} and {after}; the wheel shows {shown}"
            yield WheelFault("missed_games", seen)
        if games == 0 and last.state == status.state == State.WINNING_NUMBER and last.number != status.number:
            before, after = last.number or "none", status.number or "none"
            seen = f"the winning number changed from {before} to {after} while it was shown"
            yield WheelFault("number_changed", seen)


STALE_US = 1_500_000
"""Time without a status frame (three periods) after which changes of state might have been missed."""
SILENT_US = 5_000_000
"""Time without a status frame after which the wheel is silent."""
POLL_PERIOD_US = 500_000
"""The period of the wheel's automatic reports. The wheel must not be polled more often than every 100 ms."""
QUESTION_RETRY_US = 2_000_000
"""Time allowed for each unanswered question before the questions are repeated. A wheel replies BUSY while its
rotor is slowing down."""
_LICENCE_ENDED = 999


@dataclass(frozen=True, slots=True, kw_only=True)
class Ss2Settings:
    """An SS2 wheel on a serial port."""

    port: str
    """The serial port's path under /dev/serial, or its udev name."""
    baud: int = BAUD
    approved: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The approved parameters, by the letter that sets each one. They are read back before the wheel is up.
    """
    approved_mode: int | None = None
    """The approved mode word, which is also read back."""
    state_7: bool = False
    """Whether the wheel is configured to report state 7."""
    ask_status: bool = False
    """Whether to poll the wheel, for a wheel whose mode word disables automatic reports."""
    listen_only: bool = False
    """Whether to send nothing to the wheel, for use with a recording or a display port. A display port never
    sends the winning number on a separate line.
    """


class Ss2Wheel:
    """The device for an SS2 wheel."""

    def __init__(self, name: str, settings: Ss2Settings, _random_bytes: RandomBytes | None = None) -> None:
        """Create the device with this name. Raises ValueError if an approved parameter does not exist."""
        self.name = name
        self.decoder = Decoder()
        self.frames = 0
        """Number of status frames received."""
        self._settings = settings
        self._requests = Requests()
        self._approval = ApprovedSettings(settings.approved, settings.approved_mode)
        self._monitor = GameMonitor(state_7=settings.state_7)
        self._readings: list[AnyReading] = []
        self._last_stamp_us = -1
        self._received_us: int | None = None
        self._opened_us: int | None = None
        self._announced: str | None = None
        self._last_line = ""
        self._health = Health()
        self._health.record(0, "starting", "nothing received yet", down=True)
        self._reopening = PortReopening()
        self._bytes_lost = False
        self._check_at_us: int | None = None
        self._poll_at_us: int | None = None

    @property
    def up(self) -> bool:
        """Whether no fault is active. Silence and unapproved settings are faults too."""
        return not self._health.codes

    @property
    def differences(self) -> tuple[str, ...]:
        """A description of each setting that differs from the approved value."""
        return self._approval.differences

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until a status frame is received."""
        self._report_down(now_us, "starting", "no status frame received yet")
        return self._take_readings()

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the port, and read the settings back."""
        self.decoder.join()
        self._open(now_us)
        return self._take_readings()

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the loss of the port. `code` and `seen` describe the fault."""
        self.decoder.reset()
        self._requests.forget()
        self._opened_us = self._check_at_us = self._poll_at_us = self._announced = None
        self._report(now_us, self._health.record_closed(now_us, code, seen))
        return self._take_readings()

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle bytes lost because the table was busy."""
        self.decoder.join()
        self._bytes_lost = True
        seen = f"{lost} bytes discarded: the table was busy"
        self._fault(now_us, WheelFault("sentences_lost", seen))
        return self._take_readings()

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        if self._opened_us is None:
            self._open(now_us)
        for message in self.decoder.feed(data):
            self._handle(now_us, message)
        return self._take_readings()

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds; None if nothing is scheduled."""
        due = (self._silent_at_us(), self._check_at_us, self._poll_at_us, self._requests.next_deadline())
        return min((at for at in due if at is not None), default=None)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Do the work that is due."""
        answer = self._requests.tick(now_us)
        if answer is not None:
            self._handle_answer(now_us, answer)
        silent_at_us = self._silent_at_us()
        if silent_at_us is not None and now_us >= silent_at_us:
            seen = f"no status frame for {SILENT_US / 1e6:g} s"
            self._report_down(now_us, "silent", seen)
            self._reopening.request(now_us)
        if self._check_at_us is not None and now_us >= self._check_at_us:
            self._request_settings(now_us)
        if self._poll_at_us is not None and now_us >= self._poll_at_us:
            self._poll_at_us = now_us + POLL_PERIOD_US
            if self._requests.idle:
                self._requests.send(READ_STATUS)
        return self._take_readings()

    def take_output(self) -> bytes:
        """Return the bytes to send."""
        return self._requests.take_output()

    def take_reopen(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        return self._reopening.take()

    def status(self) -> Mapping[str, object]:
        """Return the counters, the active faults, and the settings that differ from the approved values."""
        return {
            "frames": self.frames,
            "lines": self.decoder.lines,
            "malformed": self.decoder.discarded,
            "troubles": sorted(self._health.codes),
            "differences": list(self.differences),
            "last_malformed": self._last_line,
        }

    def void_game(self, now_us: int) -> None:
        """Acknowledge a void game, so that the wheel launches again.

        A fault is reported if the wheel does not acknowledge the command.
        """
        self._send_question(now_us, Question("void", VOID_GAME, "R"))

    def _open(self, now_us: int) -> None:
        self._opened_us = now_us
        self._poll_at_us = now_us if self._settings.ask_status else None
        self._check_settings(now_us)

    # --- what the wheel reports ---

    def _handle(self, now_us: int, message: Message) -> None:
        match message:
            case Status():
                self._handle_status(now_us, message)
            case BareNumber():
                self._announced = message.number
            case DiscardedLine():
                self._last_line = message.text
            case Reply():
                answer = self._requests.handle_reply(now_us, message)
                if answer is not None:
                    self._handle_answer(now_us, answer)
            case SelfTestCode():
                self._handle_self_test_code(now_us, message)
            case Bonus() if message.licence_days is not None:
                ended = message.value == _LICENCE_ENDED
                when = "has ended" if ended else f"ends in {message.licence_days} days"
                seen = f"the licence for the bonus numbers {when}"
                self._fault(now_us, WheelFault("licence", seen))
            case _:
                pass

    def _handle_status(self, now_us: int, status: Status) -> None:
        silent_us = 0 if self._received_us is None else now_us - self._received_us
        silence = silent_us > STALE_US or self._bytes_lost
        self._bytes_lost = False
        self._received_us = now_us
        self.frames += 1
        self._clear(now_us, "starting", LINK, "silent")
        self._readings.append(
            WheelStatus(
                t=self._stamp(now_us),
                dev=self.name,
                state=status.state,
                spin=status.spin,
                number=status.number,
                flags=status.flags,
                rotor_rpm_x10=status.rotor_rpm_x10,
                direction=status.direction,
                announced=self._announced,
                unheard_ms=max(1, silent_us // 1000) if silence else 0,
            )
        )
        self._announced = None
        for fault in self._monitor.check(status):
            if fault.code in _LASTING:
                self._lasting_fault(now_us, fault)
            else:
                self._fault(now_us, fault)
            if fault.code == POWER_CYCLE:
                self._end_self_test(now_us, "it restarted, so its self-test's faults are no longer active")
                self._check_settings(now_us)
            elif fault.code == ROTOR_SPEED and "m" in self._settings.approved:
                self._send_question(now_us, Question("m", read_parameter("m"), "T"))
        if not status.flags & Flag.COMPONENT_FAULT:
            self._report(
                now_us, self._health.clear(now_us, COMPONENT, seen="it no longer reports a failed part")
            )
        if status.state in _IN_PLAY and is_plausible_speed(status.rotor_rpm_x10):
            self._report(
                now_us, self._health.clear(now_us, ROTOR_SPEED, seen="its rotor's speed is plausible again")
            )

    def _handle_self_test_code(self, now_us: int, found: SelfTestCode) -> None:
        """Handle the result code of a self-test.

        A fault remains active until a later self-test finds no fault or the wheel restarts.
        """
        if not found.code:
            self._end_self_test(now_us, "its self-test found no fault")
            return
        code = f"{SELF_TEST}_{found.code}"
        known = code if code in WHEEL_FAULTS else SELF_TEST
        self._lasting_fault(now_us, WheelFault(known, f"self-test: {found.meaning}"))

    def _end_self_test(self, now_us: int, seen: str) -> None:
        codes = [code for code in self._health.codes if code.startswith(SELF_TEST)]
        if codes:
            self._clear(now_us, *codes, seen=seen)

    def _handle_answer(self, now_us: int, answer: RequestResult) -> None:
        if answer.name == "void":
            if answer.outcome != "ok":
                seen = f"the wheel did not acknowledge the void game ({answer.outcome}) and might continue it"
                self._fault(now_us, WheelFault("void_refused", seen))
            return
        self._approval.handle_answer(answer)
        if self._approval.verified:
            self._check_at_us = None
            self._clear(now_us, "unchecked", "configuration")
        elif self._approval.differences and self._requests.idle:
            self._report_down(now_us, "configuration", "; ".join(self._approval.differences))

    # --- settings ---

    def _check_settings(self, now_us: int) -> None:
        self._approval.begin()
        if self._settings.listen_only or self._approval.verified:
            return
        self._health.forget("configuration")
        self._report_down(now_us, "unchecked", "its settings have not been read back yet")
        self._request_settings(now_us)

    def _request_settings(self, now_us: int) -> None:
        questions = list(self._approval.questions())
        for question in questions:
            self._send_question(now_us, question)
        self._check_at_us = now_us + QUESTION_RETRY_US * len(questions) if questions else None

    def _send_question(self, now_us: int, question: Question) -> None:
        if not self._settings.listen_only:
            self._requests.add(now_us, question.name, question.command, question.letters)

    # --- health ---

    def _silent_at_us(self) -> int | None:
        if self._opened_us is None:
            return None
        if "silent" in self._health:
            return self._reopening.due_us
        return max(self._opened_us, self._received_us or 0) + SILENT_US

    def _report_down(self, now_us: int, code: str, seen: str) -> None:
        """Report a fault that keeps the wheel down, and report it again when `seen` changes."""
        self._report(now_us, self._health.record(now_us, code, seen, down=True, on_change=True))

    def _clear(self, now_us: int, *codes: str, seen: str = "the wheel is reporting its state") -> None:
        self._report(now_us, self._health.clear(now_us, *codes, seen=seen))

    def _fault(self, now_us: int, fault: WheelFault) -> None:
        """Report a momentary fault, which does not become active."""
        self._report(now_us, [Fault(fault.code, fault.seen, False, now_us)])

    def _lasting_fault(self, now_us: int, fault: WheelFault) -> None:
        """Report a lasting fault each time it is detected."""
        self._report(now_us, self._health.record(now_us, fault.code, fault.seen, down=False, repeat_us=0))

    def _report(self, now_us: int, changes: list[Change]) -> None:
        self._readings += build_readings(changes, [self.name], now_us, causes=WHEEL_FAULTS, stamp=self._stamp)

    def _stamp(self, now_us: int) -> int:
        """Return a unique timestamp for the next reading, so that readings in a burst keep their order."""
        self._last_stamp_us = max(now_us, self._last_stamp_us + 1)
        return self._last_stamp_us

    def _take_readings(self) -> list[AnyReading]:
        readings, self._readings = self._readings, []
        return readings


def _address(settings: Ss2Settings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, _settings: Ss2Settings) -> Iterator[ReportedDevice]:
    yield ReportedDevice((), name, ("wheel_status",))


TYPE = DeviceType(
    name="ss2",
    title="SS2 wheel reader on a serial port",
    settings=Ss2Settings,
    make=Ss2Wheel,
    address=_address,
    reported_devices=_reported_devices,
    causes=WHEEL_FAULTS,
)
"""The device type for the registry."""
