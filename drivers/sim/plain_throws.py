"""Throws that the sensors alone can judge: valid throws and No Rolls."""

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
    """Raised if a drawn throw lacks the properties of its kind. The caller then draws another throw."""


def opposite(face: Face) -> Face:
    """Return the opposite face of a die."""
    faces: tuple[Face, ...] = (6, 5, 4, 3, 2, 1)
    return faces[face - 1]


def valid_truth(script: Script, *notices: str) -> Truth:
    """Return the ground truth of a valid throw whose result must carry these notices."""
    return Truth(verdict="valid", allowed=("valid",), dice=script.dice, notices=notices)


def void_truth(*reasons: str, may_review: bool = False, may_add: tuple[str, ...] = ()) -> Truth:
    """Return the ground truth of a No Roll for these reasons."""
    allowed: tuple[Verdict, ...] = ("void", "review") if may_review else ("void",)
    return Truth(verdict="void", allowed=allowed, reasons=reasons, may_add=may_add)


def full_path(thrower: Thrower, hand_y: float, after_us: int, reach: Reach) -> Path:
    """Return the path of a die that strikes the far wall and rebounds."""
    path = thrower.release(hand_y, after_us)
    thrower.strike_far(path, reach)
    thrower.rebound(path, reach.arrive)
    return path


def short_path(thrower: Thrower, hand_y: float, after_us: int, reach: Reach, short_mm: float) -> Path:
    """Return the path of a die that comes to rest `short_mm` short of the far wall."""
    path = thrower.release(hand_y, after_us)
    thrower.stop_short(path, (thrower.far_u - short_mm, reach.y_mm), reach.launch)
    return path


def good_throw(thrower: Thrower, offsets: tuple[int, int] | None = None) -> Script:
    """Return a throw in which both dice strike the far wall and come to rest apart on the felt."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), offsets or thrower.offsets()
    paths = [full_path(thrower, hands[i], after[i], reaches[i]) for i in (0, 1)]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    return script


def check_rests(thrower: Thrower, script: Script, *, free: tuple[int, ...] = (0, 1)) -> None:
    """Raise RedrawError unless the dice lie apart.

    The dice in `free` must also be clear of zones, rails and the far wall.
    """
    places = [path.end_point for path in script.paths]
    if len(places) == 2 and math.dist(*places) < 2.5 * thrower.table.die_mm:
        raise RedrawError
    for index in free:
        u, y = places[index]
        if not 12 <= y <= thrower.table.width_mm - 12 or u > thrower.far_u - 25:
            raise RedrawError
        if is_near_zone(thrower, places[index]):
            raise RedrawError


def is_near_zone(thrower: Thrower, point: Point) -> bool:
    """Return whether a point (u, y) is within two die widths of a zone, in either direction of play."""
    u, y = point
    margin = 2 * thrower.table.die_mm
    for zone in thrower.table.zones:
        xs, ys = [p[0] for p in zone.polygon], [p[1] for p in zone.polygon]
        for x in (u, thrower.table.length_mm - u):
            if min(xs) - margin <= x <= max(xs) + margin and min(ys) - margin <= y <= max(ys) + margin:
                return True
    return False


def zone_middle(thrower: Thrower, kind: Surface) -> Point:
    """Draw a point (u, y) well inside a zone of the table."""
    zone = next(zone for zone in thrower.table.zones if zone.kind == kind)
    xs, ys = [p[0] for p in zone.polygon], [p[1] for p in zone.polygon]
    x = min(xs) + (max(xs) - min(xs)) * thrower.rng.uniform(0.25, 0.75)
    y = min(ys) + (max(ys) - min(ys)) * thrower.rng.uniform(0.3, 0.7)
    return (x if thrower.rightward else thrower.table.length_mm - x, y)


def valid(thrower: Thrower) -> Script:
    """Both dice strike the far wall and lie flat."""
    script = good_throw(thrower)
    script.truth = valid_truth(script)
    return script


def bumped(thrower: Thrower) -> Script:
    """Both dice strike the wall and collide on their way back."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        thrower.strike_far(path, reach)
    meet_u = thrower.far_u - thrower.rng.uniform(120, 320)
    meet_y = (reaches[0].y_mm + reaches[1].y_mm) / 2
    when = max(path.end_us for path in paths) + thrower.rng.randint(150_000, 450_000)
    for path, side in zip(paths, (-1, 1), strict=True):
        upward = 1 if path.end_point[1] > meet_y else -1
        goal = (meet_u, meet_y + upward * thrower.table.die_mm / 2)
        mean = math.dist(path.end_point, goal) / ((when - path.end_us) / 1000)
        if not 0.25 <= mean <= 1.6:
            raise RedrawError
        path.go(goal, mean * 1.25, mean * 0.75)
        thrower.settle(path, 0.45 * mean + 0.1, math.pi + side * 0.2 + upward * 1.1)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    script.seen.append(DieContact(t=when, dev=CAMERA, die=1, with_="die"))
    script.truth = valid_truth(script)
    return script


