"""A calibration finds the mapping from image to table, or reports why it can't."""

from math import hypot

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from controller.model.homography import CalibrationError, fit

CORNERS = [(-900.0, -600.0), (900.0, -600.0), (900.0, 600.0), (-900.0, 600.0)]
VIEW = ((1.9, 0.1, 1800.0), (0.05, -0.9, 550.0), (0.0001, 0.0002, 1.0))


def seen(point: tuple[float, float]) -> tuple[float, float]:
    """Return the point on the table for an image point of this camera."""
    x, y, w = (a * point[0] + b * point[1] + c for a, b, c in VIEW)
    return x / w, y / w


def test_four_corners_fix_the_plane() -> None:
    plane = fit([(corner, seen(corner)) for corner in CORNERS])
    assert plane.error_mm < 1e-6
    assert plane.to_table(123, 45) == pytest.approx(seen((123, 45)))


def test_more_points_than_needed_even_out_their_errors() -> None:
    points = [(u, v) for u in (-900.0, -300.0, 300.0, 900.0) for v in (-600.0, 0.0, 600.0)]
    off = [(3.0, -3.0), (-3.0, 3.0)]
    plane = fit([(p, (seen(p)[0] + off[n % 2][0], seen(p)[1] + off[n % 2][1])) for n, p in enumerate(points)])
    found = plane.to_table(100, 100)
    assert found is not None
    assert hypot(found[0] - seen((100, 100))[0], found[1] - seen((100, 100))[1]) < 3
    assert 0 < plane.error_mm < 10


def test_a_misplaced_point_shows_in_the_error() -> None:
    points = [*CORNERS, (0.0, 0.0)]
    pairs = [(p, seen(p)) for p in points]
    assert fit([*pairs[:4], ((0.0, 0.0), (1900.0, 600.0))]).error_mm > 20


@pytest.mark.parametrize(
    "pairs",
    [
        [(corner, seen(corner)) for corner in CORNERS[:3]],
        [((float(n), 2.0 * n), (float(n), 3.0 * n)) for n in range(5)],
        [((5.0, 5.0), (1.0, 1.0))] * 4,
        [*[((float(n), 0.0), (float(n), 0.0)) for n in range(3)], ((1.0, 1.0), (1.0, 1.0))],
    ],
    ids=["three points", "one line", "one point", "three on a line"],
)
def test_points_that_determine_no_mapping_are_refused(
    pairs: list[tuple[tuple[float, float], tuple[float, float]]],
) -> None:
    with pytest.raises(CalibrationError, match="expected"):
        fit(pairs)


def test_a_point_beyond_the_horizon_has_no_place_on_the_table() -> None:
    plane = fit([(corner, seen(corner)) for corner in CORNERS])
    assert plane.to_table(-20_000, 0) is None


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.floats(0.2, 3.0),
    st.floats(0.2, 3.0),
    st.floats(-0.5, 0.5),
    st.floats(-0.5, 0.5),
    st.floats(-0.0004, 0.0004),
    st.floats(-0.0004, 0.0004),
)
def test_any_view_of_the_table_is_recovered_from_its_corners(
    a: float, d: float, b: float, c: float, g: float, h: float
) -> None:
    assume(abs(a * d - b * c) > 0.1)

    def place(u: float, v: float) -> tuple[float, float]:
        w = g * u + h * v + 1.0
        return (a * u + b * v + 1800.0) / w, (c * u + d * v + 550.0) / w

    plane = fit([(corner, place(*corner)) for corner in CORNERS])
    for u, v in ((0.0, 0.0), (400.0, -300.0), (-750.0, 500.0)):
        assert plane.to_table(u, v) == pytest.approx(place(u, v), abs=1e-3)
