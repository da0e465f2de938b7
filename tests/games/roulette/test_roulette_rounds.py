"""Roulette at the table: betting, No More Bets, the drop, the number, No Spin, and people's inputs."""

from dataclasses import replace
from random import Random
from typing import Literal

import pytest

from controller.machines.setup import NextNumbers, State
from controller.model.geometry import Wheel
from controller.model.outcomes import Bets, SpinCalled, SpinCorrected, SpinNoSpin, SpinReview, TableEvent
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    Input,
    PocketBall,
    Reading,
    RotorIndex,
)
from controller.model.rulesets import RuleSet
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.rules.wheel.simulator import Scene, Spin, spin, wheel
from tests.scenes import SECOND_US, input_at

WHEEL = wheel()
SPIN = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0))
SHORT = spin(Scene(wheel=WHEEL, revolutions=2.6, bounces=0))
SAME_WAY = spin(Scene(wheel=WHEEL, revolutions=14.0, ball="cw", rotor="cw", bounces=0))
NEXT = spin(Scene(wheel=WHEEL, revolutions=12.0, pocket=20, bounces=0, seed=2, begins_us=90 * SECOND_US))
MS = 1000


def play(
    *scenes: Spin | list[Reading] | Reading,
    state: State | None = None,
    ruleset: RuleSet | None = None,
    on: Wheel = WHEEL,
) -> Played:
    """Play spins and inputs, in time order, through a roulette session to the end."""
    readings: list[Reading] = []
    for scene in scenes:
        readings += (
            scene.readings if isinstance(scene, Spin) else scene if isinstance(scene, list) else [scene]
        )
    played = Played("roulette", state, wheel=on, ruleset=ruleset)
    for reading in sorted(readings, key=lambda r: r.t):
        assert isinstance(reading, AnyReading)
        played.feed(reading)
    return played.finish()


def no_spins(played: Played) -> list[tuple[list[str], str]]:
    return [([r.code for r in void.reasons], void.by) for void in played.data(SpinNoSpin)]


def at(seconds: float) -> int:
    """Return a time this long after the launch of SPIN."""
    return SPIN.launched_us + round(seconds * SECOND_US)


def test_R_SPIN_4_the_number_is_called_with_its_colour_and_revolutions() -> None:
    called = play(SPIN).data(SpinCalled)[0]
    assert (called.spin, called.number, called.colour) == (1, SPIN.number, "black")
    assert called.grade == "sensors"
    assert called.revolutions == pytest.approx(14.0, abs=0.4)


def test_R_SPIN_3_no_more_bets_is_called_while_the_ball_still_circles() -> None:
    played = play(SPIN)
    assert played.types("bets", "spin") == ["bets.closed", "spin.called", "bets.opened"]
    closed = next(o for o in played.outcomes if o.type == "bets.closed")
    assert played.data(Bets)[0].cause == "ball_speed"
    assert SPIN.left_us - closed.t == pytest.approx(3 * SECOND_US, abs=SECOND_US)


def test_R_SPIN_3_the_dealers_own_call_is_the_legal_instant() -> None:
    played = play(SPIN, input_at(at(4), "no_more_bets", "dealer"))
    assert [(b.cause, b.round) for b in played.data(Bets)] == [("dealer", 1), ("result", 2)]
    assert next(o for o in played.outcomes if o.type == "bets.closed").t == at(4)


def test_R_IRR_4_after_no_more_bets_nothing_opens_the_bets_until_the_result() -> None:
    played = play(
        SPIN,
        input_at(at(4), "no_more_bets", "dealer"),
        input_at(at(5), "open_bets"),
        input_at(at(6), "no_more_bets"),
    )
    assert played.refusals() == ["under_way", "bets_closed"]


def test_R_SPIN_1_and_R_IRR_1_a_ball_with_the_rotor_is_no_spin_before_it_drops() -> None:
    played = play(SAME_WAY)
    assert no_spins(played) == [(["same_direction"], "sensors")]
    void = next(o for o in played.outcomes if o.type == "spin.no_spin")
    assert void.t < SAME_WAY.left_us


def test_R_SPIN_2_and_R_IRR_2_under_four_revolutions_is_no_spin() -> None:
    assert no_spins(play(SHORT)) == [(["too_few_revolutions"], "sensors")]


