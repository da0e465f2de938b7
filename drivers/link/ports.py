"""From a device's address to its port."""

import time

from drivers.link.checks import PIPE, SOCKET
from drivers.link.gpio_edges import EdgePort, TableTime
from drivers.link.link import AnyPort, Port, PortError
from drivers.link.serial_port import SerialPort
from drivers.link.stream_port import PipePort, SocketPort
from drivers.wiring import Address, EdgeLines, StreamAddress


def _monotonic_us(stamp_ns: int) -> int:
    return stamp_ns // 1000


def port_at(address: Address, table_us: TableTime = _monotonic_us) -> AnyPort:
    """Return the port at this address; it is not opened yet.

    `table_us` maps nanoseconds of the kernel's monotonic clock, with which it stamps edges, to table
    microseconds; as it stands the table's clock is that one. The GPIO libraries are imported here, so that a
    table without GPIO needs none of them. Raises PortError (`no_library`) where they are not installed.
    """
    if isinstance(address, StreamAddress):
        return _stream_port(address)
    try:
        from drivers.link import gpio_kernel as kernel  # noqa: PLC0415 - an extra's

        if isinstance(address, EdgeLines):
            return EdgePort(
                address.chip,
                address.inputs,
                chips=kernel.chips_of_machine,
                request=kernel.request_line,
                holder=kernel.holder_of,
                table_us=table_us,
                clock_ns=time.monotonic_ns,
            )
        from drivers.link.gpio_panel import PanelPort  # noqa: PLC0415 - an extra's
    except ImportError as error:
        raise PortError("no_library", f"GPIO: {error}") from error
    return PanelPort(
        address.chip,
        address.inputs,
        address.outputs,
        chips=kernel.chips_of_machine,
        request=kernel.request_line,
        request_output=kernel.request_output,
        holder=kernel.holder_of,
        table_us=table_us,
        clock_ns=time.monotonic_ns,
    )


def _stream_port(address: StreamAddress) -> Port[bytes, bytes]:
    name = address.name
    if name.startswith(SOCKET):
        return SocketPort(name.removeprefix(SOCKET))
    if name.startswith(PIPE):
        return PipePort(name.removeprefix(PIPE))
    return SerialPort(name, address.baud)
