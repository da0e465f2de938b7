"""The outcomes of a table that resumes after a stop, including an interrupted attempt."""

import pytest

from controller.engine.resume import (
    CONTROLLER,
    CutOffAttempts,
    InFlight,
    LastRow,
    OpenAttempts,
    begun_between,
    opening_outcomes,
    resume,
)
from controller.games.craps.game import CRAPS
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.outcomes import Bets, Outcome, RollNoRoll, RollReview, SpinNoSpin, TableEvent
from controller.settings.rulesets import load_ruleset
from tests.scenes import TABLE, input_at

ROLL_4 = InFlight("roll", 4, 1_000, review_published=False)
CLOSED = LastRow("bets.closed", Bets(round=3, cause="dice_released"))


def locked(by: str) -> LastRow:
    return LastRow("table.locked", TableEvent(cause="lock", by=by))


def setup(first: NextNumbers, state: State | None = None, rules: str = "craps-12-034") -> Setup:
    return Setup(
        table="t1",
        session="7",
        ruleset=load_ruleset(rules),
        first=first,
        state=state or State(),
        dice_table=TABLE,
    )


def opening(
    *last: LastRow, cut: tuple[InFlight, ...] = (), lock: str = "unlocked"
) -> tuple[list[Outcome], NextNumbers]:
    state = State(lock="locked" if lock == "locked" else "unlocked")
    resumed = resume(CRAPS, state, NextNumbers(seq=20, roll=4, round=3), cut, last)
    return opening_outcomes(resumed, setup(resumed.first), 5)


def test_a_throw_cut_off_goes_to_review_and_the_table_locks() -> None:
    published, first = opening(CLOSED, cut=(ROLL_4,))
    assert [(o.type, o.id) for o in published] == [("roll.review", "t1/7/20"), ("table.locked", "t1/7/21")]
    assert isinstance(published[0].data, RollReview)
    assert [(r.code, r.rule) for r in published[0].data.reasons] == [("power_lost", "C34-INV-2vi")]
    assert first == NextNumbers(seq=22, roll=5, round=3)


def test_a_published_review_is_not_published_again() -> None:
    published, first = opening(cut=(ROLL_4._replace(review_published=True),), lock="locked")
    assert published == []
    assert first == NextNumbers(seq=20, roll=5, round=3)


def test_bets_closed_without_an_attempt_in_flight_open_again() -> None:
    published, first = opening(CLOSED, lock="locked")
    assert [(o.type, o.data) for o in published] == [("bets.opened", Bets(round=4, cause="restart"))]
    assert first == NextNumbers(seq=21, roll=4, round=4)


@pytest.mark.parametrize(
    ("last", "held"),
    [
        ((), True),
        ((locked(CONTROLLER),), False),
        ((locked("supervisor"),), True),
        ((LastRow("table.locked", None),), True),
        ((locked("supervisor"), LastRow("table.unlocked", TableEvent(cause="unlock", by=CONTROLLER))), False),
        (
            (
                locked(CONTROLLER),
                LastRow("input.refused", TableEvent(cause="already_locked", what="lock", by="boxperson")),
            ),
            True,
        ),
    ],
    ids=["unknown", "its own", "a person's", "unreadable", "unlocked", "asked again by a person"],
)
def test_only_a_lock_known_to_be_the_controllers_own_is_undone_without_a_person(
    last: tuple[LastRow, ...], held: bool
) -> None:
    assert resume(CRAPS, State(lock="locked"), NextNumbers(), (), last).held is held


def test_a_ruling_voids_the_attempt_that_was_cut_off_and_opens_the_bets() -> None:
    cut = CutOffAttempts((ROLL_4,), setup(NextNumbers()))
    assert cut.ruled_by(input_at(1, "no_roll"))
    assert not cut.ruled_by(input_at(1, "set_dice", dice=(1, 2)))
    ruling = input_at(1, "no_roll", by="boxperson", who="ann")
    published, first = cut.close(ruling, NextNumbers(seq=9, roll=5, round=2), 1, bets_closed=True)
    assert [o.type for o in published] == ["roll.no_roll", "bets.opened"]
    assert isinstance(published[0].data, RollNoRoll)
    assert [r.code for r in published[0].data.reasons] == ["power_lost", "called"]
    assert (published[0].data.by, published[0].data.who) == ("boxperson", "ann")
    assert first == NextNumbers(seq=11, roll=5, round=3)
    assert cut.awaited is None


def test_play_that_resumes_without_a_ruling_voids_the_attempt_that_was_cut_off() -> None:
    cut = CutOffAttempts((InFlight("spin", 2, 0, review_published=True),), setup(NextNumbers()))
    published, first = cut.close(None, NextNumbers(seq=9, spin=3), 1, bets_closed=False)
    assert isinstance(published[0].data, SpinNoSpin)
    assert ([r.code for r in published[0].data.reasons], published[0].data.by) == (
        ["power_lost", "unruled"],
        "nobody",
    )
    assert first.seq == 10


def test_an_attempt_is_open_until_its_end_and_undecided_until_its_review() -> None:
    attempts, now = OpenAttempts(NextNumbers(roll=4)), NextNumbers(roll=5)
    assert begun_between(NextNumbers(roll=4), now) == [("roll", 4)]
    assert (attempts.open_before(now), attempts.undecided_before(now)) == (True, True)
    attempts.follow(Outcome(type="roll.review", t=1, id="t1/7/1", seq=1, data=_review(4)))
    assert (attempts.open_before(now), attempts.undecided_before(now)) == (True, False)


def _review(number: int) -> RollReview:
    return RollReview(roll=number, reasons=(), dice=None, notices=())
