"""Craps 12 034, rule by rule: a scene and all its results."""

import json

import pytest

from controller.games.craps.wagers.book import CrapsBook
from controller.settlement.run import Decoder
from tests.games.craps.wagers.scene import C34, CV1, paytable, play, request

WAGERS = [
    ("C34-PASS-1", "b pass 500", "b pending"),
    ("C34-PASS-1", "2-2; b pass 500", "b rejected C34-PASS-1"),
    ("C34-PASS-2", "a pass 500; 3-4; b pass 500; 5-6", "a win 500 1000; b win 500 1000"),
    ("C34-PASS-3", "b pass 500; 4-4; 1-1; 5-6; 6-6; 3-5", "b win 500 1000"),
    ("C34-PASS-4", "a pass 1; 1-1; b pass 2; 1-2; c pass 3; 6-6", "a lose; b lose; c lose"),
    ("C34-PASS-5", "b pass 500; 4-6; 5-2", "b lose"),
    ("C34-DP-1", "2-2; b dont_pass 500", "b rejected C34-DP-1"),
    ("C34-DP-2", "a dont_pass 500; 1-1; b dont_pass 500; 2-1", "a win 500 1000; b win 500 1000"),
    ("C34-DP-3", "b dont_pass 500; 4-5; 6-1", "b win 500 1000"),
    ("C34-DP-4", "a dont_pass 500; 3-4; b dont_pass 500; 5-6", "a lose; b lose"),
    ("C34-DP-5", "b dont_pass 500; 4-5; 6-3", "b lose"),
    ("C34-DP-6", "b dont_pass 500; 6-6", "b push 500"),
    ("C34-COME-1", "b come 500", "b rejected C34-COME-1"),
    ("C34-COME-1", "1-1; b come 500", "b rejected C34-COME-1"),
    ("C34-COME-2", "2-2; a come 500; 5-6; b come 500; 3-4", "a win 500 1000; b win 500 1000"),
    ("C34-COME-3", "2-2; b come 500; 4-5; 1-1; 6-3", "b win 500 1000"),
    ("C34-COME-4", "2-2; a come 5; 1-1; b come 5; 1-2; c come 5; 6-6", "a lose; b lose; c lose"),
    ("C34-COME-5", "2-2; b come 500; 4-5; 3-4", "b lose"),
    ("C34-DC-1", "b dont_come 500", "b rejected C34-DC-1"),
    ("C34-DC-2", "2-2; a dont_come 5; 1-1; b dont_come 5; 1-2", "a win 5 10; b win 5 10"),
    ("C34-DC-3", "2-2; b dont_come 500; 4-5; 6-1", "b win 500 1000"),
    ("C34-DC-4", "2-2; a dont_come 5; 5-6; b dont_come 5; 3-4", "a lose; b lose"),
    ("C34-DC-5", "2-2; b dont_come 500; 4-5; 3-6", "b lose"),
    ("C34-DC-6", "2-2; b dont_come 500; 6-6", "b push 500"),
    ("C34-PLACE-1", "2-2; b place 6 500; 5-4; 5-1", "b win 500 1000"),
    ("C34-PLACE-1", "2-2; b place 6 500; 3-4", "b lose"),
    ("C34-PLACE-1", "b place 7 500", "b rejected C34-PLACE-1"),
    ("C34-PLACE-2", "b place 6 500; 3-3; 3-4", "b lose"),
    ("C34-PLACE-2", "b place 6 500; 3-4", "b pending"),
    ("C34-PLACE-2", "b place 6 500; on b; 3-4", "b lose"),
    ("C34-PLACE-2", "b place 6 500 on; 5-1", "b win 500 1000"),
    ("C34-HARD-4", "3-2; b hard 4 100; 2-2", "b win 700 800"),
    ("C34-HARD-4", "3-2; b hard 4 100; 3-1", "b lose"),
    ("C34-HARD-6", "3-2; b hard 6 100; 3-3", "b win 900 1000"),
    ("C34-HARD-6", "3-2; b hard 6 100; 2-4", "b lose"),
    ("C34-HARD-8", "3-2; b hard 8 100; 4-4", "b win 900 1000"),
    ("C34-HARD-8", "3-2; b hard 8 100; 6-2", "b lose"),
    ("C34-HARD-10", "3-2; b hard 10 100; 5-5", "b win 700 800"),
    ("C34-HARD-10", "3-2; b hard 10 100; 3-4", "b lose"),
    ("C34-HARD-10", "b hard 5 100", "b rejected C34-HARD-4"),
    (
        "C34-FIELD-1",
        "a field 1; 2-3; b field 1; 5-1; c field 1; 3-4; d field 1; 4-4",
        "a lose; b lose; c lose; d lose",
    ),
    ("C34-A7-1", "a any7 100; 3-4; b any7 100; 5-6", "a win 400 500; b lose"),
    (
        "C34-AC-1",
        "a any_craps 100; 1-1; b any_craps 100; 1-2; c any_craps 100; 6-6; d any_craps 100; 5-6",
        "a win 700 800; b win 700 800; c win 700 800; d lose",
    ),
    ("C34-YO-1", "a yo 100; 5-6; b yo 100; 6-6", "a win 1500 1600; b lose"),
    (
        "C34-CE-1",
        "a c_and_e 2; 1-1; b c_and_e 2; 1-2; c c_and_e 2; 6-6; d c_and_e 2; 5-6; e c_and_e 2; 3-4",
        "a win 6 8; b win 6 8; c win 6 8; d win 14 16; e lose",
    ),
    (
        "C34-HORN-1",
        "a horn 4; 1-1; b horn 4; 1-2; c horn 4; 5-6; d horn 4; 6-6; e horn 4; 3-4",
        "a win 27 31; b win 12 16; c win 12 16; d win 27 31; e lose",
    ),
    ("C34-HH-1", "a horn_high 12 5; 6-6; b horn_high 12 5; 3-1", "a win 57 62; b lose"),
    ("C34-HH-1", "b horn_high 7 5", "b rejected C34-HH-1"),
    ("C34-HH-2", "a horn_high 2 4; b horn_high 2 10", "a rejected C34-HH-2; b pending"),
    ("C34-WHIRL-1", "a whirl 5; 1-2; b whirl 5; 2-2", "a win 11 16; b lose"),
    ("C34-WHIRL-2", "a whirl 4; b whirl 10", "a rejected C34-WHIRL-2; b pending"),
    ("C34-C2-1", "a craps2 100; 1-1; b craps2 100; 6-6", "a win 3000 3100; b lose"),
    ("C34-C3-1", "a craps3 100; 1-2; b craps3 100; 6-6", "a win 1500 1600; b lose"),
    ("C34-C12-1", "a craps12 100; 6-6; b craps12 100; 1-1", "a win 3000 3100; b lose"),
]

