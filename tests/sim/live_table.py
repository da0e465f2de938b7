"""A virtual table behind pseudo-terminals, with the device station and an engine session in one process."""

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread

import msgspec

from controller.engine.session import Session
from controller.model.effects import Effect
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp
from controller.settings.tables import load_table
from drivers.device import AnyDevice, StreamAddress
from drivers.link.link import AnyPort, Backoff, Link
from drivers.link.link import Event as PostedEvent
from drivers.link.ports import port_at
from drivers.link.station import Station
from drivers.sim.faults import DeviceKind
from drivers.sim.scenes import PlayedAttempt, Story
from drivers.sim.setting import Mix, types_for, virtual_table
from drivers.sim.stage import Clock, PacedClock, Stage
from tests.sim.virtual_house import CONFIG, build_setup, device_of

TICK_S = 0.002
MAX_UNREAD_US = 3_000
PATIENCE_S = 300.0
STUCK_S = 0.4
"""Maximum time, in seconds, that bytes in transit hold up the clock while the link reads nothing."""
SWITCH_S = 0.0005
"""The daemon's thread switch interval, at which a busy thread delays readings only briefly."""


class SharedClock(PacedClock):
    """A paced clock that also waits for the handling of posted arrivals."""

    behind: Callable[[], bool] = staticmethod(lambda: False)

    def allow(self, until_us: int) -> int:
        return super().allow(min(until_us, self.now_us() + MAX_UNREAD_US) if self.behind() else until_us)


Sent = Callable[[str], tuple[int, int]]
"""A function that returns how often a port's cable was plugged in, and the bytes accepted since then."""


class WatchedPort:
    """A port that detects bytes in transit to its link.

    A busy kernel needs time to carry bytes through a pseudo-terminal and does not report bytes in transit.
    The port therefore counts the bytes at both ends.
    """

    def __init__(self, name: str, port: AnyPort, sent: Sent) -> None:
        self.write, self.wake, self.dispose = port.write, port.wake, port.dispose
        self._port = port
        self._name = name
        self._sent = sent
        self._open = False
        self._before = (0, 0)
        self._read_bytes = self._posted_bytes = 0
        self._went_on_s = 0.0
        self._seen_bytes = -1

    def open(self) -> str:
        found = self._port.open()
        # Opening the port discards all bytes that were sent earlier.
        self._before = self._sent(self._name)
        self._read_bytes = self._posted_bytes = 0
        self._open = True
        return found

    def read(self) -> bytes:
        self._posted_bytes = self._read_bytes
        data: bytes = self._port.read()
        self._read_bytes += len(data)
        return data

    def close(self) -> None:
        self._open = False
        self._port.close()

    def waits(self) -> bool:
        """Return whether bytes are in transit, for at most `STUCK_S` without progress."""
        plugged, sent_bytes = self._sent(self._name)
        posted_bytes = self._posted_bytes
        if not self._open or plugged != self._before[0] or sent_bytes - self._before[1] <= posted_bytes:
            self._seen_bytes = -1
            return False
        if posted_bytes != self._seen_bytes:
            self._seen_bytes, self._went_on_s = posted_bytes, time.monotonic()
        return time.monotonic() - self._went_on_s < STUCK_S


