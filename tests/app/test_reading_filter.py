"""A watcher receives no card face down, and readings of ball and rotor only while bets are closed."""

import msgspec
import pytest

from controller.app.hub import MAX_HELD_BACK, TIMING, Hub, ReadingFilter, Watcher
from controller.app.peers import Peer, Role
from controller.model.readings import BallBeam, Card, DieAt, Input, RotorIndex
from controller.settings.rulesets import load_ruleset
from tests.scenes import input_at

CARD = Card(t=1, dev="shoe", rank="Q", suit="h", to=3)
BEAM = BallBeam(t=2, dev="wheel", beam=1)


def heard(watcher: Watcher) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in watcher.take(0)]


def house(rules: str) -> tuple[ReadingFilter, Watcher, Watcher]:
    """Return a table's reading filter, and a dealer and a technician who watch readings."""
    hub = Hub()
    dealer = hub.watch(frozenset({"readings"}))
    technician = hub.watch(frozenset({"readings", "timing"}))
    return ReadingFilter(hub, load_ruleset(rules)), dealer, technician


def test_T_DEAL_3_a_card_dealt_face_down_is_masked_for_every_watcher() -> None:
    reading_filter, dealer, technician = house("three-card-poker-12-014")
    reading_filter.publish(CARD, betting=False)
    seen = [{"reading": {"kind": "card", "t": 1, "dev": "shoe", "to": 3}, "masked": True}]
    assert heard(dealer) == seen
    assert heard(technician) == seen


@pytest.mark.parametrize("entered", [input_at(1, "set_card", "dealer", card="Qh", what="Qd", seat=3)])
def test_T_DEAL_3_a_card_that_a_person_enters_is_masked_for_every_watcher(entered: Input) -> None:
    reading_filter, dealer, _ = house("three-card-poker-12-014")
    reading_filter.publish(entered, betting=False)
    (answer,) = heard(dealer)
    assert "Q" not in str(answer)
    assert answer["masked"] is True


def test_H_DEAL_1_a_card_pitched_face_up_is_sent_to_watchers_in_full() -> None:
    reading_filter, dealer, _ = house("high-roller-12-005")
    reading_filter.publish(CARD, betting=True)
    assert heard(dealer) == [
        {"reading": {"kind": "card", "t": 1, "dev": "shoe", "rank": "Q", "suit": "h", "to": 3}}
    ]


def test_R_SPIN_3_readings_of_ball_and_rotor_are_sent_to_technicians_only() -> None:
    reading_filter, dealer, technician = house("roulette")
    reading_filter.publish(BEAM, betting=False)
    assert heard(dealer) == []
    assert heard(technician) == [{"reading": {"kind": "ball_beam", "t": 2, "dev": "wheel", "beam": 1}}]


def test_R_SPIN_3_while_bets_are_open_readings_of_ball_and_rotor_wait_in_order() -> None:
    reading_filter, _, technician = house("roulette")
    reading_filter.publish(BEAM, betting=True)
    reading_filter.publish(RotorIndex(t=3, dev="wheel", direction="cw"), betting=True)
    assert heard(technician) == []
    reading_filter.bets_closed()
    assert [answer["delayed"] for answer in heard(technician)] == [True, True]
    reading_filter.publish(BEAM, betting=False)
    assert ["delayed" in answer for answer in heard(technician)] == [False]


def test_in_test_mode_a_technician_receives_ball_and_card_at_once_and_nobody_else_does() -> None:
    reading_filter, dealer, technician = house("three-card-poker-12-014")
    reading_filter.publish(CARD, betting=True, testing=True)
    reading_filter.publish(BEAM, betting=True, testing=True)
    assert heard(dealer) == []
    assert [answer["reading"] for answer in heard(technician)] == [
        {"kind": "card", "t": 1, "dev": "shoe", "rank": "Q", "suit": "h", "to": 3},
        {"kind": "ball_beam", "t": 2, "dev": "wheel", "beam": 1},
    ]


def test_R_SPIN_3_the_number_of_waiting_readings_is_bounded() -> None:
    reading_filter, _, technician = house("roulette")
    for _ in range(MAX_HELD_BACK + 5):
        reading_filter.publish(BEAM, betting=True)
    reading_filter.bets_closed()
    assert len(heard(technician)) == MAX_HELD_BACK


def test_every_reading_of_ball_and_rotor_is_timing_and_no_reading_of_dice_is() -> None:
    assert {kind.__name__ for kind in TIMING} == {
        "BallBeam",
        "BallDrop",
        "BallOut",
        "PocketBall",
        "RotorIndex",
        "WheelStatus",
    }
    reading_filter, dealer, _ = house("craps-12-034")
    reading_filter.publish(DieAt(t=1, dev="cam", die=1, x=1.0, y=1.0), betting=True)
    assert len(heard(dealer)) == 1


@pytest.mark.parametrize(("role", "may"), [("technician", True), ("staff", False), ("settlement", False)])
def test_only_a_technician_may_receive_timing(role: Role, *, may: bool) -> None:
    assert Peer(1, 1, "ann", frozenset({role})).may("timing") is may
