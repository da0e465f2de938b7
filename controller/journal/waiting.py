"""Which outcomes settlement has not acknowledged, as ranges of their numbers: what checkpoints vouch for."""

from bisect import bisect_right

Ranges = tuple[tuple[int, int], ...]
"""First and last number of each gap-free run, ascending. Acknowledged in order they are one run or none."""


def with_number(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with a number more, which is greater than all there."""
    if ranges and ranges[-1][1] == number - 1:
        return (*ranges[:-1], (ranges[-1][0], number))
    return (*ranges, (number, number))


def without(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges less a number; the same where it is in none."""
    place = bisect_right(ranges, number, key=lambda run: run[0]) - 1
    if place < 0 or ranges[place][1] < number:
        return ranges
    first, last = ranges[place]
    parted = ((first, number - 1), (number + 1, last))
    return (*ranges[:place], *(run for run in parted if run[0] <= run[1]), *ranges[place + 1 :])


def numbers(ranges: Ranges) -> set[int]:
    """Return every number in them."""
    return {number for first, last in ranges for number in range(first, last + 1)}
