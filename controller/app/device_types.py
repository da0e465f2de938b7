"""The types of hardware that a table's file may name, and the devices created from the file.

Because `controller.settings` must not import drivers, this module passes each type's settings, checks and
claims from the registry of `drivers` to `controller.settings`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from controller.app.faults import ActiveFaults
from controller.app.hardware import Hardware, KeyedSettings, KeyFileError, KeyFiles, key_in
from controller.model.tables import DeclaredDevice, ReportedDevice, ResourceClaim, TableSettings
from controller.settings.devices import DeviceKind, DeviceMistake
from controller.settings.places import config_file
from controller.settings.tables import load_table
from drivers.device import AnyDevice, DeviceType, EdgeLines, LineSetup, PanelLines, StreamAddress
from drivers.link.link import AnyPort, PortError
from drivers.link.ports import PortNameError, check_hardware, check_port_name, port_at
from drivers.link.station import Station
from drivers.registry import DEVICE_MODULES, device_type


@dataclass(frozen=True)
class Kind(DeviceKind):
    """One type of hardware; with `here`, settings are also checked against this machine."""

    name: str
    here: bool

    @cached_property
    def family(self) -> DeviceType:
        """The type's definition in the registry of `drivers`."""
        return device_type(self.name)

    @property
    def settings(self) -> type:
        """The dataclass of the type's settings."""
        return self.family.settings

    def reported_devices(self, name: str, settings: object) -> Iterable[ReportedDevice]:
        """Return the devices of the table for which a device with this name sends readings."""
        return self.family.reported_devices(name, settings)

    def claims(self, settings: object) -> Iterator[ResourceClaim]:
        """Yield the resources that no other device may use."""
        match self.family.address(settings):
            case StreamAddress(name=name):
                yield ResourceClaim(("port",), name)
            case EdgeLines(inputs=inputs):
                yield from _lines("inputs", inputs)
            case PanelLines(inputs=inputs, outputs=outputs):
                yield from _lines("inputs", inputs)
                yield from _lines("outputs", outputs)
        yield from self.family.claims(settings)

    def mistakes(self, settings: object, folder: Path) -> Iterator[DeviceMistake]:
        """Yield the mistakes: a port name that is not permanent, a missing library or an invalid key."""
        address = self.family.address(settings)
        if isinstance(address, StreamAddress):
            yield from _port_mistakes(address.name)
        elif self.here:
            try:
                check_hardware(address)
            except PortError as error:
                expected = "a machine with the `hardware` extra installed"
                yield DeviceMistake(
                    ("chip",), f"{address.chip} ({error})", expected, f"see docs/devices/{self.name}.md"
                )
        if isinstance(settings, KeyedSettings):
            yield from _key_mistakes(settings, folder, here=self.here)


class Kinds(Mapping[str, DeviceKind]):
    """Every type of hardware by its name; with `here`, settings are checked against this machine."""

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


def _lines(section: str, lines: Mapping[str, LineSetup]) -> Iterator[ResourceClaim]:
    for key, setup in lines.items():
        yield ResourceClaim((section, key, "line"), f"GPIO{setup.line}")


def _port_mistakes(port: str) -> Iterator[DeviceMistake]:
    try:
        check_port_name(port)
    except PortNameError as error:
        yield DeviceMistake(("port",), error.found, error.expected, error.hint)


def _key_mistakes(settings: KeyedSettings, folder: Path, *, here: bool) -> Iterator[DeviceMistake]:
    if settings.key and settings.key_file:
        yield DeviceMistake(
            ("key_file",),
            "both `key` and `key_file`",
            "only `key_file`",
            "keep the key in the file, and delete `key`",
        )
    elif settings.key_file and here:
        try:
            key_in(folder / settings.key_file)
        except KeyFileError as error:
            yield DeviceMistake(("key_file",), error.found, error.expected, error.hint)


def load_with_hardware(name: str) -> TableSettings:
    """Return a table's settings, including those of its hardware.

    Raises SettingsError with every mistake, including files and libraries missing on this machine.
    """
    settings = load_table(name, kinds=Kinds(here=True))
    folder = config_file("tables", name).parent
    joined = {dev: _join_settings(dev, settings.devices, folder) for dev in settings.devices}
    return replace(settings, devices=joined)


Pairs = Sequence[tuple[AnyDevice, AnyPort]]


def hardware_of(
    settings: TableSettings,
    now_us: Callable[[], int],
    station: Callable[[Pairs], Station] | None = None,
    *,
    quiet: bool = False,
    faults: ActiveFaults | None = None,
) -> Hardware:
    """Return a table's devices with their links, not started yet.

    `now_us` is the clock of the readings; with GPIO lines, it must be the machine's monotonic clock.
    `station` replaces the default station. `quiet` devices light no lamp and sound no buzzer. A reading that
    a device is not set up to send is reported to `faults`.
    """
    typed = {name: device for name, device in settings.devices.items() if device.settings is not None}
    types = {name: device_type(device.type) for name, device in typed.items()}
    pairs = [
        (types[name].make(name, device.settings, os.urandom), port_at(types[name].address(device.settings)))
        for name, device in typed.items()
    ]
    joined = (
        Station(pairs, now_us=now_us, random_fraction=_random_fraction) if station is None else station(pairs)
    )
    return Hardware(
        joined,
        {name: device.type for name, device in typed.items()},
        quiet=quiet,
        reads=_reads_of(settings, types),
        faults=faults,
        keys=KeyFiles({name: device.settings for name, device in typed.items()}),
    )


def _reads_of(settings: TableSettings, types: Mapping[str, DeviceType]) -> Mapping[str, frozenset[str]]:
    """Return the kinds of readings that each device may send, as defined by its type and the table's file."""
    reads = {name: frozenset[str](device.reads) for name, device in settings.devices.items()}
    for name, type_ in types.items():
        for reported in type_.reported_devices(name, settings.devices[name].settings):
            reads[reported.dev] = reads.get(reported.dev, frozenset()) | frozenset(reported.kinds or ())
    return reads


def _random_fraction() -> float:
    """Return a number in the range [0, 1) that spreads the ports' retries; it affects no outcome."""
    return int.from_bytes(os.urandom(4)) / 2**32


def _join_settings(name: str, devices: Mapping[str, DeclaredDevice], folder: Path) -> DeclaredDevice:
    """Return a device with its key and with the settings of the devices for which it sends readings."""
    device = devices[name]
    settings: Any = device.settings  # a dataclass that depends on the type
    if settings is None:
        return device
    if isinstance(settings, KeyedSettings) and settings.key_file:
        file = folder / settings.key_file
        settings = replace(device.settings, key=key_in(file), key_file=str(file))  # type: ignore[type-var]  # a dataclass, as every device type's settings are
    return replace(device, settings=device_type(device.type).mounted(name, settings, devices))
