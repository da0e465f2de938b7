"""The readings of the simulated dice table agree with its truth."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from controller.model.readings import AnyReading, DieAt, DieReleased, DieRest, WallImpact
from drivers.sim import dice
from drivers.sim.scenes import Feed, Scene

SEEDS = range(6)
TABLE = dice.TABLE
CONTACT_MM = TABLE.die_mm / 2


def play(kind: str, seed: int) -> tuple[Scene, list[AnyReading]]:
    scene, feed = dice.throw(kind, Random(seed), 2_000_000)
    return scene, [reading for _, reading in feed]


def distances_from_end(readings: list[AnyReading], die: int) -> list[tuple[int, float]]:
    """Return a die's times and distances (mm) from the end wall."""
    release = next(r for r in readings if isinstance(r, DieReleased))
    rightward = release.x < TABLE.length_mm / 2
    return [
        (r.t, TABLE.length_mm - r.x if rightward else r.x)
        for r in sorted(readings, key=lambda r: r.t)
        if isinstance(r, DieAt) and r.die == die
    ]


def rests(readings: list[AnyReading]) -> list[DieRest]:
    return sorted((r for r in readings if isinstance(r, DieRest)), key=lambda r: r.die)


def test_the_same_seed_plays_the_same_session_and_another_seed_another() -> None:
    assert dice.simulate(7, n=6) == dice.simulate(7, n=6)
    assert dice.simulate(7, n=6)[1] != dice.simulate(8, n=6)[1]


def test_scenes_follow_each_other_and_each_has_its_own_releases() -> None:
    _, feed, scenes = dice.simulate(3, n=25)
    assert all(before.end_us < after.start_us for before, after in pairwise(scenes))
    for scene in scenes:
        released = Counter(
            r.die for _, r in feed if isinstance(r, DieReleased) and scene.start_us <= r.t <= scene.end_us
        )
        assert set(released.values()) == {1}
        assert len(released) == (1 if scene.kind == "one_die" else 2)


@pytest.mark.parametrize("kind", dice.KINDS)
def test_every_kind_occurs_and_its_readings_arrive_as_real_ones_do(kind: str) -> None:
    for seed in SEEDS:
        scene, feed = dice.throw(kind, Random(seed), 2_000_000)
        assert scene.truth.verdict in scene.truth.allowed
        assert feed == sorted(feed, key=lambda item: item[0])
        assert all(30_000 <= lag <= 80_000 for lag in _of_sensors(feed, "cam"))
        assert all(1000 <= lag <= 3000 for lag in _of_sensors(feed, "wall-"))
        assert _of_sensors(feed, "cam")


def _of_sensors(feed: Feed, device: str) -> list[int]:
    kinds = DieAt | DieReleased | DieRest | WallImpact
    return [arrived - r.t for arrived, r in feed if r.dev.startswith(device) and isinstance(r, kinds)]


def test_a_camera_never_overtakes_itself_and_sends_ninety_frames_a_second() -> None:
    _, readings = play("valid", 1)
    seen = [r.t for r in readings if r.dev == "cam"]
    assert seen == sorted(seen)
    track = [r.t for r in readings if isinstance(r, DieAt) and r.die == 1]
    assert Counter(round((b - a) / 11_111) for a, b in pairwise(track)).most_common(1)[0][0] == 1


@pytest.mark.parametrize("kind", ["valid", "bumped", "crossing", "slightly_staggered", "cocked_one_side"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_die_of_a_valid_throw_touches_the_far_wall_and_is_heard(kind: str, seed: int) -> None:
    scene, readings = play(kind, seed)
    assert scene.truth.allowed == ("valid",)
    heard = [r for r in readings if isinstance(r, WallImpact) and r.wall in ("left", "right")]
    for die in (1, 2):
        way = distances_from_end(readings, die)
        nearest_us, nearest = min(way, key=lambda point: point[1])
        assert abs(nearest - CONTACT_MM) < 75
        assert way[-1][1] > nearest
        assert any(abs(r.t - nearest_us) < 30_000 for r in heard)


@pytest.mark.parametrize("kind", ["one_short", "stop_at_wall", "double_hit", "bump_and_short", "rail_only"])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_die_of_a_short_throw_stays_off_the_far_wall(kind: str, seed: int) -> None:
    scene, readings = play(kind, seed)
    assert scene.truth.reasons == ("no_wall_hit",)
    nearest = [min(distance for _, distance in distances_from_end(readings, die)) for die in (1, 2)]
    assert max(nearest) > CONTACT_MM + 4


@pytest.mark.parametrize("seed", SEEDS)
def test_dice_are_released_together_a_little_apart_or_clearly_apart(seed: int) -> None:
    for kind, least_ms, most_ms in (
        ("valid", 0, 45),
        ("slightly_staggered", 50, 150),
        ("staggered", 150, 900),
    ):
        times = [r.t for r in play(kind, seed)[1] if isinstance(r, DieReleased)]
        assert least_ms * 1000 <= abs(times[0] - times[1]) <= most_ms * 1000


@pytest.mark.parametrize(("kind", "zone"), [("on_bank", "bank"), ("in_cup", "cup")])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_die_on_the_bank_or_in_the_cup_lies_inside_that_zone(kind: str, zone: str, seed: int) -> None:
    corners = next(z.polygon for z in TABLE.zones if z.kind == zone)
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    lying = rests(play(kind, seed)[1])
    assert any(min(xs) <= r.x <= max(xs) and min(ys) <= r.y <= max(ys) for r in lying)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_faces_of_the_truth_are_those_the_camera_reads(seed: int) -> None:
    scene, readings = play("valid", seed)
    assert tuple(r.up for r in rests(readings)) == scene.truth.dice


@pytest.mark.parametrize("seed", SEEDS)
def test_a_die_cocked_on_one_side_shows_the_opposite_face(seed: int) -> None:
    scene, readings = play("cocked_one_side", seed)
    leaning = next(r for r in rests(readings) if r.resting_sides)
    assert scene.truth.dice is not None
    assert scene.truth.dice[leaning.die - 1] == 7 - leaning.resting_sides[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_swapped_dice_change_places_while_they_are_near_each_other(seed: int) -> None:
    _, readings = play("swapped_crossing", seed)
    for die in (1, 2):
        track = [(r.x, r.y) for r in readings if isinstance(r, DieAt) and r.die == die]
        assert max(abs(a[0] - b[0]) for a, b in pairwise(track)) < 220


def test_faces_are_fair() -> None:
    _, _, scenes = dice.simulate(11, {"valid": 1.0}, 300)
    faces = Counter(face for scene in scenes for face in scene.truth.dice or ())
    assert set(faces) == {1, 2, 3, 4, 5, 6}
    assert min(faces.values()) > 70


def test_under_version_1_a_missed_wall_is_first_a_warning() -> None:
    scene, _ = dice.throw("one_short", Random(1), 0, rules="craps-v1")
    assert scene.truth.allowed == ("valid",)
    scene, _ = dice.throw("both_short", Random(1), 0, rules="craps-v1")
    assert scene.truth.allowed == ("valid", "void")


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="teleported"):
        dice.throw("teleported", Random(1), 0)
