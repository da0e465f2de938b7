"""Tests of the hub: arrivals go to their device, and a device's output goes to its link."""

from collections.abc import Mapping

import pytest

from controller.model.readings import AnyReading, DeviceDown, DeviceUp, PocketBall
from drivers.cameras.json_camera import JsonCamera, JsonCameraSettings
from drivers.device import AnyDevice
from drivers.link.link import Arrival, LinkDown, LinkUp, Overflow
from drivers.link.station import Hub
from drivers.node.device import NodeDevice, NodeSettings


class Outlet:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.reopened = 0

    def send(self, data: bytes) -> bool:
        self.sent.append(data)
        return True

    def reopen(self) -> None:
        self.reopened += 1


def table() -> tuple[Hub, Mapping[str, Outlet]]:
    outlets = {"wheel": Outlet(), "cam": Outlet()}
    node = NodeDevice(
        "wheel", NodeSettings(node="w1", port="/dev/table-wheel"), lambda count: b"\x3f" * count
    )
    camera = JsonCamera("cam", JsonCameraSettings(port="unix:/run/table/cam.sock"), bytes)
    return Hub([(node, outlets["wheel"]), (camera, outlets["cam"])]), outlets


def codes(readings: list[AnyReading]) -> list[tuple[str, str]]:
    return [(r.dev, str(r.code)) for r in readings if isinstance(r, DeviceDown | DeviceUp)]


def test_every_device_is_down_until_it_sends() -> None:
    hub, _ = table()
    assert codes(hub.start(0)) == [("wheel", "starting"), ("cam", "starting")]
    assert [device.name for device in hub] == ["wheel", "cam"]


def test_each_arrival_goes_to_its_device_only() -> None:
    hub, outlets = table()
    hub.start(0)
    hub.take(Arrival("wheel", 1, LinkUp("/dev/pts/1")))
    hub.take(Arrival("cam", 1, LinkUp("unix:/run/table/cam.sock")))
    assert [sentence[:7] for sentence in outlets["wheel"].sent] == [b">w1 3F3"]
    readings = hub.take(Arrival("cam", 5, b'{"kind": "pocket_ball"}\n'))
    assert readings[-1] == PocketBall(t=5, dev="cam", arrived=5)
    assert outlets["cam"].sent == []


def test_dropped_bytes_are_reported_for_their_device() -> None:
    hub, _ = table()
    hub.start(0)
    for source in ("wheel", "cam"):
        assert codes(hub.take(Arrival(source, 9, Overflow(100)))) == [(source, "sentences_lost")]


def test_a_link_that_is_down_takes_its_device_down() -> None:
    hub, _ = table()
    hub.start(0)
    assert codes(hub.take(Arrival("wheel", 9, LinkDown("no_port", "/dev/table-wheel: not there")))) == [
        ("wheel", "no_port")
    ]


def test_due_work_is_done_and_a_silent_devices_port_is_reopened() -> None:
    hub, outlets = table()
    hub.start(0)
    hub.take(Arrival("wheel", 0, LinkUp("/dev/pts/1")))
    reported: list[AnyReading] = []
    now_us = 0
    while now_us < 11_000_000:
        now_us = hub.next_deadline() or now_us
        assert now_us == min(filter(None, (device.next_deadline() for device in hub)))
        reported += hub.tick(now_us)
    assert codes(reported) == [("wheel", "no_hello")]
    assert (outlets["wheel"].reopened, outlets["cam"].reopened) == (1, 0)
    assert len(outlets["wheel"].sent) > 40


def test_a_request_to_a_device_is_sent_at_once_and_its_answer_awaited() -> None:
    hub, outlets = table()
    hub.start(0)

    def open_in_passing(device: AnyDevice, now_us: int) -> None:
        device.on_open(now_us)

    hub.run_on("wheel", open_in_passing, 5)
    assert [sentence[:7] for sentence in outlets["wheel"].sent] == [b">w1 3F3"]
    assert hub.next_deadline() is not None
    assert hub.next_deadline() == next(iter(hub)).next_deadline()
    with pytest.raises(KeyError, match="stranger"):
        hub.run_on("stranger", open_in_passing, 6)


def test_arrivals_for_no_device_are_counted() -> None:
    hub, _ = table()
    assert hub.take(Arrival("stranger", 0, b"x")) == []
    assert hub.unknown_arrivals == 1
    assert Hub([]).next_deadline() is None
