"""Craps Version 1, rule by rule: a scene and all its results."""

import pytest

from tests.games.craps.wagers.scene import CV1, play

LIMITS = [
    (
        "CV1-LIM-1",
        "a pass 99; b pass 100; c field 1000; d field 1001; 3-4",
        "a rejected CV1-LIM-1; d rejected CV1-LIM-1; b win 100 200; c lose",
    ),
    (
        "CV1-LIM-1",
        "b place 6 500; increase b 1001; reduce b 99; increase b 1000; reduce b 100",
        "b refused CV1-LIM-1; b refused CV1-LIM-1; b reduced 900; b pending",
    ),
    (
        "CV1-LIM-1",
        "a place 6 600; b place 6 401; c place 6 400; d place 8 1000; e place 6 1000 by p2; increase a 601",
        "b rejected CV1-LIM-1; a refused CV1-LIM-1; a pending; c pending; d pending; e pending",
    ),
    (
        "CV1-LIM-1",
        "a hop 3-4 600; b hop 4-3 500; c hop 2-5 1000; d field 900; e field 100; f field 100",
        "b rejected CV1-LIM-1; f rejected CV1-LIM-1; a pending; c pending; d pending; e pending",
    ),
    (
        "CV1-LIM-1",
        "a pass 1000; 2-2; o pass_odds a 700; p pass_odds a 400; q pass_odds a 300",
        "p rejected CV1-LIM-1; a pending; o pending; q pending",
    ),
    (
        "CV1-LIM-1",
        "a field 600 ride; b field 300; 5-6; 5-6",
        "a win 600 500; b win 300 600; a win 700 400; a pending",
    ),
    ("CV1-LIM-2", "a field 1001; b field 1000; 1-1", "a rejected CV1-LIM-1; b win 2000 3000"),
    ("CV1-LIM-3", "b horn_high 2 500; c nonsense 500", "b rejected CV1-LIM-3; c rejected CV1-LIM-3"),
    ("CV1-PASS-1", "a pass 99; b dont_pass 1001", "a rejected CV1-LIM-1; b rejected CV1-LIM-1"),
    (
        "CV1-PASS-1",
        "a pass 100; b pass 100; c pass 100 by p2; 3-4; d pass 100",
        "b rejected CV1-PASS-1; a win 100 200; c win 100 200; d pending",
    ),
    ("CV1-DP-1", "b dont_pass 1000", "b pending"),
    (
        "CV1-DP-1",
        "a dont_pass 100; b dont_pass 100; remove a; d dont_pass 100; no roll; e dont_pass 100; 1-1",
        "b rejected CV1-DP-1; a removed 100; d rejected CV1-DP-1; e rejected CV1-DP-1",
    ),
    (
        "CV1-PO-3",
        "b pass 500; 2-2; o pass_odds b 99; p pass_odds b 1000",
        "o rejected CV1-LIM-1; b pending; p pending",
    ),
    (
        "CV1-CE-3",
        "a c_and_e 198; b c_and_e 200; c c_and_e 201; 5-6",
        "a rejected CV1-CE-3; c rejected CV1-CE-3; b win 1400 1600",
    ),
    (
        "CV1-WHIRL-2",
        "a whirl 495; b whirl 500; c whirl 501; 3-4",
        "a rejected CV1-WHIRL-2; c rejected CV1-WHIRL-2; b push 500",
    ),
    (
        "!V1-21",
        "a horn 402; b horn 100; 1-1",
        "a rejected !V1-21; b win 675 775",
    ),
]

ROUNDS = [
    (
        "CV1-RND-2",
        "a pass 100; b dont_pass 100; 1-1; c pass 100; d dont_pass 100; 6-6",
        "a lose; b win 100 200; c lose; d push 100",
    ),
    ("CV1-RND-3", "a pass 100; b dont_pass 100; 5-6", "a win 100 200; b lose"),
    ("CV1-RND-4", "a pass 100; 5-5; 6-4", "a win 100 200"),
    ("CV1-RND-7", "a pass 100; 5-5; 3-4; b pass 100; 5-6", "a lose; b win 100 200"),
    (
        "CV1-RND-8",
        "a pass 100; b dont_pass 100; 2-2; c place 6 100; d hard 8 100; 1-1; 1-2; 5-6; 6-6",
        "a pending; b pending; c pending; d pending",
    ),
    ("CV1-RND-9", "a field 100; b yo 100; c any7 100; 2-3", "a lose; b lose; c lose"),
    (
        "CV1-BET-1",
        "a come 100; 2-2; b pass 100; c dont_pass 100; d come 100",
        "a rejected CV1-COME-1; b rejected CV1-PASS-7; c rejected CV1-BET-1; d pending",
    ),
    (
        "CV1-BET-2",
        "b pass 100; 2-2; o pass_odds b 100; increase o 700; reduce o 200; increase o 300; 2-2",
        "o reduced 500; b win 100 200; o win 600 900",
    ),
    ("CV1-BET-2", "b pass 100 late confirmed", "b rejected CV1-BET-2"),
    (
        "CV1-BET-3",
        "a hard 6 500; b yo 500; c big8 500; remove a; reduce b 100; remove c",
        "a removed 500; b reduced 400; c removed 500; b pending",
    ),
    ("CV1-BET-3", "d sharp_shooter 500; 2-2; 2-2; remove d", "d removed 500"),
]

