"""Three Card Poker, rule by rule: a scene and all its results.

By default the player at position 3 bets, and the dealer holds K-8-3, which plays.
"""

from dataclasses import replace

import pytest

from controller.games.three_card.wagers.book import ThreeCardBook
from controller.games.three_card.wagers.paytable import SideAfterFold, ThreeCardPayTable, ThreeCardSettings
from controller.settlement.book import MalformedLine
from controller.settlement.paytable import Switch
from controller.settlement.run import settle
from tests.games.three_card.wagers.scene import paytable, play, result_lines

SCENES = [
    ("T-ANTE-1", "a ante 3 200; p play 3 200; deal 3=2h3d5c dealer=JcTd8s", "p push 200; a win 200 400"),
    ("T-ANTE-1", "a ante 3 200; p play 3 200; deal 3=2h3d5c dealer=Qc3s2s", "p lose; a lose"),
    ("T-ANTE-2", "p play 3 200", "p rejected T-ANTE-2"),
    ("T-ANTE-2", "a ante 3 200; p play 4 200", "p rejected T-ANTE-2; a pending"),
    ("T-RES-1", "a ante 3 200; deal 3=AhAdAc dealer=Kc8d3s folds=3", "a lose"),
    ("T-RES-1", "a ante 3 200; deal 3=AhAdAc dealer=Kc8d3s", "a lose"),
    ("T-RES-2", "a ante 3 200; p play 3 200; deal 3=2h2d2c dealer=Jc8d3s",
     "p push 200; a:bonus win 600 600; a win 200 400"),
    ("T-RES-3", "a ante 3 400; p play 3 400; deal 3=AhTd5c dealer=Kc8d3s", "p win 400 800; a win 400 800"),
    ("T-RES-4", "a ante 3 400; p play 3 400; deal 3=QhTd5c dealer=Kc8d3s", "p lose; a lose"),
    ("!T-3", "a ante 3 100; p play 3 100; deal 3=Kh8c3d dealer=Kc8d3s", "p push 100; a push 100"),
    ("!T-3", "a ante 3 100; p play 3 100; deal 3=3h2dAc dealer=3c2hAs",
     "p push 100; a:bonus win 100 100; a push 100"),
    ("T-AB-1", "a ante 3 100; p play 3 100; deal 3=4h3d2c dealer=9c9d9s",
     "p lose; a:bonus win 100 100; a lose"),
    ("T-AB-1", "a ante 3 100; p play 3 100; deal 3=9h9d9c dealer=Kc8d3s",
     "p win 100 200; a:bonus win 300 300; a win 100 200"),
    ("T-AB-1", "a ante 3 100; p play 3 100; deal 3=4h3h2h dealer=Kc8d3s",
     "p win 100 200; a:bonus win 400 400; a win 100 200"),
    ("T-AB-1", "a ante 3 100; p play 3 100; deal 3=AhKhQh dealer=Kc8d3s",
     "p win 100 200; a:bonus win 500 500; a win 100 200"),
    ("T-AB-1", "a ante 3 100; p play 3 100; deal 3=2h9hTh dealer=Kc8d3s", "p win 100 200; a win 100 200"),
    ("!T-6", "a ante 3 100; deal 3=4h3h2h dealer=Kc8d3s folds=3", "a lose"),
    ("T-PP-1", "a ante 3 100; b pair_plus 3 200; p play 3 100; deal 3=2h2d3c dealer=KcKdKs",
     "p lose; a lose; b win 200 400"),
    ("T-PP-1", "a ante 3 100; b pair_plus 3 200; p play 3 100; deal 3=AhQd3c dealer=Kc8d3s",
     "p win 100 200; a win 100 200; b lose"),
    ("T-BOTH-1", "a ante 3 100; b pair_plus 3 400; p play 3 200; q play 3 100",
     "p rejected T-BOTH-1; a pending; b pending; q pending"),
    ("T-BOTH-2", "a ante 3 100; b pair_plus 3 200; deal 3=2h2d3c dealer=Kc8d3s folds=3", "a lose; b lose"),
    ("T-DEAL-1", "a poker 3 100; b ante 3 100; c ante 3 100; p play 3 100; q play 3 100",
     "a rejected T-DEAL-1; c rejected T-DEAL-1; q rejected T-DEAL-1; b pending; p pending"),
    ("T-DEAL-2", "a ante 3 100; close; b ante 4 100; c pair_plus 3 100; p play 3 100",
     "b rejected T-DEAL-2; c rejected T-DEAL-2; a pending; p pending"),
    ("T-DEAL-2", "a ante 3 100; p play 3 100; c pair_plus 3 100; d ante 4 100",
     "c rejected T-DEAL-2; d rejected T-DEAL-2; a pending; p pending"),
    ("T-DEAL-1d", "a ante 2 100 by x; b ante 4 100 by x; c ante 3 100 by x; d ante 1 100 by x; e ante 4 100",
     "b rejected T-DEAL-1d; d rejected T-DEAL-1d; a pending; c pending; e pending"),
    ("T-DEAL-1", "a ante 2 100 by x; b pair_plus 2 100 by y; c pair_plus 2 100 by x",
     "b rejected T-DEAL-1; a pending; c pending"),
    ("T-DEAL-1d", "a ante 2 100 by x; void; b ante 5 100 by x", "a void 100; b pending"),
    ("T-DEAL-2", "close; void; a ante 3 100; close; deal 3=2h3d5c dealer=Kc8d3s; b ante 3 100",
     "a lose; b pending"),
    ("T-DEAL-4", "a ante 3 100; remove a; increase a 200; reduce a 1",
     "a refused T-DEAL-4; a refused T-DEAL-4; a refused T-DEAL-4; a pending"),
    ("T-DEAL-4", "a ante 3 100; p play 3 100; deal 3=2h3d5c dealer=Kc8d3s folds=3",
     "p refused T-DEAL-4; a pending; p pending"),
    ("T-DEAL-5",
     "a ante 1 100; b ante 2 100; c ante 5 100; p play 2 100; deal 1=2h3d5c 2=Ah9d5d 5=2c3c5s dealer=Kc8d3s",
     "a lose; c lose; p win 100 200; b win 100 200"),
    ("T-DEAL-7",
     "b ante 2 100; c ante 10 100; p play 2 100; q play 10 100; deal 2=AhTd5c 10=9h9d4c dealer=Kc8d3s",
     "q win 100 200; c win 100 200; p win 100 200; b win 100 200"),
    ("T-DEAL-7", "a ante 2 100; b pair_plus 2 100; s side 2 100; p play 2 100; deal 2=AhAdAc dealer=Kc8d3s",
     "p win 100 200; a:bonus win 300 300; a win 100 200; b win 2500 2600; s win 300 400"),
    ("T-DEAL-8", "b pair_plus 3 100; c side 3 100; a ante 3 100; d pair_plus 3 100; e side 3 100",
     "b rejected T-DEAL-8; c rejected T-DEAL-8; a pending; d pending; e pending"),
    ("T-DEAL-8", "a ante 3 100; f side 4 100", "f rejected T-DEAL-8; a pending"),
    ("T-DEAL-9", "a ante 3 401; b ante 3 99; c ante 3 400; d pair_plus 3 401; e pair_plus 3 400",
     "a rejected T-DEAL-9; b rejected T-DEAL-9; d rejected T-DEAL-9; c pending; e pending"),
    ("T-SIDE-1", "a ante 3 100; b side 3 401; c side 3 99; d side 3 400",
     "b rejected T-SIDE-1; c rejected T-SIDE-1; a pending; d pending"),
    ("T-SIDE-1", "a ante 3 100; p play 3 100; s side 3 100", "s rejected T-DEAL-2; a pending; p pending"),
    ("!T-7", "a ante 3 100; s side 3 100; deal 3=KhKd4c dealer=Kc8d3s folds=3", "a lose; s win 300 400"),
    ("!T-7", "a ante 3 100; s side 3 100; deal 3=KhQd3c dealer=Jc8d2s folds=3", "a lose; s lose"),
    ("T-IRR-1", "a ante 3 100; b pair_plus 3 100; p play 3 100; deal 3=2h3d dealer=Kc8d3s",
     "a void 100; b void 100; p void 100"),
    ("T-IRR-1", "a ante 3 100; deal 3=2h3d5c6c dealer=Kc8d3s folds=3", "a void 100"),
    ("T-IRR-1", "a ante 3 100; deal 3=2h3d5c dealer=Kc8d", "a void 100"),
    ("T-IRR-1", "a ante 3 100; deal 3=2h3d5c dealer=Kc8d3s4d", "a void 100"),
    ("T-IRR-1", "a ante 3 100; b ante 4 100; deal 3=2h3d5c dealer=Kc8d3s", "a void 100; b void 100"),
    ("T-IRR-1", "a ante 3 100; deal 3=2h3d5c 4=9h dealer=Kc8d3s", "a void 100"),
    ("T-IRR-1", "a ante 3 100; deal 3=2h3d5c 4=9h9d8s dealer=Kc8d3s", "a lose"),
    ("T-IRR-1", "a ante 3 100; void; b ante 3 100", "a void 100; b pending"),
    ("T-DECK-1", "a ante 3 100; p play 3 100; deal 3=Kc3d5c dealer=Kc8d3s", "a void 100; p void 100"),
    ("T-DECK-1", "a ante 3 100; deal 3=2h2h5c dealer=Kc8d3s", "a void 100"),
    ("BOOK-ID", "a ante 3 100; a ante 4 100; remove z; b:bonus ante 4 100",
     "a rejected BOOK-ID; z refused BOOK-ID; b:bonus rejected BOOK-ID; a pending"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "steps", "expected"), SCENES, ids=[f"{scene[0]}-{scene[1]}" for scene in SCENES]
)
def test_rule(rule: str, steps: str, expected: str) -> None:
    assert "; ".join(play(steps)) == expected


