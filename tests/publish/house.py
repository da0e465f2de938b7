"""A table that publishes: a journal, the pump, a sink, and a replacement for a settlement engine."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.journal.journal import Journal
from controller.journal.keys import Key, PublicKey
from controller.journal.reading import Reader
from controller.machines.setup import NextNumbers, State
from controller.model.tables import MqttSettings, PublishSettings
from controller.publish.events import (
    Acknowledgement,
    Answer,
    Event,
    ResendRequest,
    TableStatus,
    answer_bytes,
    read_event,
    signed_by,
)
from controller.publish.faults import FAULTS, PublishFault
from controller.publish.identity import Pin
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import (
    Connected,
    LinkEvent,
    MqttLink,
    Outgoing,
    Received,
    Subscribed,
    tls_context,
)
from controller.publish.players import first_board
from controller.publish.pump import Pump
from controller.publish.sink import Sink
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, renumbered, rig_in

PATIENCE_S = 300.0
SECOND_US = 1_000_000
ENGINE = "settlement"
ENGINE_KEY = Key(Ed25519PrivateKey.from_private_bytes(b"\7" * 32))


def pinned() -> Pin:
    """Return a pin that trusts the engine of these tests."""
    return Pin(ENGINE_KEY.public.raw)


def half() -> float:
    """Return a fixed value instead of a random fraction."""
    return 0.5


@dataclass
class Clock:
    """A clock that the test advances."""

    now: int = 0

    def __call__(self) -> int:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += round(seconds * SECOND_US)


@dataclass
class Alarms:
    """Records every fault and the present faults."""

    holding: dict[str, PublishFault] = field(default_factory=dict)
    ever: list[str] = field(default_factory=list)

    def report(self, fault: PublishFault) -> None:
        assert fault.code in FAULTS
        if fault.code not in self.holding:
            self.ever.append(fault.code)
        self.holding[fault.code] = fault

    def clear(self, code: str) -> None:
        assert code in FAULTS
        self.holding.pop(code, None)


@dataclass
class Books:
    """A settlement engine's books: every outcome takes effect once and in order."""

    key: PublicKey | None = None
    applied: list[Event] = field(default_factory=list)
    repeats: int = 0
    holes: int = 0
    forged: int = 0
    forks: int = 0

    def enter(self, payload: bytes) -> list[Answer]:
        """Process an event and return the answers."""
        if self.key is not None and not signed_by(payload, self.key):
            self.forged += 1
            return []
        event = read_event(payload)
        expected = len(self.applied) + 1
        if event.seq > expected:
            self.holes += 1
            return [self.request(event.seq)]
        if event.seq < expected:
            if self.applied[event.seq - 1].chain != event.chain:
                self.forks += 1
                return []
            self.repeats += 1
        else:
            self.applied.append(event)
        return [Acknowledgement(id=event.id, chain=event.chain, by=ENGINE)]

    def request(self, known: int = 0) -> ResendRequest:
        """Return a request for the next outcomes; `known` is the newest outcome known."""
        return ResendRequest(from_seq=len(self.applied) + 1, told=known, by=ENGINE)

    @property
    def seqs(self) -> list[int]:
        """Return the sequence numbers of the outcomes that had an effect."""
        return [event.seq for event in self.applied]


@dataclass
class Settlement:
    """The books behind a broker."""

    settings: MqttSettings
    books: Books = field(default_factory=Books)
    topic: str = "tables/+/outcome"
    name: str = ENGINE
    link: MqttLink | None = None
    subscribed: bool = False
    remembered: bool = False
    """Whether the broker still had the engine's session."""
    forges_chain: bool = False
    delivered: int = 0
    held_back: list[Answer] = field(default_factory=list)
    holds_back: int = 0
    """Number of answers to delay and then send, newest first."""

    def come(self) -> None:
        """Connect with the broker's session for this engine, and subscribe."""
        self.subscribed = False
        tls = None if self.settings.tls is None else tls_context(self.settings.tls)
        self.link = MqttLink(self.settings, self.name, tls)
        self.link.open()
        until(lambda: self.subscribed, self.turn)

    def drop(self) -> None:
        """Drop the connection without a disconnect message."""
        if self.link is not None:
            self.link.drop()
            self.link = None

    def turn(self) -> None:
        """Process the received messages."""
        if self.link is None:
            return
        for happened in self.link.turn():
            self._take(self.link, happened)

    def _take(self, link: MqttLink, happened: LinkEvent) -> None:
        if isinstance(happened, Connected):
            self.remembered = happened.session
            link.subscribe(self.topic)
        elif isinstance(happened, Subscribed):
            self.subscribed = True
        elif isinstance(happened, Received):
            self.delivered += 1
            self.held_back += [self._written(answer) for answer in self.books.enter(happened.payload)]
            if len(self.held_back) > self.holds_back:
                for answer in reversed(self.held_back):
                    table = answer.id.split("/")[0] if isinstance(answer, Acknowledgement) else NAME
                    link.publish(Outgoing(f"tables/{table}/answer", answer_bytes(answer, ENGINE_KEY)))
                self.held_back.clear()

    def _written(self, answer: Answer) -> Answer:
        if self.forges_chain and isinstance(answer, Acknowledgement):
            return msgspec.structs.replace(answer, chain="0" * 64)
        return answer