LINE = [
    (
        "CV1-PASS-2..4",
        "a pass 100; 3-4; b pass 100; 1-2; c pass 100; 3-3; 5-1; d pass 100; 3-3; 3-4",
        "a win 100 200; b lose; c win 100 200; d lose",
    ),
    ("CV1-PASS-5", "b pass 777; 5-6", "b win 777 1554"),
    (
        "CV1-PASS-6",
        "b pass 500; remove b; reduce b 100; off b; increase b 600; 2-2; remove b",
        "b refused CV1-PASS-6; b refused CV1-PASS-6; b refused CV1-PASS-6; b refused CV1-PASS-6; b pending",
    ),
    ("CV1-PASS-6", "b pass 500 off", "b rejected CV1-PASS-6"),
    ("CV1-PASS-7", "b pass 500; 2-2; increase b 600", "b refused CV1-PASS-7; b pending"),
    (
        "CV1-DP-2..4",
        "a dont_pass 100; 1-2; b dont_pass 100; 5-6; c dont_pass 100; 6-6",
        "a win 100 200; b lose; c push 100",
    ),
    ("CV1-DP-5", "d dont_pass 100; 2-2; 3-4; e dont_pass 100; 2-2; 1-3", "d win 100 200; e lose"),
    (
        "CV1-DP-6",
        "b dont_pass 500; 2-2; reduce b 300; increase b 400; remove b",
        "b reduced 200; b refused CV1-DP-6; b removed 300",
    ),
    (
        "CV1-DP-6",
        "b dont_pass 500; 2-2; o dont_pass_odds b 500; reduce o 200; remove o",
        "o reduced 300; o removed 200; b pending",
    ),
    ("CV1-DP-6", "b dont_pass 500; reduce b 300; increase b 400", "b reduced 200; b pending"),
    (
        "CV1-DP-7",
        "shooter p1; b dont_pass 500; reduce b 100; remove b; c dont_pass 500 by p2; remove c",
        "b refused CV1-DP-7; b refused CV1-DP-7; c removed 500; b pending",
    ),
    (
        "CV1-DP-7",
        "shooter p1; b dont_pass 500; 2-2; remove b; 3-4; c dont_pass 500; remove c",
        "b refused CV1-DP-7; b win 500 1000; c removed 500",
    ),
    ("CV1-DP-8", "b dont_pass 500; off b", "b refused CV1-DP-8; b pending"),
    (
        "CV1-DP-9",
        "b dont_pass 500; 2-2; remove b; o dont_pass_odds b 100",
        "b removed 500; o rejected CV1-DP-9",
    ),
    ("CV1-PO-1", "b pass 100; 2-2; o pass_odds b 100; 1-3", "b win 100 200; o win 200 300"),
    ("CV1-PO-1", "b pass 100; 4-5; o pass_odds b 100; 5-4", "b win 100 200; o win 150 250"),
    ("CV1-PO-1", "b pass 100; 4-4; o pass_odds b 100; 5-3", "b win 100 200; o win 120 220"),
    ("CV1-PO-1", "b pass 100; 4-4; o pass_odds b 100; 3-4", "b lose; o lose"),
    (
        "CV1-PO-2",
        "b pass 100; 4-4; o pass_odds b 500; off o; reduce o 300; increase o 1000; 4-4",
        "o reduced 200; b win 100 200; o push 1000",
    ),
    ("CV1-PO-2", "b pass 100; 4-4; o pass_odds b 500; off o; on o; 4-4", "b win 100 200; o win 600 1100"),
    ("CV1-DPO-1", "b dont_pass 100; 2-2; o dont_pass_odds b 200; 3-4", "b win 100 200; o win 100 300"),
    ("CV1-DPO-1", "b dont_pass 100; 4-5; o dont_pass_odds b 200; 3-4", "b win 100 200; o win 133 333"),
    ("CV1-DPO-1", "b dont_pass 100; 4-4; o dont_pass_odds b 200; 3-4", "b win 100 200; o win 166 366"),
    ("CV1-DPO-1", "b dont_pass 100; 4-4; o dont_pass_odds b 200; 4-4", "b lose; o lose"),
    ("CV1-DPO-2", "b dont_pass 100; 2-2; o dont_pass_odds b 1000; 3-4", "b win 100 200; o win 500 1500"),
    ("CV1-DPO-3", "b dont_pass 100; 2-2; o dont_pass_odds b 100; 3-4", "b win 100 200; o win 50 150"),
    (
        "CV1-DPO-4",
        "b dont_pass 100; 2-2; o dont_pass_odds b 300; reduce o 200; remove o",
        "o reduced 100; o removed 200; b pending",
    ),
    ("CV1-DPO-5", "b dont_pass 100; 2-2; o dont_pass_odds b 300 off; 3-4", "b win 100 200; o push 300"),
    ("CV1-DPO-5", "b dont_pass 100; 2-2; o dont_pass_odds b 300 off; 3-1", "b lose; o push 300"),
]

