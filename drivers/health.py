"""The fault codes of devices and their links, and the tracking of active faults.

`DEVICE_FAULTS` lists the stable fault codes with likely causes and remedies; docs/devices lists the same
codes. `Health` tracks the active faults of a device and reports their beginning and the device's recovery.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp

BACKDATE_US = 100_000
"""Maximum time by which a loss is backdated. The engine rejects readings older than its watermark."""
LOSS_CLEARS_US = 500_000
"""Time without a further loss after which a loss of readings is over."""
FAULT_CLEARS_US = 10_000_000
"""Time without recurrence after which a fault that costs no readings is over."""
REPEAT_US = 50_000
"""Minimum time between two reports of a continuing loss."""
REOPEN_US = 10_000_000
"""Minimum time between two attempts to reopen the port of a silent device. Some adapters recover only after
their port is reopened. Some boards restart when their port is reopened, and send nothing for several
seconds."""
LINK = "link"
"""The key under which the fault of a closed port is stored, in place of the fault's code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A fault's likely cause, its remedy and the condition that clears it."""

    likely: str
    do: str
    clears: str


_RESPONDS = "when the device responds again"
_OPEN = "when the port opens"

DEVICE_FAULTS: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its port has just opened",
        "wait ten seconds; if the device does not start, power-cycle it, then try another cable",
        "when the device is up",
    ),
    "no_port": Cause(
        "the cable is unplugged, the device has no power, or the name in the table's file is incorrect",
        "plug in the cable, or compare the name with the output of: ls -l /dev/serial/by-id"
        " /dev/serial/by-path; for a socket, start the program that connects to it (systemctl start"
        " table-camera)",
        _OPEN,
    ),
    "port_busy": Cause(
        "another program is using the port, such as a terminal, ModemManager or a second controller",
        "close that program (sudo fuser -v PORT names it); use tablectl to look at a running table",
        _OPEN,
    ),
    "no_permission": Cause(
        "the service's user is not in the port's group, or the unit's DeviceAllow was resolved too early",
        "check that ls -l PORT shows group dialout; load the driver at boot (modules-load.d) and restart the"
        " service",
        _OPEN,
    ),
    "unplugged": Cause(
        "the cable was unplugged, or USB lost the device for a moment (power, interference)",
        "check the plug and the cable; if the fault recurs, look in dmesg for USB resets and undervoltage",
        _OPEN,
    ),
    "stuck_writer": Cause(
        "the device has stopped reading because it has hung, or flow control is blocking it",
        "power-cycle the device; check that its port uses no flow control",
        "when the reopened port accepts bytes",
    ),
    "reopening": Cause(
        "the device was silent or sent unreadable data, so its port is being reopened",
        "wait ten seconds; if the device stays silent, power-cycle it, then try another cable",
        _OPEN,
    ),
    "settings_changed": Cause(
        "another program, such as stty, a terminal or ModemManager, changed the port's speed or mode",
        "find that program (sudo fuser -v PORT names it); the port is reopened with the table's settings",
        _OPEN,
    ),
    "port_fault": Cause(
        "the operating system refused to read, write or set up the port",
        "check the output of dmesg; unplug the device and plug it in again",
        _OPEN,
    ),
    "defect": Cause(
        "a defect in the controller's driver",
        "send the message and the bundle that `tablectl doctor --bundle FILE` writes; the port is reopened"
        " automatically",
        "when the device is up again",
    ),
    "no_hello": Cause(
        "the device has no power or no firmware, the speed is incorrect, or RX and TX are swapped",
        "connect a terminal to the port; a node announces itself every second in readable text",
        "when the node sends its hello",
    ),
    "wrong_device": Cause(
        "two cables were swapped, or a board was replaced by a board with another name",
        "swap the cables back, or write the board's name into the table's file",
        "when the expected node sends its hello",
    ),
    "wrong_version": Cause(
        "the firmware uses an unsupported version of the link, or its hello is invalid",
        "install the firmware of this controller's release",
        "when the node sends a hello with the supported version",
    ),
    "wrong_firmware": Cause(
        "the board was flashed with files that are not approved for this table",
        "flash the approved files, or have the new files approved under `firmware` in the table's file",
        "when the node sends a hello with the id of approved files",
    ),
    "wrong_key": Cause(
        "the board's key differs from the table's, or another board is using its name",
        "find out who changed the board, and then write the key to the board and the table again",
        "when the node sends a hello sealed with the table's key",
    ),
    "no_sync": Cause(
        "most of the node's answers are lost, or its clock is too inaccurate",
        "try another cable; if that does not help, restart the board, then replace it",
        "when the node's clock has been measured",
    ),
    "silent": Cause(
        "the device has hung, or its USB adapter has stopped working without reporting an error",
        "the port is reopened automatically; if that does not help, power-cycle the device",
        _RESPONDS,
    ),
    "deaf": Cause(
        "the wire from the table to the device is broken, or the device no longer reads its input",
        "check TX on the table's side; power-cycle the device",
        _RESPONDS,
    ),
    "restarted": Cause(
        "the device was reset by a loss of power, its watchdog, or a program that opened the port",
        "no action is needed the first time; if the fault recurs, replace the supply or USB cable, then the"
        " board",
        "when the device is up again",
    ),
    "clock_step": Cause(
        "the device's clock was set, or its rate is inaccurate",
        "restart the board; if the fault recurs, replace the board, because its crystal or firmware is"
        " inadequate",
        "when the clock has been measured again",
    ),
    "sentences_lost": Cause(
        "noise on the line, a full buffer in the device or its adapter, or a table that was busy",
        "use a shorter or shielded cable, or a separate port; the lost readings cannot be recovered",
        "half a second after the last loss",
    ),
    "unplaced": Cause(
        "a wall board could not locate an impact, because it was too soft, two impacts coincided, or a sensor"
        " failed",
        "run the board's self-test; if the fault recurs, set its speed_m_s and its comparators' thresholds",
        "at once, but the impact remains unrecorded",
    ),
    "babbling": Cause(
        "a sensor that oscillates, a threshold that is too low, or broken firmware",
        "check the sensor's readings, and raise its threshold; the excess readings were discarded",
        "half a second after the last excess reading",
    ),
    "bad_reading": Cause(
        "the firmware or the script sent a kind, a field or a value that the table does not support",
        "install the firmware or script given on the device's page in docs/devices; a reading was lost",
        "half a second after the last occurrence",
    ),
    "bad_clock": Cause(
        "the device's timestamps are impossible",
        "correct the firmware; it must timestamp each reading with the device's clock at the moment of the"
        " event",
        "half a second after the last occurrence",
    ),
    "forged": Cause(
        "another sender is on the line, or earlier messages are being replayed",
        "look for a board or a logger on the cable; its messages were discarded",
        "ten seconds after the last occurrence",
    ),
    "noisy_line": Cause(
        "a bad cable or contact, an incorrect speed, or interference",
        "change the cable; keep it away from motors and mains; compare the speed on both sides",
        "after ten seconds without damaged lines",
    ),
    "slow_link": Cause(
        "a USB adapter that buffers bytes before it sends them",
        "for FTDI chips, set latency_timer to 1 (docs/devices/serial.md has the udev rule)",
        "when the device answers faster",
    ),
    "unanswered": Cause(
        "the device receives no data, or does not support the command",
        "change the cable; if that does not help, restart the board, then install its firmware again",
        "ten seconds after the last occurrence",
    ),
    "lacks": Cause(
        "the firmware is older than the table's file, or the file lists kinds that the firmware cannot send",
        "update the firmware, or remove the kind from the device's `reads`",
        "when the device sends a hello with every kind in `reads`",
    ),
}
"""Every fault code of a device."""


Causes = Mapping[str, Cause]


def reason_for(code: str, seen: str, causes: Causes = DEVICE_FAULTS) -> str:
    """Return the description of a fault and, if its code has an entry, the remedy."""
    return f"{seen}; {causes[code].do}" if code in causes else seen


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that began at `since_us`. If `down` is true, readings are missing or might be."""

    code: str
    seen: str
    down: bool
    since_us: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """The recovery of a device, which no longer has a fault that costs readings."""

    t_us: int
    seen: str


