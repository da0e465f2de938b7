"""The virtual table: devices at their cables, an evening that they sense, faults, and the truth.

No port, clock or thread: whoever runs it says what time it is and carries the bytes. The same seed and the
same bytes from the table's side give the same bytes to it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

import msgspec

from controller.model.geometry import DiceTable, Wheel
from controller.model.readings import AnyReading
from drivers.sim import dice, high_roller, ss2_wheel, three_card, wheel
from drivers.sim.boards import Cable
from drivers.sim.scenes import Began, Feed, Over, Played, Scene, Story, in_order_of_arrival
from drivers.sim.ss2_wheel import Change, Ss2Wheel

ACT_ATTEMPTS = 8
GAMES_AN_ACT = 2
DEALS_AN_ACT = 1
"""Few in games of cards: between acts people check whether anything is left to clear up."""
GAP_US = 2_000_000
_SEEDS = 1_000_003
"""Acts of different evenings never share a seed."""


@dataclass(frozen=True, slots=True)
class Act:
    """A series of attempts, at table times: what is sensed, what a smart wheel plays, what is true."""

    feed: Feed
    scenes: Sequence[Scene]
    end_us: int
    changes: Sequence[Change] = field(default_factory=tuple)


Play = Callable[[int, int, bool], Act]
"""Play this many attempts with a seed, from time 0; and whether people have something to clear up first."""


class Show:
    """The acts of one evening, in order; the same seed gives the same evening."""

    def __init__(self, play: Play, seed: int, attempts: int | None, *, an_act: int = ACT_ATTEMPTS) -> None:
        """Play until this many attempts have been made, or (None) without end; `an_act` of them in a row."""
        self._an_act = an_act
        self._play = play
        self._seed = seed
        self._left = attempts
        self._acts = 0

    def next_act(self, start_us: int, *, after_trouble: bool) -> Act | None:
        """Return the next act, starting at `start_us`; None at the evening's end."""
        count = self._an_act if self._left is None else min(self._an_act, self._left)
        if count == 0:
            return None
        if self._left is not None:
            self._left -= count
        act = self._play(self._seed * _SEEDS + self._acts, count, after_trouble)
        self._acts += 1
        return moved(act, start_us)


def of_dice(table: DiceTable, rules: dice.Rules, mix: Mapping[str, float] = dice.USUAL) -> Play:
    """Play throws of the kinds of a mix."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        _, feed, scenes = dice.evening(seed, mix, count, table=table, rules=rules)
        return act_of(feed, scenes)

    return play


def of_wheel(wheel_: Wheel, rules: str, mix: Mapping[str, float] = wheel.USUAL) -> Play:
    """Play spins of the kinds of a mix on a wheel with the table's own sensors."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        _, feed, scenes = wheel.evening(seed, mix, count, wheel=wheel_, rules=rules)
        return act_of(feed, scenes)

    return play


def of_smart_wheel(pockets: Sequence[str], mix: Mapping[str, float] = ss2_wheel.USUAL) -> Play:
    """Play games of the kinds of a mix on a wheel that reports its own states."""

    def play(seed: int, count: int, _after_trouble: bool) -> Act:
        changes, feed, scenes = ss2_wheel.evening(seed, pockets, mix, count)
        return act_of(feed, scenes, changes)

    return play


def of_high_roller(table: DiceTable) -> Play:
    """Play games of High Roller; with each act's last one the hours are over."""

    def play(seed: int, count: int, after_trouble: bool) -> Act:
        return act_of(*high_roller.hours(seed, count, table=table, after_trouble=after_trouble))

    return play


def of_single_rolls(table: DiceTable, mix: Mapping[str, float], stage: Callable[[], str]) -> Play:
    """Play High Roller roll by roll, from the stage of the controller's game: a person rules."""

    def play(seed: int, _count: int, _after_trouble: bool) -> Act:
        evening = high_roller.Evening(seed, table=table, directed=False)
        scene = evening.practised(mix, stage())
        return act_of(in_order_of_arrival(evening.feed), [scene])

    return play


