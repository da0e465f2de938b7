"""A daemon with real links and devices, and a virtual table behind pseudo-terminals, in accelerated time."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import msgspec

from controller.app.daemon import Daemon
from controller.app.device_types import Pairs, hardware_of, load_with_hardware
from controller.app.hardware import Hardware
from controller.app.options import Options
from controller.cli.simulation import boards_in, table_file
from controller.journal.contents import LATE, unpack
from controller.model.effects import Effect, Judged, LateReading
from controller.model.readings import AnyReading
from controller.model.tables import TableSettings
from controller.settings.places import config_file
from controller.settings.tables import load_table
from controller.settings.yaml_text import parse_document
from drivers.sim.scenes import FaultBegan, PlayedAttempt, Story
from drivers.sim.setting import Mix, types_for, virtual_table
from drivers.sim.stage import FAULT_PIPE, Stage
from tests.app.house import House, live_of
from tests.app.rig import PATIENCE_S, until
from tests.sim.live_table import SWITCH_S, FastStation, SharedClock

SPEED = 10.0
NOBODY_SETTLES = "publish: {to: socket}\n"


class _LateRow(msgspec.Struct):
    """A reading that arrived too late, in the journal's format."""

    reading: AnyReading
    behind_us: int


class TableClock(SharedClock):
    """The virtual table's clock as the daemon's clock."""

    def reach(self, now_us: int) -> None:
        """Do nothing, because the clock runs independently."""


class VirtualSession:
    """A table, its virtual hardware, and the daemon with all its threads."""

    def __init__(
        self,
        folder: Path,
        table: str = "craps",
        *,
        seed: int = 1,
        attempts: int | None = None,
        mix: Mix | None = None,
        own: str = "",
    ) -> None:
        """Prepare the table; `own` holds additional lines of the table file."""
        self.stories: list[Story] = []
        self.refused: list[str] = []
        self.ports = folder / "ports"
        self.ports.mkdir()
        path = config_file("tables", table)
        shipped = load_table(str(path))
        document = parse_document(path)
        boards = boards_in(document, shipped)
        types = types_for(shipped, boards)
        self.virtual = virtual_table(
            shipped, types, seed=seed, report=self.stories.append, attempts=attempts, mix=mix, boards=boards
        )
        self.clock = TableClock(SPEED)
        self._stage = Stage(self.virtual, self.ports, self.clock, self.refused.append)
        self._stopping = Event()
        self._threads = [Thread(target=lambda: self._stage.run(self._stopping.is_set))]
        self.file = folder / "table.yaml"
        text = table_file(document, path, self.ports, types)
        self.file.write_text(f"{text}{NOBODY_SETTLES}{own}")
        self.settings: TableSettings = load_with_hardware(str(self.file))
        options = Options(table=str(self.file), journal=folder / "journal", socket=folder / "control")
        self.house = House(folder, options, clock=self.clock)
        self.daemon = Daemon(
            options,
            self.settings,
            environ={},
            sources=[self._hardware],
            wall=self.house.wall,
            clock=self.clock,
        )

    def _hardware(self, daemon: Daemon) -> Hardware:
        return hardware_of(self.settings, daemon.clock.now_us, self._station)

    def _station(self, pairs: Pairs) -> FastStation:
        station = FastStation(list(pairs), self.clock, self._stage.sent_bytes)
        self.clock.behind = lambda: not station.quiet() or self.daemon.inlet.waiting > 0
        return station

    def start(self) -> None:
        """Start the table and the daemon, and wait until the table is unlocked."""
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self.daemon.open()
        self._threads.append(Thread(target=self.daemon.run))
        for thread in self._threads:
            thread.start()
        until(self.unlocked, "the self-test to pass with all devices up")

    def unlocked(self) -> bool:
        """Return whether the table is open and unlocked."""
        live = self.daemon.live
        return live is not None and live.core.view.state.lock == "unlocked"

    def stop(self) -> None:
        """Stop the daemon in order, then switch the table off. A second call has no effect."""
        if self._stopping.is_set():
            return
        self.daemon.stop()
        assert self.daemon.close() == 0
        self._stopping.set()
        sys.setswitchinterval(self._switch_s)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def order(self, fault: str, device: str) -> None:
        """Request a fault from the virtual table, and wait until it has begun."""
        before = len(self.faults)
        with (self.ports / FAULT_PIPE).open("w", encoding="utf-8") as pipe:
            pipe.write(json.dumps({"fault": fault, "device": device}) + "\n")
        until(lambda: len(self.faults) > before, lambda: f"{fault} at {device}; refused: {self.refused}")

    def is_healthy(self) -> bool:
        """Return whether no fault is present and every device is up."""
        missing = live_of(self.daemon).core.devices.missing(frozenset(self.settings.devices))
        return self.virtual.is_faultless and not missing

    @property
    def faults(self) -> list[FaultBegan]:
        """Return the faults that have occurred."""
        return [story for story in list(self.stories) if isinstance(story, FaultBegan)]

    @property
    def played(self) -> list[PlayedAttempt]:
        """Return the attempts played, with their ground truth."""
        return [story for story in list(self.stories) if isinstance(story, PlayedAttempt)]

    def effects(self) -> Iterator[Effect]:
        """Yield the effects in the journal: outcomes, their evidence, and late readings."""
        outcomes = iter(self.house.outcomes())
        for row in self.house.rows():
            if row.name == LATE and row.body is not None:
                for late in msgspec.json.decode(row.body, type=list[_LateRow]):
                    yield LateReading(reading=late.reading, behind_us=late.behind_us)
            if row.seq is None:
                continue
            outcome = next(outcomes)
            assert outcome.seq == row.seq
            yield outcome
            if row.evidence is not None:
                kept = unpack(row.evidence)
                yield Judged(outcome=outcome, verdict=kept.verdict, readings=kept.readings, basis=kept.basis)
