"""What the control socket tells of the table."""

from typing import TYPE_CHECKING

from controller.app.clock import iso
from controller.app.faults import CATALOGUE, Fault

if TYPE_CHECKING:
    from controller.app.daemon import Daemon


def status_of(daemon: "Daemon") -> dict[str, object]:
    """Give the whole status as JSON values."""
    now = daemon.wall()
    told: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": daemon.settings.rules.name,
        "headline": daemon.headline(),
        "started": iso(daemon.started.us),
        "wall": {"now": iso(now.us), "synchronized": now.synced},
        "faults": [fault_of(fault) for fault in daemon.board.present],
        "identity": {
            "digests": daemon.digests,
            "approved_by": None if daemon.approved is None else daemon.approved.who,
        },
        "sources": [source.name for source in daemon.sources],
        "waiting": daemon.inlet.waiting,
    }
    live = daemon.live
    if live is None:
        return {**told, "lock": "locked", "lamps": {"lock": "locked", "fault": _first_code(daemon)}}
    view = live.core.view
    return {
        **told,
        "lock": "locked" if view.halted else view.state.lock,
        "held": view.held,
        "state": view.state,
        "next": view.first,
        "session": live.setup.session,
        "attempt_open": view.attempt_open,
        "pending": [{"attempt": cut.attempt, "number": cut.number} for cut in view.pending],
        "testing": view.testing,
        "halted": view.halted,
        "table_time_us": view.now_us,
        "readings": view.readings,
        "late": view.late,
        "lamps": dict(live.core.lamps),
        "devices": {name: seen._asdict() for name, seen in live.core.devices.seen.items()},
        "open_switches": live.core.devices.open_switches,
        "self_test": live.tested,
        "recording": view.recording,
        "journal": {"last_row": live.last_n, "waiting": live.journal.waiting},
    }


def fault_of(fault: Fault) -> dict[str, object]:
    """Give a fault with its entry in the catalogue."""
    kind = CATALOGUE[fault.code]
    return {"code": fault.code, "where": fault.where, "found": fault.found, **kind._asdict()}


def _first_code(daemon: "Daemon") -> str:
    present = daemon.board.present
    return present[0].code if present else "none"
