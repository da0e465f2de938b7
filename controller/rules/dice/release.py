"""The judgement of the release: both dice must leave the hand together.

Rules: C34-DICE-5, C34-INV-2i, CV1-INV-1, CV1-INV-2.
"""

from collections.abc import Iterable

from controller.model.readings import WallImpact
from controller.model.rulesets import ThrowRules
from controller.rules.dice.contacts import find_contacts
from controller.rules.dice.findings import Findings
from controller.rules.dice.hits import WALLS
from controller.rules.dice.impacts import may_be_ringing
from controller.rules.dice.paths import build_path
from controller.rules.dice.scene import DieSeen, Scene

SAME_RELEASE_MS = 30.0
"""Maximum time, in ms, between two reports of one release."""


def judge_release(scene: Scene, rules: ThrowRules, found: Findings, *, over: bool) -> None:
    """Judge how the dice left the hand; with `over`, no further release is possible in this throw."""
    one, two = scene.dice
    if not (one.seen and two.seen):
        _judge_single(scene, rules, found, over=over)
        return
    for die in scene.dice:
        _judge_repeats(scene, die, found)
    if one.releases and two.releases:
        _judge_spread(scene, rules, found)
    else:
        _judge_unseen(scene, rules, found)


def _judge_single(scene: Scene, rules: ThrowRules, found: Findings, *, over: bool) -> None:
    """Judge a throw in which at most one die was seen (CV1-INV-2).

    The throw is a No Roll only if the cameras were working, saw one die from the hand until it came to rest
    or left the table, and never saw the other die. The die that they saw must also have made every impact.
    """
    faulty = sorted(dev for dev in scene.cameras() if scene.was_faulty(dev))
    missing = [die.number for die in scene.dice if not die.seen]
    thrown = [die for die in scene.dice if die.seen]
    if len(missing) == 2:
        found.add_review("missing_reading", "no die was seen")
    elif faulty:
        did = "was down" if scene.went_down(faulty[0]) else "had a fault"
        found.add_review(
            "missing_reading", f"die {missing[0]} was not seen, and {faulty[0]} {did}", die=missing[0]
        )
    elif impacts := _unexplained_impacts(scene, thrown, WALLS[rules.wall]):
        impact = impacts[0]
        unexplained = f"die {3 - missing[0]} does not account for an impact on the {impact.wall} wall"
        seen = f"die {missing[0]} was not seen, but {unexplained}"
        found.evidence.append(impact)
        found.add_review("missing_reading", seen, die=missing[0])
    elif _came_from_out_of_sight(thrown[0]):
        seen = f"the camera never saw die {missing[0]}, and the hand that threw was out of its view"
        found.add_review("missing_reading", seen, die=missing[0])
    elif over and thrown[0].ended:
        found.no_roll("one_die_thrown", f"only die {thrown[0].number} left the hand", die=missing[0])
    else:
        found.add_review("missing_reading", f"die {missing[0]} was not seen", die=missing[0])


def _came_from_out_of_sight(die: DieSeen) -> bool:
    """Return whether the camera first saw the die in flight.

    The hand was then out of view, and may also have thrown the other die.
    """
    return die.releases[0].in_flight if die.releases else die.came_in_flight


def _judge_repeats(scene: Scene, die: DieSeen, found: Findings) -> None:
    if not die.releases:
        return
    first = scene.ms(die.releases[0].t)
    later_releases = [scene.ms(r.t) for r in die.releases if scene.ms(r.t) - first > SAME_RELEASE_MS]
    if later_releases:
        found.add_review(
            "conflict",
            f"die {die.number} left the hand again {later_releases[0] - first:.0f} ms later",
            die=die.number,
        )


def _judge_spread(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge the time between two releases that were both seen (C34-INV-2i)."""
    one, two = (die.releases[0] for die in scene.dice)
    delay_ms = abs(one.t - two.t) / 1000.0
    late = 1 if one.t > two.t else 2
    seen = f"die {late} left the hand {delay_ms:.0f} ms after die {3 - late}"
    found.evidence += (one, two)
    if delay_ms > rules.simultaneous_ms and rules.parted == "no_roll":
        doubt = _flew_before(scene, scene.dice[late - 1]) or _flew_unseen(scene, rules)
        if doubt is not None:
            found.add_review("missing_reading", f"{seen}, but {doubt}", die=late)
            return
        found.no_roll(
            "not_simultaneous", f"{seen}, expected at most {rules.simultaneous_ms:.0f} ms", die=late
        )
    elif delay_ms >= rules.stagger_notice_ms:
        found.note("staggered_release", seen, die=late, rule=found.causes.get("not_simultaneous"))


def _judge_unseen(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge a die whose release was not seen: the die left the hand before the camera first saw it."""
    for die, other in (scene.dice, scene.dice[::-1]):
        if die.releases:
            continue
        first = die.track[0] if die.track else None
        if first is not None and other.releases:
            ahead = (other.releases[0].t - first.t) / 1000.0
            certain = die.came_in_flight and not (_flew_before(scene, other) or _flew_unseen(scene, rules))
            if ahead > rules.simultaneous_ms and certain and rules.parted == "no_roll":
                found.evidence += (first, other.releases[0])
                found.no_roll(
                    "not_simultaneous",
                    f"die {die.number} was in flight {ahead:.0f} ms before die {other.number} left the hand",
                    die=other.number,
                )
                continue
        found.add_review("missing_reading", f"the release of die {die.number} was not seen", die=die.number)


def _flew_before(scene: Scene, die: DieSeen) -> str | None:
    """Return the reason to doubt a release if the camera saw the die in flight earlier, or None."""
    ahead = scene.ms(die.releases[0].t) - scene.ms(die.track[0].t) if die.track else 0.0
    if ahead <= SAME_RELEASE_MS or not die.came_in_flight:
        return None
    return f"it was seen in flight {ahead:.0f} ms before it left the hand"


def _flew_unseen(scene: Scene, rules: ThrowRules) -> str | None:
    """Return the reason to doubt the releases if there is an impact that neither die made, else None."""
    unexplained = _unexplained_impacts(scene, scene.dice, WALLS[rules.wall])
    if not unexplained:
        return None
    return f"neither die's track accounts for an impact on the {unexplained[0].wall} wall"


def _unexplained_impacts(scene: Scene, dice: Iterable[DieSeen], walls: Iterable[str]) -> list[WallImpact]:
    """Return the impacts on these walls that these dice did not make and that are not ringing."""
    counting_walls = frozenset(walls)
    heard_walls = {impact.wall for impact in scene.impacts} & counting_walls
    explained: set[int] = set()
    for die in dice if heard_walls else ():
        path = build_path(scene, die)
        for wall in sorted(heard_walls):
            for contact in find_contacts(scene, path, wall):
                explained |= {i for i, cost in contact.heard.items() if cost < contact.miss + contact.knock}
    explained |= {i for hit in explained for i in range(len(scene.impacts)) if may_be_ringing(scene, hit, i)}
    return [
        impact
        for i, impact in enumerate(scene.impacts)
        if impact.wall in counting_walls and i not in explained
    ]
