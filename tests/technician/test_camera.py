"""A camera's calibration from dice at known places: its results, refusals and reported errors."""

from math import cos, sin
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.geometry import DiceTable
from controller.model.homography import Homography, Point, fit_rows
from controller.model.readings import DieAt, DieRest
from controller.technician.calibration import (
    RMS_LIMIT_MM,
    DiePlacement,
    LayDieAt,
    UnfitError,
    calibrate_camera,
    find_laid_dice,
    named_places,
)

TABLE = DiceTable(length_mm=3600, width_mm=1100, die_mm=19)
PLACES = named_places(TABLE)


def camera(turned: float, scale: float, tilt: float) -> Homography:
    """Return a camera that sees the table turned, smaller and from one side."""
    across, along = scale * cos(turned), scale * sin(turned)
    return Homography(
        ((across, -along, 640.0), (along, across, 240.0), (tilt * 1e-5, -tilt * 2e-5, 1.0)), 0.0
    )


def laid(
    lens: Homography, rng: Random, noise_px: float, names: tuple[str, ...] = tuple(PLACES)
) -> list[DiePlacement]:
    found = []
    for name in names:
        seen = lens.to_table(*PLACES[name])
        assert seen is not None
        found.append(
            DiePlacement(name, PLACES[name], (rng.gauss(seen[0], noise_px), rng.gauss(seen[1], noise_px)))
        )
    return found


@given(
    turned=st.floats(-3, 3), scale=st.floats(0.1, 0.6), tilt=st.floats(-3, 3), seed=st.integers(0, 2**32 - 1)
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_known_camera_is_found_again(turned: float, scale: float, tilt: float, seed: int) -> None:
    lens = camera(turned, scale, tilt)
    found = calibrate_camera(laid(lens, Random(seed), 0.1), TABLE, "cam", None)
    rows = found.values["devices", "cam", "calibration"]
    assert isinstance(rows, tuple)
    plane = fit_rows([row for row in rows if isinstance(row, tuple)], 10.0)
    for place in ((700.0, 200.0), (1800.0, 550.0), (3000.0, 900.0)):
        seen = lens.to_table(*place)
        assert seen is not None
        told = plane.to_table(*seen)
        assert told is not None
        assert told == pytest.approx(place, abs=8.0)


def test_a_place_maps_back_to_its_image() -> None:
    lens = camera(0.4, 0.3, 2.0)
    plane = fit_rows([(*one.seen, *one.place) for one in laid(lens, Random(1), 0.0)], 1.0)
    seen = plane.to_image(1234.0, 567.0)
    assert seen == pytest.approx(lens.to_table(1234.0, 567.0), abs=1e-6)


def test_every_point_is_reported_with_its_residual_and_its_previous_one() -> None:
    lens = camera(0.0, 0.3, 1.0)
    found = calibrate_camera(laid(lens, Random(3), 0.2), TABLE, "cam", fit_rows(ROUGH, 10.0))
    assert len(found.report) == len(PLACES) + 1
    assert all("(before " in line for line in found.report[:-1])
    assert found.report[-1].startswith("RMS error ")
    assert f"(limit {RMS_LIMIT_MM:g})" in found.report[-1]


ROUGH = ((640, 240, 0, 0), (1720, 240, 3600, 0), (1720, 570, 3600, 1100), (640, 570, 0, 1100))


@pytest.mark.parametrize("wrong", list(PLACES))
def test_a_misplaced_die_is_named(wrong: str) -> None:
    points = laid(camera(0.2, 0.3, 1.0), Random(5), 0.05)
    points = [one if one.name != wrong else moved(one, 60.0) for one in points]
    points.append(DiePlacement("spot", (900.0, 300.0), seen_at(camera(0.2, 0.3, 1.0), (900.0, 300.0))))
    with pytest.raises(UnfitError, match=rf"{wrong} is \d+ mm from .*lay this die again"):
        calibrate_camera(points, TABLE, "cam", None)


def moved(one: DiePlacement, by_mm: float) -> DiePlacement:
    return DiePlacement(one.name, (one.place[0] + by_mm, one.place[1] - by_mm), one.seen)


def seen_at(lens: Homography, place: Point) -> Point:
    seen = lens.to_table(*place)
    assert seen is not None
    return seen


def test_of_five_points_none_can_be_named_as_wrong() -> None:
    points = laid(camera(0.2, 0.3, 1.0), Random(5), 0.05, tuple(PLACES)[:5])
    with pytest.raises(UnfitError, match="lay six dice or more"):
        calibrate_camera([*points[:4], moved(points[4], 80.0)], TABLE, "cam", None)


def test_four_points_are_accepted_with_a_warning_that_nothing_checks_them() -> None:
    corners = ("left-front", "left-back", "right-front", "right-back")
    found = calibrate_camera(laid(camera(0, 0.3, 0), Random(1), 0.0, corners), TABLE, "cam", None)
    assert "any four points match exactly" in found.report[-1]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("left-front", "left-back", "right-front"), "found 3 points, expected at least 4"),
        (
            ("left-front", "middle-front", "right-front", "left-back"),
            "any four of the points",
        ),
    ],
)
def test_too_few_points_and_points_on_a_line_are_refused(names: tuple[str, ...], says: str) -> None:
    with pytest.raises(UnfitError, match=says):
        calibrate_camera(laid(camera(0, 0.3, 0), Random(1), 0.0, names), TABLE, "cam", None)


def rest(t: int, x: float, y: float, die: int = 1) -> DieRest:
    return DieRest(t=t, dev="cam", die=1 if die == 1 else 2, x=x, y=y, up=6, confidence=0.9)


def test_a_die_reported_twice_at_its_place_counts_once() -> None:
    rests = [rest(1, 10, 10), rest(2, 11, 12), rest(3, 1800, 10), rest(4, 10, 10)]
    assert find_laid_dice(rests, "cam") == [(11, 12), (1800, 10), (10, 10)]
    assert find_laid_dice(rests, "other") == []


def test_a_place_is_reported_once_a_die_has_been_there_for_a_while() -> None:
    step = LayDieAt("cam", "left-front", (9.5, 9.5))
    assert step.lamp_text == "put_9.5_9.5"
    step.receive(rest(1, 10, 10))
    assert not step.is_complete(0.2)
    assert step.is_complete(1.5)
    step.receive(DieAt(t=2, dev="cam", die=1, x=50, y=50))
    assert not step.is_complete(1.5)
    step.receive(rest(3, 10, 10))
    step.receive(rest(4, 900, 10, die=2))
    assert not step.is_complete(1.5)
    assert step.findings()[0].says == "found 2 dice at rest, expected one"
