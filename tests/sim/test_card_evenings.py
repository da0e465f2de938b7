"""Whole simulated sessions of the card games."""

from collections.abc import Sequence

import msgspec
import pytest

from controller.engine.session import Session
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import DealReview, Outcome, RollReview
from controller.model.readings import AnyReading, Card, DieReleased, Input
from controller.replay.run import as_json, compare
from controller.settings.rulesets import load_ruleset
from drivers.sim import high_roller, three_card
from drivers.sim.scenes import Feed, Header
from tests.sim.play import outcomes_of

SOFT = 1
"""A seed whose session has a soft hit before the wall's typical peaks are known. A person rules on it."""
SESSIONS = [high_roller.simulate(seed)[:2] for seed in range(4) if seed != SOFT]
SESSIONS += [three_card.simulate(seed, directed=seed > 0)[:2] for seed in range(3)]


@pytest.mark.parametrize("seed", [seed for seed in range(11) if seed != SOFT])
def test_a_session_of_high_roller(seed: int) -> None:
    header, feed, truth = high_roller.simulate(seed)
    published = map(as_json, outcomes_of(header, feed, arrivals=seed % 2 == 0))
    assert compare(list(published), truth) is None


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "rotation"])
def test_a_session_of_three_card_poker(seed: int, directed: bool) -> None:
    header, feed, truth = three_card.simulate(seed, directed=directed)
    published = map(as_json, outcomes_of(header, feed, arrivals=seed % 2 == 0))
    assert compare(list(published), truth) is None


@pytest.mark.parametrize("kind", three_card.KINDS)
def test_a_session_of_one_kind_of_deal(kind: str) -> None:
    header, feed, truth = three_card.simulate(7, {kind: 1.0}, 4)
    assert compare(list(map(as_json, outcomes_of(header, feed, arrivals=True))), truth) is None


@pytest.mark.parametrize("played", SESSIONS, ids=lambda played: played[0].table)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_power_cut_changes_no_card_outcome(played: tuple[Header, Feed], share: float) -> None:
    header, feed = played
    whole = outcomes_of(header, feed, arrivals=True)
    published = outcomes_of(header, feed[: round(share * len(feed))], arrivals=True, cut=True)
    stands = [outcome for outcome in published if not _lost(outcome.data)]
    assert stands == whole[: len(stands)]
    assert len(published) - len(stands) <= 1


@pytest.mark.parametrize("played", SESSIONS, ids=lambda played: played[0].table)
@pytest.mark.parametrize("share", [0.15, 0.35, 0.55, 0.75])
def test_a_session_continues_from_its_recorded_state(played: tuple[Header, Feed], share: float) -> None:
    header, feed = played
    whole = outcomes_of(header, feed, arrivals=True)
    session, published = _session(header), []
    cut = False
    for place, reading in enumerate(feed):
        if not cut and place >= share * len(feed) and _begins(feed[place - 1], reading):
            published += _outcomes(session.advance(reading[1].t - 200_000))
            bets = [outcome.type for outcome in published if outcome.type.startswith("bets.")]
            closed = header.ruleset == three_card.RULES and bets[-1:] == ["bets.closed"]
            if not closed and not session._game.open_attempt:
                session = _session(header, session.state(), session.first())
                cut = True
        published += _outcomes(session.feed(msgspec.structs.replace(reading[1], arrived=reading[0])))
    published += _outcomes(session.finish())
    assert cut
    assert published == whole


def _begins(before: tuple[int, AnyReading], reading: tuple[int, AnyReading]) -> bool:
    """Return whether people start an action here, after a pause."""
    quiet = reading[1].t - before[1].t > 1_000_000
    new = isinstance(reading[1], DieReleased | Card) or (
        isinstance(reading[1], Input) and reading[1].name in ("seats", "no_more_bets", "buy", "start_roll")
    )
    return quiet and new


def _outcomes(effects: Sequence[Effect]) -> list[Outcome]:
    return [effect for effect in effects if isinstance(effect, Outcome)]


def _session(header: Header, state: State | None = None, first: NextNumbers | None = None) -> Session:
    return Session(
        Setup(
            table=header.table,
            ruleset=load_ruleset(header.ruleset),
            dice_table=header.dice_table or None,
            state=state or State(),
            first=first or NextNumbers(),
        )
    )


def _lost(data: object) -> bool:
    return isinstance(data, RollReview | DealReview) and "power_lost" in {r.code for r in data.reasons}
