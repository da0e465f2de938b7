"""The hub: each watcher reads from a bounded queue of its own, so that a slow one delays nobody."""

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Literal

import msgspec

from controller.games.registry import game_of
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    Card,
    Input,
    PocketBall,
    RotorIndex,
    WheelStatus,
    names_card,
)
from controller.model.rulesets import RuleSet

Topic = Literal["outcomes", "readings", "lamps", "faults", "table"]
Channel = Topic | Literal["timing"]
"""What a watcher receives: its topics, and for technicians, with the readings, ball and rotor timing."""
TOPICS: tuple[Topic, ...] = ("outcomes", "readings", "lamps", "faults")
"""The topics of a watcher that names none; `table` only prompts screens to ask again."""
BACKLOG = 1024
"""Lines that may wait for one watcher; at one more it is dropped."""


class Watcher:
    """One listener's queue."""

    def __init__(self, topics: frozenset[Channel], backlog: int) -> None:
        self.topics = topics
        self.dropped = False
        """Whether it was too slow; it then receives nothing more."""
        self._backlog = backlog
        self._waiting: deque[bytes] = deque()
        self._changed = Condition()

    def put(self, line: bytes) -> None:
        """Add a line, or drop the watcher if too many wait."""
        with self._changed:
            if len(self._waiting) >= self._backlog:
                self.dropped = True
                self._waiting.clear()
            elif not self.dropped:
                self._waiting.append(line)
            self._changed.notify()

    def take(self, timeout_s: float) -> list[bytes]:
        """Return the queued lines, or none after a timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self.dropped or bool(self._waiting), timeout_s)
            lines = list(self._waiting)
            self._waiting.clear()
            return lines


class Hub:
    """Passes lines on to every watcher of their topic."""

    def __init__(self, backlog: int = BACKLOG) -> None:
        """Allow `backlog` lines to wait for one watcher."""
        self._backlog = backlog
        self._watchers: tuple[Watcher, ...] = ()

    def watch(self, topics: frozenset[Channel]) -> Watcher:
        """Subscribe to these topics."""
        watcher = Watcher(topics, self._backlog)
        self._watchers = (*self._watchers, watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Unsubscribe."""
        self._watchers = tuple(other for other in self._watchers if other is not watcher)

    def wants(self, topic: Channel) -> bool:
        """Return whether a topic has a watcher; if not, the line need not be built."""
        return any(topic in watcher.topics for watcher in self._watchers)

    def publish(self, topic: Channel, line: bytes) -> None:
        """Pass a line to the watchers of a topic; returns at once."""
        for watcher in self._watchers:
            if topic in watcher.topics:
                watcher.put(line)


TIMING = (BallBeam, BallDrop, BallOut, PocketBall, RotorIndex, WheelStatus)
"""Readings that show the motion of ball and rotor."""
HELD_BACK = 512
"""The most such lines that wait for the bets to close; the oldest are dropped first."""
_encode = msgspec.json.Encoder().encode


class ReadingFilter:
    """Passes readings to the hub, each for those who may see it and when they may."""

    def __init__(self, hub: Hub, rules: RuleSet) -> None:
        """Hide the cards of a game that is dealt face down."""
        self._hub = hub
        self._face_down = game_of(rules.game).dealt_face_down
        self._waiting: deque[bytes] = deque(maxlen=HELD_BACK)

    def publish(self, reading: AnyReading, *, betting: bool, testing: bool = False) -> None:
        """Publish a reading to watchers; `betting`: bets can be placed now; `testing`: nothing counts."""
        if not self._hub.wants("readings"):
            self._waiting.clear()
            return
        if testing and isinstance(reading, (*TIMING, Card)):
            # No bet rests on it, and a technician at the table has it in hand.
            self._hub.publish("timing", _line(reading, b""))
            return
        if isinstance(reading, TIMING):
            self._waiting.append(_line(reading, b',"delayed":true' if betting else b""))
            if not betting:
                self.bets_closed()
            return
        if self._face_down and names_card(reading):
            self._hub.publish("readings", _line(_without_face(reading), b',"masked":true'))
        else:
            self._hub.publish("readings", _line(reading, b""))

    def bets_closed(self) -> None:
        """Release the readings that were held until the bets closed."""
        while self._waiting:
            self._hub.publish("timing", self._waiting.popleft())


def _line(reading: AnyReading, mark: bytes) -> bytes:
    return b'{"reading":%s%s}\n' % (_encode(reading), mark)


def _without_face(reading: AnyReading) -> AnyReading:
    if isinstance(reading, Input):
        return msgspec.structs.replace(reading, card=None, what=None)
    return msgspec.structs.replace(reading, rank=None, suit=None)


class Lamps:
    """What each lamp shows, by its name; a lamp that is not listed was never lit."""

    def __init__(self, hub: Hub, lit: Callable[[str, str], None]) -> None:
        """Report each change to the hub and to `lit`."""
        self.shown: dict[str, str] = {}
        self.asks = ""
        """What a guided test asks for now, as the lamp `test` shows it."""
        self._hub = hub
        self._lit = lit

    def light(self, name: str, shows: str) -> None:
        """Set a lamp; no effect if it already shows this."""
        if self.shown.get(name) != shows:
            self.shown[name] = shows
            self._lit(name, shows)
            self._hub.publish("lamps", b'{"lamp":%s}\n' % _encode({"name": name, "shows": shows}))

    def mark_test(self, *, testing: bool) -> None:
        """Set the lamp `test` to whether a test runs and what it asks for."""
        shows = (self.asks or "on") if testing else "off"
        if shows != self.shown.get("test", "off"):
            self.light("test", shows)