class House:
    """One table with outcomes to publish."""

    def __init__(
        self,
        folder: Path,
        sink_of: Callable[["House"], Sink],
        settings: PublishSettings | None = None,
        rig: Rig | None = None,
    ) -> None:
        self.clock = Clock()
        self.alarms = Alarms()
        self.rig = rig or rig_in(folder)
        self.settings = settings or PublishSettings()
        self.sink = sink_of(self)
        self.journal: Journal = self.rig.open()
        self.headline = "all well"
        self.pump = Pump(
            NAME,
            self.settings,
            key=self.rig.key,
            journal=self.journal,
            open_outbox=lambda: Reader(self.rig.place.journal),
            sink=self.sink,
            alarm=self.alarms,
            now_us=self.clock,
            random_fraction=half,
            status=self._status,
            last_seq=self.journal.recovered.first.seq - 1,
            board=first_board(NAME, "1", "craps", State(), NextNumbers()),
        )
        if isinstance(self.sink, MqttSink):
            self.sink.report_to(self.pump.post)
        begin(self.journal)

    def _status(self) -> TableStatus:
        return TableStatus(table=NAME, state="online", headline=self.headline)

    def play(self, throws: int) -> int:
        """Play this many throws; return the number of outcomes in the journal."""
        before = len(self.rig.published)
        for step in play_throws(throws):
            durable(append(self.journal, step))
        self.pump.note_durable(self.rig.published[before:])
        return len(self.rig.published)

    def play_on(self) -> int:
        """Play three more throws; return the number of outcomes."""
        before = len(self.rig.published)
        seq = before + 1
        for step in play_throws(3):
            again = renumbered(step, seq, self.journal.recovered.session)
            seq += len(again.outcomes)
            durable(append(self.journal, again))
        self.pump.note_durable(self.rig.published[before:])
        return len(self.rig.published)

    def turn(self) -> None:
        """Run pump and sink until both are idle. The clock advances so little that nothing times out."""
        self.clock.now += 1
        self.pump.turn(0)
        if isinstance(self.sink, MqttSink):
            self.sink.turn(0.001)

    @property
    def all_answered(self) -> bool:
        return not (isinstance(self.sink, MqttSink) and self.sink._unconfirmed)

    @property
    def idle(self) -> bool:
        """Return whether the broker has received and confirmed everything."""
        sink = self.sink
        assert isinstance(sink, MqttSink)
        return sink.ready and not (sink._offered or sink._due or sink._unconfirmed or sink._status_is_new)

    def send_again(self) -> None:
        """Send all unacknowledged outcomes again, and wait until the broker has confirmed them."""
        until(lambda: self.idle, self.turn)
        self.clock.forward(61)
        self.turn()
        until(lambda: self.idle, self.turn)

    def offer_again_now(self) -> None:
        """Run a turn long after the previous one, unless an answer from the broker is outstanding."""
        if self.all_answered:
            self.clock.forward(61)
        self.turn()

    @property
    def waiting(self) -> list[str]:
        with Reader(self.rig.place.journal) as reader:
            return [outcome_id(row.body) for row in reader.outbox(10_000)]

    def close(self) -> None:
        self.pump.stop(PATIENCE_S)
        if isinstance(self.sink, MqttSink):
            self.sink.leave()
        if self.pump._outbox is not None:
            self.pump._outbox.close()
        self.journal.close()


def outcome_id(body: bytes | None) -> str:
    assert body is not None
    answer = msgspec.json.decode(body)
    assert isinstance(answer["id"], str)
    return answer["id"]


def until(fact: Callable[[], bool], *turns: Callable[[], None]) -> None:
    """Call the `turns` until a condition is true, and fail after a time limit."""
    end = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < end, "the condition never became true"
        for turn in turns:
            turn()
