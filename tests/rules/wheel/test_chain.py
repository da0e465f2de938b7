"""The chain of pulses round the track: the ball's run under every kind of deceleration."""

import random
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.rules.wheel import chain as chains
from controller.rules.wheel.chain import Chain
from controller.rules.wheel.story import SENSES, Sense
from tests.rules.wheel.exhaustive_chain import ExhaustiveChain, comparable

FOUR = (0.0, 90.0, 180.0, 270.0)
TWO = (0.0, 120.0)
DROP = 0.5


def passes(beams: tuple[float, ...], speeds: list[float], *, begin_us: int = 0) -> list[tuple[int, int]]:
    """Return the pulses of a ball that runs ccw from beam to beam, with one speed for each step."""
    t, beam, pulses = float(begin_us), 0, [(begin_us, 0)]
    for speed in speeds:
        following = (beam + 1) % len(beams)
        turns = (beams[following] - beams[beam]) / 360 % 1.0
        t += turns / speed * 1e6
        beam = following
        pulses.append((round(t), beam))
    return pulses


def slowing(count: int, since: float = 1.6, until: float = 0.55) -> list[float]:
    return [since + (until - since) * i / (count - 1) for i in range(count)]


def knee(count: int) -> list[float]:
    """Return the speeds of a ball that slows down slightly, then strongly, then slightly again."""
    third = count // 3
    return [*slowing(third, 1.4, 1.2), *slowing(third, 1.15, 0.62), *slowing(count - 2 * third, 0.6, 0.55)]


def followed(pulses: list[tuple[int, int]], beams: tuple[float, ...] = FOUR) -> Chain:
    chain = Chain(beams, DROP)
    for t, beam in pulses:
        chain.receive(t, beam)
    return chain


@pytest.mark.parametrize("speeds", [slowing(40), knee(42)])
def test_turns_are_counted_whatever_the_law_of_slowing(speeds: list[float]) -> None:
    chain = followed(passes(FOUR, speeds))
    assert chain.best is not None
    assert chain.best.last.turns == pytest.approx(len(speeds) / 4)
    assert chain.direction == "ccw"


@pytest.mark.parametrize("beams", [FOUR, TWO])
def test_missed_and_stray_pulses_change_no_count(beams: tuple[float, ...]) -> None:
    pulses = passes(beams, slowing(40))
    turns = followed(pulses, beams).best
    dusty = [pulse for i, pulse in enumerate(pulses) if i not in (9, 17, 30)]
    dusty = sorted([*dusty, (pulses[12][0] + 40_000, 1), (pulses[25][0] + 70_000, 0)])
    best = followed(dusty, beams).best
    assert turns is not None
    assert best is not None
    assert best.last.turns == pytest.approx(turns.last.turns)


def test_a_ball_launched_again_in_the_other_direction_is_another_run() -> None:
    first = passes(FOUR, slowing(20, 1.8, 1.5))
    begin_us = first[-1][0] + 900_000
    again = [(t, -beam % 4) for t, beam in passes(FOUR, slowing(30, 1.4, 0.6), begin_us=begin_us)]
    story = followed([*first, *again]).second_run()
    assert story is not None
    assert (story.direction, story.first.t) == ("cw", begin_us)


def test_a_single_beam_gives_turns_and_no_direction() -> None:
    pulses = [pulse for pulse in passes(FOUR, slowing(40)) if pulse[1] == 0]
    chain = followed(pulses)
    assert chain.best is not None
    assert chain.best.last.turns == pytest.approx(10.0)
    assert chain.direction is None


@pytest.mark.parametrize("beams", [(81.0, 324.0, 157.0), FOUR])
@pytest.mark.parametrize("silent_s", [3.0, 8.0, 20.0])
@pytest.mark.parametrize("kept", [4, 5, 6])
def test_a_launch_after_a_few_pulses_and_a_silence_is_another_run(
    kept: int, silent_s: float, beams: tuple[float, ...]
) -> None:
    caught = passes(beams, slowing(20, 1.25, 1.0))[:kept]
    begin_us = caught[-1][0] + round(silent_s * 1e6)
    again = passes(beams, slowing(24, 1.2, 0.55), begin_us=begin_us)
    story = followed([*caught, *again], beams).best
    assert story is not None
    assert (story.first.t, story.last.number) == (begin_us, len(again))


