"""`tablectl udev`: print udev rules that give each connected serial port a persistent name."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.cli.shell import FAILED, OK, say
from controller.model.printable import printable

EXAMPLES = (
    "tablectl udev                            # show a rule for each connected port",
    "tablectl udev > 61-table-names.rules     # copy it to /etc/udev/rules.d, then: udevadm control --reload",
)
_KEEPS_NUMBER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class SerialPort(NamedTuple):
    """A USB serial port in sysfs; `serial` is empty for a chip without a serial number."""

    tty: str
    vendor: str
    product: str
    serial: str
    interface: str
    socket: str
    says: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--sys", type=Path, default=Path("/sys"), metavar="DIR", help="where sysfs is mounted (default: /sys)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print a rule for each port; return 1 if none is connected."""
    found = sorted(plugged_in(arguments.sys))
    serials = [(one.vendor, one.product, one.serial, one.interface) for one in found]
    for one, identity in zip(found, serials, strict=True):
        unique_serial = bool(one.serial) and serials.count(identity) == 1
        if arguments.json:
            fields = {
                **one._asdict(),
                "name": name_of(one, unique_serial=unique_serial),
                "rule": rule_for(one, unique_serial=unique_serial),
            }
            print(msgspec.json.encode(fields).decode())
        else:
            by = (
                "its serial number"
                if unique_serial
                else f"the USB socket {one.socket}, because the port has no unique serial number"
            )
            print(f"# {one.tty}, {printable(one.says) or 'no product name'}; identified by {by}")
            print(rule_for(one, unique_serial=unique_serial))
    if not found:
        say(f"{arguments.sys}: no USB serial port is connected; check the cable, and see dmesg")
        return FAILED
    return OK


def plugged_in(sys: Path) -> Iterator[SerialPort]:
    """Yield the USB serial ports in sysfs."""
    for link in (sys / "class/tty").glob("tty*"):
        if not link.name.startswith(("ttyACM", "ttyUSB")):
            continue
        above = (link / "device").resolve().parents
        places = ((link / "device").resolve(), *above)
        interface = next((place for place in places if (place / "bInterfaceNumber").exists()), None)
        device = next((place for place in places if (place / "idVendor").exists()), None)
        if interface is not None and device is not None:
            yield SerialPort(
                tty=link.name,
                vendor=_text_in(device / "idVendor"),
                product=_text_in(device / "idProduct"),
                serial=_text_in(device / "serial"),
                interface=_text_in(interface / "bInterfaceNumber"),
                socket=interface.name,
                says=f"{_text_in(device / 'manufacturer')} {_text_in(device / 'product')}".strip(),
            )


def name_of(one: SerialPort, *, unique_serial: bool) -> str:
    """Return the port's name under /dev: manufacturer and product, and serial number or USB socket."""
    which = f"{one.serial}-{one.interface}" if unique_serial else one.socket
    words = f"{one.says or 'port'}-{which}".lower()
    kept = "".join(c if c in _KEEPS_NUMBER else "-" for c in words)
    return f"table/{re.sub('-+', '-', kept).strip('-')}"


def rule_for(one: SerialPort, *, unique_serial: bool) -> str:
    """Return the rule, which matches a unique serial number or else the USB socket."""
    if unique_serial:
        attributes = {"idVendor": one.vendor, "idProduct": one.product, "serial": one.serial}
        known = [f'ATTRS{{{name}}}=="{_pattern(value)}"' for name, value in attributes.items()]
        known.append(f'ENV{{ID_USB_INTERFACE_NUM}}=="{one.interface}"')
    else:
        known = [f'KERNELS=="{one.socket}"']
    return ", ".join(['SUBSYSTEM=="tty"', *known, f'SYMLINK+="{name_of(one, unique_serial=unique_serial)}"'])


def _pattern(text: str) -> str:
    """Replace each character that is special in a rule, or is not printable ASCII, with the pattern `?`."""
    return re.sub(r'[*?\[\]|"\\]|[^ -~]', "?", text)


def _text_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
