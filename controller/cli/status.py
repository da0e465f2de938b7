"""`tablectl status`, `devices`, `faults` and `outbox`: the state of the running table, with next steps."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from controller.cli.link import Json, OutOfReachError, add_json, add_socket, ask, report_out_of_reach
from controller.cli.screen import Entry, Screen, Style, rows_of
from controller.cli.shell import FAILED, MAX_ROW, OK, Command, say, whole_number
from controller.cli.words import plain, puck_in_words

EVERY_S = 1.0
"""Interval between pages; the table's values change once a second."""


class UnknownDeviceError(Exception):
    """The table has no such device; the message lists its devices."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A request's result: the exit code, the values for `--json`, and the lines for people."""

    code: int
    values: Sequence[object]
    lines: Callable[[Screen], list[str]]


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Declare `--follow`."""
    parser.add_argument(
        "-f", "--follow", action="store_true", help=f"redraw every {EVERY_S:g} s, until Ctrl-C"
    )


def show(
    arguments: argparse.Namespace,
    screen: Screen,
    request: Callable[[], Snapshot],
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Print a snapshot, repeatedly with `--follow`; return the last snapshot's exit code."""
    try:
        snapshot = request()
    except OutOfReachError as error:
        return report_out_of_reach(error)
    except UnknownDeviceError as error:
        say(error)
        return FAILED
    if not arguments.follow:
        _print(arguments, screen, snapshot)
        return snapshot.code
    return _follow(arguments, screen, request, sleep)


def _follow(
    arguments: argparse.Namespace,
    screen: Screen,
    request: Callable[[], Snapshot],
    sleep: Callable[[float], None],
) -> int:
    """Draw pages until a signal arrives; the page shows an error if the controller does not respond."""
    before: list[str] = []
    if not arguments.json:
        screen.clear()
    while True:
        try:
            snapshot = request()
            lines = [] if arguments.json else snapshot.lines(screen)
        except (OutOfReachError, UnknownDeviceError) as error:
            snapshot = Snapshot(FAILED, (), lambda _: [])
            lines = screen.entry(Entry("", str(error), "red"))
        if arguments.json:
            _print(arguments, screen, snapshot)
        elif screen.cursor or lines != before:
            screen.page(lines, first=not before)
            before = lines
        sleep(EVERY_S)


def _print(arguments: argparse.Namespace, screen: Screen, snapshot: Snapshot) -> None:
    if not arguments.json:
        screen.lines(snapshot.lines(screen))
        return
    for value in snapshot.values:
        print(msgspec.json.encode(value).decode(), flush=arguments.follow)


_STATUS_EXAMPLES = (
    "tablectl status",
    "tablectl status --follow",
    "tablectl status --all",
    "tablectl status --json",
)

_OWN_SECTIONS = frozenset({"faults", "self_test", "devices", "awaited", "locked"})
Status = dict[str, object]


def add_status_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `status`."""
    parser.add_argument("--all", action="store_true", help="also print counters, numbers and digests")
    add_follow(parser)
    add_socket(parser)
    add_json(parser)


def run_status(arguments: argparse.Namespace) -> int:
    """Print the status; return 1 if a fault is active or the self-test has not passed."""

    def request() -> Snapshot:
        status = _status(arguments.socket)
        checks = _list(status.get("self_test"))
        well = not status["faults"] and all(check["ok"] for check in checks)
        return Snapshot(
            code=OK if well else FAILED,
            values=[status],
            lines=lambda screen: list(status_lines(screen, status, everything=arguments.all)),
        )

    return show(arguments, Screen(sys.stdout), request)


def _status(path: str) -> Status:
    return cast("Status", ask(path, {"do": "status"})["status"])


def status_lines(screen: Screen, status: Status, *, everything: bool) -> Iterator[str]:
    """Yield the lines of a status: the headline, and each section that is not empty."""
    table = f"{status['table']} ({status['ruleset']}): "
    yield from screen.entry(Entry(table, str(status["headline"]), state_style(status), "bold"))
    devices = _mapping(status.get("devices"))
    sections = [
        ("play", _play(status)),
        ("waiting for a person", _awaited(_mapping(status.get("awaited")))),
        ("locked", _lock(_mapping(status.get("locked")))),
        ("faults", _faults(status)),
        ("devices", (_in_short(status, name, _mapping(device)) for name, device in devices.items())),
        ("self-test", _checks(status, everything=everything)),
    ]
    if everything:
        others = {
            name: value
            for name, value in status.items()
            if name not in _OWN_SECTIONS and value not in ({}, [])
        }
        sections.append(("all", (Entry(*row) for row in rows_of(others))))
    for heading, rows in sections:
        if lines := screen.table(rows):
            yield ""
            yield screen.styled(heading, "bold")
            yield from lines


def state_style(status: Status) -> Style:
    """Return the colour of a table's state: red with a fault, yellow if a person must act, else green."""
    if status["faults"]:
        return "red"
    waits = status.get("awaited") or status.get("locked") or status.get("testing")
    return "yellow" if waits or status.get("lock") != "unlocked" else "green"


