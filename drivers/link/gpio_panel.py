"""A port on gpiozero pins: a panel's contacts, lamps and buzzer.

gpiozero's own choice of a pin factory, which falls back from one to the next with a warning, is never asked;
neither are its buttons, whose debouncing can lose a press for good. Its callbacks run on lgpio's thread, and
an exception there would silence every line of the process: they number the edge, stamp it and go.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import gpiozero

from drivers.link.gpio_edges import Chip, Chips, Holder, TableTime, busy, find_chip
from drivers.link.link import PortError
from drivers.wiring import Edge, InputSetup, Level, LineEvents, LineOrders, LineSetup, ReadLevel, Rest, Set

T = TypeVar("T")
MAX_WAITING = 2048
"""Edges that wait for the thread; the oldest fall out, and their numbers are missed."""
OLDEST_S = 5.0
"""A stamp older than this, or from the future, is of another clock than the factory's."""
_PULLS = {"up": "up", "down": "down", "none": "floating"}


@dataclass(frozen=True, slots=True)
class Pins:
    """A pin factory that works, and what its pins raise."""

    factory: Any  # a gpiozero.Factory, which comes without types
    failures: tuple[type[Exception], ...] = (OSError, gpiozero.GPIOZeroError)


_LGPIO: dict[int, Pins] = {}
"""By chip. Never closed: gpiozero keeps all factories' pins together, and closing one closes them all."""


def lgpio_pins(chip: Chip) -> Pins:
    """Return lgpio's pins of this chip. Raises PortError, and never takes another factory instead."""
    if chip.number not in _LGPIO:
        _check_folder()
        try:
            lgpio = import_module("lgpio")  # it makes its pipe and starts its thread when it is imported
            factory_type = import_module("gpiozero.pins.lgpio").LGPIOFactory
        except ImportError as error:
            raise PortError("no_library", f"pin factory lgpio: {error}") from error
        except OSError as error:
            raise PortError("no_folder", f"pin factory lgpio: {error}") from error
        try:
            factory = factory_type(chip=chip.number)
        except (OSError, lgpio.error, gpiozero.GPIOZeroError) as error:
            raise PortError("no_factory", f"pin factory lgpio on {chip.path}: {error}") from error
        _LGPIO[chip.number] = Pins(factory, (OSError, lgpio.error, gpiozero.GPIOZeroError))
    return _LGPIO[chip.number]


def _check_folder() -> None:
    """Make sure that lgpio can make its pipe. Raises PortError."""
    if "lgpio" in sys.modules:
        return
    probe = Path.cwd() / f".lgd-probe{os.getpid()}"
    try:
        os.mkfifo(probe)
        probe.unlink()
    except OSError as error:
        raise PortError(
            "no_folder", f"the working directory {probe.parent} cannot hold a named pipe: {error.strerror}"
        ) from error


class _Contact:
    """One input pin. It is kept by the port: gpiozero holds its callbacks by weak references only."""

    def __init__(
        self, line: int, *, active_low: bool, device: Any, post: Callable[[int, bool, int, float], None]
    ):
        self.line = line
        self.device = device
        self.seq = 0
        self._active_low = active_low
        self._post = post

    def is_active(self) -> bool:
        """Read the pin."""
        return bool(self.device.pin.state) != self._active_low

    def listen(self) -> None:
        """Listen for edges from now on."""
        self.device.pin.edges = "both"
        self.device.pin.when_changed = self._changed

    def rest(self) -> None:
        """Stop listening."""
        self.device.pin.when_changed = None

    def _changed(self, ticks: float, state: int) -> None:
        self.seq += 1
        self._post(self.line, bool(state) != self._active_low, self.seq, ticks)


