"""How the table stands for a screen: state, what waits, what each role may enter now, the last results.

Lighter than the status, since a screen asks at every change: no device's figures, nothing of the outbox.
"""

from typing import TYPE_CHECKING

import msgspec

from controller.app.live import Live
from controller.app.roles import INPUT_NEEDS, MAY, ROLES, Role
from controller.app.status import fault_of, lock_of
from controller.app.view import View
from controller.machines.flat import Refused
from controller.machines.roles import PLAYERS, must_be_theirs
from controller.model.readings import Input
from controller.model.rulesets import RuleSet

if TYPE_CHECKING:
    from controller.app.daemon import Daemon

STAFF = tuple(role for role in ROLES if role not in PLAYERS)
"""Who can be at a screen of the staff's."""
_NOT_SHOWN = ("call", "learned", "standing")
"""Of the state: what no screen shows, or only the technician's."""


def floor_of(daemon: "Daemon") -> dict[str, object]:
    """Return how the table stands, as JSON values; raises JournalFault where the journal can't be read."""
    rules = daemon.settings.rules
    told: dict[str, object] = {
        "table": daemon.settings.table,
        "ruleset": rules.name,
        "title": rules.title,
        "game": rules.game,
        "calls": daemon.settings.calls,
        "hold_ms": _hold_ms(rules),
        "pockets": () if daemon.settings.wheel is None else daemon.settings.wheel.pockets_clockwise,
        "headline": daemon.headline(),
        "faults": [fault_of(fault) for fault in daemon.board.present],
    }
    live = daemon.live
    if live is None:
        return {**told, "up": False}
    return {**told, "up": True, **_of_view(live, live.core.view, rules)}


def board_of(live: Live) -> dict[str, object]:
    """Return what players may see: the board as it is published, and how often each result came.

    Raises JournalFault where the journal can't be read.
    """
    view = live.core.view
    shown = live.showing.shown(None if view.testing else view.awaited)
    return {"board": shown.board, "counts": shown.counts}


def _of_view(live: Live, view: View, rules: RuleSet) -> dict[str, object]:
    state: dict[str, object] = msgspec.to_builtins(view.state)
    for key in _NOT_SHOWN:
        state.pop(key, None)
    word = {"roulette": "spin", "three_card": "deal"}.get(rules.game, "roll")
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
        "standing": None if standing is None else standing.number,
        "bets": {"open": not view.bets_closed, "round": view.first.round},
        "awaited": view.awaited,
        "allowed": view.allowed,
        "may": {role: _their_part(view.allowed, role, rules) for role in STAFF},
        "late": [{"wager": wager, "says": says} for wager, says in live.late_wagers],
        "results": live.showing.shown(view.awaited).results,
    }


def _their_part(allowed: tuple[str, ...], role: str, rules: RuleSet) -> tuple[str, ...]:
    return tuple(name for name in allowed if _is_theirs(name.partition(" ")[0], role, rules))


def _is_theirs(name: str, role: str, rules: RuleSet) -> bool:
    unix: Role = "technician" if role == "technician" else "staff"
    if unix not in MAY[INPUT_NEEDS.get(name, "rule")]:
        return False
    try:
        must_be_theirs(Input(t=0, dev="", name=name, by=role), rules)
    except Refused:
        return False
    return True


def _hold_ms(rules: RuleSet) -> float:
    judged = rules.throw or rules.spin or rules.deal
    return 0.0 if judged is None else judged.call_hold_ms
