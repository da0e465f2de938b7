"""The chain of pulses around the ring of beams: the ball's pulses, its direction, and its turns.

The only assumption is that the ball slows down: each step from one of its pulses to the next is at most a
little faster than the step before, and not much slower. Several stories (possible explanations of the pulses)
are followed in parallel. The cost of each story includes pulses that are not its ball's, passes that working
beams missed, and launches. A story that costs much more than the cheapest is dropped. Turns are counted along
the chain, beam by beam, so the count is based only on interrupted beams.
"""

from collections.abc import Sequence
from math import inf
from operator import itemgetter

from controller.model.readings import Turning
from controller.rules.wheel.story import (
    CHEAPEST_FROM_PULSES,
    CLEAN_START_PULSES,
    FASTEST,
    JITTER_S,
    MAX_FASTER,
    MAX_LOSS,
    MAX_SLACK,
    MAX_SLOWER,
    MIN_PULSES,
    MIN_STEP_RATIO,
    SENSES,
    STEP_COST,
    STEP_VARIATION,
    Beams,
    CleanStart,
    Pass,
    Rows,
    Sense,
    Story,
    get_ring,
)

DOUBLED_US = 30_000
"""Time within which two interruptions of a beam are treated as one. Contacts bounce for a few
milliseconds."""
_MIN_SPEED_FRACTION = 0.7
"""Minimum speed of a ball in the track over one step, even in a tilted bowl, as a fraction of the wheel's
drop speed."""
_MAX_SPEED_UP = 1.08
"""Maximum ratio of a step's speed to the speed of the step before. The beams' angles have errors of a degree,
and a tilted bowl speeds the ball up by about 5 % downhill."""
_MAX_SPEED_RATIO = _MAX_SPEED_UP + MAX_SLACK
"""Maximum ratio of a step's speed to the speed of the step before, including the jitter of short steps."""
_MAX_STEP_COST = 1.5
"""Maximum cost of a step within the limits of speed. A few steps with an unusual loss of speed, such as at a
ball's knee, then do not cost as much as a launch."""
_MIN_EXPECTED_RATIO = 0.5
"""Minimum ratio of a step's predicted speed to the speed of the step before. A ball does not keep losing
speed as fast as before for the whole of a long step."""
_ROUNDING_FACTOR = 1.0001
"""Tolerance of the quick test that skips a step faster than a ball, so that rounding never skips a possible
step."""
_PLAIN_COST = 0.35
"""Cost below which a step is accepted without a second story."""
STRAY_COST = 1.0
"""Cost of a pulse that is not the ball's; this is the unit of all costs. One pulse in five might be
stray."""
_SAME_PASS_TURNS = 1 / 12
"""Number of turns within which a second pulse of a beam belongs to the same pass."""
DOUBLE_COST = 0.3
"""Cost of a pulse that repeats a pulse of the same beam within a twelfth of a turn."""
FITTING_COST = 1.6
"""Cost of a stray pulse that matches the ball's next pass in beam and time; one stray pulse in six does."""
MISSED_COST = 0.7
"""Cost of a pass that a working beam missed. A miss is slightly more likely than a stray pulse."""
SILENT_COST = 0.25
"""Cost of a pass at a beam that has reported no pulse and might have failed."""
LAUNCH_COST = 4.5
"""Cost of a further launch within the story. The cost is high because dust can hide the ball for three or
four consecutive passes."""
_DROP_MARGIN = 6.0
"""Difference in cost from the cheapest story at which a story is dropped. To catch up, the story would need
to make up the cost of a launch and a pulse."""
_MAX_STORIES = 10
"""Maximum number of stories: enough for both directions, one pulse more or fewer at either end, and a
launch."""
_MAX_NEWEST = 4
"""Maximum number of additional stories with a launch at the newest pulse. A few pulses before a silence have
many explanations, which would displace the launch after the silence."""
CLEAR_MARGIN = 0.6
"""Difference in cost from the cheapest story at which a story is ruled out, about the cost of one doubtful
pulse."""
DIRECTION_MARGIN = 2.0
"""Difference in cost at which the other direction is ruled out: two doubtful pulses, because no later pulse
reveals a mistake in the direction."""
_SET_ASIDE_MARGIN = 2.6
"""Difference in cost from the cheapest story at which a story is set aside while the next pulses are
unambiguous. The results are based on the stories within `DIRECTION_MARGIN`; the remaining difference covers
the cost of some steps."""
_PLAIN_PULSES, _SOLE_MARGIN = 3, 2.0
"""Number of consecutive pulses at the expected beam and time after which a story that is cheaper by this
margin is the only one kept."""
_SILENT_TURNS = 2.0
"""Turns without a pulse after which a beam is treated as silent; passes at the beam then cost nothing."""
_MIN_DETECTION_FRACTION, _FEW_PULSES = 0.3, 4
"""Fraction of the best beam's pulses below which a beam is treated as silent and its pulses as stray. Beams
are compared only if the best beam has more pulses than the second value."""
_MISSED_TURNS = range(4)
"""Numbers of complete turns in which every beam might have missed the ball within one step of a chain."""