COME = [
    (
        "CV1-COME-1",
        "2-2; a come 100; b come 100; c come 100 by p2; 4-5; d come 100; 6-6",
        "b rejected CV1-COME-1; d lose; a pending; c pending",
    ),
    ("CV1-COME-1", "2-2; a come 100; no roll; b come 100", "b rejected CV1-COME-1; a pending"),
    ("CV1-COME-2", "2-2; a come 100; b dont_come 100; 6-6", "a lose; b push 100"),
    (
        "CV1-COME-3",
        "2-2; a come 100; 5-6; b come 100; 1-1; c come 100; 3-6; d come 100; 3-4",
        "a win 100 200; b lose; c lose; d win 100 200",
    ),
    (
        "CV1-COME-4",
        "2-2; a come 500; remove a; reduce a 100; off a; increase a 600; 4-5; remove a",
        "a refused CV1-COME-4; a refused CV1-COME-4; a refused CV1-COME-4; a refused CV1-COME-4; a pending",
    ),
    (
        "CV1-COME-5",
        "2-2; a come 500; 4-5; o come_odds a 500; reduce o 300; off o; 4-5",
        "o reduced 200; a win 500 1000; o push 300",
    ),
    ("CV1-COME-6", "2-2; a come 500; 4-5; o come_odds a 500 off; 3-4", "a lose; o push 500"),
    ("CV1-COME-7", "2-2; a come 500; 4-5; o come_odds a 500; 3-6", "a win 500 1000; o win 750 1250"),
    ("CV1-COME-7", "2-2; a come 500; 4-5; o come_odds a 500; 3-4", "a lose; o lose"),
    ("CV1-COME-8", "2-2; a come 500; 4-5; o come_odds a 500; 1-3; 3-4", "a lose; o push 500"),
    ("CV1-COME-9", "2-2; a come 500; 4-5; o come_odds a 500; 1-3; 4-5", "a win 500 1000; o push 500"),
    (
        "CV1-COME-10",
        "2-2; a come 500; 4-5; o come_odds a 500; 1-3; on o; 4-5",
        "a win 500 1000; o win 750 1250",
    ),
    ("CV1-COME-10", "2-2; a come 500; 4-5; o come_odds a 500 on; 1-3; 3-4", "a lose; o lose"),
    (
        "CV1-COME-8",
        "2-2; a come 500; 4-5; o come_odds a 500; off o; 1-3; 2-2; 4-5",
        "a win 500 1000; o win 750 1250",
    ),
    (
        "CV1-COME-10",
        "2-2; a come 500; 4-5; o come_odds a 500; 1-3; on o; 2-2; 1-3; 3-4",
        "a lose; o push 500",
    ),
    (
        "CV1-COME-10",
        "2-2; a come 500; 4-5; o come_odds a 500; 1-3; on o stands; 2-2; 1-3; 3-4",
        "a lose; o lose",
    ),
    (
        "CV1-COME-10",
        "2-2; a come 500; 4-5; o come_odds a 500; 1-3; on o; default o; 3-4",
        "a lose; o push 500",
    ),
    (
        "CV1-DC-1",
        "a dont_come 100; 2-2; b dont_come 100; c dont_come 100; d dont_come 100 by p2",
        "a rejected CV1-DC-1; c rejected CV1-DC-1; b pending; d pending",
    ),
    (
        "CV1-DC-2",
        "2-2; a dont_come 100; 1-1; b dont_come 100; 5-6; c dont_come 100; 6-6; d dont_come 100; 3-4",
        "a win 100 200; b lose; c push 100; d lose",
    ),
    ("CV1-DC-3", "2-2; a dont_come 100; 4-5; 3-4", "a win 100 200"),
    ("CV1-DC-3", "2-2; a dont_come 100; 4-5; 3-6", "a lose"),
    ("CV1-DC-5", "2-2; a dont_come 100; 4-5; o dont_come_odds a 300; 3-4", "a win 100 200; o win 200 500"),
    (
        "CV1-DC-6",
        "2-2; a dont_come 500; 4-5; off a; reduce a 300; increase a 400; remove a",
        "a refused CV1-DC-6; a reduced 200; a refused CV1-DC-6; a removed 300",
    ),
    ("CV1-DC-7", "2-2; a dont_come 500; 4-5; no action a; 4-5", "a void 500"),
    ("CV1-DC-7", "b pass 100; no action b; no action x", "b refused CV1-DC-7; x refused BOOK-ID; b pending"),
    (
        "CV1-DC-8",
        "2-2; a dont_come 500; 4-5; remove a; o dont_come_odds a 100",
        "a removed 500; o rejected CV1-DC-8",
    ),
    (
        "CV1-DC-8",
        "2-2; a dont_come 500; 4-5; remove a; b dont_come 100; 1-1; c dont_come 100",
        "a removed 500; b rejected CV1-DC-8; c pending",
    ),
    (
        "CV1-DC-8",
        "2-2; a dont_come 500; b dont_come 100; remove a; c dont_come 100; 1-1; d dont_come 5",
        "b rejected CV1-DC-1; a removed 500; c rejected CV1-DC-8; d rejected CV1-LIM-1",
    ),
    (
        "CV1-DC-8",
        "2-2; a dont_come 500; no action a; b dont_come 100",
        "a void 500; b rejected CV1-DC-8",
    ),
    (
        "CV1-DC-9",
        "2-2; a dont_come 500; 4-5; o dont_come_odds a 300 off; reduce o 200; 3-4",
        "o reduced 100; a win 500 1000; o push 200",
    ),
    (
        "CV1-DC-10",
        "2-2; a dont_come 500; 4-5; o dont_come_odds a 300; 1-3; 3-4",
        "a win 500 1000; o win 200 500",
    ),
    (
        "CV1-DC-10",
        "2-2; a dont_come 500; 4-5; o dont_come_odds a 300; off o; 1-3; 3-4",
        "a win 500 1000; o push 300",
    ),
]

