"""All devices of a table by source: what the links posted goes in, readings come out, answers go back."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from controller.model.readings import AnyReading
from drivers.devices.registry import Device
from drivers.link.inlet import Arrival, LinkDown, LinkUp, Overflow


class Outlet(Protocol):
    """What a device's answers go to: its link."""

    def send(self, data: bytes) -> bool:
        """Send bytes; False where they can't be."""
        ...

    def reopen(self) -> None:
        """Open the port anew."""
        ...


class Hub:
    """The devices and their outlets. One thread calls it; it never waits."""

    def __init__(self, devices: Iterable[tuple[Device, Outlet]]) -> None:
        """Take each device with its link; the device's name is its source's name."""
        self._devices: Mapping[str, tuple[Device, Outlet]] = {d.name: (d, outlet) for d, outlet in devices}
        self.strays = 0
        """Arrivals of sources that are no device."""

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: every device is down until it is heard."""
        return [reading for device, _ in self._devices.values() for reading in device.start(now_us)]

    def take(self, arrival: Arrival) -> list[AnyReading]:
        """Take one arrival; give the readings it makes."""
        found = self._devices.get(arrival.source)
        if found is None:
            self.strays += 1
            return []
        device, outlet = found
        readings = _heard(device, arrival)
        self._answer(device, outlet)
        return readings

    def next_deadline(self) -> int | None:
        """Give when `tick` has something to do."""
        due = (device.next_deadline() for device, _ in self._devices.values())
        return min((at for at in due if at is not None), default=None)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Do what is due by now; take all that has arrived before, so that nobody is silent by mistake."""
        readings = []
        for device, outlet in self._devices.values():
            due = device.next_deadline()
            if due is not None and due <= now_us:
                readings += device.tick(now_us)
            self._answer(device, outlet)
        return readings

    def __iter__(self) -> Iterator[Device]:
        return (device for device, _ in self._devices.values())

    @staticmethod
    def _answer(device: Device, outlet: Outlet) -> None:
        output = device.take_output()
        if output:
            outlet.send(output)
        if device.take_reopen():
            outlet.reopen()


def _heard(device: Device, arrival: Arrival) -> list[AnyReading]:
    match arrival.event:
        case bytes() as data:
            return device.receive(arrival.t_us, data)
        case LinkUp():
            return device.opened(arrival.t_us)
        case LinkDown(code, seen):
            return device.closed(arrival.t_us, code, seen)
        case Overflow(lost_bytes):
            return device.overflowed(arrival.t_us, lost_bytes)
