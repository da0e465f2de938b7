"""Throws that the sensors see badly: dice hidden, merged, confused, unheard or unread, or a device down."""

import math

from controller.model.readings import DeviceDown, DeviceUp, DieLost
from drivers.sim.plain_throws import (
    RedrawError,
    check_rests,
    full_path,
    good_throw,
    short_path,
    valid_truth,
)
from drivers.sim.scenes import CAMERA, Truth
from drivers.sim.throwing import Reach, Script, Thrower, nearest_approach


def either(script: Script, *, any_order: bool = False) -> Truth:
    """Return the truth of a valid throw that may also be put under review."""
    return Truth(verdict="valid", allowed=("valid", "review"), dice=script.dice, any_order=any_order)


def no_hit_or_review() -> Truth:
    """Return the truth of a throw void for a missed wall that may also be put under review."""
    return Truth(verdict="void", allowed=("void", "review"), reasons=("no_wall_hit",))


def review_only() -> Truth:
    """Return the truth of a throw that the readings do not decide."""
    return Truth(verdict="review", allowed=("review",))


def merged(arm: Thrower) -> Script:
    """The dice land together, 45 mm apart, and make one impact."""
    launch = arm.rng.uniform(2.8, 5.8)
    y = arm.rng.uniform(150, arm.table.width_mm - 150)
    reaches = [Reach(y + side * 22.5, launch, max(1.3, 0.8 * launch)) for side in (-1, 1)]
    paths = [arm.release(reach.y_mm, 0) for reach in reaches]
    paths[1].hand = (paths[0].hand[0], paths[1].hand[1])
    for path, reach in zip(paths, reaches, strict=True):
        for share in (0.7, 1.0):
            u = path.hand[0] + share * (arm.far_u - path.hand[0])
            path.go((u, reach.y_mm), launch * (1.1 - 0.3 * share), launch * (1.0 - 0.2 * share))
        path.strike("far", reach.arrive)
        arm.rebound(path, reach.arrive)
    script = Script(paths, [arm.flat(), arm.flat()], unheard={(arm.rng.randint(0, 1), 0)})
    check_rests(arm, script)
    script.truth = either(script)
    return script


def occluded_at_wall(arm: Thrower) -> Script:
    """One die is hidden for 100 ms around its hit."""
    script = good_throw(arm)
    die = arm.rng.randint(0, 1)
    hit = script.paths[die].touches[0].t_us
    before = arm.rng.randint(35_000, 65_000)
    script.hidden.append((die, hit - before, hit - before + 100_000))
    script.truth = either(script)
    return script


def occluded_short(arm: Thrower) -> Script:
    """One die is hidden while it turns back short of the wall; half the time a knock is detected then."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    lazy = arm.rng.randint(0, 1)
    paths = [full_path(arm, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[lazy] = arm.release(hands[lazy], after[lazy])
    apex = (arm.far_u - arm.rng.uniform(30, 200), reaches[lazy].y_mm)
    arm.fly(paths[lazy], apex, reaches[lazy].launch, arm.rng.uniform(1.0, 2.5))
    turn_us = paths[lazy].end_us
    arm.settle(paths[lazy], arm.rng.uniform(0.5, 0.9), math.pi)
    script = Script(paths, [arm.flat(), arm.flat()])
    script.hidden.append((lazy, turn_us - 50_000, turn_us + 50_000))
    if arm.rng.random() < 0.5:
        script.knocks.append((turn_us + arm.rng.randint(-8000, 20_000), "far", apex[1]))
    check_rests(arm, script)
    script.truth = no_hit_or_review()
    return script


def occluded_midway(arm: Thrower) -> Script:
    """One die is hidden for a moment in mid-table, which leaves only one explanation."""
    script = good_throw(arm)
    die = arm.rng.randint(0, 1)
    path = script.paths[die]
    hit = path.touches[0].t_us
    begin = path.release_us + 80_000
    end = begin + arm.rng.randint(40_000, 90_000)
    if end > hit - 150_000:
        raise RedrawError
    script.hidden.append((die, begin, end))
    script.truth = valid_truth(script)
    return script


def touch_within_error(arm: Thrower) -> Script:
    """One die stops so close to the wall that the measuring error leaves open whether it touched."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [
        full_path(arm, hands[0], after[0], reaches[0]),
        short_path(arm, hands[1], after[1], reaches[1], arm.rng.uniform(0, 2.0)),
    ]
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script, free=(0,))
    script.truth = no_hit_or_review()
    return script


