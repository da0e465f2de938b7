"""Measure the serial link of a sensor node next to reading a bare descriptor.

`python -m tests.benchmarks.link [--seconds N]` prints one row for a full line at 921,600 baud and one for two
dice tracked at 90 Hz over a pseudo-terminal, while a journal commits in parallel. The figures are the CPU
time per reading and the time from the node's write to the reading. The exit status is 1 if a sentence is lost
or the goal of 10 % of a core is missed.
"""

import argparse
import multiprocessing
import os
import pty
import select
import sqlite3
import sys
import tempfile
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from controller.model.readings import AnyReading, DeviceUp, DieAt
from drivers.link.station import Station
from drivers.node.device import NodeDevice, NodeSettings
from drivers.node.node_end import NodeEnd
from drivers.node.sentences import Hello
from tests.benchmarks.figures import Figure, hand_over

GOAL_SHARE = 0.10
TRACKS_PER_S = 180
BYTES_PER_S = 92_160
SENTENCE_BYTES = 66
MOD_US = 1_000_000
READY_S = 10.0


@dataclass
class Measured:
    """The results of one run."""

    readings: int = 0
    sent: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    lost: int = 0
    delays_us: list[int] = field(default_factory=list)

    def delay(self, share: float) -> int:
        """Return the delay (us) that this fraction of the readings does not exceed."""
        delays = sorted(self.delays_us)
        return delays[min(len(delays) - 1, int(len(delays) * share))] if delays else 0


def _now_us() -> int:
    return time.monotonic_ns() // 1000


def _node(port: int, per_s: int, seconds: float, greeted: bool) -> None:
    """Send `per_s` track points per second as the node, each with the time of its write (us)."""
    node = NodeEnd(Hello("cam", "bench", "B" * 16, {0: ("die_at",)}, (), 16), "A" * 16)
    if not greeted:
        node._wire.begin("BE7C")
    sent = 0
    start_us = 0
    while sent < per_s * seconds:
        if select.select([port], [], [], 0.0005)[0]:
            node.receive(_now_us(), os.read(port, 4096))
        now_us = _now_us()
        node.tick(now_us)
        if not start_us and node.in_session:
            start_us = now_us + 500_000
        while start_us and sent < per_s * seconds and now_us >= start_us + sent * 1_000_000 // per_s:
            point = {"die": str(1 + sent % 2), "x": f"{_now_us() % MOD_US}.0", "y": "498.5"}
            node.reading(_now_us(), "die_at", point)
            sent += 1
            os.write(port, node.take_output())
        output = node.take_output()
        if output:
            os.write(port, output)


def _with_node(per_s: int, seconds: float, greeted: bool, listen: Callable[[int], Measured]) -> Measured:
    master, slave = pty.openpty()
    tty.setraw(slave)
    process = multiprocessing.get_context("fork").Process(
        target=_node, args=(master, per_s, seconds, greeted), daemon=True
    )
    process.start()
    measured = listen(slave)
    measured.sent = int(per_s * seconds)
    process.join()
    os.close(master)
    os.close(slave)
    return measured


def floor(per_s: int, seconds: float) -> Measured:
    """Read the sentences from a bare descriptor and find each timestamp, without any check."""

    def listen(port: int) -> Measured:
        measured = Measured()
        rest = b""
        wanted = int(per_s * seconds)
        start_cpu, start = time.process_time(), time.monotonic()
        while measured.readings < wanted and select.select([port], [], [], 2.0)[0]:
            *lines, rest = (rest + os.read(port, 65_536)).split(b"\n")
            now_us = _now_us()
            for line in lines:
                at = line.find(b" x=")
                if at > 0:
                    measured.readings += 1
                    stamp = int(line[at + 3 : line.index(b".", at)])
                    measured.delays_us.append((now_us - stamp) % MOD_US)
        measured.cpu_s, measured.wall_s = time.process_time() - start_cpu, time.monotonic() - start
        return measured

    return _with_node(per_s, seconds, greeted=False, listen=listen)