MAKING_AND_REMOVING = [
    ("C34-MK-1b", "b pass 500 late; 3-4", "b rejected C34-MK-1b"),
    ("C34-MK-1b", "b pass 500 late confirmed; 3-4", "b win 500 1000"),
    ("C34-MK-1b", "2-2; b pass 500 late confirmed", "b rejected C34-PASS-1"),
    ("C34-MK-3a", "b pass 500; remove b", "b removed 500"),
    ("C34-MK-3a", "b pass 500; reduce b 300; 3-4", "b reduced 200; b win 300 600"),
    ("C34-MK-3a", "2-2; b come 500; remove b", "b removed 500"),
    ("C34-MK-3a", "b yo 500; reduce b 100; remove b", "b reduced 400; b removed 100"),
    ("C34-MK-3a", "b horn 8; reduce b 6; reduce b 4", "b refused !34-25; b reduced 4; b pending"),
    (
        "C34-MK-3b",
        "b pass 500; 2-2; remove b; reduce b 1",
        "b refused C34-MK-3b; b refused C34-MK-3b; b pending",
    ),
    ("C34-MK-3b", "2-2; b come 500; 4-5; remove b", "b refused C34-MK-3b; b pending"),
    (
        "C34-MK-4",
        "b dont_pass 500; 2-2; reduce b 300; increase b 500; remove b",
        "b reduced 200; b refused C34-MK-4; b removed 300",
    ),
    (
        "C34-MK-4",
        "b dont_pass 500; reduce b 300; increase b 400",
        "b reduced 200; b refused C34-MK-4; b pending",
    ),
    ("C34-MK-4", "2-2; b dont_come 500; 4-5; increase b 600; remove b", "b refused C34-MK-4; b removed 500"),
    ("C34-MK-4", "b dont_pass 500; 2-2; remove b; c dont_pass 500", "b removed 500; c rejected C34-DP-1"),
    (
        "C34-MK-4",
        "a dont_pass 500; remove a; b dont_pass 900; c dont_pass 5 by p2; 1-2; d dont_pass 900",
        "a removed 500; b rejected C34-MK-4; c win 5 10; d pending",
    ),
    (
        "C34-MK-4",
        "a dont_pass 500; reduce a 100; b dont_pass 400; 2-2; 1-3; c dont_pass 900",
        "a reduced 400; b rejected C34-MK-4; a lose; c pending",
    ),
    (
        "C34-MK-4",
        "a dont_pass 500; b dont_pass 300; reduce a 100; increase b 900; increase b 900; 1-2",
        "a reduced 400; b refused C34-MK-4; b refused C34-MK-4; a win 100 200; b win 300 600",
    ),
    (
        "C34-MK-4",
        "2-2; a dont_come 500; 4-5; b dont_come 5; remove a; increase b 500; 1-2; c dont_pass 5",
        "a removed 500; b refused C34-MK-4; b win 5 10; c rejected C34-DP-1",
    ),
    (
        "C34-MK-4",
        "2-2; a dont_come 500; 4-5; remove a; b dont_come 5; 1-2; c dont_come 5; 6-3; d dont_come 5",
        "a removed 500; b rejected C34-MK-4; c rejected C34-MK-4; d pending",
    ),
    (
        "C34-MK-4",
        "2-2; a dont_come 500; remove a; 4-5; b dont_come 5; 3-4; 2-2; c dont_come 5",
        "a removed 500; b rejected C34-MK-4; c pending",
    ),
    (
        "C34-MK-4",
        "2-2; a dont_come 500; no action a; b dont_come 5; 1-1; c dont_come 5",
        "a void 500; b rejected C34-MK-4; c pending",
    ),
    (
        "C34-MK-4",
        "a dont_pass 500; b dont_pass 100; reduce a 100; increase b 500; 1-2; c dont_pass 5; increase c 9",
        "a reduced 400; b refused C34-MK-4; a win 100 200; b win 100 200; c pending",
    ),
    (
        "C34-MK-4",
        "2-2; a dont_come 500; 4-5; b dont_come 100; remove a; increase b 500",
        "a removed 500; b refused C34-MK-4; b pending",
    ),
    ("C34-MK-5a", "2-2; b hard 6 100; 3-1; 3-4", "b pending"),
    ("C34-MK-5a", "2-2; b hard 6 100 on; 3-1; 3-4", "b lose"),
    ("C34-MK-5a", "2-2; b place 9 100; off b; 3-4", "b pending"),
    ("C34-MK-4", "b dont_pass 500; increase b 600; 1-1", "b win 600 1200"),
    ("C34-CONT-4", "2-2; c come 5; 4-5; 3-1; run out on; shooter p2; b pass 5; 3-3; 3-4", "c lose; b lose"),
    (
        "BOOK-AMOUNT",
        "b yo 5; reduce b 5; reduce b 0; increase b 5",
        "b refused BOOK-AMOUNT; b refused BOOK-AMOUNT; b refused BOOK-AMOUNT; b pending",
    ),
    (
        "BOOK-ID",
        "b yo 5; b yo 5; 5-6; b yo 5; remove b",
        "b rejected BOOK-ID; b win 75 80; b rejected BOOK-ID; b refused BOOK-ID",
    ),
    ("BOOK-ID", "b come 5; b yo 5", "b rejected C34-COME-1; b pending"),
    ("C34-MK-5b", "b pass 5 off", "b rejected C34-MK-5b"),
    ("C34-MK-5b", "b yo 5; off b; 5-6", "b refused C34-MK-5b; b win 75 80"),
    (
        "C34-MK-5b",
        "2-2; d dont_come 300; 4-6; o dont_come_odds d 300; 3-1; 3-4",
        "d win 300 600; o win 150 450",
    ),
]

