"""The judge learns the loudness of a wall's hits. A sound that is too soft for its turn may be a landing."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.machines.setup import State
from controller.model.effects import Judged
from controller.model.readings import Reading
from controller.model.verdicts import Ruling
from controller.rules.dice import bands, judge_throw
from controller.rules.dice.loudness import Heard, Loudness, SureHit
from drivers.sim import dice as evenings
from tests.engine.play import Played
from tests.rules.dice.tables import C34
from tests.rules.dice.test_bodies import SEEDS, Cast, readings_of, with_peak
from tests.rules.dice.throws import SOURCES, TABLE

USUAL = C34.sensors.hit_counts_per_m_s
LANDED = Cast(16.0, 300.0, speed=2.0, back=0.7), Cast(15.0, 700.0, speed=2.0, back=0.7)
"""Both dice turn before the wall, as sharply as felt turns a die that lands with backspin."""


def ruling_of(readings: list[Reading], learned: Loudness) -> Ruling:
    at = readings[-1].t
    figures = learned.figures()
    return judge_throw(readings, TABLE, C34, decided_at_us=at, sources=SOURCES, learned=figures).ruling


@pytest.mark.parametrize(
    ("learned", "peak"),
    [
        pytest.param(Loudness(), 100.0, id="nothing is learned yet"),
        pytest.param(Loudness({"right": 1200.0}), 400.0, id="a loud wall"),
        pytest.param(Loudness({"left": 1200.0}), 400.0, id="a loud wall at the other end"),
        pytest.param(Loudness({"right": 60.0}), 20.0, id="a quiet wall"),
    ],
)
def test_two_landings_beside_the_wall_are_not_called_as_hits(learned: Loudness, peak: float) -> None:
    for seed in SEEDS:
        readings = with_peak(with_peak(readings_of(LANDED, seed), 300.0, peak), 700.0, peak)
        assert ruling_of(readings, learned) is not Ruling.VALID, seed


@pytest.mark.parametrize(
    ("learned", "peak"), [(Loudness(), 800.0), (Loudness({"right": 60.0}), 160.0)], ids=["usual", "quiet"]
)
def test_sounds_as_loud_as_hits_for_such_turns_are_hits(learned: Loudness, peak: float) -> None:
    rulings = []
    for seed in SEEDS:
        hit = Cast(13.0, 300.0, speed=2.0, back=0.7), Cast(12.0, 700.0, speed=2.0, back=0.7)
        readings = with_peak(with_peak(readings_of(hit, seed), 300.0, peak), 700.0, peak)
        rulings.append(ruling_of(readings, learned))
    assert rulings.count(Ruling.VALID) >= len(SEEDS) - 1


def test_hits_teach_how_loud_their_wall_is() -> None:
    learned = Loudness().after([SureHit("right", 1000.0, 8.0)], USUAL)
    assert learned.at("right", USUAL) == USUAL
    for _ in range(60):
        learned = learned.after([SureHit("right", 400.0, 2.0)], USUAL)
    assert learned.at("right", USUAL) == pytest.approx(200.0, rel=0.01)
    assert learned.at("left", USUAL) == learned.at("right", USUAL)
    for _ in range(10):
        learned = learned.after([SureHit("right", 900.0, 1.0)], USUAL)
    assert learned.at("right", USUAL) == pytest.approx(900.0, rel=0.01)


def test_a_hit_at_the_top_of_the_range_shows_no_wall_to_be_quiet() -> None:
    learned = Loudness().after([SureHit("right", 1000.0, 2.0)], USUAL)
    known = learned.at("right", USUAL)
    for _ in range(10):
        learned = learned.after([SureHit("right", 1000.0, 8.0)], USUAL)
    assert learned.at("right", USUAL) == known


def test_one_soft_sound_that_was_not_a_hit_does_not_make_a_wall_quiet() -> None:
    learned = Loudness().after([SureHit("right", 1000.0, 3.0), SureHit("right", 60.0, 1.0)], USUAL)
    assert learned.at("right", USUAL) > 0.7 * USUAL


def test_learned_loudness_passes_through_a_recordings_state_to_the_next_throw() -> None:
    _, feed, _ = evenings.simulate(3, {"valid": 1}, n=4)
    readings = [reading for _, reading in feed]
    first = Played().feed(readings).finish()
    state = first.session.state()
    assert Loudness.from_figures(state.learned).figures() == state.learned != {}
    again = Played(state=State(learned=state.learned)).feed(readings).finish()
    assert again.session.state().learned.keys() == state.learned.keys()
    judged = [effect for effect in again.effects if isinstance(effect, Judged)]
    assert judged[0].basis.learned == state.learned


# --- the match of a sound and a turn ---

KNOWN = Loudness(top_counts={"right": 1000.0}, least_counts={"right": 70.0})
for counts in (240.0, 310.0, 270.0, 330.0, 290.0, 255.0, 300.0, 280.0):
    KNOWN = KNOWN.after([SureHit("right", 2.0 * counts, 2.0)], USUAL)
"""A wall whose hits make 240 to 330 counts per m/s."""


def cost(peak: float, change: float, learned: Loudness = KNOWN, wall: str = "right") -> float:
    return learned.hit_cost(Heard(wall, peak, change, 0.15), USUAL)


@pytest.mark.parametrize(("peak", "change"), [(570.0, 2.0), (300.0, 1.0), (700.0, 2.2), (1000.0, 6.0)])
def test_a_sound_as_loud_as_its_turn_fits_a_hit_better_than_a_knock(peak: float, change: float) -> None:
    assert cost(peak, change) < -1.5


@pytest.mark.parametrize(("peak", "change"), [(70.0, 3.0), (110.0, 5.0), (900.0, 0.7)])
def test_a_sound_far_softer_or_louder_than_its_turn_fits_a_knock_better(peak: float, change: float) -> None:
    assert cost(peak, change) > 3.0


@given(peak=st.floats(0.0, 1e9), change=st.floats(0.0, 12.0))
def test_loudness_alone_neither_proves_a_hit_nor_excludes_one(peak: float, change: float) -> None:
    """A turn and a sound that never occur together cost less than the exclusion of a story."""
    assert -bands.MARGIN / 2.0 < cost(peak, change) < bands.MARGIN


@given(peak=st.floats(0.0, 1e9), change=st.floats(0.0, 12.0))
def test_the_first_impact_of_a_wall_does_not_show_how_loud_it_is(peak: float, change: float) -> None:
    """The impact may be at the top of the sensor's range."""
    assert cost(peak, change, Loudness()) == 0.0