def of_three_card(mix: Mapping[str, float] = three_card.SENSED) -> Play:
    """Play deals of the kinds of a mix, in rotation from a shoe that knows nobody."""

    def play(seed: int, count: int, after_trouble: bool) -> Act:
        return act_of(*three_card.deals(seed, mix, count, after_trouble=after_trouble))

    return play


def act_of(feed: Feed, scenes: Sequence[Scene], changes: Sequence[Change] = ()) -> Act:
    """Return an act that ends a while after its last event."""
    last_us = max([scene.end_us for scene in scenes] + [arrived for arrived, _ in feed])
    return Act(feed, scenes, last_us + GAP_US, changes)


def moved(act: Act, by_us: int) -> Act:
    """Return an act at later times."""
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


LEAD_US = 8_000_000
"""Delay from the start to the first attempt: a wheel is mute for some seconds after power-on."""
CUE_US = 50_000
"""How often a table that waits for a person's cue checks for it."""
RECOVERY_US = 8_000_000
"""For this long after a fault ends, devices may still be reconnecting."""
Dropped = Callable[[AnyReading], bool]


class ActiveFault:
    """A fault that is active, or was until `ended_us`."""

    def __init__(self, began: Began, undo: Callable[[int], None], also: tuple[str, ...]) -> None:
        """Remember how to end it, and which other devices it affects."""
        self.began = began
        self.also = also
        self.undo = undo
        self.ended_us: int | None = None

    def touches(self, begin_us: int, end_us: int) -> bool:
        """Return whether it may have affected what the table knew in this time."""
        over_us = None if self.ended_us is None else self.ended_us + RECOVERY_US
        return self.began.t <= end_us and (over_us is None or over_us >= begin_us)


