"""How a device is reached, as data: the address of its port, and what goes over lines of a GPIO chip.

A device's type says where its port is; `drivers.link` alone opens it. Over a serial port, a socket or a pipe
go bytes. Over GPIO lines go events (edges and levels in, orders out), each with the kernel's own stamp.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class LineSetup(Protocol):
    """How a line is wired."""

    @property
    def line(self) -> int:
        """Its number on the chip."""
        ...

    @property
    def active_low(self) -> bool:
        """Whether it is active where its voltage is low."""
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
    """Inputs of a chip whose timing decides: through the kernel's edge events."""

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
    """When, in table microseconds."""


class Level(NamedTuple):
    """What a line was when it was looked at."""

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