def test_R_IRR_3_a_foreign_object_before_the_ball_rests_is_no_spin_at_once() -> None:
    thing = ForeignObject(t=at(5), dev="wheel", where="track")
    played = play(SPIN, thing)
    assert no_spins(played) == [(["foreign_object"], "sensors")]
    assert next(o for o in played.outcomes if o.type == "spin.no_spin").t == at(5)


def test_a_ball_out_of_the_wheel_is_no_spin_and_the_wheel_must_be_inspected() -> None:
    out = [r for r in SPIN.readings if not isinstance(r, PocketBall)]
    played = play(out, BallOut(t=SPIN.left_us + SECOND_US, dev="wheel"), NEXT)
    assert no_spins(played) == [(["ball_out"], "sensors")]
    assert [n.code for n in played.data(Bets)[2].notices] == ["not_inspected"]
    inspected = input_at(80 * SECOND_US, "inspected", what="ball")
    again = play(out, BallOut(t=SPIN.left_us + SECOND_US, dev="wheel"), inspected, NEXT)
    assert again.data(Bets)[2].notices == ()


@pytest.mark.parametrize("passes", [4, 5, 7])
@pytest.mark.parametrize("beams_deg", [WHEEL.beams_deg, (138.0, 223.0, 276.0)])
def test_gap_R_8_a_ball_that_jumps_out_of_the_track_early_is_no_spin(
    beams_deg: tuple[float, ...], passes: int
) -> None:
    made = spin(Scene(wheel=wheel(*beams_deg), bounces=0))
    out_us = made.of(BallBeam)[passes].t - 1
    seen = [r for r in made.without(BallDrop, PocketBall) if not isinstance(r, BallBeam) or r.t < out_us]
    played = play(seen, BallOut(t=out_us, dev="wheel"), on=made.scene.wheel)
    assert [void.reasons[0].code for void in played.data(SpinNoSpin)] == ["ball_out"]


def test_gap_R_8_a_ball_that_jumps_out_after_a_false_pulse_is_no_spin() -> None:
    pulses = SPIN.of(BallBeam)[:3]
    dust = BallBeam(t=pulses[1].t + 45 * MS, dev="wheel", beam=SPIN.scene.wheel.beams_deg.index(250.0))
    played = play([*pulses, dust, BallOut(t=pulses[-1].t + SECOND_US, dev="wheel")])
    assert no_spins(played) == [(["ball_out"], "sensors")]


def test_a_ball_seen_outside_after_the_pulses_of_a_hand_only_is_not_a_spin() -> None:
    pulses = SPIN.of(BallBeam)[:2]
    played = play(list(pulses), BallOut(t=pulses[-1].t + SECOND_US, dev="wheel"))
    assert played.types("spin") == []


def test_gap_R_8_a_rotor_reversed_after_an_unseen_drop_leaves_the_number_to_a_person() -> None:
    lost_us, back_us = SPIN.left_us - 2 * SECOND_US, SPIN.left_us + 6 * SECOND_US
    seen = [r for r in SPIN.readings if r.t < lost_us]
    lost: list[Reading] = [DeviceDown(t=lost_us, dev="wheel"), DeviceUp(t=back_us, dev="wheel")]
    turned: list[Reading] = [
        RotorIndex(t=back_us + s * SECOND_US, dev="wheel", direction="ccw") for s in (1, 4, 7, 10)
    ]
    ruling = input_at(back_us + 6 * SECOND_US, "set_number", "dealer", number=SPIN.number)
    played = play(seen, lost, turned, ruling)
    assert [{r.code for r in review.reasons} for review in played.data(SpinReview)] == [{"missing_reading"}]
    assert [(c.number, c.grade) for c in played.data(SpinCalled)] == [(SPIN.number, "person")]
    assert no_spins(played) == []


@pytest.mark.parametrize("seconds", [0.3, 2.0, 6.0])
def test_a_no_spin_called_in_the_track_ends_the_spin_and_the_balls_last_turns_begin_no_other(
    seconds: float,
) -> None:
    played = play(SPIN, input_at(at(seconds), "no_spin", "dealer"), NEXT)
    assert no_spins(played) == [(["called"], "dealer")]
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(2, NEXT.number)]


