"""Join a table's file to its hardware: devices and ports of its settings, behind one station."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from controller.app.hardware import Hardware
from controller.app.keys import key_in
from controller.app.kinds import Keyed, Kinds
from controller.model.tables import Device, TableSettings
from controller.settings.places import config_file
from controller.settings.tables import load_table
from drivers.device import AnyDevice
from drivers.link.link import AnyPort
from drivers.link.ports import port_at
from drivers.link.station import Station
from drivers.registry import device_type


def load_with_hardware(name: str) -> TableSettings:
    """Load a table with its hardware's settings.

    Raises SettingsError with every mistake, also in what this machine lacks.
    """
    settings = load_table(name, kinds=Kinds(here=True))
    folder = config_file("tables", name).parent
    joined = {dev: _joined(dev, settings.devices, folder) for dev in settings.devices}
    return replace(settings, devices=joined)


Pairs = Sequence[tuple[AnyDevice, AnyPort]]
"""Devices, each with its port."""


def hardware_of(
    settings: TableSettings, now_us: Callable[[], int], station: Callable[[Pairs], Station] | None = None
) -> Hardware:
    """Make the devices of a table with their links, not started yet.

    Times are those of `now_us`, which must be the machine's monotonic clock where edges of GPIO lines count.
    `station` is what they stand in, where it is not the usual one.
    """
    typed = {name: device for name, device in settings.devices.items() if device.settings is not None}
    types = {name: device_type(device.type) for name, device in typed.items()}
    pairs = [
        (types[name].make(name, device.settings, os.urandom), port_at(types[name].address(device.settings)))
        for name, device in typed.items()
    ]
    joined = Station(pairs, now_us=now_us, chance=_chance) if station is None else station(pairs)
    return Hardware(joined, {name: device.type for name, device in typed.items()})


def _chance() -> float:
    """Spread the times at which ports are tried again; it has no part in any outcome."""
    return int.from_bytes(os.urandom(4)) / 2**32


def _joined(name: str, devices: Mapping[str, Device], folder: Path) -> Device:
    """Return a device with its key, and with what the file says elsewhere of those that it speaks for."""
    device = devices[name]
    settings: Any = device.settings  # each kind has its own
    if settings is None:
        return device
    if isinstance(settings, Keyed) and settings.key_file:
        key = key_in(folder / settings.key_file)
        settings = replace(device.settings, key=key, key_file="")  # type: ignore[type-var]  # a dataclass: shape_of
    return replace(device, settings=device_type(device.type).mounted(name, settings, devices))
