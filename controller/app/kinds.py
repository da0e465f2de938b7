"""The kinds of hardware that a table's file may name, as its settings need to know them.

`controller.settings` knows no driver: what is asked of each kind is answered here, where both are joined.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.app.keys import KeyFileError, key_in
from controller.model.readings import Wall
from controller.model.tables import DeviceReading
from controller.settings.devices import Claim, DeviceKind, Speaks, Wrong
from drivers.cameras.jevois import JevoisSettings
from drivers.gpio.settings import BeamsSettings, PanelSettings, TimedInput
from drivers.link.gpio_ports import check_hardware
from drivers.link.link import PortError
from drivers.link.port_names import PortNameError, check_port_name
from drivers.node.device import NodeSettings
from drivers.registry import DEVICE_MODULES, device_type
from drivers.shoe.device import ShoeSettings
from drivers.ss2.device import Ss2Settings

WALLS: tuple[Wall, ...] = ("left", "right", "front", "back")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedNodeSettings(NodeSettings):
    """A node whose key may stand in a file of its own, so that the table's file holds no secret."""

    key_file: str = ""
    """A file with the node's key, seen from this file, instead of `key`; only the service may read it."""


@dataclass(frozen=True, slots=True)
class Kind(DeviceKind):
    """One kind; with `here` its settings are compared with what this machine has."""

    name: str
    here: bool

    @property
    def settings(self) -> type:
        """Give the dataclass of its settings."""
        return KeyedNodeSettings if self.name == "node" else device_type(self.name).settings

    def speaks(self, name: str, settings: object) -> Iterator[Speaks]:
        """Tell for which devices of the table one of this name speaks."""
        match settings:
            case NodeSettings(channels=channels) if channels:
                for number, channel in channels.items():
                    at = ("channels", str(number), "dev")
                    yield Speaks(at, channel.dev, wall=_wall_in(channel.fields))
            case Ss2Settings():
                yield Speaks((), name, ("wheel_status",))
            case JevoisSettings():
                yield Speaks((), name, ("die_at", "die_rest", "die_lost"))
            case ShoeSettings(lid_open=lid):
                yield Speaks((), name, ("card", "switch") if lid else ("card",))
            case BeamsSettings(inputs=inputs):
                yield from _of_beams(name, inputs)
            case PanelSettings(inputs=inputs):
                yield Speaks((), name, tuple(dict.fromkeys(read.kind for read in inputs.values())))
            case _:
                yield Speaks((), name)

    def claims(self, settings: object) -> Iterator[Claim]:
        """Tell what it has for itself alone."""
        if isinstance(port := getattr(settings, "port", None), str):
            yield Claim(("port",), port)
        if isinstance(settings, NodeSettings):
            yield Claim(("node",), f"node {settings.node}")
        if isinstance(settings, BeamsSettings | PanelSettings):
            for key, read in settings.inputs.items():
                yield Claim(("inputs", key, "line"), f"GPIO{read.line}")
        if isinstance(settings, PanelSettings):
            for key, lit in settings.outputs.items():
                yield Claim(("outputs", key, "line"), f"GPIO{lit.line}")

    def wrong(self, settings: object, folder: Path) -> Iterator[Wrong]:
        """Find ports whose names may mean another device tomorrow, and what this machine does not have."""
        if isinstance(port := getattr(settings, "port", None), str):
            yield from _port_mistakes(port)
        if isinstance(settings, KeyedNodeSettings):
            yield from _key_mistakes(settings, folder, here=self.here)
        if self.here and isinstance(settings, BeamsSettings | PanelSettings):
            try:
                check_hardware(settings)
            except PortError as error:
                expected = "a chip of this machine, with the hardware extra installed"
                yield Wrong(("chip",), f"{settings.chip} ({error})", expected, "docs/devices/gpio-panel.md")


class Kinds(Mapping[str, DeviceKind]):
    """Every kind by its word; `here` asks this machine as well whether it has the hardware."""

    def __init__(self, *, here: bool = False) -> None:
        self._here = here

    def __getitem__(self, name: str) -> DeviceKind:
        if name not in DEVICE_MODULES:
            raise KeyError(name)
        return Kind(name, self._here)

    def __iter__(self) -> Iterator[str]:
        return iter(DEVICE_MODULES)

    def __len__(self) -> int:
        return len(DEVICE_MODULES)


def _of_beams(name: str, inputs: Mapping[str, TimedInput]) -> Iterator[Speaks]:
    for key, timed in inputs.items():
        kinds: tuple[DeviceReading, ...] = () if timed.kind == "rotor_phase" else (timed.kind,)
        at = ("inputs", key, "dev") if timed.dev else ()
        yield Speaks(at, timed.dev or name, kinds, _wall_in(timed.fields))


def _wall_in(fields: Mapping[str, object]) -> Wall | None:
    return next((wall for wall in WALLS if fields.get("wall") == wall), None)


def _port_mistakes(port: str) -> Iterator[Wrong]:
    try:
        check_port_name(port)
    except PortNameError as error:
        found, _, rest = str(error).removeprefix("found ").partition(", ")
        why, _, instead = rest.partition("; ")
        expected = why.removeprefix("expected ") if why.startswith("expected ") else "a name that stays"
        why = why.replace("which is", "it is").replace("whose chip", "its chip")
        hint = instead if why.startswith("expected ") else f"{why}; {instead}"
        yield Wrong(("port",), found, expected, hint)


def _key_mistakes(settings: KeyedNodeSettings, folder: Path, *, here: bool) -> Iterator[Wrong]:
    if settings.key and settings.key_file:
        yield Wrong(("key_file",), "a key beside it", "key or key_file", "keep the file, delete the key")
    elif settings.key_file and here:
        try:
            key_in(folder / settings.key_file)
        except KeyFileError as error:
            yield Wrong(("key_file",), error.found, error.expected, error.hint)