PLACE = [
    ("CV1-PLACE-2", "2-2; b place 6 600; 3-3; 5-1; 3-4", "b win 700 700; b win 700 700; b lose"),
    ("CV1-PLACE-3", "b place 6 600; 3-4; 3-3; reduce b 100; remove b", "b reduced 500; b removed 100"),
    ("CV1-PLACE-3", "b place 6 600; on b; 3-4", "b lose"),
    ("CV1-PLACE-3", "2-2; b place 6 600; off b; 1-3; 2-2; 3-3", "b win 700 700; b pending"),
    ("CV1-PLACE-3", "2-2; b place 6 600; off b stands; 1-3; 2-2; 3-3", "b pending"),
    (
        "CV1-PLACE-4",
        "3-3; a place 4 500; b place 5 500; 2-2; 3-2",
        "a win 900 900; b win 700 700; a pending; b pending",
    ),
    (
        "CV1-PLACE-4",
        "2-2; a place 8 500; b place 9 500; c place 10 500; 4-4; 4-5; 5-5",
        "a win 583 583; b win 700 700; c win 900 900; a pending; b pending; c pending",
    ),
    (
        "CV1-PL-1",
        "2-2; a place_lose 6 500; b place_lose 5 800; c place_lose 10 1000; 3-4",
        "a win 400 900; b win 500 1300; c win 454 1454",
    ),
    ("CV1-PL-1", "2-2; a place_lose 6 500; b place_lose 9 800; 4-5; 3-3", "b lose; a lose"),
    ("CV1-PL-1", "b place_lose 7 500", "b rejected CV1-PL-1"),
    ("!V1-24", "a place_lose 6 500; b place_lose 6 500 on; 3-4", "b win 400 900; a pending"),
    (
        "CV1-BUY-1",
        "a buy 500; b lay 500; c put 500",
        "a rejected CV1-BUY-1; b rejected CV1-BUY-1; c rejected CV1-BUY-1",
    ),
]

