"""Simulated sessions at a dice table, with the ground truth of each throw."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Literal

import msgspec

from controller.model.geometry import DiceTable, Zone
from controller.model.readings import AnyReading, Input
from drivers.sim import doubtful_throws, plain_throws, ruled_throws
from drivers.sim.bodies import flights
from drivers.sim.bodies.watching import Conditions, Watch
from drivers.sim.plain_throws import RedrawError
from drivers.sim.scenes import Feed, Header, Scene, Truth, Verdict, in_order_of_arrival
from drivers.sim.throwing import Script, TableSensors, Thrower

Kind = Callable[[Thrower], Script]
Rules = Literal["craps-12-034", "craps-v1"]

TABLE = DiceTable(
    length_mm=3600,
    width_mm=1100,
    die_mm=19.0,
    zones=(
        Zone(name="bank", kind="bank", polygon=((1560, 910), (2040, 910), (2040, 1100), (1560, 1100))),
        Zone(name="cup", kind="cup", polygon=((1710, 0), (1890, 0), (1890, 135), (1710, 135))),
    ),
)

_PLAIN = (
    "valid",
    "bumped",
    "near_wall",
    "one_short",
    "both_short",
    "bump_and_short",
    "double_hit",
    "stop_at_wall",
    "rail_only",
    "staggered",
    "slightly_staggered",
    "one_die",
    "crossing",
    "on_chips_flat",
    "chips_contact",
    "cocked_two_sides",
    "cocked_one_side",
)
_RESTING = (
    "off_table",
    "off_table_over_wall",
    "off_and_short",
    "both_off",
    "stacked",
    "on_bank",
    "in_cup",
    "on_rail",
    "late_and_on_rail",
)
_DOUBTFUL = (
    "merged",
    "occluded_at_wall",
    "occluded_short",
    "occluded_midway",
    "touch_within_error",
    "soft_hit",
    "phantom_impact",
    "silent_wall",
    "half_silent_wall",
    "wall_down",
    "wall_down_one_short",
    "other_wall_down",
    "camera_down",
    "camera_down_between_hits",
    "die_lost",
    "swapped_crossing",
    "swapped_double_hit",
    "swapped_short",
)
_RESTLESS = ("knocked_at_rest", "rest_repeated", "raked", "second_look")
_LENIENT = frozenset(("camera_down_ruled", "die_lost_ruled"))
"""Kinds omitted from sessions under Craps Version 1.

