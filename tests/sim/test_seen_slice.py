"""A slice of what `python -m tests.sim.seen_throws` measures: from pixels to the call."""

from tests.sim.seen_throws import count, throw


def test_a_filmed_throw_is_never_called_wrong() -> None:
    seen = throw(0)
    assert seen is not None
    assert seen.faces == ((6, 6), (6, 6))
    assert seen.call == "roll.no_roll"  # one die stopped 350 mm short of the wall
    assert count([seen]) == {"face right": 2, "void right": 1}
