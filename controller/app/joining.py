"""Join a table's file to its hardware: devices and ports of its settings, behind one station."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from controller.app.hardware import Hardware
from controller.app.keys import key_in
from controller.app.kinds import KeyedNodeSettings, Kinds
from controller.model.tables import Device, TableSettings
from controller.settings.places import config_file
from controller.settings.tables import load_table
from drivers.gpio.settings import BeamsSettings, PanelSettings
from drivers.link.gpio_ports import port_for
from drivers.link.link import Port
from drivers.link.ports import port_at
from drivers.link.station import Station
from drivers.node.device import ChannelSettings, NodeSettings
from drivers.registry import Device as Driver
from drivers.registry import device_type


def load_with_hardware(name: str) -> TableSettings:
    """Load a table with its hardware's settings.

    Raises SettingsError with every mistake, also in what this machine lacks.
    """
    settings = load_table(name, kinds=Kinds(here=True))
    folder = config_file("tables", name).parent
    joined = {dev: _joined(dev, settings.devices, folder) for dev in settings.devices}
    return replace(settings, devices=joined)


Pairs = Sequence[tuple[Driver, Port]]
"""Devices, each with its port."""


def hardware_of(
    settings: TableSettings, now_us: Callable[[], int], station: Callable[[Pairs], Station] | None = None
) -> Hardware:
    """Make the devices of a table with their links, not started yet.

    Times are those of `now_us`, which must be the machine's monotonic clock where edges of GPIO lines count.
    `station` is what they stand in, where it is not the usual one.
    """
    typed = {name: device for name, device in settings.devices.items() if device.settings is not None}
    pairs = [
        (device_type(device.type).make(name, device.settings, os.urandom), _port(device.settings))
        for name, device in typed.items()
    ]
    joined = Station(pairs, now_us=now_us, chance=_chance) if station is None else station(pairs)
    return Hardware(joined, {name: device.type for name, device in typed.items()})


def _port(settings: Any) -> Port:  # Any: each kind has its own settings
    if isinstance(settings, BeamsSettings | PanelSettings):
        return port_for(settings)
    return port_at(settings.port, settings.baud)


def _chance() -> float:
    """Spread the times at which ports are tried again; it has no part in any outcome."""
    return int.from_bytes(os.urandom(4)) / 2**32


def _joined(name: str, devices: Mapping[str, Device], folder: Path) -> Device:
    """Tell a node where its sensors are mounted, what they are there for, and its key."""
    device = devices[name]
    settings = device.settings
    if not isinstance(settings, NodeSettings):
        return device
    key = settings.key
    if isinstance(settings, KeyedNodeSettings) and settings.key_file:
        key = key_in(folder / settings.key_file)
    channels = settings.channels or (
        {0: ChannelSettings(dev=name, least_peak=settings.least_peak)} if device.wall else {}
    )
    mounted = {
        number: replace(channel, fields=_at_wall(channel, devices)) for number, channel in channels.items()
    }
    speaks_for = [devices[channel.dev] for channel in mounted.values()] or [device]
    reads = dict.fromkeys(kind for spoken in speaks_for for kind in spoken.reads)
    plain = NodeSettings(
        node=settings.node,
        port=settings.port,
        baud=settings.baud,
        key=key,
        channels=mounted,
        reads=tuple(reads),
        max_per_s=settings.max_per_s,
        least_peak=settings.least_peak,
    )
    return replace(device, settings=plain)


def _at_wall(channel: ChannelSettings, devices: Mapping[str, Device]) -> Mapping[str, str]:
    wall = devices[channel.dev].wall
    return channel.fields if wall is None else {"wall": wall, **channel.fields}
