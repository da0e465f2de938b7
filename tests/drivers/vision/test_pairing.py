"""Tests of two cameras over one end of a table."""

from bisect import bisect_left
from collections.abc import Iterator
from heapq import merge

import msgspec
import numpy as np
import pytest

from controller.model.geometry import DiceTable
from controller.model.readings import DeviceDown, DeviceUp, DieAt, DieLost, DieRest, Reading
from drivers.sim.filming import Die, Filming, FilmRig, Lens, Motion, flat_die
from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from drivers.vision.pairing import Pair, solve_rays
from drivers.vision.rig import LensSettings, Rig, RigError, RigFile

TABLE = DiceTable(length_mm=600.0, width_mm=400.0, die_mm=19.0, wall_relief_mm=0.0)
LENSES = [Lens(640, 480, 900.0, (300.0, y, 600.0), (300.0, 200.0, 0.0)) for y in (120.0, 280.0)]
"""Two cameras 160 mm apart along the end wall, 600 mm above the felt."""
LATER_US = 5_000
"""The delay of the second camera's shutter relative to the first camera's."""
GRAVITY_MM_S2 = 9810.0


def load_rig(lens: Lens, name: str) -> Rig:
    places = np.array([[120, 80, 0], [480, 80, 0], [480, 320, 0], [120, 320, 0], [300, 200, 0]], float)
    pixels = lens.project(places)
    points = tuple(
        (float(x), float(y), float(place[0]), float(place[1]))
        for (x, y), place in zip(pixels, places, strict=True)
    )
    solved_lens = LensSettings(focal_px=(lens.focal_px, lens.focal_px), middle_px=lens.middle)
    return Rig(RigFile(camera=name, table=TABLE, points=points, lens=solved_lens))


RIGS = [load_rig(lens, name) for lens, name in zip(LENSES, ("left", "right"), strict=True)]


def tossed(dice: list[tuple[Die, float]], seconds: float = 1.4) -> Motion:
    """Return dice that fly in from the left in a 110 mm high arc, each with its time of rest in seconds."""
    times = list(range(0, int(seconds * 1e6), 4_000))
    poses: list[tuple[Array, Array]] = []
    for t_us in times:
        left = [max(0.0, lands - t_us / 1e6) for _, lands in dice]
        bow_s = (8 * 110.0 / GRAVITY_MM_S2) ** 0.5
        high = [max(0.0, GRAVITY_MM_S2 / 2 * ahead * (bow_s - ahead)) for ahead in left]
        centres = [
            die.centre_mm + np.array([-900.0 * ahead, 0.0, up])
            for (die, _), ahead, up in zip(dice, left, high, strict=True)
        ]
        poses.append((np.array(centres), np.array([die.axes for die, _ in dice])))
    return Motion(times, poses)


def two_dice() -> list[tuple[Die, float]]:
    return [(flat_die(5, 20.0, (420.0, 130.0)), 0.5), (flat_die(2, 65.0, (380.0, 270.0)), 0.55)]


def reported_for(way: Motion, *, blind_from_us: int | None = None) -> list[Reading]:
    """Return the pair's readings of a path. The first camera is blind from `blind_from_us`."""
    cameras = [Filming(FilmRig(lens, fps=60.0, zoom=2.0), seed) for seed, lens in enumerate(LENSES)]
    followers = [
        Follower(rig, camera.empty(), alone=False) for rig, camera in zip(RIGS, cameras, strict=True)
    ]
    pair = Pair(*RIGS)

    def frames(at: int) -> Iterator[tuple[int, int, list[Reading]]]:
        late_us = LATER_US * at
        shifted = Motion([t_us - late_us for t_us in way.t_us], way.poses)
        for t_us, picture, still in cameras[at].frames(shifted, 1_300_000):
            seen = picture
            if at == 0 and blind_from_us is not None and t_us >= blind_from_us:
                seen = cameras[0].empty()
            yield t_us + late_us, at, followers[at].frame(t_us + late_us, seen, still)

    return [
        reading
        for t_us, at, readings in merge(frames(0), frames(1), key=lambda frame: frame[:2])
        for reading in pair.take(at, t_us, readings)
    ]


def true_place(way: Motion, reading: DieAt) -> Array:
    """Return the actual position of the die nearest to a point at the point's time."""
    centres = way.poses[min(bisect_left(way.t_us, reading.t), len(way.t_us) - 1)][0]
    places = [centre[:2] for centre in centres]
    nearest: Array = min(
        places, key=lambda place: float(np.hypot(place[0] - reading.x, place[1] - reading.y))
    )
    return nearest