def test_before_a_wall_is_learned_only_a_sound_far_from_the_setting_is_doubted() -> None:
    """The setting is 300 counts per m/s, and the throw's other impact made 1,000."""
    new = Loudness()
    as_set, softer, far_softer = (
        new.hit_cost(Heard("right", peak, 2.0, 0.15), USUAL, 1000.0) for peak in (600.0, 300.0, 90.0)
    )
    assert as_set < softer < far_softer
    assert softer < 1.0 < 2.0 < far_softer


def test_a_sensor_with_random_loudness_soon_counts_less() -> None:
    """The hits have a loudness from 60 to 1,000 counts that does not depend on the turn."""
    rng, wild = Random(1), Loudness(top_counts={"right": 1000.0})
    for _ in range(30):
        peak = math.exp(rng.uniform(math.log(60.0), math.log(940.0)))
        wild = wild.after([SureHit("right", peak, rng.uniform(1.0, 4.0))], USUAL)
    assert cost(120.0, 3.0, wild) < cost(120.0, 3.0) - 2.0
    assert abs(cost(120.0, 3.0, wild)) < 2.5


def test_the_harder_a_turn_the_less_likely_that_a_sensor_missed_it() -> None:
    costs = [KNOWN.unheard_cost("right", change, 0.1, USUAL) for change in (0.15, 0.3, 0.6, 1.5, 4.0)]
    assert costs == sorted(costs)
    assert costs[0] < 1.0 < 8.0 < costs[-1]


def test_the_quietest_sound_of_a_wall_that_was_never_heard_is_unknown() -> None:
    assert KNOWN.unheard_cost("left", 4.0, 0.1, USUAL) == 0.0


def test_a_peak_of_zero_is_not_the_quietest_sound_of_a_sensor() -> None:
    after = KNOWN.after([], USUAL, [("right", 0.0), ("right", 90.0)])
    assert 70.0 < after.least_counts["right"] <= 90.0


def test_a_hard_turn_short_of_a_learned_wall_without_a_sound_is_void_without_review() -> None:
    """The centre at 21 mm is 5 mm further away than that of a die that touches with a corner."""
    short = Cast(9.0, 300.0), Cast(21.0, 700.0, speed=3.0, back=0.4, heard=False)
    seen = [readings_of(short, seed) for seed in SEEDS]
    before, after = ([ruling_of(own, learned) for own in seen] for learned in (Loudness(), KNOWN))
    assert after.count(Ruling.VOID) > before.count(Ruling.VOID)
    assert Ruling.VALID not in after


def test_a_sound_requires_no_harder_turn_than_the_one_that_makes_it() -> None:
    """A turn of 0.3 m/s makes 80 counts and may be measured as 0.2 +- 0.15; 600 counts need 2 m/s."""
    soft, hard = Heard("right", 80.0, 0.2, 0.15), Heard("right", 600.0, 0.2, 0.15)
    assert KNOWN.quiet_turn_cost(soft, USUAL) < 1.0
    assert KNOWN.quiet_turn_cost(hard, USUAL) > bands.CAUSELESS
