"""The controller at work: what it says of itself, and what systemd says of its units."""

from collections.abc import Iterator, Mapping, Sequence

from controller.doctor.finding import Finding, Machine

UNITS = ("table.service", "table-settlement.service")
Told = Mapping[str, object]


def controller(status: Told | None, why: str) -> Iterator[Finding]:
    """Go through a running controller's status; `why` says why there is none."""
    if status is None:
        yield Finding("fault", "controller", why, "systemctl start table, or tablectl run TABLE")
        return
    yield Finding("ok", "controller", f"{status['table']}: {status['headline']}")
    for fault in _list(status.get("faults")):
        says = f"{fault.get('code')}: {fault.get('found')}"
        yield Finding(
            "fault", "standing fault", says, f"tablectl faults says what to do about {fault.get('code')}"
        )
    for check in _list(status.get("self_test")):
        if not check.get("ok"):
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
        again = words.get("NRestarts", "0")
        says = f"{words.get('ActiveState')} ({words.get('SubState')}), started again {again} times"
        remedy = f"systemctl status {unit}; journalctl -u {unit}"
        if words.get("ActiveState") in {"failed", "activating"}:
            yield Finding("fault", unit, f"{says}, {words.get('Result')}", remedy)
        elif again not in {"0", ""}:
            yield Finding("warning", unit, says, remedy)
        else:
            yield Finding("ok", unit, says)
        if words.get("WatchdogUSec", "0") in {"0", "infinity"}:
            yield Finding("warning", unit, "no watchdog is set", "put the unit's own WatchdogSec back")


def _list(value: object) -> Sequence[Told]:
    return value if isinstance(value, list) else ()
