"""Runs all devices of a table: passes arrivals from the links to the devices, and readings to the engine.

One thread runs all devices of a table; each link has its own thread. The receiver of the readings must not
block.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Protocol, TypeVar

from controller.model.readings import AnyReading, DeviceDown
from drivers.device import AnyDevice
from drivers.health import reason_for
from drivers.link.link import AnyPort, Arrival, Backoff, Inlet, Link, LinkDown, LinkUp, Overflow


class Outlet(Protocol):
    """The receiver of a device's output, which is the device's link."""

    def send(self, data: Any, /) -> bool:  # Any: bytes or line commands, depending on the device
        """Send output; return False on failure."""
        ...

    def reopen(self) -> None:
        """Reopen the port."""
        ...


Work = Callable[[AnyDevice, int], None]
T = TypeVar("T")


class Hub:
    """Passes arrivals to devices, and the devices' output to their outlets.

    All calls to a hub must come from one thread. Its methods never block.
    """

    def __init__(self, devices: Iterable[tuple[AnyDevice, Outlet]]) -> None:
        """Store the devices; the source of an arrival is the name of its device."""
        self._devices: Mapping[str, tuple[AnyDevice, Outlet]] = {d.name: (d, outlet) for d, outlet in devices}
        self._due: dict[str, int] = {}
        self.unknown_arrivals = 0
        """Number of arrivals from sources that are not devices."""

    def start(self, now_us: int) -> list[AnyReading]:
        """Start every device; a device is down until it has reported."""
        return [reading for name in self._devices for reading in self._with(name, _start, now_us)]

    def take(self, arrival: Arrival) -> list[AnyReading]:
        """Handle one arrival and return the resulting readings."""
        if arrival.source not in self._devices:
            self.unknown_arrivals += 1
            return []
        return self._with(arrival.source, _handle_arrival, arrival)

    def run_on(self, name: str, work: Work, now_us: int) -> list[AnyReading]:
        """Run `work` on a device, for example to send a command.

        Raises:
            KeyError: If there is no such device.
        """
        work(self._devices[name][0], now_us)
        return self._with(name, _no_readings, now_us)

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        return min(self._due.values(), default=None)

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due. Call `take` for all arrivals first, or a device might appear silent."""
        due = [name for name, at in self._due.items() if at <= now_us]
        return [reading for name in due for reading in self._with(name, _tick, now_us)]

    def __iter__(self) -> Iterator[AnyDevice]:
        return (device for device, _ in self._devices.values())

    def _with(self, name: str, work: Callable[[AnyDevice, T], list[AnyReading]], what: T) -> list[AnyReading]:
        device, outlet = self._devices[name]
        try:
            return work(device, what)
        finally:
            output = device.take_output()
            if output:
                outlet.send(output)
            if device.take_reopen():
                outlet.reopen()
            due = device.next_deadline()
            if due is None:
                self._due.pop(name, None)
            else:
                self._due[name] = due


def _start(device: AnyDevice, now_us: int) -> list[AnyReading]:
    return device.start(now_us)


def _tick(device: AnyDevice, now_us: int) -> list[AnyReading]:
    return device.tick(now_us)


def _no_readings(_device: AnyDevice, _now_us: int) -> list[AnyReading]:
    return []


def _handle_arrival(device: AnyDevice, arrival: Arrival) -> list[AnyReading]:
    match arrival.event:
        case bytes() | tuple() as data:
            return device.receive(arrival.t_us, data)
        case LinkUp():
            return device.on_open(arrival.t_us)
        case LinkDown(code, seen):
            return device.on_close(arrival.t_us, code, seen)
        case Overflow(lost):
            return device.on_overflow(arrival.t_us, lost)


MAX_WAIT_S = 0.5
MAX_BATCH = 256
"""Maximum number of arrivals handled before the loop runs requests and due work."""
_NO_DEVICE = ""
"""The source of arrivals that only wake the thread, and the name for work on all devices."""

OnReading = Callable[[AnyReading], object]


