"""The table's status as JSON values, for commands, staff screens and the players' board."""

import resource
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from controller.app.clock import iso
from controller.app.daemon import Daemon
from controller.app.devices import NEVER, DeviceActivity
from controller.app.faults import APPROVES, CATALOGUE, WAITS, Fault
from controller.app.peers import APPROVERS, INPUT_NEEDS, PERMISSIONS, ROLES, Role
from controller.app.running import RunningTable
from controller.app.view import View
from controller.games.registry import game_of
from controller.machines.flat import InputRefused
from controller.machines.refusals import PLAYER_ROLES, require_role
from controller.model.geometry import DiceTable
from controller.model.readings import Input
from controller.model.rulesets import RuleSet
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file
from drivers.health import DEVICE_FAULTS
from drivers.registry import DEVICE_MODULES, device_type

_TIMELESS_FIGURES = frozenset(
    {"node", "firmware", "boot", "does", "phase", "troubles", "connected", "open", "clock"}
)
"""Values of a device that don't reveal the times of its readings."""
_SECOND_US = 1_000_000
Calibration = Literal["camera", "walls", "wheel"]
_CALIBRATIONS: Mapping[str, Calibration] = {"wall_impact": "walls", "ball_beam": "wheel"}


def build_status(daemon: Daemon) -> dict[str, object]:
    """Return the complete status, for commands and technicians."""
    now = daemon.wall()
    fields: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": daemon.settings.rules.name,
        "file": _file_of(daemon),
        "journal_folder": str(daemon.options.journal.absolute()),
        "headline": daemon.headline(),
        "started": iso(daemon.started.us),
        "wall": {"now": iso(now.us), "synchronized": now.synced},
        "faults": [describe_fault(fault) for fault in daemon.faults.present],
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
        return {**fields, "lock": "locked", "lamps": {"lock": "locked", "fault": _first_code(daemon)}}
    view = live.core.view
    # With data time, the table runs a simulation, in which nobody bets.
    hidden = view.must_hide_readings(live.setup.ruleset.game) and not daemon.options.data_time
    return {
        **fields,
        "lock": "locked" if view.halted else view.state.lock,
        "held": view.held,
        "locked": describe_lock(view),
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
        "devices": build_devices(daemon, live.core.devices.seen, hidden=hidden),
        "open_switches": live.core.devices.open_switches,
        "self_test": live.tested,
        "recording": view.recording,
        "journal": {
            "last_row": live.last_n,
            "waiting": live.journal.waiting,
            "verified": "whole" if live.is_verified else "from the last checkpoint",
        },
        "publish": daemon.publishing.status(),
    }


def _file_of(daemon: Daemon) -> str:
    """Return the path of the table's file, or the start option if the file has been deleted."""
    with suppress(SettingsError):
        return str(config_file("tables", daemon.options.table).resolve())
    return daemon.options.table


