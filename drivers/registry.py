"""The device types that a table's configuration can name, and what each of them is to the table's program.

A device knows no port and no thread: it is handed what its link posted and gives readings of the table. The
same calls serve a node, a camera's script and a wheel, so that nothing above tells them apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, runtime_checkable

from controller.model.readings import AnyReading

Chance = Callable[[int], bytes]
"""Give so many unpredictable bytes (`os.urandom`): for the nonces of a handshake, never for an outcome."""
LinkKind = Literal["serial", "socket", "gpio"]


@runtime_checkable
class Device(Protocol):
    """One device of a table. Times are table microseconds; every call gives the readings it made."""

    name: str

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: a device is down until it is heard."""
        ...

    def opened(self, now_us: int) -> list[AnyReading]:
        """Take that its link is open."""
        ...

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Take that its link is not open, by which trouble, and what was seen."""
        ...

    def overflowed(self, now_us: int, lost_bytes: int) -> list[AnyReading]:
        """Take that some of its bytes were thrown away because the table was busy."""
        ...

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Take bytes that its link stamped at `now_us`."""
        ...

    def tick(self, now_us: int) -> list[AnyReading]:
        """Do what is due by now."""
        ...

    def next_deadline(self) -> int | None:
        """Give when `tick` has something to do."""
        ...

    def take_output(self) -> bytes:
        """Give the bytes to be sent now; they are handed out once."""
        ...

    def take_reopen(self) -> bool:
        """Tell, once, that the link should be opened anew."""
        ...

    def status(self) -> Mapping[str, object]:
        """Give what a technician wants to know of it now: identity, figures, what is wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceType:
    """One type of device: its word in the configuration, its settings and how it is made of them.

    `settings` is a frozen dataclass; `make` takes the device's name at the table, the settings and a Chance.
    """

    name: str
    title: str
    link: LinkKind
    settings: type
    make: Callable[[str, Any, Chance], Device]  # Any: each type takes its own settings


DEVICE_MODULES: Mapping[str, str] = {
    "gpio-beams": "drivers.gpio.beams",
    "gpio-panel": "drivers.gpio.panel",
    "jevois": "drivers.cameras.jevois",
    "json-camera": "drivers.cameras.json_camera",
    "node": "drivers.node.device",
    "shoe": "drivers.shoe.device",
    "ss2": "drivers.ss2.device",
}
"""Each type's word and the module whose TYPE describes it, imported when it is asked for."""


class UnknownDeviceTypeError(LookupError):
    """A device type that does not exist; the message names those that do."""


def device_type(name: str) -> DeviceType:
    """Give the device type of this name; raises UnknownDeviceTypeError where there is none."""
    module = DEVICE_MODULES.get(name)
    if module is None:
        known = ", ".join(sorted(DEVICE_MODULES))
        raise UnknownDeviceTypeError(f"found device type {name!r}, expected one of {known}")
    found = import_module(module).TYPE
    assert isinstance(found, DeviceType)
    return found