DUST = st.lists(st.tuples(st.integers(0, 17_000_000), st.integers(0, 3)), max_size=12)
SEEN = st.lists(st.integers(0, 9).map(bool), min_size=50, max_size=50)
RINGS = st.sampled_from([FOUR, TWO, (81.0, 324.0, 157.0), tuple(45.0 * i for i in range(8))])
LAUNCHES = st.lists(
    st.tuples(st.integers(8, 40), st.floats(1.0, 2.6), st.sampled_from([1, -1])), min_size=1, max_size=2
)


@pytest.mark.parametrize("dear", [chains.DIRECTION_MARGIN + 0.02, chains.DIRECTION_MARGIN + 0.6])
@settings(max_examples=60, deadline=None)
@given(
    beams=RINGS,
    launches=LAUNCHES,
    seen=SEEN,
    dust=DUST,
    jitter=st.randoms(use_true_random=False),
    data=st.data(),
)
def test_the_chain_reports_what_an_exhaustive_search_reports(
    dear: float,
    beams: tuple[float, ...],
    launches: list[tuple[int, float, int]],
    seen: list[bool],
    dust: list[tuple[int, int]],
    jitter: random.Random,
    data: st.DataObject,
) -> None:
    ring, pulses, begin_us = len(beams), [(t, beam % len(beams)) for t, beam in dust], 0
    for steps, since, sense in launches:
        run = passes(beams, slowing(steps, since), begin_us=begin_us)
        pulses += [
            (t + jitter.randrange(-4_000, 4_000), beam if sense > 0 else -beam % ring)
            for (t, beam), heard in zip(run, seen, strict=False)
            if heard
        ]
        begin_us = run[-1][0] + 900_000
    pulses.sort()
    away = data.draw(st.none() | st.integers(0, len(pulses)), label="a device is away before this pulse")
    quick, whole = Chain(beams, DROP), ExhaustiveChain(beams, DROP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "_SET_ASIDE_MARGIN", dear)
        for number, (t, beam) in enumerate(pulses):
            for chain in (quick, whole):
                if number == away:
                    chain.interrupt()
                chain.receive(t, beam)
            assert comparable(quick) == comparable(whole)


@pytest.mark.parametrize("jitter_us", [300, 3_000])
@settings(max_examples=150, deadline=None)
@given(
    beams=RINGS,
    steps=st.integers(3, 14),
    since=st.floats(0.5, 4.4),
    until=st.floats(0.7, 1.0),
    sense=st.sampled_from([1, -1]),
    missed=st.none() | st.integers(0, 12),
    drop=st.floats(0.3, 0.7),
    jitter=st.randoms(use_true_random=False),
)
def test_a_clean_start_gives_the_result_of_an_exhaustive_search(
    jitter_us: int,
    beams: tuple[float, ...],
    steps: int,
    since: float,
    until: float,
    sense: int,
    missed: int | None,
    drop: float,
    jitter: random.Random,
) -> None:
    run = passes(beams, slowing(steps, since, since * until))
    pulses = sorted(
        (t + jitter.randrange(-jitter_us, jitter_us), beam if sense > 0 else -beam % len(beams))
        for number, (t, beam) in enumerate(run)
        if number != missed
    )
    quick, whole = Chain(beams, drop), ExhaustiveChain(beams, drop)
    for t, beam in pulses:
        quick.receive(t, beam)
        whole.receive(t, beam)
        assert _runs(quick) == _runs(whole)
    assert comparable(quick) == comparable(whole)


def _runs(chain: Chain) -> tuple[int, float] | None:
    return None if chain.run is None else (chain.run.sense, chain.run.last.turns)


@pytest.mark.parametrize("apart_deg", [15.0, 25.0, 35.0, 60.0, 120.0])
@pytest.mark.parametrize("sense", SENSES)
def test_each_clean_pulse_costs_next_to_nothing_however_near_the_beams_are(
    apart_deg: float, sense: Sense
) -> None:
    """Steps between near beams are short and long in turn; each step's speed is that of its middle."""
    launch_rev_per_s, drag_per_s = 1.5, 0.055
    chain = Chain([100.0, 100.0 + apart_deg], 0.45)
    beam_turns = [0.0, sense * apart_deg / 360.0 % 1.0]
    passes = sorted((lap + turns, beam) for lap in range(19) for beam, turns in enumerate(beam_turns))
    for turns, beam in passes:
        seconds = -log(1.0 - turns * drag_per_s / launch_rev_per_s) / drag_per_s
        chain.receive(round(1e6 * (1.0 + seconds)), beam)
    assert chain.best is not None
    assert (chain.best.sense, chain.best.last.number) == (sense, len(passes))
    assert chain.best.cost < 0.02 * len(passes)
