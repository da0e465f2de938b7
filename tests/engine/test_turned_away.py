"""An attempt that was refused while the table was not in play ends before the next attempt can count."""

from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from controller.model.outcomes import (
    Bets,
    DealCalled,
    DealReview,
    GameWon,
    SpinCalled,
    SpinReview,
    TableEvent,
)
from controller.model.readings import BallBeam, BallDrop, Card, DeviceDown, DeviceUp, DieReleased, Reading
from tests.engine.play import Played
from tests.games.high_roller.played_table import FACES, HighRollerTable, two_players
from tests.games.three_card.deal import ROTATION, Table, seated
from tests.rules.wheel.simulator import Scene, spin, wheel
from tests.scenes import SECOND_US, in_order, input_at, throw


def types(table: Table) -> list[str]:
    return [outcome.type for outcome in table.played.outcomes]


def test_T_IRR_1_cards_of_a_deal_begun_while_the_table_was_locked_are_not_a_deal() -> None:
    """Only half of that deal was seen, and the next deal's cards must not complete it."""
    table = Table().enter("seats", seats=("1", "2")).enter("lock", "supervisor")
    table.in_order(ROTATION[:4])
    table.enter("unlock", "supervisor", after_s=0.2)
    for text in ROTATION[4:]:
        table.card(text)
    table.enter("play", seat="1").enter("play", seat="2")
    table.enter("no_more_bets")
    table.in_order(["4h", "5h", "6h", "4d", "5d", "6d", "4c", "5c", "6c"])
    table.enter("play", seat="1").enter("play", seat="2").enter("settled")
    table.played.finish()
    assert [call.hands for call in table.played.data(DealCalled)] == [
        {"1": ("4h", "4d", "4c"), "2": ("5h", "5d", "5c")}
    ]


def test_T_DEAL_4_a_card_after_all_have_acted_completes_no_hand() -> None:
    """A position that plays or folds has all its cards, as has the dealer. The shoe missed one card."""
    table = Table().enter("seats", seats=("1", "2"))
    table.in_order(ROTATION[:-1])
    table.enter("play", seat="1").enter("fold", seat="2")
    table.card("Ah", after_s=4)
    table.played.finish()
    reviews = table.played.data(DealReview)
    assert [[reason.code for reason in review.reasons] for review in reviews] == [["conflict"]]
    assert "deal.called" not in types(table)


@pytest.mark.parametrize("way", ["lock", "test_mode"])
def test_C34_INV_3_the_second_die_of_a_refused_throw_begins_no_throw(way: str) -> None:
    """The first of the two dice left the hand while the table was not in play."""
    readings = throw(5 * SECOND_US, (3, 4))
    first, second = [reading for reading in readings if isinstance(reading, DieReleased)]
    later = msgspec.structs.replace(second, t=first.t + 100_000)
    plays = [
        input_at(
            first.t + 50_000,
            *(("unlock", "supervisor") if way == "lock" else ("test_mode", "technician")),
            on=False,
        )
    ]
    stops = input_at(SECOND_US, way, "supervisor" if way == "lock" else "technician")
    rest = [reading for reading in readings if reading not in (first, second)]
    next_throw = throw(25 * SECOND_US, (6, 6))
    collected = input_at(15 * SECOND_US, "dice_collected", "stickperson")
    played = Played().feed(in_order([stops, first, *plays, later, *rest, collected, *next_throw])).finish()
    published = [
        (o.type, getattr(o.data, "dice", None)) for o in played.outcomes if o.type.startswith("roll.")
    ]
    assert published == [("roll.called", (6, 6))]


@pytest.mark.parametrize("way", ["lock", "test_mode"])
@pytest.mark.parametrize("told_s", [6, 25])
def test_a_throw_made_while_the_table_was_not_in_play_never_counts_however_late_its_readings(
    way: str, told_s: int
) -> None:
    """The dice were visible, but bets can't be closed as of a time at which the table was not in play."""
    by = "supervisor" if way == "lock" else "technician"
    away = input_at(SECOND_US, way, by)
    plays = input_at(20 * SECOND_US, "unlock" if way == "lock" else "test_mode", by, on=False)
    arrived = told_s * SECOND_US
    made = [
        msgspec.structs.replace(reading, arrived=max(arrived, reading.t))
        for reading in throw(5 * SECOND_US, (3, 4))
    ]
    scene = [msgspec.structs.replace(entered, arrived=entered.t) for entered in (away, plays)]
    played = Played().feed(sorted([*scene, *made], key=lambda reading: reading.arrived or 0)).finish()
    assert played.types("roll", "bets") == []
    assert played.refusals() == (["table_locked"] if way == "lock" else [])


def test_C34_INV_3_a_throw_without_seen_releases_is_found_after_a_refused_throw() -> None:
    """After the refused dice are collected, the next movement is a throw."""
    unseen = [reading for reading in throw(25 * SECOND_US, (6, 6)) if not isinstance(reading, DieReleased)]
    locked, unlocked = (
        input_at(SECOND_US, "lock", "supervisor"),
        input_at(12 * SECOND_US, "unlock", "supervisor"),
    )
    collected = input_at(15 * SECOND_US, "dice_collected", "stickperson")
    scene = in_order([locked, *throw(5 * SECOND_US, (3, 4)), unlocked, collected, *unseen])
    played = Played().feed(scene).finish()
    assert [o.type for o in played.outcomes if o.type.startswith("roll.")] == ["roll.review"]
    assert played.refusals() == ["table_locked"]


