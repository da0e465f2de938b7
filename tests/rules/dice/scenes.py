"""Kinds of simulated throw, with the correct rulings for each kind."""

from collections.abc import Callable
from copy import deepcopy

from msgspec.structs import replace

from controller.model.readings import (
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    Reading,
    WallImpact,
)
from controller.model.verdicts import Ruling
from tests.rules.dice.throws import Body, Maker, Throw

Scene = Callable[[Maker], Throw]
VALID, VOID, REVIEW = Ruling.VALID, Ruling.VOID, Ruling.REVIEW
OfDie = (DieReleased, DieAt, DieRest, DieOffTable, DieLost, DieContact)


def one_of(m: Maker, bodies: list[Body]) -> Body:
    return bodies[m.rng.randrange(2)]


def turn_of(body: Body) -> tuple[float, float]:
    """Return the time and the position along the wall at which a body turns or is nearest to the far end."""
    flown = deepcopy(body)
    flown.fly()
    if flown.hits:
        return flown.hits[0][0], flown.hits[0][2]
    ahead = 1.0 if body.vx > 0 else -1.0
    t, _, y = max(flown.points, key=lambda point: point[1] * ahead)
    return t, y


def hidden_near(m: Maker, body: Body, length_ms: float) -> Callable[[Body, float], bool]:
    t = turn_of(body)[0] + m.rng.uniform(-0.4, 0.4) * length_ms
    return lambda other, at: other.number == body.number and abs(at - t) < length_ms / 2.0


def knock_near(m: Maker, body: Body, spread_ms: float) -> list[tuple[float, str, float]]:
    t, y = turn_of(body)
    wall = "right" if body.vx > 0 else "left"
    return [(t + m.rng.uniform(-spread_ms, spread_ms), wall, y + m.rng.uniform(-150, 150))]


def closest(bodies: list[Body]) -> float:
    """Return the time at which two bodies are closest."""
    flown = deepcopy(bodies)
    for body in flown:
        body.fly()
    others = {round(t / 11.1): (x, y) for t, x, y in flown[1].points}
    both = [(t, x, y, *others[round(t / 11.1)]) for t, x, y in flown[0].points if round(t / 11.1) in others]
    return min(both, key=lambda p: abs(p[1] - p[3]) + abs(p[2] - p[4]))[0] if both else 0.0


def swap_names(throw: Throw, from_us: int) -> Throw:
    """Swap the dice's names from a time on."""
    readings: list[Reading] = [
        replace(r, die=3 - r.die) if isinstance(r, OfDie) and r.t > from_us else r for r in throw.readings
    ]
    return Throw(throw.kind, throw.bodies, readings, throw.decided_at_us, throw.hit)


def plain(m: Maker) -> Throw:
    return m.sense("plain", m.bodies())


def fast(m: Maker) -> Throw:
    return m.sense("fast", m.bodies(speed=(5.5, 7.5)))


def side_walls(m: Maker) -> Throw:
    bodies = m.bodies()
    for body in bodies:
        body.vy = m.rng.uniform(-1.5, 1.5)
    return m.sense("side_walls", bodies)


def merged(m: Maker) -> Throw:
    return m.sense("merged", m.bodies(apart=45.0))


def no_rebound(m: Maker) -> Throw:
    bodies = m.bodies()
    one_of(m, bodies).bounce = m.rng.uniform(0.0, 0.05)
    return m.sense("no_rebound", bodies)


def soft_hit(m: Maker) -> Throw:
    bodies = m.bodies()
    body = one_of(m, bodies)
    way, arrives = abs(m.far(body, 0.0) - body.x), m.rng.uniform(0.2, 0.6)
    body.slowing = body.rolling = 1000.0 * (body.vx * body.vx - arrives * arrives) / (2.0 * way)
    body.vy = body.kick = 0.0
    return m.sense("soft_hit", bodies)


def hit_and_blocked(m: Maker) -> Throw:
    bodies = m.bodies()
    body = one_of(m, bodies)
    body.back_blocks, body.bounce = (
        [(m.far(body, m.rng.uniform(2, 45)), m.rng.random())],
        m.rng.uniform(0.2, 0.6),
    )
    return m.sense("hit_and_blocked", bodies)


def hidden_hit(m: Maker) -> Throw:
    bodies = m.bodies()
    return m.sense("hidden_hit", bodies, hidden=hidden_near(m, one_of(m, bodies), m.rng.uniform(12, 110)))


