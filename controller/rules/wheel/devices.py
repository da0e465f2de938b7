"""The health of a wheel's devices around one spin: their absences and the faults that hide readings."""

from collections.abc import Collection, Mapping, Sequence
from operator import sub

import msgspec

from controller.model.readings import DeviceDown, DeviceFault, DeviceUp, Reading, RotorIndex
from controller.rules.wheel.rotor import FASTEST_TURN_US, SLOWEST_TURN_US

SURELY_SEEN_US = 6_000_000
"""Maximum time between two interruptions by a ball in the track. If one of two beams is silent, the slowest
ball needs less than 5 s to return to the other."""
SILENT_TURNS = 2.5
"""Number of turns without a report after which a board is treated as blind. The mark passes the index sensor
on every turn."""
LONGEST_SILENCE_US = SLOWEST_TURN_US * 3 // 2
"""Maximum time, with a margin, between two passes of the slowest rotor's mark."""
LOSSES = frozenset({"lost_edges", "missed_edge"})
"""Faults that report missing edges of an input, at the time of the fault or before it."""
_WHEEL_KINDS = frozenset(
    {"ball_beam", "ball_drop", "ball_out", "rotor_index", "pocket_ball", "foreign_object"}
)

Sources = Mapping[str, Collection[str]]
"""Kinds of readings that each device sends, if the configuration lists them."""


class Absence(msgspec.Struct, frozen=True):
    """A period in which a device was down or silent."""

    dev: str
    since_us: int
    back_us: int


def find_silence_before(dev: str, passes_us: Sequence[int], first_pulse_us: int) -> Absence | None:
    """Return the period before the ball's first pulse in which a board with these index passes was silent.

    A board whose sensors detected nothing for several turns might have missed a launch. The result is None if
    there was no such period. A gap that ends with an index pass does not count, because some boards report no
    passes between two spins.
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
    """Return index passes without the duplicates of a bouncing edge."""
    once: list[RotorIndex] = []
    for mark in passes:
        if not once or mark.t - once[-1].t >= FASTEST_TURN_US:
            once.append(mark)
    return once


class WheelDevices:
    """The devices of one wheel, from before a spin's first pulse to its end."""

    def __init__(self, sources: Sources | None) -> None:
        """`sources` lists the kinds of readings that each device sends; an unlisted device is assumed to send
        all kinds."""
        self.down: dict[str, DeviceDown] = {}
        """Devices that were down at some time during the spin."""
        self.still_down: set[str] = set()
        self._sources = sources or {}
        self._faults: dict[str, DeviceFault] = {}
        self._absences: list[Absence] = []

    def receive(self, reading: Reading, *, begun: bool) -> None:
        """Handle a device's report about its state, in time order.

        `begun` says whether the ball has interrupted a beam.
        """
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
        """Return whether a device might send readings of one of these kinds."""
        sends = self._sources.get(device)
        return sends is None or any(kind.partition(":")[0] in kinds for kind in sends)

    def find_absence_at_launch(self, first_pulse_us: int) -> Absence | None:
        """Return the absence during which a ball with this first pulse might have been launched."""
        absences = [
            absence
            for absence in self._absences
            if first_pulse_us - absence.back_us <= SURELY_SEEN_US and self.serves(absence.dev, {"ball_beam"})
        ]
        return min(absences, key=lambda absence: absence.since_us, default=None)

    def find_fault(self, kind: str) -> DeviceFault | None:
        """Return the first fault of a device that might send readings of this kind; None if there is none."""
        return next((fault for dev, fault in self._faults.items() if self.serves(dev, {kind})), None)