_Option = tuple[float, tuple[int, int, int], Story, float, float, int, float, float]
"""One possible continuation of a story with a pulse.

Its parts are the resulting cost; the key that it shares with equivalent options (direction, last pass and
pass before); the story; the turns and the speed of its step; the number of complete turns beyond the next
pass at this beam (or `_STRAY_OPTION`, `_LAUNCH_OPTION`); and the numbers of turns by which the true count
might be lower, and might be higher.

Most options are dropped immediately, so stories are created only for the options that are kept.
"""
_STRAY_OPTION, _LAUNCH_OPTION = -1, -2
"""Values in place of the number of complete turns: the pulse is not the ball's, or it begins a further run,
which the story already contains."""


class _DeferredStories:
    """The stories before the expensive ones were set aside, and the pulses since then."""

    __slots__ = ("max_cost", "other", "plain_in_row", "pulse_counts", "pulses", "stories")

    def __init__(
        self, stories: list[Story], max_cost: float, other: float, pulse_counts: list[int], plain_in_row: int
    ) -> None:
        """`max_cost` is the cost at which a story is set aside. `other` is the highest possible cost of the
        cheapest story of the other direction. `pulse_counts` and `plain_in_row` are the chain's values when
        the stories were set aside."""
        self.stories = stories
        self.max_cost = max_cost
        self.other = other
        self.pulse_counts = pulse_counts
        self.plain_in_row = plain_in_row
        self.pulses: list[tuple[int, int]] = []


