"""Did both dice leave the hand, and together? (C34-DICE-5, C34-INV-2i, CV1-INV-1, CV1-INV-2)"""

from controller.model.rulesets import ThrowRules
from controller.rules.dice.findings import Findings
from controller.rules.dice.scene import DieSeen, Scene

SAME_RELEASE_MS = 30.0
"""A release reported twice within this time is one release."""


def judge_release(scene: Scene, rules: ThrowRules, found: Findings, *, over: bool) -> None:
    """Judge how the dice left the hand; `over` when the throw can bring no more releases."""
    one, two = scene.dice
    if not (one.seen and two.seen):
        _judge_single(scene, found, over=over)
        return
    for die in scene.dice:
        _judge_repeats(scene, die, found)
    if one.releases and two.releases:
        _judge_spread(scene, rules, found)
    else:
        _judge_unseen(scene, rules, found)


def _judge_single(scene: Scene, found: Findings, *, over: bool) -> None:
    """Judge a throw of which only one die, or none, was seen (CV1-INV-2)."""
    blind = sorted(dev for dev in scene.cameras() if scene.went_down(dev))
    missing = [die.number for die in scene.dice if not die.seen]
    if len(missing) == 2:
        found.ask("missing_reading", "no die was seen")
    elif blind:
        found.ask(
            "missing_reading", f"die {missing[0]} was not seen, and {blind[0]} was down", die=missing[0]
        )
    elif over:
        thrown = 3 - missing[0]
        found.no_roll("one_die_thrown", f"only die {thrown} left the hand", die=missing[0])
    else:
        found.ask("missing_reading", f"die {missing[0]} was not seen", die=missing[0])


def _judge_repeats(scene: Scene, die: DieSeen, found: Findings) -> None:
    if not die.releases:
        return
    first = scene.ms(die.releases[0].t)
    again = [scene.ms(r.t) for r in die.releases if scene.ms(r.t) - first > SAME_RELEASE_MS]
    if again:
        found.ask(
            "conflict",
            f"die {die.number} left the hand again {again[0] - first:.0f} ms later",
            die=die.number,
        )


def _judge_spread(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge how far apart two seen releases are (C34-INV-2i)."""
    one, two = (die.releases[0] for die in scene.dice)
    apart = abs(one.t - two.t) / 1000.0
    late = 1 if one.t > two.t else 2
    seen = f"die {late} left the hand {apart:.0f} ms after die {3 - late}"
    found.evidence += (one, two)
    if apart > rules.simultaneous_ms:
        found.no_roll("not_simultaneous", f"{seen}, more than {rules.simultaneous_ms:.0f} ms", die=late)
    elif apart >= rules.stagger_notice_ms:
        found.note("staggered_release", seen, die=late, rule=found.causes.get("not_simultaneous"))


def _judge_unseen(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge a die that was seen but whose release was not: it left the hand before it was first seen."""
    for die, other in (scene.dice, scene.dice[::-1]):
        if die.releases:
            continue
        first = die.track[0] if die.track else None
        if first is not None and other.releases:
            ahead = (other.releases[0].t - first.t) / 1000.0
            if ahead > rules.simultaneous_ms:
                found.evidence += (first, other.releases[0])
                found.no_roll(
                    "not_simultaneous",
                    f"die {die.number} was in flight {ahead:.0f} ms before die {other.number} left the hand",
                    die=other.number,
                )
                continue
        found.ask("missing_reading", f"the release of die {die.number} was not seen", die=die.number)
