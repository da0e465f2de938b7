"""The boards of a table's file that speak for other devices of it, each on a channel of its own."""

from collections.abc import Iterator, Mapping

from controller.model.tables import TableSettings
from controller.settings.yaml_text import Document, Value
from drivers.sim.boards import Sensor
from drivers.sim.setting import NoEveningError


def boards_in(document: Document, settings: TableSettings) -> Mapping[str, Mapping[int, Sensor]]:
    """Give what hangs on which channel of which board; raises NoEveningError where that is no device's."""
    return {
        name: dict(sensors) for name in settings.devices if (sensors := [*_sensors(document, name, settings)])
    }


def section_of(document: Document, name: str) -> Mapping[str, Value]:
    """Give what the file says of a device."""
    devices = document.value.get("devices") if isinstance(document.value, dict) else None
    section = devices.get(name) if isinstance(devices, dict) else None
    return section if isinstance(section, dict) else {}


def _sensors(document: Document, name: str, settings: TableSettings) -> Iterator[tuple[int, Sensor]]:
    channels = section_of(document, name).get("channels")
    for number, channel in channels.items() if isinstance(channels, dict) else ():
        said = channel if isinstance(channel, dict) else {}
        dev, fields = said.get("dev"), said.get("fields", {})
        device = settings.devices.get(dev) if isinstance(dev, str) else None
        if device is None or not number.isdecimal() or not isinstance(fields, dict):
            raise NoEveningError(
                f"devices.{name}.channels.{number}: found {channel!r},"
                f" expected a whole number with `dev`, one of {', '.join(settings.devices)}"
            )
        told = {*fields, "wall"} if device.wall else {*fields}
        yield int(number), Sensor(str(dev), tuple(device.reads), frozenset(told))
