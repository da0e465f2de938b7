"""The status that commands, screens and technicians ask for: table, devices and faults as JSON values."""

import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.app.clock import iso
from controller.app.daemon import Daemon
from controller.app.faults import CATALOGUE, WAITS, Fault
from controller.app.hardware import NEVER, DeviceActivity
from controller.app.view import View
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file
from drivers.health import TROUBLES
from drivers.registry import DEVICE_MODULES, device_type

_TIMELESS = frozenset({"node", "firmware", "boot", "does", "phase", "troubles", "connected", "open", "clock"})
"""A device's figures that never tell when it saw something."""
_SECOND_US = 1_000_000


def status_of(daemon: Daemon) -> dict[str, object]:
    """Return the whole status as JSON values."""
    now = daemon.wall()
    told: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": daemon.settings.rules.name,
        "file": _file_of(daemon),
        "journal_folder": str(daemon.options.journal.absolute()),
        "headline": daemon.headline(),
        "started": iso(daemon.started.us),
        "wall": {"now": iso(now.us), "synchronized": now.synced},
        "faults": [fault_of(fault) for fault in daemon.faults.present],
        "identity": {
            "digests": daemon.digests,
            "approved_by": None if daemon.approved is None else daemon.approved.who,
        },
        "shadow": daemon.options.shadow,
        "sources": [source.name for source in daemon.sources],
        "waiting": daemon.inlet.waiting,
        "process": _process(),
    }
    live = daemon.live
    if live is None:
        return {**told, "lock": "locked", "lamps": {"lock": "locked", "fault": _first_code(daemon)}}
    view = live.core.view
    # A table on its data's own time plays what is recorded: there is no ball to time.
    hidden = view.hides_seen(live.setup.ruleset.game) and not daemon.options.data_time
    return {
        **told,
        "lock": "locked" if view.halted else view.state.lock,
        "held": view.held,
        "locked": lock_of(view),
        "awaited": view.awaited,
        "state": msgspec.structs.replace(view.state, call=None),
        "next": view.first,
        "session": live.setup.session,
        "attempt_open": view.attempt_open,
        "pending": [{"attempt": cut.attempt, "number": cut.number} for cut in view.pending],
        "testing": view.testing,
        "halted": view.halted,
        "table_time_us": view.now_us // _SECOND_US * _SECOND_US if hidden else view.now_us,
        "readings": None if hidden else view.readings,
        "held_back": hidden,
        "late": view.late,
        "lamps": dict(live.core.lamps.shown),
        "devices": devices_of(daemon, live.core.devices.seen, hidden=hidden),
        "open_switches": live.core.devices.open_switches,
        "self_test": live.tested,
        "recording": view.recording,
        "journal": {
            "last_row": live.last_n,
            "waiting": live.journal.waiting,
            "verified": "whole" if live.sound else "from the last checkpoint",
        },
        "publish": daemon.publishing.status(),
    }


def _file_of(daemon: Daemon) -> str:
    """Return the table's own file, by which it was started; as it was named where it is gone."""
    with suppress(SettingsError):
        return str(config_file("tables", daemon.options.table).resolve())
    return daemon.options.table


def _process() -> dict[str, object]:
    """Return what this process has used of the CPU, and its memory now (proc(5), statm), if known."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resident_bytes = None
    with suppress(OSError):  # a status is told, whatever of /proc this process may not see
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        resident_bytes = pages * resource.getpagesize()
    return {"cpu_s": round(used.ru_utime + used.ru_stime, 2), "resident_bytes": resident_bytes}


def lock_of(view: View) -> dict[str, object] | None:
    """Return who locked the table, why, and what unlocks it; None if it is not locked."""
    if view.state.lock != "locked":
        return None
    lock = view.locked_by
    if lock is None:
        return {
            "by": "",
            "who": None,
            "cause": "",
            "says": "locked since before the restart",
            "clears": _BY_HAND,
        }
    cause = str(lock.cause)
    kind = CATALOGUE.get(WAITS if cause == "self_test" else cause)
    clears = _BY_HAND if view.held or kind is None else kind.clears
    says = lock.says or ("" if kind is None else kind.what)
    return {"by": lock.by or lock.what or "", "who": lock.who, "cause": cause, "says": says, "clears": clears}


_BY_HAND = "when a member of staff unlocks it: tablectl input unlock --by supervisor"


def devices_of(
    daemon: Daemon, seen: Mapping[str, DeviceActivity], *, hidden: bool = False
) -> dict[str, dict[str, object]]:
    """Return for each device its health, its rate, its last trouble and remedy, and its own figures.

    `hidden` leaves out all that grows or changes with each reading: counts that are asked for often enough
    time a ball.
    """
    hardware = daemon.hardware
    figures = {} if hardware is None else hardware.status()
    kinds = {} if hardware is None else hardware.kinds
    now_us = daemon.inlet.now_us
    told: dict[str, dict[str, object]] = {}
    for name in (*daemon.settings.devices, *(name for name in seen if name not in daemon.settings.devices)):
        one = seen.get(name, NEVER)
        told[name] = {
            "type": kinds.get(name, ""),
            "reads": daemon.settings.devices[name].reads if name in daemon.settings.devices else (),
            "up": one.up,
            "says": one.says,
            "readings": None if hidden else one.readings,
            "readings_per_s": None if hidden else one.per_s,
            "last_seen_s": None
            if one is NEVER or (hidden and one.up)
            else round((now_us - one.last_us) / 1e6, 1),
            "since_s": None if one is NEVER else round((now_us - one.since_us) / 1e6),
            "trouble": one.trouble,
            "do": _remedy(kinds.get(name, ""), one.trouble),
            "figures": _timeless(figures.get(name, {})) if hidden else figures.get(name, {}),
        }
    return told


def _timeless(figures: Mapping[str, object]) -> dict[str, object]:
    return {name: figure for name, figure in figures.items() if name in _TIMELESS}


def _remedy(kind: str, trouble: str) -> str:
    """Return what to do about a device's last trouble; empty if there was none that its type knows."""
    causes = device_type(kind).causes if kind in DEVICE_MODULES else TROUBLES
    return causes[trouble].do if trouble in causes else ""


def fault_of(fault: Fault) -> dict[str, object]:
    """Return a fault with its entry in the catalogue."""
    return {"code": fault.code, "where": fault.where, "found": fault.found, **fault.kind._asdict()}


def _first_code(daemon: Daemon) -> str:
    present = daemon.faults.present
    return present[0].code if present else "none"