def lost_points(m: Maker) -> Throw:
    return m.sense("lost_points", m.bodies(), drop=m.rng.uniform(0.02, 0.4))


def crossing(m: Maker) -> Throw:
    bodies = m.bodies()
    bodies[0].vy = abs(bodies[0].vx) * m.rng.uniform(0.05, 0.2) * (bodies[1].y - bodies[0].y) / 400.0
    bodies[1].vy = -bodies[0].vy
    return m.sense("crossing", bodies)


def lost_impacts(m: Maker) -> Throw:
    throw = plain(m)
    heard = [r for r in throw.readings if isinstance(r, WallImpact)]
    lost = {id(r) for r in m.rng.sample(heard, m.rng.randint(1, len(heard)))}
    return Throw(
        "lost", throw.bodies, [r for r in throw.readings if id(r) not in lost], throw.decided_at_us, throw.hit
    )


def failed_sensors(m: Maker) -> Throw:
    return m.sense("failed_sensors", m.bodies(), failed=lambda _wall: True)


def one_short(m: Maker) -> Throw:
    bodies = m.bodies()
    m.short_stop(one_of(m, bodies), m.rng.uniform(20, 1200))
    return m.sense("one_short", bodies)


def both_short(m: Maker) -> Throw:
    bodies = m.bodies()
    for body in bodies:
        m.short_stop(body, m.rng.uniform(250, 1200))
    return m.sense("both_short", bodies)


def stop_at_wall(m: Maker) -> Throw:
    bodies = m.bodies()
    m.short_stop(one_of(m, bodies), m.rng.uniform(8.5, 14))
    return m.sense("stop_at_wall", bodies)


def stop_within_error(m: Maker) -> Throw:
    bodies = m.bodies()
    m.short_stop(one_of(m, bodies), m.rng.uniform(0.2, 8.5))
    return m.sense("stop_within_error", bodies)


def turned_short(m: Maker) -> Throw:
    bodies = m.bodies()
    m.turned(one_of(m, bodies), m.rng.choice([m.rng.uniform(20, 60), m.rng.uniform(60, 900)]))
    return m.sense("turned_short", bodies)


def turned_within_error(m: Maker) -> Throw:
    bodies = m.bodies()
    m.turned(one_of(m, bodies), m.rng.uniform(2, 20))
    return m.sense("turned_within_error", bodies)


def turned_beside(m: Maker) -> Throw:
    bodies = m.bodies(apart=45.0)
    m.turned(one_of(m, bodies), m.rng.uniform(20, 60))
    return m.sense("turned_beside", bodies)


def knocked_rail(m: Maker) -> Throw:
    bodies = m.bodies()
    body = m.turned(one_of(m, bodies), m.rng.uniform(100, 1200))
    return m.sense("knocked_rail", bodies, knocks=knock_near(m, body, 30.0))


def knock_at_a_near_turn(m: Maker) -> Throw:
    bodies = m.bodies()
    body = m.turned(one_of(m, bodies), m.rng.uniform(20, 100))
    return m.sense("knock_at_a_near_turn", bodies, knocks=knock_near(m, body, 60.0))


def double_hit(m: Maker) -> Throw:
    bodies = m.bodies()
    first = m.rng.randrange(2)
    m.short_stop(bodies[1 - first], m.rng.uniform(200, 500))
    body = bodies[first]
    body.rolling, body.bounce, body.kick = 0.3, 0.35, 0.2 * body.kick
    body.back_blocks = [(m.far(body, m.rng.uniform(60, 150)), 1.0)]
    return m.sense("double_hit", bodies)


def hidden_short(m: Maker) -> Throw:
    bodies = m.bodies()
    body = m.turned(one_of(m, bodies), m.rng.uniform(10, 300))
    return m.sense("hidden_short", bodies, hidden=hidden_near(m, body, m.rng.uniform(30, 110)))


def lost_points_short(m: Maker) -> Throw:
    bodies = m.bodies()
    m.turned(one_of(m, bodies), m.rng.uniform(15, 300))
    return m.sense("lost_points_short", bodies, drop=m.rng.uniform(0.02, 0.4))


