"""Random input for the physics engine: the dice's release, and the table.

Units are metres, seconds, kilograms and radians, as in the engine. x runs towards the target wall, y across
the table, z up from the felt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from drivers.sim.bodies.flights import Kind

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
"""w, x, y, z."""
RELIEFS_MM = (0.0, 0.0, 3.0, 6.0, 9.0, 12.0, 15.0)
"""Heights of the wall's rubber pyramids; a plain board (0) is twice as likely as any other height."""
G = 9.81
MIN_GAP_M, MAX_GAP_M = 0.0005, 0.03
"""Range of a near miss's distance from the wall."""
ENDLESS_M = 12.0
"""Length of a table whose far end no die reaches."""
TRIES = 8


class UnsettledError(Exception):
    """Raised if a throw did not settle in time, was not of the requested kind, or gained energy. The caller
    then draws another throw."""


@dataclass(frozen=True, slots=True)
class Surface:
    """A surface that a die strikes: Coulomb friction, restitution, and the duration of an impact."""

    friction: float
    restitution: float
    impact_s: float


@dataclass(frozen=True, slots=True)
class Body:
    """A die at its release."""

    place: Vector
    orientation: Quaternion
    speed: Vector
    spin: Vector
    """Angular velocity (rad/s) about the table's axes."""
    released_s: float = 0.0
    """Time at which the die leaves the hand. In the engine the die is already in free flight before this
    time, but its track begins here."""


@dataclass(frozen=True, slots=True)
class Cast:
    """One throw as input for the engine."""

    kind: Kind
    seed: str
    bodies: tuple[Body, Body]
    die_m: float = 0.019
    mass_kg: float = 0.0088
    length_m: float = 3.6
    width_m: float = 1.1
    rail_m: float = 0.22
    """Height of the walls."""
    relief_mm: float = 0.0
    felt: Surface = Surface(0.35, 0.35, 0.0018)
    wall: Surface = Surface(0.25, 0.5, 0.0009)
    die: Surface = Surface(0.22, 0.55, 0.0008)
    chips: tuple[tuple[float, float, int], ...] = field(default=())
    """Stacks of chips: x, y and number of chips."""


CHIP_RADIUS_M, CHIP_M = 0.0195, 0.0033
"""Radius and thickness of a casino chip."""


def draw(kind: Kind, seed: str, *, relief_mm: float | None = None, die_mm: float = 19.0) -> Cast:
    """Draw a throw of the given kind; the same seed produces the same throw.

    The friction and restitution of the three surfaces (felt on rubber, boards, and pyramid rubber) have not
    been measured. Both are drawn from ranges wide enough to cover new and worn material.
    """
    rng = Random(f"{kind} {seed}")  # noqa: S311 - a reproducible simulation, not a secret
    relief = rng.choice(RELIEFS_MM) if relief_mm is None else relief_mm
    die_m = die_mm / 1000
    density = rng.uniform(1200, 1320)  # cellulose acetate and nitrate, kg/m3
    rubber = Surface(rng.uniform(0.5, 0.9), rng.uniform(0.3, 0.65), rng.uniform(0.0008, 0.0014))
    board = Surface(rng.uniform(0.15, 0.4), rng.uniform(0.35, 0.65), rng.uniform(0.0008, 0.0012))
    cast = Cast(
        kind=kind,
        seed=seed,
        bodies=_bodies(kind, rng, die_m),
        die_m=die_m,
        mass_kg=density * die_m**3,
        relief_mm=relief,
        felt=Surface(rng.uniform(0.22, 0.5), rng.uniform(0.2, 0.5), rng.uniform(0.0014, 0.0024)),
        wall=rubber if relief else board,
        die=Surface(rng.uniform(0.15, 0.3), rng.uniform(0.45, 0.7), 0.0008),
    )
    if kind == "chips":
        stacks = tuple(
            (cast.length_m - rng.uniform(0.03, 0.6), rng.uniform(0.1, 1.0), rng.randint(1, 4))
            for _ in range(14)
        )
        cast = replace(cast, chips=stacks)
    return cast


