"""What can be wrong with a device and its link, and what is wrong now.

`TROUBLES` has the stable codes with their likely causes and what to do next: the code and the reason of every
`device_down` and `device_fault` come from there, and the pages of docs/devices show the same table. `Health`
reports each fault once when it begins and once when all of them are over.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp

BACKDATE_US = 100_000
"""How far a loss can be backdated; the engine accepts nothing older than its watermark."""
CLEAN_US = 500_000
"""After losing readings a device is healthy again once nothing was lost for this long."""
FAULT_US = 10_000_000
"""A fault that costs no reading is over when it has not recurred for this long."""
AGAIN_US = 50_000
"""A continuing loss is reported again, at most this often."""
REOPEN_US = 10_000_000
"""A port whose device is silent is reopened this often: some adapters wake up only then, and some boards
restart with it and need seconds before they speak."""
LINK = "link"
"""The key of the fault of a port that is not open, whatever its code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of trouble: its usual cause, what to do, and when it is over."""

    likely: str
    do: str
    clears: str


_ANSWER = "when the device answers again"
_OPEN = "when the port opens"

TROUBLES: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its port has just opened",
        "wait ten seconds; if it does not come up, power-cycle the device, then try another cable",
        "when the device is up",
    ),
    "no_port": Cause(
        "the cable is out, the device has no power, or the name in the table's file is wrong",
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
        "the cable or the device was pulled, or USB lost it for a moment (power, interference)",
        "check the plug and the cable; if it comes and goes look at dmesg for USB resets and undervoltage",
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
        "a defect of the controller's driver",
        "send the message with `tablectl doctor --bundle FILE`; its port is reopened automatically",
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
        "when the node says hello in the right version",
    ),
    "wrong_firmware": Cause(
        "the board was flashed with other files than those that were approved for this table",
        "flash the approved files, or have the new ones approved under `firmware` in the table's file",
        "when the node says hello with approved files",
    ),
    "wrong_key": Cause(
        "the board has another key than the table, or it is not the board that it claims to be",
        "find out who changed the board; only then write the key to both again",
        "when the node says hello under the right key",
    ),
    "no_sync": Cause(
        "most of the node's answers are lost, or its clock is far off",
        "try another cable; if that does not help, restart the board, then replace it",
        "when the node's clock is known",
    ),
    "silent": Cause(
        "the device hangs, or its USB adapter died without an error",
        "the port is reopened automatically; if that does not help, power-cycle the device",
        _ANSWER,
    ),
    "deaf": Cause(
        "the wire from the table to the device is broken, or the device no longer reads",
        "check TX on the table's side; power-cycle the device",
        _ANSWER,
    ),
    "restarted": Cause(
        "the device was reset: power, watchdog, or a program that opened the port",
        "nothing, the first time; if it happens again, replace its supply or its USB cable, then the board",
        "when the device is up again",
    ),
    "clock_step": Cause(
        "the device's clock was set, or runs at a wrong speed",
        "restart the board; if it happens again, replace it: its crystal or its firmware is not good enough",
        "when the clock is known again",
    ),
    "sentences_lost": Cause(
        "noise on the line, a full buffer in the device or its adapter, or a table that was busy",
        "use a shorter or shielded cable, or a separate port; the readings of that moment are missing",
        "half a second after the last loss",
    ),
    "unplaced": Cause(
        "a wall board detected an impact and could not locate it: too soft, two at once, or a sensor that"
        " hears nothing",
        "run the board's self-test; if it happens again, set its speed_m_s and its comparators' thresholds",
        "at once; the impact is missing",
    ),
    "babbling": Cause(
        "a sensor that oscillates, a threshold that is too low, or broken firmware",
        "look at what it sends and raise its threshold; the excess was discarded",
        "half a second after it falls quiet",
    ),
    "bad_reading": Cause(
        "the firmware or the script sends a kind, a field or a value that the table does not know",
        "install the firmware or script given on its page in docs/devices; a reading was lost",
        "half a second after the last one",
    ),
    "bad_clock": Cause(
        "the device stamps readings with a time that can't be right",
        "correct the firmware: a reading carries the clock of the moment it was seen",
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
        "ten seconds without damage",
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
        "update the firmware, or take the kind out of the device's reads",
        "when the device says hello with it",
    ),
}
"""Every fault code of a device."""


Causes = Mapping[str, Cause]


def reason_for(code: str, seen: str, causes: Causes = TROUBLES) -> str:
    """Return what was seen and, if the code has an entry, what to do about it, in one line."""
    return f"{seen}; {causes[code].do}" if code in causes else seen


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault that began at `since_us`; `down` if readings are or may be missing."""

    code: str
    seen: str
    down: bool
    since_us: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """The end of all faults."""

    t_us: int
    seen: str


Change = Trouble | Recovered
"""A change of a link's health, as it is reported."""


@dataclass(slots=True)
class _ActiveTrouble:
    trouble: Trouble
    reported_us: int
    clears_us: int | None


