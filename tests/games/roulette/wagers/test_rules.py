"""Roulette, rule by rule: a scene and all its results."""

from dataclasses import replace

import pytest

from controller.games.roulette.wagers.book import RouletteBook
from controller.games.roulette.wagers.paytable import RoulettePayTable, WheelKind
from controller.settlement.book import MalformedLine
from controller.settlement.paytable import Switch
from controller.settlement.run import settle
from tests.games.roulette.wagers.scene import PRINTED, USUAL, paytable, play, result_lines

SCENES = [
    ("R-PLACE-2", "a red 1000 by p1; b red 1000 by p2", "a pending; b pending"),
    ("R-PLACE-4", "a straight 17 100; b straight 18 100; close; remove a; spin 18",
     "a refused R-IRR-4; a lose; b win 3500 3600"),
    ("R-LIM-1", "a red 99; b red 100; c black 1000; d odd 1001",
     "a rejected R-LIM-1; d rejected R-LIM-1; b pending; c pending"),
    ("R-LIM-1", "a red 600; b red 400; c red 100", "c rejected R-LIM-1; a pending; b pending"),
    ("R-LIM-1", "a split 0/00 600; b split 00/0 500", "b rejected R-LIM-1; a pending"),
    ("R-LIM-1", "a red 1000; remove a; b red 1000", "a removed 1000; b pending"),
    ("R-LIM-1", "a red 1000; spin 1; b red 1000", "a win 1000 2000; b pending"),
    ("R-BET-1", "a straight 17 100; b straight 00 100; c straight 0 100; spin 00",
     "a lose; c lose; b win 3500 3600"),
    ("R-BET-1", "a straight 37 100", "a rejected R-BET-1"),
    ("R-BET-2", "a split 17/20 100; b split 20/17 100; c split 18/17 100; spin 20",
     "c lose; a win 1700 1800; b win 1700 1800"),
    ("R-BET-2", "a split 17/19 100", "a rejected R-BET-2"),
    ("R-BET-2c", "a split 0/00 100; spin 00; b split 00/0 100; spin 0", "a win 1700 1800; b win 1700 1800"),
    ("R-BET-3", "a three 4/5/6 100; spin 5", "a win 800 900"),
    ("R-BET-3", "a three 5/6/7 100", "a rejected R-BET-3"),
    ("R-BET-3a", "a three 2/1/0 100; b three 00/0/2 100; c three 3/2/00 100; spin 00",
     "a lose; b win 800 900; c win 800 900"),
    ("R-BET-4", "a four 1/2/4/5 100; spin 4; b four 1/2/3/4 100", "a win 600 700; b rejected R-BET-4"),
    ("R-BET-5", "a five 3/2/1/00/0 100; spin 00", "a win 500 600"),
    ("R-BET-6", "a six 4/5/6/1/2/3 100; spin 6; b six 2/3/4/5/6/7 100", "a win 200 300; b rejected R-BET-6"),
    ("R-BET-7", "a column 3 100; b column 1 100; spin 36; c column 4 100",
     "b lose; a win 200 300; c rejected R-BET-7"),
    ("R-BET-8", "a dozen 1 100; b dozen 2 100; spin 13; c dozen 0 100",
     "a lose; b win 100 200; c rejected R-BET-8"),
    ("R-BET-9", "a red 100; spin 19; b red 100; spin 20", "a win 100 200; b lose"),
    ("R-BET-10", "a black 100; spin 20; b black 100; spin 19", "a win 100 200; b lose"),
    ("R-BET-11", "a odd 100; spin 35; b odd 100; spin 36", "a win 100 200; b lose"),
    ("R-BET-12", "a even 100; spin 36; b even 100; spin 35", "a win 100 200; b lose"),
    ("R-BET-13", "a low 100; spin 18; b low 100; spin 19", "a win 100 200; b lose"),
    ("R-BET-14", "a high 100; spin 19; b high 100; spin 18", "a win 100 200; b lose"),
    ("!R-2", "a high 1000; spin 36", "a win 1000 2000"),
    ("!R-6", "a even 100; b low 100; c black 100; d column 1 100; spin 0", "a lose; b lose; c lose; d lose"),
    ("!R-6", "a even 100; b red 100; c dozen 3 100; d high 100; spin 00", "a lose; b lose; c lose; d lose"),
    ("R-SPIN-3", "close; a red 100", "a rejected R-IRR-4"),
    ("R-SPIN-5", "a red 100; b black 100; c straight 1 100; d odd 100; spin 2",
     "a lose; c lose; d lose; b win 100 200"),
    ("R-IRR-1", "a red 100; close; no spin; spin 1", "a win 100 200"),
    ("R-IRR-2", "a red 100; no spin; b black 100; remove a; spin 2", "a removed 100; b win 100 200"),
    ("R-IRR-4", "a red 100; close; b red 100; spin 3", "b rejected R-IRR-4; a win 100 200"),
    ("R-IRR-4", "close; spin 3; a red 100", "a pending"),
    ("R-IRR-4", "a red 300; close; increase a 400; reduce a 200; remove a; spin 3",
     "a refused R-IRR-4; a refused R-IRR-4; a refused R-IRR-4; a win 300 600"),
    ("!R-7", "a red 100; close; no spin; remove a", "a removed 100"),
    ("BOOK-AMOUNT", "a red 500; reduce a 300; increase a 700; reduce a 700; increase a 700; spin 1",
     "a reduced 200; a refused BOOK-AMOUNT; a refused BOOK-AMOUNT; a win 700 1400"),
    ("BOOK-AMOUNT",
     "a red 500; reduce a 99; increase a 1001; b red 500; increase b 600; reduce a 400; increase b 600",
     "a refused R-LIM-1; a refused R-LIM-1; b refused R-LIM-1; a reduced 100; a pending; b pending"),
    ("BOOK-ID", "a red 100; a black 100; remove b; spin 1; remove a; a red 100",
     "a rejected BOOK-ID; b refused BOOK-ID; a win 100 200; a refused BOOK-ID; a rejected BOOK-ID"),
    ("BOOK-ID", "a red 99; a red 100", "a rejected R-LIM-1; a pending"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "steps", "expected"), SCENES, ids=[f"{scene[0]}-{scene[1]}" for scene in SCENES]
)
def test_rule(rule: str, steps: str, expected: str) -> None:
    assert "; ".join(play(steps)) == expected


