"""The referee finds every kind of difference between a table's outcomes and the truth."""

import pytest

from controller.model.outcomes import (
    Bets,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    SpinCalled,
)
from controller.model.verdicts import Reason
from drivers.sim.scenes import Scene, Truth, disagreements

VALID = Truth(verdict="valid", allowed=("valid",), dice=(3, 4))
SHORT = Truth(verdict="void", allowed=("void",), reasons=("no_wall_hit",))
EITHER = Truth(verdict="valid", allowed=("valid", "review"), dice=(3, 4))
UNSURE = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=(3, 4))


def called(dice: tuple[int, int] = (3, 4), grade: str = "sensors") -> RollCalled:
    return RollCalled(
        roll=1,
        dice=dice,
        total=sum(dice),
        phase="come_out",
        point=None,
        call="natural",
        point_after=None,
        shooter=None,
        grade="person" if grade == "person" else "sensors",
        notices=(),
        by=None,
        who=None,
    )


def void(*codes: str) -> RollNoRoll:
    reasons = tuple(Reason(code=code, rule="", seen="") for code in codes)
    return RollNoRoll(roll=1, reasons=reasons, by="sensors", who=None, notices=())


def review() -> RollReview:
    return RollReview(roll=1, reasons=(), dice=None, notices=())


def corrected(dice: tuple[int, int] | None) -> RollCorrected:
    return RollCorrected(roll=1, corrects="x", ruling="no_roll", by="boxperson", who=None, dice=dice)


TYPES = {
    RollCalled: "roll.called",
    RollNoRoll: "roll.no_roll",
    RollReview: "roll.review",
    RollCorrected: "roll.corrected",
}


def faults(truth: Truth, *published: Data) -> list[str]:
    scene = Scene(kind="a scene", start_us=0, end_us=9, truth=truth)
    outcomes = [
        Outcome(type=TYPES[type(data)], t=n, id=f"t/s/{n}", seq=n, data=data)
        for n, data in enumerate(published, 1)
    ]
    return [found.fault for found in disagreements([scene], outcomes)]


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (VALID, (called(),)),
        (SHORT, (void("no_wall_hit"),)),
        (UNSURE, (review(), called(grade="person"))),
        (UNSURE, (called(grade="person"),)),
        (Truth(verdict="review", allowed=("review",), ruled="void"), (void("called"),)),
        (Truth(verdict="valid", allowed=("valid", "review"), dice=(3, 4)), (review(),)),
        (
            Truth(verdict="valid", allowed=("valid", "review"), dice=(3, 4)),
            (void("wall_unclear", "unruled"),),
        ),
        (Truth(verdict="valid", allowed=("valid",), dice=(4, 3), any_order=True), (called(),)),
        (
            Truth(verdict="valid", allowed=("valid",), dice=(3, 4), ruled="corrected"),
            (called(), corrected(None)),
        ),
    ],
)
def test_a_table_that_publishes_what_happened_has_no_faults(truth: Truth, expected: tuple[Data, ...]) -> None:
    assert faults(truth, *expected) == []


@pytest.mark.parametrize(
    ("truth", "expected", "fault"),
    [
        (VALID, (), "silent"),
        (VALID, (called((4, 4)),), "wrong"),
        (VALID, (void("no_wall_hit"),), "needless_void"),
        (VALID, (review(),), "needless_review"),
        (VALID, (void("wall_unclear", "unruled"),), "needless_review"),
        (VALID, (called(), void("called")), "wrong"),
        (VALID, (called(), corrected(None)), "wrong"),
        (SHORT, (called(),), "wrong"),
        (SHORT, (void("stacked"),), "wrong_reasons"),
        (SHORT, (void("no_wall_hit", "stacked"),), "wrong_reasons"),
        (UNSURE, (called(),), "wrong"),
        (UNSURE, (review(),), "silent"),
        (UNSURE, (review(), called((1, 1), "person")), "wrong"),
        (UNSURE, (review(), called()), "wrong"),
        (UNSURE, (called((1, 1), "person"),), "wrong"),
        (UNSURE, (void("called"),), "needless_void"),
        (Truth(verdict="valid", allowed=("valid",), dice=(3, 4), ruled="corrected"), (called(),), "silent"),
    ],
)
def test_a_table_that_publishes_anything_else_is_found(
    truth: Truth, expected: tuple[Data, ...], fault: str
) -> None:
    assert faults(truth, *expected) == [fault]


def test_an_attempt_that_never_happened_is_found() -> None:
    scene = Scene(kind="a scene", start_us=0, end_us=9, truth=VALID)
    stray = Outcome(type="roll.called", t=2, id="t/s/2", seq=2, data=called())
    first = Outcome(type="roll.called", t=1, id="t/s/1", seq=1, data=called())
    assert [d.fault for d in disagreements([scene], [first, stray], first=0)] == ["silent", "wrong"]


@pytest.mark.parametrize(("closed_us", "faulty"), [(4_000, False), (6_000, True)])
def test_bets_still_open_at_the_drop_of_a_valid_spin_are_found(closed_us: int, faulty: bool) -> None:
    truth = Truth(verdict="valid", allowed=("valid",), number="17", drop_us=5_000)
    scene = Scene(kind="valid", start_us=1_000, end_us=9_000, truth=truth)
    call = SpinCalled(
        spin=1, number="17", colour="black", revolutions=9, grade="sensors", notices=(), by=None, who=None
    )
    published = [
        Outcome(type="bets.closed", t=closed_us, id="a/b/1", seq=1, data=Bets(round=1, cause="ball_speed")),
        Outcome(type="spin.called", t=8_000, id="a/b/2", seq=2, data=call),
    ]
    assert [d.fault for d in disagreements([scene], published)] == (["late_close"] if faulty else [])
