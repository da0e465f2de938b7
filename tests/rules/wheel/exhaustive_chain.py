"""A chain of pulses that builds every story in full: the reference for `Chain`, which builds only some."""

from collections.abc import Sequence
from math import inf

from controller.rules.wheel.chain import (
    CLEAR_MARGIN,
    DIRECTION_MARGIN,
    DOUBLE_COST,
    DOUBLED_US,
    FITTING_COST,
    LAUNCH_COST,
    MISSED_COST,
    SILENT_COST,
    STRAY_COST,
    Chain,
)
from controller.rules.wheel.story import SENSES, Pass, Sense, Story

DROPPED_STORY, STORIES, NEWEST = 6.0, 10, 4
PLAIN_PULSES, SOLE_MARGIN = 3, 2.0
FASTEST, SPEED_UP, SLOW_DOWN, MAX_LOSS = 4.5, 1.08, 0.80, 0.5
JITTER_S, MAX_SLACK, STEP_VARIATION = 0.004, 0.15, 0.08
PLAIN, MIN_PULSES, FEW, SILENT_TURNS, SAME_PASS = 0.35, 4, 4, 2.0, 1 / 12


class ExhaustiveChain(Chain):
    """Builds every story that a pulse allows, and then drops the expensive ones."""

    def __init__(self, beams_deg: Sequence[float], drop_rev_per_s: float) -> None:
        """Accept the same arguments as `Chain`."""
        super().__init__(beams_deg, drop_rev_per_s)
        self._start = None

    def receive(self, t: int, beam: int) -> None:
        """Handle a pulse that is later than the earlier pulses."""
        if t - self._last_us[beam] < DOUBLED_US:
            return
        self._last_us[beam] = t
        self.pulse_counts[beam] += 1
        if self._interrupted:
            self._resume(t, beam)
            return
        stories = self._stories
        if len(stories) == 1 and self._accept_if_clearly_next(stories[0], t, beam):
            return
        if not stories:
            self._stories = [Story(sense, Pass(None, t, beam), 0.0) for sense in SENSES]
            return
        if self.pulse_counts[beam] == 1 and max(self.pulse_counts) <= FEW:
            for story in stories:
                story.cost += (MISSED_COST - SILENT_COST) * story.silent.get(beam, 0)
        plain = False
        children: list[Story] = []
        for story in stories:
            plain |= self._children_of(story, t, beam, children)
        if not plain:
            least, before = inf, stories[0]
            for story in stories:
                cost = story.cost + (
                    LAUNCH_COST if story.is_run else min(LAUNCH_COST, STRAY_COST * story.last.number)
                )
                if cost < least:
                    least, before = cost, story
            run = before if before.is_run else before.before
            children += [Story(sense, Pass(None, t, beam), least, run) for sense in SENSES]
        kept = _select_options(children) if len(children) > 1 else children
        best = kept[0]
        self._plain_in_row = self._plain_in_row + 1 if plain and best.last.t == t else 0
        if self._plain_in_row >= PLAIN_PULSES and len(kept) > 1 and kept[1].cost - best.cost >= SOLE_MARGIN:
            kept = [best]
        self._stories = kept

    def _children_of(self, story: Story, t: int, beam: int, children: list[Story]) -> bool:
        last = story.last
        cheapest, fits, detects = DROPPED_STORY, False, self._detecting_beams()
        if t > last.t:
            seconds = (t - last.t) / 1e6
            ahead = self._ahead[story.sense][last.beam][beam]
            passed = self._between[story.sense][last.beam][beam]
            young = last.turns < SILENT_TURNS
            for whole, speed, off in self._steps_of(last, seconds, ahead):
                step_cost = off
                if passed or whole:
                    step_cost += _missed(passed, whole, detects, SILENT_COST if young else 0.0)
                if step_cost >= DROPPED_STORY:
                    continue
                fits = fits or (bool(last.speed) and step_cost % MISSED_COST < PLAIN)
                if step_cost < cheapest + CLEAR_MARGIN:
                    child = _stepped(story, _then(last, t, beam, ahead + whole, speed), step_cost)
                    if young and 0 in self.pulse_counts:
                        child.silent = self._silent_passes(story, last.beam, beam, whole)
                    children.append(child)
                cheapest = min(cheapest, step_cost)
        if cheapest < PLAIN and last.number >= MIN_PULSES:
            return True
        doubles = last.beam == beam and (t - last.t) / 1e6 * (last.speed or FASTEST) < SAME_PASS
        child = _stepped(story, last, DOUBLE_COST if doubles else FITTING_COST if fits else STRAY_COST)
        child.stray += 1
        children.append(child)
        return False

    def _steps_of(self, last: Pass, seconds: float, ahead: float) -> list[tuple[int, float, float]]:
        before, steps = last.speed, []
        for whole in range(4):
            speed = (ahead + whole) / seconds
            if not before:
                if speed > FASTEST:
                    break
                if speed >= self._slowest:
                    steps.append((whole, speed, 0.0))
                continue
            slowest = min(before * SLOW_DOWN, before - MAX_LOSS * seconds)
            slack = min(JITTER_S / seconds * speed, MAX_SLACK * before)
            fastest = before * SPEED_UP
            if speed > fastest + (JITTER_S if whole else slack):
                break
            if speed >= self._slowest and slowest - slack <= speed <= fastest + slack:
                lost = last.loss * 0.5 * (seconds + _seconds(last))
                expected = min(max(speed, before - lost), before - 0.3 * lost)
                expected = max(expected, 0.5 * before)
                off = (speed - expected) / (STEP_VARIATION * expected + slack)
                steps.append((whole, speed, min(0.25 * off * off, 1.5)))
        return steps


