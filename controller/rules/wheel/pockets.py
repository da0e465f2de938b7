"""Which pocket the ball lies in, from the rotor's place when the pocket reader sees it."""

from dataclasses import dataclass

from controller.model.geometry import Wheel
from controller.model.readings import PocketBall
from controller.rules.wheel.rotor import Rotor

BORDER = 0.35
"""Share of a pocket from its middle beyond which a read belongs to none: reads scatter by a tenth or two."""


@dataclass(frozen=True, slots=True)
class PocketRead:
    """One read: the pocket (None when the rotor's place is not known well enough) and where in it.

    `off_centre` is in pockets, clockwise positive, -0.5 to 0.5; `turns` the rotor's turns by then in its run.
    """

    reading: PocketBall
    number: str | None
    off_centre: float = 0.0
    run: int = 0
    turns: float = 0.0

    @property
    def at_border(self) -> bool:
        """Tell whether the read lies between two pockets."""
        return abs(self.off_centre) > BORDER


def place_read(reading: PocketBall, rotor: Rotor, wheel: Wheel) -> PocketRead:
    """Find the pocket that was under the reader at that time."""
    turns = rotor.turns_at(reading.t)
    if turns is None or rotor.direction is None:
        return PocketRead(reading, None)
    sense = 1.0 if rotor.direction == "ccw" else -1.0
    mark_deg = wheel.rotor_index_deg + sense * 360.0 * turns
    count = len(wheel.pockets_clockwise)
    pockets = ((mark_deg - wheel.pocket_reader_deg) % 360.0) / (360.0 / count)
    nearest = round(pockets)
    return PocketRead(reading, wheel.pockets_clockwise[nearest % count], pockets - nearest, rotor.run, turns)


class PocketCount:
    """Counts consecutive agreeing reads on as many different rotor turns."""

    def __init__(self, needed: int) -> None:
        """Start empty; `needed` is the rule set's `pocket_reads`."""
        self.needed = needed
        self.reads: list[PocketRead] = []
        self.agreeing: list[PocketRead] = []
        self.stands: PocketRead | None = None
        """The read that made the pocket certain."""
        self.against: PocketRead | None = None
        """A read of another pocket after that."""

    def see(self, read: PocketRead) -> None:
        """Take the next read, in time order."""
        self.reads.append(read)
        if self.stands is not None:
            if read.number not in (None, self.stands.number):
                self.against = self.against or read
            return
        if read.number is None or read.at_border:
            self.agreeing = []
            return
        last = self.agreeing[-1] if self.agreeing else None
        if last is None or last.number != read.number:
            self.agreeing = [read]
        elif read.run != last.run or read.turns - last.turns >= 0.5:
            self.agreeing.append(read)
        if len(self.agreeing) >= self.needed:
            self.stands = read
