"""The judge's texts: the line for people at the table, and a throw's stories for `explain`.

A story is one explanation of a throw (`stories`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Reason
from controller.rules.dice.impacts import Story, Touched, may_be_ringing
from controller.rules.dice.scene import Scene
from controller.rules.dice.stories import Account


def wall_words(rules: ThrowRules) -> str:
    """Return the rule set's requirement for the dice as a clause."""
    if rules.wall == "any":
        return "both must hit a wall"
    if rules.wall == "far" or rules.far_wall_required:
        return "both must hit the far end"
    return "both must hit an end"


def no_roll_line(reasons: Sequence[Reason]) -> str:
    """Return the line with the causes of a No Roll."""
    return f"No Roll: {_causes(reasons)}"


def review_line(reasons: Sequence[Reason]) -> str:
    """Return the line with the causes of a review."""
    return f"Review: {_causes(reasons)}"


def roll_line(dice: tuple[int, int], walls: Sequence[str], *, warning: bool) -> str:
    """Return the line for a roll: the faces, the walls that the dice hit, and a warning if one is due."""
    line = f"Roll {dice[0]}-{dice[1]}: {_walls(walls)}"
    return f"{line}; the shooter is warned" if warning else line


def _causes(reasons: Sequence[Reason]) -> str:
    return ". ".join(f"{reason.seen} ({reason.rule})" if reason.rule else reason.seen for reason in reasons)


def _walls(walls: Sequence[str]) -> str:
    if len(walls) == 2:
        one, two = walls
        return f"both dice hit the {one} wall" if one == two else f"the dice hit the {one} and the {two} wall"
    return f"one die hit the {walls[0]} wall" if walls else "no die is known to have hit the wall"


class RankedStory(NamedTuple):
    """A story as text, and how much more it costs than the best story, in squared standard deviations."""

    words: str
    worse: float
    possible: bool
    """Whether the story is not ruled out."""


def rank_stories(scene: Scene, account: Account) -> tuple[RankedStory, ...]:
    """Return the stories that are not ruled out and the cheapest that is, in order of cost."""
    ranked = sorted(account.stories.items(), key=lambda item: item[1])
    least = ranked[0][1].cost
    by_cost = [
        RankedStory(_in_words(scene, touched, story), story.cost - least, touched in account.possible)
        for touched, story in ranked
        if story.cost < float("inf")
    ]
    last = max(i for i, story in enumerate(by_cost) if story.possible)
    return tuple(by_cost[: last + 2])


def _in_words(scene: Scene, touched: Touched, story: Story) -> str:
    parts = [_die_in_words(scene, label, story, touched=touched[label]) for label in (0, 1)]
    if story.swaps:
        when = _listed([_seconds(t) for t in story.swaps])
        parts.append(f"the camera swapped their names at {when}")
    parts += _others_in_words(scene, story)
    return "; ".join(parts)


def _die_in_words(scene: Scene, label: int, story: Story, *, touched: bool) -> str:
    made = sorted(story.made[label])
    if made:
        own = [i for i in made if not any(may_be_ringing(scene, first, i) for first in made if first < i)]
        walls = _listed([f"the {scene.impacts[i].wall} wall at {_impact_time(scene, i)}" for i in own])
        return f"die {label + 1} hit {walls}"
    return f"die {label + 1} {'touched a wall without a sound' if touched else 'hit no wall that counts'}"


def _others_in_words(scene: Scene, story: Story) -> Iterator[str]:
    others = [i for i in range(len(scene.impacts)) if i not in story.made[0] | story.made[1]]
    if others:
        when = _listed([_impact_time(scene, i) for i in others])
        if len(others) == 1:
            yield f"the sound at {when} was not a hit"
        else:
            yield f"the sounds at {when} were not hits"


def _impact_time(scene: Scene, impact: int) -> str:
    return _seconds(scene.ms(scene.impacts[impact].t))


def _seconds(t_ms: float) -> str:
    return f"{t_ms / 1000.0:.3f} s"


def _listed(parts: Sequence[str]) -> str:
    """Join the parts of a sentence: A, B and C."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
