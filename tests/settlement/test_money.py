"""Rounding: each bet's winnings are rounded down once, and the breakage is kept exactly."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.settlement.paytable import BreakageLedger, Ratio, payout

DOLLARS = range(1, 11)
CENTS_PAID = {
    (7, 6): [116, 233, 350, 466, 583, 700, 816, 933, 1050, 1166],
    (6, 5): [120, 240, 360, 480, 600, 720, 840, 960, 1080, 1200],
    (2, 3): [66, 133, 200, 266, 333, 400, 466, 533, 600, 666],
    (5, 6): [83, 166, 250, 333, 416, 500, 583, 666, 750, 833],
    (5, 8): [62, 125, 187, 250, 312, 375, 437, 500, 562, 625],
    (5, 11): [45, 90, 136, 181, 227, 272, 318, 363, 409, 454],
    (27, 4): [675, 1350, 2025, 2700, 3375, 4050, 4725, 5400, 6075, 6750],
    (11, 5): [220, 440, 660, 880, 1100, 1320, 1540, 1760, 1980, 2200],
}
DOLLARS_PAID = {
    (7, 6): [1, 2, 3, 4, 5, 7, 8, 9, 10, 11],
    (1, 2): [0, 1, 1, 2, 2, 3, 3, 4, 4, 5],
    (5, 11): [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    (26, 5): [5, 10, 15, 20, 26, 31, 36, 41, 46, 52],
}


@pytest.mark.parametrize(("ratio", "paid"), CENTS_PAID.items())
def test_pays_whole_cents_rounded_down(ratio: tuple[int, int], paid: list[int]) -> None:
    assert [payout(100 * stake, Ratio(*ratio)).paid_cents for stake in DOLLARS] == paid


@pytest.mark.parametrize(("ratio", "paid"), DOLLARS_PAID.items())
def test_a_table_without_coins_pays_whole_chips(ratio: tuple[int, int], paid: list[int]) -> None:
    chips = [payout(100 * stake, Ratio(*ratio), pay_unit_cents=100).paid_cents for stake in DOLLARS]
    assert chips == [100 * chip for chip in paid]


@settings(derandomize=True, max_examples=100)
@given(
    bets=st.lists(
        st.tuples(
            st.integers(1, 10**12), st.integers(1, 300), st.integers(1, 40), st.sampled_from([1, 25, 100])
        ),
        max_size=8,
    )
)
def test_the_amounts_paid_and_kept_add_up_to_the_exact_winnings(
    bets: list[tuple[int, int, int, int]],
) -> None:
    ledger, paid, exact = BreakageLedger(), 0, Fraction()
    for stake, pays, to, unit in bets:
        part = payout(stake, Ratio(pays, to), unit)
        assert part.paid_cents % unit == 0
        assert 0 <= part.breakage_cents < unit
        ledger.keep(part)
        paid, exact = paid + part.paid_cents, exact + Fraction(stake * pays, to)
    assert paid + ledger.total_cents == exact
