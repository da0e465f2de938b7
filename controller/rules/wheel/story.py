"""Stories, the possible explanations of the pulses: passes at beams in the ring's fixed order."""

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
"""Minimum ratio of the two distances between two beams at which the direction is immediately clear."""

Rows = tuple[tuple[float, ...], ...]
"""Turns from each beam to every beam, in (0, 1]. The distance from a beam to itself is a complete turn."""
Beams = tuple[tuple[tuple[int, ...], ...], ...]


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
        """Whether the pulses of a ball that passes beam after beam rule out the other direction."""

    def _length_ratio(self) -> float:
        distance = self.ahead[1][0][1]
        return max(distance / (1.0 - distance), (1.0 - distance) / distance) if 0.0 < distance < 1.0 else 1.0


@lru_cache(maxsize=16)
def get_ring(beams_deg: tuple[float, ...]) -> Ring:
    """Return the ring of these beams, the same object for all spins of a wheel."""
    return Ring(beams_deg)


def _ahead(turns: float) -> float:
    return (turns - 1e-9) % 1.0 + 1e-9


FASTEST = 4.5
"""Maximum speed of a ball, in rev/s. A launch by hand briefly reaches 3.6."""
JITTER_S = 0.004
"""Combined timing scatter of the pulse edges at two beams, one or two milliseconds at each. It matters most
for short steps."""
MAX_SLACK = 0.15
"""Maximum fraction by which jitter can increase the speed of a step. Two simultaneous pulses do not come from
one ball."""
STEP_VARIATION = 0.08
"""Typical difference between the speed of a step and the prediction from the steps before, as a fraction of
the speed."""
STEP_COST = 0.25
"""Cost, in pulses, of a step whose speed differs from the prediction by STEP_VARIATION. The cost of other
steps increases with the square of the difference."""
MIN_STEP_RATIO = 0.8
"""Minimum ratio of a step's speed to the speed of the step before. A ball can slow suddenly, as at the joint
of a worn track."""
MAX_LOSS = 0.5
"""Maximum loss of speed, in rev/s per second. Real balls lose 0.3 at their knee."""
MIN_PULSES, MIN_TURNS = 4, 0.999
"""Minimum pulses and turns of a run. Pulses from a hand do not form a lap. A lap is the sum of steps
from beam to beam, which rounding can make slightly less than 1."""
_LOSS_AFTER_KNEE = 0.3
"""Loss of speed of a ball that has just passed its knee (`learned.KNEE_SLOWING`), as a fraction of its loss
in the steps before."""
_NEWEST_LOSS_WEIGHT = 0.3
"""Weight of the newest step in the ball's loss per second. The effect of a tilted bowl averages out over
three or four steps."""


class NotComputed(Enum):
    """Marker for a value that has not been computed."""

    NOT_COMPUTED = 0


NOT_COMPUTED: Literal[NotComputed.NOT_COMPUTED] = NotComputed.NOT_COMPUTED
Lap = tuple[float, float]
"""Middle of a lap (us) and the ball's speed over the lap (rev/s)."""


class Pass(msgspec.Struct, eq=False):
    """One pass of the ball at a beam.

    `before` is the previous pass, or None at the start of a run; `t` is in microseconds. `turns` counts from
    the first pulse of the run. `speed` is the speed over the step to this pass (rev/s), and `loss` the loss
    of speed per second over the last steps; `seconds` is the duration of the step to this pass. All three are
    0 at a run's first pass. `number` counts the run's passes. `lap` is the lap that the pass completes (None
    if it completes none), or `NOT_COMPUTED`.
    """

    before: Union["Pass", None]
    t: int
    beam: int
    turns: float = 0.0
    speed: float = 0.0
    loss: float = 0.0
    seconds: float = 0.0
    number: int = 1
    lap: Lap | NotComputed | None = NOT_COMPUTED

    def next_pass(self, t: int, beam: int, turns: float, speed: float) -> "Pass":
        """Return the next pass, after a step of this many turns at this speed."""
        before, loss, seconds = self.speed, 0.0, (t - self.t) / 1e6
        if before:
            loss, lost = self.loss, (before - speed) / (0.5 * (self.seconds + seconds))
            if lost < 0.0:
                lost = 0.0
            elif lost > MAX_LOSS:
                lost = MAX_LOSS
            loss += _NEWEST_LOSS_WEIGHT * (lost - loss)
        return Pass(self, t, beam, self.turns + turns, speed, loss, seconds, self.number + 1)

    def expected_speed(self, seconds: float, speed: float) -> float:
        """Return the predicted speed (rev/s) over the next step if it has this duration.

        A step's speed is the speed at its middle, so half of each step lies between the two speeds. A ball
        that has just passed its knee loses much less speed than before. The prediction is therefore a range.
        The value in this range nearest to the measured `speed` is returned.
        """
        lost = self.loss * 0.5 * (self.seconds + seconds)
        most = self.speed - lost
        if speed <= most:
            return most
        least = self.speed - _LOSS_AFTER_KNEE * lost
        return min(least, speed)