Under that rule set, these kinds have two correct first outcomes, because a throw can count even if a die
missed the wall.
"""
_RULED = (
    "box_no_roll_in_flight",
    "box_no_roll_in_hold",
    "box_no_roll_late",
    "box_sets_other_dice",
    "box_too_late",
    "unsure_face",
    "no_face",
    "unruled",
    "camera_down_ruled",
    "die_lost_ruled",
)
KINDS: Mapping[str, Kind] = {
    name: getattr(module, name)
    for module, names in (
        (plain_throws, _PLAIN),
        (plain_throws, _RESTING),
        (doubtful_throws, _DOUBTFUL),
        (ruled_throws, _RULED),
        (ruled_throws, _RESTLESS),
    )
    for name in names
}
RIGID_BODY = "thrown"
"""Kind of a precomputed rigid-body throw without scripted disturbances. The resulting scene has the flight's
kind instead.
"""
RIGID_BODY_CONDITIONS = Conditions(exchanges=0.1)
"""Quality of the sensors that observe rigid-body throws."""

FORGET_PROBABILITY = 0.08
"""Probability that the stickperson forgets to enter `dice_collected`."""

Mix = Mapping[str, float]
USUAL: Mix = {name: 30.0 if name == "valid" else 1.0 for name in KINDS}
"""Weights by kind. A third of the throws are valid ones without disturbances."""
PLAIN: Mix = {"valid": 20.0, **dict.fromkeys((*_PLAIN[1:], *_RESTING), 1.0)}
"""Weights of the throws that the sensors alone can judge."""
RIGID_BODY_MIX: Mix = {RIGID_BODY: 30.0, **dict.fromkeys(KINDS, 1.0)}
"""Weights by kind. A third of the throws are rigid-body throws. The scripted throws add people's inputs and
sensor faults."""


def throw(
    kind: str, rng: Random, start_us: int, *, table: DiceTable = TABLE, rules: Rules = "craps-12-034"
) -> tuple[Scene, Feed]:
    """Return one throw of a kind, beginning at `start_us`.

    If the table has no precomputed throws, a scripted valid throw replaces a rigid-body throw.

    Raises:
        KeyError: If the kind is not in KINDS.
        RuntimeError: If no throw of this kind can be drawn for the table's size.
    """
    if kind == RIGID_BODY and flights.fits(table):
        return _thrown(rng, start_us, table, rules)
    kind = "valid" if kind == RIGID_BODY else kind
    rightward = rng.random() < 0.5
    for _ in range(400):
        try:
            script = KINDS[kind](Thrower(rng, table, start_us, rightward=rightward))
        except RedrawError:
            continue
        break
    else:
        raise RuntimeError(f"400 draws produced no throw of kind {kind}; use a table of a different size")
    senses = TableSensors(rng, table, rightward=rightward, rails_heard=rng.random() < 0.3)
    seen = senses.sense(script)
    if script.collected_us is None:
        script.collected_us = script.rest_us + rng.randint(1_600_000, 2_400_000)
        collected = Input(t=script.collected_us, dev="console", name="dice_collected", by="stickperson")
        seen = in_order_of_arrival([*seen, (script.collected_us + rng.randint(200, 3000), collected)])
    assert script.truth is not None
    hits = sum(path.struck("far") for path in script.paths)
    with_dice = msgspec.structs.replace(script.truth, dice=script.dice, any_order=script.swap_us is not None)
    truth = _adapt_to_rules(rules, hits, with_dice, script.truth)
    return Scene(kind=kind, start_us=start_us, end_us=script.collected_us, truth=truth), seen


def simulate(
    seed: int, mix: Mix = USUAL, n: int = 20, *, table: DiceTable = TABLE, rules: Rules = "craps-12-034"
) -> tuple[Header, Feed, list[Scene]]:
    """Play `n` throws with kinds drawn from `mix`; the same seed produces the same session."""
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    scenes: list[Scene] = []
    feed: Feed = []
    now = rng.randint(1_000_000, 3_000_000)
    weights = {kind: weight for kind, weight in mix.items() if rules != "craps-v1" or kind not in _LENIENT}
    for kind in rng.choices(list(weights), list(weights.values()), k=n):
        scene, seen = throw(kind, rng, now, table=table, rules=rules)
        scenes.append(scene)
        if rng.random() < FORGET_PROBABILITY:
            seen = [(arrived, r) for arrived, r in seen if not _is_collecting(r)]
        feed.extend(seen)
        now = scene.end_us + rng.randint(1_500_000, 4_000_000)
        feed.extend(_inputs_between(rng, scene, now))
    header = Header(table=f"sim-dice-{seed}", ruleset=rules, dice_table=table)
    return header, in_order_of_arrival(feed), scenes


def _is_collecting(reading: AnyReading) -> bool:
    return isinstance(reading, Input) and reading.name == "dice_collected"


def _inputs_between(rng: Random, scene: Scene, next_us: int) -> Feed:
    readings: list[AnyReading] = []
    after = rng.randint(scene.end_us + 50_000, next_us - 800_000)
    chance = rng.random()
    if chance < 0.1 and scene.truth.ruled is None and scene.truth.allowed == ("valid",):
        readings.append(Input(t=scene.end_us - 150_000, dev="console", name="settled", by="dealer"))
    elif chance < 0.15:
        readings.append(
            Input(t=after, dev="console", name="new_shooter", by="stickperson", seat=rng.randint(1, 8))
        )
    elif chance < 0.18:
        readings.append(Input(t=after, dev="console", name="draw_button", by="dealer", seat=3, card="Qh"))
    return [(reading.t + rng.randint(200, 3000), reading) for reading in readings]


def _thrown(rng: Random, start_us: int, table: DiceTable, rules: Rules) -> tuple[Scene, Feed]:
    flight = rng.choice(flights.for_wall(table))
    watch = Watch(flight, table, rng, start_us, RIGID_BODY_CONDITIONS, rightward=rng.random() < 0.5)
    seen, physical_truth = watch.feed(), watch.truth
    scene_truth = watch.scene_truth(physical_truth)
    truth = _adapt_to_rules(rules, sum(map(bool, physical_truth.hits)), scene_truth, scene_truth)
    return Scene(kind=flight.kind, start_us=start_us, end_us=watch.collected_us, truth=truth), seen


def _adapt_to_rules(rules: Rules, hits: int, with_dice: Truth, truth: Truth) -> Truth:
    """Return the ground truth under these rules.

    In Craps Version 1, the first throw that misses the wall only causes a warning (CV1-SHOOT-4). `hits` is
    the number of dice that struck the far wall. `with_dice` is `truth` with the faces of the dice, in the
    order of the camera's final numbering.
    """
    if rules == "craps-12-034":
        return truth
    reasons = tuple(code for code in truth.reasons if code != "no_wall_hit")
    if truth.verdict == "void" and reasons:
        return msgspec.structs.replace(truth, reasons=reasons, may_add=("no_wall_hit",))
    doubtful = "review" in truth.allowed
    if truth.verdict == "void" and hits:
        allowed: tuple[Verdict, ...] = ("valid", "review") if doubtful else ("valid",)
        return Truth(verdict="valid", allowed=allowed, dice=with_dice.dice, any_order=with_dice.any_order)
    if truth.verdict in ("void", "valid") and not hits:
        accepted: tuple[Verdict, ...] = ("valid", "void", "review") if doubtful else ("valid", "void")
        return Truth(verdict="valid", allowed=accepted, reasons=("no_wall_hit",), dice=with_dice.dice)
    if truth.verdict == "review" and truth.ruled is None:
        return msgspec.structs.replace(truth, allowed=("valid", "review"), dice=with_dice.dice)
    return truth