PAYS = [
    (
        "C34-PAY-1..4",
        "a pass 7; b dont_pass 7; 2-2; c come 7; d dont_come 7; 3-4",
        "a lose; b win 7 14; c win 7 14; d lose",
    ),
    ("C34-PAY-5", "3-2; b place 4 400; 2-2", "b win 700 1100"),
    ("C34-PAY-6", "2-2; b place 5 400; 3-2", "b win 500 900"),
    ("C34-PAY-7", "2-2; b place 6 400; 3-3", "b win 400 800"),
    ("C34-PAY-8", "2-2; b place 8 400; 4-4", "b win 400 800"),
    ("C34-PAY-9", "2-2; b place 9 400; 4-5", "b win 500 900"),
    ("C34-PAY-10", "2-2; b place 10 400; 5-5", "b win 700 1100"),
    ("C34-PAY-11", "3-2; b hard 4 1; 2-2", "b win 7 8"),
    ("C34-PAY-12", "3-2; b hard 6 1; 3-3", "b win 9 10"),
    ("C34-PAY-13", "3-2; b hard 8 1; 4-4", "b win 9 10"),
    ("C34-PAY-14", "3-2; b hard 10 1; 5-5", "b win 7 8"),
    (
        "C34-PAY-15",
        "a field 1; 1-1; b field 1; 1-2; c field 1; 2-2; d field 1; 4-5",
        "a win 2 3; b win 1 2; c win 1 2; d win 1 2",
    ),
    ("C34-PAY-15", "e field 1; 4-6; f field 1; 5-6; g field 1; 6-6", "e win 1 2; f win 1 2; g win 2 3"),
    ("C34-PAY-16", "b any7 1; 3-4", "b win 4 5"),
    ("C34-PAY-17", "b any_craps 1; 1-1", "b win 7 8"),
    ("C34-PAY-18", "b craps2 1; 1-1", "b win 30 31"),
    ("C34-PAY-19", "b craps3 1; 1-2", "b win 15 16"),
    ("C34-PAY-20", "b craps12 1; 6-6", "b win 30 31"),
    ("C34-PAY-21", "b yo 1; 5-6", "b win 15 16"),
    (
        "C34-PAY-22",
        "a horn_high 2 5; b horn_high 3 5; c horn_high 11 5; d horn_high 12 5; 1-1",
        "a win 57 62; b win 26 31; c win 26 31; d win 26 31",
    ),
    (
        "C34-PAY-22",
        "a horn_high 2 5; b horn_high 3 5; c horn_high 11 5; d horn_high 12 5; 5-6",
        "a win 11 16; b win 11 16; c win 27 32; d win 11 16",
    ),
    ("C34-PAY-23", "b c_and_e 100; 5-6", "b win 700 800"),
    ("C34-PAY-24", "a whirl 5; 1-1; b whirl 5; 6-5; c whirl 5; 3-4", "a win 26 31; b win 11 16; c push 5"),
]

