"""A wager called with the dice out, which dealer and boxperson confirm while the dice are in motion."""

import pytest

from controller.model.readings import AnyReading, DieAt, DieLost, DieReleased, DieRest, Input
from controller.rules.dice.in_motion import STILL_US, Motion, find_motion
from tests.engine.play import Played
from tests.scenes import FRAME_US, SECOND_US, in_order, input_at, rest_of, throw

THROWN = throw(SECOND_US)
REST = rest_of(THROWN)
MS = 1000


def lodged(after_ms: int = 100, wager: str = "b1") -> Input:
    return Input(
        t=SECOND_US + after_ms * MS, dev="settlement", name="late_wager", by="settlement", what=wager
    )


def confirms(after_ms: int, by: str, who: str | None = None, wager: str = "b1") -> Input:
    return input_at(SECOND_US + after_ms * MS, "confirm_late", by, who=who or by, what=wager)


def until(played: Played, us: int) -> Played:
    played.effects += played.session.advance(us)
    return played


def during(*words: Input, until_us: int = SECOND_US + 700 * MS) -> Played:
    """Throw, and enter these inputs while the dice are in flight, up to `until_us`."""
    seen = [reading for reading in THROWN if reading.t < until_us]
    return until(Played().feed(in_order([*seen, *words])), until_us)


def test_C34_MK_1b_a_wager_confirmed_by_dealer_and_boxperson_in_flight_is_published() -> None:
    out = during(lodged(), confirms(200, "dealer"), confirms(250, "boxperson")).session.dice_out
    assert out is not None
    assert out.confirmed == ("b1",)
    assert out.moving_us is not None
    assert SECOND_US + 250 * MS < out.moving_us < SECOND_US + 700 * MS
    assert during(lodged()).session.allowed().count("confirm_late") == 1


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ([lodged(), confirms(200, "dealer")], []),
        ([lodged(), confirms(200, "dealer"), confirms(210, "dealer", "bob")], ["confirmed_already"]),
        ([lodged(), confirms(200, "dealer", "ann"), confirms(210, "boxperson", "ann")], ["same_person"]),
        ([lodged(), confirms(200, "stickperson"), confirms(210, "dealer")], ["not_theirs"]),
        ([lodged(), confirms(200, "technician"), confirms(210, "dealer")], ["not_theirs"]),
        ([lodged(), confirms(200, "player"), confirms(210, "dealer")], ["not_staff"]),
        ([confirms(200, "dealer"), confirms(210, "boxperson")], ["no_late_wager", "no_late_wager"]),
        (
            [lodged(), confirms(200, "dealer", wager="b2"), confirms(210, "boxperson")],
            ["no_late_wager"],
        ),
        (
            [confirms(90, "dealer"), lodged(100), confirms(210, "boxperson")],
            ["no_late_wager"],
        ),
    ],
)
def test_C34_MK_1b_a_wager_without_both_confirmations_is_not_confirmed(
    words: list[Input], refused: list[str]
) -> None:
    played = during(*words)
    assert played.refusals() == refused
    assert played.session.dice_out is not None
    assert played.session.dice_out.confirmed == ()


def test_C34_MK_1b_once_a_die_is_at_rest_no_confirmation_is_accepted() -> None:
    after_ms = (REST - SECOND_US) // MS + 1
    played = Played().feed(in_order([*THROWN, lodged(), confirms(200, "dealer")]))
    until(played.feed(confirms(after_ms, "boxperson")), REST + 200 * MS)
    assert set(played.refusals()) <= {"dice_at_rest", "no_late_wager"}
    assert played.refusals()
    assert played.session.dice_out is None or played.session.dice_out.confirmed == ()


def test_the_next_throw_begins_without_the_late_wagers_of_the_last() -> None:
    again = throw(9 * SECOND_US)
    seen = [reading for reading in again if reading.t < 9 * SECOND_US + 600 * MS]
    words = [confirms(8_200, "dealer"), confirms(8_250, "boxperson")]
    played = Played().feed(in_order([*THROWN, lodged()]), in_order([*seen, *words]))
    until(played, 9 * SECOND_US + 600 * MS)
    assert played.refusals() == ["no_late_wager", "no_late_wager"]


def test_a_late_wager_changes_no_outcome() -> None:
    words = [lodged(), confirms(200, "dealer"), confirms(250, "boxperson")]
    plain, late = Played().feed(THROWN).finish(), Played().feed(in_order([*THROWN, *words])).finish()
    assert [outcome.data for outcome in late.outcomes] == [outcome.data for outcome in plain.outcomes]


def track(die: int, moves: list[tuple[int, float]]) -> list[AnyReading]:
    return [DieAt(t=t, dev="cam", die=die, x=x, y=100.0 * die) for t, x in moves]  # type: ignore[arg-type]  # 1 or 2


def rolling(die: int, until_us: int, from_us: int = 0) -> list[AnyReading]:
    return track(die, [(t, t / 500) for t in range(from_us, until_us + 1, FRAME_US)])


def test_both_dice_move_until_the_first_of_them_slows_down() -> None:
    found = find_motion(in_order([*rolling(1, 300 * MS), *rolling(2, 900 * MS)]))
    assert found.until_us is not None
    assert 270 * MS < found.until_us < 300 * MS


def test_readings_that_prove_no_motion() -> None:
    one, both = rolling(1, 300 * MS), [*rolling(1, 300 * MS), *rolling(2, 300 * MS)]
    assert find_motion(one) == Motion(None, over=False)
    assert find_motion([]) == Motion(None, over=False)
    lies = DieRest(t=310 * MS, dev="cam", die=1, x=600, y=100, up=3, confidence=0.99)
    for over in (lies, DieLost(t=310 * MS, dev="cam", die=2)):
        assert find_motion([*both, over]).over


def test_a_die_pushed_after_its_rest_is_not_in_motion() -> None:
    """The die's face is known, and a push would otherwise keep the window open."""
    lay_us = STILL_US + 2 * FRAME_US
    pushed = [(300 * MS + lay_us + i * FRAME_US, 600.0 + 30 * i) for i in range(20)]
    found = find_motion([*rolling(2, 900 * MS), *rolling(1, 300 * MS), *track(1, pushed)])
    assert found.over
    assert found.until_us is not None
    assert found.until_us < 300 * MS


def test_a_die_reported_released_again_after_its_rest_is_not_in_motion() -> None:
    lies = DieRest(t=310 * MS, dev="cam", die=1, x=600, y=100, up=3, confidence=0.99)
    first = DieReleased(t=0, dev="cam", die=1, x=0, y=100)
    again = DieReleased(t=400 * MS, dev="cam", die=1, x=600, y=100)
    found = find_motion([first, *rolling(1, 300 * MS), lies, again, *rolling(1, 900 * MS, 410 * MS)])
    assert found.over


def test_a_die_at_rest_in_the_hand_has_not_stopped() -> None:
    held = track(1, [(t, 5.0) for t in range(0, 200 * MS, FRAME_US)])
    flown = [DieReleased(t=200 * MS, dev="cam", die=1, x=5, y=100), *rolling(1, 500 * MS, 200 * MS)]
    assert not find_motion([*held, *flown, *rolling(2, 500 * MS)]).over
