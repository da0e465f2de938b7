"""Three Card Poker enumerated: each hand against each dealer's hand, all sets of six cards, the edges."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, islice
from pathlib import Path

from controller.games.three_card.wagers.edges import (
    DEALERS,
    HANDS,
    SIX_CARDS,
    best_play,
    hand_counts,
    report,
    showdowns,
    side_rows,
)
from controller.games.three_card.wagers.paytable import (
    Card,
    PrintedChance,
    Row,
    SideRow,
    ThreeCardPayTable,
    deck,
    row,
    side_row,
    strength,
)
from controller.settings.paytables import check
from controller.settings.places import config_file
from controller.settlement.paytable import Pays, Report
from tests.games.three_card.wagers.scene import T12014, paytable


@cache
def shipped() -> Report:
    return report(paytable())


def edges(table: ThreeCardPayTable) -> dict[str, Fraction]:
    return {row.wager: row.edge for row in report(table).edges}


def test_every_edge_is_exact() -> None:
    assert {row.wager: row.edge for row in shipped().edges} == {
        "ante and play": Fraction(3875621, 101792600),
        "ante and play, of all money bet": Fraction(3875621, 101792600) / (1 + Fraction(149, 221)),
        "pair_plus": Fraction(757, 5525),
        "side": Fraction(508289, 1017926),
    }


def test_t_3_if_equal_hands_lose_the_house_edge_is_larger(tmp_path: Path) -> None:
    # 801889/20358520 was computed by a different program from every hand against every dealer's hand.
    shipped_rules = config_file("rulesets", T12014).read_text(encoding="utf-8")
    assert "equal_hands: push " in shipped_rules
    stricter = tmp_path / f"{T12014}.yaml"
    stricter.write_text(
        shipped_rules.replace("equal_hands: push ", "equal_hands: dealer_wins "), encoding="utf-8"
    )
    found = {row.wager: row.edge for row in check(str(stricter)).edges}
    assert found["ante and play"] == Fraction(801889, 20358520)  # 3.94 per cent
    assert found["ante and play, of all money bet"] == Fraction(801889, 20358520) / (1 + Fraction(149, 221))


def test_t_6_no_hand_with_a_bonus_should_fold_so_a_bonus_after_a_fold_changes_no_edge() -> None:
    # The worst loss of such a hand, without any win or bonus, is less than the Ante that a fold costs.
    bonused = [met for met in showdowns() if row(met.hand) is not None]
    assert bonused
    assert all(2 * (met.higher + met.equal) < DEALERS for met in bonused)


def test_t_5_without_a_row_for_the_mini_royal_the_edge_of_pair_plus_is_larger() -> None:
    table = paytable()
    rows = {**table.pair_plus, Row.MINI_ROYAL: Pays(pays=(30, 1), rule="T-PP-2")}
    assert edges(replace(table, pair_plus=rows))["pair_plus"] == Fraction(59, 425)


def test_t_prob_1_every_printed_count_and_chance_is_right() -> None:
    assert hand_counts() == {
        "nothing": 6720,
        "high_card": 9720,
        "pair": 3744,
        "flush": 1096,
        "straight": 720,
        "three_of_a_kind": 52,
        "straight_flush": 48,
    }
    shown = shipped()
    assert [(row.event, row.printed, row.agrees) for row in shown.chances[:7]] == [
        ("nothing", "30.4", True),
        ("high card", "44.0", True),
        ("pair", "16.9", True),
        ("flush", "5.0", True),
        ("straight", "3.3", True),
        ("three of a kind", "0.2", True),
        ("straight flush", "0.2", True),
    ]
    assert sum(row.chance for row in shown.chances[:7]) == 1
    assert shown.agrees


def test_a_wrong_printed_count_or_chance_is_found() -> None:
    table = paytable()
    wrong = {**table.printed_chances, "pair": PrintedChance(combinations=3745, per_cent="17.0")}
    shown = report(replace(table, printed_chances=wrong))
    (found,) = (found for found in shown.findings if found.code == "wrong_count")
    assert found.text == "3745 combinations are printed, but there are 3744"
    assert not shown.agrees


def test_the_best_strategy_is_queen_six_four_and_is_reported() -> None:
    best = best_play(paytable())
    assert str(best.weakest) == "Q-6-4 high"
    assert Fraction(HANDS - best.played, HANDS) == Fraction(72, 221)
    chances = {row.event: row.chance for row in shipped().chances}
    assert chances["dealer qualifies"] == Fraction(769, 1105)
    assert chances["fold by best play, below Q-6-4 high"] == Fraction(72, 221)


def test_t_9_the_side_bet_causes_a_question_to_the_owner() -> None:
    (found,) = (found for found in shipped().findings if found.code == "steep")
    assert (found.wager, found.rule) == ("side", "T-SIDE-2")
    assert "508289/1017926" in found.text
    assert "49.93 per cent" in found.text


def test_t_9_the_usual_side_bet_pays_back_far_more() -> None:
    usual = (5, 10, 20, 25, 50, 200, 1000, 1000)
    table = paytable()
    side = {
        kind: Pays(pays=(to_one, 1), rule="T-SIDE-2") for kind, to_one in zip(SideRow, usual, strict=True)
    }
    assert edges(replace(table, side=side))["side"] == Fraction(15306, 149695)  # 10.22 per cent


def test_all_six_card_sets_are_counted() -> None:
    assert sum(side_rows().values()) == SIX_CARDS == 20_358_520
    assert side_rows() == {
        None: 18_876_456,
        SideRow.THREE_OF_A_KIND: 732_160,
        SideRow.STRAIGHT: 361_620,
        SideRow.FLUSH: 205_792,
        SideRow.FULL_HOUSE: 165_984,
        SideRow.FOUR_OF_A_KIND: 14_664,
        SideRow.STRAIGHT_FLUSH: 1_656,
        SideRow.ROYAL_FLUSH: 184,
        SideRow.MAJOR_ROYAL: 4,
    }


def test_the_showdowns_agree_with_every_dealer_hand() -> None:
    for met, hand in islice(zip(showdowns(), combinations(deck(), 3), strict=True), 11, None, 5003):
        assert met.hand == strength(hand)
        assert Counter(meetings(hand)) == Counter(
            unqualified=met.unqualified, higher=met.higher, equal=met.equal, lower=met.lower
        )
        assert met.unqualified + met.higher + met.equal + met.lower == DEALERS


def meetings(hand: tuple[Card, ...]) -> list[str]:
    own = strength(hand)
    found = []
    for dealt in combinations([one for one in deck() if one not in hand], 3):
        dealer = strength(dealt)
        if not dealer.qualifies:
            found.append("unqualified")
        else:
            found.append("higher" if dealer > own else "equal" if dealer == own else "lower")
    return found


def test_six_card_counts_agree_with_an_enumerated_short_deck() -> None:
    suited = [one for one in deck() if one.suit == "h"]
    rows = Counter(side_row(six) for six in combinations(suited, 6))
    assert rows[SideRow.MAJOR_ROYAL] * 4 == side_rows()[SideRow.MAJOR_ROYAL]
    assert set(rows) == {SideRow.FLUSH, SideRow.STRAIGHT_FLUSH, SideRow.ROYAL_FLUSH, SideRow.MAJOR_ROYAL}
