"""The virtual table: devices on cables, a session for them to sense, faults, and the ground truth.

The ground truth is the correct outcome of each attempt. The table has no port, clock or thread: its caller
passes in the time and transfers the bytes. The same seed and the same input bytes produce the same output
bytes.
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
from drivers.sim.scenes import FaultBegan, FaultOver, Feed, PlayedAttempt, Scene, Story, in_order_of_arrival
from drivers.sim.ss2_wheel import Change, Ss2Wheel

ATTEMPTS_PER_ACT = 8
GAMES_PER_ACT = 2
DEALS_PER_ACT = 1
"""Attempts per act. Card games have few, because people clear up after a fault only between two acts."""
GAP_US = 2_000_000
_SEEDS = 1_000_003
"""Factor that separates the seeds of different sessions."""


@dataclass(frozen=True, slots=True)
class Act:
    """A series of attempts: sensor readings, a smart wheel's changes, and the ground truth, in table time."""

    feed: Feed
    scenes: Sequence[Scene]
    end_us: int
    changes: Sequence[Change] = field(default_factory=tuple)


Play = Callable[[int, int, bool], Act]
"""Function that plays attempts from time 0. Its parameters are a seed, the number of attempts, and a flag
that makes people begin by clearing up after a fault."""


class SessionActs:
    """The acts of one session, in order; the same seed produces the same session."""

    def __init__(
        self, play: Play, seed: int, attempts: int | None, *, attempts_per_act: int = ATTEMPTS_PER_ACT
    ) -> None:
        """Play this many attempts, or an unlimited number if `attempts` is None."""
        self._attempts_per_act = attempts_per_act
        self._play = play
        self._seed = seed
        self._left = attempts
        self._acts = 0

    def next_act(self, start_us: int, *, after_fault: bool) -> Act | None:
        """Return the next act, starting at `start_us`; None at the end of the session."""
        count = self._attempts_per_act if self._left is None else min(self._attempts_per_act, self._left)
        if count == 0:
            return None
        if self._left is not None:
            self._left -= count
        act = self._play(self._seed * _SEEDS + self._acts, count, after_fault)
        self._acts += 1
        return shift_act(act, start_us)


def throws_play(table: DiceTable, rules: dice.Rules, mix: Mapping[str, float] = dice.USUAL) -> Play:
    """Return a play of throws whose kinds are drawn from `mix`."""

    def play(seed: int, count: int, _after_fault: bool) -> Act:
        _, feed, scenes = dice.simulate(seed, mix, count, table=table, rules=rules)
        return build_act(feed, scenes)

    return play


def spins_play(wheel_: Wheel, rules: str, mix: Mapping[str, float] = wheel.USUAL) -> Play:
    """Return a play of spins on a wheel with table sensors; the kinds are drawn from `mix`."""

    def play(seed: int, count: int, _after_fault: bool) -> Act:
        _, feed, scenes = wheel.simulate(seed, mix, count, wheel=wheel_, rules=rules)
        return build_act(feed, scenes)

    return play


def smart_wheel_play(pockets: Sequence[str], mix: Mapping[str, float] = ss2_wheel.USUAL) -> Play:
    """Return a play of smart-wheel games whose kinds are drawn from `mix`."""

    def play(seed: int, count: int, _after_fault: bool) -> Act:
        changes, feed, scenes = ss2_wheel.simulate(seed, pockets, mix, count)
        return build_act(feed, scenes, changes)

    return play


def high_roller_play(table: DiceTable) -> Play:
    """Return a play of High Roller games; the last game of each act is a final game."""

    def play(seed: int, count: int, after_fault: bool) -> Act:
        return build_act(*high_roller.play_session(seed, count, table=table, after_fault=after_fault))

    return play


def single_rolls_play(table: DiceTable, mix: Mapping[str, float], stage: Callable[[], str]) -> Play:
    """Return a play of single rolls that continue the High Roller game at its current stage."""

    def play(seed: int, _count: int, _after_fault: bool) -> Act:
        simulation = high_roller.Simulation(seed, table=table, directed=False)
        scene = simulation.play_single_roll(mix, stage())
        return build_act(in_order_of_arrival(simulation.feed), [scene])

    return play


