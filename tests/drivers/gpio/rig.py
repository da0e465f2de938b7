"""A bench for GPIO devices: the production port and device, on lines driven in simulated time."""

import errno
import os
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, Reading
from drivers.device import InputSetup, LineCommands, LineEvents
from drivers.gpio.beams import BeamsDevice
from drivers.gpio.panel import PanelDevice
from drivers.gpio.settings import (
    BeamsSettings,
    ChipLabel,
    PanelInput,
    PanelOutput,
    TimedInput,
    TimedKind,
)
from drivers.link.gpio_edges import Chip, EdgePort, KernelEdge
from drivers.link.link import Port

R = TypeVar("R", bound=Reading)
LABEL: ChipLabel = "pinctrl-rp1"
CHIP = Chip("/dev/gpiochip0", LABEL)
KERNEL_KEEPS = 1024
SECOND = 1_000_000
TURN_US = 500
"""Maximum duration of a pass of the core's loop."""


class Time:
    """Simulated time: the table's clock in microseconds and the kernel's in nanoseconds."""

    def __init__(self) -> None:
        self.us = 10 * SECOND

    def ns(self) -> int:
        return self.us * 1000

    def seconds(self) -> float:
        return self.us / 1e6


class FakeLine:
    """A simulated line with sequence numbers and a buffer that drops its oldest edges."""

    def __init__(self, kernel: "FakeKernel", setup: InputSetup) -> None:
        self.kernel = kernel
        self.setup = setup
        self.seq = 0
        self.edges: deque[KernelEdge] = deque(maxlen=kernel.keeps)
        self.fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.close = weakref.finalize(self, os.close, self.fd)

    def fileno(self) -> int:
        return self.fd

    def put(self, active: bool, t_us: int) -> None:
        self.seq += 1
        self.edges.append(KernelEdge(active, t_us * 1000, self.seq))
        os.eventfd_write(self.fd, 1)

    def read_edges(self) -> list[KernelEdge]:
        if self.kernel.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.eventfd_read(self.fd)
        edges = list(self.edges)
        self.edges.clear()
        return edges

    def is_active(self) -> bool:
        if self.kernel.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self.kernel.active.get(self.setup.line, False)

    def release(self) -> None:
        del self.kernel.lines[self.setup.line]
        self.close()


class FakeOutput:
    """A simulated output, which keeps its level when it is released."""

    def __init__(self, kernel: "FakeKernel", line: int, high: bool) -> None:
        self.kernel = kernel
        self.line = line
        kernel.outputs[line] = self
        kernel.levels.setdefault(line, []).append(high)

    def is_high(self) -> bool:
        return self.kernel.levels[self.line][-1]

    def drive(self, high: bool) -> None:
        if self.kernel.broken:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        self.kernel.levels[self.line].append(high)

    def release(self) -> None:
        del self.kernel.outputs[self.line]


@dataclass
class FakeKernel:
    """Simulated GPIO chips and lines."""

    active: dict[int, bool] = field(default_factory=dict)
    lines: dict[int, FakeLine] = field(default_factory=dict)
    outputs: dict[int, FakeOutput] = field(default_factory=dict)
    levels: dict[int, list[bool]] = field(default_factory=dict)
    """All levels of each output, in order."""
    refused: dict[int, Exception] = field(default_factory=dict)
    chips: list[Chip] = field(default_factory=lambda: [Chip("/dev/gpiochip4", "other"), CHIP])
    broken: bool = False
    keeps: int = KERNEL_KEEPS

    def request(self, chip: Chip, setup: InputSetup) -> FakeLine:
        assert chip.label == LABEL
        if setup.line in self.refused:
            raise self.refused[setup.line]
        if setup.line in self.lines:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        self.lines[setup.line] = FakeLine(self, setup)
        return self.lines[setup.line]

    def request_output(self, chip: Chip, line: int, high: bool) -> FakeOutput:
        assert chip.label == LABEL
        if line in self.refused:
            raise self.refused[line]
        if line in self.lines or line in self.outputs:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return FakeOutput(self, line, high)

    def holder(self, _chip: Chip, line: int) -> str:
        return "w1-gpio" if line in self.refused else ""

    def drive(self, line: int, active: bool, t_us: int) -> None:
        """Create an edge on this line with the timestamp `t_us`."""
        if self.active.get(line, False) != active:
            self.active[line] = active
            if line in self.lines:
                self.lines[line].put(active, t_us)

    def miss(self, line: int, active: bool) -> None:
        """Change a line without an edge."""
        self.active[line] = active

    def port(self, inputs: Mapping[str, InputSetup], time: Time, label: str = LABEL) -> EdgePort:
        return EdgePort(
            label,
            inputs,
            chips=lambda: self.chips,
            request=self.request,
            holder=self.holder,
            table_us=lambda ns: ns // 1000,
            clock_ns=time.ns,
        )


