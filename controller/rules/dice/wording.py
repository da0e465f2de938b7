"""The judge's words: one plain line for people who stand at the table."""

from collections.abc import Sequence

from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Reason


def wall_words(rules: ThrowRules) -> str:
    """Describe what the rule set asks of the dice."""
    if rules.wall == "any":
        return "both must hit a wall"
    if rules.wall == "far" or rules.far_wall_required:
        return "both must hit the far end"
    return "both must hit an end"


def no_roll_line(reasons: Sequence[Reason]) -> str:
    """Describe why there is no roll."""
    return f"No Roll: {_causes(reasons)}"


def review_line(reasons: Sequence[Reason]) -> str:
    """Describe what a person must decide on."""
    return f"Review: {_causes(reasons)}"


def roll_line(dice: tuple[int, int], walls: Sequence[str], *, warning: bool) -> str:
    """Describe what was rolled, which walls the dice hit, and that a warning is due."""
    line = f"Roll {dice[0]}-{dice[1]}: {_walls(walls)}"
    return f"{line}; the shooter is warned" if warning else line


def _causes(reasons: Sequence[Reason]) -> str:
    return ". ".join(f"{reason.seen} ({reason.rule})" if reason.rule else reason.seen for reason in reasons)


def _walls(walls: Sequence[str]) -> str:
    if len(walls) == 2:
        one, two = walls
        return f"both dice hit the {one} wall" if one == two else f"the dice hit the {one} and the {two} wall"
    return f"one die hit the {walls[0]} wall" if walls else "no die is known to have hit the wall"
