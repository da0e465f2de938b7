"""Cutting an attempt out of a recording. The extract replays to the same outcomes, or the cut is refused."""

import io

import pytest

from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading
from controller.replay.cutting import cut
from controller.replay.log import Header, Log, LogWriter
from controller.replay.run import build_setup, replay
from controller.replay.source import LogError
from controller.settings.rulesets import load_ruleset
from drivers.sim.dice import TABLE, simulate

RULES = load_ruleset("craps-12-034")
SECOND = 1_000_000
_, FEED, SCENES = simulate(11, {"valid": 3.0, "both_short": 1.0}, n=8)


def recorded(header: Header, readings: list[AnyReading]) -> Log:
    stream = io.BytesIO()
    with LogWriter(stream, header) as writer:
        for reading in readings:
            writer.write(reading)
    return Log(io.BytesIO(stream.getvalue()), "evening.jsonl")


def a_session() -> Log:
    header = Header(version=1, table="t1", ruleset=RULES.name, dice_table=TABLE, session="s1")
    return recorded(header, [reading for _, reading in FEED])


def outcomes_of(log: Log) -> list[Outcome]:
    effects = replay(log, build_setup(log.header, RULES, log.name))
    return [effect for effect in effects if isinstance(effect, Outcome)]


def test_a_piece_replays_alone_to_the_same_outcomes_under_the_same_ids() -> None:
    whole = outcomes_of(a_session())
    from_us, to_us = (SCENES[n].end_us + SECOND // 2 for n in (2, 5))
    piece = cut(a_session(), RULES, from_us, to_us)
    assert outcomes_of(recorded(piece.header, piece.readings)) == piece.outcomes
    assert piece.outcomes == [outcome for outcome in whole if from_us <= outcome.t < to_us]
    assert {outcome.type.split(".")[0] for outcome in piece.outcomes} >= {"roll"}


def test_a_piece_from_start_to_end_is_the_whole_recording() -> None:
    piece = cut(a_session(), RULES, 0, 2**62)
    assert (piece.readings, piece.outcomes) == (list(a_session()), outcomes_of(a_session()))


def test_a_cut_through_a_throw_is_refused() -> None:
    middle = (SCENES[3].start_us + SCENES[3].end_us) // 2 - SECOND
    with pytest.raises(
        LogError, match="expected a cut between two attempts; start the piece earlier or later"
    ):
        cut(a_session(), RULES, middle, 2**62)