Change = Fault | Recovered
"""A change in a device's health."""


@dataclass(slots=True)
class _ActiveFault:
    fault: Fault
    reported_us: int
    clears_us: int | None


class Health:
    """A device's active faults, by code and, if the device has several inputs, by input."""

    def __init__(self) -> None:
        self._active: dict[tuple[str, str], _ActiveFault] = {}

    def __contains__(self, code: str) -> bool:
        return self.is_active(code)

    def is_active(self, code: str, source: str = "") -> bool:
        """Return whether this fault is active."""
        return (code, source) in self._active

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the active faults."""
        return tuple(code for code, _ in self._active)

    @property
    def fault_labels(self) -> list[str]:
        """The active faults, each as `code` or `code input`."""
        return [f"{code} {source}".rstrip() for code, source in self._active]

    def record(
        self,
        now_us: int,
        code: str,
        seen: str,
        *,
        down: bool,
        source: str = "",
        since_us: int | None = None,
        clears_us: int | None = None,
        repeat_us: int | None = None,
        on_change: bool = False,
    ) -> list[Change]:
        """Record a fault and return the changes to report.

        Args:
            now_us: The present time.
            code: The fault's code.
            seen: The fault's description.
            down: Whether readings are missing or might be.
            source: The input concerned, if the device has several inputs.
            since_us: The beginning of the fault; by default, the present time.
            clears_us: The time at which the fault ends automatically; None if it does not.
            repeat_us: Minimum time between two reports of an active fault; None for a single report.
            on_change: Whether to report an active fault again when its code or description changes.
        """
        since = now_us if since_us is None else min(now_us, max(since_us, now_us - BACKDATE_US, 0))
        fault = Fault(code, seen, down, since)
        return self._update(
            (code, source), fault, now_us, clears_us=clears_us, repeat_us=repeat_us, on_change=on_change
        )

    def record_closed(self, now_us: int, code: str, seen: str) -> list[Change]:
        """Record that the port is not open; report it again when the code or description changes."""
        return self._update((LINK, ""), Fault(code, seen, True, now_us), now_us, on_change=True)

    def record_loss(self, now_us: int, since_us: int, code: str, seen: str) -> list[Change]:
        """Record a loss of readings since `since_us`. The fault ends `LOSS_CLEARS_US` after the last loss."""
        return self.record(
            now_us,
            code,
            seen,
            down=True,
            since_us=since_us,
            clears_us=now_us + LOSS_CLEARS_US,
            repeat_us=REPEAT_US,
        )

    def record_minor(self, now_us: int, code: str, seen: str) -> list[Change]:
        """Record a fault that costs no readings. It ends `FAULT_CLEARS_US` after its last occurrence."""
        return self.record(now_us, code, seen, down=False, clears_us=now_us + FAULT_CLEARS_US)

    def clear(self, now_us: int, *codes: str, seen: str, source: str = "") -> list[Change]:
        """End these faults, or all faults if no code is given, and return the changes to report."""
        keys = [(code, source) for code in codes] or list(self._active)
        ended = [self._active.pop(key) for key in keys if key in self._active]
        if not ended:
            return []
        if not self._active:
            return [Recovered(now_us, seen)]
        rest = [active.fault for active in self._active.values()]
        if not any(active.fault.down for active in ended) or any(fault.down for fault in rest):
            return []
        return [Recovered(now_us, seen), *(Fault(r.code, r.seen, r.down, now_us) for r in rest)]

    def forget(self, *codes: str) -> None:
        """Remove these faults, or all faults if no code is given, without a report."""
        for code, source in list(self._active):
            if code in codes or not codes:
                del self._active[code, source]

    def next_deadline(self) -> int | None:
        """Return when the next fault ends automatically."""
        return min((s.clears_us for s in self._active.values() if s.clears_us is not None), default=None)

    def tick(self, now_us: int) -> list[Change]:
        """End the faults whose time has expired, and return the changes to report."""
        due = [key for key, s in self._active.items() if s.clears_us is not None and s.clears_us <= now_us]
        changes: list[Change] = []
        for source in dict.fromkeys(source for _, source in due):
            codes = [code for code, fault_source in due if fault_source == source]
            changes += self.clear(
                now_us,
                *codes,
                seen=f"{source} is working again" if source else "working again",
                source=source,
            )
        return changes

    def _update(
        self,
        key: tuple[str, str],
        fault: Fault,
        now_us: int,
        *,
        clears_us: int | None = None,
        repeat_us: int | None = None,
        on_change: bool = False,
    ) -> list[Change]:
        active = self._active.get(key)
        if active is not None:
            active.clears_us = clears_us
            before = active.fault
            changed = on_change and (before.code, before.seen) != (fault.code, fault.seen)
            if not changed and (repeat_us is None or now_us - active.reported_us < repeat_us):
                return []
        self._active[key] = _ActiveFault(fault, now_us, clears_us)
        return [fault]


class PortReopening:
    """Requests to reopen a port, with a minimum time between them."""

    def __init__(self) -> None:
        self.due_us = 0
        """End of the waiting period."""
        self._requested = False

    def postpone(self, now_us: int) -> None:
        """Restart the waiting period. Called when the port opens or a greeting is sent."""
        self.due_us = now_us + REOPEN_US

    def request(self, now_us: int) -> None:
        """Request that the port be reopened, if the waiting period has expired."""
        if now_us >= self.due_us:
            self.postpone(now_us)
            self._requested = True

    def request_now(self) -> None:
        """Request that the port be reopened, even during the waiting period."""
        self._requested = True

    def take(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        requested, self._requested = self._requested, False
        return requested


def build_readings(
    changes: Iterable[Change],
    devices: Iterable[str],
    now_us: int,
    *,
    causes: Causes = DEVICE_FAULTS,
    stamp: Callable[[int], int] = int,
) -> list[AnyReading]:
    """Return changes in a link's health as readings from the link's devices.

    `stamp` converts a time to a reading's timestamp, for devices whose timestamps must be unique.
    """
    names = tuple(devices)
    return [_build_reading(change, dev, now_us, causes, stamp) for change in changes for dev in names]


def _build_reading(
    change: Change, dev: str, now_us: int, causes: Causes, stamp: Callable[[int], int]
) -> AnyReading:
    if isinstance(change, Recovered):
        t_us = stamp(change.t_us)
        return DeviceUp(t=t_us, dev=dev, code="up", reason=change.seen, arrived=max(t_us, now_us))
    t_us = stamp(change.since_us)
    kind = DeviceDown if change.down else DeviceFault
    reason = reason_for(change.code, change.seen, causes)
    return kind(t=t_us, dev=dev, code=change.code, reason=reason, arrived=max(t_us, now_us))
