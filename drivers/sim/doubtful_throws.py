"""Throws with incomplete or misleading readings.

Dice are hidden, lost or confused, impacts are merged, missed or imitated by a knock, or a device is down.
"""

import math

from controller.model.readings import DeviceDown, DeviceUp, DieLost
from drivers.sim.plain_throws import (
    RedrawError,
    check_rests,
    full_path,
    good_throw,
    is_near_zone,
    short_path,
    valid_truth,
)
from drivers.sim.scenes import CAMERA, Truth
from drivers.sim.throwing import Reach, Script, Thrower, nearest_approach


def valid_or_review(script: Script, *, any_order: bool = False) -> Truth:
    """Return the ground truth of a valid throw for which a review is also correct."""
    return Truth(verdict="valid", allowed=("valid", "review"), dice=script.dice, any_order=any_order)


def no_hit_or_review() -> Truth:
    """Return the ground truth of a throw that is void because a die missed the wall.

    A review is also correct.
    """
    return Truth(verdict="void", allowed=("void", "review"), reasons=("no_wall_hit",))


def review_only() -> Truth:
    """Return the ground truth of a throw that the readings do not decide."""
    return Truth(verdict="review", allowed=("review",))


def merged(thrower: Thrower) -> Script:
    """The dice strike the wall together, 45 mm apart; the sensor reports one impact."""
    launch = thrower.rng.uniform(2.8, 5.8)
    y = thrower.rng.uniform(150, thrower.table.width_mm - 150)
    reaches = [Reach(y + side * 22.5, launch, max(1.3, 0.8 * launch)) for side in (-1, 1)]
    paths = [thrower.release(reach.y_mm, 0) for reach in reaches]
    paths[1].release_point = (paths[0].release_point[0], paths[1].release_point[1])
    for path, reach in zip(paths, reaches, strict=True):
        for fraction in (0.7, 1.0):
            u = path.release_point[0] + fraction * (thrower.far_u - path.release_point[0])
            path.go((u, reach.y_mm), launch * (1.1 - 0.3 * fraction), launch * (1.0 - 0.2 * fraction))
        path.strike("far", reach.arrive)
        thrower.rebound(path, reach.arrive)
    script = Script(paths, [thrower.flat(), thrower.flat()], unheard={(thrower.rng.randint(0, 1), 0)})
    check_rests(thrower, script)
    script.truth = valid_or_review(script)
    return script


def occluded_at_wall(thrower: Thrower) -> Script:
    """One die is hidden for 100 ms around the time at which it strikes the wall."""
    script = good_throw(thrower)
    die = thrower.rng.randint(0, 1)
    hit = script.paths[die].touches[0].t_us
    before = thrower.rng.randint(35_000, 65_000)
    script.hidden.append((die, hit - before, hit - before + 100_000))
    script.truth = valid_or_review(script)
    return script


def occluded_short(thrower: Thrower) -> Script:
    """One die is hidden while it turns back short of the wall. In half the throws, the wall's sensor detects
    a knock at that moment."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    lazy = thrower.rng.randint(0, 1)
    paths = [full_path(thrower, hands[i], after[i], reaches[i]) for i in (0, 1)]
    paths[lazy] = thrower.release(hands[lazy], after[lazy])
    apex = (thrower.far_u - thrower.rng.uniform(30, 200), reaches[lazy].y_mm)
    thrower.fly(paths[lazy], apex, reaches[lazy].launch, thrower.rng.uniform(1.0, 2.5))
    turn_us = paths[lazy].end_us
    thrower.settle(paths[lazy], thrower.rng.uniform(0.5, 0.9), math.pi)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    script.hidden.append((lazy, turn_us - 50_000, turn_us + 50_000))
    if thrower.rng.random() < 0.5:
        script.knocks.append((turn_us + thrower.rng.randint(-8000, 20_000), "far", apex[1]))
    check_rests(thrower, script)
    script.truth = no_hit_or_review()
    return script


def occluded_midway(thrower: Thrower) -> Script:
    """One die is hidden for a moment in mid-table, but its path is not in doubt."""
    script = good_throw(thrower)
    die = thrower.rng.randint(0, 1)
    path = script.paths[die]
    hit = path.touches[0].t_us
    begin = path.release_us + 80_000
    end = begin + thrower.rng.randint(40_000, 90_000)
    if end > hit - 150_000:
        raise RedrawError
    script.hidden.append((die, begin, end))
    script.truth = valid_truth(script)
    return script


def touch_within_error(thrower: Thrower) -> Script:
    """One die stops less than 2 mm from the wall, a distance smaller than the measurement error."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [
        full_path(thrower, hands[0], after[0], reaches[0]),
        short_path(thrower, hands[1], after[1], reaches[1], thrower.rng.uniform(0, 2.0)),
    ]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script, free=(0,))
    script.truth = no_hit_or_review()
    return script


