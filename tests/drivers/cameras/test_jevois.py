"""Tests of a smart camera above a dice table: two dice are tracked, come to rest or are lost."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import (
    AnyReading,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieLost,
    DieRest,
)
from drivers.cameras.jevois import TYPE, JevoisCamera, JevoisSettings
from drivers.device import Device

FACES = {f"die{face}": face for face in range(1, 7)}
FRAME_US = 33_000
CALIBRATION = ((-900, -300, 0, 1100), (900, -300, 3600, 1100), (900, 300, 3600, 0), (-900, 300, 0, 0))
SETTINGS = JevoisSettings(port="/dev/table-cam", faces=FACES, calibration=CALIBRATION)

Seen = tuple[float, float, str]
"""A die in one frame: the position on the table (mm), and the category with the score."""


def line(seen: Seen) -> str:
    x_mm, y_mm, category = seen
    return f"N2 {category} {x_mm / 2 - 900:.1f} {300 - y_mm * 600 / 1100:.1f} 10 10"


def frame(seen: Iterable[Seen]) -> bytes:
    return "\n".join(["MARK START", *map(line, seen), "MARK STOP", ""]).encode()


def watch(frames: Sequence[Sequence[Seen]], camera: JevoisCamera | None = None) -> list[AnyReading]:
    """Send these frames from the camera, 33 ms apart."""
    camera = camera or JevoisCamera("cam", SETTINGS)
    return [reading for n, seen in enumerate(frames) for reading in camera.receive(n * FRAME_US, frame(seen))]


def tracks(readings: Iterable[AnyReading], die: int) -> list[tuple[float, float]]:
    return [(r.x, r.y) for r in readings if isinstance(r, DieAt) and r.die == die]


def rests(readings: Iterable[AnyReading]) -> list[tuple[int, int | None]]:
    return [(r.die, r.up) for r in readings if isinstance(r, DieRest)]


def lost(readings: Iterable[AnyReading]) -> list[int]:
    return [r.die for r in readings if isinstance(r, DieLost)]


def health(readings: Iterable[AnyReading]) -> list[str]:
    return [str(r.code) for r in readings if isinstance(r, DeviceUp | DeviceDown | DeviceFault)]


def still(count: int, *seen: Seen) -> list[list[Seen]]:
    return [list(seen)] * count


LEFT, RIGHT = (1000.0, 300.0, "die3:90"), (2000.0, 700.0, "die4:80")


def test_a_detection_becomes_a_place_on_the_table() -> None:
    (up, at) = watch([[(1234.0, 567.0, "die5:92")]])
    assert isinstance(up, DeviceUp)
    assert isinstance(at, DieAt)
    assert at.die == 1
    assert (at.x, at.y) == pytest.approx((1234, 567), abs=1)


def test_two_dice_at_rest_are_reported_once_each_with_face_and_confidence() -> None:
    readings = watch(still(30, LEFT, RIGHT))
    assert rests(readings) == [(1, 3), (2, 4)]
    first = next(r for r in readings if isinstance(r, DieRest))
    assert (first.confidence, first.on, first.resting_sides) == (0.9, "unknown", ())
    assert first.t >= 250_000


def test_a_die_that_rolls_slowly_is_not_at_rest() -> None:
    rolling = [[(1000.0 + 6 * n, 300.0, "die3:90")] for n in range(30)]
    assert rests(watch(rolling)) == []


def test_a_die_that_is_moved_gets_a_new_rest() -> None:
    moved = (1100.0, 300.0, "die5:90")
    assert rests(watch([*still(15, LEFT), *still(15, moved)])) == [(1, 3), (1, 5)]


def test_a_face_on_which_the_frames_differ_is_not_reported() -> None:
    flicker = [[(1000.0, 300.0, f"die{3 + n % 2}:90")] for n in range(30)]
    readings = watch(flicker)
    assert rests(readings) == [(1, None)]
    assert next(r for r in readings if isinstance(r, DieRest)).confidence == 0


def test_two_categories_in_one_place_are_one_die_without_a_face() -> None:
    both = [(1000.0, 300.0, "die3:50"), (1002.0, 301.0, "die4:49")]
    assert rests(watch(still(20, *both))) == [(1, None)]


def test_a_camera_without_scores_gives_no_confidence() -> None:
    readings = watch(still(20, (1000.0, 300.0, "die3")))
    assert next(r for r in readings if isinstance(r, DieRest)).confidence == 0


def test_dice_keep_their_names_side_by_side_at_speed() -> None:
    flight = [[(300.0 + 120 * n, 300.0, "die1:80"), (280.0 + 120 * n, 420.0, "die2:80")] for n in range(20)]
    readings = watch(flight)
    assert lost(readings) == []
    assert {y for _, y in tracks(readings, 1)} in ({300.0}, {420.0})
    assert len(tracks(readings, 1)) == len(tracks(readings, 2)) == 20


def test_dice_that_come_back_from_the_wall_keep_their_names() -> None:
    out = [300.0 + 120 * n for n in range(27)]
    back = [3590.0 - 60 * n for n in range(1, 10)]
    flight = [[(x, 300.0, "die1:80"), (x - 20, 500.0, "die2:80")] for x in [*out, *back]]
    readings = watch(flight)
    assert lost(readings) == []
    assert len({y for _, y in tracks(readings, 1)}) == 1


def test_dice_whose_tracks_are_ambiguous_are_both_lost_and_stay_lost() -> None:
    apart = [[(1000.0 + 60 * n, 400.0, "die1:80"), (1600.0 - 60 * n, 400.0, "die2:80")] for n in range(5)]
    met = [[(1300.0, 360.0, "die1:80"), (1300.0, 440.0, "die2:80")]]
    readings = watch([*apart, *met, *still(40, LEFT, RIGHT)])
    assert sorted(lost(readings)) == [1, 2]
    assert rests(readings) == []


def test_three_dice_are_not_reported_as_a_throw() -> None:
    readings = watch([*still(3, LEFT, RIGHT), *still(20, LEFT, RIGHT, (500.0, 500.0, "die6:70"))])
    assert sorted(lost(readings)) == [1, 2]
    assert rests(readings) == []


def test_an_empty_table_makes_the_next_dice_new_ones() -> None:
    readings = watch([*still(3, LEFT, RIGHT, (500.0, 500.0, "die6:70")), *[[]] * 70, *still(15, LEFT, RIGHT)])
    assert rests(readings) == [(1, 3), (2, 4)]


def test_a_die_that_is_missed_for_a_frame_or_two_is_bridged() -> None:
    readings = watch([*still(5, LEFT, RIGHT), *still(2, LEFT), *still(15, LEFT, RIGHT)])
    assert (lost(readings), rests(readings)) == ([], [(1, 3), (2, 4)])


def test_a_die_that_is_hidden_is_lost_and_found_again_beside_the_other() -> None:
    readings = watch([*still(15, LEFT, RIGHT), *still(10, LEFT), *still(15, LEFT, RIGHT)])
    assert lost(readings) == [2]
    assert rests(readings) == [(1, 3), (2, 4), (2, 4)]


def test_objects_that_are_not_dice_are_counted_and_not_reported() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    assert health(watch(still(3, (1000.0, 300.0, "chip:99")), camera)) == ["up"]
    assert camera.unknown_objects == 3


def test_a_frame_with_a_damaged_line_is_dropped_completely() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    damaged = frame([LEFT, RIGHT]).replace(b"N2 die4", b"N2 d\xffe4")
    watch(still(3, LEFT, RIGHT), camera)
    assert camera.receive(3 * FRAME_US, damaged) == []
    assert (camera.frames, camera.spoilt_frames) == (3, 1)


def test_a_frame_whose_start_was_not_received_is_dropped() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    assert camera.receive(0, frame([LEFT]).removeprefix(b"MARK START\n")) == []
    assert (camera.frames, camera.spoilt_frames) == (0, 1)


def test_frames_read_in_one_burst_are_spread_over_their_period() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    flight = b"".join(frame([(300.0 + 120 * n, 300.0, "die1:80")]) for n in range(4))
    readings = [r for r in camera.receive(1_000_000, flight) if isinstance(r, DieAt)]
    assert [r.t - 1_000_001 for r in readings] == pytest.approx([0, 29_970, 59_940, 89_910], abs=2)
    assert lost(readings) == []


def test_latency_sets_the_time_of_a_reading_back_and_keeps_its_arrival() -> None:
    settings = JevoisSettings(port="x", faces=FACES, calibration=CALIBRATION, latency_ms=40.0, still_ms=100.0)
    camera = JevoisCamera("cam", settings)
    camera.receive(960_000, frame([]))
    (at,) = camera.receive(1_000_000, frame([LEFT]))
    assert (at.t, at.arrived) == (960_001, 1_000_000)


def test_a_camera_without_frame_marks_or_without_power_is_down() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    assert health(camera.start(0)) == ["starting"]
    camera.on_open(0)
    readings = [r for n in range(80) for r in camera.receive(n * FRAME_US, line(LEFT).encode() + b"\n")]
    assert readings == []
    due = camera.next_deadline()
    assert due == 2_000_000
    assert health(camera.tick(due)) == ["silent"]
    assert (camera.take_reopen(), camera.take_reopen(), camera.take_output()) == (True, False, b"")
    assert health(camera.receive(3_000_000, frame([]))) == ["up"]


def test_a_lost_link_and_dropped_bytes_are_reported() -> None:
    camera = JevoisCamera("cam", SETTINGS)
    watch(still(2, LEFT), camera)
    camera.receive(70_000, b"MARK START\nN2 die3:90 1 ")
    assert health(camera.on_overflow(80_000, 4096)) == ["sentences_lost"]
    assert camera.receive(90_000, b"1 1 1\nMARK STOP\n") == []
    assert health(camera.on_close(100_000, "unplugged", "pulled")) == ["unplugged"]
    assert camera.next_deadline() is None
    assert camera.status()["spoilt_frames"] == 1


@pytest.mark.parametrize(
    ("faces", "calibration", "says"),
    [
        ({"die7": 7}, CALIBRATION, "expected 1 to 6"),
        (FACES, CALIBRATION[:3], "expected at least 4"),
        (FACES, (*CALIBRATION[:3], (1, 2, 3)), "expected four: image x, y and table x, y"),
        (FACES, (*CALIBRATION, (0, 0, 1800, 700)), "expected at most 10 mm"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_was_expected(
    faces: dict[str, int], calibration: tuple[tuple[float, ...], ...], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        JevoisSettings(port="x", faces=faces, calibration=calibration)


def test_the_camera_is_a_device_type_that_a_table_can_name() -> None:
    assert isinstance(TYPE.make("cam", SETTINGS, bytes), Device)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.floats(0, 3600), st.floats(0, 1100), st.sampled_from(["die1:80", "die6:30", "chip"])
            ),
            max_size=4,
        ),
        max_size=40,
    )
)
def test_whatever_the_camera_sees_times_only_increase_and_each_die_is_in_one_place(
    frames: list[list[Seen]],
) -> None:
    readings = watch(frames)
    times = [reading.t for reading in readings]
    assert times == sorted(set(times))
    assert all(r.die in (1, 2) for r in readings if isinstance(r, DieAt | DieRest | DieLost))
    assert not any(isinstance(r, DieRest) and r.up is None and r.confidence for r in readings)
