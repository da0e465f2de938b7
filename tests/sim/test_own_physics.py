"""The second physics model obeys the laws of mechanics and agrees with the engine."""

import math
from dataclasses import replace

import pytest

from drivers.sim.bodies.casts import Body, Cast, G, Surface, draw
from tests.sim import own_physics
from tests.sim.own_physics import STEP_S, World

FAR = Body(place=(1.0, 0.5, 0.0095), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))


def energy_j(world: World) -> float:
    m, i = world.cast.mass_kg, world.inertia
    return sum(
        m * math.hypot(*die.speed) ** 2 / 2 + i * math.hypot(*die.spin) ** 2 / 2 + m * G * float(die.place[2])
        for die in world.dice
    )


@pytest.mark.parametrize("kind", ["together", "at_wall", "hard"])
def test_no_throw_gains_energy(kind: str) -> None:
    world = World(draw(kind, "own e/0", relief_mm=9.0))  # type: ignore[arg-type]  # one of the kinds
    start_j = least_j = energy_j(world)
    for _ in range(2500):
        world.step()
        now_j = energy_j(world)
        # The correction of penetration lifts a die: a corner 0.3 mm deep in the felt by a tenth of that
        # depth.
        assert now_j < least_j + 0.004 * start_j
        least_j = min(least_j, now_j)
    assert least_j < 0.2 * start_j


def test_a_die_dropped_flat_bounces_by_the_felts_restitution() -> None:
    felt = Surface(friction=0.3, restitution=0.5, impact_s=0.002)
    body = Body(place=(2.0, 0.5, 0.1), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))
    world = World(Cast(kind="apart", seed="", bodies=(body, FAR), felt=felt))
    struck = False
    highest = 0.0
    for _ in range(round(0.35 / STEP_S)):
        struck |= any(contact.die == 0 for contact in world.step())
        if struck:
            highest = max(highest, float(world.dice[0].place[2]) - 0.0095)
    assert highest == pytest.approx(0.5**2 * (0.1 - 0.0095), rel=0.08)


def test_a_sliding_die_stops_where_friction_stops_it() -> None:
    felt = Surface(friction=0.3, restitution=0.2, impact_s=0.002)
    body = Body(place=(2.0, 0.5, 0.0095), orientation=(1, 0, 0, 0), speed=(0.5, 0, 0), spin=(0, 0, 0))
    world = World(Cast(kind="apart", seed="", bodies=(body, FAR), felt=felt))
    for _ in range(round(0.5 / STEP_S)):
        world.step()
    assert float(world.dice[0].place[0]) - 2.0 == pytest.approx(0.5**2 / (2 * 0.3 * G), rel=0.05)


def test_two_dice_that_meet_keep_their_momentum() -> None:
    one = Body(place=(1.5, 0.5, 0.3), orientation=(1, 0, 0, 0), speed=(2.0, 0.1, 0), spin=(3, 1, 2))
    two = Body(
        place=(1.6, 0.505, 0.302), orientation=(0.9, 0.1, 0.3, 0.3), speed=(-1.0, 0, 0), spin=(0, 9, 4)
    )
    size = math.sqrt(sum(c * c for c in two.orientation))
    w, x, y, z = (c / size for c in two.orientation)
    bodies = (one, Body(place=two.place, orientation=(w, x, y, z), speed=two.speed, spin=two.spin))
    world = World(Cast(kind="collide", seed="", bodies=bodies))
    met = False
    for _ in range(round(0.06 / STEP_S)):
        met |= any(contact.thing == "die" for contact in world.step())
    assert met
    assert sum(die.speed[0] for die in world.dice) == pytest.approx(1.0, abs=1e-9)
    assert sum(die.speed[1] for die in world.dice) == pytest.approx(0.1, abs=1e-9)
    assert world.dice[1].speed[0] > world.dice[0].speed[0]


@pytest.mark.parametrize(
    ("place", "axis"),
    [((-0.012, 0.5), 0), ((3.62, 0.5), 0), ((2.0, -0.012), 1)],
    ids=["left", "right", "front"],
)
def test_a_die_that_passed_over_a_wall_does_not_come_back_through_it(
    place: tuple[float, float], axis: int
) -> None:
    cast = Cast(kind="apart", seed="", bodies=(FAR, FAR), relief_mm=3.0)
    body = Body(place=(*place, cast.rail_m + 0.05), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))
    world = World(replace(cast, bodies=(body, FAR)))
    for _ in range(round(0.4 / STEP_S)):
        assert not any(contact.die == 0 for contact in world.step())
    assert world.dice[0].place[2] < 0
    assert float(world.dice[0].place[axis]) == place[axis]


def test_the_same_seed_throws_the_same_dice() -> None:
    first = own_physics.thrown("near_miss", "s1", relief_mm=6.0)
    assert first == own_physics.thrown("near_miss", "s1", relief_mm=6.0)
    assert not [touch for touch in first.touches if touch.wall == "right"]
    assert 0.4 < min(first.gap_mm) < 30.1
