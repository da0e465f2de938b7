"""Cut a piece out of a recording, so that it replays alone exactly as it did in the whole."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from controller.engine.session import Session
from controller.model.effects import Effect
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading
from controller.model.rulesets import RuleSet
from controller.replay.errors import LogError
from controller.replay.header import Header
from controller.replay.log import Log
from controller.replay.run import setup_of


class Piece(NamedTuple):
    """A piece of a recording, and the outcomes that it gives."""

    header: Header
    readings: list[AnyReading]
    outcomes: list[Outcome]


def cut(log: Log, ruleset: RuleSet, from_us: int, to_us: int) -> Piece:
    """Take what arrived from `from_us` until before `to_us`, with the state and numbers it goes on from.

    Raises LogError at a bad line, and where the cut goes through an attempt: a piece that would give other
    outcomes than the whole is worth nothing as a case.
    """
    setup = setup_of(log.header, ruleset, log.name)
    session = Session(setup)
    header = log.header
    readings: list[AnyReading] = []
    effects: list[Effect] = []
    for reading in log:
        arrived = reading.t if reading.arrived is None else reading.arrived
        if arrived < from_us:
            session.feed(reading)
            continue
        if arrived >= to_us:
            break
        if not readings:
            header = msgspec.structs.replace(
                header,
                ruleset=ruleset.name,
                rules=None if header.rules is None else ruleset,
                session=setup.session,
                first=session.first(),
                state=session.state(),
            )
        readings.append(reading)
        effects += session.feed(reading)
    effects += session.finish()
    piece = Piece(header, readings, _outcomes(effects))
    if _alone(piece, ruleset, log.name) != piece.outcomes:
        found = f"an attempt under way at {from_us} us"
        raise LogError(log.name, found, "a cut between two attempts", "begin the piece earlier or later")
    return piece


def _alone(piece: Piece, ruleset: RuleSet, name: str) -> list[Outcome]:
    session = Session(setup_of(piece.header, ruleset, name))
    effects = [effect for reading in piece.readings for effect in session.feed(reading)]
    return _outcomes([*effects, *session.finish()])


def _outcomes(effects: Iterable[Effect]) -> list[Outcome]:
    return [effect for effect in effects if isinstance(effect, Outcome)]
