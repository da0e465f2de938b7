"""How loud a wall's hits are is learned from them; what is softer for its turn may be a landing beside it."""

import pytest

from controller.machines.setup import State
from controller.model.effects import Judged
from controller.model.readings import Reading
from controller.model.verdicts import Ruling
from controller.rules.dice import judge_throw
from controller.rules.dice.loudness import Loudness, SureHit
from drivers.sim import dice as evenings
from tests.engine.play import Played
from tests.rules.dice.tables import C34
from tests.rules.dice.test_bodies import SEEDS, Cast, readings_of, with_peak
from tests.rules.dice.throws import SOURCES, TABLE

USUAL = C34.sensors.hit_counts_per_m_s
LANDED = Cast(16.0, 300.0, speed=2.0, back=0.7), Cast(15.0, 700.0, speed=2.0, back=0.7)
"""Both dice turn short of the wall by as much as felt turns a die that lands with backspin."""


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
def test_two_landings_beside_the_wall_are_not_called_where_nothing_hit_it(
    learned: Loudness, peak: float
) -> None:
    for seed in SEEDS:
        readings = with_peak(with_peak(readings_of(LANDED, seed), 300.0, peak), 700.0, peak)
        assert ruling_of(readings, learned) is not Ruling.VALID, seed


@pytest.mark.parametrize(
    ("learned", "peak"), [(Loudness(), 800.0), (Loudness({"right": 60.0}), 160.0)], ids=["usual", "quiet"]
)
def test_as_loud_as_hits_are_for_such_turns_they_are_hits(learned: Loudness, peak: float) -> None:
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


def test_one_soft_sound_that_was_no_hit_makes_no_wall_quiet() -> None:
    learned = Loudness().after([SureHit("right", 1000.0, 3.0), SureHit("right", 60.0, 1.0)], USUAL)
    assert learned.at("right", USUAL) > 0.7 * USUAL


def test_what_is_learned_goes_through_a_recordings_state_and_is_what_the_next_throw_is_judged_by() -> None:
    _, feed, _ = evenings.evening(3, {"valid": 1}, n=4)
    readings = [reading for _, reading in feed]
    first = Played().feed(readings).finish()
    state = first.session.state()
    assert Loudness.from_figures(state.learned).figures() == state.learned != {}
    again = Played(state=State(learned=state.learned)).feed(readings).finish()
    assert again.session.state().learned.keys() == state.learned.keys()
    judged = [effect for effect in again.effects if isinstance(effect, Judged)]
    assert judged[0].basis.learned == state.learned
