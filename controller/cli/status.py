"""`tablectl status`, `devices`, `faults`, `outbox`, `watch`: how the table stands, why, what to do."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.cli.link import Json, OutOfReachError, add_socket, ask, conversation, out_of_reach
from controller.cli.screen import Row, aligned, rows_of
from controller.cli.shell import BAD_INPUT, FAILED, OK, ROWS, Command, printable, say, whole

_STATUS_EXAMPLES = (
    "tablectl status",
    "tablectl status --all",
    "tablectl status --json",
)

_APART = frozenset({"faults", "self_test", "devices", "awaited", "locked"})
Status = dict[str, object]


def add_status_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `status`."""
    parser.add_argument("--all", action="store_true", help="also print counters, numbers and digests")
    add_socket(parser)


def run_status(arguments: argparse.Namespace) -> int:
    """Print the status; 1 where a fault holds or the self-test has not passed."""
    try:
        status = ask(arguments.socket, {"do": "status"})["status"]
    except OutOfReachError as error:
        return out_of_reach(error)
    assert isinstance(status, dict)
    if arguments.json:
        print(msgspec.json.encode(status).decode())
    else:
        _show(status, everything=arguments.all)
    checks = status.get("self_test", [])
    return OK if not status["faults"] and all(check["ok"] for check in checks) else FAILED


def _show(status: Status, *, everything: bool) -> None:
    print(printable(f"{status['table']} ({status['ruleset']}): {status['headline']}"))
    sections = [
        ("play", _play(status)),
        ("waits for a person", _awaited(_mapping(status.get("awaited")))),
        ("locked", _lock(_mapping(status.get("locked")))),
        ("faults", _faults(status)),
        ("devices", ((name, health(_mapping(one))) for name, one in _mapping(status.get("devices")).items())),
        ("self-test", _checks(status, everything=everything)),
    ]
    if everything:
        plain = {
            name: value for name, value in status.items() if name not in _APART and value not in ({}, [])
        }
        sections.append(("all", rows_of(plain)))
    for heading, rows in sections:
        lines = [printable(line) for line in aligned(rows)]
        if lines:
            print(f"\n{heading}", *lines, sep="\n")


def _play(status: Status) -> Iterator[Row]:
    """What the players see: open or closed, the point, who throws, the round."""
    state = _mapping(status.get("state"))
    if not state:
        return
    mode = "test mode" if status.get("testing") else f"{state.get('table', 'open')}, {status['lock']}"
    yield "table", mode
    for name, label in (("point", "point"), ("shooter", "shooter"), ("run_out", "run-out")):
        if state.get(name):
            yield label, str(state[name])
    without = _mapping(state.get("three_card")).get("without_pair_plus")
    if isinstance(without, list) and without:
        yield "without Pair Plus", f"{', '.join(map(str, without))}: name them before the cards (T-DEAL-2b)"


def _awaited(awaited: Mapping[str, object]) -> Iterator[Row]:
    if not awaited:
        return
    yield str(awaited["attempt"]), f"{awaited['number']}, {_STANDS[str(awaited['state'])]}"
    for reason in _list(awaited.get("reasons")):
        die = f" die {reason['die']}" if reason.get("die") else ""
        yield str(reason["code"]) + die, f"{reason['seen']} [{reason['rule']}]"
    if awaited.get("seen"):
        yield "seen so far", str(awaited["seen"])
    if awaited.get("proposes"):
        yield "proposed", str(awaited["proposes"])
    may = awaited.get("may")
    yield "say", " or ".join(map(str, may)) if isinstance(may, list) else ""


_STANDS = {"review": "under review: a person must rule", "proposed": "proposed: a person must accept it"}


def _lock(lock: Mapping[str, object]) -> Iterator[Row]:
    if lock:
        who = f" ({lock['who']})" if lock.get("who") else ""
        yield "by", f"{lock.get('by') or 'nobody knows whom'}{who}"
        yield "why", str(lock.get("says") or lock.get("cause") or "no reason was given")
        yield "clears", str(lock.get("clears"))


