"""Stories, the possible explanations of the pulses. Each is a sequence of passes at beams, which a ball
passes in a fixed order."""

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Literal, Union

import msgspec

from controller.model.readings import Turning

Sense = Literal[1, -1]
SENSES: tuple[Sense, Sense] = (1, -1)
"""Directions: 1 is ccw, -1 is cw."""
_MIN_LENGTH_RATIO = 1.5
"""With two beams, the direction is immediately clear if one of the two distances between them is at least
this many times the other."""

Rows = tuple[tuple[float, ...], ...]
"""Turns from each beam to every beam, in (0, 1]; from a beam to itself it is a whole turn."""
Beams = tuple[tuple[tuple[int, ...], ...], ...]
"""The beams between each pair of beams."""


class Ring:
    """One wheel's beams, by the direction of the ball."""

    __slots__ = ("ahead", "between", "count", "shows_direction")

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
        self.shows_direction = self.count > 2 or (
            self.count == 2 and self._length_ratio() >= _MIN_LENGTH_RATIO
        )
        """Whether the pulses of a ball that passes beam after beam fit no other direction."""

    def _length_ratio(self) -> float:
        distance = self.ahead[1][0][1]
        return max(distance / (1.0 - distance), (1.0 - distance) / distance) if 0.0 < distance < 1.0 else 1.0


@lru_cache(maxsize=16)
def get_ring(beams_deg: tuple[float, ...]) -> Ring:
    """Return the ring of these beams, the same object for every spin of a wheel."""
    return Ring(beams_deg)


def _ahead(turns: float) -> float:
    return (turns - 1e-9) % 1.0 + 1e-9


FASTEST = 4.5
"""The maximum speed of a ball, in rev/s: a hand reaches 3.6 for a moment."""
JITTER_S = 0.004
"""The edges of two beams scatter by one or two milliseconds each, which matters most for short steps."""
MAX_SLACK = 0.15
"""The maximum fraction by which jitter may increase the speed of a step: two simultaneous pulses do not come
from one ball."""
STEP_VARIATION = 0.08
"""The fraction of its speed by which a step usually differs from the prediction of the two steps before."""
MAX_LOSS = 0.5
"""The maximum loss of speed, in rev/s per second: real balls lose 0.3 at their knee."""
MIN_PULSES, MIN_TURNS = 4, 0.999
"""The pulses and turns that a run needs to count as a launch: pulses from a hand do not form such a lap. A
lap is summed from beam to beam, so rounding may make it slightly less than 1."""
_NEWEST_LOSS_WEIGHT = 0.3
"""Weight of the newest step in the ball's loss per second: over three or four steps, the effect of a tilted
bowl averages out."""


class NotComputed(Enum):
    """Marks a value that has not been computed yet."""

    NOT_COMPUTED = 0


NOT_COMPUTED: Literal[NotComputed.NOT_COMPUTED] = NotComputed.NOT_COMPUTED
Lap = tuple[float, float]
"""The middle of a lap in microseconds, and the ball's speed over it in rev/s."""


class Pass(msgspec.Struct, eq=False):
    """One pass of the ball at a beam: `turns` counts from the first pulse of its run.

    `before` is the previous pass, None at the start of a run; `t` is in microseconds. `speed` is the speed in
    rev/s over the step to this pass, `loss` the ball's loss of speed per second over the last steps; both are
    0 at a run's first pass. `number` counts the run's passes. `lap` is the lap that the pass completes (None
    if it completes none), or `NOT_COMPUTED`.
    """

    before: Union["Pass", None]
    t: int
    beam: int
    turns: float = 0.0
    speed: float = 0.0
    loss: float = 0.0
    number: int = 1
    lap: Lap | NotComputed | None = NOT_COMPUTED

    def next_pass(self, t: int, beam: int, turns: float, speed: float) -> "Pass":
        """Return the next pass, reached with a step of this many turns at this speed."""
        before, loss = self.speed, 0.0
        if before:
            loss, lost = self.loss, (before - speed) / ((t - self.t) / 1e6)
            if lost < 0.0:
                lost = 0.0
            elif lost > MAX_LOSS:
                lost = MAX_LOSS
            loss += _NEWEST_LOSS_WEIGHT * (lost - loss)
        return Pass(self, t, beam, self.turns + turns, speed, loss, self.number + 1)


class Story(msgspec.Struct, eq=False):
    """One explanation of the pulses so far: a run in direction ccw (1) or cw (-1), up to its last pass.

    `cost` is in pulses that are not the ball's. `before` is the run before this one, if any. `stray`
    is the number of pulses since the run's first that were not its ball's, and `silent` the number of passes,
    by beam, at beams without a pulse so far. According to equivalent stories that are not ruled out, the ball
    may have run up to `fewer_turns` fewer turns or `more_turns` more.
    """

    sense: Sense
    last: Pass
    cost: float
    before: Union["Story", None] = None
    stray: int = 0
    silent: dict[int, int] = {}
    fewer_turns: float = 0.0
    more_turns: float = 0.0

    @property
    def direction(self) -> Turning:
        """The ball's direction."""
        return "ccw" if self.sense > 0 else "cw"

    @property
    def is_run(self) -> bool:
        """Whether the pulses make a run: a lap, with more pulses than a hand makes."""
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
