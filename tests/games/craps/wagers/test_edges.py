"""Exact house edges, compared with the documents' printed values."""

from dataclasses import replace
from fractions import Fraction

import pytest

from controller.games.craps.wagers.edges import report, sharp_shooter_chances
from controller.settings.paytables import check
from controller.settlement.paytable import Ratio, decimal, find_uneven_pay
from tests.games.craps.wagers.scene import C34, CV1, paytable

EDGES = {
    CV1: {
        "pass": "7/495",
        "come": "7/495",
        "dont_pass": "3/220",
        "dont_come": "3/220",
        "pass_odds 4": "0",
        "pass_odds 5": "0",
        "pass_odds 6": "0",
        "dont_pass_odds 10": "0",
        "dont_come_odds 9": "0",
        "dont_come_odds 8": "0",
        "place 4": "1/15",
        "place 5": "1/25",
        "place 6": "1/66",
        "place_lose 4": "1/33",
        "place_lose 5": "1/40",
        "place_lose 6": "1/55",
        "hard 4": "1/9",
        "hard 6": "1/11",
        "big6": "1/11",
        "field": "1/18",
        "any7": "1/6",
        "any_craps": "1/9",
        "craps2": "5/36",
        "craps12": "5/36",
        "craps3": "1/9",
        "yo": "1/9",
        "hi_lo": "1/9",
        "c_and_e": "1/9",
        "horn": "1/8",
        "whirl": "2/15",
        "hop easy": "1/9",
        "hop pair": "5/36",
        "sharp_shooter": "140392646193626087444/598273041118925390625",
    },
    C34: {
        "pass": "7/495",
        "dont_come": "3/220",
        "pass_odds 10": "0",
        "come_odds 9": "0",
        "pass_odds 8": "1/11",
        "dont_pass_odds 4": "0",
        "dont_pass_odds 5": "-1/20",
        "dont_come_odds 9": "-1/20",
        "dont_pass_odds 6": "1/22",
        "place 10": "1/12",
        "place 9": "1/10",
        "place 8": "1/11",
        "hard 10": "1/9",
        "hard 8": "1/11",
        "field": "1/18",
        "horn": "1/8",
        "horn_high 2": "23/180",
        "horn_high 12": "23/180",
        "horn_high 3": "11/90",
        "horn_high 11": "11/90",
        "whirl": "2/15",
    },
}


@pytest.mark.parametrize(
    ("name", "wager", "exact"),
    [(name, wager, edge) for name, rows in EDGES.items() for wager, edge in rows.items()],
)
def test_house_edge(name: str, wager: str, exact: str) -> None:
    edges = {row.wager: row.edge for row in check(name).edges}
    assert edges[wager] == Fraction(exact)


def test_without_pushes_the_edge_is_that_of_decided_bets() -> None:
    decided = {row.wager: row.decided for row in check(CV1).edges if row.decided}
    assert decided == {
        "dont_pass": Fraction(27, 1925),
        "dont_come": Fraction(27, 1925),
        "whirl": Fraction(4, 25),
    }


def test_cv1_tab_3_all_21_house_edges_that_the_document_prints_are_right() -> None:
    printed = {row.wager: row.printed for row in check(CV1).edges if row.printed is not None}
    rows = {
        "pass",
        "dont_pass",
        "pass_odds 6",
        "dont_pass_odds 6",
        "yo",
        "craps3",
        "craps2",
        "craps12",
        "hi_lo",
        "any_craps",
        "c_and_e",
        "any7",
        "field",
        "horn",
        "whirl",
        "hard 4",
        "hard 6",
        "big6",
        "place 4",
        "place 5",
        "place 6",
    }
    assert rows <= printed.keys()
    assert len(rows) == 21
    assert check(CV1).agrees


def test_a_wrong_printed_edge_is_found() -> None:
    table = paytable(CV1)
    wrong = report(replace(table, printed_edges={**table.printed_edges, "horn": "12.6"}))
    assert [row.wager for row in wrong.edges if row.agrees is False] == ["horn"]
    assert not wrong.agrees


