"""What can be wrong with a device and its link, and what is wrong at this moment.

`TROUBLES` has the stable codes with their likely causes and what to do next: the code and the reason of every
`device_down` and `device_fault` come from there, and the pages of docs/devices show the same table. `Health`
tells each trouble once when it begins and once when all of it is over.
"""

from dataclasses import dataclass

from drivers.node.messages import Code, Message, Trouble, Well
from drivers.node.times import BACKDATE_US, CLEAN_US, FAULT_US


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of trouble: what it usually comes from, what to do, and when it is over."""

    likely: str
    do: str
    clears: str


_ANSWER = "when the device answers again"
_OPEN = "when the port opens"

TROUBLES: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its port has just opened",
        "wait two seconds; if it stays, look at the next message",
        "when the device is up",
    ),
    "no_port": Cause(
        "the cable is out, the device has no power, or the name in the table's file is wrong",
        "plug it in, or compare the name with the output of: ls -l /dev/serial/by-id /dev/serial/by-path",
        _OPEN,
    ),
    "port_busy": Cause(
        "another program has the port: a terminal, ModemManager, a second controller",
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
        "the device does not read: it hangs, or flow control holds the line",
        "power-cycle the device; check that its port uses no flow control",
        "when the port, opened anew, takes bytes",
    ),
    "reopening": Cause(
        "the device was silent or said nothing that can be read, so its port is opened anew",
        "wait; the next message tells whether it helped",
        _OPEN,
    ),
    "settings_changed": Cause(
        "another program set the port's speed or mode: stty, a terminal, ModemManager",
        "the port is opened anew with the table's settings; find that program (sudo fuser -v PORT names it)",
        _OPEN,
    ),
    "port_fault": Cause(
        "the operating system refused to read, write or set up the port",
        "look at dmesg; unplug the device and plug it in again",
        _OPEN,
    ),
    "defect": Cause(
        "a defect of the controller's driver",
        "send the message with `tablectl doctor --bundle FILE`; its port is opened anew by itself",
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
        "the firmware speaks another version of the link",
        "install the firmware that belongs to this controller",
        "when the node says hello in the right version",
    ),
    "wrong_key": Cause(
        "the board has another key than the table, or it is not the board that it says it is",
        "find out who changed the board; only then write the key to both again",
        "when the node says hello under the right key",
    ),
    "no_sync": Cause(
        "most of the node's answers are lost, or its clock runs wildly",
        "check the cable; look at the counters of bad and lost sentences",
        "when the node's clock is known",
    ),
    "silent": Cause(
        "the device hangs, or its USB adapter died without an error",
        "the port is opened anew by itself; if that does not help power-cycle the device",
        _ANSWER,
    ),
    "deaf": Cause(
        "the wire from the table to the device is broken, or the device no longer reads",
        "check TX on the table's side; power-cycle the device",
        _ANSWER,
    ),
    "restarted": Cause(
        "the device was reset: power, watchdog, or a program that opened the port",
        "if it happens again check its supply; its firmware may tell the cause of the reset",
        "when the device is up again",
    ),
    "clock_step": Cause(
        "the device's clock was set, or runs at a wrong speed",
        "check its crystal and its firmware; a ceramic resonator is not good enough",
        "when the clock is known again",
    ),
    "sentences_lost": Cause(
        "noise on the line, a full buffer in the device or its adapter, or a table that was busy",
        "look at the counters; use a shorter or shielded cable; the readings of that moment are missing",
        "half a second after the last loss",
    ),
    "babbling": Cause(
        "a sensor that oscillates, a threshold that is too low, or broken firmware",
        "look at what it sends; raise its threshold; what came too much was thrown away",
        "half a second after it falls quiet",
    ),
    "bad_reading": Cause(
        "the firmware or the script sends a kind, a field or a value that the table does not know",
        "compare with the device's page; a reading of that moment is missing",
        "half a second after the last one",
    ),
    "bad_clock": Cause(
        "the device stamps readings with a time that can't be right",
        "correct the firmware: a reading carries the clock of the moment it was seen",
        "half a second after the last one",
    ),
    "forged": Cause(
        "somebody else speaks on the line, or repeats what was said before",
        "look for a board or a logger on the cable; what it said was not used",
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
        "when answers come quicker",
    ),
    "unanswered": Cause(
        "the device hears nothing, or does not know the command",
        "check the wire from the table to the device; look at what its hello says it does",
        "ten seconds after the last one",
    ),
    "lacks": Cause(
        "the firmware is older than the table's file, or the file promises too much",
        "update the firmware, or take the kind out of the device's reads",
        "when the device says hello with it",
    ),
}
"""Every code of a device's trouble."""