class Chain:
    """The chain of a ball's pulses, updated pulse by pulse in time order."""

    def __init__(self, beams_deg: Sequence[float], drop_rev_per_s: float) -> None:
        """`beams_deg` are the beams' angles in the bowl; `drop_rev_per_s` is the ball's speed at its drop."""
        self._parameters = beams_deg, drop_rev_per_s
        self._slowest = _MIN_SPEED_FRACTION * drop_rev_per_s
        ring = get_ring(tuple(beams_deg))
        self._ahead, self._between = ring.ahead, ring.between
        self._stories: list[Story] = []
        self._start = CleanStart(ring, self._slowest) if ring.shows_direction else None
        """The launch while it is clean, in place of the stories."""
        self.pulse_counts = [0] * ring.count
        self._last_us = [-DOUBLED_US] * ring.count
        self._interrupted = False
        self._plain_in_row = 0
        self._set_aside: _DeferredStories | None = None

    def empty_copy(self) -> "Chain":
        """Return a chain of the same wheel without pulses."""
        return Chain(*self._parameters)

    def gaps(self, sense: Sense) -> Rows:
        """Return the turns from each beam to every beam for a ball running ccw (1) or cw (-1)."""
        return self._ahead[sense]

    def between(self, sense: Sense) -> Beams:
        """Return the beams between each pair of beams for a ball running ccw (1) or cw (-1)."""
        return self._between[sense]

    def working_beams(self) -> frozenset[int]:
        """Return the beams that detect the ball. A single pulse is no proof, since it might be stray."""
        few = max(_MIN_DETECTION_FRACTION * max(self.pulse_counts), 1)
        often = frozenset(b for b, pulses in enumerate(self.pulse_counts) if pulses > few)
        return often or frozenset(b for b, pulses in enumerate(self.pulse_counts) if pulses)

    def receive(self, t: int, beam: int) -> None:
        """Handle the next pulse, in time order."""
        if t - self._last_us[beam] < DOUBLED_US:
            return
        self._last_us[beam] = t
        self.pulse_counts[beam] += 1
        if self._start is None:
            self._follow(t, beam)
        elif not self._start.accepts(t, beam):
            self._expand_start()
            self._follow(t, beam)
        elif len(self._start.pulses) == CLEAN_START_PULSES:
            assert self._start.story is not None
            self._stories, self._start, self._plain_in_row = [self._start.story], None, _PLAIN_PULSES

    def _expand_start(self) -> None:
        """Follow all stories of the launch, which is no longer clean or needs more than one story."""
        start = self._start
        if start is None or not start.pulses:
            return
        self._start = None
        current_counts, self.pulse_counts = self.pulse_counts, [0] * len(self.pulse_counts)
        for t, beam in start.pulses:
            self.pulse_counts[beam] += 1
            self._follow(t, beam)
        self.pulse_counts = current_counts

    def _follow(self, t: int, beam: int) -> None:
        if self._interrupted:
            self._resume(t, beam)
            return
        stories = self._stories
        if (
            len(stories) == 1
            and self._set_aside is None
            and self._accept_if_clearly_next(stories[0], t, beam)
        ):
            return
        if not stories:
            self._stories = [Story(sense, Pass(None, t, beam), 0.0) for sense in SENSES]
            return
        if self.pulse_counts[beam] == 1 and max(self.pulse_counts) <= _FEW_PULSES:
            self._resume_set_aside()
            for story in self._stories:
                story.cost += (MISSED_COST - SILENT_COST) * story.silent.get(beam, 0)
        elif self._set_expensive_aside(beam):
            if self._follow_cheap(t, beam):
                return
            self._resume_set_aside()
        self._follow_all(t, beam)

    def _follow_all(self, t: int, beam: int) -> None:
        stories = self._stories
        plain = False
        options: list[_Option] = []
        detecting = self._detecting_beams()
        for story in stories:
            plain |= self._continue_story(story, t, beam, detecting, options)
        if not plain:
            self._relaunch(stories, t, beam, options)
        elif len(stories) == len(options) == 1:
            self._plain_in_row += 1
            stories[0].cost = options[0][0]
            self._step(stories[0], options[0], t, beam)
            return
        kept = [self._extend(option, t, beam) for option in _select_options(options)]
        best = kept[0]
        self._plain_in_row = self._plain_in_row + 1 if plain and best.last.t == t else 0
        if self._plain_in_row >= _PLAIN_PULSES and len(kept) > 1 and kept[1].cost - best.cost >= _SOLE_MARGIN:
            kept = [best]
        self._stories = kept

    def _set_expensive_aside(self, beam: int) -> bool:
        """Set the expensive stories aside before a pulse of this beam; return whether there are any."""
        if self._set_aside is not None:
            return True
        stories = self._stories
        best = stories[0]
        max_cost = best.cost + _SET_ASIDE_MARGIN
        if best.last.number < MIN_PULSES or stories[-1].cost < max_cost:
            return False
        other = min([story.cost for story in stories if story.sense != best.sense], default=inf)
        counts = list(self.pulse_counts)
        counts[beam] -= 1
        self._set_aside = _DeferredStories(stories, max_cost, other, counts, self._plain_in_row)
        self._stories = [story for story in stories if story.cost < max_cost]
        return True

    def _follow_cheap(self, t: int, beam: int) -> bool:
        """Handle a pulse for the cheap stories alone; return False if the expensive stories might matter.

        No story becomes cheaper, so every continuation of a story set aside costs at least `max_cost`. If the
        pulse is clearly the ball's next, the stories set aside add no launch. They can change only the turns
        of a cheap story that costs nearly as much as they do. The uncertainty of that story's
        turns is infinite until the expensive stories are followed again.

        Costs are computed differently if only one story is left (`_accept_if_clearly_next`). This cannot
        happen until the cheapest story of the other direction is dropped; the cost of that story rises by at
        most `FITTING_COST` a pulse.
        """
        aside = self._set_aside
        assert aside is not None
        best = self._stories[0]
        options: list[_Option] = []
        detecting = self._detecting_beams()
        if not self._continue_story(best, t, beam, detecting, options):
            return False
        for story in self._stories[1:]:
            self._continue_story(story, t, beam, detecting, options)
        max_cost = aside.max_cost
        kept = [self._extend(option, t, beam) for option in _select_options(options) if option[0] < max_cost]
        if not kept or kept[0].last.t != t or kept[0].sense != best.sense:
            return False
        min_cost = kept[0].cost
        if max_cost - min_cost < _SOLE_MARGIN or min_cost + DIRECTION_MARGIN > max_cost:
            return False
        for story in kept:
            if story.cost >= max_cost - CLEAR_MARGIN:
                story.fewer_turns = story.more_turns = inf
            if story.more_turns == inf and story.cost < min_cost + CLEAR_MARGIN:
                return False
        enough = self._plain_in_row + 1 >= _PLAIN_PULSES
        aside.other += FITTING_COST
        if enough and (len(kept) == 1 or kept[1].cost - min_cost >= _SOLE_MARGIN):
            self._set_aside, kept = None, kept[:1]
        elif len(kept) == 1 and aside.other >= min_cost + _DROP_MARGIN:
            return False
        aside.pulses.append((t, beam))
        self._plain_in_row += 1
        self._stories = kept
        return True

    def _resume_set_aside(self) -> None:
        """Follow the stories that were set aside through all pulses since then."""
        aside, self._set_aside = self._set_aside, None
        if aside is None:
            return
        self._stories, self._plain_in_row = aside.stories, aside.plain_in_row
        current_counts, self.pulse_counts = self.pulse_counts, aside.pulse_counts
        for t, beam in aside.pulses:
            self.pulse_counts[beam] += 1
            self._follow_all(t, beam)
        self.pulse_counts = current_counts

    @property
    def stories(self) -> Sequence[Story]:
        """The remaining stories, the cheapest first."""
        self._expand_start()
        return self._stories

    @property
    def best(self) -> Story | None:
        """The cheapest story."""
        start = self._start
        if start is not None and len(start.pulses) >= CHEAPEST_FROM_PULSES:
            return start.story
        return self.stories[0] if self.stories else None

    @property
    def run(self) -> Story | None:
        """The cheapest story if it is a run; None otherwise. A run means that a ball is in the track."""
        best: Story | None = None
        if self._start is not None:
            best = self._start.story
        elif self._stories:
            best = self._stories[0]
        return best if best is not None and best.is_run else None

    def remaining_stories(self) -> list[Story]:
        """Return the stories that are not ruled out, the cheapest first."""
        stories = self.stories
        if not stories:
            return []
        least = stories[0].cost + CLEAR_MARGIN
        return [story for story in stories if story.cost < least]

    @property
    def direction(self) -> Turning | None:
        """The ball's direction; None until its pulses clearly show it."""
        standing = self.remaining_stories()
        if not standing or not standing[0].is_run:
            return None
        best, clear = standing[0], standing[0].cost + DIRECTION_MARGIN
        other = any(story.sense != best.sense and story.cost < clear for story in self.stories)
        return None if other else best.direction

    @property
    def may_be_another_launch(self) -> bool:
        """Whether the cheapest story has a run before its last run."""
        return bool(self._stories) and self._stories[0].before is not None

    def second_run(self) -> Story | None:
        """Return the story of a second run if every remaining story contains one."""
        best = self.best
        if best is None or best.before is None:
            return None
        if any(story.first.t != best.first.t or not story.is_run for story in self.remaining_stories()):
            return None
        return best

    def interrupt(self) -> None:
        """Begin a further run with the next pulse, after a period without detection."""
        self._interrupted = bool(self.stories)

    def _resume(self, t: int, beam: int) -> None:
        """Continue after an interruption with a further run, but without the cost of a launch."""
        before = self._stories[0]
        run = before if before.is_run else before.before
        self._stories = [Story(sense, Pass(None, t, beam), before.cost, run) for sense in SENSES]
        self._interrupted = False
        self._plain_in_row = 0
        self._set_aside = None

    def _accept_if_clearly_next(self, story: Story, t: int, beam: int) -> bool:
        """Add the pulse to the only story left if beam and time are as expected; return whether it was
        added."""
        last = story.last
        speed, since = last.speed, last.beam
        if not speed or since == beam or t <= last.t:
            return False
        between = self._between[story.sense][since][beam]
        if between and self._any_detects(between):
            return False
        ahead = self._ahead[story.sense][since][beam]
        seconds = (t - last.t) / 1e6
        speed_now = ahead / seconds
        expected = last.expected_speed(seconds, speed_now)
        if (
            not -MAX_SLOWER * expected <= speed_now - expected <= MAX_FASTER * expected
            and not self._extend_only_story(story, ahead, seconds)
        ):
            return False
        story.last = last.next_pass(t, beam, ahead, speed_now)
        return True

    def _extend_only_story(self, story: Story, ahead: float, seconds: float) -> bool:
        """Add to the only story the cost of a step whose speed is not as expected.

        Return False if a second story is possible.
        """
        last = story.last
        one_step = (ahead + 1.0) / seconds > _MAX_SPEED_RATIO * last.speed + JITTER_S
        if last.turns < _SILENT_TURNS or last.number < MIN_PULSES or not one_step:
            return False
        steps = self._steps(last, seconds, ahead)
        if not steps or steps[0][2] >= _PLAIN_COST:
            return False
        story.cost += steps[0][2]
        self._plain_in_row += 1
        return True

    def _any_detects(self, beams: Sequence[int]) -> bool:
        detecting = self._detecting_beams()
        return any(detecting[beam] for beam in beams)

    def _detecting_beams(self) -> Sequence[int]:
        """Return the number of pulses of each beam, or 0 for a beam with too few to be working."""
        max_pulses = max(self.pulse_counts)
        if max_pulses <= _FEW_PULSES:
            return self.pulse_counts
        return [
            pulses if pulses > _MIN_DETECTION_FRACTION * max_pulses else 0 for pulses in self.pulse_counts
        ]

    def _continue_story(
        self, story: Story, t: int, beam: int, detecting: Sequence[int], options: list[_Option]
    ) -> bool:
        """Add the possible continuations of a story with a pulse; return whether the pulse is clearly the
        next pulse of the story's ball."""
        last, sense, cost = story.last, story.sense, story.cost
        fewer, more, since_us = story.fewer_turns, story.more_turns, last.t
        cheapest, fits = _DROP_MARGIN, False
        ahead = self._ahead[sense][last.beam][beam]
        if t > since_us and ahead * 1e6 <= (_MAX_SPEED_RATIO * last.speed or FASTEST) * _ROUNDING_FACTOR * (
            t - since_us
        ):
            passed = self._between[sense][last.beam][beam]
            silent = SILENT_COST if last.turns < _SILENT_TURNS else 0.0
            key = sense, t, since_us
            for whole, speed, deviation_cost in self._steps(last, (t - since_us) / 1e6, ahead):
                step_cost = (
                    deviation_cost + _missed_cost(passed, whole, detecting, silent)
                    if passed or whole
                    else deviation_cost
                )
                if step_cost >= _DROP_MARGIN:
                    continue
                if last.speed and step_cost % MISSED_COST < _PLAIN_COST:
                    fits = True
                if step_cost < cheapest + CLEAR_MARGIN:
                    options.append((cost + step_cost, key, story, ahead + whole, speed, whole, fewer, more))
                cheapest = min(cheapest, step_cost)
        if cheapest < _PLAIN_COST and last.number >= MIN_PULSES:
            return True
        step_cost = FITTING_COST if fits else STRAY_COST
        if last.beam == beam and (t - since_us) / 1e6 * (last.speed or FASTEST) < _SAME_PASS_TURNS:
            step_cost = DOUBLE_COST
        key = sense, since_us, last.before.t if last.before is not None else 0
        options.append((cost + step_cost, key, story, 0.0, 0.0, _STRAY_OPTION, fewer, more))
        return False

    def _steps(self, last: Pass, seconds: float, ahead: float) -> list[tuple[int, float, float]]:
        """Return the steps that a ball might have made from its last pass.

        Each step consists of the additional complete turns, the speed, and the cost of the deviation from the
        predicted speed.
        """
        speed_before, steps = last.speed, []
        min_speed = self._slowest
        if not speed_before:
            for whole in _MISSED_TURNS:
                speed = (ahead + whole) / seconds
                if speed > FASTEST:
                    break
                if speed >= min_speed:
                    steps.append((whole, speed, 0.0))
            return steps
        slowest = min(speed_before * MIN_STEP_RATIO, speed_before - MAX_LOSS * seconds)
        fastest, jitter, most_slack = (
            speed_before * _MAX_SPEED_UP,
            JITTER_S / seconds,
            MAX_SLACK * speed_before,
        )
        for whole in _MISSED_TURNS:
            speed = (ahead + whole) / seconds
            slack = jitter * speed
            slack = min(most_slack, slack)
            if speed > fastest + (JITTER_S if whole else slack):
                break
            if speed >= min_speed and slowest - slack <= speed <= fastest + slack:
                expected = max(last.expected_speed(seconds, speed), _MIN_EXPECTED_RATIO * speed_before)
                deviation = (speed - expected) / (STEP_VARIATION * expected + slack)
                steps.append((whole, speed, min(STEP_COST * deviation * deviation, _MAX_STEP_COST)))
        return steps

    def _relaunch(self, stories: Sequence[Story], t: int, beam: int, options: list[_Option]) -> None:
        """Begin a further run at this pulse; earlier pulses belong to another launch or to a hand.

        The new stories would continue alike whichever story they follow, so only those after the cheapest
        story are created.
        """
        min_cost, before = inf, stories[0]
        for story in stories:
            cost = story.cost + (
                LAUNCH_COST if story.is_run else min(LAUNCH_COST, STRAY_COST * story.last.number)
            )
            if cost < min_cost:
                min_cost, before = cost, story
        run = before if before.is_run else before.before
        for sense in SENSES:
            launched = Story(sense, Pass(None, t, beam), min_cost, run)
            options.append((min_cost, (sense, t, 0), launched, 0.0, 0.0, _LAUNCH_OPTION, 0.0, 0.0))

    def _extend(self, option: _Option, t: int, beam: int) -> Story:
        cost, _, story, _, _, whole, fewer, more = option
        if whole == _LAUNCH_OPTION:
            child = story
            child.fewer_turns, child.more_turns = fewer, more
        else:
            stray = story.stray + 1 if whole == _STRAY_OPTION else story.stray
            child = Story(story.sense, story.last, cost, story.before, stray, story.silent, fewer, more)
            if whole != _STRAY_OPTION:
                self._step(child, option, t, beam)
        return child

    def _step(self, story: Story, option: _Option, t: int, beam: int) -> None:
        _, _, _, turns, speed, whole, _, _ = option
        last = story.last
        if last.turns < _SILENT_TURNS and 0 in self.pulse_counts:
            story.silent = self._silent_passes(story, last.beam, beam, whole)
        story.last = last.next_pass(t, beam, turns, speed)

    def _silent_passes(self, story: Story, since: int, beam: int, whole: int) -> dict[int, int]:
        """Count this story's passes at each beam that has reported no pulse."""
        silent = dict(story.silent)
        for passed in self._between[story.sense][since][beam]:
            if not self.pulse_counts[passed]:
                silent[passed] = silent.get(passed, 0) + 1
        if whole:
            for passed, pulses in enumerate(self.pulse_counts):
                if not pulses:
                    silent[passed] = silent.get(passed, 0) + whole
        return silent