@pytest.mark.parametrize("seed", range(40))
def test_a_void_ball_that_runs_on_with_bad_beams_never_begins_a_spin(seed: int) -> None:
    chance = Random(seed)
    beams = chance.choice([(10.0, 130.0, 250.0), (0.0, 90.0, 180.0, 270.0), (20.0, 100.0)])
    scene = Scene(
        wheel=wheel(*beams),
        revolutions=chance.uniform(5, 25),
        bounces=0,
        missed=0.05,
        doubled=0.05,
        dead_beams=frozenset({0}) if len(beams) > 2 and chance.random() < 0.4 else frozenset(),
        seed=seed,
    )
    void = spin(scene)
    called_us = chance.randint(void.launched_us + SECOND_US, void.left_us)
    after = spin(Scene(wheel=wheel(*beams), bounces=0, seed=seed + 1, begins_us=void.end_us + 8 * SECOND_US))
    played = play(void, input_at(called_us, "no_spin", "dealer"), after, on=wheel(*beams))
    assert played.types("spin") == ["spin.no_spin", "spin.called"]
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(2, after.number)]


def test_a_ball_launched_right_after_a_no_spin_is_a_new_spin() -> None:
    again = spin(Scene(wheel=WHEEL, revolutions=12.0, pocket=20, bounces=0, seed=2, begins_us=at(9)))
    first = [r for r in SPIN.readings if r.t < at(7)]
    played = play(
        first, input_at(at(6), "no_spin", "dealer"), again.without(RotorIndex), marks_after(again, at(7))
    )
    assert played.types("spin") == ["spin.no_spin", "spin.called"]
    assert played.data(SpinCalled)[0].number == again.number


def marks_after(scene: Spin, t: int) -> list[Reading]:
    return [r for r in scene.of(RotorIndex) if r.t >= t]


def test_a_no_spin_spoken_within_the_hold_still_counts_and_after_it_corrects() -> None:
    rested = rest_us(SPIN)
    assert no_spins(play(SPIN, input_at(rested + 200 * MS, "no_spin"))) == [(["called"], "boxperson")]
    late = play(SPIN, input_at(rested + 300 * MS, "no_spin", "dealer"))
    assert late.types("spin") == ["spin.called", "spin.corrected"]
    corrected = late.data(SpinCorrected)[0]
    assert (corrected.ruling, corrected.number, [r.code for r in corrected.reasons]) == (
        "no_spin",
        None,
        ["called"],
    )


def rest_us(scene: Spin) -> int:
    """Return the time of the index pass that decided the spin, after the third agreeing reading."""
    third = scene.of(PocketBall)[2]
    return next(mark.t for mark in scene.of(RotorIndex) if mark.t > third.t)


def test_a_fourth_read_that_differs_before_the_hold_ends_is_a_conflict() -> None:
    stray = PocketBall(t=rest_us(SPIN) + 100 * MS, dev="wheel")
    played = play(SPIN, stray)
    assert played.types("spin") == ["spin.review"]
    assert [r.code for r in played.data(SpinReview)[0].reasons] == ["conflict"]


def test_the_dealer_rules_on_a_spin_under_review_and_corrects_one_that_was_called() -> None:
    unread = [r for r in SPIN.readings if not isinstance(r, PocketBall)]
    ruled = play(unread, input_at(80 * SECOND_US, "set_number", "dealer", number="00"))
    assert ruled.types("spin") == ["spin.review", "spin.called"]
    called = ruled.data(SpinCalled)[0]
    assert (called.number, called.colour, called.grade, called.by) == ("00", "green", "person", "dealer")
    corrected = play(SPIN, input_at(rest_us(SPIN) + SECOND_US, "set_number", "dealer", number=1))
    assert [(c.number, c.colour) for c in corrected.data(SpinCorrected)] == [("1", "red")]


def test_a_number_entered_while_the_ball_runs_is_refused_and_after_the_drop_it_is_a_ruling() -> None:
    early = play(SPIN, input_at(at(4), "set_number", "dealer", number="8"))
    assert early.refusals() == ["result_not_in"]
    assert [c.number for c in early.data(SpinCalled)] == [SPIN.number]
    late = play(SPIN, input_at(SPIN.left_us + SECOND_US, "set_number", "dealer", number="8"))
    assert [(c.number, c.grade) for c in late.data(SpinCalled)] == [("8", "person")]


