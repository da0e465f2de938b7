"""The kinds of hardware that a table's file may name, as its settings need to know them.

`controller.settings` knows no driver: what it asks of each kind is answered here by the type's own value in
the registry of `drivers`, and by the kind of port that it hangs on.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

from controller.app.keys import KeyFileError, key_in
from controller.model.tables import Claim, Speaks
from controller.settings.devices import DeviceKind, Wrong
from drivers.device import DeviceType
from drivers.link.checks import PortNameError, check_hardware, check_port_name
from drivers.link.link import PortError
from drivers.registry import DEVICE_MODULES, device_type
from drivers.wiring import EdgeLines, LineSetup, PanelLines, StreamAddress


@runtime_checkable
class Keyed(Protocol):
    """Settings whose key may stand in a file of its own, so that the table's file holds no secret."""

    key: str
    key_file: str


@dataclass(frozen=True)
class Kind(DeviceKind):
    """One kind; with `here` its settings are compared with what this machine has."""

    name: str
    here: bool

    @cached_property
    def family(self) -> DeviceType:
        """Return the type as its family describes it."""
        return device_type(self.name)

    @property
    def settings(self) -> type:
        """Return the dataclass of its settings."""
        return self.family.settings

    def speaks(self, name: str, settings: object) -> Iterable[Speaks]:
        """Return for which devices of the table one of this name speaks."""
        return self.family.speaks(name, settings)

    def claims(self, settings: object) -> Iterator[Claim]:
        """Return what it has for itself alone."""
        match self.family.address(settings):
            case StreamAddress(name=name):
                yield Claim(("port",), name)
            case EdgeLines(inputs=inputs):
                yield from _lines("inputs", inputs)
            case PanelLines(inputs=inputs, outputs=outputs):
                yield from _lines("inputs", inputs)
                yield from _lines("outputs", outputs)
        yield from self.family.claims(settings)

    def wrong(self, settings: object, folder: Path) -> Iterator[Wrong]:
        """Find ports whose names may mean another device tomorrow, and what this machine does not have."""
        address = self.family.address(settings)
        if isinstance(address, StreamAddress):
            yield from _port_mistakes(address.name)
        elif self.here:
            try:
                check_hardware(address)
            except PortError as error:
                expected = "a chip of this machine, with the hardware extra installed"
                yield Wrong(("chip",), f"{address.chip} ({error})", expected, f"docs/devices/{self.name}.md")
        if isinstance(settings, Keyed):
            yield from _key_mistakes(settings, folder, here=self.here)


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


def _lines(section: str, lines: Mapping[str, LineSetup]) -> Iterator[Claim]:
    for key, setup in lines.items():
        yield Claim((section, key, "line"), f"GPIO{setup.line}")


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


def _key_mistakes(settings: Keyed, folder: Path, *, here: bool) -> Iterator[Wrong]:
    if settings.key and settings.key_file:
        yield Wrong(("key_file",), "a key beside it", "key or key_file", "keep the file, delete the key")
    elif settings.key_file and here:
        try:
            key_in(folder / settings.key_file)
        except KeyFileError as error:
            yield Wrong(("key_file",), error.found, error.expected, error.hint)
