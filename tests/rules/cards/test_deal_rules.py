"""The deal judge, rule by rule."""

from collections.abc import Sequence

import pytest

from controller.model.readings import AnyReading, Card, DeviceDown, Input, Switch
from controller.model.rulesets import DealRules
from controller.model.verdicts import DealVerdict, Reason, Ruling
from controller.rules.cards.deal import judge_deal, left_to_right, opens_shoe, position_name
from controller.rules.cards.hands import card, read_face, written
from controller.settings.rulesets import load_ruleset
from tests.scenes import SECOND_US, input_at

SHIPPED = load_ruleset("three-card-poker-12-014").deal
assert SHIPPED is not None
RULES: DealRules = SHIPPED
HANDS = {"1": "Qh Jd 2c", "2": "7s 7d 9h", "dealer": "Kc 8d 3s"}


def dealt(hands: dict[str, str]) -> list[AnyReading]:
    """Return the readings of a deal from a shoe with positions."""
    cards = [(position, text) for position, hand in hands.items() for text in hand.split()]
    return [
        Card(t=100 * n, dev="shoe", rank=text[0], suit=text[1], to=position)  # type: ignore[arg-type]  # a suit
        for n, (position, text) in enumerate(cards, 1)
    ]


def acts(**by_seat: str) -> list[Input]:
    """Return the inputs by which positions play or fold."""
    return [input_at(9000 + n, act, "dealer", seat=seat[1:]) for n, (seat, act) in enumerate(by_seat.items())]


ALL_PLAY = acts(p1="play", p2="play")


def judged(
    readings: Sequence[AnyReading], *, timed_out: bool = False, called: Reason | None = None
) -> DealVerdict:
    """Judge a deal to positions 1 and 2."""
    decided_at_us = 130 * SECOND_US if timed_out else 10_000
    return judge_deal(readings, ("1", "2"), RULES, decided_at_us=decided_at_us, called=called)


def reason_codes(verdict: DealVerdict) -> tuple[Ruling, list[tuple[str, str]]]:
    return verdict.ruling, [(reason.code, reason.rule) for reason in verdict.reasons]


def test_T_IRR_1_three_cards_each_and_none_twice_is_a_deal() -> None:
    verdict = judged([*dealt(HANDS), *ALL_PLAY])
    assert reason_codes(verdict) == (Ruling.VALID, [])
    assert verdict.dealt is not None
    assert verdict.dealt.dealer == ("Kc", "8d", "3s")
    assert verdict.sentence == "2 hands and the dealer's, three cards each, no duplicates"


def test_T_IRR_1_causes_are_all_listed() -> None:
    readings = [*dealt({**HANDS, "1": "Qh Qh 2c 3c", "2": "7s 7d 9h 4h"})]
    readings.append(Switch(t=5000, dev="shoe", name="lid", open=True))
    assert reason_codes(judged(readings)) == (
        Ruling.VOID,
        [
            ("wrong_count", "T-IRR-1"),
            ("wrong_count", "T-IRR-1"),
            ("card_twice", "T-DECK-1"),
            ("shoe_opened", "T-DECK-1"),
        ],
    )


def test_T_IRR_1_a_short_hand_voids_the_deal_only_when_the_dealing_is_over() -> None:
    short = [*dealt({**HANDS, "2": "7s 7d"}), *ALL_PLAY]
    assert judged(short).ruling is Ruling.REVIEW
    assert reason_codes(judged(short, timed_out=True)) == (Ruling.VOID, [("wrong_count", "T-IRR-1")])
    nobody_acted = judged(short[:-2], timed_out=True)
    assert nobody_acted.ruling is Ruling.REVIEW


def test_a_shoe_that_was_down_proves_no_count() -> None:
    down = DeviceDown(t=350, dev="shoe", reason="unplugged")
    readings = [*dealt({**HANDS, "1": "Qh Jd 2c 4c"}), down, *ALL_PLAY]
    verdict = judged(readings, timed_out=True)
    assert verdict.ruling is Ruling.REVIEW
    assert ("missing_reading", "T-IRR-1") in reason_codes(verdict)[1]


def test_a_device_other_than_the_shoe_that_was_down_does_not_matter() -> None:
    down = DeviceDown(t=350, dev="door-sensor", reason="unplugged")
    assert judged([*dealt(HANDS), down, *ALL_PLAY]).ruling is Ruling.VALID


