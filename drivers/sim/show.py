"""What goes on at a virtual table: one evening after another, as long as somebody watches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from controller.model.geometry import DiceTable, Wheel
from drivers.sim import dice, high_roller, ss2_games, three_card, wheel
from drivers.sim.scenes import Feed, Scene
from drivers.sim.ss2_wheel import Change

ACT_ATTEMPTS = 8
GAMES_AN_ACT = 2
DEALS_AN_ACT = 1
"""Few in games of cards: between acts people look whether something is left to clear up."""
GAP_US = 2_000_000
_SEEDS = 1_000_003
"""Acts of different evenings never share a seed."""


@dataclass(frozen=True, slots=True)
class Act:
    """Some attempts in a row, at table times: what is sensed, what a smart wheel plays, what is true."""

    feed: Feed
    scenes: Sequence[Scene]
    end_us: int
    changes: Sequence[Change] = field(default_factory=tuple)


Play = Callable[[int, int, bool], Act]
"""Play so many attempts with a seed, from time 0 on; and whether people have a mess to clear up first."""


class Show:
    """The acts of one evening, in order; the same seed gives the same evening."""

    def __init__(self, play: Play, seed: int, attempts: int | None, *, an_act: int = ACT_ATTEMPTS) -> None:
        """Play until so many attempts were made, or (None) for ever; `an_act` of them in a row."""
        self._an_act = an_act
        self._play = play
        self._seed = seed
        self._left = attempts
        self._acts = 0

    def next_act(self, start_us: int, *, after_trouble: bool) -> Act | None:
        """Give the next act as it happens from `start_us` on; None at the evening's end."""
        count = self._an_act if self._left is None else min(self._an_act, self._left)
        if count == 0:
            return None
        if self._left is not None:
            self._left -= count
        act = self._play(self._seed * _SEEDS + self._acts, count, after_trouble)
        self._acts += 1
        return _moved(act, start_us)


def of_dice(table: DiceTable, rules: dice.Rules, mix: Mapping[str, float] = dice.USUAL) -> Play:
    """Play throws of the kinds of a mix."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        _, feed, scenes = dice.evening(seed, mix, count, table=table, rules=rules)
        return _act(feed, scenes)

    return play


def of_wheel(wheel_: Wheel, rules: str, mix: Mapping[str, float] = wheel.USUAL) -> Play:
    """Play spins of the kinds of a mix on a wheel with the table's own sensors."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        _, feed, scenes = wheel.evening(seed, mix, count, wheel=wheel_, rules=rules)
        return _act(feed, scenes)

    return play


def of_smart_wheel(pockets: Sequence[str], mix: Mapping[str, float] = ss2_games.USUAL) -> Play:
    """Play games of the kinds of a mix on a wheel that tells its own states."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        changes, feed, scenes = ss2_games.evening(seed, pockets, mix, count)
        return _act(feed, scenes, changes)

    return play


def of_high_roller(table: DiceTable) -> Play:
    """Play games of High Roller; with each act's last one the hours are over."""

    def play(seed: int, count: int, after_trouble: bool) -> Act:
        return _act(*high_roller.hours(seed, count, table=table, after_trouble=after_trouble))

    return play


def of_three_card(mix: Mapping[str, float] = three_card.SENSED) -> Play:
    """Play deals of the kinds of a mix, in rotation from a shoe that knows nobody."""

    def play(seed: int, count: int, after_trouble: bool) -> Act:
        return _act(*three_card.deals(seed, mix, count, after_trouble=after_trouble))

    return play


def _act(feed: Feed, scenes: Sequence[Scene], changes: Sequence[Change] = ()) -> Act:
    last_us = max([scene.end_us for scene in scenes] + [arrived for arrived, _ in feed])
    return Act(feed, scenes, last_us + GAP_US, changes)


def _moved(act: Act, by_us: int) -> Act:
    """Give an act at later times."""
    return Act(
        feed=[
            (at + by_us, msgspec.structs.replace(reading, t=reading.t + by_us)) for at, reading in act.feed
        ],
        scenes=[_scene_moved(scene, by_us) for scene in act.scenes],
        end_us=act.end_us + by_us,
        changes=[Change(c.at_us + by_us, c.state, c.flags, c.turned, c.number) for c in act.changes],
    )


def _scene_moved(scene: Scene, by_us: int) -> Scene:
    truth = scene.truth
    if truth.drop_us is not None:
        truth = msgspec.structs.replace(truth, drop_us=truth.drop_us + by_us)
    return msgspec.structs.replace(
        scene,
        start_us=scene.start_us + by_us,
        end_us=scene.end_us + by_us,
        truth=truth,
        throws=tuple(_scene_moved(throw, by_us) for throw in scene.throws),
    )
