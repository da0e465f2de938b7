"""The chain of pulses round the ring: which pulses are the ball's, its direction, and how far it ran.

Nothing is assumed about how a ball slows down except that it does: each step from one of its pulses to the
next is at most a little faster than the step before, and not much slower. Several stories are followed in
parallel. The cost of each includes pulses that are not its ball's, passes that working beams missed, and
launches. A story that costs much more than the cheapest is dropped. Turns are counted along the chain, beam
by beam, so the count rests only on beams that were interrupted.
"""

from collections.abc import Sequence
from math import inf
from operator import itemgetter

from controller.model.readings import Turning
from controller.rules.wheel.clean_start import COMPLETE, KNOWN, CleanStart
from controller.rules.wheel.story import (
    EVEN,
    FASTEST,
    JITTER_S,
    MAX_LOSS,
    MAX_SLACK,
    MIN_PULSES,
    SENSES,
    Beams,
    Pass,
    Rows,
    Sense,
    Story,
    ring_of,
)

DOUBLED_US = 30_000
"""Two interruptions of a beam within this time are one: contacts bounce for some milliseconds."""
_SLOWEST = 0.7
"""Lowest speed of a step of a ball in the track, even in a tilted bowl, as a share of the wheel's drop
speed."""
_SPEED_UP = 1.08
"""How much faster a step may be than the one before it: the beams' angles are off by a degree, and a tilted
bowl makes the ball a twentieth faster downhill."""
_TOO_FAST = _SPEED_UP + MAX_SLACK
"""No step is faster than this share of the speed before it."""
_SLOW_DOWN = 0.80
"""How much slower a step may suddenly be than the one before it, as at the joint of a worn track."""
_PLAIN = 0.35
"""A step that costs less is accepted without a second story."""
STRAY = 1.0
"""Cost of a pulse that is not the ball's: the unit of all costs. One pulse in five may be such a stray."""
_SAME_PASS = 1 / 12
"""Turns of the ball within which a second pulse of the same beam belongs to the same pass."""
DOUBLE = 0.3
"""Cost of a pulse that repeats one of the same beam within a twelfth of a turn."""
FITTING = 1.6
"""Cost of a pulse that fits as the ball's next one by place and time but comes from something else: one stray
pulse in six does."""
MISSED = 0.7
"""Cost of a pass missed by a beam that detects others: slightly more likely than a stray that must fit."""
SILENT = 0.25
"""Cost of a pass at a beam that has not reported a pulse yet: it may be silent."""
LAUNCH = 4.5
"""Cost of another launch within the story: dust hides the ball for three or four passes in a row."""
_DROPPED_STORY = 6.0
"""A story that costs this much more than the cheapest is dropped: it would have to make up for a launch and a
pulse."""
_STORIES = 10
"""Maximum number of stories kept: both directions, one pulse more or less at either end, and a launch."""
_NEWEST = 4
"""Stories kept in addition whose ball was launched at the newest pulse: a few pulses before a silence can be
explained in so many ways that the launch after it would be crowded out."""
CLEAR = 0.6
"""A story that costs this much more than the cheapest is ruled out: about one doubtful pulse."""
WAY_CLEAR = 2.0
"""The same for the direction, since nothing later reveals a mistake in it: two doubtful pulses."""
_EXPENSIVE = 2.6
"""A story that costs this much more than the cheapest is set aside while the next pulses are plain: what is
reported rests on those within `WAY_CLEAR`, and the difference leaves room for the cost of some steps."""
_CALM, _CALM_CLEAR = 3, 2.0
"""After this many pulses at the expected place and time, a story that is cheaper than the next by this much
is the only one."""
_SILENT_TURNS = 2.0
"""A beam without a pulse in this many turns is silent: passes at it no longer cost anything."""
_DETECTS, _FEW = 0.3, 4
"""A beam with less than this share of the best beam's pulses is silent, and its pulses were stray; until the
best beam has more pulses than the second figure, this is not judged."""
_WHOLE_TURNS = range(4)
"""Whole turns in which every beam missed the ball, at most, within one step of a chain."""