class Station:
    """The devices of a table and their links."""

    def __init__(
        self,
        devices: Iterable[tuple[AnyDevice, AnyPort]],
        *,
        now_us: Callable[[], int],
        random_fraction: Callable[[], float],
    ) -> None:
        """Create a link for each device's port without opening the ports.

        `random_fraction` returns a number in [0, 1). It is used to spread the times at which ports
        are retried.
        """
        self.turns = 0
        """Number of passes through the thread's loop; it increases while the thread is alive."""
        self._now_us = now_us
        self._inlet = Inlet()
        pairs = [(device, self._link(device.name, port, random_fraction)) for device, port in devices]
        self._links = {device.name: link for device, link in pairs}
        self._devices = {device.name: device for device, _ in pairs}
        self._hub = Hub(pairs)
        self._requests: SimpleQueue[tuple[str, Work]] = SimpleQueue()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="devices", daemon=True)
        self._on_reading: OnReading = lambda _reading: None

    def start(self, on_reading: OnReading) -> None:
        """Start the thread, which passes every reading to `on_reading`."""
        self._on_reading = on_reading
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> bool:
        """Close all ports and end all threads; return False if a thread does not end in time."""
        self._stopping.set()
        self._wake()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        ended = [link.stop() for link in self._links.values()]
        return all(ended) and not self._thread.is_alive()

    def run_on(self, name: str, work: Work) -> None:
        """Run `work` on a device in the station's thread, for example to send a command.

        Raises:
            KeyError: If there is no such device.
        """
        if name not in self._devices:
            raise KeyError(f"found device {name!r}, expected one of {', '.join(sorted(self._devices))}")
        self._requests.put((name, work))
        self._wake()

    def status(self) -> Mapping[str, Mapping[str, object]]:
        """Return each device's status for the technician."""
        return {name: device.status() for name, device in self._devices.items()}

    def _link(self, name: str, port: AnyPort, random_fraction: Callable[[], float]) -> Link:
        return Link(name, port, self._inlet.post, now_us=self._now_us, backoff=Backoff(random_fraction))

    def _wake(self) -> None:
        self._inlet.post(_NO_DEVICE, self._now_us(), b"")

    def _run(self) -> None:
        self._pass_on(self._hub.start(self._now_us()))
        for link in self._links.values():
            link.start()
        while not self._stopping.is_set():
            self.turns += 1
            self._handle(self._inlet.take(self._wait_s()))
            self._run_requests()
            self._guard(_NO_DEVICE, lambda: self._hub.tick(self._now_us()))

    def _wait_s(self) -> float:
        due = self._hub.next_deadline()
        return MAX_WAIT_S if due is None else min(MAX_WAIT_S, max(0.0, (due - self._now_us()) / 1e6))

    def _handle(self, arrival: Arrival | None) -> None:
        for _ in range(MAX_BATCH):
            if arrival is None:
                return
            if arrival.source != _NO_DEVICE:
                self._guard(arrival.source, partial(self._hub.take, arrival))
            arrival = self._inlet.take(0)

    def _run_requests(self) -> None:
        while True:
            try:
                name, work = self._requests.get_nowait()
            except Empty:
                return
            self._guard(name, partial(self._hub.run_on, name, work, self._now_us()))

    def _guard(self, name: str, work: Callable[[], list[AnyReading]]) -> None:
        """Run `work` and pass on its readings.

        If `work` raises an exception, report the device with this name as down. If the work concerns all
        devices, report every device as down.
        """
        try:
            self._pass_on(work())
        except Exception as error:  # noqa: BLE001 - the other devices must keep running
            now_us = self._now_us()
            reason = reason_for("defect", f"{type(error).__name__}: {error}")
            for dev in [name] if name != _NO_DEVICE else list(self._devices):
                self._pass_on([DeviceDown(t=now_us, dev=dev, reason=reason, code="defect", arrived=now_us)])
                self._links[dev].reopen()

    def _pass_on(self, readings: Iterable[AnyReading]) -> None:
        for reading in readings:
            self._on_reading(reading)