_cost_of = itemgetter(0)


def _missed_cost(passed: Sequence[int], whole: int, detecting: Sequence[int], silent: float) -> float:
    """Return the cost of the passes missed within a step, at the beams `passed` and in `whole` turns.

    `silent` is the cost of a pass at a beam that does not detect the ball.
    """
    step_cost = 0.0
    for beam in passed:
        step_cost += MISSED_COST if detecting[beam] else silent
    if whole:
        step_cost += whole * sum([MISSED_COST if pulses else silent for pulses in detecting])
    return step_cost


def _select_options(options: list[_Option]) -> list[_Option]:
    """Return the options to keep, the cheapest first; equivalent options are merged."""
    if len(options) == 1:
        return options
    max_cost = min(map(_cost_of, options)) + _DROP_MARGIN
    distinct: dict[tuple[int, int, int], _Option] = {}
    for option in options:
        if option[0] < max_cost:
            key = option[1]
            known = distinct.get(key)
            distinct[key] = option if known is None else _merge(known, option)
    ranked = sorted(distinct.values(), key=_cost_of)
    if len(ranked) <= _MAX_STORIES:
        return ranked
    newest_us = max([option[1][1] for option in ranked])
    others = [option for option in ranked[_MAX_STORIES:] if option[1][1] == newest_us]
    return ranked[:_MAX_STORIES] + others[:_MAX_NEWEST]


def _merge(one: _Option, other: _Option) -> _Option:
    """Return the cheaper of two equivalent options, with the other option's possible turns unless that option
    is ruled out."""
    better, worse = (one, other) if one[0] <= other[0] else (other, one)
    if worse[0] - better[0] >= CLEAR_MARGIN:
        return better
    cost, alike, story, turns, speed, whole, fewer, more = better
    difference = (worse[2].last.turns + worse[3]) - (story.last.turns + turns)
    fewer, more = max(fewer, worse[6] - difference), max(more, worse[7] + difference)
    return cost, alike, story, turns, speed, whole, fewer, more