_Option = tuple[float, tuple[int, int, int], Story, float, float, int, float, float]
"""One way in which a story may continue with a pulse.

Its parts are: its cost then; the key that it shares with options that continue alike (direction, last pass
and the pass before); the story; the turns and the speed of its step, and how many of the turns are whole ones
beyond the next pass at this beam (or `_IS_STRAY`, `_LAUNCHED`); how many turns fewer and more are possible.

Most options are dropped at once, so a story is created only for those that are kept.
"""
_IS_STRAY, _LAUNCHED = -1, -2
"""Used in place of the number of whole turns: the pulse is not the ball's, or it begins another run, which is
in the story."""


class _Aside:
    """The stories at some pulse, of which the expensive ones are not followed, and the pulses since."""

    __slots__ = ("calm", "max_cost", "other", "pulse_counts", "pulses", "stories")

    def __init__(
        self, stories: list[Story], max_cost: float, other: float, pulse_counts: list[int], calm: int
    ) -> None:
        """A story of cost `max_cost` or more is not followed; `other` is the highest possible cost of the
        cheapest story of the other direction; `pulse_counts` and `calm` are the chain's at that time."""
        self.stories = stories
        self.max_cost = max_cost
        self.other = other
        self.pulse_counts = pulse_counts
        self.calm = calm
        self.pulses: list[tuple[int, int]] = []