@pytest.mark.parametrize(
    ("stop", "go_on"),
    [("lock", "unlock"), ("close_table", "open_table"), ("test_mode", "test_mode")],
)
def test_H_DEAL_1_after_a_card_pitched_out_of_play_the_next_cards_are_not_assigned(
    stop: str, go_on: str
) -> None:
    """Seat 1's second card was missed. Seat 2's card must not be assigned to seat 1."""
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=2)
        .enter("buy", seat="2", count=2)
    )
    table.pitched("7").enter(stop, "supervisor").pitched("8").enter(go_on, "supervisor", on=False)
    table.pitched("9")
    assert table.state.cards == {"1": (7,)}
    table.enter("set_card", seat="1", card="8").enter("set_card", seat="2", card="9").pitched("J")
    assert table.state.cards == {"1": (7, 8), "2": (9, 11)}
    refused = [] if stop == "test_mode" else [{"lock": "table_locked"}.get(stop, "table_closed")]
    assert table.end().refusals() == [*refused, "order_broken"]


def test_H_DEAL_1_after_an_unreadable_card_the_next_cards_are_not_assigned() -> None:
    """The pitching order identifies a card's seat only while no card is missing."""
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=1)
        .enter("buy", seat="2", count=1)
    )
    table.pitched(None, "9")
    assert table.state.cards == {}
    table.enter("set_card", seat="1", card="8").enter("set_card", seat="2", card="9").rolls(9)
    assert [call.player for call in table.end().data(GameWon)] == ["2"]


def test_H_DEAL_1_after_a_shoe_was_away_the_next_cards_are_not_assigned() -> None:
    """The table missed the cards pitched meanwhile. A person enters the cards that are due."""
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=2)
        .enter("buy", seat="2", count=1)
    )
    table.pitched("7")
    for health in (DeviceDown, DeviceUp):
        table.now += SECOND_US
        table.played.feed(health(t=table.now, dev="shoe", reason="unplugged"))
    table.pitched("9")
    table.enter("set_card", seat="2", card="9").enter("set_card", seat="1", card="8")
    assert table.state.cards == {"1": (7, 8), "2": (9,)}
    assert table.end().refusals() == ["order_broken"]


def test_T_DEAL_2_closed_bets_open_again_when_a_card_table_opens() -> None:
    """A client that received the close of bets would otherwise accept no bets."""
    table = (
        seated().enter("no_more_bets").enter("close_table", "supervisor").enter("open_table", "supervisor")
    )
    bets = [(o.type, o.data.round) for o in table.end().outcomes if isinstance(o.data, Bets)]
    assert bets == [("bets.closed", 1), ("bets.opened", 2)]


def test_R_SPIN_3_closed_bets_open_again_when_a_wheel_table_opens() -> None:
    """The dealer ends the day with No More Bets, and the next day begins with open bets."""
    names = ("no_more_bets", "close_table", "open_table")
    played = Played("roulette", wheel=wheel())
    for second, name in enumerate(names, 1):
        played.feed(input_at(second * SECOND_US, name, "dealer"))
    bets = [(o.type, o.data.round) for o in played.finish().outcomes if isinstance(o.data, Bets)]
    assert bets == [("bets.closed", 1), ("bets.opened", 2)]


def test_H_START_1_a_throw_begun_before_the_last_card_was_dealt_is_not_a_roll() -> None:
    """The second release comes when a roll is due, but the throw began earlier."""
    table = two_players().enter("buy", seat="1", count=0).enter("buy", seat="2", count=1)
    table.now += 10 * SECOND_US
    readings = throw(table.now, FACES[7])
    first, second = [reading for reading in readings if isinstance(reading, DieReleased)]
    card = Card(t=first.t + 50_000, dev="shoe", rank="9")
    later = msgspec.structs.replace(second, t=first.t + 100_000)
    rest = [reading for reading in readings if reading not in (first, second)]
    table.played.feed(in_order([first, card, later, *rest]))
    table.now += 10 * SECOND_US
    table.enter("dice_collected").rolls(8)
    published = [o.type for o in table.end().outcomes if o.type.startswith("roll.")]
    assert published == ["roll.called"]


def test_H_DEAL_1_a_late_card_from_while_the_table_was_locked_counts_as_missed() -> None:
    table = (
        HighRollerTable()
        .button(s1="Q", s2="9")
        .enter("buy", seat="1", count=1)
        .enter("buy", seat="2", count=1)
    )
    table.enter("lock", "supervisor")
    at = table.now + SECOND_US
    later = input_at(at + 400_000, "inspected", "supervisor", what="felt", arrived=at + 400_000)
    card = Card(t=at, dev="shoe", rank="7", arrived=at + 500_000)
    table.played.feed(later, card)
    table.now += 2 * SECOND_US
    table.enter("unlock", "supervisor").pitched(9)
    assert table.end().types("card.pitched") == []