def near_wall(thrower: Thrower) -> Script:
    """The dice are thrown at the end wall behind the shooter."""
    thrower.stand_u = thrower.rng.uniform(900, 1500)
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        thrower.fly(path, (thrower.half, reach.y_mm), reach.launch, reach.arrive)
        path.strike("near", reach.arrive)
        thrower.settle(path, max(0.55, 0.3 * reach.arrive), thrower.rng.gauss(0, 0.3), 2.5)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    script.truth = valid_truth(script)
    return script


def one_short(thrower: Thrower) -> Script:
    """One die strikes the wall; the other die stops short of it."""
    script = _one_short(thrower, thrower.short_by(25, 1500))
    script.truth = void_truth("no_wall_hit")
    return script


def _one_short(thrower: Thrower, short_mm: float) -> Script:
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    lazy = thrower.rng.randint(0, 1)
    paths = [
        short_path(thrower, hands[i], after[i], reaches[i], short_mm)
        if i == lazy
        else full_path(thrower, hands[i], after[i], reaches[i])
        for i in (0, 1)
    ]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script, free=(1 - lazy,) if short_mm < 30 else (0, 1))
    return script


def both_short(thrower: Thrower) -> Script:
    """Neither die reaches the wall."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [short_path(thrower, hands[i], after[i], reaches[i], thrower.short_by(60, 1500)) for i in (0, 1)]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    script.truth = void_truth("no_wall_hit")
    return script


def bump_and_short(thrower: Thrower) -> Script:
    """One die turns back short of the wall just as the wall's sensor detects a knock; the other die strikes
    the wall."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    lazy = thrower.rng.randint(0, 1)
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    apex = (thrower.far_u - thrower.short_by(75, 1100), reaches[lazy].y_mm)
    turn_speed = thrower.rng.uniform(0.5, 2.2)
    thrower.fly(paths[lazy], apex, reaches[lazy].launch, turn_speed)
    knock = (
        paths[lazy].end_us + thrower.rng.randint(-3000, 3000),
        "far",
        apex[1] + thrower.rng.uniform(-30, 30),
    )
    thrower.settle(
        paths[lazy], turn_speed * thrower.rng.uniform(0.3, 0.6), math.pi + thrower.rng.gauss(0, 0.3)
    )
    thrower.strike_far(paths[1 - lazy], reaches[1 - lazy])
    thrower.rebound(paths[1 - lazy], reaches[1 - lazy].arrive)
    script = Script(paths, [thrower.flat(), thrower.flat()], knocks=[(knock[0], "far", knock[2])])
    check_rests(thrower, script)
    script.truth = void_truth("no_wall_hit")
    return script


def double_hit(thrower: Thrower) -> Script:
    """One die strikes the wall twice; the other die misses it."""
    script = twice_and_short(thrower)
    if nearest_approach(*script.paths)[1] < 80:
        raise RedrawError
    script.truth = void_truth("no_wall_hit")
    return script


