"""Which pocket the ball lies in, by the rotor's position when the pocket reader detects it.

A read is placed between the index passes on both sides of it, so it waits for the next one. It counts if the
reads of three consecutive turns agree.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import PocketBall, Reading
from controller.rules.wheel.rotor import Place, Rotor

BORDER = 0.35
"""Distance from a pocket's middle, as a share of the pocket, beyond which a read belongs to none: reads
scatter by a tenth or two."""
_SAME_TURN = 0.5
"""Two reads within this many turns belong to the same turn: a ball is read once per turn."""
_APART = 0.12
"""By how much the distance between reads of consecutive turns differs from one turn, at most: three pockets,
which leaves the rest to the placing."""


class PocketRead(msgspec.Struct, frozen=True):
    """One read: the pocket (None if the rotor's position is not known well enough) and where in it.

    `off_centre` is in pockets, clockwise positive, -0.5 to 0.5; `turns` the rotor's turns by then in its run,
    `turn_us` the length of one turn.
    """

    reading: PocketBall
    number: str | None
    off_centre: float = 0.0
    run: int = 0
    turns: float = 0.0
    turn_us: float = 0.0

    @property
    def at_border(self) -> bool:
        """Whether the read lies between two pockets."""
        return abs(self.off_centre) > BORDER


def place_read(reading: PocketBall, rotor: Rotor, wheel: Wheel) -> PocketRead | None:
    """Return the pocket that was under the reader; None while a coming pass may still show it."""
    place = rotor.place(reading.t)
    if place is None:
        return None if rotor.waits(reading.t) else PocketRead(reading, None)
    return read_at(reading, place, wheel)


def read_at(reading: PocketBall, place: Place, wheel: Wheel) -> PocketRead:
    """Return the read with the mark at this place."""
    sense = 1.0 if place.direction == "ccw" else -1.0
    mark_deg = wheel.rotor_index_deg + sense * 360.0 * place.turns
    count = len(wheel.pockets_clockwise)
    pockets = ((mark_deg - wheel.pocket_reader_deg) % 360.0) / (360.0 / count)
    nearest = round(pockets)
    return PocketRead(
        reading,
        wheel.pockets_clockwise[nearest % count],
        pockets - nearest,
        place.run,
        place.turns,
        place.turn_us,
    )


class PocketCount:
    """Counts agreeing reads on consecutive rotor turns."""

    def __init__(self, needed: int) -> None:
        """Start empty; `needed` is the rule set's `pocket_reads`."""
        self.needed = needed
        self.seen: list[PocketBall] = []
        """Every read, placed or not."""
        self.placed: list[PocketRead] = []
        """Those for which the rotor's position is known, or can no longer become known."""
        self.agreeing: list[PocketRead] = []
        self.stands: PocketRead | None = None
        """The read that made the pocket certain."""
        self.against: PocketRead | None = None
        """A read of another pocket after that."""
        self.decided_by: Reading | None = None
        """The reading that confirmed the pocket: the index pass that placed its last read."""
        self.reader_missed = False
        """Whether the reader is known to have missed reads, so that a turn without one proves nothing."""

    @property
    def reads(self) -> list[PocketRead]:
        """Every read; those still waiting for a pass have no number."""
        return [*self.placed, *(PocketRead(reading, None) for reading in self.waiting)]

    @property
    def waiting(self) -> Sequence[PocketBall]:
        """The reads that no pass has placed yet."""
        return self.seen[len(self.placed) :]

    @property
    def waits(self) -> bool:
        """Whether a read waits for a pass that places it."""
        return len(self.seen) > len(self.placed)

    @property
    def missed(self) -> bool:
        """Whether the reader missed the ball on a turn between two on which it saw it in the same pocket."""
        return any(
            read.run == before.run
            and read.number == before.number is not None
            and round(read.turns - before.turns) > 1
            for before, read in pairwise(self.placed)
        )

    def see(self, reading: PocketBall) -> None:
        """Handle the next read, in time order."""
        self.seen.append(reading)

    def place(self, by: Reading, placed: Callable[[PocketBall], PocketRead | None]) -> None:
        """Place the waiting reads after the reading `by`; one that still waits holds up those after it."""
        for reading in self.waiting:
            read = placed(reading)
            if read is None:
                return
            self.placed.append(read)
            self._count(read, by)

    def contradicted_by(self, read: PocketRead) -> None:
        """Handle a read of another pocket after the number was confirmed."""
        self.against = self.against or read

    def _count(self, read: PocketRead, by: Reading) -> None:
        if self.stands is not None:
            if read.number not in (None, self.stands.number):
                self.contradicted_by(read)
            return
        if read.number is None or read.at_border:
            self.agreeing = []
            return
        last = self.agreeing[-1] if self.agreeing else None
        if last is None or last.number != read.number or last.run != read.run:
            self.agreeing = [read]
            return
        turns = read.turns - last.turns
        if turns < _SAME_TURN:
            return
        if abs(turns - round(turns)) > _APART or (round(turns) != 1 and not self.reader_missed):
            self.agreeing = [read]
            return
        self.agreeing.append(read)
        if len(self.agreeing) >= self.needed:
            self.stands = read
            self.decided_by = by
