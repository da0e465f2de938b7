"""Whole simulated sessions, compared with their ground truth.

`python -m tests.sim.soak --seconds N` plays more of them.
"""

import msgspec
import pytest

from controller.model.outcomes import RollReview, SpinCalled, SpinReview
from drivers.sim import dice, wheel
from drivers.sim.scenes import Feed, Header, Scene, disagreements
from tests.sim.play import outcomes_of

RULES: tuple[dice.Rules, ...] = ("craps-12-034", "craps-v1")
SOFT = 3
"""The seed of a session (12 034) whose second throw hits softly before the wall's typical peaks are known."""


@pytest.mark.parametrize("seed", [seed for seed in range(13) if seed != SOFT])
@pytest.mark.parametrize("rules", RULES)
def test_a_session_of_every_kind_of_throw(rules: dice.Rules, seed: int) -> None:
    header, feed, scenes = dice.simulate(seed, n=12, rules=rules)
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=seed % 2 == 0)) == []


def test_a_soft_hit_before_the_walls_loudness_is_known_goes_to_review() -> None:
    """The hit's peak is no higher than that of a landing beside the wall. Later throws are called."""
    header, feed, scenes = dice.simulate(SOFT, n=12)
    found = disagreements(scenes, outcomes_of(header, feed, arrivals=False))
    assert [(each.attempt, each.fault) for each in found] == [(2, "needless_review")]


@pytest.mark.parametrize("kind", dice.KINDS)
def test_a_session_of_one_kind_of_throw(kind: str) -> None:
    header, feed, scenes = dice.simulate(76, {kind: 1.0}, 4)
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=True)) == []


@pytest.mark.parametrize("seed", range(10))
def test_a_session_of_every_kind_of_spin(seed: int) -> None:
    header, feed, scenes = wheel.simulate(seed, n=8)
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=seed % 2 == 0)) == []


@pytest.mark.parametrize("kind", wheel.KINDS)
def test_a_session_of_one_kind_of_spin(kind: str) -> None:
    header, feed, scenes = wheel.simulate(77, {kind: 1.0}, 3)
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=True)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_dies_at_a_wheel_with_two_beams(seed: int) -> None:
    on = msgspec.structs.replace(wheel.AMERICAN, beams_deg=(25, 140))
    header, feed, scenes = wheel.simulate(seed, {"dying_beam": 1.0}, 4, wheel=on)
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=True)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_session_with_a_beam_that_is_dead_throughout(seed: int) -> None:
    mix = {"valid": 4.0, "missed_pulses": 1.0, "hop": 1.0, "short_spin": 1.0, "same_direction": 1.0}
    header, feed, scenes = wheel.simulate(seed, mix, 6, wheel=wheel.AMERICAN, dead_beams=frozenset((seed,)))
    assert disagreements(scenes, outcomes_of(header, feed, arrivals=True)) == []


CUT_SESSIONS = [dice.simulate(seed, dice.PLAIN, 4) for seed in range(4)]
CUT_SESSIONS += [wheel.simulate(seed, {"valid": 1.0}, 3) for seed in range(4)]


@pytest.mark.parametrize("session", CUT_SESSIONS, ids=lambda session: session[0].table)
@pytest.mark.parametrize("share", [0.3, 0.55, 0.7, 0.9])
def test_a_power_cut_changes_no_outcome_and_sends_the_attempt_in_flight_to_review(
    session: tuple[Header, Feed, list[Scene]], share: float
) -> None:
    header, feed, scenes = session
    whole = outcomes_of(header, feed, arrivals=True)
    cut = feed[: round(share * len(feed))]
    published = outcomes_of(header, cut, arrivals=True, cut=True)
    stands = [outcome for outcome in published if not _lost(outcome.data)]
    assert stands == whole[: len(stands)]
    assert len(published) - len(stands) <= 1
    ended_us = max(reading.t for _, reading in cut)
    over = sum(scene.end_us < ended_us for scene in scenes)
    assert {_attempt(outcome.data) for outcome in published} >= set(range(1, over + 1))


def _lost(data: object) -> bool:
    return isinstance(data, RollReview | SpinReview) and "power_lost" in {r.code for r in data.reasons}


def _attempt(data: object) -> int | None:
    return getattr(data, "roll", None) or getattr(data, "spin", None)


def test_the_order_of_arrival_alone_gives_the_same_session() -> None:
    for header, feed, _ in (
        dice.simulate(21, n=10),
        wheel.simulate(21, {"valid": 1.0, "hop": 1.0}, 4),
    ):
        assert outcomes_of(header, feed, arrivals=False) == outcomes_of(header, feed, arrivals=True)


def test_a_session_on_a_european_wheel_never_names_the_double_zero() -> None:
    header, feed, scenes = wheel.simulate(2, {"valid": 1.0}, 4, wheel=wheel.EUROPEAN)
    published = outcomes_of(header, feed, arrivals=True)
    assert [o.data.number for o in published if isinstance(o.data, SpinCalled)] == [
        s.truth.number for s in scenes
    ]
