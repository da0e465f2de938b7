"""Throws that the sensors alone can judge: valid ones, and one for each cause of a No Roll."""

import math

from controller.model.readings import DieContact, Face, Surface
from drivers.sim.scenes import CAMERA, Truth, Verdict
from drivers.sim.throwing import Path, Point, Reach, Rest, Script, Thrower, nearest_approach

ADJACENT: dict[Face, tuple[Face, ...]] = {
    1: (2, 3, 4, 5),
    2: (1, 3, 4, 6),
    3: (1, 2, 5, 6),
    4: (1, 2, 5, 6),
    5: (1, 3, 4, 6),
    6: (2, 3, 4, 5),
}


class RedrawError(Exception):
    """A drawn throw does not have its kind's properties; it must be drawn again."""


def opposite(face: Face) -> Face:
    """Return the face on the other side of a die."""
    faces: tuple[Face, ...] = (6, 5, 4, 3, 2, 1)
    return faces[face - 1]


def valid_truth(script: Script, *notices: str) -> Truth:
    """Return the truth of a throw that must be called."""
    return Truth(verdict="valid", allowed=("valid",), dice=script.dice, notices=notices)


def void_truth(*reasons: str, may_review: bool = False, may_add: tuple[str, ...] = ()) -> Truth:
    """Return the truth of a No Roll for these causes."""
    allowed: tuple[Verdict, ...] = ("void", "review") if may_review else ("void",)
    return Truth(verdict="void", allowed=allowed, reasons=reasons, may_add=may_add)


def full_path(arm: Thrower, hand_y: float, after_us: int, reach: Reach) -> Path:
    """Return the path of a die that strikes the far wall and rebounds."""
    path = arm.release(hand_y, after_us)
    arm.strike_far(path, reach)
    arm.rebound(path, reach.arrive)
    return path


def short_path(arm: Thrower, hand_y: float, after_us: int, reach: Reach, short_mm: float) -> Path:
    """Return the path of a die that comes to rest `short_mm` before the far wall."""
    path = arm.release(hand_y, after_us)
    arm.stop_short(path, (arm.far_u - short_mm, reach.y_mm), reach.launch)
    return path


def good_throw(arm: Thrower, offsets: tuple[int, int] | None = None) -> Script:
    """Return a throw of both dice to the far wall; they come to rest apart, on plain felt."""
    hands, reaches, after = arm.hands(), arm.reaches(), offsets or arm.offsets()
    paths = [full_path(arm, hands[i], after[i], reaches[i]) for i in (0, 1)]
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    return script


def check_rests(arm: Thrower, script: Script, *, free: tuple[int, ...] = (0, 1)) -> None:
    """Raise RedrawError unless the dice rest apart, and those in `free` clear of every zone and rail."""
    places = [path.here for path in script.paths]
    if len(places) == 2 and math.dist(*places) < 2.5 * arm.table.die_mm:
        raise RedrawError
    for index in free:
        u, y = places[index]
        if not 12 <= y <= arm.table.width_mm - 12 or u > arm.far_u - 25:
            raise RedrawError
        margin = 2 * arm.table.die_mm
        for zone in arm.table.zones:
            xs, ys = [p[0] for p in zone.polygon], [p[1] for p in zone.polygon]
            for x in (u, arm.table.length_mm - u):
                if min(xs) - margin <= x <= max(xs) + margin and min(ys) - margin <= y <= max(ys) + margin:
                    raise RedrawError


def zone_middle(arm: Thrower, kind: Surface) -> Point:
    """Draw a point (u, y) well inside a zone of the table."""
    zone = next(zone for zone in arm.table.zones if zone.kind == kind)
    xs, ys = [p[0] for p in zone.polygon], [p[1] for p in zone.polygon]
    x = min(xs) + (max(xs) - min(xs)) * arm.rng.uniform(0.25, 0.75)
    y = min(ys) + (max(ys) - min(ys)) * arm.rng.uniform(0.3, 0.7)
    return (x if arm.rightward else arm.table.length_mm - x, y)


def valid(arm: Thrower) -> Script:
    """Both dice strike the far wall and lie flat."""
    script = good_throw(arm)
    script.truth = valid_truth(script)
    return script


