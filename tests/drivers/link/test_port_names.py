"""Tests of the check that a port's name refers to the same device after a reboot."""

import os
from pathlib import Path

import pytest

from drivers.link.ports import PortNameError, check_port_name

FTDI = "usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0"
CH340 = "usb-1a86_USB_Serial-if00-port0"
PATH = "platform-fd500000.pcie-pci-0000:01:00.0-usb-0:1.3:1.0-port0"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a machine with one adapter that has a serial number (ttyUSB0) and one without (ttyUSB1)."""
    for folder in ("dev/serial/by-id", "dev/serial/by-path", "run/udev/data"):
        (tmp_path / folder).mkdir(parents=True)
    for port in ("ttyUSB0", "ttyUSB1"):
        (tmp_path / "dev" / port).touch()
    (tmp_path / "dev/serial/by-id" / FTDI).symlink_to("../../ttyUSB0")
    (tmp_path / "dev/serial/by-id" / CH340).symlink_to("../../ttyUSB1")
    (tmp_path / "dev/serial/by-path" / PATH).symlink_to("../../ttyUSB1")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        f"/dev/serial/by-id/{FTDI}",
        f"/dev/serial/by-path/{PATH}",
        "/dev/table-sensor0",
        "/dev/ttyAMA0",
        "/dev/serial0",
        "unix:/run/table/cam.sock",
        "pipe:/run/table/cam.pipe",
    ],
)
def test_a_name_that_stays_the_same_is_accepted(machine: Path, name: str) -> None:
    check_port_name(name, machine)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "/dev/ttyUSB0",
            f"order in which devices are plugged in; write /dev/serial/by-id/{FTDI}, which currently",
        ),
        (
            "/dev/ttyUSB1",
            f"order in which devices are plugged in; write /dev/serial/by-path/{PATH}, which currently",
        ),
        (
            "/dev/ttyACM7",
            "the order in which devices are plugged in; write its name under /dev/serial/by-id or /dev/",
        ),
        (f"/dev/serial/by-id/{CH340}", f"no serial number.*write /dev/serial/by-path/{PATH}"),
        (
            "/dev/serial/by-id/usb-1a86_USB2.0-Serial-if00-port0",
            "no serial number.*under /dev/serial/by-path",
        ),
        ("ttyUSB0", "expected an absolute path"),
        ("unix:cam.sock", "expected an absolute path; write unix:/run/table/cam.sock, for example"),
        ("pipe:cam", "expected an absolute path; write pipe:/run/table/cam.pipe, for example"),
        ("unxi:/run/table/cam.sock", "expected an absolute path; write unix:/run/table/cam.sock, for"),
        ("pip:/run/table/cam.pipe", "expected an absolute path; write pipe:/run/table/cam.pipe, for"),
        ("tcp:/cam", "expected an absolute path; write /dev/serial/by-id/usb-..., for example"),
        ("", "expected an absolute path"),
    ],
)
def test_a_name_that_may_mean_another_device_after_a_boot_is_refused(
    machine: Path, name: str, message: str
) -> None:
    with pytest.raises(PortNameError, match=message):
        check_port_name(name, machine)


def test_an_adapter_without_a_serial_number_in_udev_is_refused(machine: Path) -> None:
    name = "usb-Acme_Board-if00"
    (machine / "dev/serial/by-id" / name).symlink_to("../../ttyUSB1")
    device = os.stat(machine / "dev/ttyUSB1").st_rdev
    known = machine / f"run/udev/data/c{os.major(device)}:{os.minor(device)}"
    known.write_text("E:ID_BUS=usb\nE:ID_SERIAL_SHORT=0007\n")
    check_port_name(f"/dev/serial/by-id/{name}", machine)
    known.write_text("E:ID_BUS=usb\nE:ID_SERIAL=Acme_Board\n")
    with pytest.raises(PortNameError, match="no serial number"):
        check_port_name(f"/dev/serial/by-id/{name}", machine)
