"""A table with its own beams beside a smart wheel. The beams decide, and the wheel's number must agree."""

import pytest

from controller.model.outcomes import Bets, Outcome, SpinCalled, SpinNoSpin, SpinReview
from controller.model.readings import DeviceDown, PocketBall, WheelStatus
from controller.settings.rulesets import load_ruleset
from tests.rules.wheel.simulator import Scene, Spin, spin
from tests.scenes import SECOND_US, input_at
from tests.wheels import AMERICAN, outcomes

SPIN = spin(Scene(wheel=AMERICAN, revolutions=14.0, pocket=9, bounces=0))
READS = [reading.t for reading in SPIN.readings if isinstance(reading, PocketBall)]
THIRD_READ_US = READS[2]
OTHER = "18" if SPIN.number != "18" else "19"


def word(t: int, state: int, number: str, *, flags: int = 0, spin_number: int = 7) -> WheelStatus:
    return WheelStatus(
        t=t, dev="ss2", state=state, spin=spin_number, number=number, flags=flags, direction="cw"
    )


def wheel_beside(of: Spin, number: str, *, number_us: int, flags: int = 0) -> list[WheelStatus]:
    """Return the smart wheel's reports on this spin, with its number from `number_us` on."""
    said: list[WheelStatus] = []
    for t in range(of.launched_us - 3 * SECOND_US, number_us + 4 * SECOND_US, SECOND_US // 2):
        if t >= number_us:
            said.append(word(t, 5, number, flags=flags))
        elif t > of.left_us - 5 * SECOND_US:
            said.append(word(t, 4, "31"))
        else:
            said.append(word(t, 3 if t > of.launched_us + SECOND_US else 2, "31"))
    return said


def play(*scenes: object) -> list[Outcome]:
    return outcomes(*scenes, ruleset=load_ruleset("roulette"))  # type: ignore[arg-type]  # lists of readings


def called(published: list[Outcome]) -> list[tuple[str, str]]:
    return [(o.data.number, o.data.grade) for o in published if isinstance(o.data, SpinCalled)]


def reviews(published: list[Outcome]) -> list[tuple[list[str], str | None]]:
    found = [o.data for o in published if isinstance(o.data, SpinReview)]
    return [([reason.code for reason in data.reasons], data.number) for data in found]


@pytest.mark.parametrize("after_s", [-1.0, 0.3, 4.0])
def test_a_number_on_which_both_agree_is_called_from_the_beams(after_s: float) -> None:
    number_us = THIRD_READ_US + round(after_s * SECOND_US)
    published = play(SPIN.readings, wheel_beside(SPIN, SPIN.number, number_us=number_us))
    assert called(published) == [(SPIN.number, "sensors")]


@pytest.mark.parametrize("after_s", [-1.0, 0.3, 4.0])
def test_numbers_that_differ_are_a_conflict(after_s: float) -> None:
    number_us = THIRD_READ_US + round(after_s * SECOND_US)
    published = play(SPIN.readings, wheel_beside(SPIN, OTHER, number_us=number_us))
    assert (called(published), reviews(published)) == ([], [(["conflict"], SPIN.number)])


def test_a_number_that_the_wheel_reports_with_a_warning_is_a_conflict() -> None:
    published = play(SPIN.readings, wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US, flags=1))
    assert (called(published), reviews(published)) == ([], [(["conflict"], SPIN.number)])


def test_a_wheel_that_reports_no_number_leads_to_review_after_a_timeout() -> None:
    silent = [w for w in wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US) if w.state != 5]
    published = play(SPIN.readings, silent)
    assert (called(published), reviews(published)) == ([], [(["missing_reading"], SPIN.number)])


def test_a_wheel_reader_lost_in_the_spin_leads_to_review() -> None:
    lost = DeviceDown(t=SPIN.left_us, dev="ss2", reason="unplugged")
    published = play(SPIN.readings, wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US), [lost])
    assert called(published) == []
    assert "missing_reading" in reviews(published)[0][0]


def test_a_certain_cause_of_no_spin_needs_no_report_of_the_wheel() -> None:
    short = spin(Scene(wheel=AMERICAN, revolutions=2.6, bounces=0))
    published = play(
        short.readings, wheel_beside(short, short.number, number_us=short.left_us + 3 * SECOND_US)
    )
    assert [[r.code for r in o.data.reasons] for o in published if isinstance(o.data, SpinNoSpin)] == [
        ["too_few_revolutions"]
    ]
    assert (called(published), reviews(published)) == ([], [])


def test_the_wheels_own_no_more_bets_closes_the_bets_if_it_comes_first() -> None:
    published = play(SPIN.readings, wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US))
    closed = next(o for o in published if isinstance(o.data, Bets))
    assert SPIN.left_us - closed.t == pytest.approx(5 * SECOND_US, abs=SECOND_US)


def test_a_number_of_the_wheel_without_any_beam_reading_leads_to_review() -> None:
    published = play(wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US))
    assert called(published) == []
    codes, number = reviews(published)[0]
    assert ("revolutions_unclear" in codes, number) == (True, SPIN.number)


def test_a_person_rules_on_the_number_that_the_wheel_showed() -> None:
    accept = input_at(THIRD_READ_US + 20 * SECOND_US, "accept", "dealer")
    published = play(wheel_beside(SPIN, SPIN.number, number_us=THIRD_READ_US), [accept])
    assert called(published) == [(SPIN.number, "person")]
