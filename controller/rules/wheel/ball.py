"""The ball's run in the track: its direction, and the number of turns that the pulses prove.

Only pulses of working beams count. A run ends where working beams were silent for more than a turn, or for
long enough for a person to catch the ball and launch it again. A silence proves nothing if this wheel's beams
miss the ball often enough to explain it.
"""

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from controller.model.readings import BallBeam, Turning
from controller.rules.wheel.chain import DIRECTION_MARGIN, DOUBLED_US, Chain
from controller.rules.wheel.devices import SURELY_SEEN_US
from controller.rules.wheel.learned import Slowing
from controller.rules.wheel.story import Pass, Story

_MIN_PASSES = 3
"""Minimum passes of a run: two steps, which show a speed and its loss."""
_MAX_STRAY_FRACTION, _MAX_MISSED_FRACTION = 0.3, 0.45
"""Maximum fractions of stray pulses, and of passes that working beams missed, in a chain that proves a run.
Dust causes one pulse in five. With many more stray pulses, some chain would always match."""
_MAX_COST, _MAX_COST_PER_PULSE = 1.5, 0.35
"""Maximum cost of the cheapest story (one possible explanation of the pulses), in pulses that are not the
ball's: a fixed part, and a part per pulse. A story that costs more explains nothing. Dust costs 0.2 to 0.25 a
pulse, a clean pulse 0.01."""
_FULL_TURN = 1.02
"""Minimum length of a stretch that is treated as longer than a turn. The beams' angles have errors of a
degree or two."""
_PRIOR_MISSES, _PRIOR_PASSES = 0.5, 5.0
"""Prior for the fraction of missed passes: one pass in ten, with little weight."""
_SILENCE_BY_CHANCE = 0.003
"""Minimum probability of a silence at which the beams are assumed to have missed the ball. Such silences
occur several times a night on dusty wheels."""
_MIN_HAND_S = 0.8
"""Minimum duration of a silence in which a person can catch a ball and launch it again."""
_HAND_BY_CHANCE = 0.0005
"""Probability below which a silence of less than a turn counts, because a person might have caught the ball.
On a dusty wheel, one spin in a hundred has such a silence in the last turns that count."""
_BRAKED_FRACTION, _BRAKED_BY_CHANCE = 0.12, 0.05
"""Maximum fraction by which a running ball is slower than predicted after a silence, and the probability that
the ball is even slower. Each speed comes from one step, in which a tilted bowl and misaligned beams cause an
error of a twentieth."""
_LOSS_UNCERTAINTY = 0.5
"""Uncertainty of the predicted loss of speed during a silence, as a fraction of that loss. Balls differ."""
_START_BY_CHANCE = 0.01
"""If the probability that a beam missed the start of the ball's run is at least this high, a start before
that beam is also considered."""
_MIN_COAST, _MAX_COAST = 0.93, 1.05
"""Bounds on the ball's distance from its last step to its exit from the track, as fractions of the predicted
distance. The speed over one step has an error of 5 %, and the speed only decreases."""
_MIN_COAST_FRACTION = 0.25
"""Minimum distance from the last step to the exit, as a fraction of the distance at constant speed. Over a
long silence, a constant loss of speed would predict that the ball stopped and ran back, but a ball that slow
leaves the track."""
_COAST_ERROR_TURNS = 0.01
"""Error in the distance to the exit, in turns, because the drop sensor's delay varies by 0.01 or 0.02 s."""

_STEP_SPEED_FACTOR = 1.05
"""Maximum ratio of a ball's speed before its first proven step to its speed in that step, which has an error
of 5 %."""
_MIN_OTHER_PASSES, _MIN_OTHER_TURNS = 6, 3.0
"""Minimum numbers of passes and turns at which the remaining pulses are attributed to a second ball. In a
thousand spins, dust alone never produced a second run."""