def whole(per_s: int, seconds: float) -> Measured:
    """Pass the sentences through the whole path: port, link, inlet, protocol, reading."""
    from drivers.link.serial_port import SerialPort  # noqa: PLC0415 - pyserial is an extra

    def listen(port: int) -> Measured:
        settings = NodeSettings(node="cam", port=os.ttyname(port), max_per_s=10_000)
        device = NodeDevice("cam", settings, os.urandom)
        station = Station(
            [(device, SerialPort(settings.port, settings.baud))], now_us=_now_us, random_fraction=lambda: 0.0
        )
        measured = Measured()
        started = [0.0, 0.0]
        done = Event()

        def hear(reading: AnyReading) -> None:
            if isinstance(reading, DieAt):
                measured.readings += 1
                measured.delays_us.append((_now_us() - int(reading.x)) % MOD_US)
                if measured.readings == int(per_s * seconds):
                    done.set()
            elif isinstance(reading, DeviceUp):
                started[:] = time.process_time(), time.monotonic()

        station.start(hear)
        done.wait(seconds + READY_S)
        measured.cpu_s, measured.wall_s = time.process_time() - started[0], time.monotonic() - started[1]
        lost = device.status()["lost"]
        measured.lost = lost if isinstance(lost, int) else 0
        station.stop()
        return measured

    return _with_node(per_s, seconds, greeted=True, listen=listen)


def _journal(folder: str, ending: Event, cpu_s: list[float]) -> None:
    """Commit a row durably twenty times per second, as a journal does; record its CPU time."""
    database = sqlite3.connect(Path(folder) / "journal.sqlite")
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE outcome (row BLOB)")
    while not ending.wait(0.05):
        database.execute("INSERT INTO outcome VALUES (zeroblob(1000))")
        database.commit()
    database.close()
    cpu_s.append(time.thread_time())


def _row(name: str, per_s: int, seconds: float) -> bool:
    bare = floor(per_s, seconds)
    ending = Event()
    with tempfile.TemporaryDirectory() as folder:
        journal_cpu_s: list[float] = []
        journal = Thread(target=_journal, args=(folder, ending, journal_cpu_s))
        journal.start()
        real = whole(per_s, seconds)
        ending.set()
        journal.join()
        real.cpu_s -= journal_cpu_s[0]
    each, bare_each = real.cpu_s / max(1, real.readings), bare.cpu_s / max(1, bare.readings)
    share = real.cpu_s / real.wall_s
    hand_over(Figure(f"link, {name}", each * 1e6, bare_each * 1e6, "us a reading", "a bare descriptor"))
    sys.stdout.write(
        f"{name:<13} {real.readings:>6,} of {real.sent:>6,} readings, {real.lost} lost"
        f"  CPU {each * 1e6:5.1f} us each, floor {bare_each * 1e6:5.1f}, ratio {each / bare_each:4.1f},"
        f" {share:5.1%} of a core"
        f"  delay p50 {real.delay(0.5):,} us (floor {bare.delay(0.5):,}, ratio"
        f" {real.delay(0.5) / max(1, bare.delay(0.5)):3.1f})"
        f"  p99 {real.delay(0.99):,} us (floor {bare.delay(0.99):,})\n"
    )
    tracks_too_dear = per_s == TRACKS_PER_S and share > GOAL_SHARE
    return real.readings == real.sent and not real.lost and not tracks_too_dear


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of each run in seconds")
    seconds = parser.parse_args().seconds
    try:
        import serial  # noqa: F401, PLC0415 - only to check that it is installed
    except ImportError:
        sys.stdout.write(
            "link          not measured: pyserial is not installed; install the `hardware` extra\n"
        )
        return 0
    rows = [
        _row("921,600 baud", BYTES_PER_S // SENTENCE_BYTES, seconds),
        _row("2 dice, 90 Hz", TRACKS_PER_S, seconds),
    ]
    return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