def deals_play(mix: Mapping[str, float] = three_card.SENSED) -> Play:
    """Return a play of deals whose kinds are drawn from `mix`.

    The cards are dealt in rotation, and the shoe does not report their positions.
    """

    def play(seed: int, count: int, after_fault: bool) -> Act:
        return build_act(*three_card.deals(seed, mix, count, after_fault=after_fault))

    return play


def build_act(feed: Feed, scenes: Sequence[Scene], changes: Sequence[Change] = ()) -> Act:
    """Return an act that ends GAP_US after its last event."""
    last_us = max([scene.end_us for scene in scenes] + [arrived for arrived, _ in feed])
    return Act(feed, scenes, last_us + GAP_US, changes)


def shift_act(act: Act, by_us: int) -> Act:
    """Return the act with all its times shifted by `by_us`."""
    return Act(
        feed=[
            (at + by_us, msgspec.structs.replace(reading, t=reading.t + by_us)) for at, reading in act.feed
        ],
        scenes=[_shift_scene(scene, by_us) for scene in act.scenes],
        end_us=act.end_us + by_us,
        changes=[Change(c.at_us + by_us, c.state, c.flags, c.turned, c.number) for c in act.changes],
    )


def _shift_scene(scene: Scene, by_us: int) -> Scene:
    truth = scene.truth
    if truth.drop_us is not None:
        truth = msgspec.structs.replace(truth, drop_us=truth.drop_us + by_us)
    return msgspec.structs.replace(
        scene,
        start_us=scene.start_us + by_us,
        end_us=scene.end_us + by_us,
        truth=truth,
        throws=tuple(_shift_scene(throw, by_us) for throw in scene.throws),
    )


LEAD_US = 8_000_000
"""Delay between the start and the first act; a wheel is silent for a few seconds after power-on."""
CUE_CHECK_US = 50_000
RECOVERY_US = 8_000_000
"""Time after a fault during which devices might still be reconnecting."""
DropCondition = Callable[[AnyReading], bool]


class ActiveFault:
    """A fault, active or over."""

    def __init__(
        self, began: FaultBegan, undo: Callable[[int], None], also_affected: tuple[str, ...]
    ) -> None:
        """Store the function that ends the fault, and the other devices that the fault affects."""
        self.began = began
        self.also_affected = also_affected
        self.undo = undo
        self.ended_us: int | None = None

    def touches(self, begin_us: int, end_us: int) -> bool:
        """Return whether the fault might have affected readings in a period."""
        over_us = None if self.ended_us is None else self.ended_us + RECOVERY_US
        return self.began.t <= end_us and (over_us is None or over_us >= begin_us)