def test_a_persons_call_is_listed_first_with_the_proven_causes_after_it() -> None:
    called = Reason(code="called", rule="T-IRR-1", seen="declared by the dealer")
    verdict = judged(dealt({**HANDS, "1": "Qh Jd 2c 4c"}), called=called)
    assert [reason.code for reason in verdict.reasons] == ["called", "wrong_count"]


def test_evidence_names_no_card_until_all_have_acted() -> None:
    entered = input_at(8000, "set_card", "dealer", seat="1", card="4c", what="Jd")
    assert judged([*dealt(HANDS), entered, *ALL_PLAY[:1]]).evidence == (ALL_PLAY[0],)
    late = judged([*dealt(HANDS), *ALL_PLAY]).evidence
    assert [r.rank for r in late if isinstance(r, Card)][:2] == ["Q", "J"]


def test_an_entered_card_that_is_in_another_hand_is_a_conflict_and_not_a_void() -> None:
    entered = input_at(8000, "set_card", "dealer", seat="1", card="7s", what="Jd")
    assert reason_codes(judged([*dealt(HANDS), entered, *ALL_PLAY])) == (
        Ruling.REVIEW,
        [("conflict", "T-DEAL-3")],
    )


def test_two_cards_at_the_same_time_have_no_order() -> None:
    cards = [Card(t=5, dev="shoe", rank="23456789T"[n], suit="c") for n in range(9)]
    assert ("conflict", "T-DEAL-3") in reason_codes(judged([*cards, *ALL_PLAY]))[1]


def test_a_shoe_that_stops_naming_positions_is_a_conflict() -> None:
    cards = [*dealt(HANDS)[:-1], Card(t=3000, dev="shoe", rank="3", suit="s"), *ALL_PLAY]
    assert ("conflict", "T-DEAL-3") in reason_codes(judged(cards))[1]


@pytest.mark.parametrize(
    ("text", "face"),
    [
        ("Qh", "Qh"),
        ("qH", "Qh"),
        ("10s", "Ts"),
        (" 2c ", "2c"),
        ("1c", None),
        ("Q", None),
        ("", None),
        (None, None),
    ],
)
def test_a_card_is_parsed_as_people_write_it(text: str | None, face: str | None) -> None:
    assert written(text) == face


@pytest.mark.parametrize(
    ("rank", "suit", "face"),
    [
        ("Q", "h", "Qh"),
        (10, "s", "Ts"),
        ("10", "s", "Ts"),
        (2, "c", "2c"),
        (11, "c", None),
        ("Q", None, None),
    ],
)
def test_a_shoes_reading_is_a_card_of_the_deck_or_unread(
    rank: str | int | None, suit: str | None, face: str | None
) -> None:
    reading = Card(t=1, dev="shoe", rank=rank, suit=suit)  # type: ignore[arg-type]  # a suit
    assert read_face(reading) == face
    assert face is None or card(face) is not None


def test_positions_are_ordered_from_the_dealers_left_by_number() -> None:
    assert left_to_right(["10", "2", "1", "2", "x"]) == ("1", "2", "10", "x")
    assert [position_name(seat) for seat in (3, "3", "Dealer", 0, "d", None)] == [
        "3", "3", "dealer", "dealer", "dealer", None,
    ]  # fmt: skip


def test_only_a_lid_that_opens_counts_as_an_opened_shoe() -> None:
    assert opens_shoe(Switch(t=1, dev="s", name="Shoe Lid", open=True))
    assert not opens_shoe(Switch(t=1, dev="s", name="shoe_lid", open=False))
    assert not opens_shoe(Switch(t=1, dev="s", name="door", open=True))


@pytest.mark.parametrize(
    ("order", "seen"),
    [
        (("1", "2", "dealer"), None),
        (("2", "1", "dealer"), "cards went to 2 before 1"),
        (("dealer", "1", "2"), "cards went to dealer before 1"),
        (("1", "dealer", "2"), "cards went to dealer before 2"),
    ],
)
def test_T_DEAL_3_a_shoe_that_deals_backwards_or_to_the_dealer_first_is_noted(
    order: tuple[str, ...], seen: str | None
) -> None:
    verdict = judged([*dealt({position: HANDS[position] for position in order}), *ALL_PLAY])
    assert verdict.ruling is Ruling.VALID
    notices = [(notice.code, notice.rule, notice.seen.partition(";")[0]) for notice in verdict.notices]
    assert notices == ([("dealt_out_of_order", "T-DEAL-3", seen)] if seen else [])
