"""A panel of buttons, switches, lamps and a buzzer on the Pi's GPIO lines."""

from collections.abc import Iterator, Mapping

from controller.model.readings import AnyReading, Switch
from controller.model.tables import ReportedDevice
from drivers.device import DeviceType, PanelLines, RandomBytes, SetOutput
from drivers.gpio.input_line import LevelChange
from drivers.gpio.lines import GPIO_FAULTS, GpioDevice
from drivers.gpio.settings import PanelInput, PanelOutput, PanelSettings
from drivers.readings import build_reading


class PanelDevice(GpioDevice):
    """The table's buttons, switches, lamps and buzzer."""

    def __init__(self, name: str, settings: PanelSettings) -> None:
        inputs = settings.inputs
        super().__init__(
            name,
            inputs,
            devices=dict.fromkeys(inputs, name),
            stuck_us={key: 0 if read.kind == "switch" else read.stuck_us for key, read in inputs.items()},
        )
        self._reads: Mapping[str, PanelInput] = inputs
        self._outputs: Mapping[str, PanelOutput] = settings.outputs
        self._lit = dict.fromkeys(settings.outputs, False)
        self._dark_us: dict[str, int] = {}
        self._reported_open: dict[str, bool] = {}

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the lines, and set every output."""
        self._reported_open.clear()
        readings = super().on_open(now_us)
        for name in self._outputs:
            self._send(name)
        return readings

    def on_change(self, now_us: int, name: str, change: LevelChange) -> list[AnyReading]:
        """Handle a change in the state of a button or switch.

        A button press is reported only if its edge was received. A switch's new position is reported even if
        its edge was missed.
        """
        read = self._reads[name]
        if read.kind == "switch":
            is_open = change.active == (read.open_when == "active")
            if self._reported_open.get(name) == is_open:
                return []
            self._reported_open[name] = is_open
            t_us = change.t_us
            return [Switch(t=t_us, dev=self.name, name=read.name, open=is_open, arrived=now_us)]
        if not change.active or not change.exact or self.lines[name].babbling:
            return []
        fields = {"name": read.name, "by": read.by, **read.fields}
        return [build_reading("input", fields, self.name, change.t_us, now_us)]

    def show(self, now_us: int, lamp: str, shows: str) -> None:
        """Switch every output that follows this lamp according to the lamp's value."""
        for name, output in self._outputs.items():
            if output.lamp != lamp:
                continue
            self._lit[name] = _lit(output, shows)
            if self._lit[name] and output.for_ms:
                self._dark_us[name] = now_us + output.for_ms * 1000
            self._send(name)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        for name in [name for name, dark_us in self._dark_us.items() if dark_us <= now_us]:
            del self._dark_us[name]
            self._lit[name] = False
            self._send(name)
        return super().tick(now_us)

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        due = [super().next_deadline(), *self._dark_us.values()]
        return min((at for at in due if at is not None), default=None)

    def status(self) -> dict[str, object]:
        """Return the state of each line and output."""
        return {**super().status(), "lit": dict(self._lit)}

    def _send(self, name: str) -> None:
        self.queue_command(SetOutput(self._outputs[name].line, self._lit[name]))


def _lit(output: PanelOutput, shows: str) -> bool:
    lit_when = output.lit_when or (("*",) if output.dark_when else ("on",))
    return _matches(shows, lit_when) and not _matches(shows, output.dark_when)


def _matches(shows: str, words: tuple[str, ...]) -> bool:
    return any(shows.startswith(w[:-1]) if w.endswith("*") else shows == w for w in words)


def _make(name: str, settings: PanelSettings, _random_bytes: RandomBytes) -> PanelDevice:
    return PanelDevice(name, settings)


def _address(settings: PanelSettings) -> PanelLines:
    return PanelLines(settings.chip, settings.inputs, settings.outputs)


def _reported_devices(name: str, settings: PanelSettings) -> Iterator[ReportedDevice]:
    inputs = settings.inputs.values()
    switches = tuple(read.name for read in inputs if read.kind == "switch")
    yield ReportedDevice((), name, tuple(dict.fromkeys(read.kind for read in inputs)), switches=switches)


TYPE = DeviceType(
    name="gpio-panel",
    title="buttons, key, door and tamper switches, lamps and buzzer on the Pi's GPIO lines",
    settings=PanelSettings,
    make=_make,
    address=_address,
    reported_devices=_reported_devices,
    causes=GPIO_FAULTS,
)
"""The device type for the registry."""
