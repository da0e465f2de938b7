"""The controller's settlement agrees with the reference engines, to the cent and the rule."""

import pytest

from tests.settlement.reference.comparison import WAGERS_PER_SESSION, BothEngines
from tests.settlement.reference.lines import Rejected, Settled, differs
from tests.settlement.reference.random_requests import RANDOM_REQUESTS
from tests.settlement.reference.three_card import mini_royal, name_of, side_odds

SESSIONS_EACH = 15
"""900 wagers of each rule set; `make soak` runs more."""


@pytest.mark.parametrize("ruleset", sorted(RANDOM_REQUESTS))
def test_random_sessions_settle_as_in_the_reference(ruleset: str) -> None:
    engines = BothEngines(ruleset)
    sessions = [engines.compare(seed=2026, number=number) for number in range(SESSIONS_EACH)]
    assert [session.difference for session in sessions if session.difference] == []
    wagers, rejected = sum(each.wagers for each in sessions), sum(each.rejected for each in sessions)
    assert wagers == SESSIONS_EACH * WAGERS_PER_SESSION
    assert wagers // 10 < rejected < wagers * 9 // 10


WIN: dict[str, object] = {
    "id": "b",
    "wager": "place",
    "status": "win",
    "stake": 600,
    "payout": 700,
    "returned": 700,
}


@pytest.mark.parametrize("key", ["status", "stake", "payout", "returned"])
def test_one_cent_or_word_is_a_difference(key: str) -> None:
    right = Settled("b", "place", "win", 600, 700, 700)
    assert differs([right], [WIN]) is None
    assert differs([right], [{**WIN, key: "lose" if key == "status" else 699}])


def test_a_rejection_under_another_rule_is_a_difference() -> None:
    line: dict[str, object] = {"id": "b", "wager": "come", "status": "rejected", "payout": 0, "returned": 0}
    line |= {"reason": "CV1-LIM-1: too much"}
    assert differs([Rejected("b", "come", frozenset({"CV1-LIM-1"}))], [line]) is None
    assert differs([Rejected("b", "come", frozenset({"CV1-COME-1"}))], [line])


def test_a_line_that_is_missing_or_too_many_is_a_difference() -> None:
    right = Settled("b", "place", "win", 600, 700, 700)
    assert differs([right, right], [WIN])
    assert differs([], [WIN])


@pytest.mark.parametrize(
    ("cards", "kind"),
    [
        ("Ah 3d 2c", "straight"),
        ("Ah Kd 2c", "high"),
        ("Ah Kh Qh", "straight_flush"),
        ("3h 3d 3c", "three"),
        ("3h 9h Jh", "flush"),
        ("3h 3d Jc", "pair"),
    ],
)
def test_the_reference_names_hands(cards: str, kind: str) -> None:
    assert name_of(cards.split())[0] == kind
    assert mini_royal(cards.split()) == (cards == "Ah Kh Qh")


@pytest.mark.parametrize(
    ("cards", "odds"),
    [
        ("Ah Kh Qh Jh Th 9h", 250),
        ("Ah Kh Qh Jh Th 9c", 200),
        ("9h 8h 7h 6h 5h 5c", 100),
        ("9h 9d 9c 9s 5h 5c", 25),
        ("9h 9d 9c 5s 5h 5c", 15),
        ("Ah 2d 3c 4s 5h 5c", 5),
        ("9h 9d 8c 8s 5h 5c", None),
    ],
)
def test_the_reference_prices_the_side_bet(cards: str, odds: int | None) -> None:
    assert side_odds(cards.split()) == odds
