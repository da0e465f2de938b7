"""What was turned away while the table did not play is over before anything counts again."""

import msgspec
import pytest

from controller.model.outcomes import DealCalled, DealReview
from controller.model.readings import DieReleased
from tests.engine.deal import ROTATION, Table
from tests.engine.play import Played
from tests.scenes import SECOND_US, in_order, says, throw


def types(table: Table) -> list[str]:
    return [outcome.type for outcome in table.played.outcomes]


def test_cards_of_a_deal_that_began_while_the_table_was_locked_are_no_deal() -> None:
    """T-IRR-1: half of it was not seen, so the next deal's cards must not fill it up."""
    table = Table().says("seats", seats=("1", "2")).says("lock", "supervisor")
    table.in_order(ROTATION[:4])
    table.says("unlock", "supervisor", after_s=0.2)
    for text in ROTATION[4:]:
        table.card(text)
    table.says("play", seat="1").says("play", seat="2")
    table.says("no_more_bets")
    table.in_order(["4h", "5h", "6h", "4d", "5d", "6d", "4c", "5c", "6c"])
    table.says("play", seat="1").says("play", seat="2").says("settled")
    table.played.finish()
    assert [call.hands for call in table.played.data(DealCalled)] == [
        {"1": ("4h", "4d", "4c"), "2": ("5h", "5d", "5c")}
    ]


def test_a_card_after_all_have_acted_fills_no_hand_up() -> None:
    """T-DEAL-4: who plays or folds has all his cards, and so has the dealer: one went unseen."""
    table = Table().says("seats", seats=("1", "2"))
    table.in_order(ROTATION[:-1])
    table.says("play", seat="1").says("fold", seat="2")
    table.card("Ah", after_s=4)
    table.played.finish()
    reviews = table.played.data(DealReview)
    assert [[reason.code for reason in review.reasons] for review in reviews] == [["conflict"]]
    assert "deal.called" not in types(table)


@pytest.mark.parametrize("way", ["lock", "test_mode"])
def test_the_second_die_of_a_throw_that_was_turned_away_begins_no_throw(way: str) -> None:
    """C34-INV-3: two dice were thrown, the first from the hand at a table that did not play."""
    readings = throw(5 * SECOND_US, (3, 4))
    first, second = [reading for reading in readings if isinstance(reading, DieReleased)]
    later = msgspec.structs.replace(second, t=first.t + 100_000)
    plays = [
        says(
            first.t + 50_000,
            *(("unlock", "supervisor") if way == "lock" else ("test_mode", "technician")),
            on=False,
        )
    ]
    stops = says(SECOND_US, way, "supervisor" if way == "lock" else "technician")
    rest = [reading for reading in readings if reading not in (first, second)]
    next_throw = throw(25 * SECOND_US, (6, 6))
    collected = says(15 * SECOND_US, "dice_collected", "stickperson")
    played = Played().feed(in_order([stops, first, *plays, later, *rest, collected, *next_throw])).finish()
    told = [(o.type, getattr(o.data, "dice", None)) for o in played.outcomes if o.type.startswith("roll.")]
    assert told == [("roll.called", (6, 6))]
