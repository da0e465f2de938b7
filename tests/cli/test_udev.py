"""`tablectl udev` on simulated machines: a rule for each port, by serial number or by USB socket."""

import json
from pathlib import Path

import pytest

from controller.cli.main import main


def plug(sys: Path, tty: str, socket: str, **result: str) -> None:
    device = sys / "devices/usb1" / socket
    port = device / f"{socket}:1.0"
    (port / "tty" / tty).mkdir(parents=True)
    (port / "bInterfaceNumber").write_text("00\n", encoding="ascii")
    for name, value in {"idVendor": "2e8a", "idProduct": "000a", **result}.items():
        (device / name).write_text(f"{value}\n", encoding="utf-8")
    (port / "tty" / tty / "device").symlink_to(port)
    (sys / "class/tty").mkdir(parents=True, exist_ok=True)
    (sys / "class/tty" / tty).symlink_to(port / "tty" / tty)


def rules(sys: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["udev", "--sys", str(sys)]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]


def test_a_port_is_known_by_its_serial_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plug(tmp_path, "ttyACM0", "1-1.2", serial="0001", manufacturer="Table", product="Board")
    (rule,) = rules(tmp_path, capsys)
    assert rule == (
        'SUBSYSTEM=="tty", ATTRS{idVendor}=="2e8a", ATTRS{idProduct}=="000a", ATTRS{serial}=="0001",'
        ' ENV{ID_USB_INTERFACE_NUM}=="00", SYMLINK+="table/table-board-0001-00"'
    )


def test_ports_without_a_number_or_with_the_same_one_are_known_by_their_sockets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plug(tmp_path, "ttyUSB0", "1-1.1", product="USB Serial")
    plug(tmp_path, "ttyUSB1", "1-1.3", serial="0", product="USB Serial")
    plug(tmp_path, "ttyUSB2", "1-1.4", serial="0", product="USB Serial")
    known = ((f"1-1.{hole}:1.0", f"table/usb-serial-1-1-{hole}-1-0") for hole in (1, 3, 4))
    wanted = [f'SUBSYSTEM=="tty", KERNELS=="{socket}", SYMLINK+="{name}"' for socket, name in known]
    assert rules(tmp_path, capsys) == wanted


def test_ports_that_are_not_usb_are_left_out_and_an_empty_result_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class/tty/ttyS0").mkdir(parents=True)
    assert main(["udev", "--sys", str(tmp_path)]) == 1
    assert "no USB serial port is connected" in capsys.readouterr().err


def test_a_serial_number_cannot_break_out_of_its_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plug(tmp_path, "ttyACM0", "1-1", serial='a", RUN+="/bin/x', product='B\nRUN+="/bin/y"')
    (rule,) = rules(tmp_path, capsys)
    assert 'RUN+="' not in rule
    assert main(["udev", "--json", "--sys", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["rule"] == rule
