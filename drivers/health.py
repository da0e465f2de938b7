"""What can be wrong with a device and its link, and what is wrong now.

`DEVICE_FAULTS` lists the stable fault codes with their likely causes and what to do next. The code and the
reason of every `device_down` and `device_fault` come from it; the pages in docs/devices show the same codes.
`Health` keeps the active faults. It reports each fault when it begins and, if the caller requires it, again
while the fault lasts or when its reason changes. It reports the recovery once no active fault costs readings.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp

BACKDATE_US = 100_000
"""A loss is backdated by at most this much, because the engine accepts nothing older than its watermark."""
LOSS_CLEARS_US = 500_000
"""A device that lost readings is healthy again once nothing has been lost for this long."""
FAULT_CLEARS_US = 10_000_000
"""A fault that costs no readings is over when it has not recurred for this long."""
REPEAT_US = 50_000
"""Minimum time between two reports of a continuing loss."""
REOPEN_US = 10_000_000
"""Minimum time between two attempts to reopen the port of a silent device. Some adapters recover only when
reopened; some boards restart when reopened and need seconds before they send anything."""
LINK = "link"
"""The key under which `Health` keeps the fault of a port that is not open, whatever the fault's code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A fault's likely cause, what to do about it, and when it is over."""

    likely: str
    do: str
    clears: str


_RESPONDS = "when the device responds again"
_OPEN = "when the port opens"

DEVICE_FAULTS: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its port has just opened",
        "wait ten seconds; if it does not come up, power-cycle the device, then try another cable",
        "when the device is up",
    ),
    "no_port": Cause(
        "the cable is unplugged, the device has no power, or the name in the table's file is wrong",
        "plug it in, or compare the name with the output of: ls -l /dev/serial/by-id /dev/serial/by-path; for"
        " a socket, start the program that connects to it (systemctl start table-camera)",
        _OPEN,
    ),
    "port_busy": Cause(
        "another program is using the port: a terminal, ModemManager, a second controller",
        "close that program (sudo fuser -v PORT names it); use tablectl to look at a running table",
        _OPEN,
    ),
    "no_permission": Cause(
        "the service's user is not in the port's group, or the unit's DeviceAllow was resolved too early",
        "ls -l PORT must show group dialout; load the driver at boot (modules-load.d), restart the service",
        _OPEN,
    ),
    "unplugged": Cause(
        "the cable was unplugged, or USB lost the device for a moment (power, interference)",
        "check the plug and the cable; if it comes and goes, look in dmesg for USB resets and undervoltage",
        _OPEN,
    ),
    "stuck_writer": Cause(
        "the device has stopped reading: it hangs, or flow control is blocking it",
        "power-cycle the device; check that its port uses no flow control",
        "when the reopened port accepts bytes",
    ),
    "reopening": Cause(
        "the device was silent or sent nothing readable, so its port is reopened",
        "wait ten seconds; if it stays silent, power-cycle the device, then try another cable",
        _OPEN,
    ),
    "settings_changed": Cause(
        "another program set the port's speed or mode: stty, a terminal, ModemManager",
        "the port is reopened with the table's settings; find that program (sudo fuser -v PORT names it)",
        _OPEN,
    ),
    "port_fault": Cause(
        "the operating system refused to read, write or set up the port",
        "look at dmesg; unplug the device and plug it in again",
        _OPEN,
    ),
    "defect": Cause(
        "a defect in the controller's driver",
        "send the message and the bundle that `tablectl doctor --bundle FILE` writes; the port is reopened"
        " automatically",
        "when the device is up again",
    ),
    "no_hello": Cause(
        "the device has no power or no firmware, the speed is wrong, or RX and TX are swapped",
        "look at the port with a terminal: a node announces itself every second in readable text",
        "when the node says hello",
    ),
    "wrong_device": Cause(
        "two cables were swapped, or a board was replaced by one with another name",
        "swap the cables back, or write the board's name into the table's file",
        "when the expected node says hello",
    ),
    "wrong_version": Cause(
        "the firmware uses another version of the link",
        "install the firmware that belongs to this controller",
        "when the node says hello with the right version",
    ),
    "wrong_firmware": Cause(
        "the board was flashed with files other than those approved for this table",
        "flash the approved files, or have the new ones approved under `firmware` in the table's file",
        "when the node says hello with approved files",
    ),
    "wrong_key": Cause(
        "the board has another key than the table, or it is not the board that it claims to be",
        "find out who changed the board; only then write the key to both again",
        "when the node says hello with the right key",
    ),
    "no_sync": Cause(
        "most of the node's answers are lost, or its clock is far off",
        "try another cable; if that does not help, restart the board, then replace it",
        "when the node's clock has been measured",
    ),
    "silent": Cause(
        "the device hangs, or its USB adapter stopped working without an error",
        "the port is reopened automatically; if that does not help, power-cycle the device",
        _RESPONDS,
    ),
    "deaf": Cause(
        "the wire from the table to the device is broken, or the device no longer reads",
        "check TX on the table's side; power-cycle the device",
        _RESPONDS,
    ),
    "restarted": Cause(
        "the device was reset: power, watchdog, or a program that opened the port",
        "do nothing the first time; if it happens again, replace its supply or USB cable, then the board",
        "when the device is up again",
    ),
    "clock_step": Cause(
        "the device's clock was set, or runs at a wrong speed",
        "restart the board; if it happens again, replace it: its crystal or its firmware is not good enough",
        "when the clock has been measured again",
    ),
    "sentences_lost": Cause(
        "noise on the line, a full buffer in the device or its adapter, or a table that was busy",
        "use a shorter or shielded cable, or a separate port; the readings of that moment are missing",
        "half a second after the last loss",
    ),
    "unplaced": Cause(
        "a wall board detected an impact and could not locate it: too soft, two at once, or a sensor that"
        " failed",
        "run the board's self-test; if it happens again, set its speed_m_s and its comparators' thresholds",
        "at once; the impact is missing",
    ),
    "babbling": Cause(
        "a sensor that oscillates, a threshold that is too low, or broken firmware",
        "check what the sensor sends, and raise its threshold; the excess was discarded",
        "half a second after the excess stops",
    ),
    "bad_reading": Cause(
        "the firmware or the script sends a kind, a field or a value that the table does not know",
        "install the firmware or script given on its page in docs/devices; a reading was lost",
        "half a second after the last one",
    ),
    "bad_clock": Cause(
        "the device's timestamps can't be right",
        "correct the firmware: a reading's timestamp must be the device's clock at the moment of the event",
        "half a second after the last one",
    ),
    "forged": Cause(
        "another sender is on the line, or earlier messages are repeated",
        "look for a board or a logger on the cable; what it sent was not used",
        "ten seconds after the last one",
    ),
    "noisy_line": Cause(
        "a bad cable or contact, a wrong speed, or interference",
        "change the cable; keep it away from motors and mains; compare the speed on both sides",
        "after ten seconds without damaged lines",
    ),
    "slow_link": Cause(
        "a USB adapter that holds bytes back before it sends them",
        "for FTDI chips set latency_timer to 1 (docs/devices/serial.md has the udev rule)",
        "when answers come faster",
    ),
    "unanswered": Cause(
        "the device receives nothing, or does not know the command",
        "change the cable; if that does not help, restart the board, then install its firmware again",
        "ten seconds after the last one",
    ),
    "lacks": Cause(
        "the firmware is older than the table's file, or the file lists kinds that it can't send",
        "update the firmware, or remove the kind from the device's `reads`",
        "when the device says hello with every kind in `reads`",
    ),
}
"""Every fault code of a device."""


Causes = Mapping[str, Cause]


def reason_for(code: str, seen: str, causes: Causes = DEVICE_FAULTS) -> str:
    """Return one line: what was seen and, if the code has an entry, what to do about it."""
    return f"{seen}; {causes[code].do}" if code in causes else seen


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that began at `since_us`; `down` if readings are or may be missing."""

    code: str
    seen: str
    down: bool
    since_us: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """The recovery of a device: no active fault costs readings any more."""

    t_us: int
    seen: str