def soft_hit(thrower: Thrower) -> Script:
    """One die touches the wall and barely rebounds; the sensor detects the impact."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [full_path(thrower, hands[0], after[0], reaches[0]), thrower.release(hands[1], after[1])]
    paths[1].go((thrower.far_u * 0.7, (hands[1] + reaches[1].y_mm) / 2), reaches[1].launch, reaches[1].launch)
    gentle = thrower.rng.uniform(0.25, 0.6)
    paths[1].go((thrower.far_u, reaches[1].y_mm), reaches[1].launch * 0.7, gentle)
    paths[1].strike("far", gentle)
    paths[1].go((thrower.far_u - thrower.rng.uniform(5, 25), reaches[1].y_mm), 0.2, 0)
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script, free=(0,))
    script.truth = valid_or_review(script)
    return script


def phantom_impact(thrower: Thrower) -> Script:
    """One die stops just short of the wall, and the sensor detects a knock at the same place and time."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [
        full_path(thrower, hands[0], after[0], reaches[0]),
        short_path(thrower, hands[1], after[1], reaches[1], thrower.rng.uniform(10, 40)),
    ]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    script.knocks.append((paths[1].end_us - thrower.rng.randint(0, 60_000), "far", reaches[1].y_mm))
    check_rests(thrower, script, free=(0,))
    script.truth = no_hit_or_review()
    return script


def silent_wall(thrower: Thrower) -> Script:
    """The far wall's sensor has failed without reporting a fault, and detects neither impact."""
    script = good_throw(thrower)
    script.unheard = {(0, 0), (1, 0)}
    script.truth = review_only()
    return script


def half_silent_wall(thrower: Thrower) -> Script:
    """The dice strike the wall well apart in place and time; the sensor misses one impact."""
    script = good_throw(thrower)
    first, second = (path.touches[0] for path in script.paths)
    if abs(first.t_us - second.t_us) < 30_000 or abs(first.along_mm - second.along_mm) < 200:
        raise RedrawError
    script.unheard = {(thrower.rng.randint(0, 1), 0)}
    script.truth = review_only()
    return script


def wall_down(thrower: Thrower) -> Script:
    """The far wall's sensor goes down before either die reaches the wall."""
    script = good_throw(thrower)
    down = script.first_us + thrower.rng.randint(
        10_000, min(p.touches[0].t_us for p in script.paths) - script.first_us
    )
    _far_sensor_out(thrower, script, down)
    script.truth = review_only()
    return script


def wall_down_one_short(thrower: Thrower) -> Script:
    """The far wall's sensor goes down; one die's track shows that the die falls short."""
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    paths = [
        full_path(thrower, hands[0], after[0], reaches[0]),
        short_path(thrower, hands[1], after[1], reaches[1], thrower.rng.uniform(250, 1200)),
    ]
    script = Script(paths, [thrower.flat(), thrower.flat()])
    check_rests(thrower, script)
    _far_sensor_out(thrower, script, script.first_us + 50_000)
    script.truth = no_hit_or_review()
    return script


def other_wall_down(thrower: Thrower) -> Script:
    """The sensor of the wall behind the shooter goes down, which does not affect the result."""
    script = good_throw(thrower)
    device = "wall-left" if thrower.rightward else "wall-right"
    down = script.first_us + thrower.rng.randint(10_000, 600_000)
    script.extra.append(DeviceDown(t=down, dev=device, reason="unplugged"))
    script.extra.append(DeviceUp(t=script.first_us + 4_200_000, dev=device))
    script.truth = valid_truth(script)
    return script


def _far_sensor_out(thrower: Thrower, script: Script, down_us: int) -> None:
    device = "wall-right" if thrower.rightward else "wall-left"
    script.silent_from_us = down_us
    script.extra.append(DeviceDown(t=down_us, dev=device, reason="unplugged"))
    script.extra.append(DeviceUp(t=script.first_us + thrower.rng.randint(3_500_000, 4_500_000), dev=device))


def camera_down(thrower: Thrower) -> Script:
    """The camera goes down before either die strikes the wall.

    Once it is back, it might report the dice at rest.
    """
    script = good_throw(thrower)
    first_hit = min(path.touches[0].t_us for path in script.paths)
    return _camera_out(thrower, script, thrower.rng.randint(script.first_us + 60_000, first_hit - 15_000))


def camera_down_between_hits(thrower: Thrower) -> Script:
    """The camera goes down after the first die strikes the wall and before the second does."""
    script = good_throw(thrower)
    first_hit, last_hit = sorted(path.touches[0].t_us for path in script.paths)
    if last_hit - first_hit < 90_000:
        raise RedrawError
    return _camera_out(thrower, script, thrower.rng.randint(first_hit + 45_000, last_hit - 15_000))


def _camera_out(thrower: Thrower, script: Script, down_us: int) -> Script:
    up_us = down_us + thrower.rng.randint(2_500_000, 4_500_000)
    script.blind = (down_us, up_us)
    script.extra.append(DeviceDown(t=down_us, dev=CAMERA, reason="unplugged"))
    script.extra.append(DeviceUp(t=up_us, dev=CAMERA))
    back_in_time = thrower.rng.random() < 0.5
    for rest in script.rests:
        rest.seen, rest.at_us = back_in_time, up_us + 150_000
    script.collected_us = script.first_us + thrower.rng.randint(10_500_000, 12_000_000)
    script.truth = review_only()
    return script


