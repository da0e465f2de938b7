"""Properties of a Three Card Poker table under random bets and deals."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from pokerkit import RhodeIslandHoldemLookup

from controller.games.three_card.wagers.book import ThreeCardBook
from controller.games.three_card.wagers.paytable import RANKS, SUITS
from controller.settlement.run import settle
from tests.games.three_card.wagers.scene import paytable
from tests.settlement.arbitrary import answer_all, ends, keep

Json = Mapping[str, object]

often = settings(max_examples=80, derandomize=True, deadline=None)
DECK = [rank + suit for rank in RANKS for suit in SUITS]
LOOKUP = RhodeIslandHoldemLookup()
FIRST_QUEEN_HIGH = LOOKUP.get_entry("Qs3h2d").index


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[Json], Json]:
    """Draw the wagers of up to three positions, and a deal that counts."""
    cards = draw(st.permutations(DECK))
    made: list[Json] = []
    hands: dict[str, list[str]] = {}
    folds: list[str] = []
    for seat in [str(number) for number in range(1, draw(st.integers(1, 3)) + 1)]:
        ante = draw(st.integers(100, 400))
        made.append(bet(seat, "ante", ante))
        made += [
            bet(seat, wager, draw(st.integers(100, 400)))
            for wager in ("pair_plus", "side")
            if draw(st.booleans())
        ]
        if draw(st.booleans()):
            made.append(bet(seat, "play", ante))
        elif draw(st.booleans()):
            folds.append(seat)
        hands[seat] = [cards.pop() for _ in range(3)]
    made.sort(key=lambda one: one["wager"] == "play")  # every position has bet when the first cards are seen
    dealer = [cards.pop() for _ in range(3)]
    return made, {"do": "deal", "hands": hands, "dealer": dealer, "folds": folds}


def bet(seat: str, wager: str, cents: int) -> Json:
    return {
        "do": "bet",
        "id": f"{wager}-{seat}",
        "player": f"p{seat}",
        "wager": wager,
        "seat": seat,
        "amount": cents,
    }


def settled(requests: Sequence[Json]) -> list[dict[str, object]]:
    lines = [json.dumps(request).encode() for request in requests]
    return [json.loads(line) for line in b"".join(settle(lines, ThreeCardBook(paytable()))).splitlines()]


@often
@given(rounds())
def test_every_wager_is_decided_once_and_only_a_bonus_is_added(played: tuple[list[Json], Json]) -> None:
    made, deal = played
    told = settled([*made, deal])
    ids = Counter(str(line["id"]) for line in told if line["wager"] != "ante_bonus")
    assert ids == Counter(str(one["id"]) for one in made)
    stakes = {one["id"]: one["amount"] for one in made}
    for line in told:
        stake = stakes.get(line["id"], 0)
        assert line["stake"] == stake
        back = {"win": (line["payout"], stake), "push": (0, stake), "lose": (0, 0)}[str(line["status"])]
        assert (line["payout"], line["returned"]) == (back[0], sum(map(int, map(str, back))))


@often
@given(rounds())
def test_ante_and_play_agree_with_another_librarys_ranking(played: tuple[list[Json], Json]) -> None:
    made, deal = played
    told = {str(line["id"]): line["status"] for line in settled([*made, deal])}
    hands, dealer = deal["hands"], deal["dealer"]
    assert isinstance(hands, dict)
    assert isinstance(dealer, list)
    shown = LOOKUP.get_entry("".join(dealer)).index
    for seat, hand in hands.items():
        held = LOOKUP.get_entry("".join(hand)).index
        if f"play-{seat}" not in told:
            assert told[f"ante-{seat}"] == "lose"
        elif shown < FIRST_QUEEN_HIGH:
            assert (told[f"ante-{seat}"], told[f"play-{seat}"]) == ("win", "push")
        else:
            expected = "push" if held == shown else "win" if held > shown else "lose"
            assert told[f"ante-{seat}"] == told[f"play-{seat}"] == expected


@often
@given(rounds(), st.integers(0, 10**6))
def test_the_order_of_the_positions_wagers_does_not_matter(
    played: tuple[list[Json], Json], seed: int
) -> None:
    made, deal = played
    seats = sorted({str(one["seat"]) for one in made})
    Random(seed).shuffle(seats)
    mixed = [one for seat in seats for one in made if one["seat"] == seat]
    mixed.sort(key=lambda one: one["wager"] == "play")
    assert settled([*mixed, deal]) == settled([*made, deal])


@often
@given(rounds(), st.sampled_from(["hand", "dealer", "twice", "missing", "called"]))
def test_a_deal_that_does_not_count_returns_every_cent(played: tuple[list[Json], Json], fault: str) -> None:
    made, deal = played
    hands, dealer = deal["hands"], deal["dealer"]
    assert isinstance(hands, dict)
    assert isinstance(dealer, list)
    faults: dict[str, Json] = {
        "hand": {**deal, "hands": {**hands, "1": hands["1"][:2]}},
        "dealer": {**deal, "dealer": [*dealer, "2c"]},
        "twice": {**deal, "dealer": [dealer[0], dealer[1], hands["1"][0]]},
        "missing": {**deal, "hands": {seat: hand for seat, hand in hands.items() if seat != "1"}},
        "called": {"do": "void", "reason": "fouled"},
    }
    told = settled([*made, faults[fault], deal])
    assert [(line["id"], line["status"], line["returned"]) for line in told] == [
        (one["id"], "void", one["amount"]) for one in made
    ]


WORDS = st.sampled_from(["ante", "pair_plus", "side", "play", "1", "2", "a", "", "Qh", "9" * 5000])
CENTS = st.integers(-5, 500)
ARBITRARY = st.one_of(WORDS, CENTS, st.none(), st.booleans(), st.floats(), st.lists(WORDS, max_size=4))
CARDS = st.lists(st.sampled_from([*DECK[:9], "1h"]), max_size=4)
REQUESTS = st.fixed_dictionaries(
    {"do": st.sampled_from(["bet", "close", "deal", "void", "remove", "reduce", "increase", "spin"])},
    optional={
        "id": st.sampled_from(["a", "b", "c", "a:bonus", ""]),
        "seat": WORDS | st.integers(-1, 3),
        "player": WORDS,
        "wager": WORDS,
        "amount": CENTS | ARBITRARY,
        "hands": st.dictionaries(WORDS, CARDS, max_size=3),
        "dealer": CARDS,
        "folds": st.lists(WORDS, max_size=2),
        "to": CENTS,
        "reason": WORDS,
    },
)
FIELDS = {
    "bet": ("id", "player", "seat", "wager", "amount"),
    "deal": ("hands", "dealer", "folds"),
    "void": ("reason",),
    "remove": ("id",),
    "reduce": ("id", "to"),
    "increase": ("id", "to"),
}


@settings(often, max_examples=150)
@given(rounds(), st.lists(REQUESTS, max_size=12), st.booleans())
def test_no_requests_raise_anything_and_each_wager_ends_once(
    played: tuple[list[Json], Json], requests: list[Json], dealt: bool
) -> None:
    made, deal = played
    absurd = [keep(request, FIELDS) for request in requests]
    ended = ends(answer_all(ThreeCardBook(paytable()), [*made, *absurd, *([deal] if dealt else [])]))
    assert len(ended) == len(set(ended))
    assert {one["id"] for one in made} <= set(ended)
