"""A virtual table, the real device drivers and an engine session in one thread and simulated time."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from controller.engine.session import Session
from controller.machines.setup import Setup
from controller.model.effects import Effect
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp
from controller.model.tables import TableSettings
from controller.settings.tables import load_table
from drivers.device import AnyDevice
from drivers.link.link import Arrival, LinkDown, LinkUp
from drivers.link.station import Hub
from drivers.registry import device_type
from drivers.sim.boards import SHOE_SETTINGS
from drivers.sim.faults import DeviceKind, FaultRequest, carry_out
from drivers.sim.scenes import FaultBegan, PlayedAttempt, Story
from drivers.sim.setting import Mix, types_for, virtual_table
from drivers.sim.ss2_wheel import APPROVED, MODE
from drivers.sim.table import Play, VirtualTable

START_US = 5_000_000_000
"""The table's clock at the start: that of a machine that has been running for some time."""
TRY_AGAIN_US = 700_000
CONFIG = Path(__file__).parents[2] / "config" / "tables"


def settings_of(kind: DeviceKind, name: str, port: str) -> dict[str, Any]:
    """Return a device's settings in the form of a table file."""
    match kind:
        case "node":
            return {"port": port, "node": name}
        case "json-camera":
            return {"port": port, "clock": "own"}
        case "ss2":
            return {"port": port, "approved": APPROVED, "approved_mode": int(MODE)}
        case "shoe":
            return {"port": port, **SHOE_SETTINGS}


def device_of(kind: DeviceKind, name: str, port: str, rng: Random) -> AnyDevice:
    made = device_type(kind)
    return made.make(name, made.settings(**settings_of(kind, name, port)), rng.randbytes)


def build_setup(settings: TableSettings) -> Setup:
    """Return the daemon's setup of an engine session, but with the table open and automatic calls."""
    return Setup(
        table=settings.table,
        ruleset=settings.rules,
        dice_table=settings.dice_table,
        wheel=settings.wheel,
        sources={
            name: tuple(
                f"{kind}:{device.wall}" if kind == "wall_impact" else kind
                for kind in device.reads
                if kind not in ("switch", "input")
            )
            for name, device in settings.devices.items()
        },
        locking_switches=frozenset(name for name, does in settings.switches.items() if does == "lock"),
    )


class Lead:
    """A cable from a device of the table to its port."""

    def __init__(self, house: "House", name: str) -> None:
        self.name = name
        self.open_as: int | None = None
        self.tries_at_us = 0
        self.reopening = False
        self.reported: LinkUp | LinkDown | None = None
        self._house = house

    def send(self, data: bytes) -> bool:
        cable = self._house.cable_at(self.name)
        if cable is not None and self.open_as == cable.plugged:
            self._house.table.receive(cable.name, self._house.now_us, data)
        return True

    def reopen(self) -> None:
        self.reopening = True


class House:
    """A table with its virtual hardware, in simulated time."""

    def __init__(
        self,
        table: str,
        *,
        seed: int = 1,
        types: Mapping[str, DeviceKind] | None = None,
        attempts: int | None = None,
        mix: Mix | None = None,
        one_by_one: Play | None = None,
    ) -> None:
        self.settings = load_table(str(CONFIG / f"{table}.yaml"))
        self.types = {**types_for(self.settings), **(types or {})}
        self.stories: list[Story] = []
        self.table: VirtualTable = virtual_table(
            self.settings,
            self.types,
            seed=seed,
            report=self.stories.append,
            attempts=attempts,
            mix=mix,
            one_by_one=one_by_one,
        )
        self.now_us = START_US
        self.readings: list[AnyReading] = []
        self.effects: list[Effect] = []
        self.session = Session(build_setup(self.settings))
        rng = Random(seed)
        self.leads = {name: Lead(self, name) for name in self.settings.devices}
        self.devices = {name: device_of(kind, name, name, rng) for name, kind in self.types.items()}
        self.hub = Hub([(self.devices[name], self.leads[name]) for name in self.devices])
        self._hear(self.hub.start(self.now_us))
        self.table.start(self.now_us)

    # --- time ---

    def until(self, end_us: int) -> None:
        while self.now_us < end_us:
            due = [end_us, self.table.next_due_us(), self.hub.next_deadline()]
            due += [lead.tries_at_us for lead in self.leads.values() if lead.tries_at_us > self.now_us]
            self.now_us = max(self.now_us, min(at for at in due if at is not None))
            self.table.run(self.now_us)
            for name, lead in self.leads.items():
                self._carry(name, lead)
            self._hear(self.hub.tick(self.now_us))
            self.effects += self.session.advance(self.now_us)

    def after(self, seconds: float) -> None:
        self.until(self.now_us + round(seconds * 1e6))

    def play(self) -> None:
        """Run the simulated session to its end, including the last call."""
        while not self.table.over:
            self.after(5.0)
        self.after(12.0)

    # --- outcomes ---

    @property
    def outcomes(self) -> list[Outcome]:
        return [effect for effect in self.effects if isinstance(effect, Outcome)]

    @property
    def played(self) -> list[PlayedAttempt]:
        return [story for story in self.stories if isinstance(story, PlayedAttempt)]

    def codes(self, dev: str, since_us: int = 0) -> list[str]:
        """Return a device's reported health codes, including `up`."""
        health = (DeviceUp, DeviceDown, DeviceFault)
        reported = [r for r in self.readings if isinstance(r, health) and r.dev == dev and r.t >= since_us]
        return [str(reading.code) for reading in reported]

    def is_up(self, dev: str) -> bool:
        health = [r for r in self.readings if isinstance(r, DeviceUp | DeviceDown) and r.dev == dev]
        return bool(health) and isinstance(health[-1], DeviceUp)

    def fault(self, fault: str, device: str = "", **more: Any) -> FaultBegan:
        return carry_out(self.table, FaultRequest(fault=fault, device=device, **more), self.now_us)

    # --- cables ---

    def cable_at(self, port: str) -> Any:
        return next((cable for cable in self.table.cables.values() if cable.port == port), None)

    def _carry(self, name: str, lead: Lead) -> None:
        cable = self.cable_at(name)
        if lead.open_as is not None and (cable is None or cable.plugged != lead.open_as or lead.reopening):
            code = "reopening" if lead.reopening else "unplugged"
            lead.open_as, lead.reopening = None, False
            lead.tries_at_us = self.now_us + TRY_AGAIN_US
            self._post(name, LinkDown(code, f"{name} {code}"))
        if lead.open_as is None and self.now_us >= lead.tries_at_us:
            if cable is None:
                lead.tries_at_us = self.now_us + TRY_AGAIN_US
                self._post(name, LinkDown("no_port", f"{name} is not there"))
            else:
                lead.open_as = cable.plugged
                cable.outbox.clear()
                self._post(name, LinkUp(name))
        if cable is not None and cable.outbox:
            data = bytes(cable.outbox)
            cable.outbox.clear()
            if lead.open_as is not None:
                self._post(name, data)

    def _post(self, name: str, event: bytes | LinkUp | LinkDown) -> None:
        if not isinstance(event, bytes):
            if event == self.leads[name].reported:
                return
            self.leads[name].reported = event
        self._hear(self.hub.take(Arrival(name, self.now_us, event)))

    def _hear(self, readings: list[AnyReading]) -> None:
        for reading in readings:
            arrived = msgspec.structs.replace(reading, arrived=self.now_us)
            self.readings.append(arrived)
            self.effects += self.session.feed(arrived)