class BallRun(msgspec.Struct, frozen=True):
    """The run of one ball.

    `direction` is None if the beams that detected the ball are placed so that both directions are possible.
    `turns` is the number of turns from the first pass that counts to the exit from the track at `end_us`, or
    to the last pass if no drop was sensed. `turns_from` and `turns_to` bound `turns`. The bounds allow for
    the unseen start, the end, the other stories of the pulses, and turns in which every beam might have
    missed the ball. `silent_s` is the time without a detection before the exit if it lasted more than a turn
    and chance cannot explain it, and 0 otherwise. `silent_at_us` is the start of the last silence before the
    passes that count.
    """

    direction: Turning | None
    passes: tuple[Pass, ...]
    end_us: int
    turns: float
    turns_from: float
    turns_to: float
    end_speed: float
    loss: float
    stray_pulses: int
    missed: int
    silent_s: float = 0.0
    silent_at_us: int | None = None


def find_ball_run(
    chain: Chain, slowing: Slowing, left_us: int | None, pulses: Sequence[BallBeam]
) -> BallRun | None:
    """Return the run that explains the pulses; None if there is none.

    `slowing` shows whether a ball that was not detected for a while kept running. `left_us` is the time of
    the exit from the track according to the drop sensor, or None until the sensor fires. `pulses` are
    the pulses that the chain has received.
    """
    best_story, count = chain.best, sum(chain.pulse_counts)
    if best_story is None or best_story.cost > _MAX_COST + _MAX_COST_PER_PULSE * count:
        return None
    measured = [_measure_run(chain, slowing, story, left_us, pulses) for story in chain.remaining_stories()]
    runs = [run for run in measured if run is not None]
    if not runs:
        return None
    best = runs[0]
    other_direction = any(
        story.sense != best_story.sense and story.cost < best_story.cost + DIRECTION_MARGIN
        for story in chain.stories
    )
    if len(runs) == 1 and not other_direction:
        return best
    return msgspec.structs.replace(
        best,
        direction=None if other_direction else best.direction,
        turns_from=min(run.turns_from for run in runs),
        turns_to=max(run.turns_to for run in runs),
    )


def turns_of_other_ball(chain: Chain, ball: BallRun, pulses: Sequence[BallBeam]) -> float:
    """Return the turns of a second ball during this run; 0 if the remaining pulses do not form a run.

    When two balls pass a beam together, each might be credited with the other's pulse. A run can therefore
    consist of several parts.
    """
    if len(pulses) - len(ball.passes) < _MIN_OTHER_PASSES:
        return 0.0
    own_times = {at.t for at in ball.passes}
    since_us = ball.passes[0].t
    remaining = [pulse for pulse in pulses if since_us < pulse.t < ball.end_us and pulse.t not in own_times]
    if len(remaining) < _MIN_OTHER_PASSES:
        return 0.0
    other = chain.empty_copy()
    for pulse in remaining:
        other.receive(pulse.t, pulse.beam)
    story = other.best
    if story is None or story.cost > _MAX_COST + _MAX_COST_PER_PULSE * len(remaining):
        return 0.0
    passes, turns = 0, 0.0
    while story is not None:
        if story.is_run:
            passes, turns = passes + story.last.number, turns + story.last.turns
        story = story.before
    return turns if passes >= _MIN_OTHER_PASSES and turns >= _MIN_OTHER_TURNS else 0.0


