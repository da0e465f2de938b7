"""Delayed readings at a card table or a wheel are neither ignored nor guessed."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from controller.journal.contents import build_evidence
from controller.journal.recall import judge_again
from controller.machines.setup import Setup
from controller.model.effects import Judged, LateReading
from controller.model.outcomes import DealCalled, DealReview, DealVoid, SpinCalled, SpinReview
from controller.model.readings import AnyReading, BallBeam, BallOut, Card, ForeignObject, Reading
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.rules.wheel.simulator import Scene, spin, wheel
from tests.scenes import SECOND_US, input_at, throw

MS = 1000
WHEEL = wheel()
SPIN = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0))
CARDS = ("Qh", "7s", "3s", "Jd", "7d", "Kc", "2c", "9h", "8d")
"""Positions 1 and 2 and the dealer, in rotation."""


def shoe(*texts: str, to: Sequence[str] = ()) -> list[AnyReading]:
    """Return these cards leaving the shoe half a second apart, from the tenth second on."""
    return [
        Card(
            t=10 * SECOND_US + n * SECOND_US // 2,
            dev="shoe",
            rank=text[0],
            suit=text[1],  # type: ignore[arg-type]  # a suit
            to=to[n % len(to)] if to else None,
        )
        for n, text in enumerate(texts)
    ]


def acting(*, shoe_gave: list[AnyReading], held_up: int, by_us: int) -> Played:
    """Deal to positions 1 and 2, who play; one card's reading is delayed."""
    arrivals = [
        replace(card, arrived=card.t + (by_us if n == held_up else 0)) for n, card in enumerate(shoe_gave)
    ]
    acts = [
        input_at(20 * SECOND_US + n, "play", "dealer", seat=seat, arrived=20 * SECOND_US + n)
        for n, seat in enumerate("12")
    ]
    seats = input_at(1, "seats", "dealer", seats=("1", "2"), arrived=1)
    in_order = sorted([seats, *arrivals, *acts], key=lambda reading: reading.arrived or 0)
    return Played("three-card-poker-12-014").feed(in_order).finish()


@pytest.mark.parametrize("held_up", range(len(CARDS)))
@pytest.mark.parametrize("to", [(), ("1", "2", "dealer")])
def test_T_IRR_1_a_late_card_leads_to_review_and_not_to_a_wrong_count(
    held_up: int, to: tuple[str, ...]
) -> None:
    played = acting(shoe_gave=shoe(*CARDS, to=to), held_up=held_up, by_us=700 * MS)
    assert len([effect for effect in played.effects if isinstance(effect, LateReading)]) == 1
    assert played.data(DealCalled) == []
    assert played.data(DealVoid) == []
    (review,) = played.data(DealReview)
    assert review.reasons[0].code == "missing_reading"
    assert "a card from shoe was reported too late" in review.reasons[0].seen


@pytest.mark.parametrize("held_up", [1, 4, 9])
@pytest.mark.parametrize("by_ms", [200, 700, 8_000])
def test_T_DEAL_2_bets_close_as_of_the_first_card_however_late_its_reading_arrives(
    held_up: int, by_ms: int
) -> None:
    """A player who has seen his cards would otherwise bet on a known hand."""
    cards = shoe(*CARDS, to=("1", "2", "dealer"))
    arrivals = [
        replace(card, arrived=card.t + (by_ms * MS if n < held_up else 0)) for n, card in enumerate(cards)
    ]
    played = (
        Played("three-card-poker-12-014").feed(sorted(arrivals, key=lambda card: card.arrived or 0)).finish()
    )
    closed_us = [outcome.t for outcome in played.outcomes if outcome.type == "bets.closed"]
    assert closed_us[-1] == min(closed_us) == cards[0].t
    assert played.data(DealCalled) == []


def test_T_DEAL_2_a_late_card_of_a_finished_deal_does_not_close_the_next_bets() -> None:
    played = acting(shoe_gave=shoe(*CARDS), held_up=0, by_us=0)
    straggler = Card(t=14 * SECOND_US, dev="shoe", rank="4", suit="h", arrived=40 * SECOND_US)
    before = played.types("bets")
    assert before == ["bets.closed", "bets.opened"]
    assert played.feed(straggler).finish().types("bets") == before


def test_T_IRR_1_cards_in_time_are_called() -> None:
    played = acting(shoe_gave=shoe(*CARDS), held_up=0, by_us=100 * MS)
    assert [called.dealer for called in played.data(DealCalled)] == [("Kc", "8d", "3s")]