@pytest.mark.parametrize(
    ("held", "pays"),
    [
        ("2h2d3c", 1),
        ("2h9hTh", 3),
        ("AhKdQc", 5),
        ("2h2d2c", 25),
        ("KhQhJh", 30),
        ("AhKhQh", 40),
    ],
)
def test_t_pp_2_pair_plus_pays_its_highest_row(held: str, pays: int) -> None:
    results = play(f"a ante 3 100; b pair_plus 3 300; p play 3 100; deal 3={held} dealer=9s7d4c")
    assert results[-1] == f"b win {300 * pays} {300 * pays + 300}"


@pytest.mark.parametrize(
    ("held", "dealer", "pays"),
    [
        ("7h7d9c", "7sKd2c", 3),
        ("7h8d9c", "TsJd2c", 5),
        ("2h4h9h", "JhKh2c", 8),
        ("7h7d9c", "7s9d2c", 15),
        ("7h7d9c", "7s7c2c", 25),
        ("7h8h9h", "ThJh2c", 100),
        ("AhKhQh", "JhTh2c", 200),
        ("AhKhQh", "JhTh9h", 250),
        ("9hThJh", "QhKhAh", 250),
    ],
)
def test_t_side_2_gap_t_17_the_side_bet_pays_the_best_of_six_cards(held: str, dealer: str, pays: int) -> None:
    results = play(f"a ante 3 100; s side 3 200; p play 3 100; deal 3={held} dealer={dealer}")
    assert results[-1] == f"s win {200 * pays} {200 * pays + 200}"