class Chain:
    """Follows the ball pulse by pulse, in time order."""

    def __init__(self, beams_deg: Sequence[float], drop_rev_per_s: float) -> None:
        """`beams_deg` are the beams' angles in the bowl, `drop_rev_per_s` the ball's speed at its drop."""
        self._made_of = beams_deg, drop_rev_per_s
        self._slowest = _SLOWEST * drop_rev_per_s
        ring = ring_of(tuple(beams_deg))
        self._ahead, self._between = ring.ahead, ring.between
        self._stories: list[Story] = []
        self._start = CleanStart(ring, self._slowest) if ring.shows_direction else None
        """The launch while it is clean, in place of the stories."""
        self.pulse_counts = [0] * ring.count
        """Pulses of each beam so far."""
        self._last_us = [-DOUBLED_US] * ring.count
        self._interrupted = False
        self._calm = 0
        self._aside: _Aside | None = None

    def empty_copy(self) -> "Chain":
        """Return a chain of the same wheel that has received nothing."""
        return Chain(*self._made_of)

    def gaps(self, sense: Sense) -> Rows:
        """Return the turns from each beam to every beam for a ball running ccw (1) or cw (-1)."""
        return self._ahead[sense]

    def between(self, sense: Sense) -> Beams:
        """Return the beams between each pair of beams for a ball running ccw (1) or cw (-1)."""
        return self._between[sense]

    def working(self) -> frozenset[int]:
        """Return the beams that detect the ball: a single pulse may come from something else."""
        few = max(_DETECTS * max(self.pulse_counts), 1)
        often = frozenset(b for b, pulses in enumerate(self.pulse_counts) if pulses > few)
        return often or frozenset(b for b, pulses in enumerate(self.pulse_counts) if pulses)

    def receive(self, t: int, beam: int) -> None:
        """Handle a pulse that is later than all before it."""
        if t - self._last_us[beam] < DOUBLED_US:
            return
        self._last_us[beam] = t
        self.pulse_counts[beam] += 1
        if self._start is None:
            self._follow(t, beam)
        elif not self._start.accepts(t, beam):
            self._search_start()
            self._follow(t, beam)
        elif len(self._start.pulses) == COMPLETE:
            assert self._start.story is not None
            self._stories, self._start, self._calm = [self._start.story], None, _CALM

    def _search_start(self) -> None:
        """Follow every story of the launch so far, because it is no longer clean or because one story does
        not show enough.
        """
        start = self._start
        if start is None or not start.pulses:
            return
        self._start = None
        now, self.pulse_counts = self.pulse_counts, [0] * len(self.pulse_counts)
        for t, beam in start.pulses:
            self.pulse_counts[beam] += 1
            self._follow(t, beam)
        self.pulse_counts = now

    def _follow(self, t: int, beam: int) -> None:
        """Handle a pulse that does not repeat one of the same pass."""
        if self._interrupted:
            self._resume(t, beam)
            return
        stories = self._stories
        if len(stories) == 1 and self._aside is None and self._is_clearly_next(stories[0], t, beam):
            return
        if not stories:
            self._stories = [Story(sense, Pass(None, t, beam), 0.0) for sense in SENSES]
            return
        if self.pulse_counts[beam] == 1 and max(self.pulse_counts) <= _FEW:
            self._take_up()
            for story in self._stories:
                story.cost += (MISSED - SILENT) * story.silent.get(beam, 0)
        elif self._can_set_aside(beam):
            if self._follow_cheap(t, beam):
                return
            self._take_up()
        self._follow_all(t, beam)

    def _follow_all(self, t: int, beam: int) -> None:
        """Handle a pulse for every story."""
        stories = self._stories
        plain = False
        options: list[_Option] = []
        detects = self._detects()
        for story in stories:
            plain |= self._continue_story(story, t, beam, detects, options)
        if not plain:
            self._relaunch(stories, t, beam, options)
        elif len(stories) == len(options) == 1:
            self._calm += 1
            stories[0].cost = options[0][0]
            self._step(stories[0], options[0], t, beam)
            return
        kept = [self._extended(option, t, beam) for option in _best_of(options)]
        best = kept[0]
        self._calm = self._calm + 1 if plain and best.last.t == t else 0
        if self._calm >= _CALM and len(kept) > 1 and kept[1].cost - best.cost >= _CALM_CLEAR:
            kept = [best]
        self._stories = kept

    def _can_set_aside(self, beam: int) -> bool:
        """Set the expensive stories aside before a pulse of this beam; return whether there are any."""
        if self._aside is not None:
            return True
        stories = self._stories
        best = stories[0]
        max_cost = best.cost + _EXPENSIVE
        if best.last.number < MIN_PULSES or stories[-1].cost < max_cost:
            return False
        other = min([story.cost for story in stories if story.sense != best.sense], default=inf)
        counts = list(self.pulse_counts)
        counts[beam] -= 1
        self._aside = _Aside(stories, max_cost, other, counts, self._calm)
        self._stories = [story for story in stories if story.cost < max_cost]
        return True

    def _follow_cheap(self, t: int, beam: int) -> bool:
        """Handle a pulse for the cheap stories alone; return False if the expensive ones may matter for it.

        No story becomes cheaper, so every continuation of those set aside costs more than `max_cost`. They
        start no launch if the pulse is clearly the next. They can change only the turns of a cheap story that
        costs nearly as much, so its turns are infinite until they are taken up. A story that is the only one
        has other costs (`_is_clearly_next`). It is not the only one while the cheapest story of the other
        direction, whose cost rises by at most `FITTING` with each pulse, is not dropped.
        """
        aside = self._aside
        assert aside is not None
        best = self._stories[0]
        options: list[_Option] = []
        detects = self._detects()
        if not self._continue_story(best, t, beam, detects, options):
            return False
        for story in self._stories[1:]:
            self._continue_story(story, t, beam, detects, options)
        max_cost = aside.max_cost
        kept = [self._extended(option, t, beam) for option in _best_of(options) if option[0] < max_cost]
        if not kept or kept[0].last.t != t or kept[0].sense != best.sense:
            return False
        least = kept[0].cost
        if max_cost - least < _CALM_CLEAR or least + WAY_CLEAR > max_cost:
            return False
        for story in kept:
            if story.cost >= max_cost - CLEAR:
                story.fewer = story.more = inf
            if story.more == inf and story.cost < least + CLEAR:
                return False
        calm = self._calm + 1 >= _CALM
        aside.other += FITTING
        if calm and (len(kept) == 1 or kept[1].cost - least >= _CALM_CLEAR):
            self._aside, kept = None, kept[:1]
        elif len(kept) == 1 and aside.other >= least + _DROPPED_STORY:
            return False
        aside.pulses.append((t, beam))
        self._calm += 1
        self._stories = kept
        return True

    def _take_up(self) -> None:
        """Follow the stories that were set aside through all pulses since."""
        aside, self._aside = self._aside, None
        if aside is None:
            return
        self._stories, self._calm = aside.stories, aside.calm
        now, self.pulse_counts = self.pulse_counts, aside.pulse_counts
        for t, beam in aside.pulses:
            self.pulse_counts[beam] += 1
            self._follow_all(t, beam)
        self.pulse_counts = now

    @property
    def stories(self) -> Sequence[Story]:
        """The remaining explanations, the cheapest first."""
        self._search_start()
        return self._stories

    @property
    def best(self) -> Story | None:
        """The cheapest story."""
        start = self._start
        if start is not None and len(start.pulses) >= KNOWN:
            return start.story
        return self.stories[0] if self.stories else None

    @property
    def run(self) -> Story | None:
        """The cheapest story, if it is a run: a ball is in the track, whatever its direction."""
        best: Story | None = None
        if self._start is not None:
            best = self._start.story
        elif self._stories:
            best = self._stories[0]
        return best if best is not None and best.is_run else None

    def standing(self) -> list[Story]:
        """Return the stories that are not ruled out, the cheapest first."""
        stories = self.stories
        if not stories:
            return []
        least = stories[0].cost + CLEAR
        return [story for story in stories if story.cost < least]

    @property
    def direction(self) -> Turning | None:
        """The ball's direction; None while its pulses do not clearly show it."""
        standing = self.standing()
        if not standing or not standing[0].is_run:
            return None
        best, clear = standing[0], standing[0].cost + WAY_CLEAR
        other = any(story.sense != best.sense and story.cost < clear for story in self.stories)
        return None if other else best.direction

    @property
    def may_be_another_launch(self) -> bool:
        """Whether the cheapest story has a run before its last one."""
        return bool(self._stories) and self._stories[0].before is not None

    def second_run(self) -> Story | None:
        """Return the story of a second run, if every remaining story contains one."""
        best = self.best
        if best is None or best.before is None:
            return None
        if any(story.first.t != best.first.t or not story.is_run for story in self.standing()):
            return None
        return best

    def interrupt(self) -> None:
        """Begin another run with the next pulse: nothing was detected for a while, and what happened
        meanwhile is unknown."""
        self._interrupted = bool(self.stories)

    def _resume(self, t: int, beam: int) -> None:
        """Continue after an interruption: with another run, but without the cost of a launch."""
        before = self._stories[0]
        run = before if before.is_run else before.before
        self._stories = [Story(sense, Pass(None, t, beam), before.cost, run) for sense in SENSES]
        self._interrupted = False
        self._calm = 0
        self._aside = None

    def _is_clearly_next(self, story: Story, t: int, beam: int) -> bool:
        """Handle a pulse at the expected place and time, with only one story left."""
        last = story.last
        speed, since = last.speed, last.beam
        if not speed or since == beam or t <= last.t:
            return False
        between = self._between[story.sense][since][beam]
        if between and self._one_detects(between):
            return False
        ahead = self._ahead[story.sense][since][beam]
        seconds = (t - last.t) / 1e6
        now = ahead / seconds
        expected = speed - last.loss * seconds
        if not -0.05 * expected <= now - expected <= 0.03 * expected and not self._fits_alone(
            story, ahead, seconds
        ):
            return False
        story.last = last.then(t, beam, ahead, now)
        return True

    def _fits_alone(self, story: Story, ahead: float, seconds: float) -> bool:
        """Add the cost of a step past beams that do not detect the ball to the only story.

        Return False if another story may continue beside it.
        """
        last = story.last
        one_step = (ahead + 1.0) / seconds > _TOO_FAST * last.speed + JITTER_S
        if last.turns < _SILENT_TURNS or last.number < MIN_PULSES or not one_step:
            return False
        steps = self._steps(last, seconds, ahead)
        if not steps or steps[0][2] >= _PLAIN:
            return False
        story.cost += steps[0][2]
        self._calm += 1
        return True

    def _one_detects(self, beams: Sequence[int]) -> bool:
        detects = self._detects()
        return any(detects[beam] for beam in beams)

    def _detects(self) -> Sequence[int]:
        """Return the number of pulses of each beam, 0 for a beam that has too few, compared with the others,
        to be working."""
        most = max(self.pulse_counts)
        if most <= _FEW:
            return self.pulse_counts
        return [pulses if pulses > _DETECTS * most else 0 for pulses in self.pulse_counts]

    def _continue_story(
        self, story: Story, t: int, beam: int, detects: Sequence[int], options: list[_Option]
    ) -> bool:
        """Add the ways in which a story may continue with a pulse; return whether it is clearly its ball's
        next pulse."""
        last, sense, cost = story.last, story.sense, story.cost
        fewer, more, since_us = story.fewer, story.more, last.t
        cheapest, fits = _DROPPED_STORY, False
        ahead = self._ahead[sense][last.beam][beam]
        if t > since_us and ahead * 1e6 <= (_TOO_FAST * last.speed or FASTEST) * 1.0001 * (t - since_us):
            passed = self._between[sense][last.beam][beam]
            silent = SILENT if last.turns < _SILENT_TURNS else 0.0
            alike = sense, t, since_us
            for whole, speed, off in self._steps(last, (t - since_us) / 1e6, ahead):
                price = off + _missed(passed, whole, detects, silent) if passed or whole else off
                if price >= _DROPPED_STORY:
                    continue
                if last.speed and price % MISSED < _PLAIN:
                    fits = True
                if price < cheapest + CLEAR:
                    options.append((cost + price, alike, story, ahead + whole, speed, whole, fewer, more))
                cheapest = min(cheapest, price)
        if cheapest < _PLAIN and last.number >= MIN_PULSES:
            return True
        price = FITTING if fits else STRAY
        if last.beam == beam and (t - since_us) / 1e6 * (last.speed or FASTEST) < _SAME_PASS:
            price = DOUBLE
        alike = sense, since_us, last.before.t if last.before is not None else 0
        options.append((cost + price, alike, story, 0.0, 0.0, _IS_STRAY, fewer, more))
        return False

    def _steps(self, last: Pass, seconds: float, ahead: float) -> list[tuple[int, float, float]]:
        """Return the steps that a ball may have made from its last pass.

        Each is the number of additional whole turns, the speed, and the cost of its deviation from the
        predicted speed.
        """
        before, steps = last.speed, []
        least = self._slowest
        if not before:
            for whole in _WHOLE_TURNS:
                speed = (ahead + whole) / seconds
                if speed > FASTEST:
                    break
                if speed >= least:
                    steps.append((whole, speed, 0.0))
            return steps
        slowest = min(before * _SLOW_DOWN, before - MAX_LOSS * seconds)
        fastest, jitter, most_slack = before * _SPEED_UP, JITTER_S / seconds, MAX_SLACK * before
        for whole in _WHOLE_TURNS:
            speed = (ahead + whole) / seconds
            slack = jitter * speed
            slack = min(most_slack, slack)
            if speed > fastest + (JITTER_S if whole else slack):
                break
            if speed >= least and slowest - slack <= speed <= fastest + slack:
                expected = max(before - last.loss * seconds, 0.5 * before)
                off = (speed - expected) / (EVEN * expected + slack)
                steps.append((whole, speed, min(0.25 * off * off, 1.5)))
        return steps

    def _relaunch(self, stories: Sequence[Story], t: int, beam: int, options: list[_Option]) -> None:
        """Begin another run at this pulse: what came before belongs to another launch, or to a hand.

        All such stories continue alike, so only those based on the cheapest one before are created.
        """
        least, before = inf, stories[0]
        for story in stories:
            cost = story.cost + (LAUNCH if story.is_run else min(LAUNCH, STRAY * story.last.number))
            if cost < least:
                least, before = cost, story
        run = before if before.is_run else before.before
        for sense in SENSES:
            launched = Story(sense, Pass(None, t, beam), least, run)
            options.append((least, (sense, t, 0), launched, 0.0, 0.0, _LAUNCHED, 0.0, 0.0))

    def _extended(self, option: _Option, t: int, beam: int) -> Story:
        """Return the story that results from an option."""
        cost, _, story, _, _, whole, fewer, more = option
        if whole == _LAUNCHED:
            child = story
            child.fewer, child.more = fewer, more
        else:
            stray = story.stray + 1 if whole == _IS_STRAY else story.stray
            child = Story(story.sense, story.last, cost, story.before, stray, story.silent, fewer, more)
            if whole != _IS_STRAY:
                self._step(child, option, t, beam)
        return child

    def _step(self, story: Story, option: _Option, t: int, beam: int) -> None:
        """Extend a story by a step to the pulse."""
        _, _, _, turns, speed, whole, _, _ = option
        last = story.last
        if last.turns < _SILENT_TURNS and 0 in self.pulse_counts:
            story.silent = self._silent_passes(story, last.beam, beam, whole)
        story.last = last.then(t, beam, turns, speed)

    def _silent_passes(self, story: Story, since: int, beam: int, whole: int) -> dict[int, int]:
        """Count this story's passes at each beam that has not reported a pulse yet."""
        silent = dict(story.silent)
        for passed in self._between[story.sense][since][beam]:
            if not self.pulse_counts[passed]:
                silent[passed] = silent.get(passed, 0) + 1
        if whole:
            for passed, pulses in enumerate(self.pulse_counts):
                if not pulses:
                    silent[passed] = silent.get(passed, 0) + whole
        return silent


