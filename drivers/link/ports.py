"""From a port's name to the port."""

from drivers.link.link import Port
from drivers.link.port_names import PIPE, SOCKET
from drivers.link.serial_port import SerialPort
from drivers.link.stream_port import PipePort, SocketPort


def port_at(name: str, baud: int) -> Port:
    """Give the port of this name: `unix:` and `pipe:` paths, or a serial port."""
    if name.startswith(SOCKET):
        return SocketPort(name.removeprefix(SOCKET))
    if name.startswith(PIPE):
        return PipePort(name.removeprefix(PIPE))
    return SerialPort(name, baud)
