"""Movements between accounts are balanced."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.settlement_service.ledger import Movement, UnbalancedMovement

accounts = st.sampled_from(("player:ann", "player:bob", "house:t1", "at_risk:t1"))
moves = st.lists(st.tuples(st.integers(-1_000, 1_000), accounts, accounts))


@settings(derandomize=True, max_examples=50, deadline=None)
@given(moves)
def test_any_moves_are_balanced(moves: list[tuple[int, str, str]]) -> None:
    movement = Movement()
    for cents, source, to in moves:
        movement.move(cents, source, to)
    assert sum(movement.balanced_legs().values()) == 0


def test_an_unbalanced_movement_is_not_booked() -> None:
    with pytest.raises(UnbalancedMovement, match="not balanced"):
        Movement({"player:ann": 1}).balanced_legs()


@settings(derandomize=True, max_examples=50, deadline=None)
@given(moves, moves)
def test_a_difference_leads_from_one_to_the_other(
    one: list[tuple[int, str, str]], other: list[tuple[int, str, str]]
) -> None:
    before, after = Movement(), Movement()
    for movement, made in ((before, one), (after, other)):
        for cents, source, to in made:
            movement.move(cents, source, to)
    wanted = dict(after.legs())
    difference = Movement(dict(after.legs()))
    difference.add(before, -1)
    before.add(difference)
    assert dict(before.legs()) == wanted