def _play(status: Status) -> Iterator[Entry]:
    state = _mapping(status.get("state"))
    if not state:
        return
    mode = "test mode" if status.get("testing") else f"{state.get('table', 'open')}, {status['lock']}"
    yield Entry("table", f"{mode}, in shadow mode: nothing is published" if status.get("shadow") else mode)
    point = state.get("point")
    if isinstance(point, int):
        yield Entry("puck", puck_in_words(point))
    for name, label in (("shooter", "shooter"), ("run_out", "run-out")):
        if state.get(name):
            yield Entry(label, str(state[name]))
    without = _mapping(state.get("three_card")).get("without_pair_plus")
    if isinstance(without, list) and without:
        seats = ", ".join(map(str, without))
        yield Entry("without Pair Plus", f"{seats}: announce them before dealing (T-DEAL-2b)")


def _awaited(awaited: Mapping[str, object]) -> Iterator[Entry]:
    if not awaited:
        return
    yield Entry(str(awaited["attempt"]), f"{awaited['number']}, {_STATES[str(awaited['state'])]}", "yellow")
    for reason in _list(awaited.get("reasons")):
        die = f" die {reason['die']}" if reason.get("die") else ""
        yield Entry(plain(str(reason["code"])) + die, f"{reason['seen']} [{reason['rule']}]")
    if awaited.get("seen"):
        yield Entry("seen so far", str(awaited["seen"]))
    if awaited.get("proposes"):
        yield Entry("proposed", str(awaited["proposes"]))
    may = awaited.get("may")
    yield Entry("enter", " or ".join(map(str, may)) if isinstance(may, list) else "")


_STATES = {"review": "under review: a person must rule", "proposed": "proposed: a person must accept it"}


def _lock(lock: Mapping[str, object]) -> Iterator[Entry]:
    if lock:
        who = f" ({lock['who']})" if lock.get("who") else ""
        yield Entry("by", f"{lock.get('by') or 'unknown'}{who}")
        why = str(lock.get("says") or lock.get("cause") or "no reason was given")
        yield Entry("why", why, "yellow")
        yield Entry("clears", str(lock.get("clears")))


def _faults(status: Status) -> Iterator[Entry]:
    for fault in _list(status.get("faults")):
        locks = ", locks play" if fault.get("locks") else ""
        yield Entry(str(fault["code"]), f"{fault['where']}: {fault['found']}{locks}", lead_style="red")
        yield Entry("", f"do: {fault.get('next_step')}")
        yield Entry("", f"clears: {fault.get('clears')}", "dim")


def _checks(status: Status, *, everything: bool) -> Iterator[Entry]:
    for check in _list(status.get("self_test")):
        if everything or not check["ok"]:
            message = str(check["says"])
            short = message if everything else message.partition(" (")[0]
            yield Entry(str(check["name"]), short, "plain" if check["ok"] else "yellow")


def _device(name: str, device: Mapping[str, object]) -> Entry:
    return Entry(name, health(device), _style_of(device))


def _in_short(status: Status, name: str, device: Mapping[str, object]) -> Entry:
    """Return a device's state; omit the reason if the faults section shows it."""
    entry = _device(name, device)
    if any(fault["where"] == name for fault in _list(status.get("faults"))):
        return entry._replace(text=entry.text.partition(":")[0])
    return entry


def _style_of(device: Mapping[str, object]) -> Style:
    if not device.get("up"):
        return "red"
    return "yellow" if fault_codes(device) else "green"


