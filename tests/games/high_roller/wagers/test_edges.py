"""The house's income at a High Roller table, and the chances of its throws."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from controller.games.high_roller.wagers.paytable import (
    TOTALS,
    Share,
    no_match_chance,
    report,
    stays_in,
    wins_roll_off,
)
from tests.games.high_roller.wagers.scene import paytable


def test_h_money_1_house_and_charity_keep_exactly_the_rake() -> None:
    (row,) = report(paytable()).edges
    assert (row.edge, row.printed, row.agrees) == (Fraction(1, 10), "10", True)


@pytest.mark.parametrize(
    ("rolls", "chance"),
    [((1, 1), Fraction(1, 2)), ((2, 1), Fraction(10331, 15552)), ((3, 1), Fraction(7739, 10368))],
)
def test_more_matching_cards_win_more(rolls: tuple[int, int], chance: Fraction) -> None:
    assert wins_roll_off(rolls) == (chance, 1 - chance)


def test_roll_off_chances_agree_with_an_enumeration_of_all_throws() -> None:
    rolls = (2, 1, 1)
    won: Counter[int] = Counter()
    for thrown in product(TOTALS, repeat=4):
        ways = TOTALS[thrown[0]] * TOTALS[thrown[1]] * TOTALS[thrown[2]] * TOTALS[thrown[3]]
        best = (max(thrown[:2]), thrown[2], thrown[3])
        tied = [player for player, total in enumerate(best) if total == max(best)]
        for player in tied:
            won[player] += ways * 6 // len(tied)
    assert wins_roll_off(rolls) == tuple(Fraction(won[player], 6 * 36**4) for player in range(3))


def test_h_1_the_chance_that_nobody_matches_is_exact() -> None:
    shown = [round(float(no_match_chance(cards, 4)) * 100, 1) for cards in (2, 10, 30)]
    assert shown == [82.6, 37.5, 4.3]


def test_cards_of_equal_price_have_different_values() -> None:
    assert (stays_in(7), stays_in(2), stays_in(12)) == (Fraction(6, 36), Fraction(1, 36), Fraction(1, 36))
    chances = {row.event: row.chance for row in report(paytable()).chances}
    assert chances["a card of rank 7 stays in"] == Fraction(1, 6)
    assert chances["2 matching cards beat 1"] == Fraction(10331, 15552)


def test_h_7_games_too_small_for_the_share_are_named() -> None:
    (found,) = report(paytable()).findings
    assert (found.code, found.rule) == ("small_games", "!H-7")
    assert "needs at least 4 cards" in found.text
    assert found.text.endswith("with 2 cards, the prize is 0 cents")
    nothing = replace(paytable().settings, bonus_take_cents=Share(value=0, rule="!H-6", reason=""))
    assert report(replace(paytable(), settings=nothing)).findings == ()
