"""A port that delivers the edge events of GPIO lines, with the kernel's timestamps.

A chip is found by its label because its number depends on the kernel.
"""

import errno
import os
import select
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from drivers.device import Edge, InputSetup, Level, LineCommands, LineEvents, MuteLine, ReadLevel
from drivers.link.link import PortError


@dataclass(frozen=True, slots=True)
class Chip:
    """A GPIO chip."""

    path: str
    label: str


Chips = Callable[[], Iterable[Chip]]
Holder = Callable[[Chip, int], str]
"""Returns the name of the program or driver that uses a line; empty if the line is free or unreadable."""


def find_chip(label: str, chips: Chips) -> Chip:
    """Return the chip with this label.

    Raises:
        PortError: Unless exactly one chip has this label. The message lists all chips.
    """
    found = list(chips())
    matching = [chip for chip in found if chip.label == label]
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(f"{chip.path} [{chip.label}]" for chip in found) or "no GPIO chip that can be opened"
    raise PortError("no_chip", f"expected one chip with the label {label}, found {listed}")


def line_busy_error(chip: Chip, line: int, name: str, holder: Holder) -> PortError:
    """Return the error for a line in use, with the name of the program that uses the line."""
    user = holder(chip, line) or "an unnamed program"
    return PortError("line_busy", f"{name}: GPIO{line} of {chip.path} is in use by {user}")


def fault_code(error: OSError) -> str:
    """Return the fault code for an operating-system error."""
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


T = TypeVar("T")


class KernelEdge(NamedTuple):
    """An edge event from the kernel: the new state, the timestamp, and the edge's number on its line."""

    active: bool
    t_ns: int
    seq: int


class LineRequest(Protocol):
    """One requested line."""

    def fileno(self) -> int:
        """Return the file descriptor that is readable while edges are waiting."""
        ...

    def read_edges(self) -> list[KernelEdge]:
        """Return the waiting edges; block if there are none. Raises OSError."""
        ...

    def is_active(self) -> bool:
        """Read the line. Raises OSError."""
        ...

    def release(self) -> None:
        """Release the line."""
        ...


RequestLine = Callable[[Chip, InputSetup], LineRequest]
TableTime = Callable[[int], int]
"""Converts nanoseconds of the kernel's monotonic clock to table microseconds."""


class EdgePort:
    """A port for input lines of one chip."""

    def __init__(
        self,
        label: str,
        inputs: Mapping[str, InputSetup],
        *,
        chips: Chips,
        request: RequestLine,
        holder: Holder,
        table_us: TableTime,
        clock_ns: Callable[[], int],
    ) -> None:
        """Prepare the port without opening it. `clock_ns` is the kernel's monotonic clock."""
        self._label = label
        self._inputs = inputs
        self._chips = chips
        self._request = request
        self._holder = holder
        self._table_us = table_us
        self._clock_ns = clock_ns
        self._waker = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._close_waker = weakref.finalize(self, os.close, self._waker)
        self._poll = select.poll()
        self._lines: dict[int, LineRequest] = {}
        self._by_fd: dict[int, int] = {}
        self._muted_until_ns: dict[int, int] = {}
        self._answers: list[Edge | Level] = []

    def open(self) -> str:
        """Request every line. If this fails, release the requested lines and raise PortError."""
        chip = find_chip(self._label, self._chips)
        self._poll = select.poll()
        self._poll.register(self._waker, select.POLLIN)
        try:
            self._request_lines(chip)
        except PortError:
            self.close()
            raise
        return f"{chip.path} [{chip.label}]"

    def read(self) -> LineEvents:
        """Return the levels that `write` has read and any earlier edges; if there are none, wait for edges.

        Raises:
            PortError: If the kernel refuses to read a line.
        """
        if not self._answers:
            ready = {fd for fd, _ in self._poll.poll(self._wait_ms())}
            if self._waker in ready:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._waker)
            self._end_mutes()
            self._answers += self._edges([self._by_fd[fd] for fd in ready if fd in self._by_fd])
        events = tuple(self._answers)
        self._answers.clear()
        return events

    def write(self, commands: LineCommands) -> None:
        """Carry out commands to read or mute lines. Raises PortError."""
        to_read = [
            o.line for o in commands if isinstance(o, ReadLevel) and o.line not in self._muted_until_ns
        ]
        if to_read:
            # Read edges first. A level must never be reported before the edge that caused it.
            ready = [self._by_fd[fd] for fd, _ in self._poll.poll(0) if fd in self._by_fd]
            self._answers += self._edges(ready)
            for line in to_read:
                active = self._as_port_error(self._lines[line].is_active)
                self._answers.append(Level(line, active, self._table_us(self._clock_ns())))
        for command in commands:
            if isinstance(command, MuteLine) and command.line not in self._muted_until_ns:
                self._muted_until_ns[command.line] = self._clock_ns() + command.duration_us * 1000
                self._poll.unregister(self._lines[command.line].fileno())

    def wake(self) -> None:
        """Make a waiting `read` return."""
        with suppress(OSError, ValueError):  # `dispose` might have closed the event descriptor
            os.eventfd_write(self._waker, 1)

    def close(self) -> None:
        """Release the lines."""
        lines = list(self._lines.values())
        self._lines.clear()
        self._by_fd.clear()
        self._muted_until_ns.clear()
        self._answers.clear()
        for line in lines:
            with suppress(OSError):
                line.release()

    def dispose(self) -> None:
        """Close the port permanently."""
        self.close()
        self._waker = -1
        self._close_waker()

    def _request_lines(self, chip: Chip) -> None:
        for name, setup in self._inputs.items():
            line = self._request_named(chip, name, setup.line, partial(self._request, chip, setup))
            self._lines[setup.line] = line
            self._by_fd[line.fileno()] = setup.line
            self._poll.register(line.fileno(), select.POLLIN)

    def _request_named(self, chip: Chip, name: str, line: int, request: Callable[[], T]) -> T:
        """Request a line. Raises PortError with the line's name and, for a line in use, its holder."""
        try:
            return request()
        except ValueError as error:
            raise PortError("no_line", f"{name}: GPIO{line} of {chip.path}: {error}") from error
        except OSError as error:
            code = fault_code(error)
            if code == "line_busy":
                raise line_busy_error(chip, line, name, self._holder) from error
            raise PortError(code, f"{name}: GPIO{line} of {chip.path}: {error.strerror}") from error

    def _edges(self, lines: list[int]) -> list[Edge]:
        edges = [
            Edge(line, edge.active, edge.seq, self._table_us(edge.t_ns))
            for line in lines
            for edge in self._as_port_error(self._lines[line].read_edges)
        ]
        edges.sort(key=lambda edge: edge.t_us)
        return edges

    def _as_port_error(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except OSError as error:
            raise PortError("port_fault", f"{self._label}: {error.strerror}") from error

    def _wait_ms(self) -> float | None:
        if not self._muted_until_ns:
            return None
        return max(0.0, (min(self._muted_until_ns.values()) - self._clock_ns()) / 1e6)

    def _end_mutes(self) -> None:
        if not self._muted_until_ns:
            return
        now_ns = self._clock_ns()
        for line in [line for line, until_ns in self._muted_until_ns.items() if until_ns <= now_ns]:
            del self._muted_until_ns[line]
            self._poll.register(self._lines[line].fileno(), select.POLLIN)
