"""The properties of rigid-body throws, and the limits of their sensors."""

import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.model.readings import DieAt, DieReleased, DieRest, WallImpact
from drivers.sim.bodies import casts
from drivers.sim.bodies.flights import FLAT_DEG, Flight, Kind
from drivers.sim.bodies.recording import Recorder
from drivers.sim.bodies.watching import SURELY_HEARD_MNS, Conditions, Watch
from drivers.sim.dice import TABLE
from tests.sim.body_logs import observe

engine = pytest.importorskip(
    "drivers.sim.bodies.engine", reason="the `physics` extra is not installed", exc_type=ImportError
)
recording = pytest.importorskip("drivers.sim.bodies.recording", exc_type=ImportError)

KINDS: tuple[Kind, ...] = ("together", "one_hand", "at_wall", "soft", "near_miss", "hard")
PERFECT = Conditions(noise_mm=0.0, drops=0.0, hides=0.0, knocks=0.0)
NOISY = Conditions(drops=0.0, hides=0.0, knocks=0.0)


@lru_cache(maxsize=32)
def flight(kind: Kind, seed: str = "t1", relief_mm: float = 6.0) -> Flight:
    thrown: Flight = engine.thrown(kind, seed, relief_mm=relief_mm)
    return thrown


def test_the_same_seed_throws_the_same_dice_and_another_seed_others() -> None:
    assert engine.thrown("soft", "t1", relief_mm=6.0) == flight("soft")
    assert flight("soft", "t2") != flight("soft")


@pytest.mark.parametrize("kind", KINDS)
def test_a_throw_ends_at_rest_or_off_the_table(kind: Kind) -> None:
    thrown = flight(kind)
    for die in (0, 1):
        assert (thrown.off_us[die] is None) == (thrown.last_stay(die) is not None)
        track = thrown.tracks[die]
        assert all(before < after for before, after in pairwise(track.t_us))


@pytest.mark.parametrize("kind", KINDS)
def test_a_die_that_touched_the_wall_left_no_gap_and_one_that_did_not_left_one(kind: Kind) -> None:
    for relief in (0.0, 12.0):
        thrown = flight(kind, relief_mm=relief)
        struck = {touch.die for touch in thrown.touches if touch.wall == "right"}
        for die in (0, 1):
            if die in struck:
                assert thrown.gap_mm[die] <= 0
                assert thrown.closest_mm[die] > -relief - 4
            elif thrown.off_us[die] is None and not relief:
                assert thrown.gap_mm[die] > 0


@pytest.mark.parametrize("seed", ["m1", "m2", "m3"])
def test_a_near_miss_comes_within_30_mm_of_the_wall_and_touches_nothing_there(seed: str) -> None:
    thrown = flight("near_miss", seed)
    assert not [touch for touch in thrown.touches if touch.wall == "right"]
    assert 0.45 <= min(thrown.gap_mm) <= 30.05
    least = min(thrown.length_mm - x for track in thrown.tracks for x in track.x_mm) - thrown.die_mm / 2
    assert abs(least - min(thrown.closest_mm)) < 0.3


def test_a_cast_of_one_seed_is_the_same_for_every_engine() -> None:
    assert casts.draw("together", "s") == casts.draw("together", "s")
    assert casts.draw("together", "s", relief_mm=3.0).relief_mm == 3.0


@given(st.lists(st.tuples(st.floats(-300, 300), st.floats(-300, 300)), min_size=2, max_size=60))
def test_a_thinned_track_is_nowhere_off_by_more_than_its_error(places: list[tuple[float, float]]) -> None:
    times = np.arange(len(places)) * 600
    xs, ys = (np.array(axis) for axis in zip(*places, strict=True))
    track = recording.thin_track(times, xs, ys, 0.15)
    for t, x, y in zip(times, xs, ys, strict=True):
        near = track.at(int(t))
        assert abs(near[0] - x) <= 0.25
        assert abs(near[1] - y) <= 0.25