def health(device: Mapping[str, object]) -> str:
    """Return a device's state in words, with the cause and the remedy of a fault."""
    message, do = device.get("says"), device.get("do")
    seen_s = device.get("last_seen_s")
    if not device.get("up"):
        since = "offline since the controller started" if seen_s is None else f"offline for {seen_s:g} s"
        why = str(message or "the device sends no data").removeprefix("device_down: ")
        return f"{since}: {why}{f'; {do}' if do and str(do) not in why else ''}"
    if codes := fault_codes(device):
        return f"faulty: {', '.join(codes)}{f'; {do}' if do else ''}"
    return f"OK, {_rate(device)}"


def _rate(device: Mapping[str, object]) -> str:
    per_s = device.get("readings_per_s")
    return HELD_BACK if per_s is None else f"{per_s:g} readings/s"


HELD_BACK = "counts are withheld until bets are closed"
"""Shown instead of the reading rate while bets are open, because the rate could help to time the ball."""


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


_DEVICES_EXAMPLES = (
    "tablectl devices",
    "tablectl devices --follow",
    "tablectl devices cam",
)

ERRORS = frozenset(
    {
        *("noise", "half", "bad_crc", "bad_form", "forged", "lost", "refused", "babble"),
        *("malformed", "spoilt_frames", "bad_sentences"),
    }
)
"""The counters of a device's unusable data."""
Device = dict[str, object]


def add_devices_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `devices`."""
    parser.add_argument("device", nargs="?", metavar="DEVICE", help="show every value of this device")
    add_follow(parser)
    add_socket(parser)
    add_json(parser)


def run_devices(arguments: argparse.Namespace) -> int:
    """Print the devices; return 1 if a device is offline, faulty or unknown."""
    name: str | None = arguments.device

    def request() -> Snapshot:
        devices = cast("dict[str, Device]", _status(arguments.socket).get("devices", {}))
        if name is not None and name not in devices:
            expected = ", ".join(devices) or "none"
            raise UnknownDeviceError(f"the table has no device {name!r}; its devices are {expected}")
        chosen = devices if name is None else {name: devices[name]}
        well = all(device["up"] and not fault_codes(device) for device in chosen.values())
        return Snapshot(
            code=OK if well else FAILED,
            values=[chosen],
            lines=lambda screen: device_lines(screen, chosen, figures=name is not None),
        )

    return show(arguments, Screen(sys.stdout), request)


def device_lines(screen: Screen, devices: Mapping[str, Device], *, figures: bool) -> list[str]:
    """Return a few lines per device or, with `figures`, all values of each device."""
    if not devices:
        return ["the table's file contains no devices, and no device has reported"]
    if figures:
        return [
            line
            for name, device in devices.items()
            for line in (
                *screen.table([_device(name, device)], indent=""),
                *screen.table([Entry(*row) for row in rows_of(device)]),
            )
        ]
    return screen.table([entry for pair in devices.items() for entry in _two_lines(*pair)], indent="")


def _two_lines(name: str, device: Device) -> Iterator[Entry]:
    yield Entry(name, health(device), _style_of(device), "bold")
    yield Entry("", ", ".join(_figures(device)), "dim")
    if device["up"] and device["trouble"] and not fault_codes(device):
        yield Entry("", f"last fault: {device['trouble']}; {device['do']}".rstrip("; "), "dim")


def _figures(device: Device) -> Iterator[str]:
    figures = _figures_of(device)
    if device["type"]:
        yield str(device["type"])
    if figures.get("firmware"):
        yield f"firmware {figures['firmware']}"
    errors = sum(value for name, value in figures.items() if name in ERRORS and isinstance(value, int))
    if device["readings_per_s"] is None:
        return
    if figures:
        yield f"{errors} error{'' if errors == 1 else 's'}"
    if figures.get("clock_error_us") is not None:
        yield f"clock within {figures['clock_error_us']} us, {figures['drift_ppm']} ppm off"
    seen_s = device["last_seen_s"]
    yield "never seen" if seen_s is None else f"seen {seen_s:g} s ago"


def fault_codes(device: Mapping[str, object]) -> list[str]:
    """Return the codes of a device's current faults."""
    figures = device.get("figures")
    codes = figures.get("troubles") if isinstance(figures, dict) else None
    return [str(one) for one in codes] if isinstance(codes, list | tuple | dict) else []


