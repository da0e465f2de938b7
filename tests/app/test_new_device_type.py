"""A new device type needs its module, one line in the registry, and no other change."""

from dataclasses import replace
from pathlib import Path

import pytest

from controller.app.device_types import hardware_of, load_with_hardware
from controller.app.status import calibration_of
from controller.model.readings import AnyReading, DeviceDown, DeviceUp, Switch
from controller.settings.mistakes import SettingsError
from drivers.device import AnyDevice
from drivers.link.link import AnyPort, Arrival, Event, LinkDown, LinkUp
from drivers.link.station import Hub, Station
from drivers.registry import DEVICE_MODULES
from tests.app import door_box

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

TABLE = """\
table: pit-3
ruleset: craps-12-034
dice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}
devices:
  cam: {type: node, node: cam, port: /dev/serial/by-id/cam, reads: [die_released, die_at, die_rest]}
  walls: {type: node, node: w1, port: /dev/serial/by-id/walls, channels: {1: {dev: left}, 2: {dev: right}}}
  left: {reads: [wall_impact], wall: left}
  right: {reads: [wall_impact], wall: right}
  console: {type: node, node: con, port: /dev/serial/by-id/con, reads: [input]}
"""
BOX = "  doors: {type: door-box, port: /dev/serial/by-id/doors, doors: [cash, drop_box]}\n"


@pytest.fixture(autouse=True)
def _one_line_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICE_MODULES, "door-box", "tests.app.door_box")


def table_with(folder: Path, devices: str) -> str:
    path = folder / "table.yaml"
    path.write_text(TABLE + devices, encoding="utf-8")
    return str(path)


def test_the_readings_of_a_new_device_type_arrive_through_the_hub(tmp_path: Path) -> None:
    settings = load_with_hardware(table_with(tmp_path, BOX))
    assert settings.devices["doors"].reads == ("switch",)
    made: dict[str, tuple[AnyDevice, AnyPort]] = {}

    def station(pairs: object) -> Station:
        made.update({device.name: (device, port) for device, port in pairs})  # type: ignore[attr-defined]  # pairs
        return Station([], now_us=lambda: 0, random_fraction=lambda: 0.0)

    hardware = hardware_of(settings, lambda: 0, station)
    assert hardware.kinds["doors"] == "door-box"
    device, _port = made["doors"]

    class Outlet:
        def send(self, data: bytes) -> bool:
            raise AssertionError(f"a door box must not receive data: {data!r}")

        def reopen(self) -> None:
            raise AssertionError("a door box must not request a reopen")

    hub = Hub([(device, Outlet())])
    reported: list[AnyReading] = hub.start(0)
    heard: tuple[Event, ...] = (LinkUp("/dev/ttyUSB0"), b"cash op", b"en\n", LinkDown("unplugged", "out"))
    for t_us, event in enumerate(heard, 1):
        reported += hub.take(Arrival("doors", t_us, event))
    assert [reading.t for reading in reported] == [0, 1, 3, 4]
    assert isinstance(reported[0], DeviceDown)
    assert isinstance(reported[1], DeviceUp)
    assert isinstance(reported[3], DeviceDown)
    assert reported[2] == Switch(t=3, dev="doors", name="cash", open=True, arrived=3)


def test_mistakes_in_the_settings_of_a_new_device_type_are_reported_with_all_others(tmp_path: Path) -> None:
    written = "  doors: {type: door-box, port: /dev/ttyUSB0, doors: []}\n  more: {type: door-box}\n"
    with pytest.raises(SettingsError) as caught:
        load_with_hardware(table_with(tmp_path, written))
    text = str(caught.value)
    assert "found none, expected the names of the box's doors" in text
    assert "more" in text


def test_a_new_device_type_may_not_use_a_port_that_is_taken(tmp_path: Path) -> None:
    written = "  doors: {type: door-box, port: /dev/serial/by-id/con, doors: [cash]}\n"
    with pytest.raises(SettingsError, match="console already uses it"):
        load_with_hardware(table_with(tmp_path, written))


def test_a_camera_whose_type_says_that_it_reports_pixels_can_be_calibrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert calibration_of("door-box", ("die_at",)) is None
    monkeypatch.setattr(door_box, "TYPE", replace(door_box.TYPE, calibrated_camera=True))
    assert calibration_of("door-box", ("die_at",)) == "camera"


@pytest.mark.parametrize(("reads", "calibration"), [("wall_impact", "walls"), ("ball_beam", "wheel")])
def test_sensors_of_walls_and_wheels_are_calibrated_whatever_their_type(reads: str, calibration: str) -> None:
    for type_ in ("node", "door-box", ""):
        assert calibration_of(type_, ("input", reads)) == calibration
