"""The controller at work: what it says of itself, what systemd says of its units, and who may ask it."""

import grp
from collections.abc import Collection, Iterator, Mapping, Sequence

from controller.doctor.finding import Finding, Machine

UNITS = ("table.service", "table-settlement.service")
Told = Mapping[str, object]
TOLD_BY_CHECKS = frozenset({"self_test_waits", "device_missing"})
"""Faults that the self-test's own lines tell already, each with its cause."""
CONSOLE = "table-console"
GROUPS: Mapping[str, str] = {
    CONSOLE: "the controller's socket",
    "table-staff": "rulings and approvals",
    "table-technician": "tests, explanations, recordings",
    "dialout": "serial ports",
    "gpio": "GPIO lines",
}
"""What each group of the installed unit opens to its members."""


def controller(status: Told | None, why: str) -> Iterator[Finding]:
    """Go through a running controller's status; `why` says why there is none."""
    if status is None:
        yield Finding("fault", "controller", why, "systemctl start table, or tablectl run TABLE")
        return
    faults, checks = _list(status.get("faults")), _list(status.get("self_test"))
    stands = f"answers, {status.get('lock')}; what is wrong follows" if faults else status["headline"]
    yield Finding("ok", "controller", f"{status['table']}: {stands}")
    journal = status.get("journal")
    if isinstance(journal, Mapping) and "verified" in journal:
        later = "" if journal["verified"] == "whole" else "; the rest is being read in the background"
        yield Finding("ok", "journal at work", f"its chain is verified {journal['verified']}{later}")
    for fault in faults:
        if fault.get("code") not in TOLD_BY_CHECKS or not checks:
            says = f"{fault.get('code')}: {fault.get('found')}"
            remedy = f"tablectl faults says what to do about {fault.get('code')}"
            yield Finding("fault", "standing fault", says, remedy)
    for check in checks:
        if not check.get("ok") and (check.get("name") != "faults" or not faults):
            yield Finding(
                "fault", f"self-test {check.get('name')}", str(check.get("says")), "tablectl devices"
            )


def units(machine: Machine) -> Iterator[Finding]:
    """Ask systemd how the units stand, and how often each was started again."""
    for unit in UNITS:
        told = machine.call(
            ("systemctl", "show", unit, "-p", "LoadState,ActiveState,SubState,NRestarts,WatchdogUSec,Result")
        )
        words = dict(line.partition("=")[::2] for line in (told or "").splitlines())
        if words.get("LoadState") != "loaded":
            yield Finding(
                "unchecked", unit, "not installed here as a service" if words else "no systemd here"
            )
            continue
        state, again = words.get("ActiveState"), words.get("NRestarts", "0")
        says = f"{state} ({words.get('SubState')}), started again {again} times"
        remedy = f"systemctl status {unit}; journalctl -u {unit}"
        if state in {"failed", "activating"}:
            yield Finding("fault", unit, f"{says}, {words.get('Result')}", remedy)
        elif again not in {"0", ""}:
            yield Finding("warning", unit, says, f"{remedy} -n 200; systemctl restart {unit} counts anew")
        else:
            yield Finding("ok", unit, says)
        if state == "active" and words.get("WatchdogUSec", "0") in {"0", "infinity"}:
            yield Finding("warning", unit, "no watchdog is set", "put the unit's own WatchdogSec back")


def caller(user: str, uid: int, session: Collection[int], known: Sequence[grp.struct_group]) -> Finding:
    """Say what this user's groups open to him; `session` are those that he has, `known` the machine's own."""
    about = f"user {user}"
    if uid == 0:
        return Finding("ok", about, "may look at everything and do everything")
    there = {group.gr_name: group for group in known if group.gr_name in GROUPS}
    if CONSOLE not in there:
        return Finding("unchecked", about, f"no group {CONSOLE}: not installed here as a service")
    mine = {name for name, group in there.items() if group.gr_gid in session}
    given = {name for name, group in there.items() if user in group.gr_mem} - mine
    lacks = [f"{name} ({opens})" for name, opens in GROUPS.items() if name in there and name not in mine]
    says = f"in {', '.join(name for name in GROUPS if name in mine) or 'none of the groups of the table'}"
    if lacks:
        says += f"; not in {', '.join(lacks)}"
    if given:
        return Finding("warning", about, says, f"log in anew: {', '.join(sorted(given))} was given since")
    if CONSOLE not in mine:
        return Finding("unchecked", about, says, f"sudo usermod -aG {CONSOLE} {user}, then log in anew")
    return Finding("ok", about, says)


def _list(value: object) -> Sequence[Told]:
    return value if isinstance(value, list) else ()
