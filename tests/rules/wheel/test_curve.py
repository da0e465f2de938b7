"""The derivatives by which a ball's curve is fitted are those of the curve itself."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.rules.wheel.curve import Curve, Model, speeds_moved, turns_moved

STEP = 1e-6

curves = st.builds(Curve, st.floats(0.2, 0.8), st.floats(0.03, 0.1), st.floats(0.014, 0.03))
seconds = st.lists(st.floats(0.0, 15.0), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("model", "gives"), [(turns_moved, Curve.turns_before), (speeds_moved, Curve.speeds_before)]
)
@given(curve=curves, before=seconds)
@settings(derandomize=True, max_examples=50, deadline=None)
def test_a_small_step_of_each_value_moves_the_curve_as_its_derivative_tells(
    model: Model, gives: Callable[[Curve, Sequence[float]], list[float]], curve: Curve, before: list[float]
) -> None:
    moved = model(curve, before)
    assert [at for at, *_ in moved] == pytest.approx(gives(curve, before))
    for which, name in enumerate(Curve._fields, start=1):
        value = getattr(curve, name)
        more = gives(curve._replace(**{name: value + STEP}), before)
        less = gives(curve._replace(**{name: value - STEP}), before)
        slopes = [(up - down) / (2 * STEP) for up, down in zip(more, less, strict=True)]
        assert slopes == pytest.approx([point[which] for point in moved], rel=1e-4, abs=1e-4)


def test_times_at_which_the_curve_is_too_steep_are_held_where_it_still_tells() -> None:
    steep = Curve(1.0, 0.003, 0.2)
    for model in (turns_moved, speeds_moved):
        (far,), (farther,) = model(steep, [50.0]), model(steep, [500.0])
        assert far == farther
