"""The hub for watchers. Each watcher has a bounded queue, so a slow watcher does not delay the others."""

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
"""A topic, or `timing`: the ball and rotor readings that `readings` includes for a technician's watcher."""
TOPICS: tuple[Topic, ...] = ("outcomes", "readings", "lamps", "faults")
"""The default topics of a watcher. `table` is excluded, because it only prompts screens to refresh."""
BACKLOG = 1024
"""Maximum number of lines queued for one watcher; if another line arrives, the watcher is dropped."""


class Watcher:
    """The queue of one watcher."""

    def __init__(self, topics: frozenset[Channel], backlog: int) -> None:
        self.topics = topics
        self.dropped = False
        """Whether the watcher was too slow, and therefore receives no more lines."""
        self._backlog = backlog
        self._waiting: deque[bytes] = deque()
        self._changed = Condition()

    def put(self, line: bytes) -> None:
        """Queue a line, or drop the watcher if its queue is full."""
        with self._changed:
            if len(self._waiting) >= self._backlog:
                self.dropped = True
                self._waiting.clear()
            elif not self.dropped:
                self._waiting.append(line)
            self._changed.notify()

    def take(self, timeout_s: float) -> list[bytes]:
        """Wait for lines and return them; return an empty list after a timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self.dropped or bool(self._waiting), timeout_s)
            lines = list(self._waiting)
            self._waiting.clear()
            return lines


class Hub:
    """A hub that passes each line to every watcher of the line's topic."""

    def __init__(self, backlog: int = BACKLOG) -> None:
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
        """Return whether a topic has a watcher."""
        return any(topic in watcher.topics for watcher in self._watchers)

    def publish(self, topic: Channel, line: bytes) -> None:
        """Queue a line for the watchers of a topic, and return at once."""
        for watcher in self._watchers:
            if topic in watcher.topics:
                watcher.put(line)


TIMING = (BallBeam, BallDrop, BallOut, PocketBall, RotorIndex, WheelStatus)
"""Readings that show the motion of the ball and the rotor."""
MAX_HELD_BACK = 512
"""Maximum number of lines held back until bets close; the oldest are dropped first."""
_encode = msgspec.json.Encoder().encode


class ReadingFilter:
    """A filter that passes readings to the hub, and delays or masks those that a player could exploit."""

    def __init__(self, hub: Hub, rules: RuleSet) -> None:
        """Filter the readings of a table with these rules; cards dealt face down are masked."""
        self._hub = hub
        self._face_down = game_of(rules.game).dealt_face_down
        self._waiting: deque[bytes] = deque(maxlen=MAX_HELD_BACK)

    def publish(self, reading: AnyReading, *, betting: bool, testing: bool = False) -> None:
        """Publish a reading; `betting` says whether bets are open, `testing` whether test mode is on."""
        if not self._hub.wants("readings"):
            self._waiting.clear()
            return
        if testing and isinstance(reading, (*TIMING, Card)):
            # In test mode, no bet depends on this reading, and the technician needs it.
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
        """Publish the readings that were held back until bets closed."""
        while self._waiting:
            self._hub.publish("timing", self._waiting.popleft())


def _line(reading: AnyReading, mark: bytes) -> bytes:
    return b'{"reading":%s%s}\n' % (_encode(reading), mark)


def _without_face(reading: AnyReading) -> AnyReading:
    if isinstance(reading, Input):
        return msgspec.structs.replace(reading, card=None, what=None)
    return msgspec.structs.replace(reading, rank=None, suit=None)


class Lamps:
    """The state of each lamp, by name; a lamp that was never set is not listed."""

    def __init__(self, hub: Hub, lit: Callable[[str, str], None]) -> None:
        """Report each change to the hub and to `lit`."""
        self.shown: dict[str, str] = {}
        self.prompt = ""
        """The prompt of a guided test, which the lamp `test` shows."""
        self._hub = hub
        self._lit = lit

    def set(self, name: str, shows: str) -> None:
        """Set a lamp, unless it already shows this state."""
        if self.shown.get(name) != shows:
            self.shown[name] = shows
            self._lit(name, shows)
            self._hub.publish("lamps", b'{"lamp":%s}\n' % _encode({"name": name, "shows": shows}))

    def mark_test(self, *, testing: bool) -> None:
        """Set the lamp `test` to the prompt in test mode (`on` if there is none), and otherwise to `off`."""
        shows = (self.prompt or "on") if testing else "off"
        if shows != self.shown.get("test", "off"):
            self.set("test", shows)
