"""The calls, reviews and No Spins of a table that trusts its smart wheel."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.machines.setup import State
from controller.model.outcomes import Bets, Outcome, SpinCalled, SpinNoSpin, SpinReview, TableEvent
from controller.model.readings import BallOut, DeviceDown, ForeignObject, WheelStatus
from controller.settings.rulesets import load_ruleset
from tests.scenes import input_at
from tests.wheels import AMERICAN, PERIOD_US, START_US, frame, game, heard, outcomes, reports


def types(published: list[Outcome]) -> list[str]:
    return [o.type for o in published if o.type.startswith(("spin", "bets"))]


def numbers(published: list[Outcome]) -> list[str]:
    return [o.data.number for o in published if isinstance(o.data, SpinCalled)]


def reviews(published: list[Outcome]) -> list[tuple[list[str], str | None]]:
    return [
        ([r.code for r in o.data.reasons], o.data.number) for o in published if isinstance(o.data, SpinReview)
    ]


def no_spins(published: list[Outcome]) -> list[list[str]]:
    return [[r.code for r in o.data.reasons] for o in published if isinstance(o.data, SpinNoSpin)]


GAME = heard(game(12, " 7", "23"))
NUMBER_US = next(word.t for word in reports(GAME) if word.state == 5)


def test_an_observed_number_is_called_with_grade_wheel_and_no_revolutions() -> None:
    called = next(o for o in outcomes(GAME) if isinstance(o.data, SpinCalled))
    assert isinstance(called.data, SpinCalled)
    assert (called.data.spin, called.data.number, called.data.colour) == (1, "23", "red")
    assert (called.data.grade, called.data.revolutions) == ("wheel", None)
    assert called.t == NUMBER_US


def test_R_SPIN_3_the_wheels_own_no_more_bets_closes_the_bets() -> None:
    published = outcomes(GAME)
    assert types(published) == ["bets.closed", "spin.called", "bets.opened"]
    closed = next(o for o in published if o.type == "bets.closed")
    assert isinstance(closed.data, Bets)
    assert closed.data.cause == "ball_speed"
    assert closed.t == next(word.t for word in reports(GAME) if word.state == 4)


@pytest.mark.parametrize("from_frame", [0, 3, 8, 12, 13])
@pytest.mark.parametrize("seconds", [2, 4, 8, 30])
def test_R_SPIN_3_states_held_back_by_a_cable_close_the_bets_as_of_the_last_state_before(
    from_frame: int, seconds: int
) -> None:
    """The delayed states have no times, and anyone who watched the wheel knew more than the table."""
    stalled_from_us = reports(GAME)[from_frame].t
    ends_us = stalled_from_us + seconds * 1_000_000
    held = [
        msgspec.structs.replace(reading, t=max(reading.t, ends_us))
        if reading.t > stalled_from_us
        else reading
        for reading in GAME
    ]
    closes_us = next(word.t for word in reports(GAME) if word.state == 4)
    closed = next(o for o in outcomes(held) if o.type == "bets.closed")
    assert closed.t == (stalled_from_us if closes_us < ends_us else closes_us)


def test_R_SPIN_3_one_missed_state_does_not_change_the_time_of_the_close() -> None:
    lines = game(12, " 7", "23")
    at = next(n for n, line in enumerate(lines) if line.startswith("*X;4"))
    closed = next(o for o in outcomes(heard([*lines[: at - 1], "", *lines[at:]])) if o.type == "bets.closed")
    assert closed.t == START_US + at * PERIOD_US


def test_game_after_game_each_number_is_called_once_and_never_the_last_games() -> None:
    lines = [*game(12, " 7", "23"), *game(13, "23", "00", direction=1), *game(14, "00", " 0")]
    assert numbers(outcomes(heard(lines))) == ["23", "00", "0"]


def test_a_number_that_comes_twice_in_a_row_is_called_twice() -> None:
    assert numbers(outcomes(heard([*game(12, " 7", "23"), *game(13, "23", "23")]))) == ["23", "23"]


def test_the_spin_count_may_wrap_at_256() -> None:
    lines = [*game(256, " 7", "23"), *game(1, "23", "31"), *game(2, "31", " 4")]
    assert numbers(outcomes(heard(lines))) == ["23", "31", "4"]


def test_a_number_that_was_not_announced_is_still_called() -> None:
    assert numbers(outcomes(heard(game(12, " 7", "23", announced=False)))) == ["23"]


def test_a_no_spin_entered_within_the_hold_stops_the_call() -> None:
    published = outcomes(GAME, [input_at(NUMBER_US + 100_000, "no_spin", "dealer")])
    assert (numbers(published), no_spins(published)) == ([], [["called"]])


def test_a_void_games_number_is_never_called() -> None:
    published = outcomes(GAME, [input_at(NUMBER_US - 3_000_000, "no_spin", "dealer")])
    assert types(published) == ["bets.closed", "spin.no_spin", "bets.opened"]


def test_the_dealer_confirms_with_grade_person_where_calls_are_confirmed() -> None:
    accept = [input_at(NUMBER_US + 1_000_000, "accept", "dealer")]
    published = outcomes(GAME, accept, state=State(calls="confirm"))
    called = next(o.data for o in published if isinstance(o.data, SpinCalled))
    assert (called.number, called.grade, called.by) == ("23", "person", "dealer")


def test_no_number_can_be_set_while_the_ball_runs_and_only_a_pocket_afterwards() -> None:
    early, bad = input_at(NUMBER_US - 1_000_000, "set_number", number="5"), "77"
    wrong = input_at(NUMBER_US + 1_000_000, "set_number", number=bad)
    refused = [o.data for o in outcomes(GAME, [early, wrong]) if o.type == "input.refused"]
    assert [r.cause for r in refused if isinstance(r, TableEvent)] == ["result_not_in", "bad_argument"]


# --- missing observations ---


def test_a_missed_state_5_is_a_review_that_shows_the_number_and_calls_nothing() -> None:
    lines = [*game(31, "18", "22", announced=False)[:-8], *[frame(2, 32, "22")] * 4]
    published = outcomes(heard(lines))
    assert (numbers(published), reviews(published)) == ([], [(["missing_reading"], "22")])


def test_a_number_without_the_states_before_it_is_not_called() -> None:
    lines = [*game(31, "18", "22")[:-8], *[frame(2, 32, "22")] * 4]
    assert numbers(outcomes(heard(lines))) == []


@pytest.mark.parametrize("state", [1, 2, 3, 6, 7])
def test_a_number_that_follows_any_other_state_than_4_is_a_review(state: int) -> None:
    lines = [*game(31, "18", "22")[:-9], frame(state, 31, "18"), frame(5, 31, "22")]
    assert numbers(outcomes(heard(lines))) == []
    assert reviews(outcomes(heard(lines)))


def test_a_game_first_seen_in_progress_gets_the_full_time_to_report_a_number() -> None:
    lines = [*game(16, "18", "22")[:-9], *[""] * 20, *game(46, "05", "22")[14:]]
    published = outcomes(heard(lines))
    assert numbers(published) == ["22"]
    assert min(o.t for o in published) >= START_US


def test_a_number_of_another_game_than_its_state_is_a_review() -> None:
    lines = [*game(67, "18", "22")[:-8], *[frame(5, 27, "22")] * 4]
    published = outcomes(heard(lines))
    assert numbers(published) == []
    assert reviews(published)[-1] == (["missing_reading"], "22")


def test_a_number_after_three_missing_frames_is_a_review() -> None:
    lines = [*game(31, "18", "22")[:-9], "", "", "", *game(31, "18", "22")[-9:]]
    assert reviews(outcomes(heard(lines))) == [(["missing_reading"], "22")]
    two = [*game(31, "18", "22")[:-9], "", *game(31, "18", "22")[-9:]]
    assert numbers(outcomes(heard(two))) == ["22"]


def test_a_wheel_that_falls_silent_in_the_spin_and_comes_back_is_a_review() -> None:
    whole = game(31, "18", "22")
    lines = [*whole[:16], *[""] * 12, *whole[16:]]
    assert reviews(outcomes(heard(lines))) == [(["missing_reading"], "22")]


def test_a_wheel_that_never_comes_back_is_a_review_and_not_silence() -> None:
    published = outcomes(heard(game(31, "18", "22")[:20]), [DeviceDown(t=40_000_000, dev="ss2")])
    assert reviews(published) == [(["missing_reading"], None)]


def test_a_wheel_whose_settings_are_not_the_approved_ones_calls_nothing() -> None:
    down = DeviceDown(t=START_US + 1, dev="ss2", code="configuration", reason="parameter m is 20000")
    assert reviews(outcomes([down], GAME)) == [(["missing_reading"], "23")]


def test_a_game_without_any_report_is_a_review_and_closes_the_bets_late() -> None:
    lines = [*[frame(2, 9, "24")] * 4, *[""] * 80, *[frame(2, 10, "34")] * 4]
    published = outcomes(heard(lines))
    assert reviews(published) == [(["missing_reading"], "34")]
    closed = next(o.data for o in published if isinstance(o.data, Bets))
    assert [n.code for n in closed.notices] == ["late_close"]


def test_games_without_any_report_show_no_number() -> None:
    lines = [*[frame(2, 9, "24")] * 4, *[""] * 80, *[frame(2, 12, "34")] * 4]
    assert reviews(outcomes(heard(lines))) == [(["missing_reading"], None)]


def test_a_power_cycle_in_a_spin_is_a_review_without_a_number() -> None:
    lines = [*game(140, "18", "22")[:-9], *[""] * 20, *[frame(6, 1, "  ", rpm=0)] * 4]
    codes, number = reviews(outcomes(heard(lines)))[0]
    assert (set(codes), number) == ({"missing_reading"}, None)


def test_a_missing_state_3_is_noted_and_the_observed_number_still_counts() -> None:
    published = outcomes(heard([*game(66, "11", "22")[:4], *game(66, "11", "22")[14:]]))
    called = next(o.data for o in published if isinstance(o.data, SpinCalled))
    assert (called.number, [n.code for n in called.notices]) == ("22", ["state_unseen"])


# --- contradictions ---


@pytest.mark.parametrize(
    ("announced", "shown"),
    [(" 8", "18"), ("00", " 0"), (" 0", "00")],
)
def test_a_number_that_differs_from_the_announced_one_is_a_conflict(announced: str, shown: str) -> None:
    lines = [*game(30, "18", "22")[:-9], announced, *[frame(5, 30, shown)] * 4]
    published = outcomes(heard(lines))
    assert (numbers(published), reviews(published)) == ([], [(["conflict"], shown.strip())])


@pytest.mark.parametrize("shown", ["38", "39", "37", "40", "07", "  "])
def test_a_number_that_the_wheel_does_not_have_is_a_conflict(shown: str) -> None:
    lines = [*game(30, "18", "22")[:-9], *[frame(5, 30, shown)] * 4]
    published = outcomes(heard(lines))
    assert (numbers(published), reviews(published)) == ([], [(["conflict"], None)])


@pytest.mark.parametrize("flags", "123456789ABCDEF")
def test_a_number_that_comes_with_a_warning_is_never_called(flags: str) -> None:
    lines = [*game(30, "18", "22")[:-8], *[frame(5, 30, "22", flags=flags)] * 4]
    published = outcomes(heard(lines))
    assert (numbers(published), len(reviews(published))) == ([], 1)


def test_a_number_that_changes_while_the_call_is_held_is_a_conflict() -> None:
    other = msgspec.structs.replace(reports(GAME)[-8], t=NUMBER_US + 100_000, number="24")
    assert reviews(outcomes(GAME, [other])) == [(["conflict"], "23")]


def test_a_number_that_changes_before_state_5_is_a_conflict() -> None:
    lines = [*game(30, "18", "22")[:-12], *[frame(4, 30, "19")] * 3, "22", *[frame(5, 30, "22")] * 4]
    assert [codes for codes, _ in reviews(outcomes(heard(lines)))] == [["conflict"]]


@pytest.mark.parametrize("rpm", [0, 953])
def test_a_number_read_with_an_implausible_encoder_speed_is_a_conflict(rpm: int) -> None:
    lines = [*game(30, "18", "22")[:-12], frame(4, 30, "18", rpm=rpm), *game(30, "18", "22")[-12:]]
    assert reviews(outcomes(heard(lines))) == [(["conflict"], "22")]


# --- the manufacturer's exception rules ---


@pytest.mark.parametrize("flags", "2A")
def test_R_SPIN_1_flag_2_in_the_rim_is_no_spin_at_once(flags: str) -> None:
    published = outcomes(heard(game(20, "12", "22", in_rim=["0", flags, "0"])))
    assert (numbers(published), no_spins(published)) == ([], [["same_direction"]])
    assert next(o for o in published if o.type == "spin.no_spin").t == START_US + 9 * PERIOD_US


def test_after_a_void_game_the_wheel_plays_the_same_game_again_and_its_number_counts() -> None:
    lines = [*game(20, "12", "22", in_rim="002", no_more_bets="")[:-9], *game(20, "12", "22")]
    published = outcomes(heard(lines))
    assert (no_spins(published), numbers(published)) == ([["same_direction"]], ["22"])


def test_flag_2_after_no_more_bets_contradicts_the_state_and_is_a_review() -> None:
    published = outcomes(heard(game(20, "12", "22", no_more_bets="00200000")))
    assert [codes for codes, _ in reviews(published)] == [["conflict"]]
    assert numbers(published) == []


def test_flag_8_before_the_ball_is_in_the_rim_is_ignored() -> None:
    lines = [
        *[frame(2, 12, " 7", flags="8")] * 4,
        *[frame(2, 12, " 7", flags="2")] * 2,
        *game(12, " 7", "23"),
    ]
    assert numbers(outcomes(heard(lines))) == ["23"]


def test_flag_8_is_tolerated_for_three_seconds_in_the_rim() -> None:
    assert numbers(outcomes(heard(game(21, "12", "22", in_rim="888888")))) == ["22"]
    persists = outcomes(heard(game(21, "12", "22", in_rim="8888888")))
    assert (numbers(persists), [codes for codes, _ in reviews(persists)]) == ([], [["conflict"]])


def test_flag_1_is_tolerated_for_less_than_five_seconds() -> None:
    assert numbers(outcomes(heard(game(22, "12", "22", no_more_bets="1" * 9 + "0" * 9)))) == ["22"]
    persists = outcomes(heard(game(22, "12", "22", no_more_bets="1" * 11 + "0" * 9)))
    assert [codes for codes, _ in reviews(persists)] == [["missing_reading"]]
    assert numbers(persists) == []


def test_flag_1_that_comes_and_goes_does_not_add_up() -> None:
    assert numbers(outcomes(heard(game(22, "12", "22", no_more_bets="1111111110" * 2)))) == ["22"]


def test_flag_4_is_a_review_at_once_and_locks_the_bets() -> None:
    published = outcomes(heard(game(22, "12", "22", in_rim="0004")))
    assert [codes for codes, _ in reviews(published)] == [["missing_reading"]]
    assert next(o.data for o in published if isinstance(o.data, Bets)).cause == "wheel_fault"
    assert "device.fault" in [o.type for o in published]


def test_a_rotor_that_reverses_during_the_spin_is_no_spin() -> None:
    lines = [frame(2, 33, "22", direction=1), *[frame(3, 33, "22", direction=1)] * 4]
    lines += [*[frame(4, 33, "22", direction=0)] * 8, *[frame(5, 33, "23", direction=0)] * 4]
    published = outcomes(heard(lines))
    assert (numbers(published), no_spins(published)) == ([], [["rotor_reversed"]])
    (no_spin,) = (o.data for o in published if isinstance(o.data, SpinNoSpin))
    assert no_spin.reasons[0].seen == "the rotor reversed during the spin and now turns clockwise"


def test_a_rotor_that_reverses_before_the_launch_is_normal_for_this_wheel() -> None:
    lines = [*[frame(2, 12, " 7", direction=1)] * 4, *game(12, " 7", "23", direction=0)]
    assert numbers(outcomes(heard(lines))) == ["23"]


def test_R_IRR_3_other_sensors_of_the_table_count_too() -> None:
    middle = NUMBER_US - 4_000_000
    assert no_spins(outcomes(GAME, [ForeignObject(t=middle, dev="cam", where="track")])) == [
        ["foreign_object"]
    ]
    assert no_spins(outcomes(GAME, [BallOut(t=middle, dev="cam")])) == [["ball_out"]]


# --- a table that does not trust its wheel ---


def test_R_SPIN_2_without_trust_and_without_beams_a_wheels_number_leads_to_review() -> None:
    published = outcomes(GAME, ruleset=load_ruleset("roulette"))
    assert numbers(published) == []
    codes, number = reviews(published)[0]
    assert "revolutions_unclear" in codes
    assert number == "23"


def test_a_game_begun_at_a_locked_table_is_never_called_even_if_it_is_unlocked_meanwhile() -> None:
    unlock = input_at(NUMBER_US - 2_000_000, "unlock")
    published = outcomes(GAME, [unlock], state=State(lock="locked"))
    assert (numbers(published), reviews(published)) == ([], [])
    assert "input.refused" in [o.type for o in published]


# --- random reports ---


def observed(said: list[WheelStatus]) -> set[tuple[int, str]]:
    """Return the observed numbers, from the two reports at each change from state 4 to 5 only."""
    pairs = [(a, b) for a, b in pairwise(said) if (a.state, b.state) == (4, 5) and a.spin == b.spin]
    return {(b.t, str(b.number)) for _, b in pairs if not b.flags and not b.unheard_ms}


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.data())
def test_only_observed_numbers_are_called_whatever_is_lost_or_damaged(data: st.DataObject) -> None:
    lines = [*game(12, " 7", "23"), *game(13, "23", " 0"), *game(14, " 0", "00")]
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["drop", "silence", "other", "damage"])):
            case "drop":
                del lines[at : at + data.draw(st.integers(1, 30))]
            case "silence":
                lines[at : at + 1] = [""] * data.draw(st.integers(1, 14))
            case "other":
                state, spin = data.draw(st.integers(1, 7)), data.draw(st.integers(11, 16))
                number = data.draw(st.sampled_from([" 7", "23", " 0", "00", "38", "  "]))
                lines[at] = frame(state, spin, number, flags=data.draw(st.sampled_from("00001248")))
            case "damage":
                lines[at] = lines[at][data.draw(st.integers(0, 21)) :] + lines[at]
        lines = lines or [frame(2, 12, " 7")]
    readings = heard(lines)
    published = outcomes(readings)
    called = {(o.t, o.data.number) for o in published if isinstance(o.data, SpinCalled)}
    assert called <= observed(reports(readings))
    assert {number for _, number in called} <= set(AMERICAN.pockets_clockwise)