def _measure_run(
    chain: Chain, slowing: Slowing, story: Story, left_us: int | None, pulses: Sequence[BallBeam]
) -> BallRun | None:
    if left_us is not None and story.first.t > left_us and story.before is not None:
        return _measure_run(chain, slowing, story.before, left_us, pulses)
    path = story.path()
    while path and left_us is not None and path[-1].t > left_us + DOUBLED_US:
        path.pop()
    if len(path) < _MIN_PASSES:
        return None if story.before is None else _measure_run(chain, slowing, story.before, left_us, pulses)
    counts = _Counts(chain, story, path)
    if story.stray > _MAX_STRAY_FRACTION * (
        story.stray + len(path)
    ) or counts.missed > _MAX_MISSED_FRACTION * (counts.missed + len(path)):
        return None
    silences = counts.silences(slowing)
    since = silences[-1] if silences else 0
    turns_run = path[-1].turns - path[since].turns
    last = path[-1]
    end_us = last.t if left_us is None else left_us
    speed, loss = _end_speed(path, story), story.last.loss
    seconds = max(end_us - last.t, 0) / 1e6
    coast = max(speed * seconds - loss * seconds * seconds / 2, _MIN_COAST_FRACTION * speed * seconds)
    min_coast, max_coast = coast * _MIN_COAST - _COAST_ERROR_TURNS, coast * _MAX_COAST + _COAST_ERROR_TURNS
    missed_at_end = counts.passed_after(last, coast)
    silent_s = 0.0
    if missed_at_end:
        min_coast = min(min_coast, counts.turns_to_next_beam(last))
        max_coast = max(max_coast, speed * seconds * _MAX_COAST)
        if coast > _FULL_TURN and counts.silence_is_significant(missed_at_end, 0):
            silent_s, min_coast = seconds, 0.0
    min_coast_unseen = 0.0 if left_us is None and not seconds else min_coast
    return BallRun(
        direction=story.direction,
        passes=tuple(path[since:]),
        end_us=end_us,
        turns=turns_run + coast,
        turns_from=turns_run + max(min_coast_unseen, 0.0) - story.fewer_turns,
        turns_to=turns_run + max_coast + story.more_turns + counts.max_turns_before(since, slowing, pulses),
        end_speed=max(speed - loss * seconds, 0.0),
        loss=loss,
        stray_pulses=story.stray,
        missed=counts.missed,
        silent_s=silent_s,
        silent_at_us=path[since - 1].t if silences else story.before.last.t if story.before else None,
    )


def _end_speed(path: Sequence[Pass], story: Story) -> float:
    """Return the speed at the last pass of a path, in rev/s, extrapolated by half a step."""
    before, last = path[-2:]
    seconds = (last.t - before.t) / 1e6
    return (last.turns - before.turns) / seconds - story.last.loss * seconds / 2