def die_lost(thrower: Thrower) -> Script:
    """The camera loses a die and never finds it again."""
    script = good_throw(thrower)
    die = thrower.rng.randint(0, 1)
    lost = thrower.rng.randint(script.paths[die].release_us + 100_000, script.paths[die].end_us - 20_000)
    script.hidden.append((die, lost, script.paths[die].end_us + 1))
    script.rests[die].seen = False
    script.seen.append(DieLost(t=lost, dev=CAMERA, die=1 if die == 0 else 2))
    script.collected_us = script.first_us + thrower.rng.randint(10_500_000, 12_000_000)
    script.truth = review_only()
    return script


def swapped_crossing(thrower: Thrower) -> Script:
    """Both dice strike the wall, and the camera confuses them where their paths cross."""
    for _ in range(80):
        script = good_throw(thrower)
        when, gap = nearest_approach(*script.paths)
        if gap < 30:
            script.swap_us = when
            script.truth = valid_or_review(script, any_order=True)
            return script
    raise RedrawError


def swapped_double_hit(thrower: Thrower) -> Script:
    """A die that falls short knocks the other die back against the wall.

    The camera confuses the dice at that moment, so both seem to have struck the wall.
    """
    hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
    eager, lazy = thrower.release(hands[0], after[0]), thrower.release(hands[1], after[1])
    thrower.strike_far(eager, reaches[0])
    distance = thrower.rng.uniform(110, 350)
    return_speed = reaches[0].arrive * thrower.rng.uniform(0.15, 0.4)
    meeting_point = (thrower.far_u - distance, thrower.inside(reaches[0].y_mm + thrower.rng.gauss(0, 40)))
    eager.go(meeting_point, return_speed, 0.3 * return_speed)
    push_point = (
        meeting_point[0] - thrower.table.die_mm,
        thrower.inside(meeting_point[1] + thrower.rng.uniform(-8, 8)),
    )
    mean = math.dist(lazy.release_point, push_point) / ((eager.end_us - lazy.release_us) / 1000)
    lazy.go(push_point, mean * 1.2, mean * 0.8)
    pushed_speed, remaining_speed = _knock(0.8 * mean, -0.3 * return_speed, thrower.rng.uniform(0.15, 0.5))
    roll_mm = min(distance - 40, 1000 * remaining_speed**2 / 4)
    if mean > 5 or remaining_speed < 0.1 or pushed_speed < 0.5:
        raise RedrawError
    meet_us = eager.end_us
    eager.go(
        (thrower.far_u, thrower.inside(meeting_point[1] + thrower.rng.gauss(0, 20))),
        pushed_speed,
        0.8 * pushed_speed,
    )
    eager.strike("far", 0.8 * pushed_speed)
    thrower.settle(eager, 0.55, math.pi + thrower.rng.gauss(0, 0.3), 2.5)
    lazy.go((push_point[0] + roll_mm, push_point[1]), remaining_speed, 0)
    paths = [eager, lazy]
    if thrower.rng.random() < 0.5:
        paths.reverse()
    script = Script(paths, [thrower.flat(), thrower.flat()], swap_us=meet_us)
    if math.dist(eager.end_point, lazy.end_point) < 21:
        raise RedrawError
    script.truth = no_hit_or_review()
    return script


def _knock(striking: float, struck: float, bounce: float) -> tuple[float, float]:
    """Return the speeds of two equal dice after a collision: the struck die's, then the striking die's."""
    return (
        ((1 + bounce) * striking + (1 - bounce) * struck) / 2,
        ((1 - bounce) * striking + (1 + bounce) * struck) / 2,
    )


def swapped_short(thrower: Thrower) -> Script:
    """One die falls short; the camera confuses it with the other die, which passes it on the way back."""
    for _ in range(80):
        hands, reaches, after = thrower.hands(), thrower.reaches(), thrower.offsets()
        paths = [full_path(thrower, hands[0], after[0], reaches[0]), thrower.release(hands[1], after[1])]
        near = paths[0].end_point
        goal = (
            near[0] + thrower.rng.uniform(-30, 30),
            thrower.inside(near[1] + thrower.rng.uniform(-30, 30)),
        )
        if thrower.far_u - goal[0] < 40 or is_near_zone(thrower, near) or is_near_zone(thrower, goal):
            continue
        thrower.stop_short(paths[1], goal, reaches[1].launch)
        script = Script(paths, [thrower.flat(), thrower.flat()])
        when, gap = nearest_approach(*paths)
        if gap > 40 or math.dist(near, goal) < 21:
            continue
        script.swap_us = when
        script.truth = no_hit_or_review()
        return script
    raise RedrawError
