"""The settlement engine's report on the shooter's line bet. A throw without one is noted, but counts."""

from dataclasses import replace

import pytest

from controller.journal.contents import build_evidence, pack, unpack
from controller.journal.recall import judge_again
from controller.machines.setup import State
from controller.model.effects import Judged, Lamp
from controller.model.outcomes import Bets, RollCalled, RollNoRoll, RollReview, TableEvent
from controller.model.readings import AnyReading, Input
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, input_at, throw

NAMED = input_at(SECOND_US, "new_shooter", seat="3")
THROWN = throw(3 * SECOND_US, (2, 2))


def line_bet(t: int, seat: str, has: bool, by: str = "settlement") -> Input:
    return Input(t=t, dev=by, name="line_bet", by=by, seat=seat, on=has)


MISSING = line_bet(2 * SECOND_US, "3", False)


def noted(played: Played) -> list[str]:
    return [notice.code for bets in played.data(Bets) for notice in bets.notices]


@pytest.mark.parametrize(("rules", "rule"), [("craps-12-034", "C34-DICE-4"), ("craps-v1", "CV1-SHOOT-1")])
def test_C34_DICE_4_and_CV1_SHOOT_1_a_shooter_without_a_line_bet_is_noted(rules: str, rule: str) -> None:
    played = play([NAMED, MISSING, *THROWN], rules=rules)
    assert noted(played) == ["no_line_bet"]
    assert [notice.rule for bets in played.data(Bets) for notice in bets.notices] == [rule]
    assert len(played.data(RollCalled)) == 1, "the roll must count"


def refusing(*scene: AnyReading) -> Played:
    """Play at a table that refuses a come-out roll without a line bet."""
    rules = load_ruleset("craps-12-034")
    assert rules.craps is not None
    refuses = replace(rules, craps=replace(rules.craps, line_bet="refuse"))
    return Played(ruleset=refuses).feed(NAMED, *scene)


def test_where_it_is_refused_a_roll_that_would_count_goes_to_review_and_is_never_void_by_itself() -> None:
    played = refusing(MISSING, *THROWN).finish()
    (review,) = played.data(RollReview)
    assert [(reason.code, reason.rule) for reason in review.reasons] == [("no_line_bet", "C34-DICE-4")]
    assert not played.types("roll.called", "roll.no_roll")


def test_the_boxperson_may_let_a_refused_roll_count_or_not() -> None:
    counts = refusing(MISSING, *THROWN, input_at(9 * SECOND_US, "set_dice", dice=[2, 2], what="1")).finish()
    assert [(roll.total, roll.by) for roll in counts.data(RollCalled)] == [(4, "boxperson")]
    void = refusing(MISSING, *THROWN, input_at(9 * SECOND_US, "no_roll", what="1")).finish()
    assert [roll.by for roll in void.data(RollNoRoll)] == ["boxperson"]


def test_a_roll_that_does_not_count_anyway_needs_no_ruling() -> None:
    played = refusing(MISSING, *throw(3 * SECOND_US, (2, 2), short_mm=(300.0, 0.0))).finish()
    assert len(played.data(RollNoRoll)) == 1
    assert played.data(RollReview) == []


def test_the_next_roll_with_a_line_bet_counts() -> None:
    ruled = input_at(9 * SECOND_US, "no_roll", what="1")
    has = line_bet(10 * SECOND_US, "3", True)
    played = refusing(MISSING, *THROWN, ruled, has, *throw(20 * SECOND_US, (2, 2))).finish()
    assert [roll.roll for roll in played.data(RollCalled)] == [2]


def test_a_refused_roll_gives_the_same_verdict_from_its_evidence() -> None:
    played = refusing(MISSING, *THROWN).finish()
    (judged,) = [effect for effect in played.effects if isinstance(effect, Judged)]
    again = judge_again(unpack(pack(build_evidence(judged))), played.session._setup)
    assert again is not None
    assert again.differences == ()


def test_the_lamp_warns_the_crew_before_the_throw() -> None:
    has = line_bet(2 * SECOND_US + 1, "3", True)
    played = play([NAMED, MISSING, has, *THROWN])
    shown = [
        effect.shows for effect in played.effects if isinstance(effect, Lamp) and effect.name == "line_bet"
    ]
    assert shown == ["missing", "off"]


def test_a_shooter_with_a_line_bet_is_not_noted() -> None:
    reports = [line_bet(2 * SECOND_US, "3", False), line_bet(2 * SECOND_US + 1, "3", True)]
    assert noted(play([NAMED, *reports, *THROWN])) == []


def test_without_a_report_of_the_engine_nothing_is_noted() -> None:
    assert noted(play([NAMED, *THROWN])) == []


def test_a_report_on_another_seat_does_not_concern_this_shooter() -> None:
    assert noted(play([NAMED, line_bet(2 * SECOND_US, "4", False), *THROWN])) == []


def test_with_a_point_on_no_line_bet_is_required() -> None:
    state = State(point=4, shooter="3", line_bet=("3", False))
    assert noted(play(list(THROWN), state=state)) == []


def test_a_new_recording_keeps_the_engines_last_report_on_line_bets() -> None:
    before = play([NAMED, line_bet(2 * SECOND_US, "3", False)])
    assert before.session.state().line_bet == ("3", False)
    assert noted(play(list(THROWN), state=before.session.state())) == ["no_line_bet"]


def test_no_person_may_enter_a_report_on_line_bets() -> None:
    played = play([NAMED, line_bet(2 * SECOND_US, "3", False, by="dealer"), *THROWN])
    assert noted(played) == []
    assert [published.what for published in played.data(TableEvent)] == ["line_bet"]