def soft_hit(arm: Thrower) -> Script:
    """One die touches the wall so gently that it hardly rebounds; the impact is detected."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [full_path(arm, hands[0], after[0], reaches[0]), arm.release(hands[1], after[1])]
    paths[1].go((arm.far_u * 0.7, (hands[1] + reaches[1].y_mm) / 2), reaches[1].launch, reaches[1].launch)
    gentle = arm.rng.uniform(0.25, 0.6)
    paths[1].go((arm.far_u, reaches[1].y_mm), reaches[1].launch * 0.7, gentle)
    paths[1].strike("far", gentle)
    paths[1].go((arm.far_u - arm.rng.uniform(5, 25), reaches[1].y_mm), 0.2, 0)
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script, free=(0,))
    script.truth = either(script)
    return script


def phantom_impact(arm: Thrower) -> Script:
    """One die stops just short of the wall, and a knock is detected there at that moment."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [
        full_path(arm, hands[0], after[0], reaches[0]),
        short_path(arm, hands[1], after[1], reaches[1], arm.rng.uniform(10, 40)),
    ]
    script = Script(paths, [arm.flat(), arm.flat()])
    script.knocks.append((paths[1].end_us - arm.rng.randint(0, 60_000), "far", reaches[1].y_mm))
    check_rests(arm, script, free=(0,))
    script.truth = no_hit_or_review()
    return script


def deaf_wall(arm: Thrower) -> Script:
    """The far wall's sensor is dead without being reported: neither hit is detected."""
    script = good_throw(arm)
    script.unheard = {(0, 0), (1, 0)}
    script.truth = review_only()
    return script


def half_deaf_wall(arm: Thrower) -> Script:
    """Of two hits well apart in place and time, one is not detected."""
    script = good_throw(arm)
    first, second = (path.touches[0] for path in script.paths)
    if abs(first.t_us - second.t_us) < 30_000 or abs(first.along_mm - second.along_mm) < 200:
        raise RedrawError
    script.unheard = {(arm.rng.randint(0, 1), 0)}
    script.truth = review_only()
    return script


def wall_down(arm: Thrower) -> Script:
    """The far wall's sensor goes down before the dice reach it."""
    script = good_throw(arm)
    down = script.first_us + arm.rng.randint(
        10_000, min(p.touches[0].t_us for p in script.paths) - script.first_us
    )
    _far_sensor_out(arm, script, down)
    script.truth = review_only()
    return script


