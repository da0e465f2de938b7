"""The ranking of hands: the document's order, and agreement with another library for every possible hand."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from pokerkit import RhodeIslandHoldemLookup, StandardHighHand

from controller.games.three_card.wagers.paytable import (
    RANKS,
    SUITS,
    Card,
    Kind,
    Row,
    SideRow,
    card,
    deck,
    row,
    side_row,
    strength,
)
from tests.games.three_card.wagers.scene import cards


def hand(text: str) -> tuple[Card, ...]:
    found = tuple(card(one) for one in cards(text))
    assert None not in found
    return tuple(one for one in found if one)


def shown(held: tuple[Card, ...]) -> str:
    return "".join(RANKS[rank - 2] + suit for rank, suit in held)


def test_t_deck_1_a_deck_has_52_cards_and_each_parses_as_written() -> None:
    assert len(set(deck())) == 52
    assert [card(shown((one,))) for one in deck()] == deck()
    assert [card(text) for text in ("1h", "Xs", "hQ", "qh", "QH", "10h", "Q", "")] == [None] * 8


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("4h3h2h", "AsAhAd"),  # straight flush above three of a kind
        ("2s2h2d", "AsKhQd"),  # three of a kind above a straight
        ("3s2hAd", "AsKsJs"),  # T-RANK-1: a straight above a flush
        ("5s3s2s", "AsAhKd"),  # flush above a pair
        ("2s2h3d", "AsKhJd"),  # pair above high card
        ("AsKhQd", "KsQhJd"),
        ("4s3h2d", "3s2hAd"),  # T-RANK-2: 3-2-A is the lowest straight
        ("2sAhKd", "KsQhTd"),  # in every other hand the ace is high
        ("KsKh2d", "QsQhAd"),
        ("QsQhAd", "QcQdKh"),
        ("AsTh3d", "AhTd2c"),
    ],
)
def test_t_rank_1_and_t_rank_2_the_order_of_hands(better: str, worse: str) -> None:
    assert strength(hand(better)) > strength(hand(worse))


def test_t_3_equal_hands_are_equal_whatever_their_suits() -> None:
    assert strength(hand("QsTh3d")) == strength(hand("QhTd3c"))
    assert strength(hand("7s7h3d")) == strength(hand("7d7c3h"))


def test_every_three_card_hand_ranks_as_in_another_library() -> None:
    lookup = RhodeIslandHoldemLookup()
    kinds = {
        "High card": Kind.HIGH_CARD,
        "One pair": Kind.PAIR,
        "Flush": Kind.FLUSH,
        "Straight": Kind.STRAIGHT,
        "Three of a kind": Kind.THREE_OF_A_KIND,
        "Straight flush": Kind.STRAIGHT_FLUSH,
    }
    places: dict[int, set[tuple[int, ...]]] = {}
    for held in combinations(deck(), 3):
        entry = lookup.get_entry(shown(held))
        own = strength(held)
        assert own.kind is kinds[entry.label.value]
        places.setdefault(entry.index, set()).add((own.kind, *own.ranks))
    assert len(places) == 741
    ordered = [places[index] for index in sorted(places)]
    assert all(len(same) == 1 for same in ordered)
    strengths = [same.pop() for same in ordered]
    assert strengths == sorted(strengths)


def test_t_prob_1_the_number_of_each_kind_is_as_the_document_prints() -> None:
    kinds = Counter(strength(held).kind for held in combinations(deck(), 3))
    assert kinds == {
        Kind.STRAIGHT_FLUSH: 48,
        Kind.THREE_OF_A_KIND: 52,
        Kind.STRAIGHT: 720,
        Kind.FLUSH: 1096,
        Kind.PAIR: 3744,
        Kind.HIGH_CARD: 9720 + 6720,
    }


@pytest.mark.parametrize(
    ("held", "plays"),
    [
        ("QhJd2c", True),
        ("Qh3d2c", True),
        ("JhTd8c", False),
        ("2h2d3c", True),
        ("4h3d2c", True),
        ("9h5h2h", True),
    ],
)
def test_t_ante_1_the_dealer_plays_with_queen_high_or_better(held: str, plays: bool) -> None:
    assert strength(hand(held)).qualifies is plays


@pytest.mark.parametrize(
    ("held", "earns"),
    [
        ("AhKhQh", Row.MINI_ROYAL),  # !T-5
        ("KhQhJh", Row.STRAIGHT_FLUSH),
        ("3h2hAh", Row.STRAIGHT_FLUSH),
        ("7h7d7c", Row.THREE_OF_A_KIND),
        ("AhKhQd", Row.STRAIGHT),
        ("2h9hKh", Row.FLUSH),
        ("2h2d3c", Row.PAIR),
        ("AhKhJd", None),
    ],
)
def test_t_4_a_hand_earns_its_highest_row_only(held: str, earns: Row | None) -> None:
    assert row(strength(hand(held))) is earns


@pytest.mark.parametrize(
    ("six", "earns"),
    [
        ("AsKsQsJsTs9s", SideRow.MAJOR_ROYAL),  # !T-17: six suited from the ace
        ("AsKsQsJsTs9h", SideRow.ROYAL_FLUSH),
        ("KsQsJsTs9s8s", SideRow.STRAIGHT_FLUSH),
        ("AsKs5s4s3s2s", SideRow.STRAIGHT_FLUSH),  # 5-4-3-2-A is a straight
        ("7s7h7d7c2s2h", SideRow.FOUR_OF_A_KIND),
        ("7s7h7d2c2s9h", SideRow.FULL_HOUSE),
        ("7s7h7d2c2s2h", SideRow.FULL_HOUSE),
        ("As9s7s4s2s2h", SideRow.FLUSH),
        ("6s5s4s3s8s2h", SideRow.FLUSH),  # a flush beats the straight
        ("6s5h4s3s2s2h", SideRow.STRAIGHT),
        ("As5h4s3s2d9h", SideRow.STRAIGHT),
        ("AsKhQsJsTd9h", SideRow.STRAIGHT),
        ("7s7h7dAc2s9h", SideRow.THREE_OF_A_KIND),
        ("7s7h9d9c2s2h", None),
        ("2sAhKsQdJh3c", None),  # no straight around the corner
    ],
)
def test_t_side_1_the_best_of_six_cards(six: str, earns: SideRow | None) -> None:
    assert side_row(hand(six)) is earns


def test_six_cards_rank_as_in_another_library() -> None:
    labels: dict[str, SideRow | None] = {
        "Three of a kind": SideRow.THREE_OF_A_KIND,
        "Straight": SideRow.STRAIGHT,
        "Flush": SideRow.FLUSH,
        "Full house": SideRow.FULL_HOUSE,
        "Four of a kind": SideRow.FOUR_OF_A_KIND,
        "Straight flush": SideRow.STRAIGHT_FLUSH,
    }
    as_five_cards = {SideRow.ROYAL_FLUSH: SideRow.STRAIGHT_FLUSH, SideRow.MAJOR_ROYAL: SideRow.STRAIGHT_FLUSH}
    random = Random(12_014)
    # Few ranks make pairs common and few suits make flushes common, so that each kind of hand occurs.
    packs = [
        deck(),
        [one for one in deck() if one.rank >= 9],
        [one for one in deck() if one.rank >= 12],
        [one for one in deck() if one.suit in SUITS[:1]],
    ]
    seen = set()
    for turn in range(600):
        six = random.sample(packs[turn % len(packs)], 6)
        own = side_row(six)
        expected = labels.get(StandardHighHand.from_game(shown(tuple(six))).entry.label.value)
        assert (as_five_cards.get(own, own) if own else None) is expected, shown(tuple(six))
        seen.add(expected)
    assert seen == {None, *labels.values()}
