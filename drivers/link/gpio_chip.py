"""The GPIO chip, found by its label: its number changes with the kernel."""

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from drivers.link.link import PortError


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
class Chip:
    """One GPIO chip of the machine."""

    path: str
    label: str

    @property
    def number(self) -> int:
        """Give N of /dev/gpiochipN, which is what lgpio asks for."""
        return int(self.path.removeprefix("/dev/gpiochip"))


Chips = Callable[[], Iterable[Chip]]
Holder = Callable[[Chip, int], str]
"""Name who has a line; empty where nobody has it or it can't be told."""


def find_chip(label: str, chips: Chips) -> Chip:
    """Give the one chip of this label. Raises PortError with what is there instead."""
    found = list(chips())
    matching = [chip for chip in found if chip.label == label]
    if len(matching) == 1:
        return matching[0]
    there = ", ".join(f"{chip.path} [{chip.label}]" for chip in found) or "no GPIO chip that can be opened"
    raise PortError("no_chip", f"expected one chip with the label {label}, found {there}")


def busy(chip: Chip, line: int, name: str, holder: Holder) -> PortError:
    """Say that a line is taken, and by whom where that is known."""
    by = holder(chip, line)
    held = f"is held by {by}" if by else "is held by somebody who gives no name"
    return PortError("line_busy", f"{name}: GPIO{line} of {chip.path} {held}")


def code_of(error: OSError) -> str:
    """Give the trouble's code for an error of the operating system."""
    match error.errno:
        case errno.EBUSY:
            return "line_busy"
        case errno.EACCES | errno.EPERM:
            return "no_permission"
        case errno.ENOENT | errno.ENXIO | errno.ENODEV:
            return "no_chip"
        case errno.EINVAL:
            return "no_line"
        case _:
            return "port_fault"