PAYS = [
    ("R-PAY-1", "straight", 35, 35),
    ("R-PAY-2", "split", 17, 17),
    ("R-PAY-3", "three", 8, 11),
    ("R-PAY-4", "four", 6, 8),
    ("R-PAY-5", "five", 5, 6),
    ("R-PAY-6", "six", 2, 5),
    ("R-PAY-7", "column", 2, 2),
    ("R-PAY-8", "dozen", 1, 2),
    ("R-PAY-9", "red", 1, 1),
    ("R-PAY-10", "black", 1, 1),
    ("R-PAY-11", "odd", 1, 1),
    ("R-PAY-12", "even", 1, 1),
    ("R-PAY-13", "low", 1, 1),
    ("!R-2", "high", 1, 1),
]
WINNING = {
    "straight": "a straight 2 700; spin 2",
    "split": "a split 2/1 700; spin 2",
    "three": "a three 1/2/3 700; spin 2",
    "four": "a four 1/2/4/5 700; spin 2",
    "five": "a five 0/00/1/2/3 700; spin 2",
    "six": "a six 1/2/3/4/5/6 700; spin 2",
    "column": "a column 2 700; spin 2",
    "dozen": "a dozen 1 700; spin 2",
    "red": "a red 700; spin 1",
    "odd": "a odd 700; spin 1",
    "high": "a high 700; spin 36",
}


