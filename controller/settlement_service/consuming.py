"""Where outcomes come in by way of a broker."""

import select
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event as Signal
from typing import NamedTuple

from controller.model.publishing import MqttSettings
from controller.publish.events import Again, answer_bytes
from controller.publish.mqtt_link import (
    Connected,
    Happened,
    Lost,
    MqttLink,
    Outgoing,
    Received,
    Subscribed,
    tls_context,
)
from controller.publish.topics import topics_of
from controller.settlement_service import deliveries
from controller.settlement_service.deliveries import NotTaken
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import OutOfReach

REFUSED = 0x80
"""MQTT's reason codes from here on are refusals."""
TURN_S = 0.5
BATCH = 200
"""Outcomes settled in one transaction, at most."""
PATIENCE_US = 5_000_000
"""So long one asking for what is missing is given to come before it is asked for again."""
Clock = Callable[[], int]
Say = Callable[[str], None]


class _Asked(NamedTuple):
    from_seq: int
    at_us: int


class Broker:
    """Takes outcomes from an MQTT 5 broker and answers them; one thread turns it."""

    def __init__(self, engine: Engine, settings: MqttSettings, name: str, now_us: Clock, say: Say) -> None:
        """Prepare; `name` is the client's and the certificate's, `now_us` a monotonic clock."""
        self._engine = engine
        self._settings = settings
        self._name = name
        self._now_us = now_us
        self._say = say
        self._link: MqttLink | None = None
        self._since_us = 0
        self._due: deque[Outgoing] = deque()
        self._waiting: deque[bytes] = deque()
        self._asked: dict[str, _Asked] = {}
        self._said: set[str] = set()
        self.ready = False
        """Whether the broker has taken the subscription."""
        self.turns = 0
        """Goes up while the thread turns."""

    def run(self, stop: Signal) -> None:
        """Turn until told to stop; a lost connection is made again a second later."""
        while not stop.is_set():
            self.turns += 1
            if self._link is None and not self._connect():
                stop.wait(1.0)
                continue
            try:
                self.turn(TURN_S)
            except Exception as error:  # noqa: BLE001 - a thread that ends would leave tables unheard
                self._lose(f"{type(error).__name__}: {error}")
                stop.wait(1.0)
        self.close()

    def close(self) -> None:
        """Take leave of the broker."""
        if self._link is not None:
            self._link.close()
            self._link.turn()
            self._link.drop()
            self._link = None

    def turn(self, timeout_s: float) -> None:
        """Read, settle and answer what is there, waiting at most this long for something."""
        link = self._link
        if link is None or link.fileno() < 0:
            self._lose("the connection is closed")
            return
        if not self._waiting:
            select.select([link], [link] if link.wants_to_write else [], [], timeout_s)
        for happened in link.turn():
            self._take(link, happened)
        if not self.ready and self._now_us() - self._since_us > self._settings.timeout_s * 1e6:
            self._lose("no answer in time")
        if self._link is link and self._waiting:
            self._settle()
        while self._link is link and self._due and link.room:
            link.publish(self._due.popleft())

    def _connect(self) -> bool:
        settings = self._settings
        try:
            tls = None if settings.tls is None else tls_context(settings.tls)
            link = MqttLink(settings, self._name, tls)
            link.open()
        except OSError as error:
            self._say_once(f"broker {settings.host}:{settings.port}: {error}; trying again")
            return False
        self._link, self._since_us = link, self._now_us()
        return True

    def _take(self, link: MqttLink, happened: Happened) -> None:
        match happened:
            case Connected(code=code, says=says) | Subscribed(code=code, says=says) if code >= REFUSED:
                self._lose(f"refused: {says}")
            case Connected():
                link.subscribe(topics_of("x", self._settings.prefix).outcome.replace("/x/", "/+/"))
            case Subscribed():
                self.ready = True
                self._said.clear()
            case Received(topic=topic, payload=payload):
                self._hear(topic, payload)
            case Lost(says=says):
                self._lose(says)
            case _:
                pass

    def _hear(self, topic: str, payload: bytes) -> None:
        with suppress(ValueError):
            # The broker's access list says who writes to a topic: an event must be that table's own.
            if topics_of(deliveries.read(payload).table, self._settings.prefix).outcome == topic:
                self._waiting.append(payload)
                return
        self._say_once(f"{topic}: found what is no event of that table; it is ignored")

    def _settle(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        try:
            answers = self._engine.deliver(batch)
        except OutOfReach as error:
            # Nothing is answered, so the tables send it all again.
            self._waiting.clear()
            self._say_once(str(error))
            return
        for table, answer in deliveries.on_the_wire(answers, self._name):
            if isinstance(answer, Again) and self._asked_lately(table, answer.from_seq):
                continue
            topic = topics_of(table, self._settings.prefix).answer
            self._due.append(Outgoing(topic, answer_bytes(answer)))
        for refused in answers:
            if isinstance(refused, NotTaken):
                self._say_once(f"table {refused.table}: {refused.says} [{refused.code}]")

    def _asked_lately(self, table: str, from_seq: int) -> bool:
        before, now_us = self._asked.get(table), self._now_us()
        if before and before.from_seq == from_seq and now_us - before.at_us < PATIENCE_US:
            return True
        self._asked[table] = _Asked(from_seq, now_us)
        return False

    def _lose(self, why: str) -> None:
        """Throw the connection away; what is not answered comes again."""
        if self._link is not None:
            self._say_once(f"broker {self._settings.host}:{self._settings.port}: {why}; connecting again")
            self._link.drop()
        self._link, self.ready = None, False
        self._due.clear()
        self._waiting.clear()
        self._asked.clear()

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 1000:
            self._said.add(text)
            self._say(text)
