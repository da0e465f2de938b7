"""Measure from the moment that an outcome is durable to the moment that settlement has it, over a broker.

`python -m tests.benchmarks.mqtt [--outcomes N]`: outcomes are journaled one by one and go through outbox,
pump and broker to a consumer that acknowledges each. Between them a client sends itself bare messages of the
same size through the same broker with QoS 1: out and back. The goal is twice that, p99. Exits with 1 where it
is missed.
"""

import argparse
import itertools
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import msgspec

from controller.app.clock import MonotonicClock
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.tickets import Ticket
from controller.model.outcomes import Happening, Outcome
from controller.publish.events import Acknowledgement, TableStatus, answer_bytes, read_event
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import Connected, Happened, MqttLink, Outgoing, Received, Subscribed
from controller.publish.pump import Pump
from controller.publish.settings import MqttSettings, PublishSettings
from controller.publish.topics import topics_of
from tests.journal.rig import NAME, Rig, begin, rig_in
from tests.publish.broker import MOSQUITTO, Mosquitto
from tests.publish.house import Alarms, half

GOAL = 2.0
SWITCH_S = 0.0005
"""As the daemon sets it."""
BARE = "bare"
HANG_S = 10.0


class Far:
    """Settlement at the other end, in a thread of its own: it acknowledges every outcome."""

    def __init__(self, settings: MqttSettings) -> None:
        self.heard: Queue[float] = Queue()
        self._link = MqttLink(settings, "settlement", None)
        self._link.open()
        self._ready = Event()
        self._stopping = False
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(HANG_S)

    def stop(self) -> None:
        """End it."""
        self._stopping = True
        self._thread.join()
        self._link.drop()

    def _run(self) -> None:
        while not self._stopping:
            select.select([self._link], [self._link] if self._link.wants_to_write else [], [], 0.1)
            for happened in self._link.turn():
                self._take(happened)

    def _take(self, happened: Happened) -> None:
        if isinstance(happened, Connected):
            self._link.subscribe("tables/+/outcome")
        elif isinstance(happened, Subscribed):
            self._ready.set()
        elif isinstance(happened, Received):
            self.heard.put(time.perf_counter())
            event = read_event(happened.payload)
            ack = Acknowledgement(id=event.id, chain=event.chain, by="settlement")
            self._link.publish(Outgoing(topics_of(event.table).answer, answer_bytes(ack)))


class Near:
    """Sends itself bare messages and waits for each to come back."""

    def __init__(self, settings: MqttSettings) -> None:
        self._link = MqttLink(settings, "bare", None)
        self._link.open()
        self._until(Connected)
        self._link.subscribe(BARE)
        self._until(Subscribed)

    def round_trip_s(self, payload: bytes) -> float:
        """Send one message there and back."""
        start = time.perf_counter()
        self._link.publish(Outgoing(BARE, payload))
        self._until(Received)
        return time.perf_counter() - start

    def stop(self) -> None:
        """End it."""
        self._link.drop()

    def _until(self, kind: type) -> None:
        while True:
            select.select([self._link], [self._link] if self._link.wants_to_write else [], [], HANG_S)
            if any(isinstance(happened, kind) for happened in self._link.turn()):
                return


class Table:
    """A journal and all that publishes from it."""

    def __init__(self, rig: Rig, settings: MqttSettings) -> None:
        self.durable: Queue[float] = Queue()
        self.size = 0
        clock = MonotonicClock()
        self._alarms = Alarms()
        self._journal = Journal.open(
            rig.place, rig.key, table=NAME, wall=rig.wall, told=self._told, alarm=lambda _: None
        )
        sink = MqttSink(NAME, settings, self._alarms, now_us=clock.now_us, chance=half)
        self._pump = Pump(
            NAME,
            PublishSettings(to="mqtt", mqtt=settings),
            key=rig.key,
            journal=self._journal,
            open_outbox=lambda: Reader(rig.place.journal),
            sink=sink,
            alarm=self._alarms,
            now_us=clock.now_us,
            chance=half,
            status=lambda: TableStatus(table=NAME, state="online"),
        )
        begin(self._journal)
        self._pump.start()
        while not sink.ready:
            time.sleep(0.001)
        self._first = self._journal.recovered.first
        self._state = self._journal.recovered.state

    def tell(self, seq: int) -> None:
        """Hand one outcome to the journal."""
        data = Happening(cause="timeout", what="camera-left", by="controller", says="no frame for 400 ms")
        told = Outcome(type="device.fault", t=seq, id=f"{NAME}/1/{seq}", seq=seq, data=data)
        self._journal.append([told], self._state, msgspec.structs.replace(self._first, seq=seq + 1))

    def stop(self) -> None:
        """End it."""
        self._pump.stop(HANG_S)
        self._journal.close()
        assert not self._alarms.ever, self._alarms.ever

    def _told(self, ticket: Ticket) -> None:
        if ticket.outcomes:
            self.durable.put(time.perf_counter())
            self._pump.told(ticket.outcomes)


def measured_s(folder: Path, count: int) -> Iterator[tuple[float, float]]:
    """Give for each outcome how long it took, and how long a bare message before it."""
    broker = Mosquitto(folder)
    broker.config += "set_tcp_nodelay true\n"
    broker.start()
    settings = MqttSettings(host="localhost", port=broker.port)
    far, near, table = Far(settings), Near(settings), Table(rig_in(folder), settings)
    payload = b"x" * 1000
    for seq in range(1, count + 1):
        bare = near.round_trip_s(payload)
        table.tell(seq)
        sent, heard = table.durable.get(timeout=HANG_S), far.heard.get(timeout=HANG_S)
        yield heard - sent, bare
    table.stop()
    near.stop()
    far.stop()
    broker.kill()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=1000)
    count = parser.parse_args().outcomes
    if MOSQUITTO is None:
        sys.stdout.write("mqtt          not measured: mosquitto is not installed (.ci/services)\n")
        return 0
    sys.setswitchinterval(SWITCH_S)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        warm = max(10, count // 20)
        pairs = list(itertools.islice(measured_s(Path(folder), count + warm), warm, None))
    told, bare = (sorted(times) for times in zip(*pairs, strict=True))
    p99_told, p99_bare = (times[round(len(times) * 0.99) - 1] for times in (told, bare))
    median_told, median_bare = statistics.median(told), statistics.median(bare)
    sys.stdout.write(
        f"durable to settlement over MQTT: p50 {median_told * 1e3:.2f} ms, p99 {p99_told * 1e3:.2f} ms;"
        f" bare QoS 1 round trip: p50 {median_bare * 1e3:.2f} ms, p99 {p99_bare * 1e3:.2f} ms;"
        f" ratio p50 {median_told / median_bare:.2f} x, p99 {p99_told / p99_bare:.2f} x (goal {GOAL:g} x)\n"
    )
    return 0 if p99_told <= GOAL * p99_bare else 1


if __name__ == "__main__":
    sys.exit(main())