class Health:
    """The active faults, by code and, if a device has several inputs, by input."""

    def __init__(self) -> None:
        self._standing: dict[tuple[str, str], _ActiveTrouble] = {}

    def __contains__(self, code: str) -> bool:
        return self.is_active(code)

    def is_active(self, code: str, source: str = "") -> bool:
        """Return whether this fault is active."""
        return (code, source) in self._standing

    @property
    def codes(self) -> tuple[str, ...]:
        """Return what is wrong."""
        return tuple(code for code, _ in self._standing)

    @property
    def troubles(self) -> list[str]:
        """Return what is wrong, each as `code` or `code input`."""
        return [f"{code} {source}".rstrip() for code, source in self._standing]

    def trouble(
        self,
        now_us: int,
        code: str,
        seen: str,
        *,
        down: bool,
        source: str = "",
        since_us: int | None = None,
        clears_us: int | None = None,
        again_us: int | None = None,
        each: bool = False,
    ) -> list[Change]:
        """Record a fault, which ends by itself at `clears_us`; return what is to be reported.

        An active one is reported again if `again_us` have passed since, or if `each` change of what is seen
        is to be reported.
        """
        since = now_us if since_us is None else min(now_us, max(since_us, now_us - BACKDATE_US, 0))
        trouble = Trouble(code, seen, down, since)
        return self._note((code, source), trouble, now_us, clears_us=clears_us, again_us=again_us, each=each)

    def closed(self, now_us: int, code: str, seen: str) -> list[Change]:
        """Record that the port is not open; what keeps it closed is reported again when it changes."""
        return self._note((LINK, ""), Trouble(code, seen, True, now_us), now_us, each=True)

    def lost(self, now_us: int, since_us: int, code: str, seen: str) -> list[Change]:
        """Record that readings since then are missing; it is over when none was lost for a while."""
        return self.trouble(
            now_us,
            code,
            seen,
            down=True,
            since_us=since_us,
            clears_us=now_us + CLEAN_US,
            again_us=AGAIN_US,
        )

    def fault(self, now_us: int, code: str, seen: str) -> list[Change]:
        """Record a fault that costs no reading; it is over after a while without it."""
        return self.trouble(now_us, code, seen, down=False, clears_us=now_us + FAULT_US)

    def over(self, now_us: int, *codes: str, seen: str, source: str = "") -> list[Change]:
        """End these faults (all if none is named); return what is to be reported."""
        keys = [(code, source) for code in codes] or list(self._standing)
        ended = [self._standing.pop(key) for key in keys if key in self._standing]
        if not ended:
            return []
        if not self._standing:
            return [Recovered(now_us, seen)]
        rest = [standing.trouble for standing in self._standing.values()]
        if not any(standing.trouble.down for standing in ended) or any(trouble.down for trouble in rest):
            return []
        return [Recovered(now_us, seen), *(Trouble(r.code, r.seen, r.down, now_us) for r in rest)]

    def forget(self, *codes: str) -> None:
        """Drop these faults (all if none is named) without a report."""
        for code, source in list(self._standing):
            if code in codes or not codes:
                del self._standing[code, source]

    def next_deadline(self) -> int | None:
        """Return when the next fault ends by itself."""
        return min((s.clears_us for s in self._standing.values() if s.clears_us is not None), default=None)

    def tick(self, now_us: int) -> list[Change]:
        """End the faults whose time is over."""
        due = [key for key, s in self._standing.items() if s.clears_us is not None and s.clears_us <= now_us]
        changes: list[Change] = []
        for source in dict.fromkeys(source for _, source in due):
            codes = [code for code, of in due if of == source]
            changes += self.over(
                now_us, *codes, seen=f"{source} works again" if source else "well again", source=source
            )
        return changes

    def _note(
        self,
        key: tuple[str, str],
        trouble: Trouble,
        now_us: int,
        *,
        clears_us: int | None = None,
        again_us: int | None = None,
        each: bool = False,
    ) -> list[Change]:
        standing = self._standing.get(key)
        if standing is not None:
            standing.clears_us = clears_us
            before = standing.trouble
            changed = each and (before.code, before.seen) != (trouble.code, trouble.seen)
            if not changed and (again_us is None or now_us - standing.reported_us < again_us):
                return []
        self._standing[key] = _ActiveTrouble(trouble, now_us, clears_us)
        return [trouble]


class PortReopening:
    """Whether the port of a silent device is to be reopened now, and when it is again."""

    def __init__(self) -> None:
        self.due_us = 0
        """Before this time it is not reopened again."""
        self._asked = False

    def put_off(self, now_us: int) -> None:
        """Start the period anew: the port was opened, or the device was greeted."""
        self.due_us = now_us + REOPEN_US

    def ask(self, now_us: int) -> None:
        """Request that the port be reopened, unless that was done within the period."""
        if now_us >= self.due_us:
            self.put_off(now_us)
            self._asked = True

    def ask_at_once(self) -> None:
        """Request that the port be reopened, even within the period."""
        self._asked = True

    def take(self) -> bool:
        """Return, once, whether the port is to be reopened."""
        asked, self._asked = self._asked, False
        return asked


def readings_of(
    changes: Iterable[Change],
    devices: Iterable[str],
    now_us: int,
    *,
    causes: Causes = TROUBLES,
    stamp: Callable[[int], int] = int,
) -> list[AnyReading]:
    """Return changes of a link's health as readings of the devices that are heard through it.

    `stamp` gives each reading its own time where a device keeps the order of its readings by their times.
    """
    names = tuple(devices)
    return [_reading(one, dev, now_us, causes, stamp) for one in changes for dev in names]


def _reading(one: Change, dev: str, now_us: int, causes: Causes, stamp: Callable[[int], int]) -> AnyReading:
    if isinstance(one, Recovered):
        t_us = stamp(one.t_us)
        return DeviceUp(t=t_us, dev=dev, code="up", reason=one.seen, arrived=max(t_us, now_us))
    t_us = stamp(one.since_us)
    kind = DeviceDown if one.down else DeviceFault
    reason = reason_for(one.code, one.seen, causes)
    return kind(t=t_us, dev=dev, code=one.code, reason=reason, arrived=max(t_us, now_us))