def test_a_wheel_lost_right_after_the_launch_leaves_a_spin_for_a_person_to_rule_on() -> None:
    first = SPIN.of(BallBeam)[0]
    lost = DeviceDown(t=first.t + 200 * MS, dev="wheel", reason="unplugged")
    ruled = input_at(first.t + 30 * SECOND_US, "set_number", "dealer", number="8")
    played = play([first], lost, ruled)
    assert played.types("spin")[-1] == "spin.called"
    assert [(c.spin, c.number, c.grade) for c in played.data(SpinCalled)] == [(1, "8", "person")]


def test_a_number_the_wheel_does_not_have_is_refused() -> None:
    unread = [r for r in SPIN.readings if not isinstance(r, PocketBall)]
    assert play(unread, input_at(80 * SECOND_US, "set_number", number="37")).refusals() == ["bad_argument"]


def test_a_review_without_a_ruling_is_closed_as_no_spin_at_the_next_launch() -> None:
    unread = [r for r in SPIN.readings if not isinstance(r, PocketBall)]
    played = play(unread, NEXT)
    assert no_spins(played) == [(["unruled"], "nobody")]
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(2, NEXT.number)]


def test_paid_settles_the_spin_and_nothing_changes_it_afterwards() -> None:
    paid = input_at(rest_us(SPIN) + 2 * SECOND_US, "paid", "dealer")
    played = play(SPIN, paid, input_at(rest_us(SPIN) + 3 * SECOND_US, "no_spin"), NEXT)
    assert played.refusals() == ["already_settled"]
    assert [c.spin for c in played.data(SpinCalled)] == [1, 2]


@pytest.mark.parametrize(
    ("policy", "expected"), [("valid", "spin.called"), ("review", "spin.review"), ("void", "spin.no_spin")]
)
def test_bets_still_open_at_the_drop_close_late_and_the_policy_decides(
    policy: Literal["valid", "review", "void"], expected: str
) -> None:
    rules = load_ruleset("roulette")
    assert rules.spin is not None
    late = replace(rules, spin=replace(rules.spin, late_close=policy, no_more_bets_lead_s=-2.0))
    played = play(SPIN, ruleset=late)
    closed = played.data(Bets)[0]
    assert (closed.cause, [n.code for n in closed.notices]) == ("ball_drop", ["late_close"])
    assert played.types("spin") == [expected]


def test_a_wheel_reader_lost_in_the_spin_is_a_review_and_never_a_void() -> None:
    lost = at(5)
    played = play(
        [r for r in SPIN.readings if r.t < lost], DeviceDown(t=lost, dev="wheel", reason="unplugged")
    )
    assert played.types("spin") == ["spin.review"]
    assert "missing_reading" in [r.code for r in played.data(SpinReview)[0].reasons]


def test_a_hand_in_a_beam_begins_no_spin() -> None:
    hand: list[Reading] = [BallBeam(t=at(-8) + i * 400 * MS, dev="wheel", beam=1) for i in range(1)]
    played = play(hand, SPIN)
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(1, SPIN.number)]
    assert play(hand).types("spin", "bets") == []


def test_bets_closed_by_the_dealer_before_the_launch_stay_closed() -> None:
    played = play(input_at(at(-1), "no_more_bets", "dealer"), SPIN)
    assert [(b.cause, b.round) for b in played.data(Bets)] == [("dealer", 1), ("result", 2)]


def test_the_dealer_may_open_bets_again_before_the_launch() -> None:
    played = play(
        input_at(at(-3), "no_more_bets"), input_at(at(-2), "open_bets"), input_at(at(-1), "open_bets"), SPIN
    )
    assert played.refusals() == ["bets_open"]
    assert played.types("bets")[:2] == ["bets.closed", "bets.opened"]


def test_with_calls_confirm_the_dealer_confirms_the_number() -> None:
    accepted = input_at(rest_us(SPIN) + SECOND_US, "accept", "dealer")
    called = play(SPIN, accepted, state=State(calls="confirm")).data(SpinCalled)[0]
    assert (called.number, called.grade, called.by) == (SPIN.number, "person", "dealer")
    assert play(SPIN, state=State(calls="confirm")).types("spin") == []