def twice_and_short(thrower: Thrower) -> Script:
    """Return a throw in which one die strikes the wall twice and the other die falls short."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    eager = thrower.rng.randint(0, 1)
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    thrower.strike_far(paths[eager], reaches[eager])
    return_speed = reaches[eager].arrive * thrower.rng.uniform(0.15, 0.4)
    paths[eager].go(
        (
            thrower.far_u - thrower.rng.uniform(100, 350),
            thrower.inside(reaches[eager].y_mm + thrower.rng.gauss(0, 60)),
        ),
        return_speed,
        0.2,
    )
    second_speed = thrower.rng.uniform(0.6, 1.6)
    paths[eager].go(
        (thrower.far_u, thrower.inside(paths[eager].end_point[1] + thrower.rng.gauss(0, 50))),
        0.3,
        second_speed,
    )
    paths[eager].strike("far", second_speed)
    thrower.settle(paths[eager], 0.5, math.pi + thrower.rng.gauss(0, 0.3))
    thrower.stop_short(
        paths[1 - eager],
        (thrower.far_u - thrower.short_by(60, 900), reaches[1 - eager].y_mm),
        reaches[1 - eager].launch,
    )
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    return script


def stop_at_wall(thrower: Thrower) -> Script:
    """One die strikes the wall; the other die stops 11 to 24 mm short of it."""
    script = _one_short(thrower, thrower.rng.uniform(11, 24))
    script.truth = void_truth("no_wall_hit")
    return script


def rail_only(thrower: Thrower) -> Script:
    """One die strikes the end wall; the other die strikes only a side rail."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    stray = thrower.rng.randint(0, 1)
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    rail = thrower.rng.choice((thrower.half, thrower.table.width_mm - thrower.half))
    meet = (thrower.far_u - thrower.rng.uniform(500, 1100), rail)
    thrower.fly(paths[stray], meet, reaches[stray].launch, reaches[stray].arrive)
    paths[stray].strike("front" if rail == thrower.half else "back", reaches[stray].arrive)
    goal = (
        thrower.far_u - thrower.rng.uniform(80, 350),
        thrower.rng.uniform(200, thrower.table.width_mm - 200),
    )
    thrower.roll_to(paths[stray], goal, 0.6 * reaches[stray].arrive)
    thrower.strike_far(paths[1 - stray], reaches[1 - stray])
    thrower.rebound(paths[1 - stray], reaches[1 - stray].arrive)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    script.truth = void_truth("no_wall_hit")
    return script


def staggered(thrower: Thrower) -> Script:
    """The second die leaves the hand 152 to 900 ms after the first."""
    late = thrower.rng.randint(152_000, 900_000)
    script = good_throw(thrower, (0, late) if thrower.rng.random() < 0.5 else (late, 0))
    script.truth = void_truth("not_simultaneous")
    return script


def slightly_staggered(thrower: Thrower) -> Script:
    """The second die leaves the hand 52 to 148 ms after the first. The result carries a notice."""
    late = thrower.rng.randint(52_000, 148_000)
    script = good_throw(thrower, (0, late) if thrower.rng.random() < 0.5 else (late, 0))
    script.truth = valid_truth(script, "staggered_release")
    return script


def one_die(thrower: Thrower) -> Script:
    """Only one die is thrown."""
    reach = thrower.reaches()[0]
    script = Script([full_path(thrower, thrower.hands()[0], 0, reach)], [thrower.flat()])
    check_rests(thrower, script, free=(0,))
    script.collected_us = script.first_us + thrower.rng.randint(9_200_000, 11_000_000)
    script.truth = void_truth("one_die_thrown")
    return script


def crossing(thrower: Thrower) -> Script:
    """Both dice strike the wall and pass within 30 mm of each other; the camera does not confuse them."""
    for _ in range(60):
        script = good_throw(thrower)
        _, gap = nearest_approach(*script.paths)
        if gap < 30:
            script.truth = valid_truth(script)
            return script
    raise RedrawError


