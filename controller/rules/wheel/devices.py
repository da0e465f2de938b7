"""The health of a wheel's devices around one spin: what they could not detect, or are known to have
missed."""

from collections.abc import Collection, Mapping, Sequence
from operator import sub

import msgspec

from controller.model.readings import DeviceDown, DeviceFault, DeviceUp, Reading, RotorIndex
from controller.rules.wheel.rotor import FASTEST_TURN_US, SLOWEST_TURN_US

SURELY_SEEN_US = 6_000_000
"""A ball in the track interrupts a beam within this time: if one beam of two is silent, the slowest ball
needs less than 5 s to reach the other."""
SILENT_TURNS = 2.5
"""The mark passes the index sensor on every turn; a board that reports nothing, not even the mark, for this
many turns is blind."""
LONGEST_SILENCE_US = SLOWEST_TURN_US * 3 // 2
"""The mark of the slowest rotor in play passes well within this time."""
LOSSES = frozenset({"lost_edges", "missed_edge"})
"""Faults that mean that edges of an input are missing, at the time of the fault or before it."""
_WHEEL_KINDS = frozenset(
    {"ball_beam", "ball_drop", "ball_out", "rotor_index", "pocket_ball", "foreign_object"}
)

Sources = Mapping[str, Collection[str]]
"""The kinds of readings that each device sends, if the configuration lists them."""


class Absence(msgspec.Struct, frozen=True):
    """A device was away from `since_us` until `back_us`."""

    dev: str
    since_us: int
    back_us: int


def find_silence_before(dev: str, passes_us: Sequence[int], first_pulse_us: int) -> Absence | None:
    """Return the period before the ball was first seen in which a board with these index passes reported
    nothing.

    The board was up, but its sensors detected nothing for several turns, so they may have missed a launch as
    well. The result is None if there was no such period. A gap that ended with an index pass does not count:
    some boards report no passes between two spins.
    """
    before_us = [at for at in passes_us if at < first_pulse_us]
    if not before_us:
        return None
    turns_us = sorted(map(sub, before_us[1:], before_us))
    usual_us = turns_us[(len(turns_us) - 1) // 2] if turns_us else SLOWEST_TURN_US
    if first_pulse_us - before_us[-1] <= min(SILENT_TURNS * usual_us, LONGEST_SILENCE_US):
        return None
    return Absence(dev, before_us[-1], first_pulse_us)


def without_repeats(passes: Sequence[RotorIndex]) -> list[RotorIndex]:
    """Return index passes without the duplicates that come from a bouncing edge."""
    once: list[RotorIndex] = []
    for mark in passes:
        if not once or mark.t - once[-1].t >= FASTEST_TURN_US:
            once.append(mark)
    return once


class WheelDevices:
    """Follows the devices of one wheel from before a spin's first pulse to its end."""

    def __init__(self, sources: Sources | None) -> None:
        """`sources` lists the kinds of readings that each device sends; a device that is not listed may send
        any."""
        self.down: dict[str, DeviceDown] = {}
        """The devices that were down at some time during the spin."""
        self.still_down: set[str] = set()
        """The devices that are still down."""
        self._sources = sources or {}
        self._faults: dict[str, DeviceFault] = {}
        self._absences: list[Absence] = []

    def receive(self, reading: Reading, *, begun: bool) -> None:
        """Handle a device's reports about itself, in time order; `begun` tells whether the ball has
        interrupted a beam."""
        if isinstance(reading, DeviceDown):
            if self.serves(reading.dev, _WHEEL_KINDS):
                self.down.setdefault(reading.dev, reading)
                self.still_down.add(reading.dev)
        elif isinstance(reading, DeviceFault):
            self._faults.setdefault(reading.dev, reading)
        elif isinstance(reading, DeviceUp):
            self.still_down.discard(reading.dev)
            if not begun:
                self._faults.pop(reading.dev, None)
                lost = self.down.pop(reading.dev, None)
                if lost is not None:
                    self._absences.append(Absence(reading.dev, lost.t, reading.t))

    def serves(self, device: str, kinds: Collection[str]) -> bool:
        """Return whether this device may send readings of one of these kinds."""
        sends = self._sources.get(device)
        return sends is None or any(kind.partition(":")[0] in kinds for kind in sends)

    def find_absence_at_launch(self, first_pulse_us: int) -> Absence | None:
        """Return the absence during which a ball that was first seen at this time may have been launched."""
        absences = [
            absence
            for absence in self._absences
            if first_pulse_us - absence.back_us <= SURELY_SEEN_US and self.serves(absence.dev, {"ball_beam"})
        ]
        return min(absences, key=lambda absence: absence.since_us, default=None)

    def find_fault(self, kind: str) -> DeviceFault | None:
        """Return the first fault during the spin of a device that should have sent readings of this kind."""
        return next((fault for dev, fault in self._faults.items() if self.serves(dev, {kind})), None)
