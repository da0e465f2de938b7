"""A panel's port: contacts as kernel edge events, lamps and buzzer as gpiozero outputs.

The module does not use gpiozero's pin factories. Each factory either polls or supports only one board, and
gpiozero falls back from one to the next with only a warning. Instead, outputs are requested from the kernel
as lines of the chip named in the table's file. Closing the port releases them, so a chip that has disappeared
can be opened again when it returns.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

import gpiozero

from drivers.device import InputSetup, LineCommands, LineSetup, SetOutput
from drivers.link.gpio_edges import Chip, Chips, EdgePort, Holder, RequestLine, TableTime


class OutputLine(Protocol):
    """One requested output line."""

    def is_high(self) -> bool:
        """Read the line. Raises OSError."""
        ...

    def drive(self, high: bool) -> None:
        """Drive the line high or low. Raises OSError."""
        ...

    def release(self) -> None:
        """Release the line."""
        ...


RequestOutput = Callable[[Chip, int, bool], OutputLine]
"""Requests a line of a chip as an output, initially high or low. Raises OSError or ValueError."""


class _Number(NamedTuple):
    """The pin information that gpiozero requires."""

    name: str


class ChipPin(gpiozero.Pin):  # type: ignore[misc]  # gpiozero has no types
    """One output line as a gpiozero pin. gpiozero always calls `output_with_state` first."""

    def __init__(self, chip: Chip, line: int, request: RequestOutput) -> None:
        """Store the line's number; `output_with_state` requests the line."""
        self._chip = chip
        self._number = line
        self._request = request
        self._line: OutputLine | None = None

    def output_with_state(self, state: bool) -> None:
        """Request the line as an output with this level."""
        self._line = self._request(self._chip, self._number, bool(state))

    def close(self) -> None:
        """Release the line."""
        line, self._line = self._line, None
        if line is not None:
            line.release()

    def _get_info(self) -> _Number:
        return _Number(f"GPIO{self._number}")

    def _get_function(self) -> str:
        return "output"

    def _get_state(self) -> bool:
        assert self._line is not None
        return self._line.is_high()

    def _set_state(self, value: bool) -> None:
        assert self._line is not None
        self._line.drive(bool(value))


class ChipPins(gpiozero.Factory):  # type: ignore[misc]  # as above
    """A gpiozero pin factory for one chip's lines."""

    def __init__(self, chip: Chip, request: RequestOutput) -> None:
        super().__init__()
        self._chip = chip
        self._request = request

    def reserve_pins(self, requester: object, *names: object) -> None:
        """Do nothing; the kernel reserves each requested line and refuses a line that is in use."""

    def release_pins(self, reserver: object, *names: object) -> None:
        """Do nothing; `ChipPin.close` releases the line."""

    def pin(self, name: int) -> ChipPin:
        """Return the pin with this number."""
        return ChipPin(self._chip, name, self._request)


class PanelPort(EdgePort):
    """A panel's inputs and outputs on one chip."""

    def __init__(
        self,
        label: str,
        inputs: Mapping[str, InputSetup],
        outputs: Mapping[str, LineSetup],
        *,
        chips: Chips,
        request: RequestLine,
        request_output: RequestOutput,
        holder: Holder,
        table_us: TableTime,
        clock_ns: Callable[[], int],
    ) -> None:
        """Prepare the port without opening it. `clock_ns` is the kernel's monotonic clock."""
        super().__init__(
            label, inputs, chips=chips, request=request, holder=holder, table_us=table_us, clock_ns=clock_ns
        )
        self._outputs = outputs
        self._request_output = request_output
        self._lamps: dict[int, Any] = {}

    def write(self, commands: LineCommands) -> None:
        """Carry out commands to switch outputs, and to read or mute contacts. Raises PortError."""
        for command in commands:
            if isinstance(command, SetOutput):
                lamp = self._lamps[command.line]
                self._as_port_error(lamp.on if command.active else lamp.off)
        super().write(commands)

    def close(self) -> None:
        """Switch the outputs off and release all lines."""
        lamps = list(self._lamps.values())
        self._lamps.clear()
        for lamp in lamps:
            with suppress(OSError):
                lamp.off()
            with suppress(OSError):
                lamp.close()
        super().close()

    def _request_lines(self, chip: Chip) -> None:
        super()._request_lines(chip)
        pins = ChipPins(chip, self._request_output)
        for name, output in self._outputs.items():
            self._lamps[output.line] = self._request_named(
                chip,
                name,
                output.line,
                partial(
                    gpiozero.DigitalOutputDevice,
                    output.line,
                    active_high=not output.active_low,
                    pin_factory=pins,
                ),
            )