def on_chips_flat(thrower: Thrower) -> Script:
    """A die lies flat on loose chips. The throw is valid (C34-INV-3)."""
    script = good_throw(thrower)
    script.rests[thrower.rng.randint(0, 1)].on = "chips"
    script.truth = valid_truth(script)
    return script


def chips_contact(thrower: Thrower) -> Script:
    """A die strikes a player's chips in flight. The throw is valid (C34-INV-3)."""
    script = good_throw(thrower)
    index = thrower.rng.randint(0, 1)
    path = script.paths[index]
    t = thrower.rng.randint(path.release_us + 200_000, path.end_us)
    script.seen.append(DieContact(t=t, dev=CAMERA, die=1 if index == 0 else 2, with_="chips"))
    script.truth = valid_truth(script)
    return script


def cocked(thrower: Thrower, sides: tuple[Face, ...], face: Face, up: Face | None) -> Rest:
    """Return the resting position of a die whose `sides` lean on chips."""
    return Rest(
        face,
        up,
        round(thrower.rng.uniform(0.88, 0.99), 3),
        round(thrower.rng.uniform(12, 44), 1),
        "chips",
        sides,
    )


def cocked_two_sides(thrower: Thrower) -> Script:
    """Two sides of a die lean on chips (C34-PT-2)."""
    script = good_throw(thrower)
    side = thrower.face()
    sides = (side, thrower.rng.choice(ADJACENT[side]))
    script.rests[thrower.rng.randint(0, 1)] = cocked(thrower, sides, opposite(side), None)
    script.truth = void_truth("cocked")
    return script


def cocked_one_side(thrower: Thrower) -> Script:
    """One side of a die leans on chips; the opposite face counts (C34-PT-1i)."""
    script = good_throw(thrower)
    side = thrower.face()
    up = opposite(side) if thrower.rng.random() < 0.5 else None
    script.rests[thrower.rng.randint(0, 1)] = cocked(thrower, (side,), opposite(side), up)
    script.truth = valid_truth(script)
    return script


def off_table(thrower: Thrower) -> Script:
    """A die strikes the wall and jumps over a rail."""
    script, stray = _struck(thrower)
    over_front = thrower.rng.random() < 0.5
    y = -thrower.rng.uniform(60, 140) if over_front else thrower.table.width_mm + thrower.rng.uniform(60, 140)
    path = script.paths[stray]
    path.go((path.end_point[0] - thrower.rng.uniform(100, 700), y), thrower.rng.uniform(0.8, 2.0), 0.6)
    return _make_left_table(thrower, script, stray)


def off_table_over_wall(thrower: Thrower) -> Script:
    """A die flies over the far wall without touching it."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    stray = thrower.rng.randint(0, 1)
    paths = [full_path(thrower, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[stray] = thrower.release(hands[stray], after[stray])
    over = (thrower.table.length_mm + thrower.rng.uniform(60, 160), reaches[stray].y_mm)
    thrower.fly(paths[stray], over, reaches[stray].launch, reaches[stray].arrive)
    return _make_left_table(thrower, Script(paths, [thrower.flat(), thrower.flat()]), stray)


def off_and_short(thrower: Thrower) -> Script:
    """One die leaves the table; the other die does not reach the wall. The No Roll has both reasons."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    stray = thrower.rng.randint(0, 1)
    paths = [
        short_path(thrower, hands[i], after[i], reaches[i], thrower.rng.uniform(150, 900)) for i in (0, 1)
    ]
    paths[stray] = thrower.release(hands[stray], after[stray])
    thrower.strike_far(paths[stray], reaches[stray])
    paths[stray].go((thrower.far_u - 300, -90), 1.5, 0.6)
    script = _make_left_table(thrower, Script(paths, [thrower.flat(), thrower.flat()]), stray)
    script.truth = void_truth("off_table", "no_wall_hit")
    return script


