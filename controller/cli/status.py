"""`tablectl status`: how the table stands now, why, and what to do."""

import argparse
from collections.abc import Iterator, Mapping

import msgspec

from controller.cli.devices import troubles_of
from controller.cli.exits import FAILED, OK, printable
from controller.cli.link import OutOfReachError, add_socket, ask, out_of_reach
from controller.cli.tables import Row, aligned, rows_of

EXAMPLES = (
    "tablectl status",
    "tablectl status --all",
    "tablectl status --json",
)

_APART = frozenset({"faults", "self_test", "devices", "awaited", "locked"})
Status = dict[str, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--all", action="store_true", help="also print counters, numbers and digests")
    add_socket(parser)


def run(arguments: argparse.Namespace) -> int:
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
    """Say in words how a device is: well, away, or what troubles it, and what to do."""
    says, do = device.get("says"), device.get("do")
    seen_s = device.get("last_seen_s")
    if not device.get("up"):
        since = "never heard of" if seen_s is None else f"away for {seen_s:g} s"
        return f"{since}: {says or 'it sends nothing'}{f'; {do}' if do else ''}"
    if troubled := troubles_of(device):
        return f"troubled: {', '.join(troubled)}{f'; {do}' if do else ''}"
    return f"well, {device.get('readings_per_s', 0):g} readings a second"


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []
