"""Which pocket the ball lies in, from the rotor's place when the pocket reader sees it."""

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import PocketBall, Reading, RotorIndex
from controller.rules.wheel.rotor import Rotor

BORDER = 0.35
"""Share of a pocket from its middle beyond which a read belongs to none: reads scatter by a tenth or two."""

_ANOTHER_TURN = 0.5


class PocketRead(msgspec.Struct, frozen=True):
    """One read: the pocket (None when the rotor's place is not known well enough) and where in it.

    `off_centre` is in pockets, clockwise positive, -0.5 to 0.5; `turns` the rotor's turns by then in its run,
    `turn_us` how long one took.
    """

    reading: PocketBall
    number: str | None
    off_centre: float = 0.0
    run: int = 0
    turns: float = 0.0
    turn_us: float = 0.0
    unsure: bool = False
    """Whether it never gets a place: what the index sensor missed then, nobody knows."""

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
    return PocketRead(
        reading,
        wheel.pockets_clockwise[nearest % count],
        pockets - nearest,
        rotor.run,
        turns,
        rotor.period_us(),
    )


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
        self.decided_by: Reading | None = None
        """The reading with which the pocket stood: that read, or an index pass that placed it only then."""

    @property
    def missed(self) -> bool:
        """Whether the reader missed the ball on a turn between two on which it saw it in the same pocket."""
        return any(
            read.run == before.run and round(read.turns - before.turns) > 1
            for before, read in pairwise(self.agreeing)
        )

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
        elif _on_another_turn(read, last):
            self.agreeing.append(read)
        if len(self.agreeing) >= self.needed:
            self.stands = read
            self.decided_by = read.reading

    def placed_anew(self, mark: RotorIndex, rotor: Rotor, wheel: Wheel) -> "PocketCount":
        """Count again when an index pass tells where the rotor was at reads that had no place before."""
        if self.stands is not None or all(read.number is not None or read.unsure for read in self.reads):
            return self
        count = self._recount(
            read if read.number is not None or read.unsure else place_read(read.reading, rotor, wheel)
            for read in self.reads
        )
        if count.stands is not None:
            count.decided_by = mark
        return count

    def unplaced_since(self, since_us: int) -> "PocketCount":
        """Count again without the places of the reads since then: an index pass may have been missed."""
        if not self.reads or self.reads[-1].reading.t < since_us:
            return self
        return self._recount(
            read if read.reading.t < since_us or read.unsure else PocketRead(read.reading, None)
            for read in self.reads
        )

    def never_placed(self) -> "PocketCount":
        """Leave the reads that have no place without one: an index pass was missed among them."""
        return self._recount(
            read if read.number is not None else PocketRead(read.reading, None, unsure=True)
            for read in self.reads
        )

    def _recount(self, reads: Iterable[PocketRead]) -> "PocketCount":
        count = PocketCount(self.needed)
        for read in reads:
            count.see(read)
        return count


def _on_another_turn(read: PocketRead, last: PocketRead) -> bool:
    if read.run == last.run:
        return read.turns - last.turns >= _ANOTHER_TURN
    return read.reading.t - last.reading.t >= _ANOTHER_TURN * read.turn_us