def _process() -> dict[str, object]:
    """Return this process's CPU time and resident memory (proc(5), statm)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resident_bytes = None
    with suppress(OSError):  # /proc might be restricted
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        resident_bytes = pages * resource.getpagesize()
    return {"cpu_s": round(used.ru_utime + used.ru_stime, 2), "resident_bytes": resident_bytes}


def describe_lock(view: View) -> dict[str, object] | None:
    """Return who or what locked the table, the cause and the remedy; None if the table is unlocked."""
    if view.state.lock != "locked":
        return None
    lock = view.locked_by
    if lock is None:
        return {
            "by": "",
            "who": None,
            "cause": "",
            "says": "the table was locked before the restart",
            "clears": _BY_STAFF,
        }
    cause = str(lock.cause)
    kind = CATALOGUE.get(WAITS if cause == "self_test" else cause)
    clears = _BY_STAFF if view.held or kind is None else kind.clears
    message = lock.says or ("" if kind is None else kind.what)
    return {
        "by": lock.by or lock.what or "",
        "who": lock.who,
        "cause": cause,
        "says": message,
        "clears": clears,
    }


_BY_STAFF = "when a member of staff unlocks it: tablectl input unlock --by supervisor"


def build_devices(
    daemon: Daemon, seen: Mapping[str, DeviceActivity], *, hidden: bool = False
) -> dict[str, dict[str, object]]:
    """Return the health, rate, last fault, remedy and values of each device.

    With `hidden`, values that change with each reading are omitted, because frequent requests would reveal
    the motion of a ball.
    """
    hardware = daemon.hardware
    figures = {} if hardware is None else hardware.status()
    kinds = {} if hardware is None else hardware.kinds
    now_us = daemon.inlet.now_us
    fields: dict[str, dict[str, object]] = {}
    for name in (*daemon.settings.devices, *(name for name in seen if name not in daemon.settings.devices)):
        one = seen.get(name, NEVER)
        reads = daemon.settings.devices[name].reads if name in daemon.settings.devices else ()
        fields[name] = {
            "type": kinds.get(name, ""),
            "reads": reads,
            "calibrates": calibration_of(kinds.get(name, ""), reads),
            "up": one.up,
            "says": one.message,
            "readings": None if hidden else one.readings,
            "readings_per_s": None if hidden else one.per_s,
            "last_seen_s": None
            if one is NEVER or (hidden and one.up)
            else round((now_us - one.last_us) / 1e6, 1),
            "since_s": None if one is NEVER else round((now_us - one.since_us) / 1e6),
            "trouble": one.fault_code,
            "do": _remedy(kinds.get(name, ""), one.fault_code),
            "figures": _timeless(figures.get(name, {})) if hidden else figures.get(name, {}),
        }
    return fields


def calibration_of(kind: str, reads: Collection[str]) -> Calibration | None:
    """Return the `tablectl calibrate` command for a device of this type with these kinds of readings.

    Return None if there is no such command, or if the device's program calibrates the device.
    """
    if kind in DEVICE_MODULES and device_type(kind).calibrated_camera:
        return "camera"
    return next((calibration for reading, calibration in _CALIBRATIONS.items() if reading in reads), None)


def _timeless(figures: Mapping[str, object]) -> dict[str, object]:
    return {name: figure for name, figure in figures.items() if name in _TIMELESS_FIGURES}


def _remedy(kind: str, code: str) -> str:
    causes = device_type(kind).causes if kind in DEVICE_MODULES else DEVICE_FAULTS
    return causes[code].do if code in causes else ""


def describe_fault(fault: Fault) -> dict[str, object]:
    """Return a fault with its entry in the catalogue."""
    return {"code": fault.code, "where": fault.where, "found": fault.found, **fault.kind._asdict()}


def _first_code(daemon: Daemon) -> str:
    present = daemon.faults.present
    return present[0].code if present else "none"


def _felt_of(table: DiceTable | None) -> dict[str, float] | None:
    return None if table is None else {"length_mm": table.length_mm, "width_mm": table.width_mm}


STAFF = tuple(role for role in ROLES if role not in PLAYER_ROLES)
"""The roles that can sign in at a staff screen."""
_NOT_SHOWN = ("call", "learned", "standing")


def build_floor(daemon: Daemon) -> dict[str, object]:
    """Return the table's state for staff screens; raises JournalFault if the journal can't be read."""
    rules = daemon.settings.rules
    faults = daemon.faults.present
    fields: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": rules.name,
        "title": rules.title,
        "game": rules.game,
        "calls": daemon.settings.calls,
        "hold_ms": _hold_ms(rules),
        "felt": _felt_of(daemon.settings.dice_table),
        "pockets": () if daemon.settings.wheel is None else daemon.settings.wheel.pockets_clockwise,
        "headline": daemon.headline(),
        "faults": [{**describe_fault(fault), "approve": _approval_of(fault)} for fault in faults],
    }
    live = daemon.live
    if live is None:
        return {**fields, "up": False}
    approvals = tuple(f"approve {what}" for what in map(_approval_of, faults) if what)
    return {**fields, "up": True, **_of_view(live, live.core.view, rules, approvals)}


def build_board(live: RunningTable) -> dict[str, object]:
    """Return the data for players: the published board, and the count of each result.

    Raises JournalFault if the journal can't be read.
    """
    view = live.core.view
    shown = live.history.shown(None if view.testing else view.awaited)
    return {"board": shown.board, "counts": shown.counts}


def _approval_of(fault: Fault) -> str | None:
    return next((what for what, codes in APPROVES.items() if fault.code in codes), None)


def _of_view(live: RunningTable, view: View, rules: RuleSet, approvals: tuple[str, ...]) -> dict[str, object]:
    state: dict[str, object] = msgspec.to_builtins(view.state)
    for key in _NOT_SHOWN:
        state.pop(key, None)
    kind = game_of(rules.game).attempt.attempt
    last_call = view.state.call
    return {
        "state": state,
        "lock": "locked" if view.halted else view.state.lock,
        "locked": describe_lock(view),
        "testing": view.testing,
        "halted": view.halted,
        "attempt": {
            "word": kind,
            "number": getattr(view.first, kind) - 1,
            "under_way": view.in_flight,
            "open": view.attempt_open,
        },
        "hold_left_ms": _hold_left_ms(view),
        "standing": None if last_call is None else last_call.number,
        "bets": {"open": not view.bets_closed, "round": view.first.round},
        "awaited": view.awaited,
        "acted": view.acted,
        "allowed": view.allowed,
        "may": {role: _allowed_to(role, (*view.allowed, *approvals), rules) for role in STAFF},
        "late": [{"wager": wager, "says": message} for wager, message in live.late_wagers],
        "results": live.history.shown(view.awaited).results,
    }


def _allowed_to(role: str, allowed: tuple[str, ...], rules: RuleSet) -> tuple[str, ...]:
    return tuple(name for name in allowed if _may_enter(role, name.partition(" ")[0], rules))


def _may_enter(role: str, name: str, rules: RuleSet) -> bool:
    if name == "approve":
        return role in APPROVERS
    unix: Role = "technician" if role == "technician" else "staff"
    if unix not in PERMISSIONS[INPUT_NEEDS.get(name, "rule")]:
        return False
    try:
        require_role(Input(t=0, dev="", name=name, by=role), rules)
    except InputRefused:
        return False
    return True


def _hold_left_ms(view: View) -> float | None:
    """Return the remaining time, in ms, in which a held call can be stopped; None if no call is held."""
    return None if view.hold_ends_us is None else max(0, view.hold_ends_us - view.now_us) / 1000


def _hold_ms(rules: RuleSet) -> float:
    judged = rules.throw or rules.spin or rules.deal
    return 0.0 if judged is None else judged.call_hold_ms