def _faults(status: Status) -> Iterator[Row]:
    for fault in _list(status.get("faults")):
        locks = ", locks play" if fault.get("locks") else ""
        yield str(fault["code"]), f"{fault['where']}: {fault['found']}{locks}"
        yield "", f"do: {fault.get('next_step')}"
        yield "", f"clears: {fault.get('clears')}"


def _checks(status: Status, *, everything: bool) -> Iterator[Row]:
    for check in _list(status.get("self_test")):
        if everything or not check["ok"]:
            yield str(check["name"]), str(check["says"])


def health(device: Mapping[str, object]) -> str:
    """Return a device's health in words: well, away, or what is wrong and what to do."""
    says, do = device.get("says"), device.get("do")
    seen_s = device.get("last_seen_s")
    if not device.get("up"):
        since = "never heard of" if seen_s is None else f"away for {seen_s:g} s"
        return f"{since}: {says or 'it sends nothing'}{f'; {do}' if do else ''}"
    if troubled := troubles_of(device):
        return f"troubled: {', '.join(troubled)}{f'; {do}' if do else ''}"
    return f"well, {_rate(device)}"


def _rate(device: Mapping[str, object]) -> str:
    per_s = device.get("readings_per_s")
    return HELD_BACK if per_s is None else f"{per_s:g} readings/s"


HELD_BACK = "counts wait until the bets are closed"
"""What a status leaves out while it could time a ball."""


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