def comparable(chain: Chain) -> tuple[object, ...]:
    """Return the results of a chain and every story that it follows."""
    best = chain.best
    near = [
        story for story in chain.stories if best is not None and story.cost < best.cost + DIRECTION_MARGIN
    ]
    standing = [(_of(story), story.fewer_turns, story.more_turns) for story in chain.remaining_stories()]
    second_run = chain.second_run()
    return (
        [_of(story) for story in near],
        standing,
        chain.direction,
        chain.run is not None,
        chain.may_be_another_launch,
        None if second_run is None else _of(second_run),
    )


def _of(story: Story) -> tuple[object, ...]:
    before = None if story.before is None else (story.before.cost, _path(story.before))
    return story.cost, story.sense, story.stray, sorted(story.silent.items()), _path(story), before


def _path(story: Story) -> list[tuple[object, ...]]:
    return [(at.t, at.beam, at.turns, at.speed, at.loss, at.number) for at in story.path()]


def _seconds(at: Pass) -> float:
    """Return the duration of the step to a pass, in seconds."""
    return 0.0 if at.before is None else (at.t - at.before.t) / 1e6


def _then(last: Pass, t: int, beam: int, turns: float, speed: float) -> Pass:
    after = Pass(last, t, beam, last.turns + turns)
    after.speed, after.seconds, after.number = speed, (t - last.t) / 1e6, last.number + 1
    if last.speed:
        lost = (last.speed - speed) / (0.5 * (_seconds(last) + (t - last.t) / 1e6))
        after.loss = last.loss + 0.3 * (min(max(lost, 0.0), MAX_LOSS) - last.loss)
    return after


def _stepped(story: Story, last: Pass, step_cost: float) -> Story:
    child = Story(story.sense, last, story.cost + step_cost, story.before)
    child.stray, child.silent, child.fewer_turns, child.more_turns = (
        story.stray,
        story.silent,
        story.fewer_turns,
        story.more_turns,
    )
    return child


def _missed(passed: Sequence[int], whole: int, detects: Sequence[int], silent: float) -> float:
    step_cost = 0.0
    for beam in passed:
        step_cost += MISSED_COST if detects[beam] else silent
    if whole:
        step_cost += whole * sum([MISSED_COST if pulses else silent for pulses in detects])
    return step_cost


def _select_options(children: Sequence[Story]) -> list[Story]:
    most = min(child.cost for child in children) + DROPPED_STORY
    alike: dict[tuple[Sense, int, int], Story] = {}
    for child in children:
        if child.cost < most:
            last = child.last
            key = child.sense, last.t, last.before.t if last.before is not None else 0
            known = alike.get(key)
            alike[key] = child if known is None else _merged(known, child)
    ranked = sorted(alike.values(), key=lambda story: story.cost)
    newest_us = max(story.last.t for story in ranked)
    return ranked[:STORIES] + [story for story in ranked[STORIES:] if story.last.t == newest_us][:NEWEST]


def _merged(one: Story, other: Story) -> Story:
    better, worse = (one, other) if one.cost <= other.cost else (other, one)
    if worse.cost - better.cost < CLEAR_MARGIN:
        apart = worse.last.turns - better.last.turns
        better.fewer_turns = max(better.fewer_turns, worse.fewer_turns - apart)
        better.more_turns = max(better.more_turns, worse.more_turns + apart)
    return better
