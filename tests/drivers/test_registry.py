"""Tests of the lookup of device types by name."""

import dataclasses

import pytest

from drivers.device import Device, DeviceType
from drivers.registry import DEVICE_MODULES, UnknownDeviceTypeError, device_type


@pytest.mark.parametrize("name", ["node", "json-camera"])
def test_a_type_is_found_by_its_name(name: str) -> None:
    found = device_type(name)
    assert isinstance(found, DeviceType)
    assert found.name == name
    assert dataclasses.is_dataclass(found.settings)


def test_a_device_is_made_of_its_settings() -> None:
    found = device_type("node")
    device = found.make("wall", found.settings(node="w1", port="/dev/table-w1"), bytes)
    assert isinstance(device, Device)
    assert device.name == "wall"


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownDeviceTypeError, match="found device type 'nod', expected one of") as caught:
        device_type("nod")
    assert all(name in str(caught.value) for name in DEVICE_MODULES)


@pytest.mark.parametrize("name", DEVICE_MODULES)
def test_a_type_of_calibrated_cameras_has_the_settings_that_a_calibration_writes(name: str) -> None:
    found = device_type(name)
    settings = {field.name for field in dataclasses.fields(found.settings)}
    assert found.calibrated_camera == ({"calibration", "error_mm"} <= settings)