def test_a_spin_at_a_locked_table_does_not_count() -> None:
    played = play(input_at(1, "lock"), SPIN)
    assert played.types("spin") == []
    assert played.refusals()[:1] == ["table_locked"]


def test_a_recording_cut_off_in_the_spin_ends_under_review() -> None:
    played = Played("roulette", wheel=WHEEL)
    for reading in SPIN.readings:
        if reading.t < at(5):
            assert isinstance(reading, AnyReading)
            played.feed(reading)
    played.finish(cut=True)
    assert played.types("spin") == ["spin.review"]
    assert [r.code for r in played.data(SpinReview)[0].reasons] == ["power_lost"]


def test_what_was_learned_of_the_wheel_is_part_of_the_recorded_state() -> None:
    played = play(SPIN, NEXT)
    state = played.session.state()
    assert state.learned["drop_rev_per_s"] == pytest.approx(0.5, abs=0.03)
    assert played.session.first().spin == 3
    again = Played("roulette", state, NextNumbers(spin=3, seq=9), wheel=WHEEL)
    for reading in SPIN.readings:
        assert isinstance(reading, AnyReading)
        again.feed(reading)
    assert [(c.spin, c.number) for c in again.finish().data(SpinCalled)] == [(3, SPIN.number)]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("no_spin", "no_attempt"),
        ("set_number", "no_attempt"),
        ("paid", "nothing_to_settle"),
        ("settled", "nothing_to_settle"),
        ("open_bets", "bets_open"),
        ("accept", "nothing_to_accept"),
        ("dice_collected", "unknown_input"),
    ],
)
def test_an_input_that_makes_no_sense_now_is_refused(name: str, cause: str) -> None:
    played = play(input_at(1, name, "dealer"))
    assert played.refusals() == [cause]
    assert all(isinstance(o.data, TableEvent) for o in played.outcomes)


def test_an_undecided_spin_is_no_spin_at_the_next_launch_and_the_launch_counts() -> None:
    blind = [r for r in SPIN.readings if not isinstance(r, RotorIndex)]
    soon = spin(Scene(wheel=WHEEL, pocket=20, bounces=0, seed=2, begins_us=SPIN.end_us + 3 * SECOND_US))
    played = play(blind, [r for r in soon.readings if r.t > SPIN.end_us + SECOND_US])
    assert played.types("spin") == ["spin.no_spin", "spin.called"], "every review must allow a ruling"
    assert no_spins(played)[0][0][-1] == "unruled"
    assert [(c.spin, c.number) for c in played.data(SpinCalled)] == [(2, soon.number)]


def test_a_spin_whose_drop_was_not_sensed_is_still_decided() -> None:
    played = play([r for r in SPIN.readings if not isinstance(r, BallDrop | Input)])
    assert played.types("spin")[0] in ("spin.called", "spin.review")


@pytest.mark.parametrize("ruling", [("set_number", {"number": "7", "what": "1"}), ("no_spin", {"what": "1"})])
def test_R_SPIN_3_a_ruling_on_the_last_spin_opens_no_bets_that_are_closed_for_the_next(
    ruling: tuple[str, dict[str, str]],
) -> None:
    name, arguments = ruling
    end_us = SPIN.end_us
    closes = input_at(end_us + 3 * SECOND_US, "no_more_bets", "dealer")
    rules = input_at(end_us + 5 * SECOND_US, name, "dealer", **arguments)
    published = play(SPIN, closes, rules).types("bets.", "spin.")
    assert published == ["bets.closed", "spin.called", "bets.opened", "bets.closed", "spin.corrected"]


def test_a_spin_times_out_by_the_present_turn_and_not_by_one_with_a_missed_pass() -> None:
    """A missed index pass doubles the apparent duration of a revolution."""
    passes, reads = SPIN.of(RotorIndex), SPIN.of(PocketBall)
    last_us, turn_us = passes[-1].t, reads[-1].t - reads[-2].t
    after = [RotorIndex(t=last_us + n * turn_us, dev="wheel", direction="cw") for n in range(12)]
    played = play(SPIN.without(RotorIndex), [*passes[:-3:2], *after])
    review = next(o for o in played.outcomes if o.type == "spin.review")
    assert review.t == pytest.approx(reads[-1].t + 3 * turn_us, abs=turn_us / 10)