class Story(msgspec.Struct, eq=False):
    """One explanation of the pulses: a run in direction ccw (1) or cw (-1), up to its last pass.

    `cost` is in pulses that are not the ball's. `before` is the run before this run, or None. `stray` is the
    number of pulses since the run's first that were not its ball's. `silent` counts, by beam, the passes
    at beams that had not yet reported a pulse. According to equivalent stories that are not ruled out, the
    ball might have made up to `fewer_turns` fewer turns or `more_turns` more.
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
        """Direction of the ball."""
        return "ccw" if self.sense > 0 else "cw"

    @property
    def is_run(self) -> bool:
        """Whether the pulses make a run, which is a lap with more pulses than a hand makes."""
        last = self.last
        return last.number >= MIN_PULSES and last.turns >= MIN_TURNS

    @property
    def first(self) -> Pass:
        """First pass of the run."""
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


CLEAN_START_PULSES = 7
"""Number of pulses of a complete start. The pulses from the fourth on can be predicted; three pulses that
match the prediction rule out every other story."""
CHEAPEST_FROM_PULSES = 4
"""Number of pulses from which the story of a clean start is certainly the cheapest. Any other story omits a
pulse, or passes a beam without a pulse."""
_DIRECTION_PULSES = 3
"""Minimum number of pulses that show the direction: two steps are needed."""
MAX_SLOWER, MAX_FASTER = 0.05, 0.03
"""Maximum fractions of the predicted speed by which a step can be slower, and faster, and still be clearly as
predicted. The speed over one step has an error of a few per cent."""
_MIN_TWO_BEAM_REV_PER_S = 0.8
"""Minimum speed with two beams, in rev/s. A slower ball might lose so much speed between the beams that both
directions are possible."""
_MAX_LAUNCH_RATIO = 10.9
"""Ratio of the launch speed to the slowest ball's speed above which a launch resembles a slow ball that
interrupted a beam twice in one pass."""


class CleanStart:
    """The first pulses of a launch while they are clean: from beam to beam at nearly constant speed.

    One story is enough for a clean start. A search of all stories (`chain.py`) would follow other stories as
    well, but drop them all at the pulse that completes the start. At that pulse, this story costs at most 0.5
    and any other story at least 2.7.

    A story of the other direction has one of three forms: each step between neighbouring beams passes a
    working beam that reports no pulse (cost 0.7); only every second or third pulse is the ball's (cost 1 for
    each omitted pulse); or there are only two beams, and the two distances between them differ so much that
    two consecutive steps are faster or slower than a ball's.

    A story of the same direction continues like this story after two pulses. It must therefore have omitted
    the last pulse or the one before, and passed the beam of that pulse. No such story has begun since the
    fifth pulse, because that pulse was clearly the ball's next.
    """

    __slots__ = ("_ring", "_slowest", "pulses", "story")

    def __init__(self, ring: Ring, slowest: float) -> None:
        """`slowest` is the speed of the slowest ball in the track, in rev/s."""
        self._ring = ring
        self._slowest = slowest
        self.pulses: list[tuple[int, int]] = []
        self.story: Story | None = None
        """Story of these pulses, from the third pulse on."""

    def accepts(self, t: int, beam: int) -> bool:
        """Handle a pulse. If it is not the next of a clean start, change nothing and return False."""
        pulses, story = self.pulses, self.story
        if story is not None:
            if not self._step(story, t, beam):
                return False
        elif len(pulses) == _DIRECTION_PULSES - 1:
            self.story = self._begin_story((t, beam))
            if self.story is None:
                return False
        pulses.append((t, beam))
        return True

    def _begin_story(self, third: tuple[int, int]) -> Story | None:
        (first_us, first), (t, beam) = self.pulses
        if t <= first_us or first == beam:
            return None
        for sense in SENSES:
            ahead = self._ring.ahead[sense][first][beam]
            speed = ahead / ((t - first_us) / 1e6)
            if self._ring.between[sense][first][beam] or not self._can_begin(speed):
                continue
            story = Story(sense, Pass(None, first_us, first).next_pass(t, beam, ahead, speed), 0.0)
            if self._step(story, *third):
                return story
        return None

    def _can_begin(self, speed: float) -> bool:
        fastest = min(FASTEST, _MAX_LAUNCH_RATIO * self._slowest)
        return self._slowest <= speed <= fastest and self._fits_two(speed)

    def _fits_two(self, speed: float) -> bool:
        return self._ring.count > 2 or speed >= _MIN_TWO_BEAM_REV_PER_S

    def _step(self, story: Story, t: int, beam: int) -> bool:
        """Extend the story by a pulse; return False if the pulse is not clearly the next."""
        last, sense = story.last, story.sense
        if t <= last.t or last.beam == beam or self._ring.between[sense][last.beam][beam]:
            return False
        ahead = self._ring.ahead[sense][last.beam][beam]
        seconds, before = (t - last.t) / 1e6, last.speed
        speed = ahead / seconds
        expected = last.expected_speed(seconds, speed)
        if not -MAX_SLOWER * expected <= speed - expected <= MAX_FASTER * expected:
            return False
        if speed < self._slowest or speed < MIN_STEP_RATIO * before or not self._fits_two(speed):
            return False
        deviation = (speed - expected) / (
            STEP_VARIATION * expected + min(MAX_SLACK * before, JITTER_S / seconds * speed)
        )
        story.cost += STEP_COST * deviation * deviation
        story.last = last.next_pass(t, beam, ahead, speed)
        return True
