"""Checks a device's address and creates its port."""

import os
import re
import time
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from drivers.device import Address, EdgeLines, PanelLines, StreamAddress
from drivers.link.gpio_edges import EdgePort, TableTime
from drivers.link.link import AnyPort, Port, PortError
from drivers.link.serial_port import SerialPort
from drivers.link.stream_port import PipePort, SocketPort

SOCKET, PIPE = "unix:", "pipe:"
_EXAMPLES: Mapping[str, str] = {SOCKET: f"{SOCKET}/run/table/cam.sock", PIPE: f"{PIPE}/run/table/cam.pipe"}
_SERIAL_EXAMPLE = "/dev/serial/by-id/usb-..."
_PLUG_ORDER = re.compile(r"/dev/tty(?:USB|ACM|XRUSB|CH[0-9A-Z]*USB|WCH\w*)[0-9]+")
_WITHOUT_SERIAL = re.compile(
    r"/dev/serial/by-id/usb-(?:1a86_USB(?:2\.0)?-?_?Serial|Prolific_Technology_Inc\._USB-Serial_Controller\w*)"
    r"-if\w+(?:-port\w+)?"
)
STABLE_NAME = "a stable name"


class PortNameError(ValueError):
    """Raised for an unsuitable port name."""

    def __init__(self, found: str, expected: str, hint: str) -> None:
        super().__init__(f"found {found}, expected {expected}; {hint}")
        self.found = found
        self.expected = expected
        self.hint = hint


def check_port_name(name: str, root: Path = Path("/")) -> None:
    """Check that a port's name always refers to the same device.

    Args:
        name: The port's name in the table's file.
        root: The root of the file system. The links under dev/serial are searched for a better name.

    Raises:
        PortNameError: If the name is not an absolute path, depends on the order in which devices are plugged
            in, or does not distinguish two devices of the same model.
    """
    scheme, colon, path = name.partition(":")
    if scheme + colon in _EXAMPLES and path.startswith("/"):
        return
    if not name.startswith("/"):
        raise PortNameError(repr(name), "an absolute path", f"write {_example(scheme + colon)}, for example")
    if _PLUG_ORDER.fullmatch(name):
        hint = f"this name depends on the order in which devices are plugged in; {_suggestion(name, root)}"
        raise PortNameError(name, STABLE_NAME, hint)
    if _WITHOUT_SERIAL.fullmatch(name) or _lacks_serial(name, root):
        instead = _suggestion(name, root, by_id=False)
        hint = f"this device has no serial number, so a second device would have the same name; {instead}"
        raise PortNameError(name, STABLE_NAME, hint)


def _example(prefix: str) -> str:
    """Return an example of the kind of name that was probably meant; the prefix may be mistyped."""
    nearest = get_close_matches(prefix, _EXAMPLES, n=1) if prefix.endswith(":") else []
    return _EXAMPLES[nearest[0]] if nearest else _SERIAL_EXAMPLE


def _suggestion(name: str, root: Path, *, by_id: bool = True) -> str:
    target = os.path.realpath(root / name[1:])
    for folder in ("by-id", "by-path") if by_id else ("by-path",):
        for link in sorted((root / "dev/serial" / folder).glob("*")):
            written = f"/dev/serial/{folder}/{link.name}"
            if os.path.realpath(link) != target:
                continue
            if folder == "by-path" or not (
                _WITHOUT_SERIAL.fullmatch(written) or _lacks_serial(written, root)
            ):
                return f"write {written}, which currently refers to this port"
    return f"write its name under /dev/serial/{'by-id or /dev/serial/' if by_id else ''}by-path"


def _lacks_serial(name: str, root: Path) -> bool:
    """Return whether udev has a record of the device behind a by-id name, but no serial number for it."""
    if not name.startswith("/dev/serial/by-id/"):
        return False
    try:
        device = os.stat(os.path.realpath(root / name[1:])).st_rdev
        known = (root / f"run/udev/data/c{os.major(device)}:{os.minor(device)}").read_text("utf-8", "replace")
    except OSError:
        return False
    return "E:ID_BUS=usb" in known and "E:ID_SERIAL_SHORT=" not in known


def check_hardware(address: EdgeLines | PanelLines) -> None:
    """Check at startup that the libraries for GPIO lines are installed.

    A missing chip or line does not prevent startup. The device is then down, and its link retries the port.

    Raises:
        PortError: With code `no_library`, if a library is missing.
    """
    try:
        import_module("drivers.link.gpio_kernel")
        if isinstance(address, PanelLines):
            import_module("drivers.link.gpio_panel")
    except ImportError as error:
        raise PortError("no_library", f"GPIO: {error}") from error


def _monotonic_us(stamp_ns: int) -> int:
    return stamp_ns // 1000


def port_at(address: Address, table_us: TableTime = _monotonic_us) -> AnyPort:
    """Return an unopened port for this address.

    The GPIO libraries are imported only for a GPIO address, so that other tables do not need them.

    Args:
        address: The address.
        table_us: Converts nanoseconds of the kernel's monotonic clock, with which the kernel timestamps
            edges, to table microseconds. By default, the table's clock is the monotonic clock.

    Raises:
        PortError: With code `no_library`, if the GPIO libraries are not installed.
    """
    if isinstance(address, StreamAddress):
        return _stream_port(address)
    try:
        from drivers.link import gpio_kernel as kernel  # noqa: PLC0415 - needs the hardware extra

        if isinstance(address, EdgeLines):
            return EdgePort(
                address.chip,
                address.inputs,
                chips=kernel.list_chips,
                request=kernel.request_line,
                holder=kernel.find_holder,
                table_us=table_us,
                clock_ns=time.monotonic_ns,
            )
        from drivers.link.gpio_panel import PanelPort  # noqa: PLC0415 - needs the hardware extra
    except ImportError as error:
        raise PortError("no_library", f"GPIO: {error}") from error
    return PanelPort(
        address.chip,
        address.inputs,
        address.outputs,
        chips=kernel.list_chips,
        request=kernel.request_line,
        request_output=kernel.request_output,
        holder=kernel.find_holder,
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