class Bench:
    """A device and its port, run as in the core's loop."""

    def __init__(
        self, device: BeamsDevice | PanelDevice, port: Port[LineEvents, LineCommands], time: Time
    ) -> None:
        self.device = device
        self.port = port
        self.time = time
        self.reported: list[AnyReading] = []

    def open(self) -> "Bench":
        self.reported += self.device.start(self.time.us)
        self.port.open()
        self.reported += self.device.on_open(self.time.us)
        self.turn()
        return self

    def close(self) -> None:
        self.port.close()
        self.reported += self.device.on_close(self.time.us, "port_fault", "the scene closed it")

    def turn(self) -> None:
        """Run one pass of the loop: pass on commands and events, and run the device's due work."""
        self.reported += self.device.tick(self.time.us)
        if self.device.take_reopen():
            self.close()
            self.port.open()
            self.reported += self.device.on_open(self.time.us)
        orders = self.device.take_output()
        if orders:
            self.port.write(orders)
        self.port.wake()
        said = self.port.read()
        if said:
            self.reported += self.device.receive(self.time.us, said)

    def to(self, t_us: int) -> "Bench":
        """Advance time to `t_us`, and run a pass of the loop at each deadline."""
        while True:
            self.turn()
            due = self.device.next_deadline()
            if due is None or due > t_us or self.time.us >= t_us:
                break
            self.time.us = min(t_us, max(due, self.time.us + TURN_US))
        self.time.us = max(self.time.us, t_us)
        self.turn()
        return self

    def after(self, us: int) -> "Bench":
        return self.to(self.time.us + us)

    def of(self, kind: type[R]) -> list[R]:
        return [reading for reading in self.reported if isinstance(reading, kind)]

    def faults(self) -> list[tuple[str, str | int]]:
        return [(reading.dev, reading.code) for reading in self.of(DeviceFault)]

    def health(self) -> list[str]:
        kinds = (DeviceUp, DeviceDown, DeviceFault)
        return [f"{type(r).__name__} {r.code}" for r in self.reported if isinstance(r, kinds)]


class BeamsBench(Bench):
    def __init__(self, settings: BeamsSettings) -> None:
        self.kernel = FakeKernel()
        time = Time()
        self.beams = BeamsDevice("wheel", settings)
        self.lines = {name: timed.line for name, timed in settings.inputs.items()}
        super().__init__(self.beams, self.kernel.port(settings.inputs, time), time)

    def drive(self, name: str, active: bool, at_us: int | None = None) -> None:
        """Advance time to `at_us` (default: now) and create an edge."""
        if at_us is not None:
            self.to(at_us)
        self.kernel.drive(self.lines[name], active, self.time.us)
        self.turn()

    def lines_babbling(self) -> list[str]:
        return [name for name, line in self.beams.lines.items() if line.babbling]

    def pulse(self, name: str, length_us: int) -> int:
        """Create a pulse and return its start."""
        began_us = self.time.us
        self.drive(name, active=True)
        self.drive(name, active=False, at_us=began_us + length_us)
        return began_us


def timed(line: int, kind: TimedKind, **more: object) -> TimedInput:
    given: dict[str, object] = {"pull": "up", "active_low": True, "debounce_us": 200, **more}
    return TimedInput(line=line, kind=kind, **given)  # type: ignore[arg-type]  # a scene's own settings


def beams(count: int) -> dict[str, TimedInput]:
    return {f"beam-{n}": timed(5 + n, "ball_beam", fields={"beam": n}) for n in range(count)}


def wheel_settings(inputs: Mapping[str, TimedInput], phase_first: str | None = None) -> BeamsSettings:
    return BeamsSettings(chip=LABEL, inputs=inputs, phase_first=phase_first)  # type: ignore[arg-type]  # as above


def button(line: int, **more: object) -> PanelInput:
    given: dict[str, object] = {
        "pull": "up",
        "active_low": True,
        "debounce_us": 5000,
        "kind": "input",
        "name": "no_roll",
        "by": "boxperson",
        **more,
    }
    return PanelInput(line=line, **given)  # type: ignore[arg-type]  # a scene's own settings


def door(line: int, **more: object) -> PanelInput:
    """Return a switch that is closed while its door is closed. A cut wire also means an open door."""
    given: dict[str, object] = {
        "pull": "up",
        "active_low": True,
        "debounce_us": 20_000,
        "kind": "switch",
        "name": "door",
        "open_when": "inactive",
        **more,
    }
    return PanelInput(line=line, **given)  # type: ignore[arg-type]  # a scene's own settings


def lamp(line: int, follows: str, **more: object) -> PanelOutput:
    return PanelOutput(line=line, lamp=follows, **{"active_low": False, **more})  # type: ignore[arg-type]  # as above


def times(readings: Iterable[Reading]) -> list[int]:
    return [reading.t for reading in readings]
