"""What is known of the devices and switches since the start, for the self-test and the status."""

from typing import NamedTuple

from controller.app.board import Board
from controller.app.faults import Fault
from controller.engine.setup import Setup
from controller.model.readings import (
    AnyReading,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    Input,
    Reading,
    Switch,
    kind_of,
)

RATE_OVER_US = 5_000_000
LATE_MANY = 5
"""One late reading may be a busy moment's; so many, none of them a minute from the next, are the device's."""
LATE_HOLDS_US = 60_000_000
"""So long after its last late reading a device is taken to be in time again."""


STARTING = "starting"
"""What every device says of itself when its port has just opened: no trouble to remember."""


class Seen(NamedTuple):
    """One device: what its last word of health was, how much it sent, and when last."""

    up: bool
    says: str
    readings: int = 0
    last_us: int = 0
    trouble: str = ""
    """The code of its last trouble, which may be over."""
    per_s: float = 0.0
    """Readings a second over the last seconds in which it sent any."""
    counted_us: int = 0
    counted: int = 0


NEVER = Seen(up=False, says="not heard of yet")


class Devices:
    """Written by the core's thread, read by others."""

    def __init__(self, setup: Setup, board: Board) -> None:
        """Expect nothing yet; put on the board the faults that a device says of itself."""
        self._locking = setup.locking_switches
        self._board = board
        self._seen: dict[str, Seen] = {}
        self._open: dict[tuple[str, str], bool] = {}
        self._late: dict[str, tuple[int, int]] = {}
        """By device how many readings came late one after the other, and when the last came."""

    def saw(self, reading: AnyReading) -> None:
        """Take note of a reading."""
        if isinstance(reading, Input) and reading.dev in ("controller", "control"):
            return
        before = self._seen.get(reading.dev)
        seen = Seen(up=True, says="") if before is None else before
        match reading:
            case DeviceUp() | DeviceDown() | DeviceFault():
                seen = self._told(seen, reading)
            case Switch():
                self._open[reading.dev, reading.name] = reading.open
                self._note_switch(reading)
            case _:
                pass
        self._seen[reading.dev] = _counted(seen, reading.t if reading.arrived is None else reading.arrived)

    def _note_switch(self, switch: Switch) -> None:
        duty = f"switch {switch.name} of {switch.dev}"
        if switch.open and switch.name in self._locking:
            self._board.began(Fault("switch_open", switch.dev, f"{switch.name} is open"), duty)
        else:
            self._board.over("switch_open", duty)

    def came_late(self, reading: Reading, behind_us: int, now_us: int) -> None:
        """Take note of a reading that came too late to count."""
        count, _ = self._late.get(reading.dev, (0, 0))
        self._late[reading.dev] = count + 1, now_us
        if count + 1 == LATE_MANY:
            late_ms = behind_us / 1000
            found = (
                f"{LATE_MANY} readings within a minute, the last {late_ms:.0f} ms after it could still count"
            )
            self._board.began(Fault("readings_late", reading.dev, found), f"late {reading.dev}")

    def look(self, now_us: int) -> None:
        """Take back what nothing was heard of for a while."""
        for dev, (_, last_us) in tuple(self._late.items()):
            if now_us - last_us > LATE_HOLDS_US:
                del self._late[dev]
                self._board.over("readings_late", f"late {dev}")

    def _told(self, seen: Seen, reading: DeviceUp | DeviceDown | DeviceFault) -> Seen:
        says = f"{kind_of(reading)}: {reading.reason}" if reading.reason else kind_of(reading)
        if isinstance(reading, DeviceUp):
            self._board.clear(reading.dev)
            return seen._replace(up=True, says=says)
        code = str(reading.code)
        if (fault := _fault_of(code, reading)) is not None:
            self._board.began(fault, reading.dev)
        trouble = seen.trouble if code == STARTING else code
        return seen._replace(up=not isinstance(reading, DeviceDown) and seen.up, says=says, trouble=trouble)

    @property
    def seen(self) -> dict[str, Seen]:
        """Give every device that was heard of, by its name."""
        return self._seen.copy()

    def missing(self, wanted: frozenset[str]) -> dict[str, str]:
        """Give those that are down or were never heard of, each with what it said last."""
        seen = self.seen
        return {name: one.says for name in sorted(wanted) if not (one := seen.get(name, NEVER)).up}

    @property
    def open_switches(self) -> tuple[str, ...]:
        """Name the locking switches that are open."""
        opened = self._open.copy()
        return tuple(
            sorted(
                f"{name} on {dev}"
                for (dev, name), is_open in opened.items()
                if is_open and name in self._locking
            )
        )


def _fault_of(code: str, reading: DeviceDown | DeviceFault) -> Fault | None:
    """Give the fault that a device's own word is: results would rest on what is wrong, or it is away."""
    if code == "component":
        return Fault("device_component", reading.dev, reading.reason)
    if code == "configuration":
        return Fault("device_configuration", reading.dev, reading.reason)
    away = isinstance(reading, DeviceDown) and code != STARTING
    return Fault("device_down", reading.dev, reading.reason) if away else None


def _counted(seen: Seen, now_us: int) -> Seen:
    seen = seen._replace(readings=seen.readings + 1, last_us=now_us)
    elapsed_us = now_us - seen.counted_us
    if elapsed_us < RATE_OVER_US:
        return seen
    per_s = round((seen.readings - seen.counted) * 1e6 / elapsed_us, 1)
    return seen._replace(per_s=per_s, counted_us=now_us, counted=seen.readings)