ODDS = [
    ("C34-ODDS-1", "b pass 400; o pass_odds b 400", "o rejected C34-ODDS-1; b pending"),
    ("C34-ODDS-1", "b pass 400; 2-2; o pass_odds b 401", "o rejected C34-ODDS-1; b pending"),
    ("C34-ODDS-1", "b pass 400; 2-2; o pass_odds b 400; 3-1", "b win 400 800; o win 800 1200"),
    ("C34-ODDS-1", "b pass 400; 3-2; o pass_odds b 400; 4-1", "b win 400 800; o win 600 1000"),
    ("C34-ODDS-1", "b pass 400; 3-3; o pass_odds b 400; 4-2", "b win 400 800; o win 400 800"),
    ("C34-ODDS-1", "b pass 400; 3-3; o pass_odds b 400; 4-3", "b lose; o lose"),
    (
        "C34-ODDS-1",
        "b pass 400; 3-3; o pass_odds b 300; p pass_odds b 200; increase o 401; increase o 400",
        "p rejected C34-ODDS-1; o refused C34-ODDS-1; b pending; o pending",
    ),
    (
        "C34-ODDS-1",
        "b pass 400; 3-3; o pass_odds b 100 by p2; p come_odds b 100; q pass_odds x 100",
        "o rejected C34-ODDS-1; p rejected C34-ODDS-3; q rejected C34-ODDS-1; b pending",
    ),
    (
        "C34-ODDS-2",
        "b dont_pass 400; 2-2; o dont_pass_odds b 801; o dont_pass_odds b 800; 3-4",
        "o rejected C34-ODDS-2; b win 400 800; o win 400 1200",
    ),
    (
        "C34-ODDS-2",
        "b dont_pass 400; 3-2; o dont_pass_odds b 534; o dont_pass_odds b 533; 3-4",
        "o rejected C34-ODDS-2; b win 400 800; o win 399 932",
    ),
    ("C34-ODDS-2", "b dont_pass 400; 4-4; o dont_pass_odds b 400; 3-4", "b win 400 800; o win 300 700"),
    ("C34-ODDS-2", "b dont_pass 400; 4-4; o dont_pass_odds b 400; 3-5", "b lose; o lose"),
    ("C34-ODDS-2", "b dont_pass 400; 4-4; o dont_pass_odds b 400; remove b", "b removed 400; o removed 400"),
    ("C34-ODDS-3", "2-2; b come 400; o come_odds b 400", "o rejected C34-ODDS-3; b pending"),
    ("C34-ODDS-3", "2-2; b come 400; 4-5; o come_odds b 400; 3-6", "b win 400 800; o win 600 1000"),
    ("C34-ODDS-4", "2-2; b dont_come 400; 5-5; o dont_come_odds b 400; 3-4", "b win 400 800; o win 200 600"),
]