ONE_ROLL = [
    ("CV1-ONE-1", "a yo 100 off; 5-5; on a; 5-6", "a win 1500 1600"),
    ("CV1-ONE-1", "a field 100; off a; 3-4; on a; 3-4", "a lose"),
    ("CV1-C2", "a craps2 100; 1-1; b craps2 100; 6-6", "a win 3000 3100; b lose"),
    ("CV1-C3", "a craps3 100; 1-2; b craps3 100; 6-6", "a win 1500 1600; b lose"),
    ("CV1-YO", "a yo 100; 5-6; b yo 100; 6-6", "a win 1500 1600; b lose"),
    ("CV1-C12", "a craps12 100; 6-6; b craps12 100; 1-1", "a win 3000 3100; b lose"),
    (
        "CV1-HILO-1",
        "a hi_lo 100; 1-1; b hi_lo 100; 6-6; c hi_lo 100; 5-6",
        "a win 1500 1600; b win 1500 1600; c lose",
    ),
    (
        "CV1-AC-1",
        "a any_craps 100; 1-1; b any_craps 100; 1-2; c any_craps 100; 6-6; d any_craps 100; 3-4",
        "a win 700 800; b win 700 800; c win 700 800; d lose",
    ),
    (
        "CV1-CE-1",
        "a c_and_e 200; 1-2; b c_and_e 200; 5-6; c c_and_e 200; 3-4",
        "a win 600 800; b win 1400 1600; c lose",
    ),
    ("CV1-CE-2", "a c_and_e 1000; 6-6", "a win 3000 4000"),
    ("CV1-A7-1", "a any7 100; 3-4; b any7 100; 4-4", "a win 400 500; b lose"),
    (
        "CV1-HORN-1",
        "a horn 400; 6-6; b horn 400; 1-2; c horn 400; 5-6; d horn 400; 3-4",
        "a win 2700 3100; b win 1200 1600; c win 1200 1600; d lose",
    ),
    (
        "CV1-WHIRL-1",
        "a whirl 500; 1-1; b whirl 500; 5-6; c whirl 500; 3-4; d whirl 500; 3-3",
        "a win 2600 3100; b win 1100 1600; c push 500; d lose",
    ),
    (
        "CV1-HOP-1",
        "a hop 4-3 100; 3-4; b hop 3-4 100; 3-4; c hop 2-5 100; 3-4; d hop 3-3 100; 3-3",
        "a win 1500 1600; b win 1500 1600; c lose; d win 3000 3100",
    ),
    (
        "CV1-HOP-1",
        "a hop 3-7 100; b hop 3 100; c hop 1-2-3 100",
        "a rejected CV1-HOP-1; b rejected CV1-HOP-1; c rejected CV1-HOP-1",
    ),
    (
        "CV1-FIELD-1",
        "a field 100; 1-1; b field 100; 6-6; c field 100; 2-2; d field 100; 4-4",
        "a win 200 300; b win 200 300; c win 100 200; d lose",
    ),
    ("CV1-FIELD-3", "a field 100 ride; 2-2; 2-2; remove a", "a win 100 0; a win 200 0; a removed 400"),
    ("CV1-FIELD-3", "a field 100 ride; 2-2; 3-4", "a win 100 0; a lose"),
    ("!V1-19", "a field 600 ride; 2-2; 6-6; 3-4", "a win 600 200; a win 2000 2000; a lose"),
    ("!V1-19", "a yo 600 ride", "a rejected !V1-19"),
]