class PanelPort:
    """A panel's inputs and outputs on one chip."""

    def __init__(
        self,
        label: str,
        inputs: Mapping[str, InputSetup],
        outputs: Mapping[str, LineSetup],
        *,
        chips: Chips,
        pins: Callable[[Chip], Pins],
        holder: Holder,
        table_us: TableTime,
        clock_ns: Callable[[], int],
    ) -> None:
        """Store the chip's label and the lines; nothing is opened yet."""
        self._label = label
        self._inputs = inputs
        self._outputs = outputs
        self._chips = chips
        self._make_pins = pins
        self._holder = holder
        self._table_us = table_us
        self._clock_ns = clock_ns
        self._pins: Pins | None = None
        self._contacts: dict[int, _Contact] = {}
        self._lamps: dict[int, Any] = {}
        self._resting_ns: dict[int, int] = {}
        self._waiting: deque[Edge] = deque(maxlen=MAX_WAITING)
        self._awake = Event()
        self._answers: list[Edge | Level] = []

    def open(self) -> str:
        """Request every line; raises PortError, and then holds none."""
        chip = find_chip(self._label, self._chips)
        pins = self._pins = self._make_pins(chip)
        self._waiting.clear()
        try:
            for name, setup in self._inputs.items():
                self._listen(chip, name, setup)
            for name, output in self._outputs.items():
                self._lamps[output.line] = self._take(
                    chip, name, output, gpiozero.DigitalOutputDevice, active_high=not output.active_low
                )
        except PortError:
            self.close()
            raise
        return f"{chip.path} [{chip.label}] through {type(pins.factory).__name__}"

    def read(self) -> LineEvents:
        """Wait for edges and return them; what was asked for comes first."""
        if not self._answers:
            self._awake.wait(self._wait_s())
            self._awake.clear()
            self._wake_rested()
            self._drain()
        said = tuple(self._answers)
        self._answers.clear()
        return said

    def write(self, orders: LineOrders) -> None:
        """Follow orders: look at contacts, switch lamps. Raises PortError."""
        for order in orders:
            match order:
                case Set():
                    lamp = self._lamps[order.line]
                    self._safely(lamp.on if order.active else lamp.off)
                case ReadLevel() if order.line not in self._resting_ns:
                    self._drain()
                    active = self._safely(self._contacts[order.line].is_active)
                    self._answers.append(Level(order.line, active, self._table_us(self._clock_ns())))
                case Rest() if order.line not in self._resting_ns:
                    self._safely(self._contacts[order.line].rest)
                    self._resting_ns[order.line] = self._clock_ns() + order.for_us * 1000

    def wake(self) -> None:
        """Make a `read` that waits come back."""
        self._awake.set()

    def close(self) -> None:
        """Release the lines, each for itself, so that no other panel loses its own."""
        contacts, lamps = list(self._contacts.values()), list(self._lamps.values())
        self._contacts.clear()
        self._lamps.clear()
        self._resting_ns.clear()
        self._answers.clear()
        failures = self._pins.failures if self._pins else ()
        for contact in contacts:
            with suppress(*failures):
                contact.rest()
            with suppress(*failures):
                contact.device.close()
        for lamp in lamps:
            with suppress(*failures):
                lamp.off()
            with suppress(*failures):
                lamp.close()

    def dispose(self) -> None:
        """Close it for good."""
        self.close()

    def _listen(self, chip: Chip, name: str, setup: InputSetup) -> None:
        device = self._take(chip, name, setup, gpiozero.GPIODevice)
        contact = _Contact(setup.line, active_low=setup.active_low, device=device, post=self._stamped)
        self._contacts[setup.line] = contact
        self._safely(partial(device.pin.input_with_pull, _PULLS[setup.pull]))
        self._safely(contact.listen)

    def _take(self, chip: Chip, name: str, setup: LineSetup, kind: Any, **more: bool) -> Any:
        assert self._pins is not None
        where = f"{name}: GPIO{setup.line} of {chip.path}"
        try:
            return kind(setup.line, pin_factory=self._pins.factory, **more)
        except gpiozero.GPIOPinInUse as error:
            raise PortError("line_busy", f"{where}: {error}") from error
        except self._pins.failures as error:
            if "busy" in str(error).lower():
                raise busy(chip, setup.line, name, self._holder) from error
            raise PortError("no_line", f"{where}: {error}") from error

    def _stamped(self, line: int, active: bool, seq: int, ticks: float) -> None:
        """Note an edge, on the factory's own thread."""
        pins = self._pins
        if pins is None:
            return
        now_ns = self._clock_ns()
        age_s = pins.factory.ticks_diff(pins.factory.ticks(), ticks)
        age_ns = int(age_s * 1e9) if 0 <= age_s <= OLDEST_S else 0
        self._waiting.append(Edge(line, active, seq, self._table_us(now_ns - age_ns)))
        self._awake.set()

    def _drain(self) -> None:
        with suppress(IndexError):
            while True:
                self._answers.append(self._waiting.popleft())

    def _safely(self, call: Callable[[], T]) -> T:
        assert self._pins is not None
        try:
            return call()
        except self._pins.failures as error:
            raise PortError("port_fault", f"{self._label}: {error}") from error

    def _wait_s(self) -> float | None:
        if not self._resting_ns:
            return None
        return max(0.0, (min(self._resting_ns.values()) - self._clock_ns()) / 1e9)

    def _wake_rested(self) -> None:
        now_ns = self._clock_ns()
        for line in [line for line, until_ns in self._resting_ns.items() if until_ns <= now_ns]:
            del self._resting_ns[line]
            self._safely(self._contacts[line].listen)
