"""The interface between a table's program and its devices: types, addresses, and GPIO events and commands."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from controller.model import tables
from controller.model.readings import AnyReading, Wall
from controller.model.tables import ReportedDevice, ResourceClaim
from drivers.health import DEVICE_FAULTS, Causes


class LineSetup(Protocol):
    """The wiring of a line."""

    @property
    def line(self) -> int:
        """The line's number on the chip."""
        ...

    @property
    def active_low(self) -> bool:
        """Whether the line is active at a low voltage."""
        ...


class InputSetup(LineSetup, Protocol):
    """The wiring of an input."""

    @property
    def pull(self) -> str:
        """The input's pull resistor: up, down or none."""
        ...


@dataclass(frozen=True, slots=True)
class StreamAddress:
    """The address of a port that carries bytes."""

    name: str
    """A serial port's path, `unix:` followed by a socket's path, or `pipe:` followed by a pipe's path."""
    baud: int


@dataclass(frozen=True, slots=True)
class EdgeLines:
    """Timed inputs on a chip's lines, read through the kernel's edge events."""

    chip: str
    """The chip's label in the output of `gpiodetect`."""
    inputs: Mapping[str, InputSetup]


@dataclass(frozen=True, slots=True)
class PanelLines:
    """Contacts, lamps and a buzzer on a chip's lines.

    Contacts are read through the kernel's edge events. The lamps and the buzzer are gpiozero outputs.
    """

    chip: str
    inputs: Mapping[str, InputSetup]
    outputs: Mapping[str, LineSetup] = field(default_factory=dict)


Address = StreamAddress | EdgeLines | PanelLines


class Edge(NamedTuple):
    """An edge on a line."""

    line: int
    active: bool
    seq: int
    """The edge's number on its line. The numbers start from 1 when the line is opened."""
    t_us: int
    """The time of the edge, in microseconds of the table's clock."""


class Level(NamedTuple):
    """The result of reading a line's level."""

    line: int
    active: bool
    t_us: int


class ReadLevel(NamedTuple):
    """A command to report a line's level."""

    line: int


class SetOutput(NamedTuple):
    """A command to switch an output."""

    line: int
    active: bool


class MuteLine(NamedTuple):
    """A command to ignore a babbling line for `duration_us`."""

    line: int
    duration_us: int


LineEvents = tuple[Edge | Level, ...]
LineCommands = tuple[ReadLevel | SetOutput | MuteLine, ...]


WALLS: tuple[Wall, ...] = ("left", "right", "front", "back")
RandomBytes = Callable[[int], bytes]
"""Returns random bytes, like `os.urandom`, for the nonces of a handshake. Outcomes never depend on them."""
Data_contra = TypeVar("Data_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)


@runtime_checkable
class Device(Protocol[Data_contra, Output_co]):
    """A device of a table.

    A link passes bytes or GPIO line events to its device, and accepts bytes or line commands from it. Times
    are in microseconds of the table's clock. Methods that handle an event return the resulting readings.
    """

    name: str

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until it responds."""
        ...

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the link."""
        ...

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the closing of the link. `code` and `seen` describe the fault."""
        ...

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle the loss of `lost` bytes or edges, which were discarded because the table was busy."""
        ...

    def receive(self, now_us: int, data: Data_contra) -> list[AnyReading]:
        """Handle the bytes or events that the link received at `now_us`."""
        ...

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        ...

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next; None if no work is scheduled."""
        ...

    def take_output(self) -> Output_co:
        """Return the queued output, and clear the queue."""
        ...

    def take_reopen(self) -> bool:
        """Return whether the link should be reopened, and clear the request."""
        ...

    def status(self) -> Mapping[str, object]:
        """Return the device's identity, counters and active faults, for a technician."""
        ...


AnyDevice = Device[Any, Any]
"""A device with any type of input and output."""
Neighbours = Mapping[str, tables.DeclaredDevice]
"""The devices in a table's file, by name."""


def _no_claims(_settings: object) -> Iterable[ResourceClaim]:
    return ()


def _as_written(_name: str, settings: Any, _devices: Neighbours) -> Any:
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceType:
    """A type of device.

    The functions of a type accept settings of the class `settings`, a frozen dataclass. If that class has the
    fields `key` and `key_file`, the key may be stored in a separate file.
    """

    name: str
    """The type's name in a table's file."""
    title: str
    settings: type
    make: Callable[
        [str, Any, RandomBytes], AnyDevice
    ]  # Any, here and below: each type has a different class of settings
    """Creates a device from its name in the table's file and its settings."""
    address: Callable[[Any], Address]
    """Returns the address of the device's port."""
    reported_devices: Callable[[str, Any], Iterable[ReportedDevice]]
    """Takes a device's name and settings, and returns the devices whose readings it sends, with the kinds of
    reading that each can send."""
    claims: Callable[[Any], Iterable[ResourceClaim]] = _no_claims
    """Returns the resources, apart from the port, that the device must not share with another device."""
    causes: Causes = field(default_factory=lambda: DEVICE_FAULTS)
    """The codes of the type's `device_down` and `device_fault` readings, with causes and remedies."""
    calibrated_camera: bool = False
    """Whether devices of this type are cameras that report positions in pixels. The settings of such a type
    are `CalibratedSettings`, which map pixels to the table. `tablectl calibrate camera` measures the mapping.
    """
    mounted: Callable[[str, Any, Neighbours], Any] = _as_written
    """Returns a device's settings with additions from the table's file, such as the walls of its sensors."""


def wall_of(fields: Mapping[str, object]) -> Wall | None:
    """Return the wall in a sensor's fixed fields, if there is one."""
    return next((wall for wall in WALLS if fields.get("wall") == wall), None)