def failed_sensors_short(m: Maker) -> Throw:
    bodies = m.bodies()
    m.turned(one_of(m, bodies), m.rng.uniform(15, 300))
    return m.sense("failed_sensors_short", bodies, failed=lambda _wall: True)


def crossing_short(m: Maker) -> Throw:
    bodies = m.bodies()
    bodies[0].vy = abs(bodies[0].vx) * m.rng.uniform(0.05, 0.2)
    bodies[1].vy = -bodies[0].vy
    m.turned(one_of(m, bodies), m.rng.uniform(20, 400))
    return m.sense("crossing_short", bodies)


def off_table(m: Maker) -> Throw:
    bodies = m.bodies()
    one_of(m, bodies).leaves = True
    return m.sense("off_table", bodies)


def swapped_crossing(m: Maker) -> Throw:
    bodies = m.bodies()
    bodies[0].vy = abs(bodies[0].vx) * m.rng.uniform(0.05, 0.2) * (bodies[1].y - bodies[0].y) / 400.0
    bodies[1].vy = -bodies[0].vy
    if m.rng.random() < 0.5:
        m.turned(one_of(m, bodies), m.rng.uniform(20, 400))
    t = closest(bodies)
    throw = m.sense("swapped_crossing", bodies)
    return swap_names(throw, throw.readings[0].t + int(1000 * (t + m.rng.uniform(-20, 20))))


def swapped_double_hit(m: Maker) -> Throw:
    """One die hits, meets the other die before the wall, and hits again under the other name."""
    bodies = m.bodies()
    first = m.rng.randrange(2)
    body, other = bodies[first], bodies[1 - first]
    other.y, other.vy, body.vy, body.kick = (
        body.y + m.rng.uniform(-30, 30),
        0.0,
        0.0,
        m.rng.uniform(-0.05, 0.05),
    )
    gap = m.rng.uniform(60, 150)
    m.short_stop(other, gap)
    body.rolling, body.bounce = 0.3, 0.35
    body.back_blocks = [(m.far(body, gap + m.rng.uniform(-10, 40)), m.rng.uniform(0.3, 1.0))]
    throw = m.sense("swapped_double_hit", bodies)
    hit = body.hits[0][0] if body.hits else 0.0
    meet = min(
        (abs(x - other.x) + abs(y - other.y), t)
        for t, x, y in body.points
        if t > hit + 5.0 or t == body.points[-1][0]
    )[1]
    return swap_names(throw, throw.readings[0].t + int(1000 * (meet + m.rng.uniform(-8, 8))))


RIGHT: dict[Scene, set[Ruling]] = {
    plain: {VALID, REVIEW},
    fast: {VALID, REVIEW},
    side_walls: {VALID, REVIEW},
    merged: {VALID, REVIEW},
    no_rebound: {VALID, REVIEW},
    soft_hit: {VALID, REVIEW},
    hit_and_blocked: {VALID, REVIEW},
    hidden_hit: {VALID, REVIEW},
    lost_points: {VALID, REVIEW},
    crossing: {VALID, REVIEW},
    lost_impacts: {VALID, REVIEW},
    failed_sensors: {REVIEW},
    one_short: {VOID},
    both_short: {VOID},
    stop_at_wall: {VOID},
    stop_within_error: {VOID, REVIEW},
    turned_short: {VOID},
    turned_within_error: {VOID, REVIEW},
    turned_beside: {VOID, REVIEW},
    knocked_rail: {VOID},
    knock_at_a_near_turn: {VOID, REVIEW},
    double_hit: {VOID},
    hidden_short: {VOID, REVIEW},
    lost_points_short: {VOID, REVIEW},
    failed_sensors_short: {VOID},
    crossing_short: {VOID, REVIEW},
    off_table: {VOID},
    swapped_crossing: {VALID, VOID, REVIEW},
    swapped_double_hit: {VOID, REVIEW},
}
"""The correct rulings for each kind: a review only where two explanations may remain."""
SELDOM: dict[Scene, float] = {
    plain: 0.01,
    fast: 0.01,
    side_walls: 0.1,
    merged: 0.1,
    no_rebound: 0.1,
    hidden_hit: 0.6,
    lost_points: 0.1,
    crossing: 0.1,
    turned_beside: 0.1,
    knock_at_a_near_turn: 0.1,
    lost_points_short: 0.15,
    crossing_short: 0.1,
}
"""Maximum fraction of reviews in each kind for which a review is correct but must be rare."""
