"""The policies for questions that the documents leave open, with values other than the defaults."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from controller.games.craps.wagers.book import CrapsBook
from controller.games.craps.wagers.gates import BetRequest, Roll
from controller.games.craps.wagers.paytable import CrapsPayTable
from controller.settings.mistakes import SettingsError
from controller.settings.paytables import load_paytable
from controller.settings.places import config_file
from tests.games.craps.wagers.scene import C34, CV1, paytable, play

TEN_POINTS = "; ".join(["2-2; 2-2"] * 10)
POLICIES = [
    (
        C34,
        "minimum_cents",
        100,
        "a pass 99; h horn 396; b pass 100",
        "a rejected !34-21; h rejected !34-25; b pending",
    ),
    (C34, "maximum_cents", 400, "a pass 401; b pass 400", "a rejected !34-21; b pending"),
    (C34, "unit_cents", 100, "a whirl 550; b whirl 500", "a rejected C34-WHIRL-2; b pending"),
    (C34, "pay_unit_cents", 100, "2-2; b place 9 300; 4-5", "b win 300 600"),
    (CV1, "max_win_cents", 2500, "a yo 100; b craps12 100; 6-6", "a lose; b win 2500 2600"),
    (
        C34,
        "odds_multiple",
        2,
        "b pass 400; 2-2; o pass_odds b 801; o pass_odds b 800",
        "o rejected C34-ODDS-1; b pending; o pending",
    ),
    (C34, "odds_multiple", None, "b pass 400; 2-2; o pass_odds b 9000", "b pending; o pending"),
    (C34, "no_lay_on", (5, 9), "b dont_pass 400; 4-5; o dont_pass_odds b 4", "o rejected !34-3; b pending"),
    (CV1, "minimum_per_unit", (), "a horn 100; b whirl 100", "a pending; b pending"),
    (C34, "come_needs_point", False, "b come 5; 3-4", "b win 5 10"),
    (CV1, "one_come_per_roll", False, "2-2; a come 100; b come 100", "a pending; b pending"),
    (CV1, "one_pass_per_roll", False, "a pass 100; b pass 100", "a pending; b pending"),
    (
        C34,
        "lay_odds_follow_reduction",
        True,
        "b dont_pass 400; 1-4; o dont_pass_odds b 400; p dont_pass_odds b 133; reduce b 200; reduce b 1",
        "b reduced 200; p removed 133; o reduced 134; b reduced 199; o reduced 265; b pending; o pending",
    ),
    (C34, "call_lapses", ("place",), "h place 6 5 on; 2-2; 1-3; 3-3", "h pending"),
    (CV1, "line_locked", "with_point", "b pass 500; remove b", "b removed 500"),
    (C34, "no_action", False, "2-2; b dont_come 5; 4-5; no action b", "b refused C34-MK-4; b pending"),
    (
        C34,
        "dont_lowered_stays_low",
        False,
        "b dont_pass 500; reduce b 300; increase b 500",
        "b reduced 200; b pending",
    ),
    (CV1, "shooter_keeps_dont_pass", False, "shooter p1; b dont_pass 500; remove b", "b removed 500"),
    (CV1, "late_if_confirmed", True, "b pass 500 late confirmed", "b pending"),
    (C34, "field_may_ride", True, "b field 5 ride; 2-2; 6-6; 3-4", "b win 5 0; b win 20 0; b lose"),
    (CV1, "run_out", True, "2-2; c come 100; 4-5; 1-3; run out on; 3-3; 3-4", "c lose"),
    (C34, "may_be_off", (), "b place 6 5; off b", "b refused C34-MK-5b; b pending"),
    (C34, "off_on_come_out", (), "b place 6 5; h hard 6 5; 3-4", "b lose; h lose"),
    (
        C34,
        "stays_up",
        ("place", "hard"),
        "2-3; b place 6 4; h hard 6 4; 3-3; 3-3; remove b; remove h",
        "b win 4 4; h win 36 36; b win 4 4; h win 36 36; b removed 4; h removed 4",
    ),
    (CV1, "stays_up", (), "2-2; b place 6 600; 3-3; 3-3", "b win 700 1300"),
    (CV1, "sharp_shooter_ends", "crapping_out", "s sharp_shooter 100; 2-2; 2-2; 1-1", "s lose"),
    (CV1, "sharp_shooter_top", "at_once", f"s sharp_shooter 100; {TEN_POINTS}; 2-2", "s win 30000 30100"),
    (
        CV1,
        "sharp_shooter_pays",
        "for_one",
        f"s sharp_shooter 100; {TEN_POINTS}; 2-2; 3-4",
        "s win 29900 30000",
    ),
]


@pytest.mark.parametrize(("name", "policy", "value", "steps", "expected"), POLICIES)
def test_policy(name: str, policy: str, value: Any, steps: str, expected: str) -> None:
    table = paytable(name)
    changed = replace(getattr(table.settings, policy), value=value)
    otherwise = replace(table, settings=replace(table.settings, **{policy: changed}))
    assert "; ".join(play(otherwise, steps)) == expected
    assert "; ".join(play(table, steps)) != expected


@pytest.mark.parametrize("name", [C34, CV1])
def test_every_policy_names_its_rule_and_its_reason(name: str) -> None:
    for policy in paytable(name).settings.__dataclass_fields__:
        setting = getattr(paytable(name).settings, policy)
        assert setting.rule
        assert len(setting.reason) > 20


def test_a_combined_bet_that_could_lose_in_part_is_refused() -> None:
    table = paytable(C34)
    seven = replace(table.one_roll["any7"], pays={7: replace(table.one_roll["any7"].pays[7], pays=(3, 1))})
    with pytest.raises(ValueError, match="loses its whole stake or nothing, not 1/5 of the stake on 7"):
        replace(table, one_roll={**table.one_roll, "any7": seven})


def test_a_combined_bet_of_wagers_that_are_not_priced_is_refused() -> None:
    table = paytable(C34)
    with pytest.raises(ValueError, match="any_craps, yo under one_roll too, as a part of c_and_e"):
        replace(table, one_roll={"field": table.one_roll["field"]})


def test_a_pay_table_without_one_of_the_four_line_bets_is_refused() -> None:
    table = paytable(CV1)
    with pytest.raises(ValueError, match="dont_pass, come, dont_come under line too"):
        replace(table, line={"pass": table.line["pass"]})


def test_odds_without_a_number_that_may_be_the_point_are_refused() -> None:
    table = paytable(C34)
    odds = table.odds["pass_odds"]
    some = replace(odds, pays={number: pays for number, pays in odds.pays.items() if number not in (4, 10)})
    with pytest.raises(ValueError, match=r"odds\.pass_odds\.pays: found no odds on 4, 10, expected"):
        replace(table, odds={**table.odds, "pass_odds": some})


def test_a_file_with_odds_that_omit_a_number_is_refused_at_the_key_with_a_next_step(tmp_path: Path) -> None:
    shipped = config_file("paytables", "craps-12-034").read_text(encoding="utf-8")
    row = "      4: {pays: [2, 1], rule: C34-ODDS-1}\n"
    assert shipped.count(row) >= 1
    file = tmp_path / "own.yaml"
    file.write_text(shipped.replace(row, "", 1), encoding="utf-8")
    line = 1 + shipped[: shipped.index(row)].count("\n")
    message = (
        f"{file}:{line - 1}:5: odds.pass_odds.pays: found no odds on 4, expected odds on every number"
        " that may be the point; add what is missing"
    )
    with pytest.raises(SettingsError) as refused:
        load_paytable(str(file), CrapsPayTable)
    assert str(refused.value) == message


def test_a_number_that_a_wager_cannot_be_on_is_refused() -> None:
    table = paytable(CV1)
    with pytest.raises(ValueError, match="hard on 4, 6, 8, 10, not on 5"):
        replace(table, hard=replace(table.hard, pays={**table.hard.pays, 5: table.hard.pays[4]}))


def test_a_maximum_below_the_minimum_is_refused() -> None:
    table = paytable(CV1)
    most = replace(table.settings.maximum_cents, value=50)
    with pytest.raises(ValueError, match=r"a maximum_cents of at least the minimum_cents \(100\)"):
        replace(table, settings=replace(table.settings, maximum_cents=most))


def test_these_tests_change_every_policy() -> None:
    turned = {policy for _, policy, *_ in POLICIES}
    assert turned == set(paytable(CV1).settings.__dataclass_fields__)


def test_the_amount_kept_by_rounding_is_reported_to_the_fraction_of_a_cent() -> None:
    game = CrapsBook(paytable(CV1))
    for request in (
        Roll(dice=(2, 2)),
        BetRequest(id="a", player="p1", wager="place", number=6, amount=500),
        BetRequest(id="b", player="p1", wager="place_lose", number=4, amount=500),
        Roll(dice=(3, 3)),
        Roll(dice=(3, 4)),
    ):
        game.apply(request)
    assert game.breakage_cents == Fraction(2, 6) + Fraction(3, 11)
