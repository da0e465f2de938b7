"""What a watcher hears of readings: no card face down; ball and rotor only when bets are closed."""

import msgspec
import pytest

from controller.app.hub import MAX_HELD_BACK, TIMING, Hub, ReadingFilter, Watcher
from controller.app.peers import Peer, Role
from controller.model.readings import BallBeam, Card, DieAt, Input, RotorIndex
from controller.settings.rulesets import load_ruleset
from tests.scenes import says

CARD = Card(t=1, dev="shoe", rank="Q", suit="h", to=3)
BEAM = BallBeam(t=2, dev="wheel", beam=1)


def heard(watcher: Watcher) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in watcher.take(0)]


def house(rules: str) -> tuple[ReadingFilter, Watcher, Watcher]:
    """Return the discretion of a table, a dealer who watches readings, and a technician who does."""
    hub = Hub()
    dealer = hub.watch(frozenset({"readings"}))
    technician = hub.watch(frozenset({"readings", "timing"}))
    return ReadingFilter(hub, load_ruleset(rules)), dealer, technician


def test_T_DEAL_3_a_card_dealt_face_down_is_reported_to_nobody() -> None:
    discretion, dealer, technician = house("three-card-poker-12-014")
    discretion.publish(CARD, betting=False)
    seen = [{"reading": {"kind": "card", "t": 1, "dev": "shoe", "to": 3}, "masked": True}]
    assert heard(dealer) == seen
    assert heard(technician) == seen


@pytest.mark.parametrize("entered", [says(1, "set_card", "dealer", card="Qh", what="Qd", seat=3)])
def test_T_DEAL_3_a_card_that_a_person_enters_is_reported_to_nobody(entered: Input) -> None:
    discretion, dealer, _ = house("three-card-poker-12-014")
    discretion.publish(entered, betting=False)
    (told,) = heard(dealer)
    assert "Q" not in str(told)
    assert told["masked"] is True


def test_H_DEAL_1_a_card_pitched_face_up_is_reported_as_it_is() -> None:
    discretion, dealer, _ = house("high-roller-12-005")
    discretion.publish(CARD, betting=True)
    assert heard(dealer) == [
        {"reading": {"kind": "card", "t": 1, "dev": "shoe", "rank": "Q", "suit": "h", "to": 3}}
    ]


def test_R_SPIN_3_ball_and_rotor_are_reported_to_technicians_alone() -> None:
    discretion, dealer, technician = house("roulette")
    discretion.publish(BEAM, betting=False)
    assert heard(dealer) == []
    assert heard(technician) == [{"reading": {"kind": "ball_beam", "t": 2, "dev": "wheel", "beam": 1}}]


def test_R_SPIN_3_while_bets_are_open_they_wait_and_keep_their_order() -> None:
    discretion, _, technician = house("roulette")
    discretion.publish(BEAM, betting=True)
    discretion.publish(RotorIndex(t=3, dev="wheel", direction="cw"), betting=True)
    assert heard(technician) == []
    discretion.bets_closed()
    assert [told["delayed"] for told in heard(technician)] == [True, True]
    discretion.publish(BEAM, betting=False)
    assert ["delayed" in told for told in heard(technician)] == [False]


def test_in_test_mode_a_technician_hears_ball_and_card_at_once_and_nobody_else_does() -> None:
    discretion, dealer, technician = house("three-card-poker-12-014")
    discretion.publish(CARD, betting=True, testing=True)
    discretion.publish(BEAM, betting=True, testing=True)
    assert heard(dealer) == []
    assert [told["reading"] for told in heard(technician)] == [
        {"kind": "card", "t": 1, "dev": "shoe", "rank": "Q", "suit": "h", "to": 3},
        {"kind": "ball_beam", "t": 2, "dev": "wheel", "beam": 1},
    ]


def test_R_SPIN_3_what_waits_is_bounded() -> None:
    discretion, _, technician = house("roulette")
    for _ in range(MAX_HELD_BACK + 5):
        discretion.publish(BEAM, betting=True)
    discretion.bets_closed()
    assert len(heard(technician)) == MAX_HELD_BACK


def test_every_reading_of_ball_and_rotor_is_timing_and_no_die_is() -> None:
    assert {kind.__name__ for kind in TIMING} == {
        "BallBeam",
        "BallDrop",
        "BallOut",
        "PocketBall",
        "RotorIndex",
        "WheelStatus",
    }
    discretion, dealer, _ = house("craps-12-034")
    discretion.publish(DieAt(t=1, dev="cam", die=1, x=1.0, y=1.0), betting=True)
    assert len(heard(dealer)) == 1


@pytest.mark.parametrize(("role", "may"), [("technician", True), ("staff", False), ("settlement", False)])
def test_only_a_technician_may_hear_of_timing(role: Role, *, may: bool) -> None:
    assert Peer(1, 1, "ann", frozenset({role})).may("timing") is may