@dataclass(frozen=True, slots=True)
class _Hand:
    rng: Random
    die_m: float
    place: Vector
    orientation: Quaternion
    speed: Vector
    spin: Vector


def near_miss_m(cast: Cast) -> float:
    """Draw a near miss's distance from the wall, on a logarithmic scale."""
    rng = Random(f"gap {cast.seed}")  # noqa: S311 - a reproducible simulation, not a secret
    return math.exp(rng.uniform(math.log(MIN_GAP_M), math.log(MAX_GAP_M)))


def _bodies(kind: Kind, rng: Random, die_m: float) -> tuple[Body, Body]:
    place = (rng.uniform(0.3, 0.8), rng.uniform(0.3, 0.8), rng.uniform(0.10, 0.30))
    strength = rng.uniform(*_STRENGTH.get(kind, (3.0, 6.5)))
    lands = rng.uniform(*_LANDS.get(kind, (0.35, 0.97)))
    along = 3.6 - place[0]
    flight_s = lands * along / strength
    up = (G * flight_s**2 / 2 - place[2]) / flight_s
    across = (rng.uniform(0.2, 0.9) - place[1]) / (along / strength)
    hand = _Hand(rng, die_m, place, _draw_orientation(rng), (strength, across, up), _spin(kind, rng))
    if kind in ("together", "stacked", "collide"):
        return _draw_held(kind, hand)
    if kind == "at_wall":
        return _draw_meeting(hand)
    return _one_hand(hand) if kind in ("one_hand", "chips") or rng.random() < 0.5 else _draw_apart(hand)


_STRENGTH: dict[str, tuple[float, float]] = {
    "soft": (1.2, 3.2),
    "near_miss": (1.5, 3.8),
    "near_miss_one_hit": (2.0, 4.5),
    "chips": (2.5, 5.0),
    "hard": (5.0, 7.5),
}
"""Speed along the table (m/s), by kind."""
_LANDS: dict[str, tuple[float, float]] = {
    "soft": (0.35, 0.7),
    "near_miss": (0.35, 0.7),
    "hard": (0.9, 1.15),
}
"""Distance of the first landing, as a fraction of the distance to the wall, by kind."""


def _spin(kind: Kind, rng: Random) -> Vector:
    if kind == "backspin":
        return (rng.gauss(0, 8), -rng.uniform(30, 90), rng.gauss(0, 8))
    max_spin = rng.choice((5, 25, 60))
    return (rng.gauss(0, max_spin / 2), rng.gauss(max_spin / 3, max_spin / 2), rng.gauss(0, max_spin / 2))


def _draw_orientation(rng: Random) -> Quaternion:
    w, x, y, z = (rng.gauss(0, 1) for _ in range(4))
    size = math.sqrt(w * w + x * x + y * y + z * z)
    return (w / size, x / size, y / size, z / size)


def _draw_held(kind: Kind, hand: _Hand) -> tuple[Body, Body]:
    """Return two dice released face to face, rotating about their common centre."""
    rng = hand.rng
    sideways = (0.0, 1.0, 0.0) if rng.random() < 0.7 else (1.0, 0.0, 0.0)
    axis = (0.0, 0.0, 1.0) if kind == "stacked" else sideways
    orientation = (1.0, 0.0, 0.0, 0.0) if rng.random() < 0.5 else hand.orientation
    gap = hand.die_m / 2 + rng.uniform(0.0002, 0.001)
    offset = rotated(orientation, (axis[0] * gap, axis[1] * gap, axis[2] * gap))
    approach_speed = rng.uniform(0.0, 0.6) if kind == "collide" else 0.0
    turn = _cross(hand.spin, offset)
    bodies = []
    for side in (-1, 1):
        away = [side * (turn[i] - approach_speed * offset[i] / gap) + rng.gauss(0, 0.05) for i in range(3)]
        place = _add(hand.place, [side * a for a in offset])
        spin = _add(hand.spin, [rng.gauss(0, 2) for _ in range(3)])
        bodies.append(Body(place=place, orientation=orientation, speed=_add(hand.speed, away), spin=spin))
    return bodies[0], bodies[1]


