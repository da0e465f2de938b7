"""The layout has the spots of every wager in the document, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.games.roulette.wagers.layout import NUMBERS_PER_WAGER, RULES, Layout, NoSuchSpot
from controller.model.pockets import RED

LAYOUT = Layout()
EUROPEAN = Layout("single_zero")


def covers(layout: Layout, wager: str) -> set[frozenset[str]]:
    return {spot.covers for spot in layout.spots(wager)}


def of(*numbers: object) -> frozenset[str]:
    return frozenset(str(number) for number in numbers)


@pytest.mark.parametrize(
    ("wager", "places"),
    [
        ("straight", 38),
        ("split", 62),
        ("three", 15),
        ("four", 22),
        ("five", 1),
        ("six", 11),
        ("column", 3),
        ("dozen", 3),
        ("red", 1),
        ("black", 1),
        ("odd", 1),
        ("even", 1),
        ("low", 1),
        ("high", 1),
    ],
)
def test_the_layout_has_as_many_places_as_the_document_counts(wager: str, places: int) -> None:
    assert len(covers(LAYOUT, wager)) == places


def test_r_bet_1_a_straight_is_any_pocket_of_the_wheel() -> None:
    assert covers(LAYOUT, "straight") == {of(n) for n in ("0", "00", *range(1, 37))}


def test_r_bet_2_a_split_is_two_boxes_with_a_line_between_them() -> None:
    splits = covers(LAYOUT, "split")
    across = {of(n, n + 1) for n in range(1, 36) if n % 3}
    down = {of(n, n + 3) for n in range(1, 34)}
    assert splits == across | down | {of("0", "00"), of(0, 1), of(0, 2), of("00", 2), of("00", 3)}


def test_r_bet_2c_the_courtesy_line_is_the_split_of_the_zeros() -> None:
    assert LAYOUT.find("split", ("00", "0"), None).covers == of("0", "00")


def test_r_bet_3_and_3a_three_numbers_are_a_row_or_a_trio_at_the_zeros() -> None:
    rows = {of(n, n + 1, n + 2) for n in range(1, 37, 3)}
    assert covers(LAYOUT, "three") == rows | {of(0, 1, 2), of("0", 2, "00"), of("00", 2, 3)}


def test_r_bet_4_four_numbers_share_a_corner() -> None:
    assert covers(LAYOUT, "four") == {of(n, n + 1, n + 3, n + 4) for n in range(1, 33) if n % 3}


def test_r_bet_5_the_first_five_are_one_wager() -> None:
    assert covers(LAYOUT, "five") == {of("0", "00", 1, 2, 3)}


def test_r_bet_6_six_numbers_are_two_rows_that_touch() -> None:
    assert covers(LAYOUT, "six") == {of(*range(n, n + 6)) for n in range(1, 32, 3)}


def test_r_bet_7_and_8_columns_and_dozens_divide_the_36_numbers() -> None:
    for wager in ("column", "dozen"):
        parts = [spot.covers for spot in LAYOUT.spots(wager)]
        assert [len(part) for part in parts] == [12, 12, 12]
        assert frozenset().union(*parts) == of(*range(1, 37))
    assert LAYOUT.find("column", (), 2).covers == of(*range(2, 36, 3))
    assert LAYOUT.find("dozen", (), 3).covers == of(*range(25, 37))


def test_r_bet_9_to_14_even_money_wagers_are_eighteen_numbers_and_never_a_zero() -> None:
    for one, other in (("red", "black"), ("odd", "even"), ("low", "high")):
        first, second = LAYOUT.find(one, (), None).covers, LAYOUT.find(other, (), None).covers
        assert len(first) == len(second) == 18
        assert first | second == of(*range(1, 37))
    assert LAYOUT.find("low", (), None).covers == of(*range(1, 19))
    assert LAYOUT.find("even", (), None).covers == of(*range(2, 37, 2))
    assert LAYOUT.find("red", (), None).covers == RED


@pytest.mark.parametrize(
    ("wager", "numbers", "which", "rule", "says"),
    [
        ("straight", ("37",), None, "R-BET-1", "this wheel has no number '37'; it has 0, 00 and 1 to 36"),
        ("straight", ("07",), None, "R-BET-1", "no number '07'"),
        ("straight", (), None, "R-BET-1", "takes one number; found none"),
        ("split", ("1", "5"), None, "R-BET-2", "the nearest are 0-1, 1-2, 4-5, 5-6"),
        ("split", ("3", "4"), None, "R-BET-2", "is not a split"),
        ("split", ("0", "3"), None, "R-BET-2", "is not a split"),
        ("split", ("8", "8"), None, "R-BET-2", "takes 2 different numbers"),
        ("three", ("2", "3", "4"), None, "R-BET-3", "is not a three"),
        ("three", ("0", "00", "1"), None, "R-BET-3", "is not a three"),
        ("three", ("0", "0", "1", "2"), None, "R-BET-3", "takes 3 different numbers"),
        ("four", ("0", "1", "2", "3"), None, "R-BET-4", "the nearest are 1-2-4-5"),
        ("five", ("0", "00", "1", "2", "4"), None, "R-BET-5", "the nearest is 0-00-1-2-3"),
        ("six", ("2", "3", "4", "5", "6", "7"), None, "R-BET-6", "is not a six"),
        ("column", (), None, "R-BET-7", "takes `which` 1, 2 or 3; found none"),
        ("dozen", (), 4, "R-BET-8", "found 4"),
        ("dozen", ("1",), 1, "R-BET-8", "takes no numbers"),
        ("red", ("1",), None, "R-BET-9", "takes no numbers"),
        ("high", (), 1, "R-BET-14", "takes no `which`"),
        ("straight", ("1",), 1, "R-BET-1", "not `which`"),
        ("basket", ("1",), None, "R-BET-1", "no wager 'basket'"),
    ],
)
def test_an_invalid_place_is_refused_with_its_rule_and_the_valid_ones(
    wager: str, numbers: tuple[str, ...], which: int | None, rule: str, says: str
) -> None:
    with pytest.raises(NoSuchSpot) as refused:
        LAYOUT.find(wager, numbers, which)
    assert refused.value.rule == rule
    assert says in refused.value.reason


def test_a_single_zero_wheel_refuses_places_that_name_00() -> None:
    for wager, numbers in (
        ("straight", ("00",)),
        ("split", ("0", "00")),
        ("split", ("00", "3")),
        ("three", ("00", "2", "3")),
        ("five", ("0", "00", "1", "2", "3")),
    ):
        with pytest.raises(NoSuchSpot, match="no number '00'"):
            EUROPEAN.find(wager, numbers, None)
    assert EUROPEAN.find("three", ("2", "1", "0"), None).covers == of(0, 1, 2)
    with pytest.raises(NoSuchSpot, match="five is not offered on a single-zero wheel"):
        EUROPEAN.find("five", ("0", "1", "2", "3", "4"), None)


def test_the_zero_splits_can_be_switched_off() -> None:
    strict = Layout(zero_splits=False)
    assert covers(LAYOUT, "split") - covers(strict, "split") == {of(0, 1), of(0, 2), of("00", 2), of("00", 3)}
    assert strict.find("split", ("0", "00"), None)


@given(
    st.sampled_from([*RULES]),
    st.lists(st.sampled_from([*LAYOUT.pockets, "37", "-1", ""]), max_size=7),
    st.none() | st.integers(-1, 5),
)
def test_a_place_covers_exactly_the_named_numbers_in_any_order(
    wager: str, numbers: list[str], which: int | None
) -> None:
    named = [found(wager, numbers, which), found(wager, numbers[::-1], which)]
    assert named[0] == named[1]
    if isinstance(named[0], str):
        assert named[0] == RULES[wager]
    elif wager in NUMBERS_PER_WAGER:
        assert named[0] == frozenset(numbers)
        assert len(numbers) == NUMBERS_PER_WAGER[wager]
    else:
        assert named[0] in covers(LAYOUT, wager)


def found(wager: str, numbers: list[str], which: int | None) -> frozenset[str] | str:
    """Return the numbers that a bet covers, or the rule that refuses it."""
    try:
        return LAYOUT.find(wager, tuple(numbers), which).covers
    except NoSuchSpot as refused:
        return refused.rule
