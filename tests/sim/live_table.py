"""A virtual table behind pseudo-terminals, and the real station of devices in one process, with a session."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread

import msgspec

from controller.engine.session import Session
from controller.model.effects import Effect
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp
from controller.settings.tables import load_table
from drivers.devices.registry import Device
from drivers.link.backoff import Backoff
from drivers.link.link import Link, Port
from drivers.link.ports import port_at
from drivers.link.station import Station
from drivers.sim.clock import Clock, PacedClock
from drivers.sim.faults import DeviceKind
from drivers.sim.setting import Mix, types_for, virtual_table
from drivers.sim.stage import Stage
from drivers.sim.stories import Played, Story
from tests.sim.virtual_house import CONFIG, device_of, setup_of

TICK_S = 0.002
BEHIND_US = 3_000
SWITCH_S = 0.0005
"""As the daemon has it: no busy thread holds up a reading for long."""


class SharedClock(PacedClock):
    """A clock that also waits for what the links have posted and nobody has taken."""

    behind: Callable[[], bool] = staticmethod(lambda: False)

    def allow(self, until_us: int) -> None:
        now_us = self.now_us()
        super().allow(min(until_us, now_us + BEHIND_US) if self.behind() else until_us)


class FastStation(Station):
    """The station in a time that runs so many times as fast: its waits are as many times shorter."""

    def __init__(self, devices: list[tuple[Device, Port]], clock: Clock) -> None:
        self._speed = clock.speed
        super().__init__(devices, now_us=clock.now_us, chance=lambda: 0.0)

    def _wait_s(self) -> float:
        return super()._wait_s() / self._speed

    def _link(self, name: str, port: Port, chance: Callable[[], float]) -> Link:
        backoff = Backoff(chance, first_s=0.1 / self._speed, most_s=2.0 / self._speed)
        return Link(name, port, self._inlet.post, now_us=self._now_us, backoff=backoff)

    def quiet(self) -> bool:
        """Whether all that the links have posted is taken."""
        return self._inlet._queue.empty()


class LiveTable:
    """Virtual hardware in one thread, the station's threads, and the session in the station's."""

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
            self.settings, self.types, seed=seed, tell=self.stories.append, attempts=attempts, mix=mix
        )
        self.stage = Stage(self.table, folder, self.clock, self.refused.append)
        rng = Random(seed)
        self.devices = {
            name: device_of(kind, name, str(folder / name), rng) for name, kind in self.types.items()
        }
        ports = [(device, port_at(str(folder / name), 921_600)) for name, device in self.devices.items()]
        self.station = FastStation(ports, self.clock)
        self.clock.behind = lambda: not self.station.quiet()
        self.session = Session(setup_of(self.settings))
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
        """End all of it; what was told stays."""
        self._stopping.set()
        ended = self.station.stop()
        sys.setswitchinterval(self._switch_s)
        for thread in self._threads:
            thread.join(20)
        assert ended
        assert not any(thread.is_alive() for thread in self._threads)

    @property
    def played(self) -> list[Played]:
        return [story for story in self.stories if isinstance(story, Played)]

    def health(self, dev: str) -> list[str]:
        told = [r for r in list(self.readings) if isinstance(r, DeviceUp | DeviceDown | DeviceFault)]
        return [str(reading.code) for reading in told if reading.dev == dev]

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
        """Let the session's time run, never past what the links have posted already."""
        while not self._stopping.wait(TICK_S):
            now_us = self.clock.now_us()
            if self.station.quiet():
                with self._lock:
                    self.effects += self.session.advance(now_us - 20_000)
