"""What may have happened in the track: its beams as a ball passes them, and the passes one after another."""

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Literal, Union

import msgspec

from controller.model.readings import Turning

Sense = Literal[1, -1]
SENSES: tuple[Sense, Sense] = (1, -1)
"""Which way round: 1 is ccw, -1 is cw."""
_UNEVEN = 1.5
"""Two beams tell the way round at once where one way between them is so much longer than the other."""

Rows = tuple[tuple[float, ...], ...]
"""Turns from each beam to each, in (0, 1]: to itself it is a whole turn."""
Beams = tuple[tuple[tuple[int, ...], ...], ...]
"""The beams that stand between each two."""


class Ring:
    """One wheel's beams, by the way round that a ball runs."""

    __slots__ = ("ahead", "between", "count", "tells_way")

    def __init__(self, beams_deg: Sequence[float]) -> None:
        """`beams_deg` are the beams' angles in the bowl."""
        beams = range(len(beams_deg))
        places = [deg / 360.0 for deg in beams_deg]
        self.count = len(beams_deg)
        self.ahead: dict[Sense, Rows] = {
            sense: tuple(
                tuple(_ahead(sense * (places[to] - places[since])) for to in beams) for since in beams
            )
            for sense in SENSES
        }
        self.between: dict[Sense, Beams] = {
            sense: tuple(
                tuple(
                    tuple(b for b in beams if b not in (since, to) and row[b] < row[to] - 1e-9)
                    for to in beams
                )
                for since, row in enumerate(rows)
            )
            for sense, rows in self.ahead.items()
        }
        self.tells_way = self.count > 2 or (self.count == 2 and self._longer_way() >= _UNEVEN)
        """Whether a ball that passes beam after beam fits no way round but its own."""

    def _longer_way(self) -> float:
        way = self.ahead[1][0][1]
        return max(way / (1.0 - way), (1.0 - way) / way) if 0.0 < way < 1.0 else 1.0


@lru_cache(maxsize=16)
def ring_of(beams_deg: tuple[float, ...]) -> Ring:
    """Return the ring of these beams, the same for every spin of a wheel."""
    return Ring(beams_deg)


def _ahead(turns: float) -> float:
    return (turns - 1e-9) % 1.0 + 1e-9


FASTEST = 4.5
"""rev/s: a hand reaches 3.6 for a moment."""
JITTER_S = 0.004
"""Edges of two beams scatter by a millisecond or two each, which counts most for short steps."""
MAX_SLACK = 0.15
"""Share of its speed that jitter may make of a step, at most: two pulses at once are not one ball's."""
EVEN = 0.08
"""Share of its speed by which a step commonly differs from what the two before foretell."""
MAX_LOSS = 0.5
"""rev/s lost a second, at most: real balls lose 0.3 at their knee."""
MIN_PULSES, MIN_TURNS = 4, 0.999
"""What a run must have to be a launch of its own: a hand's pulses make no such lap. A lap is summed from beam
to beam, so it may be a rounding short of 1."""
_NEWEST_LOSS = 0.3
"""Weight of the newest step in what the ball loses a second: three or four of them even out a tilted bowl."""


class NotAsked(Enum):
    """In place of what was not worked out yet."""

    NOT_ASKED = 0


NOT_ASKED: Literal[NotAsked.NOT_ASKED] = NotAsked.NOT_ASKED
Lap = tuple[float, float]
"""The middle of a lap in microseconds, and the ball's speed over it in rev/s."""


class Pass(msgspec.Struct, eq=False):
    """One pass of the ball at a beam: `turns` it had run by then since the first pulse of its run.

    `before` is the pass before it, None at the start of a run; `t` in microseconds. `speed` is that of the
    step to it in rev/s, `loss` what the ball lost a second over the last steps, both 0 at a run's first pass.
    `number` counts the run's passes. `lap` is the lap that the pass ends, None where it ends none, once it
    was asked for.
    """

    before: Union["Pass", None]
    t: int
    beam: int
    turns: float = 0.0
    speed: float = 0.0
    loss: float = 0.0
    number: int = 1
    lap: Lap | NotAsked | None = NOT_ASKED

    def then(self, t: int, beam: int, turns: float, speed: float) -> "Pass":
        """Return the next pass, reached with a step of so many turns at this speed."""
        before, loss = self.speed, 0.0
        if before:
            loss, lost = self.loss, (before - speed) / ((t - self.t) / 1e6)
            if lost < 0.0:
                lost = 0.0
            elif lost > MAX_LOSS:
                lost = MAX_LOSS
            loss += _NEWEST_LOSS * (lost - loss)
        return Pass(self, t, beam, self.turns + turns, speed, loss, self.number + 1)


class Story(msgspec.Struct, eq=False):
    """One explanation of the pulses so far: a run that turns ccw (1) or cw (-1), up to its last pass.

    `cost` is in pulses that are not the ball's, `before` the run before where this is another one, `stray`
    the pulses since the run's first that were none of its ball's, `deaf` the passes at beams that were not
    heard yet, by beam. The turns may be `fewer` or `more` by stories that go on alike and are not ruled out.
    """

    sense: Sense
    last: Pass
    cost: float
    before: Union["Story", None] = None
    stray: int = 0
    deaf: dict[int, int] = {}
    fewer: float = 0.0
    more: float = 0.0

    @property
    def direction(self) -> Turning:
        """Which way the ball ran."""
        return "ccw" if self.sense > 0 else "cw"

    @property
    def is_run(self) -> bool:
        """Whether the pulses make a run: a lap, and more pulses than a hand's."""
        last = self.last
        return last.number >= MIN_PULSES and last.turns >= MIN_TURNS

    @property
    def first(self) -> Pass:
        """The run's first pass."""
        at = self.last
        while at.before is not None:
            at = at.before
        return at

    def path(self) -> list[Pass]:
        """Return the run's passes, first to last."""
        passes: list[Pass] = []
        at: Pass | None = self.last
        while at is not None:
            passes.append(at)
            at = at.before
        passes.reverse()
        return passes
