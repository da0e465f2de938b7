"""Steps: what a table's wager book was told, one indivisible thing at a time, as the database keeps it.

An outcome gives the requests that hold at once; a correction those that hold in place of the outcome's that
it corrects. What decides nothing (a review, a device's health) gives none. Each game's own are in its
`wagers.contract`.
"""

from typing import Literal, NamedTuple

import msgspec

from controller.games.registry import game_of
from controller.model.outcomes import Outcome
from controller.settlement.book import Line
from controller.settlement.wire import Asked

Kind = Literal["asked", "outcome", "correction", "reset", "struck"]
"""A player's granted request, an outcome, an outcome in another's place, the table opening again, or requests
taken back because bets had closed before the table heard of them."""


class HeardAt(NamedTuple):
    """When a table heard of a request: its session, the round of bets, microseconds of its clock."""

    session: str
    round: int
    t: int


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a table's history. `n` counts a table's steps from 1 without a hole.

    `requests` are those of the settle contract, with the players' names in place of seats. `seq` is the
    outcome's number, `corrects` that of the outcome whose place a correction takes. `result` marks the end of
    an attempt: from then on the attempt before it can't be corrected. `refund` hands all stakes back first,
    for this reason. `point_after` is what the table says its point is after the step, where it says so.
    `heard` is when the table heard of a request that was granted because bets were open; `strikes` are the
    steps with such requests that are taken back.
    """

    n: int
    kind: Kind
    requests: tuple[Asked, ...] = ()
    seq: int | None = None
    corrects: int | None = None
    result: bool = False
    refund: str = ""
    point_after: int | Literal["off"] | None = None
    heard: HeardAt | None = None
    strikes: tuple[int, ...] = ()


class Anchor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A settled state: the book was empty after step `n`, and these requests bring a fresh game there.

    `carry` is the part of a cent of breakage that was not booked, as a fraction in lowest terms.
    """

    n: int = 0
    prelude: tuple[Asked, ...] = ()
    carry: tuple[int, int] = (0, 1)


class StepAnswer(msgspec.Struct, frozen=True):
    """A line that a step was answered with; `of_n` is the step it belongs to."""

    of_n: int
    line: Line


CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
RESULTS = frozenset(
    {"roll.called", "roll.no_roll", "spin.called", "spin.no_spin", "deal.called", "deal.void"}
)
"""Outcomes that end an attempt: the attempt before can't be corrected after them."""


def asked_by(outcome: Outcome, game: str) -> list[Asked]:
    """Return the requests of an outcome to the table's game, in order."""
    return game_of(game).wagers().asked_by(outcome)