def wall_down_one_short(arm: Thrower) -> Script:
    """The far wall's sensor goes down, and one die clearly stays short, by its track alone."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    paths = [
        full_path(arm, hands[0], after[0], reaches[0]),
        short_path(arm, hands[1], after[1], reaches[1], arm.rng.uniform(250, 1200)),
    ]
    script = Script(paths, [arm.flat(), arm.flat()])
    check_rests(arm, script)
    _far_sensor_out(arm, script, script.first_us + 50_000)
    script.truth = no_hit_or_review()
    return script


def other_wall_down(arm: Thrower) -> Script:
    """The sensor of the wall behind the shooter goes down, which does not matter."""
    script = good_throw(arm)
    device = "wall-left" if arm.rightward else "wall-right"
    down = script.first_us + arm.rng.randint(10_000, 600_000)
    script.extra.append(DeviceDown(t=down, dev=device, reason="unplugged"))
    script.extra.append(DeviceUp(t=script.first_us + 4_200_000, dev=device))
    script.truth = valid_truth(script)
    return script


def _far_sensor_out(arm: Thrower, script: Script, down_us: int) -> None:
    device = "wall-right" if arm.rightward else "wall-left"
    script.deaf_from_us = down_us
    script.extra.append(DeviceDown(t=down_us, dev=device, reason="unplugged"))
    script.extra.append(DeviceUp(t=script.first_us + arm.rng.randint(3_500_000, 4_500_000), dev=device))


def camera_down(arm: Thrower) -> Script:
    """The camera goes down before any hit; it may be back when the dice are at rest."""
    script = good_throw(arm)
    first_hit = min(path.touches[0].t_us for path in script.paths)
    return _camera_out(arm, script, arm.rng.randint(script.first_us + 60_000, first_hit - 15_000))


def camera_down_between_hits(arm: Thrower) -> Script:
    """The camera goes down after one die has struck and before the other does."""
    script = good_throw(arm)
    first_hit, last_hit = sorted(path.touches[0].t_us for path in script.paths)
    if last_hit - first_hit < 90_000:
        raise RedrawError
    return _camera_out(arm, script, arm.rng.randint(first_hit + 45_000, last_hit - 15_000))


def _camera_out(arm: Thrower, script: Script, down_us: int) -> Script:
    up_us = down_us + arm.rng.randint(2_500_000, 4_500_000)
    script.blind = (down_us, up_us)
    script.extra.append(DeviceDown(t=down_us, dev=CAMERA, reason="unplugged"))
    script.extra.append(DeviceUp(t=up_us, dev=CAMERA))
    back_in_time = arm.rng.random() < 0.5
    for rest in script.rests:
        rest.seen, rest.at_us = back_in_time, up_us + 150_000
    script.collected_us = script.first_us + arm.rng.randint(10_500_000, 12_000_000)
    script.truth = review_only()
    return script


def die_lost(arm: Thrower) -> Script:
    """The camera loses a die and never finds it again."""
    script = good_throw(arm)
    die = arm.rng.randint(0, 1)
    lost = arm.rng.randint(script.paths[die].release_us + 100_000, script.paths[die].end_us - 20_000)
    script.hidden.append((die, lost, script.paths[die].end_us + 1))
    script.rests[die].seen = False
    script.seen.append(DieLost(t=lost, dev=CAMERA, die=1 if die == 0 else 2))
    script.collected_us = script.first_us + arm.rng.randint(10_500_000, 12_000_000)
    script.truth = review_only()
    return script


def swapped_crossing(arm: Thrower) -> Script:
    """Both dice strike, and the camera confuses them where their paths cross."""
    for _ in range(80):
        script = good_throw(arm)
        when, gap = nearest_approach(*script.paths)
        if gap < 30:
            script.swap_us = when
            script.truth = either(script, any_order=True)
            return script
    raise RedrawError


def swapped_double_hit(arm: Thrower) -> Script:
    """The short die knocks the other back to the wall, and the camera confuses them: both seem to strike."""
    hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
    eager, lazy = arm.release(hands[0], after[0]), arm.release(hands[1], after[1])
    arm.strike_far(eager, reaches[0])
    away = arm.rng.uniform(110, 350)
    out = reaches[0].arrive * arm.rng.uniform(0.15, 0.4)
    meet = (arm.far_u - away, arm.inside(reaches[0].y_mm + arm.rng.gauss(0, 40)))
    eager.go(meet, out, 0.3 * out)
    behind = (meet[0] - arm.table.die_mm, arm.inside(meet[1] + arm.rng.uniform(-8, 8)))
    mean = math.dist(lazy.hand, behind) / ((eager.end_us - lazy.release_us) / 1000)
    lazy.go(behind, mean * 1.2, mean * 0.8)
    pushed, goes_on = _knock(0.8 * mean, -0.3 * out, arm.rng.uniform(0.15, 0.5))
    roll_mm = min(away - 40, 1000 * goes_on**2 / 4)
    if mean > 5 or goes_on < 0.1 or pushed < 0.5:
        raise RedrawError
    meet_us = eager.end_us
    eager.go((arm.far_u, arm.inside(meet[1] + arm.rng.gauss(0, 20))), pushed, 0.8 * pushed)
    eager.strike("far", 0.8 * pushed)
    arm.settle(eager, 0.55, math.pi + arm.rng.gauss(0, 0.3), 2.5)
    lazy.go((behind[0] + roll_mm, behind[1]), goes_on, 0)
    paths = [eager, lazy]
    if arm.rng.random() < 0.5:
        paths.reverse()
    script = Script(paths, [arm.flat(), arm.flat()], swap_us=meet_us)
    if math.dist(eager.here, lazy.here) < 21:
        raise RedrawError
    script.truth = no_hit_or_review()
    return script


def _knock(striking: float, struck: float, bounce: float) -> tuple[float, float]:
    """Return the speeds of two equal dice after a collision, the struck one's first."""
    return (
        ((1 + bounce) * striking + (1 - bounce) * struck) / 2,
        ((1 - bounce) * striking + (1 + bounce) * struck) / 2,
    )


def swapped_short(arm: Thrower) -> Script:
    """One die stays short, and the camera confuses it with the other, which passes it on its way back."""
    for _ in range(80):
        hands, reaches, after = arm.hands(), arm.reaches(), arm.offsets()
        paths = [full_path(arm, hands[0], after[0], reaches[0]), arm.release(hands[1], after[1])]
        near = paths[0].here
        goal = (near[0] + arm.rng.uniform(-30, 30), arm.inside(near[1] + arm.rng.uniform(-30, 30)))
        if arm.far_u - goal[0] < 40:
            continue
        arm.stop_short(paths[1], goal, reaches[1].launch)
        script = Script(paths, [arm.flat(), arm.flat()])
        when, gap = nearest_approach(*paths)
        if gap > 40 or math.dist(near, goal) < 21:
            continue
        script.swap_us = when
        script.truth = no_hit_or_review()
        return script
    raise RedrawError