def reason_for(code: str, seen: str) -> str:
    """Say what was seen and what to do about it, in one line."""
    return f"{seen}; {TROUBLES[code].do}"


AGAIN_US = 50_000
"""Readings lost again while the last loss is still being told are told again, but not oftener than this."""


@dataclass(slots=True)
class _Standing:
    trouble: Trouble
    told_us: int
    clears_us: int | None


class Health:
    """The troubles that stand, by code."""

    def __init__(self) -> None:
        self._standing: dict[Code, _Standing] = {}

    def __contains__(self, code: Code) -> bool:
        return code in self._standing

    @property
    def codes(self) -> tuple[Code, ...]:
        """Name what is wrong."""
        return tuple(self._standing)

    def trouble(
        self,
        now_us: int,
        code: Code,
        seen: str,
        *,
        down: bool,
        since_us: int | None = None,
        clears_us: int | None = None,
    ) -> list[Message]:
        """Note a trouble, which ends at `clears_us` by itself; give what is to be told."""
        since = now_us if since_us is None else since_us
        standing = self._standing.get(code)
        if standing is None:
            trouble = Trouble(code, seen, down, since)
            self._standing[code] = _Standing(trouble, now_us, clears_us)
            return [trouble]
        standing.clears_us = clears_us
        lost_again = down and clears_us is not None and now_us - standing.told_us >= AGAIN_US
        if not lost_again:
            return []
        standing.told_us = now_us
        return [Trouble(code, standing.trouble.seen, down, since)]

    def lost(self, now_us: int, since_us: int, code: Code, seen: str) -> list[Message]:
        """Note that readings since then are missing; it is over when none was lost for a while."""
        since = max(since_us, now_us - BACKDATE_US)
        return self.trouble(now_us, code, seen, down=True, since_us=since, clears_us=now_us + CLEAN_US)

    def fault(self, now_us: int, code: Code, seen: str) -> list[Message]:
        """Note what is not well though no reading is missing; it is over after a while without it."""
        return self.trouble(now_us, code, seen, down=False, clears_us=now_us + FAULT_US)

    def over(self, now_us: int, *codes: Code, seen: str) -> list[Message]:
        """End these troubles (all where none is named); give what is to be told."""
        ended = [self._standing.pop(code) for code in codes or self.codes if code in self._standing]
        if not ended:
            return []
        if not self._standing:
            return [Well(now_us, seen)]
        rest = [standing.trouble for standing in self._standing.values()]
        if not any(standing.trouble.down for standing in ended) or any(trouble.down for trouble in rest):
            return []
        return [Well(now_us, seen), *(Trouble(r.code, r.seen, r.down, now_us) for r in rest)]

    def next_deadline(self) -> int | None:
        """Give when the next trouble ends by itself."""
        return min((s.clears_us for s in self._standing.values() if s.clears_us is not None), default=None)

    def tick(self, now_us: int) -> list[Message]:
        """End what ends by itself until now."""
        due = [
            code for code, s in self._standing.items() if s.clears_us is not None and s.clears_us <= now_us
        ]
        return self.over(now_us, *due, seen="well again") if due else []