@pytest.mark.parametrize(("rule", "wager", "printed", "usual"), PAYS, ids=[row[0] for row in PAYS])
def test_both_pay_tables_pay_their_own_odds(rule: str, wager: str, printed: int, usual: int) -> None:
    scene = WINNING.get(wager, f"a {wager} 700; spin 2")
    assert play(scene) == [f"a win {700 * printed} {700 * printed + 700}"]
    assert play(scene, USUAL) == [f"a win {700 * usual} {700 * usual + 700}"]
    rules: dict[str, str] = {name: pays.rule for name, pays in paytable(PRINTED).pays.items()}
    assert rules[wager] == rule


def test_the_pay_table_in_force_and_the_rules_are_reported_with_every_win() -> None:
    (line,) = result_lines("a six 1/2/3/4/5/6 100; spin 3")
    assert line["reason"] == "R-BET-6: 3 red; R-PAY-6: roulette pays 2:1"
    (line,) = result_lines("a six 1/2/3/4/5/6 100; spin 3", USUAL)
    assert line["reason"] == "R-BET-6: 3 red; !R-1: roulette-conventional pays 5:1"


def test_a_refusal_lists_what_would_be_accepted() -> None:
    (bad, late, pending) = result_lines("a red 100; b split 17/19 100; close; c red 100")
    assert bad["reason"] == (
        "R-BET-2: '17', '19' is not a split on this layout; the nearest are 16-17, 17-18, 19-20, 14-17"
    )
    assert late["reason"] == "R-IRR-4: No More Bets was called; bet again once this spin is decided"
    assert pending["id"] == "a"


def single_zero() -> RoulettePayTable:
    table = paytable(PRINTED)
    wheel = WheelKind(value="single_zero", rule="!R-5", reason="")
    return replace(table, settings=replace(table.settings, wheel=wheel))


def test_r_5_a_single_zero_wheel_refuses_wagers_that_name_00() -> None:
    results = play(
        "a straight 00 100; b split 0/00 100; c split 00/3 100; d three 00/2/3 100; e five 0/00/1/2/3 100;"
        "f split 0/2 100; g three 0/1/2 100; spin 0",
        single_zero(),
    )
    assert results == [
        "a rejected R-BET-1", "b rejected R-BET-2", "c rejected R-BET-2", "d rejected R-BET-3",
        "e rejected R-BET-5", "f win 1700 1800", "g win 800 900",
    ]  # fmt: skip
    with pytest.raises(MalformedLine, match="00"):
        play("spin 00", single_zero())


def test_r_13_the_zero_splits_can_be_taken_off_the_layout() -> None:
    table = paytable(PRINTED)
    off = Switch(value=False, rule="!R-13", reason="")
    strict = replace(table, settings=replace(table.settings, zero_splits=off))
    assert play("a split 0/1 100; b split 0/00 100", strict) == ["a rejected R-BET-2", "b pending"]
    assert play("a split 0/1 100") == ["a pending"]


@pytest.mark.parametrize("number", ["37", "-1", "01", "000", "", "17 ", "x"])
def test_a_spin_with_an_unknown_pocket_is_refused(number: str) -> None:
    with pytest.raises(MalformedLine) as wrong:
        b"".join(run_raw(f'{{"do":"spin","number":"{number}"}}'))
    assert wrong.value.line == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"do":"dance"}',
        '{"do":"bet","id":"a","player":"p","wager":"red","amount":1.5}',
        '{"do":"bet","id":"a","player":"p","wager":"red","amount":true}',
        '{"do":"bet","id":"a","player":"p","wager":"red"}',
        '{"do":"bet","id":"a","player":"p","wager":"straight","amount":100,"numbers":[17]}',
        '{"do":"spin"}',
        "spin 17",
    ],
)
def test_a_line_that_is_not_a_request_ends_the_run_and_is_named(line: str) -> None:
    with pytest.raises(MalformedLine, match="line 1: found"):
        b"".join(run_raw(line))


def run_raw(line: str) -> list[bytes]:
    return list(settle([line.encode()], RouletteBook(paytable(PRINTED))))
