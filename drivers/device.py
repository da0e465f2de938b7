"""A device as the table's program sees it: its type, its address as data, and what passes over its lines."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from controller.model import tables
from controller.model.readings import AnyReading, Wall
from controller.model.tables import Claim, ReportedDevice
from drivers.health import TROUBLES, Causes


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
    """A port for bytes: a serial port, `unix:` and a socket's path, or `pipe:` and a named pipe's."""

    name: str
    baud: int


@dataclass(frozen=True, slots=True)
class EdgeLines:
    """Inputs of a chip whose timing matters: through the kernel's edge events."""

    chip: str
    """The chip's label, as `gpiodetect` shows it."""
    inputs: Mapping[str, InputSetup]


@dataclass(frozen=True, slots=True)
class PanelLines:
    """Contacts, lamps and a buzzer on a chip's lines: edges of the kernel, and gpiozero's outputs."""

    chip: str
    inputs: Mapping[str, InputSetup]
    outputs: Mapping[str, LineSetup] = field(default_factory=dict)


Address = StreamAddress | EdgeLines | PanelLines


class Edge(NamedTuple):
    """A line changed, to active or from it."""

    line: int
    active: bool
    seq: int
    """The edges of one line are numbered from 1 since it was opened."""
    t_us: int
    """The time in table microseconds."""


class Level(NamedTuple):
    """A line's level when it was read."""

    line: int
    active: bool
    t_us: int


class ReadLevel(NamedTuple):
    """Order: report this line's level."""

    line: int


class Set(NamedTuple):
    """Order: switch an output."""

    line: int
    active: bool


class Rest(NamedTuple):
    """Order: ignore a babbling line for `for_us`."""

    line: int
    for_us: int


LineEvents = tuple[Edge | Level, ...]
LineOrders = tuple[ReadLevel | Set | Rest, ...]


WALLS: tuple[Wall, ...] = ("left", "right", "front", "back")
RandomBytes = Callable[[int], bytes]
"""Return this many random bytes (`os.urandom`): for the nonces of a handshake, never for an outcome."""
Data_contra = TypeVar("Data_contra", contravariant=True)
Output_co = TypeVar("Output_co", covariant=True)


@runtime_checkable
class Device(Protocol[Data_contra, Output_co]):
    """One device of a table. Times are table microseconds; every call returns the readings it made.

    Its link passes it bytes, or events of GPIO lines; it returns bytes, or orders to lines.
    """

    name: str

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: a device is down until it reports."""
        ...

    def opened(self, now_us: int) -> list[AnyReading]:
        """Handle its link's opening."""
        ...

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle its link's closing: the fault, and what was seen."""
        ...

    def overflowed(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle the loss of `lost` bytes or edges, discarded because the table was busy."""
        ...

    def receive(self, now_us: int, data: Data_contra) -> list[AnyReading]:
        """Handle what its link stamped at `now_us`."""
        ...

    def tick(self, now_us: int) -> list[AnyReading]:
        """Handle what is due by now."""
        ...

    def next_deadline(self) -> int | None:
        """Return when `tick` has something to do."""
        ...

    def take_output(self) -> Output_co:
        """Return what is to be sent now; each piece is returned once."""
        ...

    def take_reopen(self) -> bool:
        """Return, once, whether the link should be reopened."""
        ...

    def status(self) -> Mapping[str, object]:
        """Return its state for a technician: identity, figures, what is wrong."""
        ...


AnyDevice = Device[Any, Any]
"""A device of any type; only it interprets what its link passes to it."""
Neighbours = Mapping[str, tables.DeclaredDevice]
"""The devices of a table's file by name."""


def _no_claims(_settings: object) -> Iterable[Claim]:
    return ()


def _as_written(_name: str, settings: Any, _devices: Neighbours) -> Any:
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceType:
    """One type of device: all that the table's program needs to know of it.

    The settings that its functions take are of the class `settings`, a frozen dataclass; if it has `key` and
    `key_file`, the key may be in a file of its own.
    """

    name: str
    """Its name in a table's file."""
    title: str
    settings: type
    make: Callable[
        [str, Any, RandomBytes], AnyDevice
    ]  # Any, here and below: each type takes its own settings
    """Creates the device from its name at the table and its settings."""
    address: Callable[[Any], Address]
    """Return its port's address."""
    reported_devices: Callable[[str, Any], Iterable[ReportedDevice]]
    """Return the devices of the table whose readings one with this name sends, and their kinds."""
    claims: Callable[[Any], Iterable[Claim]] = _no_claims
    """Return what no second device may share, apart from the port."""
    causes: Causes = field(default_factory=lambda: TROUBLES)
    """Its possible faults: the codes of its `device_down` and `device_fault`, and what to do."""
    calibrated_camera: bool = False
    """A camera that reports pixels; its settings are `CalibratedSettings`, by which they are mapped to the
    table, and `tablectl calibrate camera` measures the mapping.
    """
    mounted: Callable[[str, Any, Neighbours], Any] = _as_written
    """Return its settings completed with those that the file gives for the devices that it speaks for."""


def wall_in(fields: Mapping[str, object]) -> Wall | None:
    """Return the wall that a sensor's fixed fields name."""
    return next((wall for wall in WALLS if fields.get("wall") == wall), None)
