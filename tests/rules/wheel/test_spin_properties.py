"""Properties of every spin: sensor faults lead to a review at worst, never to a wrong call."""

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    PocketBall,
    Reading,
    RotorIndex,
    Turning,
)
from controller.model.verdicts import Ruling
from controller.rules.wheel import Learned, SpinWatch, judge_spin
from tests.rules.wheel.judging import KNOWN, RULES, codes, judged, played
from tests.rules.wheel.simulator import OTHER, Scene, spin, wheel

WHEELS = st.sampled_from(
    [
        wheel(),
        wheel(0, 90, 180, 270, reader_deg=45, index_deg=77, pockets="european"),
        wheel(5, 85, 200, reader_deg=303, index_deg=0),
        wheel(0, 40, 170, 260, 300),
        wheel(0, 60, 120, 180, 240, 300, pockets="european"),
    ]
)
DIRECTIONS: st.SearchStrategy[Turning] = st.sampled_from(["cw", "ccw"])


@st.composite
def scenes(draw: st.DrawFn, revolutions: st.SearchStrategy[float]) -> Scene:
    return Scene(
        wheel=draw(WHEELS),
        revolutions=draw(revolutions),
        ball=(ball := draw(DIRECTIONS)),
        rotor=OTHER[ball],
        drop_speed=draw(st.floats(0.46, 0.54)),
        friction=draw(st.floats(0.035, 0.055)),
        drag=draw(st.floats(0.015, 0.03)),
        rotor_speed=draw(st.floats(0.25, 0.5)),
        rotor_deceleration=draw(st.floats(0.0005, 0.002)),
        pocket=draw(st.integers(0, 36)),
        settle_s=draw(st.floats(0.5, 3.0)),
        bounces=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 10_000)),
    )


def worn(draw: st.DrawFn, scene: Scene) -> Scene:
    """Return the scene with sensors that miss, double and jitter, and perhaps a failing beam."""
    beam = draw(st.integers(0, len(scene.wheel.beams_deg) - 1))
    fate = draw(st.sampled_from(["works", "dead", "dies"]))
    return replace(
        scene,
        missed=draw(st.sampled_from([0.0, 0.05])),
        doubled=draw(st.sampled_from([0.0, 0.05])),
        jitter_s=draw(st.sampled_from([0.0002, 0.001])),
        dead_beams=frozenset({beam}) if fate == "dead" else frozenset(),
        dying_beam=beam if fate == "dies" else None,
    )


@st.composite
def worn_scenes(draw: st.DrawFn, revolutions: st.SearchStrategy[float]) -> Scene:
    return worn(draw, draw(scenes(revolutions)))


LOST_A_TURN = Scene(
    revolutions=7.0,
    ball="cw",
    rotor="ccw",
    friction=0.046875,
    drag=0.015625,
    rotor_speed=0.5,
    rotor_deceleration=0.001953125,
    pocket=0,
    settle_s=1.0,
    bounces=0,
    missed=0.05,
    seed=5997,
)
"""Two of three beams miss the ball in a row, so its run is 2.7 to 6.4 revolutions."""
ONCE = settings(derandomize=True, max_examples=40, deadline=None)


@ONCE
@given(scenes(st.floats(5.0, 26.0)))
def test_R_SPIN_2_a_healthy_table_calls_every_spin_that_counts(scene: Scene) -> None:
    made = spin(scene)
    table = played(made, learned=Learned())
    assert (table.verdict.ruling, table.verdict.number, codes(table.verdict)) == (
        Ruling.VALID,
        made.number,
        [],
    )


@ONCE
@given(scenes(st.floats(2.0, 3.0)))
def test_R_SPIN_2_a_healthy_table_calls_every_spin_that_is_too_short(scene: Scene) -> None:
    table = played(spin(scene), learned=Learned())
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["too_few_revolutions"])


@ONCE
@given(scenes(st.floats(5.0, 26.0)), DIRECTIONS)
def test_R_SPIN_1_a_healthy_table_calls_every_ball_that_runs_with_the_rotor(
    scene: Scene, direction: Turning
) -> None:
    table = played(spin(replace(scene, ball=direction, rotor=direction)), learned=Learned())
    assert (table.verdict.ruling, codes(table.verdict)) == (Ruling.VOID, ["same_direction"])