OPEN_QUESTIONS = [
    ("!34-1", "b pass 5; 3-4; c come 5", "b win 5 10; c rejected C34-COME-1"),
    ("!34-8", "b buy 400", "b rejected !34-8"),
    ("!34-10", "b field 5; no roll; 3-4", "b lose"),
    ("!34-16", "2-2; c come 5; 4-5; 3-1; run out on; 3-3; 4-5", "c win 5 10"),
    (
        "!34-16",
        "2-2; c come 5; 4-5; 3-1; run out on; d come 5; e pass 5; 4-3",
        "d rejected C34-COME-1; e rejected C34-CONT-2b; c lose",
    ),
    ("!34-16", "2-2; c come 5; 4-5; o come_odds c 5; 3-1; run out on; 4-3", "c lose; o push 5"),
    ("!34-16", "2-2; c come 5; 4-5; 3-1; run out on; 3-6; b pass 5; 3-3; 3-4", "c win 5 10; b lose"),
    (
        "C34-CONT-2b",
        "2-2; c dont_come 5; 4-5; 3-1; run out on; remove c; b pass 5; 3-3; 3-4",
        "c removed 5; b lose",
    ),
    ("!34-17", "h place 6 5; run out on", "table refused !34-17; h pending"),
    ("C34-CONT-2b", "2-2; c come 5; 4-5; run out on", "table refused C34-CONT-2b; c pending"),
    (
        "C34-CONT-2b",
        "2-2; c come 5; 4-5; 3-1; b pass 5; run out on",
        "table refused C34-CONT-2b; c pending; b pending",
    ),
    ("!34-18", "h hard 6 5 on; 2-2; 3-1; 5-1", "h lose"),
    ("!34-18", "h place 6 5 on; 2-2; 1-3; 3-4", "h lose"),
    ("!34-18", "h place 6 5 on; default h; 3-4", "h pending"),
    ("!34-18", "2-2; h place 6 5; off h; 1-3; 4-4; 3-3; default h; 5-1", "h win 5 10"),
    ("!34-20", "shooter p1; b dont_pass 5; remove b", "b removed 5"),
    ("!34-22", "b dont_pass 1; 3-2; o dont_pass_odds b 1; 3-4", "b win 1 2; o win 0 1"),
    (
        "!34-27",
        "p dont_pass 400; 1-4; o dont_pass_odds p 533; reduce p 1; 1-6",
        "p reduced 399; p win 1 2; o win 399 932",
    ),
    (
        "!34-27",
        "p dont_pass 400; 1-4; reduce p 1; o dont_pass_odds p 534; o dont_pass_odds p 533; 1-6",
        "p reduced 399; o rejected C34-ODDS-2; p win 1 2; o win 399 932",
    ),
    (
        "!34-27",
        "p dont_pass 400; increase p 800; reduce p 100; 2-2; o dont_pass_odds p 1600; q dont_pass_odds p 1",
        "p reduced 700; q rejected C34-ODDS-2; p pending; o pending",
    ),
    (
        "!34-27",
        "2-2; p dont_come 300; 4-4; o dont_come_odds p 100; reduce p 2; increase o 400; increase o 401",
        "p reduced 298; o refused C34-ODDS-4; p pending; o pending",
    ),
    ("!34-23", "2-2; h hard 8 5; p place 8 4; 4-4; 4-4", "h win 45 50; p win 4 8"),
    ("!34-25", "a horn 6; b c_and_e 3", "a rejected !34-25; b rejected !34-25"),
    ("!34-26", "2-2; c come 5; 4-5; o come_odds c 5; 3-1; 3-6", "c win 5 10; o push 5"),
    ("!34-26", "2-2; c come 5; 4-5; o come_odds c 4 on; 3-1; 3-6", "c win 5 10; o win 6 10"),
    ("!34-26", "2-2; c come 5; 4-5; o come_odds c 4; 3-1; 3-3; off o; 3-6", "c win 5 10; o push 4"),
    (
        "!X-4",
        "a hop 3-4 5; b hi_lo 5; c big6 5; d place_lose 6 5; e sharp_shooter 5",
        "a rejected !X-4; b rejected !X-4; c rejected !X-4; d rejected !X-4; e rejected !X-4",
    ),
    ("!X-8", "2-2; b place 9 3; 5-4", "b win 3 6"),
    ("C34-FIELD-1", "b field 5 ride", "b rejected C34-FIELD-1"),
    ("C34-DEF-3", "2-2; a come 5; b dont_come 5; 4-5; 6-3", "a win 5 10; b lose"),
    ("C34-DEF-2", "b pass 5; 2-2; 3-1; 3-1; c pass 5; 3-4", "b win 5 10; c rejected C34-PASS-1"),
]


@pytest.mark.parametrize(
    ("rule", "steps", "expected"), [*WAGERS, *MAKING_AND_REMOVING, *PAYS, *ODDS, *OPEN_QUESTIONS]
)
def test_rule_of_craps_12_034(rule: str, steps: str, expected: str) -> None:
    assert "; ".join(play(C34, steps)) == expected


@pytest.mark.parametrize("rules", [C34, CV1])
def test_c34_dice_4_the_shooter_must_make_a_line_bet_before_throwing(rules: str) -> None:
    table = CrapsBook(paytable(rules))
    decoder = Decoder(table.vocabulary)
    assert not table.line_bet_missing
    missing = []
    for step in ("shooter p1", "a field 500", "b pass 500 by p2", "c pass 500", "2-2", "1-3", "no roll"):
        table.apply(decoder.decode(json.dumps(request(step.split())).encode(), 1))
        missing.append(table.line_bet_missing)
    assert missing == [True, True, True, False, False, True, True]
