"""Tests that a port's name determines the kind of port."""

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from drivers.device import StreamAddress
from drivers.link.ports import port_at
from drivers.link.serial_port import SerialPort
from drivers.link.stream_port import PipePort, SocketPort


@pytest.mark.parametrize(
    ("name", "kind"), [("unix:/x", SocketPort), ("pipe:/x", PipePort), ("/dev/table-sensor0", SerialPort)]
)
def test_the_name_determines_the_kind_of_port(name: str, kind: type[object]) -> None:
    port = port_at(StreamAddress(name, 115_200))
    assert isinstance(port, kind)
    port.dispose()
