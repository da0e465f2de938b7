"""The kernel's GPIO lines through gpiod: the one module that imports it."""

import os
from glob import glob

import gpiod
from gpiod.line import Bias, Clock, Direction, Edge, Value

from drivers.device import InputSetup
from drivers.link.gpio_edges import Chip, KernelEdge, code_of
from drivers.link.link import PortError

CONSUMER = "table-controller"
EVENT_BUFFER = 1024
"""The most edges kept by the kernel for a request. Its default is 16 per line; beyond that the oldest are
dropped."""
_LEVEL = {True: Value.ACTIVE, False: Value.INACTIVE}
_BIAS = {"up": Bias.PULL_UP, "down": Bias.PULL_DOWN, "none": Bias.DISABLED}


def chips_of_machine() -> list[Chip]:
    """Return the machine's chips; names that lead to the same one count once. Raises PortError."""
    found: list[Chip] = []
    refused: OSError | None = None
    for path in sorted({os.path.realpath(path) for path in glob("/dev/gpiochip*")}):
        try:
            with gpiod.Chip(path) as chip:
                found.append(Chip(path, chip.get_info().label))
        except OSError as error:
            refused = error
    if refused is not None and not found:
        raise PortError(code_of(refused), f"/dev/gpiochip*: {refused.strerror}") from refused
    return found


def holder_of(chip: Chip, line: int) -> str:
    """Return a line's consumer as the kernel names it; empty if it is free or can't be read."""
    try:
        with gpiod.Chip(chip.path) as opened:
            info = opened.get_line_info(line)
    except (OSError, ValueError):
        return ""
    return (info.consumer or "the kernel") if info.used else ""


class GpiodLine:
    """A separate request for one line, so that a babbling line can't push another's edges out of the
    buffer."""

    def __init__(self, request: gpiod.LineRequest, line: int) -> None:
        """Wrap a request of one line."""
        self._request = request
        self._line = line

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._request.fd

    def read_edges(self) -> list[KernelEdge]:
        """Return the edges that the kernel holds; there must be at least one."""
        rising = gpiod.EdgeEvent.Type.RISING_EDGE
        events = self._request.read_edge_events(EVENT_BUFFER)
        return [KernelEdge(e.event_type is rising, e.timestamp_ns, e.line_seqno) for e in events]

    def is_active(self) -> bool:
        """Read the line."""
        return bool(self._request.get_value(self._line))

    def release(self) -> None:
        """Release the line."""
        self._request.release()


class GpiodOutput:
    """One output line's request."""

    def __init__(self, request: gpiod.LineRequest, line: int) -> None:
        """Wrap a request of one line."""
        self._request = request
        self._line = line

    def is_high(self) -> bool:
        """Read the line."""
        return self._request.get_value(self._line) is Value.ACTIVE

    def drive(self, high: bool) -> None:
        """Make the line high or low."""
        self._request.set_value(self._line, _LEVEL[high])

    def release(self) -> None:
        """Release the line."""
        self._request.release()


def request_output(chip: Chip, line: int, high: bool) -> GpiodOutput:
    """Ask the kernel for an output, high or low from its first moment on.

    Raises OSError, and ValueError for a line that the chip does not have.
    """
    settings = gpiod.LineSettings(direction=Direction.OUTPUT, output_value=_LEVEL[high])
    with gpiod.Chip(chip.path) as opened:
        return GpiodOutput(opened.request_lines({line: settings}, consumer=CONSUMER), line)


def request_line(chip: Chip, setup: InputSetup) -> GpiodLine:
    """Ask the kernel for both edges of a line, stamped by the monotonic clock.

    Without the kernel's own debounce: it would move the stamps. Raises OSError, and ValueError for a line
    that the chip does not have.
    """
    settings = gpiod.LineSettings(
        direction=Direction.INPUT,
        edge_detection=Edge.BOTH,
        bias=_BIAS[setup.pull],
        active_low=setup.active_low,
        event_clock=Clock.MONOTONIC,
    )
    with gpiod.Chip(chip.path) as opened:
        request = opened.request_lines(
            {setup.line: settings}, consumer=CONSUMER, event_buffer_size=EVENT_BUFFER
        )
    return GpiodLine(request, setup.line)
