"""Tests of the station, whose thread survives failures of ports and devices."""

from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue

import pytest

from controller.model.readings import AnyReading, DeviceDown, DeviceUp, PocketBall
from drivers.cameras.json_camera import JsonCamera, JsonCameraSettings
from drivers.device import AnyDevice
from drivers.link.link import PortError
from drivers.link.station import Hub, Station
from tests.drivers.link.ptys import PATIENCE_S, now_us

ALIVE = b'{"kind": "alive"}\n'
POCKET = b'{"kind": "pocket_ball"}\n'


class Wire:
    def __init__(self) -> None:
        self.coming: SimpleQueue[bytes | PortError] = SimpleQueue()
        self.opened = 0

    def open(self) -> str:
        self.opened += 1
        return "a wire"

    def read(self) -> bytes:
        coming = self.coming.get(timeout=PATIENCE_S)
        if isinstance(coming, PortError):
            raise coming
        return coming

    def write(self, data: bytes) -> None:
        raise AssertionError(data)

    def wake(self) -> None:
        self.coming.put(b"")

    def close(self) -> None:
        pass

    def dispose(self) -> None:
        pass


class Faulty(JsonCamera):
    """A device that raises an exception if it receives `defect`."""

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        if b"defect" in data:
            raise ZeroDivisionError("by the test")
        return super().receive(now_us, data)


class House:
    """A station with two devices, and the readings received from it."""

    def __init__(self) -> None:
        self.wires = {"cam": Wire(), "eye": Wire()}
        settings = JsonCameraSettings(port="unix:/x", silent_s=60)
        self.station = Station(
            [(Faulty(name, settings, bytes), wire) for name, wire in self.wires.items()],
            now_us=now_us,
            random_fraction=lambda: 0.0,
        )
        self.heard: SimpleQueue[AnyReading] = SimpleQueue()
        self.station.start(self.heard.put)

    def wait(self, kind: type[AnyReading], dev: str, **fields: str) -> AnyReading:
        while True:
            try:
                reading = self.heard.get(timeout=PATIENCE_S)
            except Empty:
                raise AssertionError(f"{kind.__name__} of {dev} not received") from None
            wanted = type(reading) is kind and reading.dev == dev
            if wanted and all(getattr(reading, name) == value for name, value in fields.items()):
                return reading


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    assert house.station.stop()


def test_the_readings_of_each_device_are_delivered(house: House) -> None:
    house.wait(DeviceDown, "cam", code="starting")
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceUp, "cam")
    house.wires["eye"].coming.put(POCKET)
    assert isinstance(house.wait(PocketBall, "eye"), PocketBall)


def test_a_lost_port_is_reported_and_reopened(house: House) -> None:
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceUp, "cam")
    house.wires["cam"].coming.put(PortError("unplugged", "gone"))
    house.wait(DeviceDown, "cam", code="unplugged")
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceUp, "cam")
    assert house.wires["cam"].opened == 2


def test_an_exception_in_one_device_takes_it_down_until_its_port_is_reopened(
    house: House,
) -> None:
    house.wires["cam"].coming.put(b"defect\n")
    down = house.wait(DeviceDown, "cam", code="defect")
    assert isinstance(down, DeviceDown)
    assert down.reason.startswith("ZeroDivisionError: by the test; send the message and the bundle")
    house.wait(DeviceDown, "cam", code="reopening")
    house.wires["eye"].coming.put(POCKET)
    house.wait(PocketBall, "eye")
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceUp, "cam")


def test_an_exception_outside_any_device_takes_all_devices_down(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_hub: Hub, _now_us: int) -> list[AnyReading]:
        monkeypatch.undo()
        raise ZeroDivisionError

    monkeypatch.setattr(Hub, "tick", fail)
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceDown, "cam", code="defect")
    house.wait(DeviceDown, "eye", code="defect")


def test_a_request_is_carried_out_with_the_device_in_its_thread(house: House) -> None:
    done: SimpleQueue[tuple[str, Mapping[str, object]]] = SimpleQueue()

    def look(device: AnyDevice, _now_us: int) -> None:
        done.put((device.name, device.status()))

    house.station.run_on("eye", look)
    assert done.get(timeout=PATIENCE_S)[0] == "eye"
    with pytest.raises(KeyError, match="found device 'ear', expected one of cam, eye"):
        house.station.run_on("ear", look)


def test_the_status_of_a_station_is_that_of_all_devices(house: House) -> None:
    house.wires["cam"].coming.put(ALIVE)
    house.wait(DeviceUp, "cam")
    assert house.station.status()["cam"]["lines"] == 1
    assert house.station.turns > 0


def test_a_table_without_devices_is_quiet() -> None:
    station = Station([], now_us=now_us, random_fraction=lambda: 0.0)
    station.start(lambda _reading: None)
    assert station.stop()
    assert station.status() == {}
