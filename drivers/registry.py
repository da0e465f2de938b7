"""The device types that a table's file can name. A new type needs a module and an entry here."""

from collections.abc import Mapping
from importlib import import_module

from drivers.device import DeviceType

DEVICE_MODULES: Mapping[str, str] = {
    "gpio-beams": "drivers.gpio.beams",
    "gpio-panel": "drivers.gpio.panel",
    "jevois": "drivers.cameras.jevois",
    "json-camera": "drivers.cameras.json_camera",
    "node": "drivers.node.device",
    "shoe": "drivers.shoe.device",
    "ss2": "drivers.ss2.device",
}
"""The module of each type, by the type's name. Modules are imported on demand."""


class UnknownDeviceTypeError(LookupError):
    """Raised for an unknown device type; the message lists the known types."""


def device_type(name: str) -> DeviceType:
    """Return the device type with this name.

    Raises:
        UnknownDeviceTypeError: If there is no such type.
    """
    module = DEVICE_MODULES.get(name)
    if module is None:
        known = ", ".join(sorted(DEVICE_MODULES))
        raise UnknownDeviceTypeError(f"found device type {name!r}, expected one of {known}")
    found = import_module(module).TYPE
    assert isinstance(found, DeviceType)
    return found