def test_a_perfect_camera_sees_the_track_and_only_while_the_die_moves() -> None:
    thrown = flight("one_hand")
    watch = Watch(thrown, TABLE, Random(1), 5_000_000, PERFECT)
    seen = [reading for _, reading in watch.feed()]
    for die in (1, 2):
        points = [r for r in seen if isinstance(r, DieAt) and r.die == die]
        for point in points:
            x, y = thrown.tracks[die - 1].at(point.t - 5_000_000)
            assert (point.x, point.y) == pytest.approx((x, y), abs=0.11)
        stay = thrown.last_stay(die - 1)
        assert stay is not None
        assert max(point.t for point in points) <= 5_000_000 + stay.begin_us
        rest = next(r for r in seen if isinstance(r, DieRest) and r.die == die)
        assert rest.up == stay.face
        assert rest.t > max(point.t for point in points)
    assert {r.die for r in seen if isinstance(r, DieReleased)} == {1, 2}


@pytest.mark.parametrize("rightward", [True, False])
def test_a_hard_impact_is_detected_with_its_place_and_time(rightward: bool) -> None:
    thrown = flight("at_wall", relief_mm=0.0)
    watch = Watch(thrown, TABLE, Random(2), 0, PERFECT, rightward=rightward)
    heard = [reading for _, reading in watch.feed() if isinstance(reading, WallImpact)]
    blows = [t for t in thrown.touches if t.wall == "right" and t.impulse_mns > SURELY_HEARD_MNS]
    assert blows
    for blow in blows:
        along = blow.along_mm if rightward else TABLE.width_mm - blow.along_mm
        wall = "right" if rightward else "left"
        assert any(
            r.wall == wall and 500 <= r.t - blow.t_us <= 2000 and abs(r.pos_mm - along) < 100 for r in heard
        )


def test_names_are_swapped_only_while_the_dice_are_within_25_mm() -> None:
    always = Conditions(noise_mm=0.0, drops=0.0, hides=0.0, exchanges=1.0)
    for number in range(6):
        thrown = flight("together", f"x{number}")
        watch = Watch(thrown, TABLE, Random(3), 0, always)
        for _, reading in watch.feed():
            if not isinstance(reading, DieAt):
                continue
            own, other = (thrown.tracks[die].at(reading.t) for die in (reading.die - 1, 2 - reading.die))
            off = [abs(reading.x - x) + abs(reading.y - y) for x, y in (own, other)]
            assert min(off) < 0.3
    assert any(
        Watch(flight("together", f"x{n}"), TABLE, Random(3), 0, always).truth.swapped for n in range(6)
    )


def test_the_truth_of_a_throw_follows_from_what_it_touched() -> None:
    for kind in KINDS:
        thrown = flight(kind)
        truth = Watch(thrown, TABLE, Random(4), 0, PERFECT).truth
        both = all(truth.hits)
        if truth.verdict == "valid":
            assert both
            assert truth.reasons == ()
            assert len(truth.faces) == 2
        elif not truth.undecidable and "off_table" not in truth.reasons:
            assert ("no_wall_hit" in truth.reasons) == (not both)
        leaning = [stay for die in (0, 1) if (stay := thrown.last_stay(die)) and stay.tilt_deg > FLAT_DEG]
        assert ("leaning" in truth.why) == bool(leaning)


def test_a_session_is_a_log_in_order_of_arrival_with_its_relief_in_the_header() -> None:
    flights = [flight("one_hand"), flight("soft")]
    played = observe("e1", flights, table=TABLE, conditions=Conditions())
    assert played == observe("e1", flights, table=TABLE, conditions=Conditions())
    assert [arrived for arrived, _ in played.feed] == sorted(arrived for arrived, _ in played.feed)
    assert b'"wall_relief_mm":6.0' in played.log().splitlines()[0]
    assert [truth.kind for truth in played.truths] == ["one_hand", "soft"]


IDLE = casts.Body(place=(1.0, 0.5, 0.0095), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))


@pytest.mark.parametrize(("restitution", "impact_s"), [(0.3, 0.0024), (0.6, 0.0014)])
def test_a_die_dropped_flat_bounces_by_the_felts_restitution(restitution: float, impact_s: float) -> None:
    drop = casts.Body(place=(2.0, 0.5, 0.1), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))
    felt = casts.Surface(0.3, restitution, impact_s)
    poses = engine.simulate(casts.Cast(kind="apart", seed="", bodies=(drop, IDLE), felt=felt)).poses
    heights = [float(centres[0, 2]) - 0.0095 for centres, _ in poses]
    lands = next(i for i, height in enumerate(heights) if height < 0)
    # Springs under four corners differ slightly from the single spring of the formula.
    given_back = (max(heights[lands:]) / (0.1 - 0.0095)) ** 0.5
    assert given_back == pytest.approx(restitution, abs=0.08)