class VirtualTable:
    """The simulated hardware of a table, and its people."""

    def __init__(
        self,
        cables: Iterable[Cable],
        show: SessionActs,
        *,
        rng: Random,
        report: Callable[[Story], None],
        route: Callable[[AnyReading], AnyReading] = lambda reading: reading,
    ) -> None:
        """Set up the table; `report` receives the ground truth of each attempt and each fault.

        `route` assigns each reading to the table's device that sends its kind.
        """
        self._route = route
        self.cables: Mapping[str, Cable] = {cable.name: cable for cable in cables}
        self.devices = {name: cable for cable in self.cables.values() for name in cable.devices}
        self.rng = rng
        self.drop_conditions: list[DropCondition] = []
        """Conditions under which a reading is dropped."""
        self.unrouted_count = 0
        """Number of readings dropped because no device of the table sends their kind."""
        self.over = False
        self.observers: list[Callable[[int], None]] = []
        """Functions called with the time after every step."""
        self.cue: Callable[[], bool] | None = None
        """Condition for the start of the next act; None if acts follow each other without waiting."""
        self.act_listeners: list[Callable[[Act], None]] = []
        """Functions called with each act as it begins."""
        self._show = show
        self._report = report
        self._feed: deque[tuple[int, AnyReading]] = deque()
        self._scenes: deque[Scene] = deque()
        self._attempts = 0
        self._act_began_us = self._act_ends_us = 0
        self._recovering_until_us = -1
        """End of the time during which a fault might still affect the table."""
        self._now_us = 0
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._timers_set = 0
        self._faults: deque[ActiveFault] = deque()

    def start(self, now_us: int) -> None:
        """Switch all devices on; the session begins `LEAD_US` later."""
        for cable in self.cables.values():
            cable.plugged += 1
            cable.peer.start(now_us)
            cable.flush(now_us)
        self.at(now_us + LEAD_US, self._begin_act)

    def at(self, at_us: int, do: Callable[[int], None]) -> None:
        """Schedule a call of `do`, which receives the time of the call."""
        self._timers_set += 1
        heappush(self._timers, (at_us, self._timers_set, do))

    def receive(self, name: str, now_us: int, data: bytes) -> None:
        """Handle the table's bytes for a device."""
        cable = self.cables[name]
        if cable.port is not None:
            cable.to_peer.send(now_us, data)

    def add_readings(self, feed: Feed) -> None:
        """Add future readings of the sensors."""
        self._feed = deque(sorted([*self._feed, *feed], key=lambda item: item[0]))

    def next_due_us(self) -> int | None:
        """Return the time of the next event."""
        due = [cable.next_due_us() for cable in self.cables.values()]
        due.append(self._timers[0][0] if self._timers else None)
        due.append(self._feed[0][0] if self._feed else None)
        due.append(self._scene_ends_us() if self._scenes else None)
        return min((at for at in due if at is not None), default=None)

    def run(self, now_us: int) -> None:
        """Handle all events that are due, each at its time."""
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
        for look in self.observers:
            look(now_us)
        while self._scenes and self._scene_ends_us() <= now_us:
            self._report_scene(now_us)

    # --- faults ---

    def begin(
        self,
        began: FaultBegan,
        undo: Callable[[int], None],
        ends_us: int,
        *,
        also_affected: tuple[str, ...] = (),
    ) -> None:
        """Record a fault that has begun, and schedule its end."""
        active = ActiveFault(began, undo, also_affected)
        self._faults.append(active)
        self._report(began)
        self.at(ends_us, lambda now_us: self._end(active, now_us))

    def has_fault(self, name: str) -> bool:
        """Return whether a device has an active fault."""
        return any(
            f.ended_us is None and (f.began.device in (name, "") or name in f.also_affected)
            for f in self._faults
        )

    @property
    def is_faultless(self) -> bool:
        """Whether no fault is active."""
        return all(fault.ended_us is not None for fault in self._faults)

    def _end(self, active: ActiveFault, now_us: int) -> None:
        active.undo(now_us)
        active.ended_us = now_us
        self._recovering_until_us = now_us + RECOVERY_US
        began = active.began
        self._report(FaultOver(t=now_us, fault=began.fault, device=began.device))
        while self._faults and (over_us := self._faults[0].ended_us) is not None:
            oldest_us = self._scenes[0].start_us if self._scenes else now_us
            if over_us + RECOVERY_US >= oldest_us - RECOVERY_US:
                break
            self._faults.popleft()

    # --- the session ---

    def _begin_act(self, now_us: int) -> None:
        if self.cue is not None and not self.cue():
            self.at(now_us + CUE_CHECK_US, self._begin_act)
            return
        after_fault = not self.is_faultless or self._recovering_until_us > self._act_began_us
        self._act_began_us = now_us
        act = self._show.next_act(now_us, after_fault=after_fault)
        if act is None:
            self.over = True
            return
        for begin in self.act_listeners:
            begin(act)
        self.add_readings(act.feed)  # inputs of the previous act might still be pending
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
            self.unrouted_count += 1
        elif not any(dropped(reading) for dropped in self.drop_conditions):
            cable.peer.sense(now_us, reading)
            cable.flush(now_us)

    def _scene_ends_us(self) -> int:
        """Return the end of the first scene: the start of the next scene or the end of the act."""
        return self._scenes[1].start_us if len(self._scenes) > 1 else self._act_ends_us

    def _report_scene(self, now_us: int) -> None:
        ends_us = self._scene_ends_us()
        scene = self._scenes.popleft()
        self._attempts += 1
        disturbing = [f.began for f in self._faults if f.touches(scene.start_us, ends_us)]
        self._report(
            PlayedAttempt(
                t=now_us,
                attempt=self._attempts,
                scene=scene,
                ends_us=ends_us,
                disturbed_by=tuple(f"{began.fault} {began.device}".strip() for began in disturbing),
            )
        )
