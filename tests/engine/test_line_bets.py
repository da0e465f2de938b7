"""The engine's word on the shooter's line bet: noted when he throws without one, and no reason to stop."""

import pytest

from controller.engine.setup import State
from controller.model.outcomes import Bets, Happening, RollCalled
from controller.model.readings import Input
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, says, throw

NAMED = says(SECOND_US, "new_shooter", seat="3")
THROWN = throw(3 * SECOND_US, (2, 2))


def line_bet(t: int, seat: str, has: bool, by: str = "settlement") -> Input:
    return Input(t=t, dev=by, name="line_bet", by=by, seat=seat, on=has)


def noted(played: Played) -> list[str]:
    return [notice.code for bets in played.data(Bets) for notice in bets.notices]


@pytest.mark.parametrize("rules", ["craps-12-034", "craps-v1"])
def test_C34_DICE_4_and_CV1_SHOOT_1_a_shooter_without_a_line_bet_is_noted(rules: str) -> None:
    played = play([NAMED, line_bet(2 * SECOND_US, "3", False), *THROWN], rules=rules)
    assert noted(played) == ["no_line_bet"]
    assert len(played.data(RollCalled)) == 1, "the roll counts all the same"


def test_a_shooter_who_has_one_is_not_noted() -> None:
    told = [line_bet(2 * SECOND_US, "3", False), line_bet(2 * SECOND_US + 1, "3", True)]
    assert noted(play([NAMED, *told, *THROWN])) == []


def test_where_the_engine_says_nothing_nothing_is_noted() -> None:
    assert noted(play([NAMED, *THROWN])) == []


def test_the_word_on_another_seat_says_nothing_of_this_shooter() -> None:
    assert noted(play([NAMED, line_bet(2 * SECOND_US, "4", False), *THROWN])) == []


def test_with_a_point_on_no_line_bet_is_asked_for() -> None:
    state = State(point=4, shooter="3", line_bet=("3", False))
    assert noted(play(list(THROWN), state=state)) == []


def test_a_recording_goes_on_with_what_the_engine_said_before_it() -> None:
    before = play([NAMED, line_bet(2 * SECOND_US, "3", False)])
    assert before.session.state().line_bet == ("3", False)
    assert noted(play(list(THROWN), state=before.session.state())) == ["no_line_bet"]


def test_no_person_may_say_it() -> None:
    played = play([NAMED, line_bet(2 * SECOND_US, "3", False, by="dealer"), *THROWN])
    assert noted(played) == []
    assert [told.what for told in played.data(Happening)] == ["line_bet"]
