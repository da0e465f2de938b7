"""Measure the time from when an outcome is durable until settlement receives it from a broker.

`python -m tests.benchmarks.mqtt [--outcomes N]` journals outcomes one at a time. Each outcome passes through
the outbox, the pump and the broker to a consumer in another process, which acknowledges the outcome. Between
outcomes, a bare QoS 1 message of the same size makes a round trip through the broker to the consumer and
back. The goal at p99 is twice the time of this round trip. For comparison, the benchmark also prints the time
of a message that a client sends to itself. The exit status is 1 if the goal is missed.
"""

import argparse
import itertools
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event
from typing import NamedTuple

import msgspec

from controller.app.clock import MonotonicClock
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.writer import Ticket
from controller.model.outcomes import Outcome, TableEvent
from controller.model.tables import MqttSettings, PublishSettings
from controller.publish.events import Acknowledgement, TableStatus, answer_bytes, read_event
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import Connected, MqttLink, Outgoing, Received, Subscribed
from controller.publish.pump import Pump
from controller.publish.wire import topics_of
from tests.benchmarks.figures import Figure, hand_over
from tests.journal.rig import NAME, Rig, begin, rig_in
from tests.publish.broker import MOSQUITTO, Mosquitto
from tests.publish.house import ENGINE_KEY, Alarms, half, pinned

GOAL = 2.0
SWITCH_S = 0.0005
"""The interpreter's switch interval in the daemon."""
BARE = "bare"
BACK = "back"
ITSELF = "itself"
BYTES = 1000
"""Approximate size of an outcome."""
HANG_S = 10.0


def settlement(settings: MqttSettings, heard: Connection, end: Connection) -> None:
    """Record the arrival of outcomes and acknowledge them in place of the settlement engine."""
    link = MqttLink(settings, "settlement", None)
    link.open()
    while not end.poll():
        readers: list[MqttLink | Connection] = [link, end]
        select.select(readers, [link] if link.wants_to_write else [], [], 1.0)
        for happened in link.turn():
            if isinstance(happened, Connected):
                link.subscribe("tables/+/outcome", BARE)
            elif isinstance(happened, Subscribed):
                heard.send(0.0)
            elif isinstance(happened, Received) and happened.topic == BARE:
                link.publish(Outgoing(BACK, happened.payload))
            elif isinstance(happened, Received):
                heard.send(time.perf_counter())
                event = read_event(happened.payload)
                ack = Acknowledgement(id=event.id, chain=event.chain, by="settlement")
                link.publish(Outgoing(topics_of(event.table).answer, answer_bytes(ack, ENGINE_KEY)))
    link.drop()


class Near:
    """Sends bare messages and waits for the return of each."""

    def __init__(self, settings: MqttSettings) -> None:
        self._link = MqttLink(settings, "bare", None)
        self._link.open()
        self._until(Connected)
        self._link.subscribe(BACK, ITSELF)
        self._until(Subscribed)

    def round_trip_s(self, topic: str) -> float:
        """Send one message and wait for its return; return the duration."""
        start = time.perf_counter()
        self._link.publish(Outgoing(topic, b"x" * BYTES))
        self._until(Received)
        return time.perf_counter() - start

    def stop(self) -> None:
        self._link.drop()

    def _until(self, kind: type) -> None:
        while True:
            select.select([self._link], [self._link] if self._link.wants_to_write else [], [], HANG_S)
            if any(isinstance(happened, kind) for happened in self._link.turn()):
                return