class FastStation(Station):
    """A device station whose waits are shortened by the clock's speed."""

    def __init__(
        self, devices: list[tuple[AnyDevice, AnyPort]], clock: Clock, sent: Sent = lambda _port: (0, 0)
    ) -> None:
        self._speed = clock.speed
        self._lock = Lock()
        self._posted = self._taken = 0
        self._sent = sent
        self._watched: list[WatchedPort] = []
        super().__init__(devices, now_us=clock.now_us, random_fraction=lambda: 0.0)

    def _wait_s(self) -> float:
        return super()._wait_s() / self._speed

    def _link(self, name: str, port: AnyPort, chance: Callable[[], float]) -> Link:
        backoff = Backoff(chance, first_s=0.1 / self._speed, max_s=2.0 / self._speed)
        watched = WatchedPort(name, port, self._sent)
        self._watched.append(watched)
        return Link(name, watched, self._post, now_us=self._now_us, backoff=backoff)

    def _post(self, source: str, t_us: int, event: PostedEvent, /) -> None:
        with self._lock:
            self._posted += 1
        self._inlet.post(source, t_us, event)

    def _guard(self, name: str, work: Callable[[], list[AnyReading]]) -> None:
        super()._guard(name, work)
        if isinstance(work, partial) and work.func == self._hub.take:
            self._taken += 1

    def quiet(self) -> bool:
        """Return whether all bytes sent have been posted, handled and passed on."""
        waits = [port.waits() for port in self._watched]
        return not any(waits) and self._taken >= self._posted


class LiveTable:
    """Virtual hardware, the device station and an engine session, each in its own threads."""

    def __init__(
        self,
        table: str,
        folder: Path,
        *,
        speed: float,
        seed: int = 1,
        types: Mapping[str, DeviceKind] | None = None,
        attempts: int | None = None,
        mix: Mix | None = None,
    ) -> None:
        self.settings = load_table(str(CONFIG / f"{table}.yaml"))
        self.types = {**types_for(self.settings), **(types or {})}
        self.stories: list[Story] = []
        self.refused: list[str] = []
        self.readings: list[AnyReading] = []
        self.effects: list[Effect] = []
        self.clock = SharedClock(speed)
        self.table = virtual_table(
            self.settings, self.types, seed=seed, report=self.stories.append, attempts=attempts, mix=mix
        )
        self.stage = Stage(self.table, folder, self.clock, self.refused.append)
        rng = Random(seed)
        self.devices = {
            name: device_of(kind, name, str(folder / name), rng) for name, kind in self.types.items()
        }
        addresses = {name: StreamAddress(str(folder / name), 921_600) for name in self.devices}
        ports = [(device, port_at(addresses[name])) for name, device in self.devices.items()]
        self.station = FastStation(ports, self.clock, self.stage.sent_bytes)
        self.clock.behind = lambda: not self.station.quiet()
        self.session = Session(build_setup(self.settings))
        self._lock = Lock()
        self._stopping = Event()
        self._threads = [Thread(target=self._play), Thread(target=self._tick)]

    def start(self) -> None:
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        for thread in self._threads:
            thread.start()
        self.station.start(self._hear)

    def stop(self) -> None:
        # Stop the listeners first; otherwise closing the ports would look like unplugged cables.
        ended = self.station.stop()
        self._stopping.set()
        sys.setswitchinterval(self._switch_s)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert ended
        assert not any(thread.is_alive() for thread in self._threads)

    @property
    def played(self) -> list[PlayedAttempt]:
        return [story for story in self.stories if isinstance(story, PlayedAttempt)]

    def health(self, dev: str) -> list[str]:
        reported = [r for r in list(self.readings) if isinstance(r, DeviceUp | DeviceDown | DeviceFault)]
        return [str(reading.code) for reading in reported if reading.dev == dev]

    def all_up(self) -> bool:
        last: dict[str, bool] = {}
        for reading in list(self.readings):
            if isinstance(reading, DeviceUp | DeviceDown):
                last[reading.dev] = isinstance(reading, DeviceUp)
        return len(last) == len(self.devices) and all(last.values())

    def _play(self) -> None:
        self.stage.run(self._stopping.is_set)

    def _hear(self, reading: AnyReading) -> None:
        with self._lock:
            arrived = msgspec.structs.replace(reading, arrived=self.clock.now_us())
            self.readings.append(arrived)
            self.effects += self.session.feed(arrived)

    def _tick(self) -> None:
        """Advance the session's time, but not beyond the posted readings."""
        while not self._stopping.wait(TICK_S):
            now_us = self.clock.now_us()
            if self.station.quiet():
                with self._lock:
                    self.effects += self.session.advance(now_us - 20_000)
