"""Who may enter what: players their own inputs, technicians no ruling; and who may set the dice faces."""

from controller.machines.flat import InputRefused
from controller.model.readings import Input
from controller.model.rulesets import RuleSet

PLAYERS = frozenset({"player", "shooter", "guest"})
"""Roles that may not rule, lock or open a table; everyone else at a console is staff."""
PLAYERS_MAY = frozenset({"pass_dice", "play", "fold", "decline", "buy", "leave"})
SETTLEMENTS_ALONE = frozenset({"line_bet", "pair_plus", "late_wager", "play_asked", "played"})
"""Inputs that say who has which bet: from the settlement engine and from nobody else."""
CONFIRM_BY = ("dealer", "boxperson")
"""Who must confirm a wager made with the dice out, each of them once (C34-MK-1b)."""
RULINGS = frozenset(
    {"accept", "void", "no_roll", "set_dice", "no_spin", "set_number", "misdeal", "set_card", "play", "fold"}
)
"""Inputs that decide an attempt, or a part of it: never a technician's to enter."""
_MAY_NOT_SET_FACES = {
    "boxperson": frozenset({"dealer", "stickperson"}),
    "dealer": frozenset({"stickperson"}),
}
"""For each role that sets the faces, the staff roles that may not (C34-PT-3)."""


def require_role(entered: Input, rules: RuleSet) -> None:
    """Check that this role may enter this input; raises InputRefused."""
    if entered.by in PLAYERS and entered.name not in PLAYERS_MAY:
        raise InputRefused("not_staff")
    if entered.by == "technician" and entered.name in RULINGS:
        raise InputRefused("not_technicians")
    if entered.name == "confirm_late" and entered.by not in CONFIRM_BY:
        raise InputRefused("not_theirs", "a dealer and a boxperson confirm a late wager; have them enter it")
    faces_by = "dealer" if rules.throw is None else rules.throw.faces_by
    if entered.name == "set_dice" and entered.by in _MAY_NOT_SET_FACES[faces_by]:
        says = f"the {faces_by} decides the faces, not the {entered.by}; have the {faces_by} enter them"
        raise InputRefused("not_theirs", says)