_cost = itemgetter(0)


def _missed(passed: Sequence[int], whole: int, detects: Sequence[int], silent: float) -> float:
    """Return the cost of the passes that beams missed within a step: at those `passed`, and in whole turns.

    `silent` is the cost of a pass at a beam that does not detect the ball.
    """
    price = 0.0
    for beam in passed:
        price += MISSED if detects[beam] else silent
    if whole:
        price += whole * sum([MISSED if pulses else silent for pulses in detects])
    return price


def _best_of(options: list[_Option]) -> list[_Option]:
    """Return the options to keep, the cheapest first: those that continue alike are merged."""
    if len(options) == 1:
        return options
    most = min(map(_cost, options)) + _DROPPED_STORY
    distinct: dict[tuple[int, int, int], _Option] = {}
    for option in options:
        if option[0] < most:
            alike = option[1]
            known = distinct.get(alike)
            distinct[alike] = option if known is None else _merged(known, option)
    ranked = sorted(distinct.values(), key=_cost)
    if len(ranked) <= _STORIES:
        return ranked
    newest_us = max([option[1][1] for option in ranked])
    others = [option for option in ranked[_STORIES:] if option[1][1] == newest_us]
    return ranked[:_STORIES] + others[:_NEWEST]


def _merged(one: _Option, other: _Option) -> _Option:
    """Return the cheaper of two options that continue alike, with the other's turns unless it is ruled
    out."""
    better, worse = (one, other) if one[0] <= other[0] else (other, one)
    if worse[0] - better[0] >= CLEAR:
        return better
    cost, alike, story, turns, speed, whole, fewer, more = better
    apart = (worse[2].last.turns + worse[3]) - (story.last.turns + turns)
    fewer, more = max(fewer, worse[6] - apart), max(more, worse[7] + apart)
    return cost, alike, story, turns, speed, whole, fewer, more
