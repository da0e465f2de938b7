"""Access to the kernel's GPIO lines. No other module imports gpiod."""

import os
from glob import glob

import gpiod
from gpiod.line import Bias, Clock, Direction, Edge, Value

from drivers.device import InputSetup
from drivers.link.gpio_edges import Chip, KernelEdge, fault_code
from drivers.link.link import PortError

CONSUMER = "table-controller"
EVENT_BUFFER = 1024
"""Number of edges that the kernel buffers per request. When the buffer is full, the kernel drops the oldest
edge. The kernel's default is 16 per line."""
_LEVEL = {True: Value.ACTIVE, False: Value.INACTIVE}
_BIAS = {"up": Bias.PULL_UP, "down": Bias.PULL_DOWN, "none": Bias.DISABLED}


def list_chips() -> list[Chip]:
    """Return the accessible GPIO chips, each only once even if several names refer to it.

    Raises:
        PortError: If there are chips but none can be opened.
    """
    found: list[Chip] = []
    refused: OSError | None = None
    for path in sorted({os.path.realpath(path) for path in glob("/dev/gpiochip*")}):
        try:
            with gpiod.Chip(path) as chip:
                found.append(Chip(path, chip.get_info().label))
        except OSError as error:
            refused = error
    if refused is not None and not found:
        raise PortError(fault_code(refused), f"/dev/gpiochip*: {refused.strerror}") from refused
    return found


def find_holder(chip: Chip, line: int) -> str:
    """Return the consumer that the kernel reports for a line; empty if the line is free or unreadable."""
    try:
        with gpiod.Chip(chip.path) as opened:
            info = opened.get_line_info(line)
    except (OSError, ValueError):
        return ""
    return (info.consumer or "the kernel") if info.used else ""


class GpiodLine:
    """A request for one input line.

    Each line has a separate request, so a babbling line cannot displace another line's edges in the buffer.
    """

    def __init__(self, request: gpiod.LineRequest, line: int) -> None:
        self._request = request
        self._line = line

    def fileno(self) -> int:
        """Return the file descriptor to wait on."""
        return self._request.fd

    def read_edges(self) -> list[KernelEdge]:
        """Return the edges that the kernel has buffered; block if there are none."""
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
    """A request for one output line."""

    def __init__(self, request: gpiod.LineRequest, line: int) -> None:
        self._request = request
        self._line = line

    def is_high(self) -> bool:
        """Read the line."""
        return self._request.get_value(self._line) is Value.ACTIVE

    def drive(self, high: bool) -> None:
        """Drive the line high or low."""
        self._request.set_value(self._line, _LEVEL[high])

    def release(self) -> None:
        """Release the line."""
        self._request.release()


def request_output(chip: Chip, line: int, high: bool) -> GpiodOutput:
    """Request an output from the kernel, initially high or low.

    Raises:
        OSError: If the kernel refuses the request.
        ValueError: If the chip has no such line.
    """
    settings = gpiod.LineSettings(direction=Direction.OUTPUT, output_value=_LEVEL[high])
    with gpiod.Chip(chip.path) as opened:
        return GpiodOutput(opened.request_lines({line: settings}, consumer=CONSUMER), line)


def request_line(chip: Chip, setup: InputSetup) -> GpiodLine:
    """Request both edges of an input from the kernel, timestamped with the monotonic clock.

    The kernel's debouncing is not used, because it would shift the timestamps.

    Raises:
        OSError: If the kernel refuses the request.
        ValueError: If the chip has no such line.
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