def both_off(thrower: Thrower) -> Script:
    """Both dice leave the table."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [thrower.release(hands[i], after[i]) for i in (0, 1)]
    for path, reach in zip(paths, reaches, strict=True):
        thrower.strike_far(path, reach)
        path.go((path.end_point[0] - 350, thrower.rng.choice((-90, thrower.table.width_mm + 90))), 1.4, 0.6)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    for rest in script.rests:
        rest.off_table = True
    script.truth = void_truth("off_table")
    return script


def stacked(thrower: Thrower) -> Script:
    """One die comes to rest on the other die."""
    script, top = _struck(thrower)
    under = script.paths[1 - top]
    place = (under.end_point[0] + thrower.rng.uniform(-5, 5), under.end_point[1] + thrower.rng.uniform(-5, 5))
    _roll_in(thrower, script.paths[top], place)
    if script.paths[top].end_us < under.end_us + 50_000:
        raise RedrawError
    check_rests(thrower, Script([under], [script.rests[0]]), free=(0,))
    script.rests[top].on = "die"
    script.truth = void_truth("stacked")
    return script


def on_bank(thrower: Thrower) -> Script:
    """A die comes to rest on the bank's chips, which the camera might mistake for another surface."""
    return _in_zone(thrower, "bank", thrower.rng.choice(("bank", "bank", "chips", "unknown")))


def in_cup(thrower: Thrower) -> Script:
    """A die comes to rest in the stickperson's cup."""
    return _in_zone(thrower, "cup", "cup")


def on_rail(thrower: Thrower) -> Script:
    """A die comes to rest on a rail."""
    script = _on_rail(thrower)
    script.truth = void_truth("on_rail")
    return script


def late_and_on_rail(thrower: Thrower) -> Script:
    """The dice leave the hand too far apart in time, and one comes to rest on a rail. The No Roll has both
    reasons."""
    script = _on_rail(thrower, (0, thrower.rng.randint(160_000, 400_000)))
    script.truth = void_truth("not_simultaneous", "on_rail")
    return script


def _on_rail(thrower: Thrower, after: tuple[int, int] | None = None) -> Script:
    script, stray = _struck(thrower, after)
    y = thrower.rng.choice(
        (-thrower.rng.uniform(14, 30), thrower.table.width_mm + thrower.rng.uniform(14, 30))
    )
    _roll_in(thrower, script.paths[stray], (thrower.far_u - thrower.rng.uniform(100, 800), y))
    check_rests(thrower, script, free=(1 - stray,))
    script.rests[stray].on = "rail"
    return script


def _in_zone(thrower: Thrower, kind: Surface, called: Surface) -> Script:
    script, stray = _struck(thrower)
    _roll_in(thrower, script.paths[stray], zone_middle(thrower, kind))
    check_rests(thrower, script, free=(1 - stray,))
    script.rests[stray].on = called
    script.truth = void_truth(f"{'on' if kind == 'bank' else 'in'}_{kind}")
    return script


def _struck(thrower: Thrower, offsets: tuple[int, int] | None = None) -> tuple[Script, int]:
    """Return a throw in which one die's path ends at the wall and the other die comes to rest.

    Also return the index of the unfinished path.
    """
    hands, reaches, after = thrower.hands(), thrower.reaches(), offsets or thrower.offsets()
    stray = thrower.rng.randint(0, 1)
    paths = [full_path(thrower, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[stray] = thrower.release(hands[stray], after[stray])
    thrower.strike_far(paths[stray], reaches[stray])
    return Script(paths, [thrower.flat(), thrower.flat()]), stray


def _roll_in(thrower: Thrower, path: Path, place: Point) -> None:
    distance = math.dist(path.end_point, place)
    path.go(place, 2 * distance / (1000 * thrower.rng.uniform(0.5, 0.9) * max(1.0, distance / 700)), 0)


def _make_left_table(thrower: Thrower, script: Script, stray: int) -> Script:
    check_rests(thrower, script, free=(1 - stray,))
    script.rests[stray].off_table = True
    script.truth = Truth(verdict="void", allowed=("void",), reasons=("off_table",))
    return script