SHARP_SHOOTER = [
    ("CV1-SHARP-1", "2-2; s sharp_shooter 100", "s rejected CV1-SHARP-1"),
    (
        "CV1-SHARP-1",
        "2-2; 3-4; s sharp_shooter 100; increase s 200; 2-2; increase s 300",
        "s refused CV1-SHARP-1; s pending",
    ),
    ("CV1-SHARP-1", "no roll; s sharp_shooter 100", "s pending"),
    ("CV1-SHARP-1", "shooter p1; 2-2; shooter p2; s sharp_shooter 100", "s pending"),
    ("CV1-SHARP-2", "s sharp_shooter 100; 2-2; 2-2; 2-2; 2-2; 2-2; 3-4", "s lose"),
    *(
        (
            "CV1-SHARP-3",
            f"s sharp_shooter 100; {points * '2-2; 2-2; '}2-2; 3-4",
            f"s win {pays}00 {pays + 1}00",
        )
        for points, pays in {3: 5, 4: 8, 5: 20, 6: 30, 7: 40, 8: 100, 9: 200, 10: 300, 12: 300}.items()
    ),
    ("!V1-8", f"s sharp_shooter 100; {'2-2; 2-2; ' * 3}1-1; 6-6; 3-4; 2-2; 3-4", "s win 500 600"),
    (
        "!V1-10",
        f"shooter p1; s sharp_shooter 100; {'2-2; 2-2; ' * 3}shooter p2; t sharp_shooter 100; 2-2; 3-4",
        "s win 500 600; t lose",
    ),
    ("!V1-10", "shooter p1; s sharp_shooter 100; 2-2; 2-2; shooter p2", "s lose"),
    ("CV1-SHARP-2", f"s sharp_shooter 100; 2-2; shooter p4; {'2-2; ' * 8}3-4", "s win 800 900"),
    (
        "CV1-SHARP-2",
        "s sharp_shooter 100; 2-2; 2-2; shooter p4; t sharp_shooter 100",
        "t rejected CV1-SHARP-1; s pending",
    ),
    (
        "CV1-SHARP-2",
        f"shooter p4; s sharp_shooter 100; 2-2; 2-2; shooter p4; {'2-2; 2-2; ' * 2}2-2; 3-4",
        "s win 500 600",
    ),
    ("CV1-SHARP-2", "shooter p4; 2-2; 2-2; shooter p4; s sharp_shooter 100", "s rejected CV1-SHARP-1"),
    (
        "CV1-SHARP-2",
        "shooter p4; s sharp_shooter 100; 2-2; passed; shooter p4; t sharp_shooter 100",
        "s lose; t pending",
    ),
    ("CV1-SHARP-2", f"s sharp_shooter 100; {'2-2; 2-2; ' * 2}passed; {'2-2; 2-2; ' * 2}2-2; 3-4", "s lose"),
    (
        "CV1-SHARP-2",
        f"s sharp_shooter 100; {'2-2; 2-2; ' * 3}passed; t sharp_shooter 100; 2-2; 3-4",
        "s win 500 600; t lose",
    ),
    ("!V1-10", "2-2; 3-4; s sharp_shooter 100; shooter p2; 2-2", "s pending"),
    ("!V1-11", f"s sharp_shooter 1000; {'2-2; 2-2; ' * 10}2-2; 3-4", "s win 300000 301000"),
    ("CV1-SHARP-2", "s sharp_shooter 100; off s", "s refused CV1-SHARP-2; s pending"),
]

TABLE_ROWS = [
    (
        "CV1-TAB-1",
        "2-3; a hard 4 100; b hard 6 100; c hard 8 100; d hard 10 100; 2-2; 3-3; 4-4; 5-5",
        "a win 700 800; b win 900 1000; c win 900 1000; d win 700 800",
    ),
    ("CV1-TAB-1", "2-3; a hard 4 100; b hard 6 100; 1-3; 3-4", "a lose; b lose"),
    ("!V1-23", "a hard 4 100; b hard 4 100 on; 1-3", "b lose; a pending"),
    ("CV1-TAB-2", "a big6 100; b big8 100; 4-2; 3-4", "a win 100 200; b lose"),
    ("CV1-TAB-2", "a big8 100; off a; 3-4; on a; 2-6", "a win 100 200"),
    ("!V1-3", "2-2; a come 100; b place 6 100; 1-1", "a lose; b pending"),
    ("CV1-SHOOT-1", "2-2; c come 100; 4-5; 1-3; run out on", "table refused CV1-SHOOT-1; c pending"),
]


@pytest.mark.parametrize(
    ("rule", "steps", "expected"),
    [*LIMITS, *ROUNDS, *LINE, *COME, *PLACE, *ONE_ROLL, *SHARP_SHOOTER, *TABLE_ROWS],
)
def test_rule_of_craps_version_1(rule: str, steps: str, expected: str) -> None:
    assert "; ".join(play(CV1, steps)) == expected
