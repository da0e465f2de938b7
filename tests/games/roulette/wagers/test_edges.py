"""Exact house edges of roulette for both pay tables, and the resulting warnings."""

from dataclasses import replace
from fractions import Fraction

import pytest

from controller.games.roulette.wagers.paytable import WheelKind, report, standard_payout
from controller.settlement.paytable import Pays
from tests.games.roulette.wagers.scene import PRINTED, USUAL, paytable

NINETEENTH = Fraction(1, 19)
EDGES = [
    ("straight", NINETEENTH, NINETEENTH),
    ("split", NINETEENTH, NINETEENTH),
    ("three", Fraction(11, 38), NINETEENTH),
    ("four", Fraction(5, 19), NINETEENTH),
    ("five", Fraction(4, 19), Fraction(3, 38)),
    ("six", Fraction(10, 19), NINETEENTH),
    ("column", NINETEENTH, NINETEENTH),
    ("dozen", Fraction(7, 19), NINETEENTH),
    *((wager, NINETEENTH, NINETEENTH) for wager in ("red", "black", "odd", "even", "low", "high")),
]


@pytest.mark.parametrize(("wager", "printed", "usual"), EDGES, ids=[row[0] for row in EDGES])
def test_every_edge_is_exact(wager: str, printed: Fraction, usual: Fraction) -> None:
    for name, expected in ((PRINTED, printed), (USUAL, usual)):
        (row,) = (row for row in report(paytable(name)).edges if row.wager == wager)
        assert row.edge == expected


def test_r_1_the_printed_table_lacks_11_to_1_and_is_reported() -> None:
    findings = {found.code: found for found in report(paytable(PRINTED)).findings}
    lost = findings["looks_misprinted"]
    assert lost.rule == "!R-1"
    assert lost.wager == "three, four, five, six, dozen"
    assert "the row 11 to 1 missing" in lost.text
    assert "52.63 per cent of six" in lost.text
    assert "roulette-conventional" in lost.text


def test_r_1_the_wagers_with_an_edge_of_a_quarter_are_named() -> None:
    steep = {found.wager: found.rule for found in report(paytable(PRINTED)).findings if found.code == "steep"}
    assert steep == {"three": "R-PAY-3", "four": "R-PAY-4", "six": "R-PAY-6", "dozen": "R-PAY-8"}


def test_r_2_the_wager_without_a_printed_row_is_named_under_both_tables() -> None:
    for name in (PRINTED, USUAL):
        (found,) = (found for found in report(paytable(name)).findings if found.code == "no_printed_odds")
        assert (found.wager, found.rule) == ("high", "!R-2")


def test_the_usual_table_causes_no_other_warning() -> None:
    assert [found.code for found in report(paytable(USUAL)).findings] == ["no_printed_odds"]


def test_a_pay_table_that_favours_the_player_is_found() -> None:
    table = paytable(USUAL)
    generous = replace(table, pays={**table.pays, "red": Pays(pays=(6, 5), rule="R-PAY-9")})
    codes = {found.code: found.wager for found in report(generous).findings}
    assert codes["favours_player"] == "red"
    assert "looks_misprinted" not in codes


def test_odds_at_which_one_chip_is_not_paid_exactly_are_found() -> None:
    table = paytable(USUAL)
    uneven = replace(table, pays={**table.pays, "column": Pays(pays=(7, 6), rule="R-PAY-7")})
    codes = {found.code: found.wager for found in report(uneven).findings}
    assert codes["uneven_pay"] == "column"


def test_r_5_a_single_zero_wheel_keeps_a_37th_and_has_no_first_five() -> None:
    table = paytable(USUAL)
    wheel = WheelKind(value="single_zero", rule="!R-5", reason="")
    rows = report(replace(table, settings=replace(table.settings, wheel=wheel))).edges
    assert "five" not in {row.wager for row in rows}
    assert {row.edge for row in rows} == {Fraction(1, 37)}


def test_usual_odds_are_what_36_numbers_would_pay_fairly_in_whole_units() -> None:
    assert [standard_payout(covers) for covers in (1, 2, 3, 4, 5, 6, 12, 18)] == [35, 17, 11, 8, 6, 5, 2, 1]