class Table:
    """A journal, and the pump and the MQTT sink that publish its outcomes."""

    def __init__(self, rig: Rig, settings: MqttSettings) -> None:
        self.durable_s = 0.0
        clock = MonotonicClock()
        self._alarms = Alarms()
        self._journal = Journal.open(
            rig.place, rig.key, table=NAME, wall=rig.wall, on_durable=self._note_durable, alarm=lambda _: None
        )
        sink = MqttSink(NAME, settings, self._alarms, now_us=clock.now_us, random_fraction=half, pin=pinned())
        self._pump = Pump(
            NAME,
            PublishSettings(to="mqtt", mqtt=settings),
            key=rig.key,
            journal=self._journal,
            open_outbox=lambda: Reader(rig.place.journal),
            sink=sink,
            alarm=self._alarms,
            now_us=clock.now_us,
            random_fraction=half,
            status=lambda: TableStatus(table=NAME, state="online"),
        )
        begin(self._journal)
        self._pump.start()
        while not sink.ready:
            time.sleep(0.001)  # the measurement begins only when the sink is connected
        self._first = self._journal.recovered.first
        self._state = self._journal.recovered.state

    def hand_over(self, seq: int) -> None:
        data = TableEvent(cause="timeout", what="camera-left", by="controller", says="no frame for 400 ms")
        published = Outcome(type="device.fault", t=seq, id=f"{NAME}/1/{seq}", seq=seq, data=data)
        self._journal.append([published], self._state, msgspec.structs.replace(self._first, seq=seq + 1))

    @property
    def idle(self) -> bool:
        """Whether every outcome's acknowledgement is on the disk."""
        return not (self._pump.unacknowledged or self._journal.waiting)

    def stop(self) -> None:
        """Stop the pump, close the journal, and check that no fault occurred."""
        self._pump.stop(HANG_S)
        self._journal.close()
        assert not self._alarms.ever, self._alarms.ever

    def _note_durable(self, ticket: Ticket) -> None:
        if ticket.outcomes:
            self.durable_s = time.perf_counter()
            self._pump.note_durable(ticket.outcomes)


def measured_s(folder: Path, count: int) -> Iterator[tuple[float, float, float]]:
    """Yield three durations: of an outcome, of a bare round trip, and of a client's message to itself."""
    broker = Mosquitto(folder)
    broker.config += "set_tcp_nodelay true\n"
    broker.start()
    settings = MqttSettings(host="localhost", port=broker.port)
    (heard, tells), (stopped, stops) = Pipe(duplex=False), Pipe(duplex=False)
    far = get_context("spawn").Process(target=settlement, args=(settings, tells, stopped), daemon=True)
    far.start()
    assert heard.poll(HANG_S)
    heard.recv()
    near, table, pause = Near(settings), Table(rig_in(folder), settings), Event()
    for seq in range(1, count + 1):
        while not table.idle:
            pause.wait(0.001)
        bare, itself = near.round_trip_s(BARE), near.round_trip_s(ITSELF)
        table.hand_over(seq)
        assert heard.poll(HANG_S), "settlement received nothing"
        yield heard.recv() - table.durable_s, bare, itself
    table.stop()
    near.stop()
    stops.send(None)
    far.join(HANG_S)
    broker.kill()


class Figures(NamedTuple):
    """The median and the 99th percentile, in seconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"p50 {self.p50 * 1e3:.2f} ms, p99 {self.p99 * 1e3:.2f} ms"


def figures(times: Sequence[float]) -> Figures:
    """Return the median and the 99th percentile of these times."""
    return Figures(statistics.median(times), sorted(times)[round(len(times) * 0.99) - 1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=1000)
    count = parser.parse_args().outcomes
    if MOSQUITTO is None:
        sys.stdout.write("mqtt          not measured: mosquitto is not installed; run: .ci/services\n")
        return 0
    sys.setswitchinterval(SWITCH_S)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        warm = max(10, count // 20)
        rows = list(itertools.islice(measured_s(Path(folder), count + warm), warm, None))
    published, bare, itself = (figures(times) for times in zip(*rows, strict=True))
    beside = "a bare QoS 1 round trip"
    hand_over(
        Figure("durable to settlement over MQTT, p50", published.p50 * 1e3, bare.p50 * 1e3, "ms", beside),
        Figure("durable to settlement over MQTT, p99", published.p99 * 1e3, bare.p99 * 1e3, "ms", beside),
    )
    sys.stdout.write(
        f"durable to settlement over MQTT: {published}; bare QoS 1 round trip: {bare}; to itself: {itself};"
        f" ratio p50 {published.p50 / bare.p50:.2f} x, p99 {published.p99 / bare.p99:.2f} x"
        f" (goal {GOAL:g} x)\n"
    )
    return 0 if published.p99 <= GOAL * bare.p99 else 1


if __name__ == "__main__":
    sys.exit(main())
