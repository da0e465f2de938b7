"""The fairness check finds every wrong outcome, and excuses only the effects of a fault."""

import pytest

from controller.model.outcomes import Data, Outcome, RollNoRoll, RollReview
from controller.model.readings import AnyReading, DeviceDown, DeviceUp
from controller.model.verdicts import Reason
from drivers.sim.scenes import FaultBegan, PlayedAttempt, Scene, Truth
from tests.sim.fairness import unnamed, wrong_outcomes
from tests.sim.test_referee import called

VALID = Truth(verdict="valid", allowed=("valid",), dice=(3, 4))
SHORT = Truth(verdict="void", allowed=("void",), reasons=("no_wall_hit",))


def played(truth: Truth, *by: str) -> PlayedAttempt:
    scene = Scene(kind="a throw", start_us=1_000_000, end_us=3_000_000, truth=truth)
    return PlayedAttempt(t=4_000_000, attempt=1, scene=scene, ends_us=4_000_000, disturbed_by=by)


def outcome(data: Data, kind: str, t: int = 2_000_000) -> Outcome:
    return Outcome(type=kind, t=t, id="t/1/1", seq=1, data=data)


def review() -> RollReview:
    return RollReview(roll=1, reasons=(), dice=None, notices=())


def no_roll(code: str) -> RollNoRoll:
    reasons = (Reason(code=code, rule="", seen=""),)
    return RollNoRoll(roll=1, reasons=reasons, by="sensors", who=None, notices=())


CALL = outcome(called(), "roll.called")
OTHER = outcome(called((5, 5)), "roll.called")
REVIEW = outcome(review(), "roll.review")


@pytest.mark.parametrize(
    ("truth", "by", "words", "fair"),
    [
        (VALID, (), [CALL], True),
        (VALID, (), [REVIEW], False),
        (VALID, (), [], False),
        (VALID, ("unplug cam",), [CALL], True),
        (VALID, ("unplug cam",), [REVIEW], True),
        (VALID, ("unplug cam",), [], True),
        (VALID, ("unplug cam",), [OTHER], False),
        (VALID, ("unplug cam",), [outcome(no_roll("no_wall_hit"), "roll.no_roll")], False),
        (VALID, ("unplug cam",), [REVIEW, outcome(no_roll("unruled"), "roll.no_roll")], True),
        (VALID, ("stuck_button console",), [outcome(no_roll("called"), "roll.no_roll")], True),
        (VALID, ("hidden_die cam",), [outcome(no_roll("one_die_thrown"), "roll.no_roll")], True),
        (SHORT, ("unplug cam",), [CALL], False),
        (SHORT, ("unplug cam",), [outcome(no_roll("no_wall_hit"), "roll.no_roll")], True),
        (VALID, ("unplug cam",), [CALL, CALL], False),
    ],
)
def test_an_unfair_outcome_is_found_and_a_fair_one_is_not(
    truth: Truth, by: tuple[str, ...], words: list[Outcome], fair: bool
) -> None:
    assert (wrong_outcomes([played(truth, *by)], words) == []) is fair


@pytest.mark.parametrize(
    ("readings", "named"),
    [
        ([], False),
        ([DeviceDown(t=2_000_000, dev="cam", code="silent")], True),
        ([DeviceDown(t=2_000_000, dev="cam", code="deaf")], False),
        ([DeviceDown(t=2_000_000, dev="eye", code="silent")], False),
        ([DeviceDown(t=60_000_000, dev="cam", code="silent")], False),
        ([DeviceDown(t=500_000, dev="cam", code="no_port")], True),
        ([DeviceDown(t=500_000, dev="cam", code="no_port"), DeviceUp(t=600_000, dev="cam")], False),
    ],
)
def test_a_fault_must_be_named_unless_its_device_is_down_already(
    readings: list[AnyReading], named: bool
) -> None:
    began = FaultBegan(t=1_000_000, fault="silence", device="cam", seconds=3, codes=("silent",), sees="")
    assert (unnamed([began], readings) == []) is named