# --- a ball launched while the table was not in play, whose pulses arrive late ---

WHEEL = wheel()
SENT_OFF = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0, begins_us=20 * SECOND_US))
PULSES_US = [reading.t for reading in SENT_OFF.readings if isinstance(reading, BallBeam)]
STOPS = {
    "lock": ("unlock", "supervisor", ["table_locked"]),
    "close_table": ("open_table", "supervisor", ["table_closed"]),
    "test_mode": ("test_mode", "technician", []),
}


def launched(stop: str, *, plays_at: int, late_ms: int, then: Sequence[Reading] = ()) -> Played:
    """Stop play, launch the ball, and resume during its run. All earlier readings are delayed."""
    go_on, by, _ = STOPS[stop]
    plays_us = PULSES_US[plays_at] - 1
    seen = [
        replace(reading, arrived=reading.t + (late_ms * 1000 if reading.t < plays_us else 0))
        for reading in (*SENT_OFF.readings, *then)
    ]
    said = [
        input_at(SECOND_US, stop, by, arrived=SECOND_US),
        input_at(plays_us, go_on, by, on=False, arrived=plays_us),
    ]
    in_order = sorted([*seen, *said], key=lambda reading: reading.arrived or 0)
    return Played("roulette", wheel=WHEEL).feed(in_order).finish()  # type: ignore[arg-type]  # readings


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("plays_at", [1, 3, 8, 20])
@pytest.mark.parametrize("late_ms", [0, 300, 700])
def test_R_SPIN_1_a_ball_launched_out_of_play_is_not_a_spin_however_late_its_readings(
    stop: str, plays_at: int, late_ms: int
) -> None:
    played = launched(stop, plays_at=plays_at, late_ms=late_ms)
    assert played.types("spin", "bets") == []
    assert played.refusals() == STOPS[stop][2]


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(("plays_at", "late_ms"), [(1, 2_000), (3, 6_000), (8, 6_000)])
def test_R_SPIN_1_if_its_later_pulses_have_begun_a_spin_a_person_rules(
    stop: str, plays_at: int, late_ms: int
) -> None:
    played = launched(stop, plays_at=plays_at, late_ms=late_ms)
    assert played.types("spin") == ["spin.review"]
    (review,) = played.data(SpinReview)
    assert "was interrupted before the table was in play" in review.reasons[0].seen


@pytest.mark.parametrize(("plays_at", "late_ms"), [(1, 60_000), (3, 40_000), (8, 60_000)])
def test_R_SPIN_1_if_that_spin_has_been_called_a_person_is_shown_what_to_do(
    plays_at: int, late_ms: int
) -> None:
    """The published call stays until a person changes it, and must not look refused."""
    played = launched("lock", plays_at=plays_at, late_ms=late_ms)
    assert played.types("spin") == ["spin.called"]
    (refused,) = (published for published in played.data(TableEvent) if published.cause == "table_locked")
    assert refused.says == (
        "an attempt was made while the table was not in play; it does not count; if it is spin 1,"
        " declare that spin void before it is settled"
    )


@pytest.mark.parametrize("late_ms", [0, 700])
def test_R_SPIN_1_the_next_ball_is_a_spin(late_ms: int) -> None:
    """The delayed readings affect only the ball that they belong to."""
    ball = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=4, bounces=0, begins_us=60 * SECOND_US))
    played = launched("lock", plays_at=3, late_ms=late_ms, then=ball.readings)
    assert [called.number for called in played.data(SpinCalled)] == [ball.number]


# --- a launch in play that is proved only while the table is not in play ---


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("pulses", [1, 3])
@pytest.mark.parametrize("proof", ["drop", "lost"])
def test_R_SPIN_1_a_launch_that_is_proved_after_play_has_stopped_is_not_a_spin(
    stop: str, pulses: int, proof: str
) -> None:
    """A hand, too, interrupts a beam. The drop, or the loss of the beam's board, then proves a launch."""
    go_on, by, refused = STOPS[stop]
    seen = [reading for reading in SENT_OFF.readings if reading.t <= PULSES_US[pulses - 1]]
    last = next(reading for reading in reversed(seen) if isinstance(reading, BallBeam))
    proved_us = last.t + 2 * SECOND_US
    proves = BallDrop(t=proved_us, dev="wheel") if proof == "drop" else DeviceDown(t=proved_us, dev=last.dev)
    ball = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=4, bounces=0, begins_us=60 * SECOND_US))
    scene = [
        *seen,
        input_at(last.t + 1, stop, by),
        proves,
        DeviceUp(t=proved_us + SECOND_US, dev=last.dev),
        input_at(40 * SECOND_US, go_on, by, on=False),
        *ball.readings,
    ]
    in_turn = in_order(scene)  # type: ignore[arg-type]  # readings
    played = Played("roulette", wheel=WHEEL).feed(in_turn).finish()
    assert played.types("spin.") == ["spin.called"]
    assert [called.number for called in played.data(SpinCalled)] == [ball.number]
    assert played.refusals() == refused