def test_reasons_name_the_hands_the_rule_and_the_pay_table() -> None:
    play_line, ante_line = result_lines("a ante 3 100; p play 3 100; deal 3=AhTd5c dealer=Kc8d3s")
    assert play_line["reason"] == (
        "T-RES-3: A-T-5 high against K-8-3 high; T-RES-3: three-card-poker-12-014 pays 1:1"
    )
    (push, _) = result_lines("a ante 3 100; p play 3 100; deal 3=AhTd5c dealer=Jc8d3s")
    assert push["reason"] == "T-RES-2: the dealer does not play with J-8-3 high"
    assert ante_line["wager"] == "ante"
    (void,) = result_lines("a ante 3 100; deal 3=AhTd dealer=Jc8d3s")
    assert void["reason"] == "T-IRR-1: position 3 has 2 cards, not 3"
    (void,) = result_lines("a ante 3 100; void fouled shoe")
    assert void["reason"] == "T-IRR-1: fouled shoe"


def test_an_ante_bonus_line_has_no_stake() -> None:
    _, bonus, _ = result_lines("a ante 3 200; p play 3 200; deal 3=AhKhQh dealer=Kc8d3s")
    assert (bonus["id"], bonus["wager"], bonus["stake"]) == ("a:bonus", "ante_bonus", 0)
    assert bonus["payout"] == bonus["returned"] == 1000