Change = Fault | Recovered
"""A reported change in a device's health."""


@dataclass(slots=True)
class _ActiveFault:
    fault: Fault
    reported_us: int
    clears_us: int | None


class Health:
    """The active faults, by code and, if a device has several inputs, by input."""

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
        """Record a fault; return what is to be reported.

        Args:
            now_us: The present time.
            code: The fault's code.
            seen: What was seen, for the report.
            down: Whether readings are or may be missing.
            source: The input concerned, if the device has several.
            since_us: When the fault began, if before now.
            clears_us: When the fault ends by itself; None if it doesn't.
            repeat_us: An active fault is reported again once this much time has passed since its last report.
            on_change: Whether an active fault is reported again whenever its code or `seen` changes.
        """
        since = now_us if since_us is None else min(now_us, max(since_us, now_us - BACKDATE_US, 0))
        fault = Fault(code, seen, down, since)
        return self._update(
            (code, source), fault, now_us, clears_us=clears_us, repeat_us=repeat_us, on_change=on_change
        )

    def record_closed(self, now_us: int, code: str, seen: str) -> list[Change]:
        """Record that the port is not open; it is reported again whenever the reason changes."""
        return self._update((LINK, ""), Fault(code, seen, True, now_us), now_us, on_change=True)

    def record_loss(self, now_us: int, since_us: int, code: str, seen: str) -> list[Change]:
        """Record that readings since `since_us` were lost; the fault is over once none is lost for
        `LOSS_CLEARS_US`."""
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
        """Record a fault that costs no readings; it is over if it does not recur for `FAULT_CLEARS_US`."""
        return self.record(now_us, code, seen, down=False, clears_us=now_us + FAULT_CLEARS_US)

    def clear(self, now_us: int, *codes: str, seen: str, source: str = "") -> list[Change]:
        """End these faults (all if no code is given); return what is to be reported."""
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
        """Remove these faults (all if no code is given) without a report."""
        for code, source in list(self._active):
            if code in codes or not codes:
                del self._active[code, source]

    def next_deadline(self) -> int | None:
        """Return when the next fault ends by itself."""
        return min((s.clears_us for s in self._active.values() if s.clears_us is not None), default=None)

    def tick(self, now_us: int) -> list[Change]:
        """End the faults that are due to end by themselves; return what is to be reported."""
        due = [key for key, s in self._active.items() if s.clears_us is not None and s.clears_us <= now_us]
        changes: list[Change] = []
        for source in dict.fromkeys(source for _, source in due):
            codes = [code for code, fault_source in due if fault_source == source]
            changes += self.clear(
                now_us, *codes, seen=f"{source} works again" if source else "works again", source=source
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
    """Decides when a port is reopened, and limits how often a silent device's port is reopened."""

    def __init__(self) -> None:
        self.due_us = 0
        """The port is not reopened before this time."""
        self._requested = False

    def postpone(self, now_us: int) -> None:
        """Restart the waiting period: the port has just been opened, or a greeting sent."""
        self.due_us = now_us + REOPEN_US

    def request(self, now_us: int) -> None:
        """Request that the port be reopened, unless the waiting period is still running."""
        if now_us >= self.due_us:
            self.postpone(now_us)
            self._requested = True

    def request_now(self) -> None:
        """Request that the port be reopened, even during the waiting period."""
        self._requested = True

    def take(self) -> bool:
        """Return whether the port is to be reopened, and clear the request."""
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
    """Return changes in a link's health as readings of the devices that are connected through it.

    `stamp` converts a time to a reading's timestamp; a device whose timestamps must differ supplies its own.
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