def _one_hand(hand: _Hand) -> tuple[Body, Body]:
    """Return two dice from one hand: close to each other, with independent orientations and similar spins."""
    rng = hand.rng
    heading = rng.uniform(0, 2 * math.pi)
    reach = rng.uniform(0.95, 1.6) * hand.die_m
    lag = rng.uniform(0, 0.02)
    bodies = []
    for side in (-1, 1):
        offset = [
            side * reach * math.cos(heading),
            side * reach * math.sin(heading),
            side * rng.uniform(0, 0.02),
        ]
        bodies.append(
            Body(
                place=_add(hand.place, offset),
                orientation=hand.orientation if side < 0 else _draw_orientation(rng),
                speed=_add(hand.speed, [rng.gauss(0, 0.25), rng.gauss(0, 0.2), rng.gauss(0, 0.2)]),
                spin=_add(hand.spin, [rng.gauss(0, 15) for _ in range(3)]),
            )
        )
    return bodies[0], _released_later(bodies[1], bodies[0], lag, hand.die_m)


def _draw_apart(hand: _Hand) -> tuple[Body, Body]:
    """Return two dice released 5 to 40 cm apart, within 45 ms."""
    rng, (x, y, z) = hand.rng, hand.place
    gap = rng.uniform(0.025, 0.2)
    bodies = []
    for side in (-1, 1):
        factor = rng.uniform(0.85, 1.15)
        bodies.append(
            Body(
                place=(x + rng.uniform(-0.03, 0.03), y + side * gap, z),
                orientation=_draw_orientation(rng),
                speed=(factor * hand.speed[0], hand.speed[1] + rng.gauss(0, 0.3), hand.speed[2] / factor),
                spin=_add(hand.spin, [rng.gauss(0, 10) for _ in range(3)]),
            )
        )
    return bodies[0], _released_later(bodies[1], bodies[0], rng.uniform(0, 0.045), hand.die_m)


def _draw_meeting(hand: _Hand) -> tuple[Body, Body]:
    """Return two dice aimed at the same point on the wall, where they arrive at about the same time."""
    rng, (x, y, z) = hand.rng, hand.place
    meet_y, late = rng.uniform(0.25, 0.85), rng.gauss(0, 0.015)
    strength, arrives_s = hand.speed[0], (3.6 - x) / hand.speed[0]
    bodies = []
    for side in (-1, 1):
        from_y = y + side * rng.uniform(0.04, 0.2)
        across = (meet_y + side * rng.uniform(-0.01, 0.02) - from_y) / (arrives_s + side * late)
        speed = (strength, across, hand.speed[2])
        bodies.append(
            Body(
                place=(x, from_y, z),
                orientation=_draw_orientation(rng),
                speed=speed,
                spin=_spin("at_wall", rng),
            )
        )
    return bodies[0], bodies[1]


def _released_later(body: Body, other: Body, lag_s: float, die_m: float) -> Body:
    """Return the die with its release at `lag_s`. If the free flight before the release would begin too
    close to the felt or to the other die, the release remains at time 0."""
    before = before_release(replace(body, released_s=lag_s))
    free = before.place[2] > die_m and math.dist(before.place, other.place) > 1.8 * die_m
    return replace(body, released_s=lag_s if free else 0.0)


def before_release(body: Body) -> Body:
    """Return the state at time 0 that leads, in free flight, to the state at the release."""
    lead_s = body.released_s
    x, y, z = (p - v * lead_s for p, v in zip(body.place, body.speed, strict=True))
    speed = (body.speed[0], body.speed[1], body.speed[2] + G * lead_s)
    return replace(body, place=(x, y, z - G * lead_s**2 / 2), speed=speed)


def rotated(orientation: Quaternion, v: Vector) -> Vector:
    """Return a vector rotated by a quaternion."""
    w, x, y, z = orientation
    t = [2 * c for c in _cross((x, y, z), v)]
    c = _cross((x, y, z), (t[0], t[1], t[2]))
    return (v[0] + w * t[0] + c[0], v[1] + w * t[1] + c[1], v[2] + w * t[2] + c[2])


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _add(a: Vector, b: Sequence[float]) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])