def test_sharp_shooter_chances_are_those_of_points_before_a_seven_out() -> None:
    chances = sharp_shooter_chances(paytable(CV1))
    assert sum(chances.values()) == 1
    assert chances[10] == Fraction(67, 165) ** 10
    assert [(row.event, row.agrees) for row in check(CV1).chances] == [
        ("2 or less points", True),
        *((f"{points} points", True) for points in range(3, 10)),
        ("10 or more points", True),
    ]


def test_sharp_shooter_read_literally_does_not_give_the_printed_chances() -> None:
    table = paytable(CV1)
    ends = replace(table.settings.sharp_shooter_ends, value="crapping_out")
    literal = report(replace(table, settings=replace(table.settings, sharp_shooter_ends=ends)))
    assert decimal(literal.chances[0].chance, 6) == "0.957837"
    assert literal.chances[0].agrees is False


def test_sharp_shooter_for_one_would_cost_more() -> None:
    table = paytable(CV1)
    pays = replace(table.settings.sharp_shooter_pays, value="for_one")
    for_one = report(replace(table, settings=replace(table.settings, sharp_shooter_pays=pays)))
    assert for_one.edges[-1].per_cent == "30.1617"


def test_odds_that_favour_the_player_are_a_warning() -> None:
    found = {(row.wager, row.text) for row in check(C34).findings if row.code == "favours_player"}
    assert {wager for wager, _ in found} == {
        "dont_pass_odds 5",
        "dont_pass_odds 9",
        "dont_come_odds 5",
        "dont_come_odds 9",
        "dont_pass",
        "dont_come",
    }
    full_lay = (
        "with full odds laid on 5 and 9 only, the player has an advantage of 7/5940 of the flat bet"
        " (0.118 per cent)"
    )
    assert ("dont_pass", full_lay) in found


def test_odds_that_are_not_true_odds_are_a_warning() -> None:
    found = [row.wager for row in check(C34).findings if row.code == "not_true_odds"]
    assert found[:6] == ["pass_odds 6", "pass_odds 8", *(f"dont_pass_odds {n}" for n in (5, 6, 8, 9))]
    assert not [row for row in check(CV1).findings if row.code == "not_true_odds"]


def test_chips_that_are_not_paid_exactly_are_a_warning() -> None:
    found = {row.wager: row.text for row in check(CV1).findings if row.code == "uneven_pay"}
    expected = (
        "7:6 on 100 cents pays 116 cents, and the house keeps 2/3 of a cent; "
        "stakes in multiples of 300 cents are paid exactly"
    )
    assert found["place 6"] == expected
    assert "place 4" not in found


@pytest.mark.parametrize(
    ("chip_cents", "pay_unit_cents", "kept"),
    [
        (1, 1, "1/6 of a cent"),
        (3, 1, "1/2 of a cent"),
        (100, 4, "2/3 of a cent"),
        (102, 2, "1 cent"),
        (102, 5, "4 cents"),
        (100, 5, "1 2/3 cents"),
    ],
)
def test_what_the_house_keeps_by_rounding_is_stated_in_words_that_fit_the_amount(
    chip_cents: int, pay_unit_cents: int, kept: str
) -> None:
    found = find_uneven_pay("place 6", Ratio(7, 6), "C-1", chip_cents, pay_unit_cents)
    assert found is not None
    assert f"the house keeps {kept}; stakes in" in found.text


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        ("1/18", 4, "0.0556"),
        ("-1/20", 1, "-0.1"),
        ("1/2", 0, "1"),
        ("-1/10000", 2, "0.00"),
        ("99/100", 1, "1.0"),
    ],
)
def test_decimals_are_rounded_halves_away_from_zero(value: str, places: int, text: str) -> None:
    assert decimal(Fraction(value), places) == text