def with_settings(changed: ThreeCardSettings) -> ThreeCardPayTable:
    return replace(paytable(), settings=changed)


def test_t_2_a_house_may_offer_pair_plus_alone() -> None:
    alone = with_settings(
        replace(paytable().settings, ante_required=Switch(value=False, rule="!T-2", reason=""))
    )
    scene = "b pair_plus 3 100; s side 3 100; deal 3=2h2d3c dealer=2s8d3s folds=3"
    assert play(scene, alone) == ["b win 100 200", "s win 1500 1600"]


def test_t_7_a_house_may_take_the_side_bet_of_a_folded_hand() -> None:
    taken = with_settings(
        replace(paytable().settings, side_after_fold=SideAfterFold(value="forfeited", rule="!T-7", reason=""))
    )
    scene = "a ante 3 100; s side 3 100; deal 3=KhKd3c dealer=Kc8d3s folds=3"
    assert play(scene, taken) == ["a lose", "s lose"]


def test_t_8_a_house_may_require_pair_plus_for_the_side_bet() -> None:
    asked = with_settings(
        replace(paytable().settings, side_needs_pair_plus=Switch(value=True, rule="!T-8", reason=""))
    )
    assert play("a ante 3 100; s side 3 100; b pair_plus 3 100; t side 3 100", asked) == [
        "s rejected T-SIDE-1",
        "a pending",
        "b pending",
        "t pending",
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"do":"deal","hands":{"3":["1h","Jd","2c"]},"dealer":["Kc","8d","3s"]}',
        '{"do":"deal","hands":{"3":["Qh","Jd","2c"]},"dealer":["Kc","8d","3x"]}',
        '{"do":"deal","hands":{"3":["10h","Jd","2c"]},"dealer":["Kc","8d","3s"]}',
        '{"do":"deal","hands":{"3":"QhJd2c"},"dealer":["Kc","8d","3s"]}',
        '{"do":"deal","dealer":["Kc","8d","3s"]}',
        '{"do":"bet","id":"a","wager":"ante","amount":100}',
        '{"do":"spin","number":"17"}',
    ],
)
def test_a_line_that_is_not_a_request_ends_the_run(line: str) -> None:
    with pytest.raises(MalformedLine, match="line 1: found"):
        list(settle([line.encode()], ThreeCardBook(paytable())))


def test_t_6_a_house_may_pay_the_ante_bonus_of_a_folded_hand() -> None:
    paid = with_settings(
        replace(paytable().settings, ante_bonus_after_fold=Switch(value=True, rule="!T-6", reason=""))
    )
    scene = "a ante 3 100; b ante 4 100; deal 3=4h3h2h 4=9s9d2c dealer=Kc8d3s folds=3,4"
    assert play(scene, paid) == ["a lose", "b lose", "a:bonus win 400 400"]


def test_t_3_in_a_house_where_the_dealer_wins_equal_hands_ante_and_play_lose() -> None:
    asked = [
        b'{"do":"bet","id":"a","seat":"3","wager":"ante","amount":100}',
        b'{"do":"bet","id":"p","seat":"3","wager":"play","amount":100}',
        b'{"do":"deal","hands":{"3":["Kh","8c","3d"]},"dealer":["Kc","8d","3s"]}',
    ]
    results = b"".join(settle(asked, ThreeCardBook(paytable(), "dealer_wins"))).splitlines()
    assert [b'"lose"' in line and b"!T-3" in line for line in results] == [True, True]


def test_t_deal_1d_a_refusal_names_each_position_that_the_player_has() -> None:
    refused, *_ = result_lines("a ante 3 100 by x; b ante 4 100 by x; c ante 5 100 by x")
    assert "x has positions 3, 4 and can't add 5" in str(refused["reason"])
    refused, *_ = result_lines("a ante 3 100 by x; b ante 5 100 by x")
    assert "x has position 3 and can't add 5" in str(refused["reason"])