class VirtualTable:
    """A table's hardware and people."""

    def __init__(
        self,
        cables: Iterable[Cable],
        show: Show,
        *,
        rng: Random,
        tell: Callable[[Story], None],
        route: Callable[[AnyReading], AnyReading] = lambda reading: reading,
    ) -> None:
        """Prepare; `tell` is called with the truth of each attempt and of each fault as it happens.

        `route` gives each reading to the device of this table that reads its kind.
        """
        self._route = route
        self.cables: Mapping[str, Cable] = {cable.name: cable for cable in cables}
        self.devices = {name: cable for cable in self.cables.values() for name in cable.devices}
        """The cable of each of the table's devices."""
        self.rng = rng
        self.dropped: list[Dropped] = []
        """What the sensors do not see at the moment."""
        self.unheard = 0
        """Readings of devices that this table does not have."""
        self.over = False
        """The evening has ended."""
        self.looks: list[Callable[[int], None]] = []
        """Called whenever something has happened at the table."""
        self.cue: Callable[[], bool] | None = None
        """Called, if set, to ask whether the next act may begin."""
        self.begun: list[Callable[[Act], None]] = []
        """Called with each act as it begins."""
        self._show = show
        self._tell = tell
        self._feed: deque[tuple[int, AnyReading]] = deque()
        self._scenes: deque[Scene] = deque()
        self._attempts = 0
        self._act_began_us = self._act_ends_us = 0
        self._trouble_us = -1
        """Until when a fault may have affected what the table knows."""
        self._now_us = 0
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._timers_set = 0
        self._faults: deque[ActiveFault] = deque()

    def start(self, now_us: int) -> None:
        """Switch everything on; the evening begins `LEAD_US` later."""
        for cable in self.cables.values():
            cable.plugged += 1
            cable.peer.start(now_us)
            cable.flush(now_us)
        self.at(now_us + LEAD_US, self._begin_act)

    def at(self, at_us: int, do: Callable[[int], None]) -> None:
        """Call something at a time, with that time."""
        self._timers_set += 1
        heappush(self._timers, (at_us, self._timers_set, do))

    def receive(self, name: str, now_us: int, data: bytes) -> None:
        """Handle bytes from the table for a device."""
        cable = self.cables[name]
        if cable.port is not None:
            cable.to_peer.send(now_us, data)

    def also_sense(self, feed: Feed) -> None:
        """Make the sensors see this as well."""
        self._feed = deque(sorted([*self._feed, *feed], key=lambda item: item[0]))

    def next_due_us(self) -> int | None:
        """Return when something happens next."""
        due = [cable.next_due_us() for cable in self.cables.values()]
        due.append(self._timers[0][0] if self._timers else None)
        due.append(self._feed[0][0] if self._feed else None)
        due.append(self._scene_told_us() if self._scenes else None)
        return min((at for at in due if at is not None), default=None)

    def run(self, now_us: int) -> None:
        """Handle what is due by now, each at its own time."""
        while (due := self.next_due_us()) is not None and due <= now_us:
            self._now_us = max(self._now_us, due)
            self._step(self._now_us)

    def _step(self, now_us: int) -> None:
        while self._timers and self._timers[0][0] <= now_us:
            heappop(self._timers)[2](now_us)
        while self._feed and self._feed[0][0] <= now_us:
            self._sense(now_us, self._feed.popleft()[1])
        for cable in self.cables.values():
            cable.run(now_us)
        for look in self.looks:
            look(now_us)
        while self._scenes and self._scene_told_us() <= now_us:
            self._tell_scene(now_us)

    # --- faults ---

    def begin(
        self, began: Began, undo: Callable[[int], None], ends_us: int, *, also: tuple[str, ...] = ()
    ) -> None:
        """Record a fault that has begun, and end it in time."""
        standing = ActiveFault(began, undo, also)
        self._faults.append(standing)
        self._tell(began)
        self.at(ends_us, lambda now_us: self._end(standing, now_us))

    def troubled(self, name: str) -> bool:
        """Return whether a fault is active at this device, or at all of them."""
        return any(
            f.ended_us is None and (f.began.device in (name, "") or name in f.also) for f in self._faults
        )

    @property
    def well(self) -> bool:
        """Return whether no fault is active."""
        return all(fault.ended_us is not None for fault in self._faults)

    def _end(self, standing: ActiveFault, now_us: int) -> None:
        standing.undo(now_us)
        standing.ended_us = now_us
        self._trouble_us = now_us + RECOVERY_US
        began = standing.began
        self._tell(Over(t=now_us, fault=began.fault, device=began.device))
        while self._faults and (over_us := self._faults[0].ended_us) is not None:
            oldest_us = self._scenes[0].start_us if self._scenes else now_us
            if over_us + RECOVERY_US >= oldest_us - RECOVERY_US:
                break
            self._faults.popleft()

    # --- the evening ---

    def _begin_act(self, now_us: int) -> None:
        if self.cue is not None and not self.cue():
            self.at(now_us + CUE_US, self._begin_act)
            return
        after_trouble = not self.well or self._trouble_us > self._act_began_us
        self._act_began_us = now_us
        act = self._show.next_act(now_us, after_trouble=after_trouble)
        if act is None:
            self.over = True
            return
        for told in self.begun:
            told(act)
        self.also_sense(act.feed)  # what people say may outlast the act before
        self._scenes.extend(act.scenes)
        for cable in self.cables.values():
            if isinstance(cable.peer, Ss2Wheel):
                cable.peer.play(act.changes)
        self._act_ends_us = act.end_us
        self.at(act.end_us, self._begin_act)

    def _sense(self, now_us: int, reading: AnyReading) -> None:
        reading = self._route(reading)
        cable = self.devices.get(reading.dev)
        if cable is None:
            self.unheard += 1
        elif not any(dropped(reading) for dropped in self.dropped):
            cable.peer.sense(now_us, reading)
            cable.flush(now_us)

    def _scene_told_us(self) -> int:
        """A scene is over when the next begins, or with its act."""
        return self._scenes[1].start_us if len(self._scenes) > 1 else self._act_ends_us

    def _tell_scene(self, now_us: int) -> None:
        ends_us = self._scene_told_us()
        scene = self._scenes.popleft()
        self._attempts += 1
        by = [f.began for f in self._faults if f.touches(scene.start_us, ends_us)]
        self._tell(
            Played(
                t=now_us,
                attempt=self._attempts,
                scene=scene,
                ends_us=ends_us,
                disturbed_by=tuple(f"{began.fault} {began.device}".strip() for began in by),
            )
        )
