"""The base class of the GPIO devices, which re-reads lines and detects faults."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from controller.model.readings import AnyReading
from drivers.device import Edge, LineCommands, LineEvents, MuteLine, ReadLevel, SetOutput
from drivers.gpio.input_line import (
    BabblingEnded,
    BabblingStarted,
    EdgeMissed,
    EdgesLost,
    HiddenPulse,
    InputLine,
    LevelChange,
    LineChange,
)
from drivers.health import LINK, REPEAT_US, Cause, Change, Health, PortReopening, build_readings

_OPEN = "when the lines can be opened"
_AFTER_A_SECOND = "a second after the last occurrence"

GPIO_FAULTS: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its lines have just been opened",
        "wait two seconds; if that does not help, restart the controller: systemctl restart table",
        "when every line's level has been read",
    ),
    "no_library": Cause(
        "the controller was installed without its hardware extra",
        "install the extra with: pip install 'table-controller[hardware]'",
        "when the service is started again",
    ),
    "no_chip": Cause(
        "the table's file names the chip of another Raspberry Pi model, or the chip has disappeared",
        "compare the file's label with the one in brackets in the output of gpiodetect: pinctrl-bcm2711"
        " (Pi 4) or pinctrl-rp1 (Pi 5); a chip that has disappeared is opened automatically when it returns",
        _OPEN,
    ),
    "no_line": Cause(
        "the chip has no such line, or does not support the pull given in the table's file",
        "compare the line and its pull with the device's page",
        _OPEN,
    ),
    "line_busy": Cause(
        "another program, or the kernel driver of an overlay, uses the line",
        "stop that program (gpioinfo names it), or remove its dtoverlay from config.txt",
        _OPEN,
    ),
    "no_permission": Cause(
        "the service's user is not in group gpio, or the unit does not allow access to the chip",
        "check that ls -l /dev/gpiochip* shows group gpio and that the unit has DeviceAllow=char-gpiochip rw",
        _OPEN,
    ),
    "port_fault": Cause(
        "the operating system refused to read or set up a line, or the chip has disappeared",
        "the lines are reopened automatically; if that does not help, check the output of dmesg",
        _OPEN,
    ),
    "silent": Cause(
        "the thread that reads the lines has hung",
        "the lines are reopened automatically; if that does not help, restart the service",
        "when the levels are reported again",
    ),
    "lost_edges": Cause(
        "the line had more edges than the kernel can buffer, or the controller was busy",
        "check the controller's load, and look for an oscillating line; the lost edges were not counted",
        _AFTER_A_SECOND,
    ),
    "missed_edge": Cause(
        "a pulse too short for the hardware, or interference",
        "check the line's pull-up or pull-down, and the shielding and length of its wire",
        _AFTER_A_SECOND,
    ),
    "babbling": Cause(
        "a loose contact, a missing pull-up or pull-down, a misaligned beam, or interference",
        "check the plug and the pull-up or pull-down; the input is ignored until the line is quiet",
        "when the line has been quiet for a second",
    ),
    "stuck": Cause(
        "an object blocks the beam or presses the button, or the wire is cut or shorted",
        "inspect and clean the sensor; test the wire with a meter",
        "when the input is released",
    ),
    "direction_unclear": Cause(
        "one of the two index sensors has failed or is dirty, or the rotor reversed in front of them",
        "turn the rotor slowly by hand, and check that both sensors detect the mark, one after the other",
        "when both sensors have detected the mark, one after the other",
    ),
}
"""The faults of a GPIO device by code."""


READ_ALL_US = 1_000_000
"""Interval at which every line is read, to correct its state after a missed edge."""
SILENT_US = 2_000_000
MOMENTARY_US = 1_000_000
"""Duration of a momentary fault."""
MUTE_US = 200_000
"""Time for which a babbling line is ignored after each burst of edges."""


class InputSetup(Protocol):
    """The settings common to panel inputs and timed inputs."""

    @property
    def line(self) -> int: ...
    @property
    def debounce_us(self) -> int: ...
    @property
    def max_edges_per_s(self) -> int: ...


class GpioDevice(ABC):
    """A device on some of a chip's lines; see `drivers.device.Device`."""

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, InputSetup],
        *,
        devices: Mapping[str, str],
        stuck_us: Mapping[str, int],
    ) -> None:
        """Create the device.

        Args:
            name: The device's name.
            inputs: The settings of the device's inputs, by input.
            devices: The table's device to which each input belongs, by input.
            stuck_us: Maximum time for which each input may be active, by input; 0 for no limit.
        """
        self.name = name
        self.lines = {key: InputLine(s.debounce_us, s.max_edges_per_s) for key, s in inputs.items()}
        self._health = {dev: Health() for dev in (name, *devices.values())}
        self._inputs = inputs
        self._devices = devices
        self._stuck_us = stuck_us
        self._names = {setup.line: key for key, setup in inputs.items()}
        self._is_open = False
        self._unreported: set[str] = set()
        self._read_all_us = 0
        self._received_us = 0
        self._muted_until_us = dict.fromkeys(inputs, 0)
        self._output: list[ReadLevel | SetOutput | MuteLine] = []
        self._reopening = PortReopening()

    @abstractmethod
    def on_change(self, now_us: int, name: str, change: LevelChange) -> list[AnyReading]:
        """Handle a change in the level of the input with this name."""

    def on_gap(self, name: str) -> None:  # noqa: B027 - a panel's switches have no pulse in progress
        """Handle a gap in the input's history, such as a lost edge."""

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until every line has been read."""
        return self._report_down(now_us, "starting", f"the lines of {self.name} have not been opened yet")

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the lines. The device is down until every line has been read."""
        self._is_open = True
        self._received_us = now_us
        self._read_all_us = now_us + READ_ALL_US
        self._output.clear()
        self._unreported = set(self.lines)
        for name, line in self.lines.items():
            line.reset()
            self.on_gap(name)
        return [] if self.lines else self._report_up(now_us, "its lines are open")

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the closing of the lines."""
        self._is_open = False
        self._output.clear()
        for name in self.lines:
            self.on_gap(name)
        return self._report_down(now_us, code, seen)

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle edges lost because the table was busy."""
        amount = f"at most {_edges(lost)} (the number discarded on all lines together)"
        readings: list[AnyReading] = []
        for name, line in self.lines.items():
            readings += self._report_changes(now_us, name, line.lost(self._received_us), amount)
        return readings

    def receive(self, now_us: int, data: LineEvents) -> list[AnyReading]:
        """Handle the port's events."""
        readings: list[AnyReading] = []
        for event in data:
            name = self._names[event.line]
            line = self.lines[name]
            if isinstance(event, Edge):
                changes = line.edge(event.t_us, event.active, event.seq)
            else:
                self._received_us = now_us
                self._unreported.discard(name)
                changes = line.level(event.t_us, event.active)
            readings += self._report_changes(now_us, name, changes)
        self._mute_babbling(now_us)
        if self._is_open and self._any_down and not self._unreported:
            readings += self._report_up(now_us, "every line's level has been read")
        return readings

    def tick(self, now_us: int) -> list[AnyReading]:
        """End expired faults, check the lines, and request the reads that are due."""
        changes = self._end_faults(now_us)
        if not self._is_open:
            return changes
        for name, line in self.lines.items():
            changes += self._report_changes(now_us, name, line.tick(now_us))
            changes += self._check_stuck(now_us, name)
        read_all = now_us >= self._read_all_us
        if read_all:
            self._read_all_us = now_us + READ_ALL_US
        for name, line in self.lines.items():
            due_us = _read_due_us(line)
            if read_all or (due_us is not None and due_us <= now_us):
                line.read_requested(now_us)
                self._output.append(ReadLevel(self._inputs[name].line))
        if self.lines and now_us - self._received_us >= SILENT_US:
            self._received_us = now_us
            self._reopening.request_now()
            changes += self.on_close(now_us, "silent", f"no level was reported for {SILENT_US / 1e6:g} s")
        return changes

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        due = [health.next_deadline() for health in self._health.values()]
        if self._is_open:
            due.append(self._read_all_us)
            for name, line in self.lines.items():
                due += [_read_due_us(line), line.quiet_us, self._stuck_at_us(name)]
        return min((at for at in due if at is not None), default=None)

    def queue_command(self, command: ReadLevel | SetOutput | MuteLine) -> None:
        """Queue a command for the port, if the port is open."""
        if self._is_open:
            self._output.append(command)

    def take_output(self) -> LineCommands:
        """Return the queued commands for the port, and clear the queue."""
        output = tuple(self._output)
        self._output.clear()
        return output

    def take_reopen(self) -> bool:
        """Return whether the lines should be reopened, and clear the request."""
        return self._reopening.take()

    def status(self) -> dict[str, object]:
        """Return each line's state and counters, and the active faults."""
        return {
            "open": self._is_open,
            "troubles": [label for health in self._health.values() for label in health.fault_labels],
            "lines": {
                name: {
                    "line": self._inputs[name].line,
                    "active": line.stable,
                    "since_us": line.since_us,
                    "edges": line.edges,
                    "bounces": line.bounces,
                    "babbling": line.babbling,
                }
                for name, line in self.lines.items()
            },
        }

    def report_fault(
        self, now_us: int, name: str, code: str, seen: str, *, since_us: int, momentary: bool = False
    ) -> list[AnyReading]:
        """Report a fault of one input. A `momentary` fault ends after MOMENTARY_US."""
        where = f"{name} (GPIO{self._inputs[name].line}) {seen}"
        changes = self._health[self._devices[name]].record(
            now_us,
            code,
            where,
            down=False,
            source=name,
            since_us=since_us,
            clears_us=now_us + MOMENTARY_US if momentary else None,
            repeat_us=REPEAT_US if momentary else None,
        )
        return self._readings(now_us, self._devices[name], changes)

    def clear_fault(self, now_us: int, name: str, code: str) -> list[AnyReading]:
        """End a fault of one input."""
        dev = self._devices[name]
        changes = self._health[dev].clear(now_us, code, source=name, seen=f"{name} is working again")
        return self._readings(now_us, dev, changes)

    @property
    def _any_down(self) -> bool:
        return any(LINK in health for health in self._health.values())

    def _report_down(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Report that all devices are down, and discard their other faults."""
        readings: list[AnyReading] = []
        for dev, health in self._health.items():
            health.forget()
            readings += self._readings(now_us, dev, health.record_closed(now_us, code, seen))
        return readings

    def _report_up(self, now_us: int, seen: str) -> list[AnyReading]:
        """Report that all devices are up, and repeat the reports of faults that are still active."""
        return [
            reading
            for dev, health in self._health.items()
            for reading in self._readings(now_us, dev, health.clear(now_us, LINK, seen=seen))
        ]

    def _end_faults(self, now_us: int) -> list[AnyReading]:
        return [
            reading
            for dev, health in self._health.items()
            for reading in self._readings(now_us, dev, health.tick(now_us))
        ]

    def _readings(self, now_us: int, dev: str, changes: list[Change]) -> list[AnyReading]:
        return build_readings(changes, [dev], now_us, causes=GPIO_FAULTS)

    def _report_changes(
        self, now_us: int, name: str, changes: list[LineChange], amount: str | None = None
    ) -> list[AnyReading]:
        readings: list[AnyReading] = []
        for event in changes:
            match event:
                case LevelChange():
                    readings += self.clear_fault(now_us, name, "stuck")
                    readings += self.on_change(now_us, name, event)
                case EdgesLost():
                    self.on_gap(name)
                    seen = f"lost {amount or _edges(event.edges)}"
                    readings += self.report_fault(
                        now_us, name, "lost_edges", seen, since_us=event.since_us + 1, momentary=True
                    )
                case EdgeMissed():
                    self.on_gap(name)
                    is_now = "active" if event.active else "inactive"
                    seen = f"became {is_now} without an edge"
                    readings += self.report_fault(
                        now_us, name, "missed_edge", seen, since_us=now_us, momentary=True
                    )
                case HiddenPulse():
                    self.on_gap(name)
                case BabblingStarted():
                    self.on_gap(name)
                    seen = f"changes {event.edges_per_s} times a second"
                    readings += self.report_fault(now_us, name, "babbling", seen, since_us=event.t_us)
                case BabblingEnded():
                    readings += self.clear_fault(now_us, name, "babbling")
        return readings

    def _mute_babbling(self, now_us: int) -> None:
        """Mute babbling lines for MUTE_US, so that they do not delay the edges of other lines."""
        for name, line in self.lines.items():
            if line.babbling and now_us >= self._muted_until_us[name]:
                self._muted_until_us[name] = now_us + MUTE_US
                self.queue_command(MuteLine(self._inputs[name].line, MUTE_US))

    def _stuck_at_us(self, name: str) -> int | None:
        line, stuck_us = self.lines[name], self._stuck_us.get(name, 0)
        if not stuck_us or not line.stable or self._health[self._devices[name]].is_active("stuck", name):
            return None
        return line.since_us + stuck_us

    def _check_stuck(self, now_us: int, name: str) -> list[AnyReading]:
        at_us = self._stuck_at_us(name)
        if at_us is None or now_us < at_us:
            return []
        held_s = (now_us - self.lines[name].since_us) / 1e6
        limit_s = self._stuck_us[name] / 1e6
        seen = f"has been active for {held_s:.1f} s, expected at most {limit_s:g} s"
        return self.report_fault(now_us, name, "stuck", seen, since_us=now_us)


def _read_due_us(line: InputLine) -> int | None:
    """Return when to read a line; None for a babbling line, which is read only every READ_ALL_US."""
    return None if line.babbling else line.read_due_us


def _edges(count: int) -> str:
    return "one edge" if count == 1 else f"{count} edges"
