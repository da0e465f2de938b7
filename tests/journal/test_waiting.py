"""Waiting outcomes as ranges, equal to a set of their numbers in any order of acknowledgement."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from controller.journal.totals import Ranges, add_to_ranges, numbers, remove_from_ranges


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=60))
def test_ranges_are_equivalent_to_a_set_of_numbers(steps: list[tuple[bool, int]]) -> None:
    ranges: Ranges = ()
    expected: set[int] = set()
    last = 0
    for comes, number in steps:
        if comes:
            last += number
            ranges, expected = add_to_ranges(ranges, last), expected | {last}
        else:
            place = last - number
            ranges, expected = remove_from_ranges(ranges, place), expected - {place}
        assert numbers(ranges) == expected
        assert all(first <= last for first, last in ranges)
        assert all(one[1] < other[0] for one, other in itertools.pairwise(ranges))


def test_a_gap_free_run_is_one_range() -> None:
    ranges: Ranges = ()
    for number in range(1, 1000):
        ranges = add_to_ranges(ranges, number)
    assert ranges == ((1, 999),)
    assert remove_from_ranges(ranges, 1) == ((2, 999),)
    assert remove_from_ranges(ranges, 500) == ((1, 499), (501, 999))