@pytest.mark.parametrize(
    ("closest_mm", "why", "gone", "reasons"),
    [
        (1.0, ("band",), None, ("no_wall_hit",)),
        (1.0, ("band",), 400_000, ("off_table",)),
        (12.0, (), None, ("no_wall_hit",)),
        (12.0, (), 400_000, ("off_table",)),
        (14.0, (), 400_000, ("off_table", "no_wall_hit")),
    ],
)
def test_a_miss_within_three_errors_of_contact_is_not_demanded_beside_a_certain_cause(
    closest_mm: float, why: tuple[str, ...], gone: int | None, reasons: tuple[str, ...]
) -> None:
    near = flight("near_miss_one_hit", relief_mm=0.0)
    missed = 1 - next(touch.die for touch in near.touches if touch.wall == "right")
    off = (gone, None) if missed else (None, gone)
    missing = msgspec.structs.replace(near, off_us=off, closest_mm=(closest_mm, closest_mm))
    watch = Watch(missing, TABLE, Random(1), 0, NOISY)
    assert watch.truth.why == why
    assert "no_wall_hit" in watch.truth.reasons
    truth = watch.scene_truth(watch.truth)
    assert truth.reasons == reasons
    assert "no_wall_hit" in {*truth.reasons, *truth.may_add}


def test_a_sliding_die_stops_where_friction_stops_it() -> None:
    slide = casts.Body(place=(2.0, 0.5, 0.0095), orientation=(1, 0, 0, 0), speed=(0.5, 0, 0), spin=(0, 0, 0))
    felt = casts.Surface(0.3, 0.2, 0.002)
    poses = engine.simulate(casts.Cast(kind="apart", seed="", bodies=(slide, IDLE), felt=felt)).poses
    way = float(poses[-1][0][0, 0]) - 2.0
    assert way == pytest.approx(0.5**2 / (2 * 0.3 * casts.G), rel=0.1)


def thrown_at_the_top_edge(speed: casts.Vector) -> Recorder:
    """Simulate a die, tilted by 44 degrees, whose face meets the wall's top edge at this speed."""
    tilt, fly_s, half = math.radians(44.0), 0.01, 0.0095
    cast = casts.Cast(kind="apart", seed="", bodies=(IDLE, IDLE))
    place = (
        cast.length_m - half * math.sin(tilt) - speed[0] * fly_s,
        0.5,
        cast.rail_m + half * math.cos(tilt) - speed[2] * fly_s + casts.G * fly_s**2 / 2,
    )
    turned = (math.cos(tilt / 2), 0, -math.sin(tilt / 2), 0)
    die = casts.Body(place=place, orientation=turned, speed=speed, spin=(0, 0, 0))
    recorder: Recorder = engine.simulate(replace(cast, bodies=(die, IDLE)))
    return recorder


def first_struck(recorder: Recorder) -> set[str]:
    return {contact.thing for contact in recorder.contacts if contact.die == 0 and contact.impact_us < 15_000}


def test_a_die_that_flies_against_the_walls_top_edge_strikes_the_wall() -> None:
    assert first_struck(thrown_at_the_top_edge((5.6, 0.0, 0.0))) == {"right"}


def test_a_die_that_falls_on_the_walls_top_strikes_the_rail() -> None:
    assert first_struck(thrown_at_the_top_edge((0.2, 0.0, -2.6))) == {"rail"}


def test_C34_INV_2ii_a_die_that_falls_on_an_end_walls_top_struck_that_end_and_is_heard() -> None:
    flight = thrown_at_the_top_edge((0.2, 0.0, -2.6)).flight()
    assert [(touch.die, touch.wall) for touch in flight.rims] == [(0, "right")]
    assert flight.strikes(0)[0] == flight.rims[0]
    watch = Watch(flight, TABLE, Random(1), 0, PERFECT)
    assert watch.truth.hits[0]
    assert "rim" in watch.truth.why
    assert any(isinstance(reading, WallImpact) and reading.wall == "right" for _, reading in watch.feed())
