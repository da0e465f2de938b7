"""Converts pulses on GPIO lines to readings of beams, rotor index, pocket reader and impact comparators.

A pulse becomes a reading only if the edges that determine its time were received. A reading of a ball beam,
an index or a pocket reader is timestamped with the middle of the pulse, when the ball or mark is centred,
whatever its speed. A reading of any other input is timestamped with the start of the pulse.
"""

from collections import deque
from collections.abc import Iterator, Mapping

from controller.model.readings import AnyReading, Turning
from controller.model.tables import DeviceReading, ReportedDevice
from drivers.device import DeviceType, EdgeLines, LineEvents, RandomBytes, wall_of
from drivers.gpio.input_line import LevelChange
from drivers.gpio.lines import GPIO_FAULTS, GpioDevice
from drivers.gpio.settings import BeamsSettings, TimedInput
from drivers.readings import build_reading

MARGIN_US = 200
"""The order of edges on two lines is certain only if the edges are at least this far apart."""
MAX_PULSE_US = 200_000
"""Maximum length of a pulse. A longer pulse is caused by a hand, or by a rotor that is parked or starting.
When a pulse of this length ends, its middle is 100 ms old. By default, a table waits 120 ms for delayed
readings.
"""
_MAX_PHASES = 32


class BeamsDevice(GpioDevice):
    """Timed inputs of the table, each on one line of a chip."""

    def __init__(self, name: str, settings: BeamsSettings) -> None:
        inputs = settings.inputs
        super().__init__(
            name,
            inputs,
            devices={key: timed.dev or name for key, timed in inputs.items()},
            stuck_us={
                key: timed.limits.stuck_us if timed.stuck_us is None else timed.stuck_us
                for key, timed in inputs.items()
            },
        )
        self.doubled = dict.fromkeys(inputs, 0)
        """Number of pulses, by input, that began within the hold-off time of the previous pulse."""
        self._timed: Mapping[str, TimedInput] = inputs
        self._phase_first = settings.phase_first
        self._phase = next((key for key, timed in inputs.items() if timed.kind == "rotor_phase"), None)
        self._phases: deque[LevelChange] = deque(maxlen=_MAX_PHASES)
        self._passes: list[tuple[str, int, int]] = []
        self._began_us: dict[str, int | None] = dict.fromkeys(inputs)
        self._last_us: dict[str, int | None] = dict.fromkeys(inputs)

    def on_change(self, now_us: int, name: str, change: LevelChange) -> list[AnyReading]:
        """Handle a change in the level of the input with this name."""
        timed = self._timed[name]
        if name == self._phase:
            if not self.lines[name].babbling:
                self._phases.append(change)
            return []
        if change.active:
            return self._begin_pulse(now_us, name, timed, change)
        began_us, self._began_us[name] = self._began_us[name], None
        if began_us is None or not change.exact:
            return []
        if not timed.debounce_us <= change.t_us - began_us <= MAX_PULSE_US:
            return []
        if timed.kind == "rotor_index":
            self._passes.append((name, began_us, change.t_us))
            return []
        return [self._reading(now_us, timed, (began_us + change.t_us) // 2)]

    def on_gap(self, name: str) -> None:
        """Discard the pulse in progress."""
        self._began_us[name] = None
        if name == self._phase:
            self._phases.clear()
        elif self._timed[name].kind == "rotor_index":
            self._passes.clear()

    def receive(self, now_us: int, data: LineEvents) -> list[AnyReading]:
        """Handle the port's events."""
        return [*super().receive(now_us, data), *self._evaluate_passes(now_us)]

    def status(self) -> dict[str, object]:
        """Return each line's state, and the number of pulses ignored during hold-off."""
        return {**super().status(), "doubled": dict(self.doubled)}

    def _begin_pulse(
        self, now_us: int, name: str, timed: TimedInput, change: LevelChange
    ) -> list[AnyReading]:
        self._began_us[name] = None
        if not change.exact or self.lines[name].babbling:
            return []
        last_us = self._last_us[name]
        hold_off_us = timed.limits.hold_off_us if timed.hold_off_us is None else timed.hold_off_us
        if last_us is not None and change.t_us - last_us < hold_off_us:
            self.doubled[name] += 1
            return []
        self._last_us[name] = change.t_us
        if timed.limits.middle:
            self._began_us[name] = change.t_us
            return []
        return [self._reading(now_us, timed, change.t_us)]

    def _evaluate_passes(self, now_us: int) -> list[AnyReading]:
        """Report each pass of the mark once the phase sensor's state before and after the pass is certain."""
        readings: list[AnyReading] = []
        passes, self._passes = self._passes, []
        for name, began_us, ended_us in passes:
            if self._phase_may_change(ended_us + MARGIN_US):
                self._passes.append((name, began_us, ended_us))
                continue
            direction = self._direction(began_us, ended_us)
            if direction is None:
                seen = "detected the mark, but the phase sensor's state shows no direction"
                readings += self.report_fault(now_us, name, "direction_unclear", seen, since_us=now_us)
                continue
            readings += self.clear_fault(now_us, name, "direction_unclear")
            middle_us = (began_us + ended_us) // 2
            readings.append(self._reading(now_us, self._timed[name], middle_us, direction=direction))
        return readings

    def _phase_may_change(self, t_us: int) -> bool:
        if self._phase is None:
            return False
        line = self.lines[self._phase]
        return line.certain_until_us <= t_us and not line.babbling

    def _direction(self, began_us: int, ended_us: int) -> Turning | None:
        """Return the rotor's direction from the phase sensor's states at the start and end of the pulse."""
        first = self._phase_first
        if first is None:
            return None
        match (self._phase_at(began_us), self._phase_at(ended_us)):
            case (True, False):
                return first
            case (False, True):
                return "ccw" if first == "cw" else "cw"
            case _:
                return None

    def _phase_at(self, t_us: int) -> bool | None:
        """Return the phase sensor's state at this time; None if it is unknown or changed around then."""
        if any(abs(phase.t_us - t_us) <= MARGIN_US for phase in self._phases):
            return None
        return next((phase.active for phase in reversed(self._phases) if phase.t_us < t_us), None)

    def _reading(self, now_us: int, timed: TimedInput, t_us: int, **own: str) -> AnyReading:
        return build_reading(timed.kind, {**timed.fields, **own}, timed.dev or self.name, t_us, now_us)


def _make(name: str, settings: BeamsSettings, _random_bytes: RandomBytes) -> BeamsDevice:
    return BeamsDevice(name, settings)


def _address(settings: BeamsSettings) -> EdgeLines:
    return EdgeLines(settings.chip, settings.inputs)


def _reported_devices(name: str, settings: BeamsSettings) -> Iterator[ReportedDevice]:
    for key, timed in settings.inputs.items():
        kinds: tuple[DeviceReading, ...] = () if timed.kind == "rotor_phase" else (timed.kind,)
        at = ("inputs", key, "dev") if timed.dev else ()
        yield ReportedDevice(at, timed.dev or name, kinds, wall_of(timed.fields))


TYPE = DeviceType(
    name="gpio-beams",
    title="beams, rotor index, pocket reader and impact comparators on the Pi's GPIO lines",
    settings=BeamsSettings,
    make=_make,
    address=_address,
    reported_devices=_reported_devices,
    causes=GPIO_FAULTS,
)
"""The device type for the registry."""
