"""How the table's equipment stands, as a technician reads it: devices, journal, clock, settlement."""

from typing import Literal

import msgspec

from controller.console.seen import Fault
from controller.model.conversion import converter_of

CALIBRATED_CAMERAS = frozenset({"jevois", "json-camera"})
"""Cameras that tell places of their own image."""
_CALIBRATED_BY: tuple[tuple[str, Literal["walls", "wheel"]], ...] = (
    ("wall_impact", "walls"),
    ("ball_beam", "wheel"),
)
Health = Literal["ok", "faulty", "offline"]


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A device as the controller tells of it; what could time a ball is None while bets can be placed."""

    type: str = ""
    up: bool = False
    says: str = ""
    since_s: int | None = None
    """For how long it has been up or down; None for one that never was."""
    readings_per_s: float | None = None
    last_seen_s: float | None = None
    trouble: str = ""
    do: str = ""
    figures: dict[str, object] = {}
    reads: tuple[str, ...] = ()

    @property
    def calibrates(self) -> Literal["camera", "walls", "wheel"] | None:
        """Return how it is calibrated; None where it is not, or in its own program."""
        if self.type in CALIBRATED_CAMERAS:
            return "camera"
        return next((how for kind, how in _CALIBRATED_BY if kind in self.reads), None)

    @property
    def found(self) -> str:
        """Return what it reported last, without its kind and the remedy, which has a line of its own."""
        report = self.says.partition(": ")[2] or self.says
        return report.removesuffix(self.do).rstrip("; ") if self.do else report

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return the codes of what is wrong with it now."""
        told = self.figures.get("troubles")
        return tuple(map(str, told)) if isinstance(told, list | dict) else ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the self-test."""

    name: str
    ok: bool
    says: str = ""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """How far the journal is, how many rows wait for the disk, how much of the chain is verified."""

    last_row: int = 0
    waiting: int = 0
    verified: str = ""


class Publish(msgspec.Struct, frozen=True, kw_only=True):
    """Whether settlement takes outcomes, and how many it has not acknowledged."""

    ready: bool = False
    unacknowledged: int | None = None


class WallClock(msgspec.Struct, frozen=True, kw_only=True):
    """The machine's clock."""

    now: str = ""
    synchronized: bool = False


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the controller's status that a technician's page shows."""

    table: str
    ruleset: str = ""
    headline: str = ""
    started: str = ""
    session: str | int | None = None
    lock: str = "locked"
    testing: bool = False
    held_back: bool = False
    """Whether what could time a ball is left out, since bets can be placed."""
    faults: tuple[Fault, ...] = ()
    self_test: tuple[Check, ...] | None = None
    devices: dict[str, Device] = {}
    journal: Journal | None = None
    """None until the controller has opened it."""
    publish: Publish = Publish()
    wall: WallClock = WallClock()
    recording: str = ""
    late: int = 0

    def health(self, name: str) -> Health:
        """Return how a device is: offline, faulty by what it reports or by a fault, or OK."""
        device = self.devices[name]
        if not device.up:
            return "offline"
        return "faulty" if device.troubles or self.faults_of(name) else "ok"

    def faults_of(self, name: str) -> tuple[Fault, ...]:
        """Return the faults that name this device."""
        return tuple(fault for fault in self.faults if fault.where.partition(",")[0] == name)


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of raw readings; size and end are None for one of this session."""

    name: str
    bytes: int | None = None
    ended: str | None = None


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the controller's log."""

    at: str
    says: str


read_equipment = converter_of(Equipment)
"""Read a status; raises `msgspec.ValidationError`."""
read_recordings = converter_of(tuple[Recording, ...])
"""Read the list of recordings; raises `msgspec.ValidationError`."""
read_log = converter_of(tuple[Logged, ...])
"""Read the log; raises `msgspec.ValidationError`."""


def for_how_long(seconds: float) -> str:
    """Return a duration as a person says it."""
    for unit, length_s in (("day", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length_s:
            count = int(seconds // length_s)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}"
    return f"{seconds:.0f} s"