@settings(derandomize=True, max_examples=90, deadline=None)
@given(worn_scenes(st.floats(4.4, 26.0)), st.booleans())
@example(scene=LOST_A_TURN, first_spin=False)
def test_R_SPIN_2_worn_sensors_never_void_a_spin_that_counts(scene: Scene, first_spin: bool) -> None:
    made = spin(scene)
    verdict = played(made, learned=Learned() if first_spin else KNOWN).verdict
    assert verdict.number in (None, made.number)
    assert verdict.ruling is not Ruling.VOID
    if made.lost_a_turn:
        return  # The ball may also have been caught, or launched a revolution later.
    if verdict.revolutions_from is not None and verdict.revolutions_to is not None:
        assert verdict.revolutions_from <= scene.revolutions <= verdict.revolutions_to


@settings(derandomize=True, max_examples=60, deadline=None)
@given(worn_scenes(st.floats(1.2, 3.9)), DIRECTIONS)
def test_R_SPIN_2_worn_sensors_never_call_a_spin_that_does_not_count(scene: Scene, rotor: Turning) -> None:
    short = played(spin(scene), learned=Learned()).verdict
    assert short.ruling is not Ruling.VALID
    same_way = played(
        spin(replace(scene, revolutions=12.0, ball=rotor, rotor=rotor)), learned=Learned()
    ).verdict
    assert same_way.ruling is not Ruling.VALID
    assert set(codes(same_way)) <= {"same_direction"} or same_way.ruling is Ruling.REVIEW


@ONCE
@given(worn_scenes(st.floats(6.0, 26.0)), st.sampled_from([0.05, 0.15]))
def test_R_SPIN_4_missed_index_passes_never_make_a_wrong_number(scene: Scene, missed: float) -> None:
    made = spin(replace(scene, missed_index=missed))
    verdict = played(made).verdict
    assert verdict.number in (None, made.number)
    assert verdict.ruling is not Ruling.VOID


@ONCE
@given(worn_scenes(st.floats(6.0, 26.0)))
def test_R_SPIN_3_no_more_bets_is_never_called_after_the_drop(scene: Scene) -> None:
    made = spin(scene)
    closed_us = played(made).closed_us
    assert closed_us is None or closed_us < made.left_us


@ONCE
@given(scenes(st.floats(2.0, 20.0)), st.integers(0, 2**40))
def test_a_spin_is_judged_alike_at_any_time_of_day(scene: Scene, later_us: int) -> None:
    made = spin(scene)
    shifted = spin(replace(scene, begins_us=scene.begins_us + later_us))
    one, other = judged(made), judged(shifted)
    assert (one.ruling, one.number, one.reasons) == (other.ruling, other.number, other.reasons)


TIMES = st.integers(0, 40_000_000)
IMPLAUSIBLE: st.SearchStrategy[Reading] = st.one_of(
    st.builds(BallBeam, t=TIMES, dev=st.just("wheel"), beam=st.integers(0, 5)),
    st.builds(RotorIndex, t=TIMES, dev=st.just("wheel"), direction=DIRECTIONS),
    st.builds(PocketBall, t=TIMES, dev=st.just("wheel")),
    st.builds(BallDrop, t=TIMES, dev=st.just("wheel")),
    st.builds(BallOut, t=TIMES, dev=st.just("wheel")),
    st.builds(ForeignObject, t=TIMES, dev=st.just("wheel"), where=st.text(max_size=5)),
    st.builds(DeviceDown, t=TIMES, dev=st.sampled_from(["wheel", "lamp"])),
    st.builds(DeviceUp, t=TIMES, dev=st.sampled_from(["wheel", "lamp"])),
)
LAYOUTS = st.lists(st.floats(-720, 720), min_size=1, max_size=6)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(IMPLAUSIBLE, max_size=80), LAYOUTS, TIMES, st.integers(0, 2**61))
def test_implausible_readings_are_judged_too_and_never_valid(
    readings: list[AnyReading], beams_deg: list[float], until_us: int, shift_us: int
) -> None:
    made = wheel(*beams_deg)
    moved: list[Reading] = [
        type(reading)(
            **{name: getattr(reading, name) for name in reading.__struct_fields__}
            | {"t": reading.t + shift_us}
        )
        for reading in sorted(readings, key=lambda r: r.t)
    ]
    watch = SpinWatch(made, RULES, KNOWN)
    for reading in moved:
        watch.receive(reading)
        watch.no_more_bets_at_us()
        watch.give_up_at_us()
        watch.speed_rev_per_s()
    verdict = judge_spin(moved, made, RULES, decided_at_us=until_us + shift_us, learned=KNOWN)
    assert verdict.ruling is not Ruling.VALID
    assert verdict.reasons
    assert watch.verdict(until_us + shift_us)[0] == verdict