def bumped(arm: Thrower) -> Script:
    """Both dice strike the wall, then collide on their way back."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        arm.strike_far(path, reach)
    meet_u = arm.far_u - arm.rng.uniform(120, 320)
    meet_y = (reaches[0].y_mm + reaches[1].y_mm) / 2
    when = max(path.end_us for path in paths) + arm.rng.randint(150_000, 450_000)
    for path, side in zip(paths, (-1, 1), strict=True):
        upward = 1 if path.here[1] > meet_y else -1
        goal = (meet_u, meet_y + upward * arm.table.die_mm / 2)
        mean = math.dist(path.here, goal) / ((when - path.end_us) / 1000)
        if not 0.25 <= mean <= 1.6:
            raise RedrawError
        path.go(goal, mean * 1.25, mean * 0.75)
        arm.settle(path, 0.45 * mean + 0.1, math.pi + side * 0.2 + upward * 1.1)
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    script.seen.append(DieContact(t=when, dev=CAMERA, die=1, with_="die"))
    script.truth = valid_truth(script)
    return script


def near_wall(arm: Thrower) -> Script:
    """The dice are thrown at the end wall behind the shooter."""
    arm.stand_u = arm.rng.uniform(900, 1500)
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        arm.fly(path, (arm.half, reach.y_mm), reach.launch, reach.arrive)
        path.strike("near", reach.arrive)
        arm.settle(path, max(0.55, 0.3 * reach.arrive), arm.rng.gauss(0, 0.3), 2.5)
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    script.truth = valid_truth(script)
    return script


def one_short(arm: Thrower) -> Script:
    """One die strikes the wall, the other comes to rest before it."""
    script = _one_short(arm, arm.short_by(25, 1500))
    script.truth = void_truth("no_wall_hit")
    return script


def _one_short(arm: Thrower, short_mm: float) -> Script:
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    lazy = arm.rng.randint(0, 1)
    paths = [
        short_path(arm, hands[i], after[i], reaches[i], short_mm)
        if i == lazy
        else full_path(arm, hands[i], after[i], reaches[i])
        for i in (0, 1)
    ]
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script, free=(1 - lazy,) if short_mm < 30 else (0, 1))
    return script


def both_short(arm: Thrower) -> Script:
    """Neither die reaches the wall."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [short_path(arm, hands[i], after[i], reaches[i], arm.short_by(60, 1500)) for i in (0, 1)]
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    script.truth = void_truth("no_wall_hit")
    return script


def bump_and_short(arm: Thrower) -> Script:
    """One die strikes; the other turns back in mid-table just as a knock on the rail is detected."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    lazy = arm.rng.randint(0, 1)
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    apex = (arm.far_u - arm.short_by(75, 1100), reaches[lazy].y_mm)
    turn = arm.rng.uniform(0.5, 2.2)
    arm.fly(paths[lazy], apex, reaches[lazy].launch, turn)
    knock = (paths[lazy].end_us + arm.rng.randint(-3000, 3000), "far", apex[1] + arm.rng.uniform(-30, 30))
    arm.settle(paths[lazy], turn * arm.rng.uniform(0.3, 0.6), math.pi + arm.rng.gauss(0, 0.3))
    arm.strike_far(paths[1 - lazy], reaches[1 - lazy])
    arm.rebound(paths[1 - lazy], reaches[1 - lazy].arrive)
    script = Script(paths, [arm.flat(), arm.flat()], knocks=[(knock[0], "far", knock[2])])
    check_rests(arm, script)
    script.truth = void_truth("no_wall_hit")
    return script


def double_hit(arm: Thrower) -> Script:
    """One die strikes the wall twice, the other not at all."""
    script = twice_and_short(arm)
    if nearest_approach(*script.paths)[1] < 80:
        raise RedrawError
    script.truth = void_truth("no_wall_hit")
    return script


def twice_and_short(arm: Thrower) -> Script:
    """Return a throw in which one die strikes twice and the other stays short."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    eager = arm.rng.randint(0, 1)
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    arm.strike_far(paths[eager], reaches[eager])
    back = reaches[eager].arrive * arm.rng.uniform(0.15, 0.4)
    paths[eager].go(
        (arm.far_u - arm.rng.uniform(100, 350), arm.inside(reaches[eager].y_mm + arm.rng.gauss(0, 60))),
        back,
        0.2,
    )
    again = arm.rng.uniform(0.6, 1.6)
    paths[eager].go((arm.far_u, arm.inside(paths[eager].here[1] + arm.rng.gauss(0, 50))), 0.3, again)
    paths[eager].strike("far", again)
    arm.settle(paths[eager], 0.5, math.pi + arm.rng.gauss(0, 0.3))
    arm.stop_short(
        paths[1 - eager],
        (arm.far_u - arm.short_by(60, 900), reaches[1 - eager].y_mm),
        reaches[1 - eager].launch,
    )
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    return script


def stop_at_wall(arm: Thrower) -> Script:
    """One die strikes, the other stops 11 to 24 mm short of the wall."""
    script = _one_short(arm, arm.rng.uniform(11, 24))
    script.truth = void_truth("no_wall_hit")
    return script


