"""The state of the devices, derived from their readings.

It includes their health, their rates, late readings, open switches and stuck buttons.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from controller.app.faults import ActiveFaults, Fault
from controller.machines.setup import Setup
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
from drivers.health import DEVICE_FAULTS, Causes

RATE_WINDOW_US = 5_000_000
MAX_LATE = 5
"""The number of late readings, each at most a minute after the previous one, at which a fault is reported. A
brief peak in load causes fewer."""
LATE_CLEARS_US = 60_000_000
"""The time without a late reading after which the fault ends."""


STARTING = "starting"
"""The code that every device reports after its port has opened; not a fault."""


SWITCHES_WITHIN_US = 10_000_000
"""Maximum time from a board's connection to the reports of its switches; typically 1 s (NODE-LINK)."""


class DeviceActivity(NamedTuple):
    """One device's last health report and the counts of its readings."""

    up: bool
    message: str
    readings: int = 0
    last_us: int = 0
    fault_code: str = ""
    """The code of the device's last fault, even if the fault has ended."""
    per_s: float = 0.0
    """Readings per second in the last complete window."""
    counted_us: int = 0
    counted: int = 0
    since_us: int = 0
    """The time at which the device last came up or went down."""


_NO_DEVICES = frozenset({"controller", "control", "settlement"})
"""Sources of inputs that are not devices of the table."""
NEVER = DeviceActivity(up=False, message="no data received yet")
"""The state of a device that has not reported yet."""


class Devices:
    """The state of all devices, which only the core's thread may change and any thread may read."""

    def __init__(
        self, setup: Setup, faults: ActiveFaults, causes: Mapping[str, Causes] = MappingProxyType({})
    ) -> None:
        """Start with no reports; faults that devices report are added to `faults`.

        `causes` maps each device to the faults that its type can report, with their remedies.
        """
        self._causes = causes
        self._locking = setup.locking_switches
        self._faults = faults
        self._seen: dict[str, DeviceActivity] = {}
        self._open: dict[tuple[str, str], bool] = {}
        self._late: dict[str, tuple[int, int]] = {}
        """The number of late readings and the time of the last one, by device."""
        self._buttons = Buttons(faults)

    def note(self, reading: AnyReading) -> None:
        """Record a reading."""
        if isinstance(reading, Input) and reading.dev in _NO_DEVICES:
            return
        before = self._seen.get(reading.dev)
        seen = DeviceActivity(up=True, message="") if before is None else before
        match reading:
            case DeviceUp() | DeviceDown() | DeviceFault():
                seen = self._updated(seen, reading)
            case Switch():
                self._open[reading.dev, reading.name] = reading.open
                self._note_switch(reading)
            case _:
                pass
        now_us = reading.t if reading.arrived is None else reading.arrived
        if isinstance(reading, Input):
            self._buttons.note(reading, now_us)
        if before is None or before.up != seen.up:
            seen = seen._replace(since_us=now_us)
        self._seen[reading.dev] = _update_rate(seen, now_us)

    def _note_switch(self, switch: Switch) -> None:
        detector = f"switch {switch.name} of {switch.dev}"
        if switch.open and switch.name in self._locking:
            self._faults.report(Fault("switch_open", switch.dev, f"{switch.name} is open"), detector)
        else:
            self._faults.clear("switch_open", detector)

    def note_late(self, reading: Reading, behind_us: int, now_us: int) -> None:
        """Record a reading that arrived too late to count."""
        count, _ = self._late.get(reading.dev, (0, 0))
        self._late[reading.dev] = count + 1, now_us
        if count + 1 >= MAX_LATE:
            found = f"{count + 1} readings, the last {behind_us / 1000:.0f} ms too late to count"
            self._faults.report(Fault("readings_late", reading.dev, found), f"late {reading.dev}")

    def expire(self, now_us: int) -> None:
        """Clear the faults for late readings and stuck buttons that have not recurred."""
        self._buttons.expire(now_us)
        for dev, (_, last_us) in tuple(self._late.items()):
            if now_us - last_us > LATE_CLEARS_US:
                del self._late[dev]
                self._faults.clear("readings_late", f"late {dev}")

    def _updated(self, seen: DeviceActivity, reading: DeviceUp | DeviceDown | DeviceFault) -> DeviceActivity:
        message = f"{kind_of(reading)}: {reading.reason}" if reading.reason else kind_of(reading)
        if isinstance(reading, DeviceUp):
            # Only a restart of the device, during which it is down, clears the fault of a failed part.
            self._faults.clear_all(reading.dev, but=() if not seen.up else (FAILED_PART,))
            return seen._replace(up=True, message=message)
        code = str(reading.code)
        if (fault := _build_fault(code, reading, self._causes.get(reading.dev, DEVICE_FAULTS))) is not None:
            if fault.code != DEVICE_DOWN and isinstance(reading, DeviceDown):
                self._faults.clear(DEVICE_DOWN, reading.dev)
            self._faults.report(fault, reading.dev)
        fault_code = seen.fault_code if code == STARTING else code
        return seen._replace(
            up=not isinstance(reading, DeviceDown) and seen.up, message=message, fault_code=fault_code
        )

    @property
    def seen(self) -> dict[str, DeviceActivity]:
        """The devices that have reported, by name."""
        return self._seen.copy()

    def missing(self, required: frozenset[str]) -> dict[str, str]:
        """Return the devices that are down or have never reported, each with its last report."""
        seen = self.seen
        return {name: one.message for name in sorted(required) if not (one := seen.get(name, NEVER)).up}

    def unreported_switches(
        self, switches: Mapping[str, frozenset[str] | None], now_us: int
    ) -> dict[str, str]:
        """Return the devices that have not reported all of these switches, with the missing switches.

        None means that the names of a device's switches are unknown. Such a device passes once it has
        reported one switch, or has been up for `SWITCHES_WITHIN_US`.
        """
        reported, seen = self._open.copy(), self.seen
        found: dict[str, str] = {}
        for dev, names in sorted(switches.items()):
            if names is None and not any(by == dev for by, _ in reported):
                activity = seen.get(dev, NEVER)
                if not activity.up or now_us - activity.since_us < SWITCHES_WITHIN_US:
                    found[dev] = "any"
            elif missing := sorted(name for name in names or () if (dev, name) not in reported):
                found[dev] = ", ".join(missing)
        return found

    @property
    def open_switches(self) -> tuple[str, ...]:
        """The open locking switches, each with its device."""
        opened = self._open.copy()
        return tuple(
            sorted(
                f"{name} on {dev}"
                for (dev, name), is_open in opened.items()
                if is_open and name in self._locking
            )
        )


