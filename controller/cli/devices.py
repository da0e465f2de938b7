"""`tablectl devices`: how each device of the running table is, and what to do about what is wrong."""

import argparse
from collections.abc import Iterator, Mapping

import msgspec

from controller.cli.exits import FAILED, OK, printable, say
from controller.cli.link import OutOfReachError, add_socket, ask, out_of_reach
from controller.cli.tables import aligned, rows_of

EXAMPLES = (
    "tablectl devices",
    "tablectl devices cam",
)

ERRORS = frozenset(
    {
        *("noise", "half", "bad_crc", "bad_form", "forged", "lost", "refused", "babble"),
        *("malformed", "spoilt_frames", "bad_sentences"),
    }
)
"""A device's figures that count what could not be used."""
Device = dict[str, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("device", nargs="?", metavar="DEVICE", help="show every figure of this one")
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them; 1 where one is not up or has a trouble now, or there is none of this name."""
    try:
        status = ask(arguments.socket, {"do": "status"})["status"]
    except OutOfReachError as error:
        return out_of_reach(error)
    assert isinstance(status, dict)
    devices: dict[str, Device] = status.get("devices", {})
    if arguments.device is not None:
        if arguments.device not in devices:
            say(f"found no device {arguments.device!r}, expected one of {', '.join(devices) or 'none'}")
            return FAILED
        devices = {arguments.device: devices[arguments.device]}
    if arguments.json:
        print(msgspec.json.encode(devices).decode())
    elif arguments.device is not None:
        print(*map(printable, aligned(rows_of(devices[arguments.device]), indent="")), sep="\n")
    else:
        _show(devices)
    return OK if all(device["up"] and not _troubles(device) for device in devices.values()) else FAILED


def _show(devices: Mapping[str, Device]) -> None:
    if not devices:
        print("the table's file names no devices, and none was heard of")
    for name, device in devices.items():
        print(printable(f"{name:<12} {'up' if device['up'] else 'DOWN':<5} {', '.join(_figures(device))}"))
        if not device["up"] or _troubles(device):
            print(printable(f"{'':<12} {device['says']}"))
        elif device["trouble"]:
            print(printable(f"{'':<12} last trouble: {device['trouble']}; {device['do']}".rstrip("; ")))


def _figures(device: Device) -> Iterator[str]:
    figures = _of(device)
    if device["type"]:
        yield str(device["type"])
    if figures.get("firmware"):
        yield f"firmware {figures['firmware']}"
    yield f"{device['readings_per_s']:g} readings/s"
    errors = sum(value for name, value in figures.items() if name in ERRORS and isinstance(value, int))
    if figures:
        yield f"{errors} errors"
    if figures.get("clock_error_us") is not None:
        yield f"clock within {figures['clock_error_us']} us, {figures['drift_ppm']} ppm off"
    seen_s = device["last_seen_s"]
    yield "never seen" if seen_s is None else f"seen {seen_s:g} s ago"


def _troubles(device: Device) -> bool:
    return bool(troubles_of(device))


def troubles_of(device: Mapping[str, object]) -> list[str]:
    """Name what troubles a device now, in its own words."""
    figures = device.get("figures")
    troubles = figures.get("troubles") if isinstance(figures, dict) else None
    return [str(one) for one in troubles] if isinstance(troubles, list | tuple | dict) else []


def _of(device: Device) -> dict[str, object]:
    figures = device["figures"]
    assert isinstance(figures, dict)
    return figures
