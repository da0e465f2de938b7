"""Throws void for where a die ends: off the table, on the other die, on the bank, in the cup, on a rail."""

import math

from controller.model.readings import Surface
from drivers.sim.paths import Path, Point
from drivers.sim.plain_throws import RedrawError, check_rests, full_path, short_path, void_truth, zone_middle
from drivers.sim.scenes import Truth
from drivers.sim.thrower import Script, Thrower


def off_table(arm: Thrower) -> Script:
    """A die strikes the wall and jumps over a rail."""
    script, stray = _struck(arm)
    over_front = arm.rng.random() < 0.5
    y = -arm.rng.uniform(60, 140) if over_front else arm.table.width_mm + arm.rng.uniform(60, 140)
    path = script.paths[stray]
    path.go((path.here[0] - arm.rng.uniform(100, 700), y), arm.rng.uniform(0.8, 2.0), 0.6)
    return _gone(arm, script, stray)


def off_table_over_wall(arm: Thrower) -> Script:
    """A die flies over the far wall without touching it."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    stray = arm.rng.randint(0, 1)
    paths = [full_path(arm, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[stray] = arm.release(hands[stray], after[stray])
    over = (arm.table.length_mm + arm.rng.uniform(60, 160), reaches[stray].y_mm)
    arm.fly(paths[stray], over, reaches[stray].launch, reaches[stray].arrive)
    return _gone(arm, Script(paths, [arm.flat(), arm.flat()]), stray)


def off_and_short(arm: Thrower) -> Script:
    """One die leaves the table, and the other does not reach the wall: two causes."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    stray = arm.rng.randint(0, 1)
    paths = [short_path(arm, hands[i], after[i], reaches[i], arm.rng.uniform(150, 900)) for i in (0, 1)]
    paths[stray] = arm.release(hands[stray], after[stray])
    arm.strike_far(paths[stray], reaches[stray])
    paths[stray].go((arm.far_u - 300, -90), 1.5, 0.6)
    script = _gone(arm, Script(paths, [arm.flat(), arm.flat()]), stray)
    script.truth = void_truth("off_table", "no_wall_hit")
    return script


def both_off(arm: Thrower) -> Script:
    """Both dice leave the table."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        arm.strike_far(path, reach)
        path.go((path.here[0] - 350, arm.rng.choice((-90, arm.table.width_mm + 90))), 1.4, 0.6)
    script = Script(paths, [arm.flat(), arm.flat()])
    for rest in script.rests:
        rest.off_table = True
    script.truth = void_truth("off_table")
    return script


def stacked(arm: Thrower) -> Script:
    """One die comes to rest on the other."""
    script, top = _struck(arm)
    under = script.paths[1 - top]
    place = (under.here[0] + arm.rng.uniform(-5, 5), under.here[1] + arm.rng.uniform(-5, 5))
    _roll_in(arm, script.paths[top], place)
    if script.paths[top].end_us < under.end_us + 50_000:
        raise RedrawError
    check_rests(arm, Script([under], [script.rests[0]]), free=(0,))
    script.rests[top].on = "die"
    script.truth = void_truth("stacked")
    return script


def on_bank(arm: Thrower) -> Script:
    """A die comes to rest on the bank's chips, whatever the camera calls them."""
    return _in_zone(arm, "bank", arm.rng.choice(("bank", "bank", "chips", "unknown")))


def in_cup(arm: Thrower) -> Script:
    """A die comes to rest in the stickperson's cup."""
    return _in_zone(arm, "cup", "cup")


def on_rail(arm: Thrower) -> Script:
    """A die comes to rest on a rail."""
    script = _on_rail(arm)
    script.truth = void_truth("on_rail")
    return script


def late_and_on_rail(arm: Thrower) -> Script:
    """Released apart, and one die ends on a rail: both causes are told."""
    script = _on_rail(arm, (0, arm.rng.randint(160_000, 400_000)))
    script.truth = void_truth("not_simultaneous", "on_rail")
    return script


def _on_rail(arm: Thrower, after: tuple[int, int] | None = None) -> Script:
    script, stray = _struck(arm, after)
    y = arm.rng.choice((-arm.rng.uniform(14, 30), arm.table.width_mm + arm.rng.uniform(14, 30)))
    _roll_in(arm, script.paths[stray], (arm.far_u - arm.rng.uniform(100, 800), y))
    check_rests(arm, script, free=(1 - stray,))
    script.rests[stray].on = "rail"
    return script


def _in_zone(arm: Thrower, kind: Surface, called: Surface) -> Script:
    script, stray = _struck(arm)
    _roll_in(arm, script.paths[stray], zone_middle(arm, kind))
    check_rests(arm, script, free=(1 - stray,))
    script.rests[stray].on = called
    script.truth = void_truth(f"{'on' if kind == 'bank' else 'in'}_{kind}")
    return script


def _struck(arm: Thrower, offsets: tuple[int, int] | None = None) -> tuple[Script, int]:
    """Throw both to the wall; one is at rest, the other (the index) is still at the wall."""
    hands, reaches, after = arm.hands(), arm.reaches(), offsets or arm.offsets()
    stray = arm.rng.randint(0, 1)
    paths = [full_path(arm, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[stray] = arm.release(hands[stray], after[stray])
    arm.strike_far(paths[stray], reaches[stray])
    return Script(paths, [arm.flat(), arm.flat()]), stray


def _roll_in(arm: Thrower, path: Path, place: Point) -> None:
    """Roll from the wall to a place, fast enough to get there within a second or two."""
    way = math.dist(path.here, place)
    path.go(place, 2 * way / (1000 * arm.rng.uniform(0.5, 0.9) * max(1.0, way / 700)), 0)


def _gone(arm: Thrower, script: Script, stray: int) -> Script:
    check_rests(arm, script, free=(1 - stray,))
    script.rests[stray].off_table = True
    script.truth = Truth(verdict="void", allowed=("void",), reasons=("off_table",))
    return script