def rail_only(arm: Thrower) -> Script:
    """One die strikes the end, the other only a side rail."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    stray = arm.rng.randint(0, 1)
    paths = [arm.release(hands[i], after[i]) for i in (0, 1)]
    rail = arm.rng.choice((arm.half, arm.table.width_mm - arm.half))
    meet = (arm.far_u - arm.rng.uniform(500, 1100), rail)
    arm.fly(paths[stray], meet, reaches[stray].launch, reaches[stray].arrive)
    paths[stray].strike("front" if rail == arm.half else "back", reaches[stray].arrive)
    goal = (arm.far_u - arm.rng.uniform(80, 350), arm.rng.uniform(200, arm.table.width_mm - 200))
    arm.roll_to(paths[stray], goal, 0.6 * reaches[stray].arrive)
    arm.strike_far(paths[1 - stray], reaches[1 - stray])
    arm.rebound(paths[1 - stray], reaches[1 - stray].arrive)
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    script.truth = void_truth("no_wall_hit")
    return script


def staggered(arm: Thrower) -> Script:
    """The second die leaves the hand clearly after the first."""
    late = arm.rng.randint(152_000, 900_000)
    script = good_throw(arm, (0, late) if arm.rng.random() < 0.5 else (late, 0))
    script.truth = void_truth("not_simultaneous")
    return script


def slightly_staggered(arm: Thrower) -> Script:
    """The second die leaves the hand slightly late: valid, with a notice."""
    late = arm.rng.randint(52_000, 148_000)
    script = good_throw(arm, (0, late) if arm.rng.random() < 0.5 else (late, 0))
    script.truth = valid_truth(script, "staggered_release")
    return script


def one_die(arm: Thrower) -> Script:
    """Only one die is thrown."""
    reach = arm.reaches()[0]
    script = Script([full_path(arm, arm.hands()[0], 0, reach)], [arm.flat()])
    check_rests(arm, script, free=(0,))
    script.collected_us = script.first_us + arm.rng.randint(9_200_000, 11_000_000)
    script.truth = void_truth("one_die_thrown")
    return script


def crossing(arm: Thrower) -> Script:
    """Both dice strike and their paths cross closely; the camera does not confuse them."""
    for _ in range(60):
        script = good_throw(arm)
        _, gap = nearest_approach(*script.paths)
        if gap < 30:
            script.truth = valid_truth(script)
            return script
    raise RedrawError


def on_chips_flat(arm: Thrower) -> Script:
    """A die lies flat on loose chips, which is no cause of a No Roll (C34-INV-3)."""
    script = good_throw(arm)
    script.rests[arm.rng.randint(0, 1)].on = "chips"
    script.truth = valid_truth(script)
    return script


def chips_contact(arm: Thrower) -> Script:
    """A die strikes a player's chips on its way, which is no cause of a No Roll (C34-INV-3)."""
    script = good_throw(arm)
    index = arm.rng.randint(0, 1)
    path = script.paths[index]
    t = arm.rng.randint(path.release_us + 200_000, path.end_us)
    script.seen.append(DieContact(t=t, dev=CAMERA, die=1 if index == 0 else 2, with_="chips"))
    script.truth = valid_truth(script)
    return script


def cocked(arm: Thrower, sides: tuple[Face, ...], face: Face, up: Face | None) -> Rest:
    """Return the rest of a die that leans on chips with these sides."""
    return Rest(
        face,
        up,
        round(arm.rng.uniform(0.88, 0.99), 3),
        round(arm.rng.uniform(12, 44), 1),
        "chips",
        sides,
    )


def cocked_two_sides(arm: Thrower) -> Script:
    """A die leans on chips with two sides (C34-PT-2)."""
    script = good_throw(arm)
    side = arm.face()
    sides = (side, arm.rng.choice(ADJACENT[side]))
    script.rests[arm.rng.randint(0, 1)] = cocked(arm, sides, opposite(side), None)
    script.truth = void_truth("cocked")
    return script


def cocked_one_side(arm: Thrower) -> Script:
    """A die leans on chips with one side: the opposite face counts (C34-PT-1i)."""
    script = good_throw(arm)
    side = arm.face()
    up = opposite(side) if arm.rng.random() < 0.5 else None
    script.rests[arm.rng.randint(0, 1)] = cocked(arm, (side,), opposite(side), up)
    script.truth = valid_truth(script)
    return script


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
    """A die comes to rest on the bank's chips, whichever surface the camera reports."""
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
    """The dice are released apart, and one ends on a rail: both causes are reported."""
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
    """Return a throw in which one die is at rest and the other (its index is returned) still at the wall."""
    hands, reaches, after = arm.hands(), arm.reaches(), offsets or arm.offsets()
    stray = arm.rng.randint(0, 1)
    paths = [full_path(arm, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[stray] = arm.release(hands[stray], after[stray])
    arm.strike_far(paths[stray], reaches[stray])
    return Script(paths, [arm.flat(), arm.flat()]), stray


def _roll_in(arm: Thrower, path: Path, place: Point) -> None:
    """Add a roll from the wall to a place, within a second or two."""
    way = math.dist(path.here, place)
    path.go(place, 2 * way / (1000 * arm.rng.uniform(0.5, 0.9) * max(1.0, way / 700)), 0)


def _gone(arm: Thrower, script: Script, stray: int) -> Script:
    check_rests(arm, script, free=(1 - stray,))
    script.rests[stray].off_table = True
    script.truth = Truth(verdict="void", allowed=("void",), reasons=("off_table",))
    return script