DEVICE_DOWN = "device_down"
FAILED_PART = "device_component"
AMOUNTS_TO = {
    "component": FAILED_PART,
    "self_test": FAILED_PART,
    "configuration": "device_configuration",
    "rotor_speed": "device_doubtful",
}
"""The faults more serious than a missing device, by reported code; `self_test` includes `self_test_N`."""
_NUMBERED = re.compile(r"(?<=^self_test)_[0-9]+$")


def _build_fault(code: str, reading: DeviceDown | DeviceFault, causes: Causes) -> Fault | None:
    """Return the fault for a device's report, if any, with the specific cause and remedy."""
    amounts_to = AMOUNTS_TO.get(_NUMBERED.sub("", code))
    if amounts_to is None:
        if isinstance(reading, DeviceFault) or code == STARTING:
            return None
        amounts_to = DEVICE_DOWN
    cause = causes.get(code)
    if cause is None:
        return Fault(amounts_to, reading.dev, reading.reason)
    return Fault(
        amounts_to, reading.dev, reading.reason.removesuffix(f"; {cause.do}"), cause.likely, cause.do
    )


def _update_rate(seen: DeviceActivity, now_us: int) -> DeviceActivity:
    seen = seen._replace(readings=seen.readings + 1, last_us=now_us)
    elapsed_us = now_us - seen.counted_us
    if elapsed_us < RATE_WINDOW_US:
        return seen
    per_s = round((seen.readings - seen.counted) * 1e6 / elapsed_us, 1)
    return seen._replace(per_s=per_s, counted_us=now_us, counted=seen.readings)


STUCK_AFTER = 12
REPEAT_US = 500_000
"""Maximum interval between repeated inputs; after `STUCK_AFTER` such inputs, a fault is reported."""
FREE_AFTER_US = 10_000_000
"""The time without an input after which the fault ends."""


_encode = msgspec.json.Encoder().encode


class _PressedButton(NamedTuple):
    times: int
    last_us: int
    detector: str


class Buttons:
    """A detector of stuck buttons on a table's consoles; not thread-safe."""

    def __init__(self, faults: ActiveFaults) -> None:
        self._faults = faults
        self._pressed: dict[bytes, _PressedButton] = {}
        """The buttons, keyed by the encoded input without its times. Each seat has separate entries."""

    def note(self, entered: Input, now_us: int) -> None:
        """Record an input from a console."""
        key = _encode(msgspec.structs.replace(entered, t=0, arrived=None))
        before = self._pressed.get(key)
        repeated = before is not None and now_us - before.last_us <= REPEAT_US
        count = before.times + 1 if before is not None and repeated else 1
        detector = _button_detector(entered)
        self._pressed[key] = _PressedButton(count, now_us, detector)
        if count >= STUCK_AFTER:
            found = f"input {entered.name} sent {count} times without a pause"
            self._faults.report(Fault("button_stuck", entered.dev, found), detector)

    def expire(self, now_us: int) -> None:
        """Clear the faults of buttons that have sent nothing for `FREE_AFTER_US`."""
        for key, pressed in tuple(self._pressed.items()):
            if now_us - pressed.last_us > FREE_AFTER_US:
                del self._pressed[key]
                self._faults.clear("button_stuck", pressed.detector)


def _button_detector(pressed: Input) -> str:
    seat = "" if pressed.seat is None else f" at seat {pressed.seat}"
    return f"button {pressed.name}{seat} of {pressed.dev}"