def test_two_rays_meet_in_the_die() -> None:
    eyes = (np.array([0.0, -100.0, 1000.0]), np.array([0.0, 100.0, 1000.0]))
    die = np.array([30.0, 20.0, 80.0])
    places = tuple(eye + (die - eye) * (eye[2] - 9.5) / (eye[2] - die[2]) for eye in eyes)
    found = solve_rays(eyes, (places[0], places[1]), (1.0, 1.0))
    assert (found.x, found.y, found.height) == pytest.approx((30.0, 20.0, 80.0), abs=0.01)
    assert found.distance == pytest.approx(0.0, abs=0.01)
    assert found.one_die


def test_rays_that_do_not_meet_are_of_two_dice() -> None:
    eyes = (np.array([0.0, -100.0, 1000.0]), np.array([0.0, 100.0, 1000.0]))
    found = solve_rays(eyes, (np.array([30.0, 20.0, 9.5]), np.array([70.0, 20.0, 9.5])), (1.0, 1.0))
    assert not found.one_die


def test_dice_in_the_air_are_reported_where_they_are() -> None:
    way = tossed(two_dice())
    readings = reported_for(way)
    points = [reading for reading in readings if isinstance(reading, DieAt)]
    misses = [float(np.hypot(*(np.array([p.x, p.y]) - true_place(way, p)))) for p in points]
    assert {rest.up for rest in readings if isinstance(rest, DieRest)} == {5, 2}
    # A single camera mistakes a die at a height of 110 mm for a die 50 mm farther out.
    assert np.median(misses) < 2.0
    assert np.percentile(misses, 90) < 6.0
    assert all(point.dev == "left" for point in points)
    assert {point.die for point in points} == {1, 2}


def test_each_point_lies_within_three_of_its_errors() -> None:
    way = tossed(two_dice())
    for point in reported_for(way):
        if isinstance(point, DieAt):
            assert point.error_mm is not None
            # towards the end walls, which dice must hit
            assert abs(point.x - float(true_place(way, point)[0])) < 3 * point.error_mm + 2.0


def test_a_die_that_the_first_camera_loses_is_tracked_by_the_second() -> None:
    readings = reported_for(tossed(two_dice()), blind_from_us=450_000)
    assert not [reading for reading in readings if isinstance(reading, DieLost)]
    assert sorted(rest.up or 0 for rest in readings if isinstance(rest, DieRest)) == [2, 5]


@pytest.mark.parametrize("second_up", [3, None])
def test_two_cameras_that_read_two_faces_read_none(second_up: int | None) -> None:
    """A contradicted face is not reported. If only the first camera reads a face, that face is reported."""
    pair = Pair(*RIGS)
    at = [DieAt(t=t, dev="left", die=1, x=300.0, y=200.0, error_mm=1.0) for t in range(0, 80_000, 16_000)]
    for point in at:
        pair.take(0, point.t, [point])
        pair.take(1, point.t, [msgspec.structs.replace(point, dev="right")])
    rest = DieRest(t=100_000, dev="left", die=1, x=300.0, y=200.0, up=4, confidence=0.99, on="felt")
    other = msgspec.structs.replace(rest, dev="right", up=second_up)
    readings = [*pair.take(0, 100_000, [rest]), *pair.take(1, 105_000, [other])]
    assert [reading.up for reading in readings if isinstance(reading, DieRest)] == [None if second_up else 4]


def test_the_device_is_up_once_both_views_are() -> None:
    pair = Pair(*RIGS)
    down = [DeviceDown(t=1, dev=name, code="covered", reason="dark") for name in ("left", "right")]
    up = [DeviceUp(t=2, dev=name, reason="it sees its table again") for name in ("left", "right")]
    assert len(pair.take(0, 1, [down[0]]) + pair.take(1, 1, [down[1]])) == 2
    assert pair.take(0, 2, [up[0]]) == []
    assert pair.take(1, 2, [up[1]]) == [msgspec.structs.replace(up[1], dev="left")]


def test_a_camera_of_unknown_place_cannot_be_part_of_a_pair() -> None:
    plain = Rig(msgspec.structs.replace(RIGS[1].file, lens=None))
    with pytest.raises(RigError, match="has no `lens`"):
        Pair(RIGS[0], plain)
