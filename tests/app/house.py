"""A daemon inside the test, run step by step with a manual clock or with all its threads."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from controller.app.clock import Clock
from controller.app.daemon import Daemon
from controller.app.options import Options
from controller.app.publishing import EngineMaker
from controller.app.running import RunningTable
from controller.journal.chain import Row, WallTime
from controller.journal.contents import decode_outcome
from controller.journal.reading import Reader
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading
from controller.model.tables import PublishSettings, TableSettings
from controller.settings.tables import load_table
from controller.technician.pictures import picture_of
from tests.app.rig import until

NIGHT_US = 1_800_000_000_000_000


class ManualClock:
    """A clock that advances only at a reading's arrival or when the test sets it."""

    def __init__(self) -> None:
        self.us = 0

    def now_us(self) -> int:
        return self.us

    def reach(self, now_us: int) -> None:
        """Advance to this arrival time."""
        self.us = max(self.us, now_us)


@dataclass
class ManualWallClock:
    """A wall clock that the test sets."""

    us: int = NIGHT_US
    synced: bool = True

    def __call__(self) -> WallTime:
        return WallTime(self.us, self.synced)


@dataclass
class House:
    """One table in a folder, and its daemon."""

    folder: Path
    options: Options
    wall: ManualWallClock = field(default_factory=ManualWallClock)
    clock: Clock = field(default_factory=ManualClock)
    publish: PublishSettings = field(default_factory=lambda: PublishSettings(to="socket"))
    engine: EngineMaker | None = None
    settings: TableSettings | None = None
    """The settings of the table's file, if they have been loaded already."""
    daemons: list[Daemon] = field(default_factory=list)

    def open(self) -> Daemon:
        """Open a daemon without its threads."""
        settings = replace(self.settings or load_table(self.options.table), publish=self.publish)
        daemon = Daemon(
            self.options,
            settings,
            environ={},
            wall=self.wall,
            clock=self.clock,
            engine=self.engine,
            draw=picture_of,
        )
        self.daemons.append(daemon)
        daemon.open()
        return daemon

    def restart(self, daemon: Daemon) -> Daemon:
        """Stop a daemon in order and open the next one."""
        daemon.close()
        return self.open()

    def rows(self) -> list[Row]:
        with Reader(self.options.place.journal) as reader:
            return list(reader.rows(evidence=True))

    def outcomes(self) -> list[Outcome]:
        return [decode_outcome(row.body) for row in self.rows() if row.seq is not None and row.body]

    def types(self) -> list[str]:
        return [outcome.type for outcome in self.outcomes()]


def live_of(daemon: Daemon) -> RunningTable:
    assert daemon.live is not None
    return daemon.live


def drain(daemon: Daemon) -> None:
    """Run the core until its queue is empty, and wait until its output is on the disk."""
    core = live_of(daemon).core
    while core.turn(0):
        pass
    flushed = live_of(daemon).journal.note("test.flush", {})
    until(lambda: flushed.durable, "the journal")


def play(daemon: Daemon, readings: list[AnyReading]) -> None:
    """Post readings at their times, then advance one second."""
    for reading in readings:
        arrived = reading.t if reading.arrived is None else reading.arrived
        assert daemon.inlet.post(msgspec.structs.replace(reading, arrived=arrived))
        live_of(daemon).core.turn(0)
    daemon.clock.reach(max(reading.t for reading in readings) + 1_000_000)
    drain(daemon)


def unlocked(daemon: Daemon) -> None:
    """Complete the self-test and unlock the table."""
    drain(daemon)
    live_of(daemon).test()
    daemon.clock.reach(daemon.clock.now_us() + 500_000)
    drain(daemon)
    daemon.clock.reach(daemon.clock.now_us() + 500_000)
    drain(daemon)
    assert live_of(daemon).core.view.state.lock == "unlocked", daemon.headline()


HouseMaker = Callable[..., House]