class _Counts:
    """The detected and the missed passes of a path at working beams."""

    def __init__(self, chain: Chain, story: Story, path: Sequence[Pass]) -> None:
        self._gaps = chain.gaps(story.sense)
        self._between = chain.between(story.sense)
        self._working_beams = chain.working_beams()
        self._path = path
        self._detected = len(path)
        self.steps = [path[i].turns - path[i - 1].turns for i in range(1, len(path))]
        self._missed = self._missed_before_passes()
        self.missed = sum(self._missed)

    def silences(self, slowing: Slowing) -> list[int]:
        """Return the numbers of the passes that follow a significant silence."""
        return [
            i
            for i, missed in enumerate(self._missed, 1)
            if missed and self._is_significant(i, missed, slowing)
        ]

    def _is_significant(self, step: int, missed: int, slowing: Slowing) -> bool:
        if self.steps[step - 1] > _FULL_TURN and self.silence_is_significant(missed, missed):
            return True
        if self._path[step].t - self._path[step - 1].t < _MIN_HAND_S * 1e6:
            return False
        probability = self._miss_probability(missed) ** missed
        return probability < _HAND_BY_CHANCE or (
            probability * _BRAKED_BY_CHANCE < _SILENCE_BY_CHANCE and self._was_braked(step, slowing)
        )

    def _was_braked(self, step: int, slowing: Slowing) -> bool:
        """Return whether the ball is slower after a step than a running ball would be."""
        if not 2 <= step < len(self._path) - 1:
            return False
        before, after = self._speed(step - 1), self._speed(step + 1)
        seconds = self._middle_s(step + 1) - self._middle_s(step - 1)
        predicted = slowing.speed_after(before, seconds)
        return after < predicted - _LOSS_UNCERTAINTY * (before - predicted) - _BRAKED_FRACTION * predicted

    def _speed(self, step: int) -> float:
        return self.steps[step - 1] * 1e6 / (self._path[step].t - self._path[step - 1].t)

    def _middle_s(self, step: int) -> float:
        return (self._path[step].t + self._path[step - 1].t) / 2e6

    def silence_is_significant(self, missed: int, included: int) -> bool:
        """Return whether chance cannot explain this number of consecutive missed passes.

        `included` is how many of them the total count of missed passes includes.
        """
        return self._miss_probability(included) ** missed < _SILENCE_BY_CHANCE

    def _miss_probability(self, excluded: int) -> float:
        missed = self.missed - excluded + _PRIOR_MISSES
        return missed / (missed + self._detected + _PRIOR_PASSES)

    def _missed_before_passes(self) -> list[int]:
        """Return the number of working beams that missed the ball before each pass except the first."""
        missed: list[int] = []
        gaps, between = self._gaps, self._between
        before = self._path[0]
        for after, step in zip(self._path[1:], self.steps, strict=True):
            since, to = before.beam, after.beam
            if step > gaps[since][to] + 1e-9:
                missed.append(self.passed_after(before, step - 1e-6))
            elif passed := between[since][to]:
                missed.append(sum([beam in self._working_beams for beam in passed]))
            else:
                missed.append(0)
            before = after
        return missed

    def passed_after(self, since: Pass, turns: float) -> int:
        """Count the working beams that the ball passes within a number of turns after a pass."""
        passed = 0
        for beam in self._working_beams:
            gap = self._gaps[since.beam][beam]
            if gap < turns:
                passed += int(turns - gap) + 1
        return passed

    def turns_to_next_beam(self, since: Pass) -> float:
        """Return the turns from a pass to the next working beam."""
        return min((self._gaps[since.beam][beam] for beam in self._working_beams), default=1.0)

    def max_turns_before(self, since: int, slowing: Slowing, pulses: Sequence[BallBeam]) -> float:
        """Return the maximum number of turns before pass number `since`, the first pass that counts.

        Every beam might have missed the ball for several turns. An earlier pulse might therefore be the
        ball's, if the ball could have come from that pulse's beam in the time between the two. The launch
        must then have been after the preceding working beam, because a miss there would be a second
        coincidence.
        """
        first, start = self._path[since], self._path[0]
        max_turns = first.turns - start.turns + self._max_turns_before_first(start.beam)
        speed = _STEP_SPEED_FACTOR * (self._speed(since + 1) if first is not self._path[-1] else first.speed)
        index = bisect_left(pulses, first.t - SURELY_SEEN_US, key=lambda pulse: pulse.t)
        while pulses[index].t < first.t:
            pulse = pulses[index]
            turns_run = slowing.turns_before(speed, (first.t - pulse.t) / 1e6)
            ahead = self._gaps[pulse.beam][first.beam]
            if turns_run >= ahead:
                unseen = min([self._gaps[beam][pulse.beam] for beam in self._working_beams], default=1.0)
                max_turns = max(max_turns, ahead + int(turns_run - ahead) + unseen)
            index += 1
        return max_turns

    def _max_turns_before_first(self, first: int) -> float:
        """Return the maximum number of turns before the first pass, which is at beam `first`.

        The launch was after the preceding working beam, or after an earlier beam if the beams in between
        might have missed the ball.
        """
        gaps = sorted(self._gaps[beam][first] for beam in self._working_beams) or [1.0]
        gaps += [gap + 1.0 for gap in gaps] + [gaps[0] + 2.0]
        missed, probability = 0, self._miss_probability(0)
        while probability ** (missed + 1) >= _START_BY_CHANCE and missed + 1 < len(gaps):
            missed += 1
        return gaps[missed]
