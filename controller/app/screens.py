"""What screens show of the present: the floor as the staff works at it, and the board above the table."""

import msgspec

from controller.app.daemon import Daemon
from controller.app.faults import APPROVES, Fault
from controller.app.peers import APPROVERS, INPUT_NEEDS, MAY, ROLES, Role
from controller.app.running import RunningTable
from controller.app.status import fault_of, lock_of
from controller.app.view import View
from controller.games.registry import game_of
from controller.machines.flat import InputRefused
from controller.machines.refusals import PLAYERS, require_role
from controller.model.geometry import DiceTable
from controller.model.readings import Input
from controller.model.rulesets import RuleSet


def _felt_of(table: DiceTable | None) -> dict[str, float] | None:
    """Return the size of the felt, to which a screen draws the dice; None where none are thrown."""
    return None if table is None else {"length_mm": table.length_mm, "width_mm": table.width_mm}


STAFF = tuple(role for role in ROLES if role not in PLAYERS)
"""Who can be at a screen of the staff's."""
_NOT_SHOWN = ("call", "learned", "standing")
"""Of the state: what no screen shows, or only the technician's."""


def floor_of(daemon: Daemon) -> dict[str, object]:
    """Return the table's state for the staff's screens, as JSON values; raises JournalFault."""
    rules = daemon.settings.rules
    faults = daemon.faults.present
    told: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": rules.name,
        "title": rules.title,
        "game": rules.game,
        "calls": daemon.settings.calls,
        "hold_ms": _hold_ms(rules),
        "felt": _felt_of(daemon.settings.dice_table),
        "pockets": () if daemon.settings.wheel is None else daemon.settings.wheel.pockets_clockwise,
        "headline": daemon.headline(),
        "faults": [{**fault_of(fault), "approve": _approval_of(fault)} for fault in faults],
    }
    live = daemon.live
    if live is None:
        return {**told, "up": False}
    approvals = tuple(f"approve {what}" for what in map(_approval_of, faults) if what)
    return {**told, "up": True, **_of_view(live, live.core.view, rules, approvals)}


def board_of(live: RunningTable) -> dict[str, object]:
    """Return what players may see: the board as it is published, and how often each result came.

    Raises JournalFault where the journal can't be read.
    """
    view = live.core.view
    shown = live.showing.shown(None if view.testing else view.awaited)
    return {"board": shown.board, "counts": shown.counts}


def _approval_of(fault: Fault) -> str | None:
    """Return what a person approves to clear this fault; None where an approval does not."""
    return next((what for what, codes in APPROVES.items() if fault.code in codes), None)


def _of_view(live: RunningTable, view: View, rules: RuleSet, approvals: tuple[str, ...]) -> dict[str, object]:
    state: dict[str, object] = msgspec.to_builtins(view.state)
    for key in _NOT_SHOWN:
        state.pop(key, None)
    word = game_of(rules.game).attempt.attempt
    standing = view.state.call
    return {
        "state": state,
        "lock": "locked" if view.halted else view.state.lock,
        "locked": lock_of(view),
        "testing": view.testing,
        "halted": view.halted,
        "attempt": {
            "word": word,
            "number": getattr(view.first, word) - 1,
            "under_way": view.in_flight,
            "open": view.attempt_open,
        },
        "hold_left_ms": _hold_left_ms(view),
        "standing": None if standing is None else standing.number,
        "bets": {"open": not view.bets_closed, "round": view.first.round},
        "awaited": view.awaited,
        "acted": view.acted,
        "allowed": view.allowed,
        "may": {role: _their_part((*view.allowed, *approvals), role, rules) for role in STAFF},
        "late": [{"wager": wager, "says": says} for wager, says in live.late_wagers],
        "results": live.showing.shown(view.awaited).results,
    }


def _their_part(allowed: tuple[str, ...], role: str, rules: RuleSet) -> tuple[str, ...]:
    return tuple(name for name in allowed if _is_theirs(name.partition(" ")[0], role, rules))


def _is_theirs(name: str, role: str, rules: RuleSet) -> bool:
    if name == "approve":
        return role in APPROVERS
    unix: Role = "technician" if role == "technician" else "staff"
    if unix not in MAY[INPUT_NEEDS.get(name, "rule")]:
        return False
    try:
        require_role(Input(t=0, dev="", name=name, by=role), rules)
    except InputRefused:
        return False
    return True


def _hold_left_ms(view: View) -> float | None:
    """Return for how long the call that is held can still be stopped; None where none is held."""
    return None if view.hold_ends_us is None else max(0, view.hold_ends_us - view.now_us) / 1000


def _hold_ms(rules: RuleSet) -> float:
    judged = rules.throw or rules.spin or rules.deal
    return 0.0 if judged is None else judged.call_hold_ms