def test_H_DEAL_1_a_late_pitched_card_is_reported_and_entered_by_a_person() -> None:
    played = Played("high-roller-12-005")
    for n, (seat, rank) in enumerate((("1", "Q"), ("2", "9"))):
        played.feed(input_at(n + 1, "draw_button", "dealer", seat=seat, card=rank, arrived=n + 1))
    bought = input_at(SECOND_US, "buy", "dealer", seat="1", count=1, arrived=SECOND_US)
    card = Card(t=2 * SECOND_US, dev="shoe", rank="7", arrived=2 * SECOND_US + 500 * MS)
    played.feed(
        bought,
        input_at(2 * SECOND_US + 400 * MS, "buy", "dealer", seat="2", arrived=2 * SECOND_US + 400 * MS),
        card,
    )
    later = 3 * SECOND_US
    played.feed(input_at(later, "set_card", "dealer", card="7", seat="1", arrived=later)).finish()
    assert played.refusals() == ["card_late"]
    assert played.types("card.pitched") == ["card.pitched"]


@pytest.mark.parametrize("name", ["no_roll", "dice_collected"])
def test_C34_INV_2vi_a_ruling_that_arrives_too_late_is_refused_with_an_outcome(name: str) -> None:
    """A person who called No Roll must see the refusal. No published outcome changes."""
    readings = [replace(reading, arrived=reading.t) for reading in throw(SECOND_US, (3, 4))]
    spoken_us = readings[-1].t + 200 * MS
    at = spoken_us + 382 * MS
    played = Played().feed(readings, input_at(at, "new_shooter", "stickperson", seat="3", arrived=at))
    played.feed(input_at(spoken_us, name, arrived=at)).finish()
    assert played.types("roll.called") == ["roll.called"]
    assert played.refusals() == ["input_late"]


def spun(*late: Reading, without: type[Reading] | None = None) -> Played:
    """Play a valid spin with these readings delayed by half a second, and one kind removed."""
    readings = [replace(reading, arrived=reading.t) for reading in SPIN.readings]
    held_up = [replace(reading, arrived=reading.t + 500 * MS) for reading in late]
    if without is not None:
        first = next(
            reading
            for reading in readings
            if isinstance(reading, without) and reading.t > SPIN.readings[40].t
        )
        readings.remove(first)
        held_up.append(replace(first, arrived=first.t + 500 * MS))
    in_order = sorted([*readings, *held_up], key=lambda reading: reading.arrived or 0)
    return Played("roulette", wheel=WHEEL).feed(in_order).finish()  # type: ignore[arg-type]  # readings


MIDDLE_US = SPIN.readings[40].t


@pytest.mark.parametrize(
    "late", [ForeignObject(t=MIDDLE_US, dev="wheel", where="track"), BallOut(t=MIDDLE_US, dev="wheel")]
)
def test_R_IRR_3_a_late_reading_that_would_void_the_spin_leads_to_review(late: Reading) -> None:
    played = spun(late)
    assert played.data(SpinCalled) == []
    (review,) = played.data(SpinReview)
    assert [reason.code for reason in review.reasons] == ["missing_reading"]
    judged = [effect for effect in played.effects if isinstance(effect, Judged)][-1]
    again = judge_again(
        build_evidence(judged), Setup(table="t", ruleset=load_ruleset("roulette"), wheel=WHEEL)
    )
    assert again is not None
    assert again.differences == ()


def test_R_SPIN_2_a_late_ball_passage_counts_as_missed() -> None:
    played = spun(without=BallBeam)
    assert len(played.data(SpinCalled)) == 1


def test_R_SPIN_4_a_number_after_an_entirely_late_spin_is_not_assigned_to_the_spin_before() -> None:
    """The process was suspended from before the launch until after the reading of the number."""
    second = spin(
        Scene(wheel=WHEEL, revolutions=12.0, pocket=20, bounces=0, seed=2, begins_us=90 * SECOND_US)
    )
    resumed_us = second.readings[-1].t + SECOND_US
    in_time = [replace(r, arrived=r.t) for r in SPIN.readings]
    held = [replace(r, arrived=resumed_us) for r in second.readings if r.t > in_time[-1].t + SECOND_US]
    ruling_us = resumed_us + SECOND_US
    number = second.number
    ruling = input_at(ruling_us, "set_number", "dealer", number=number, arrived=ruling_us)
    in_order = [*in_time, *held, ruling]
    played = Played("roulette", wheel=WHEEL).feed(in_order).finish()  # type: ignore[arg-type]  # readings
    assert (played.types("spin"), played.refusals()) == (["spin.called"], ["which_spin"])
