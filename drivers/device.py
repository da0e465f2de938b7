"""A device as the table's program sees it: its type, its address, and its lines' events and commands."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from controller.model import tables
from controller.model.readings import AnyReading, Wall
from controller.model.tables import Claim, ReportedDevice
from drivers.health import DEVICE_FAULTS, Causes


class LineSetup(Protocol):
    """How a line is wired."""

    @property
    def line(self) -> int:
        """Its number on the chip."""
        ...

    @property
    def active_low(self) -> bool:
        """Whether it is active when its voltage is low."""
        ...


class InputSetup(LineSetup, Protocol):
    """How an input is wired."""

    @property
    def pull(self) -> str:
        """up, down or none."""
        ...


@dataclass(frozen=True, slots=True)
class StreamAddress:
    """A port that carries bytes: a serial port, `unix:` and a socket's path, or `pipe:` and a named pipe's
    path.
    """

    name: str
    baud: int


@dataclass(frozen=True, slots=True)
class EdgeLines:
    """Inputs on a chip's lines whose timing matters; they are read as the kernel's edge events."""

    chip: str
    """The chip's label, as `gpiodetect` shows it."""
    inputs: Mapping[str, InputSetup]


@dataclass(frozen=True, slots=True)
class PanelLines:
    """Contacts, lamps and a buzzer on a chip's lines: contacts are read as the kernel's edge events, lamps
    and buzzer are gpiozero outputs.
    """

    chip: str
    inputs: Mapping[str, InputSetup]
    outputs: Mapping[str, LineSetup] = field(default_factory=dict)


Address = StreamAddress | EdgeLines | PanelLines


class Edge(NamedTuple):
    """A line became active or inactive."""

    line: int
    active: bool
    seq: int
    """The edge's number: each line's edges are counted from 1 since it was opened."""
    t_us: int
    """The time in table microseconds."""


class Level(NamedTuple):
    """A line's level when it was read."""

    line: int
    active: bool
    t_us: int


class ReadLevel(NamedTuple):
    """Command: report this line's level."""

    line: int


class SetOutput(NamedTuple):
    """Command: switch an output."""

    line: int
    active: bool


class Mute(NamedTuple):
    """Command: ignore a babbling line for `duration_us`."""

    line: int
    duration_us: int


LineEvents = tuple[Edge | Level, ...]
LineCommands = tuple[ReadLevel | SetOutput | Mute, ...]


WALLS: tuple[Wall, ...] = ("left", "right", "front", "back")
RandomBytes = Callable[[int], bytes]
"""Returns that many random bytes (`os.urandom`): for the nonces of a handshake, never for an outcome."""
Data_contra = TypeVar("Data_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)


@runtime_checkable
class Device(Protocol[Data_contra, Output_co]):
    """One device of a table.

    Its link passes bytes or GPIO line events to the device, which sends bytes or line commands. Times are
    table microseconds. Every call that handles something returns the readings that result.
    """

    name: str

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until something is received from it."""
        ...

    def opened(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of its link."""
        ...

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the closing of its link: the fault's code, and what was seen."""
        ...

    def overflowed(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle the loss of `lost` bytes or edges that were discarded because the table was busy."""
        ...

    def receive(self, now_us: int, data: Data_contra) -> list[AnyReading]:
        """Handle the bytes or events that its link received at `now_us`."""
        ...

    def tick(self, now_us: int) -> list[AnyReading]:
        """Handle what is due by now."""
        ...

    def next_deadline(self) -> int | None:
        """Return when `tick` is next due; None if nothing is scheduled."""
        ...

    def take_output(self) -> Output_co:
        """Return what is to be sent now, and remove it from the queue."""
        ...

    def take_reopen(self) -> bool:
        """Return whether the link should be reopened, and clear the request."""
        ...

    def status(self) -> Mapping[str, object]:
        """Return its state for a technician: identity, counters, active faults."""
        ...


AnyDevice = Device[Any, Any]
"""A device of any type; what its link passes to it is meaningful only to that type."""
Neighbours = Mapping[str, tables.DeclaredDevice]
"""The devices of a table's file by name."""


def _no_claims(_settings: object) -> Iterable[Claim]:
    return ()


def _as_written(_name: str, settings: Any, _devices: Neighbours) -> Any:
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceType:
    """One type of device: everything that the table's program needs to know about it.

    Its functions accept settings of the class `settings`, a frozen dataclass. If that class has the fields
    `key` and `key_file`, the key may be kept in a separate file.
    """

    name: str
    """The type's name in a table's file."""
    title: str
    settings: type
    make: Callable[
        [str, Any, RandomBytes], AnyDevice
    ]  # Any, here and below: each type has its own class of settings
    """Creates the device from its name at the table and its settings."""
    address: Callable[[Any], Address]
    """Returns the address of the device's port."""
    reported_devices: Callable[[str, Any], Iterable[ReportedDevice]]
    """Returns the devices whose readings a device with this name sends, and the kinds of those readings."""
    claims: Callable[[Any], Iterable[Claim]] = _no_claims
    """Returns what the device must not share with another one, apart from its port."""
    causes: Causes = field(default_factory=lambda: DEVICE_FAULTS)
    """Its possible faults: the codes of its `device_down` and `device_fault` readings, and what to do."""
    calibrated_camera: bool = False
    """Whether it is a camera that reports pixels. Its settings are `CalibratedSettings`, which map pixels to
    the table; `tablectl calibrate camera` measures that mapping.
    """
    mounted: Callable[[str, Any, Neighbours], Any] = _as_written
    """Returns its settings, completed with the file's settings for the devices whose readings it sends."""


def wall_of(fields: Mapping[str, object]) -> Wall | None:
    """Return the wall that a sensor's fixed fields name."""
    return next((wall for wall in WALLS if fields.get("wall") == wall), None)