_DEVICES_EXAMPLES = (
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


def add_devices_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `devices`."""
    parser.add_argument("device", nargs="?", metavar="DEVICE", help="show every figure of this one")
    add_socket(parser)


def run_devices(arguments: argparse.Namespace) -> int:
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
        _show_devices(devices)
    return OK if all(device["up"] and not _troubles(device) for device in devices.values()) else FAILED


def _show_devices(devices: Mapping[str, Device]) -> None:
    if not devices:
        print("the table's file names no devices, and none has reported")
    for name, device in devices.items():
        print(printable(f"{name:<12} {'up' if device['up'] else 'DOWN':<5} {', '.join(_figures(device))}"))
        if not device["up"] or _troubles(device):
            print(printable(f"{'':<12} {device['says']}"))
        elif device["trouble"]:
            print(printable(f"{'':<12} last trouble: {device['trouble']}; {device['do']}".rstrip("; ")))


def _figures(device: Device) -> Iterator[str]:
    figures = _figures_of(device)
    if device["type"]:
        yield str(device["type"])
    if figures.get("firmware"):
        yield f"firmware {figures['firmware']}"
    yield _rate(device)
    errors = sum(value for name, value in figures.items() if name in ERRORS and isinstance(value, int))
    if device["readings_per_s"] is None:
        return
    if figures:
        yield f"{errors} errors"
    if figures.get("clock_error_us") is not None:
        yield f"clock within {figures['clock_error_us']} us, {figures['drift_ppm']} ppm off"
    seen_s = device["last_seen_s"]
    yield "never seen" if seen_s is None else f"seen {seen_s:g} s ago"


def _troubles(device: Device) -> bool:
    return bool(troubles_of(device))


def troubles_of(device: Mapping[str, object]) -> list[str]:
    """Return a device's present troubles, by their codes."""
    figures = device.get("figures")
    troubles = figures.get("troubles") if isinstance(figures, dict) else None
    return [str(one) for one in troubles] if isinstance(troubles, list | tuple | dict) else []


def _figures_of(device: Device) -> dict[str, object]:
    figures = device["figures"]
    assert isinstance(figures, dict)
    return figures


_FAULTS_EXAMPLES = ("tablectl faults",)

_PARTS = (
    ("where", "where"),
    ("found", "found"),
    ("likely cause", "cause"),
    ("what to do", "next_step"),
    ("clears", "clears"),
)


def add_faults_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `faults`."""
    add_socket(parser)


def run_faults(arguments: argparse.Namespace) -> int:
    """Print every fault that holds; 1 where there is one."""
    try:
        faults = ask(arguments.socket, {"do": "faults"})["faults"]
    except OutOfReachError as error:
        return out_of_reach(error)
    assert isinstance(faults, list)
    if arguments.json:
        for fault in faults:
            print(msgspec.json.encode(fault).decode())
    elif not faults:
        print("no faults")
    for fault in [] if arguments.json else faults:
        print(printable(f"{fault['code']}: {fault['what']}{' (play is locked)' if fault['locks'] else ''}"))
        for line in aligned((heading, str(fault[key])) for heading, key in _PARTS):
            print(printable(line))
    return FAILED if faults else OK


_OUTBOX_EXAMPLES = (
    "tablectl outbox",
    "tablectl outbox --limit 10 --json",
)


def add_outbox_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `outbox`."""
    parser.add_argument(
        "--limit", type=whole(1, 1000), default=100, metavar="N", help="so many at most (default: 100)"
    )
    parser.add_argument(
        "--after", type=whole(0, ROWS), default=0, metavar="ROW", help="only those after this row"
    )
    parser.add_argument(
        "--settled", nargs=2, metavar=("ID", "CHAIN"), help="close this outcome on settlement's word"
    )
    add_socket(parser)


def run_outbox(arguments: argparse.Namespace) -> int:
    """List the outbox, or close one place in it; 1 where that was refused."""
    request: Json = {"do": "outbox", "limit": arguments.limit, "after": arguments.after}
    if arguments.settled:
        told_id, chain = arguments.settled
        request = {"do": "settled", "id": told_id, "chain": chain}
    try:
        told = ask(arguments.socket, request)
    except OutOfReachError as error:
        return out_of_reach(error)
    if not told["ok"]:
        say(f"{told['says']} [{told['code']}]")
        return FAILED
    if arguments.settled:
        print(msgspec.json.encode(told).decode() if arguments.json else f"{arguments.settled[0]}: closed")
    else:
        _list_outbox(told["outbox"], arguments)
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
        print(f"the first {len(waiting)}; --after {waiting[-1]['n']} lists the rest")
    elif not waiting:
        after = f" after row {arguments.after}" if arguments.after else ""
        print(f"nothing waiting{after}: settlement has acknowledged every outcome")


_WATCH_EXAMPLES = (
    "tablectl watch outcomes faults",
    "tablectl watch readings",
)

_TOPICS = ("outcomes", "readings", "lamps", "faults")


def add_watch_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `watch`."""
    parser.description = (
        "Print live outcomes, readings, lamps and faults as JSON lines.\n\n"
        "Cards dealt face down are told without their faces (masked). Ball and rotor readings\n"
        "are told to technicians alone and, while bets are open, when these are closed (delayed)."
    )
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help=f"what to watch: {', '.join(_TOPICS)} (default: all)"
    )
    add_socket(parser)


def run_watch(arguments: argparse.Namespace) -> int:
    """Print what comes until the controller or the reader ends it; 1 where it was refused or dropped."""
    if unknown := sorted(set(arguments.topics) - set(_TOPICS)):
        say(f"watch: found {', '.join(map(repr, unknown))}, expected {', '.join(_TOPICS)}")
        return BAD_INPUT
    try:
        for line in conversation(
            arguments.socket, {"do": "watch", "topics": arguments.topics or list(_TOPICS)}
        ):
            if line.get("ok") is False:
                say(f"{line['says']} [{line['code']}]")
                return FAILED
            if "ok" not in line:
                print(msgspec.json.encode(line).decode(), flush=True)
        return _watch_ended(arguments.socket)
    except OutOfReachError as error:
        return out_of_reach(error)


def _watch_ended(path: str) -> int:
    """Print why the stream ended: a controller that still answers has dropped this reader."""
    from controller.app.peers import answered  # noqa: PLC0415 - at the end of `watch` alone

    with suppress(OSError):
        if answered(Path(path)):
            say(f"{path}: lines were missed: this reader was too slow, or the controller restarted")
            return FAILED
    say(f"{path}: the controller has stopped")
    return OK


COMMANDS = {
    "status": Command(add_status_arguments, run_status, _STATUS_EXAMPLES),
    "devices": Command(add_devices_arguments, run_devices, _DEVICES_EXAMPLES),
    "faults": Command(add_faults_arguments, run_faults, _FAULTS_EXAMPLES),
    "outbox": Command(add_outbox_arguments, run_outbox, _OUTBOX_EXAMPLES),
    "watch": Command(add_watch_arguments, run_watch, _WATCH_EXAMPLES),
}
