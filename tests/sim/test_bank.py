"""The shipped flights, with which a virtual table plays rigid-body throws."""

from collections import Counter
from random import Random
from typing import get_args

import msgspec
import pytest

from controller.model.readings import DieAt, DieReleased
from drivers.sim import dice
from drivers.sim.bodies import flights
from drivers.sim.bodies.flights import Kind

FLIGHTS = [flight for flights in flights.shipped().values() for flight in flights]
MAX_BYTES = 400_000


def test_there_are_throws_of_every_kind_at_boards_and_at_rubber() -> None:
    assert set(flights.shipped()) == set(get_args(Kind))
    assert {flight.relief_mm for flight in FLIGHTS} == {0.0, 6.0, 12.0}
    assert len(FLIGHTS) > 400
    assert all(flight.settled for flight in FLIGHTS)


def test_packed_flights_unpack_unchanged() -> None:
    data = flights.pack(FLIGHTS[:20])
    assert flights.unpack(data) == tuple(FLIGHTS[:20])
    assert len(flights.pack(FLIGHTS)) < MAX_BYTES


def test_no_shipped_throw_goes_through_a_wall() -> None:
    for flight in FLIGHTS:
        for die, track in enumerate(flight.tracks):
            if flight.off_us[die] is None:
                assert max(track.x_mm) < flight.length_mm + flight.relief_mm
                assert min(track.x_mm) > 0
                assert 0 < min(track.y_mm) <= max(track.y_mm) < flight.width_mm


def test_shipped_near_misses_are_near_and_are_misses() -> None:
    for flight in flights.shipped()["near_miss"]:
        assert not [touch for touch in flight.touches if touch.wall == "right"]
        assert 0.4 < min(flight.gap_mm) < 30.1


def test_faces_are_fair() -> None:
    faces = Counter(stay.face for flight in FLIGHTS for die in (0, 1) if (stay := flight.last_stay(die)))
    expected = faces.total() / 6
    assert set(faces) == {1, 2, 3, 4, 5, 6}
    assert all(abs(count - expected) < 4 * expected**0.5 for count in faces.values())


@pytest.mark.parametrize("seed", range(12))
def test_a_rigid_body_scene_is_the_same_each_time_and_reports_a_throw_of_two_dice(seed: int) -> None:
    scene, feed = dice.throw(dice.RIGID_BODY, Random(seed), 3_000_000)
    assert (scene, feed) == dice.throw(dice.RIGID_BODY, Random(seed), 3_000_000)
    assert {r.die for _, r in feed if isinstance(r, DieReleased)} == {1, 2}
    assert {r.die for _, r in feed if isinstance(r, DieAt)} == {1, 2}
    assert scene.kind in get_args(Kind)
    assert scene.truth.verdict in scene.truth.allowed


@pytest.mark.parametrize("seed", range(12))
def test_under_version_1_a_thrown_die_that_missed_voids_nothing_at_first(seed: int) -> None:
    strict, _ = dice.throw(dice.RIGID_BODY, Random(seed), 0)
    lenient, _ = dice.throw(dice.RIGID_BODY, Random(seed), 0, rules="craps-v1")
    if strict.truth.reasons == ("no_wall_hit",):
        assert lenient.truth.verdict == "valid"
        assert lenient.truth.dice is not None


def test_at_another_table_a_scripted_throw_replaces_a_rigid_body_throw() -> None:
    short = msgspec.structs.replace(dice.TABLE, length_mm=3000.0)
    assert not flights.fits(short)
    scene, _ = dice.throw(dice.RIGID_BODY, Random(1), 0, table=short)
    assert scene.kind == "valid"