def _figures_of(device: Device) -> dict[str, object]:
    figures = device["figures"]
    assert isinstance(figures, dict)
    return figures


_FAULTS_EXAMPLES = ("tablectl faults", "tablectl faults --follow")

_PARTS = (
    ("where", "where"),
    ("found", "found"),
    ("likely cause", "cause"),
    ("what to do", "next_step"),
    ("clears", "clears"),
)


def add_faults_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `faults`."""
    add_follow(parser)
    add_socket(parser)
    add_json(parser)


def run_faults(arguments: argparse.Namespace) -> int:
    """Print the active faults; return 1 if there are any."""

    def request() -> Snapshot:
        faults = _list(ask(arguments.socket, {"do": "faults"})["faults"])
        return Snapshot(
            code=FAILED if faults else OK, values=faults, lines=lambda screen: fault_lines(screen, faults)
        )

    return show(arguments, Screen(sys.stdout), request)


def fault_lines(screen: Screen, faults: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the lines of all faults, with their meanings, next steps and clearing conditions."""
    if not faults:
        return [screen.styled("no faults", "green")]
    lines: list[str] = []
    for fault in faults:
        locks = " (play is locked)" if fault["locks"] else ""
        lines += screen.entry(Entry(f"{fault['code']}: ", f"{fault['what']}{locks}", "plain", "red"))
        lines += screen.table(
            Entry(
                heading,
                str(fault[key]).removeprefix(f"{heading} "),
                "bold" if key == "next_step" else "plain",
                "dim",
            )
            for heading, key in _PARTS
        )
    return lines


_OUTBOX_EXAMPLES = (
    "tablectl outbox",
    "tablectl outbox --limit 10 --json",
)


def add_outbox_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `outbox`."""
    parser.add_argument(
        "--limit",
        type=whole_number(1, 1000),
        default=100,
        metavar="N",
        help="list at most N outcomes (default: 100)",
    )
    parser.add_argument(
        "--after",
        type=whole_number(0, MAX_ROW),
        default=0,
        metavar="ROW",
        help="list only outcomes after this row of the journal",
    )
    parser.add_argument(
        "--settled",
        nargs=2,
        metavar=("ID", "CHAIN"),
        help="mark this outcome as acknowledged by settlement, with the chain value from settlement",
    )
    add_socket(parser)
    add_json(parser)


def run_outbox(arguments: argparse.Namespace) -> int:
    """List the outbox, or mark an outcome as acknowledged; return 1 after a refusal."""
    request: Json = {"do": "outbox", "limit": arguments.limit, "after": arguments.after}
    if arguments.settled:
        outcome_id, chain = arguments.settled
        request = {"do": "settled", "id": outcome_id, "chain": chain}
    try:
        answer = ask(arguments.socket, request)
    except OutOfReachError as error:
        return report_out_of_reach(error)
    if not answer["ok"]:
        say(f"{answer['says']} [{answer['code']}]")
        return FAILED
    if arguments.settled:
        print(msgspec.json.encode(answer).decode() if arguments.json else f"{arguments.settled[0]}: closed")
    else:
        _list_outbox(answer["outbox"], arguments)
    return OK


def _list_outbox(waiting: object, arguments: argparse.Namespace) -> None:
    assert isinstance(waiting, list)
    for place in waiting:
        outcome = place["outcome"]
        line = f"{place['n']:>8}  {outcome['id']}  {outcome['type']}  {place['chain']}"
        print(msgspec.json.encode(place).decode() if arguments.json else line)
    if arguments.json:
        return
    if len(waiting) == arguments.limit:
        print(f"--limit {arguments.limit} is reached; --after {waiting[-1]['n']} lists any other outcomes")
    elif not waiting:
        after = f" after row {arguments.after}" if arguments.after else ""
        print(f"settlement has acknowledged every outcome{after}")


COMMANDS = {
    "status": Command(add_status_arguments, run_status, _STATUS_EXAMPLES),
    "devices": Command(add_devices_arguments, run_devices, _DEVICES_EXAMPLES),
    "faults": Command(add_faults_arguments, run_faults, _FAULTS_EXAMPLES),
    "outbox": Command(add_outbox_arguments, run_outbox, _OUTBOX_EXAMPLES),
}
