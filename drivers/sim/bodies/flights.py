"""What two dice did in one throw, as an engine computed it, and a bank of such throws."""

import math
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate, pairwise
from typing import Literal

import msgspec

from controller.model.geometry import DiceTable
from controller.model.readings import Face, Surface, Wall

Place = tuple[float, float]
Kind = Literal[
    "together",
    "stacked",
    "apart",
    "one_hand",
    "collide",
    "at_wall",
    "backspin",
    "soft",
    "near_miss",
    "near_miss_one_hit",
    "chips",
    "hard",
]
"""How the dice were thrown."""
FLAT_DEG = 4.0
"""A die that lies less tilted than this is flat: felt gives way by a degree or two under an edge."""


class Track(msgspec.Struct, frozen=True, array_like=True):
    """Where a die's centre is, seen from above: places at times, and straight and even in between."""

    t_us: tuple[int, ...]
    x_mm: tuple[float, ...]
    y_mm: tuple[float, ...]

    def at(self, t_us: float) -> Place:
        """Return the place at a time; before the first and after the last it stands still."""
        after = bisect_right(self.t_us, t_us)
        if after == 0:
            return self.x_mm[0], self.y_mm[0]
        if after == len(self.t_us):
            return self.x_mm[-1], self.y_mm[-1]
        before = after - 1
        share = (t_us - self.t_us[before]) / (self.t_us[after] - self.t_us[before])
        return (
            self.x_mm[before] + share * (self.x_mm[after] - self.x_mm[before]),
            self.y_mm[before] + share * (self.y_mm[after] - self.y_mm[before]),
        )


class Touch(msgspec.Struct, frozen=True, array_like=True):
    """A die met a wall: all that passed between them until it was clear of it again."""

    t_us: int
    die: int
    """0 or 1, as released."""
    wall: Wall
    along_mm: float
    impulse_mns: float


class Thump(msgspec.Struct, frozen=True, array_like=True):
    """A die landed on the felt within a hand's breadth of a wall."""

    t_us: int
    die: int
    wall: Wall
    away_mm: float
    along_mm: float
    impulse_mns: float


class Stay(msgspec.Struct, frozen=True, array_like=True):
    """A die lay still: the last one of each die is where it ends."""

    begin_us: int
    die: int
    face: Face
    """The face nearest to straight up."""
    tilt_deg: float
    on: Surface
    sides: tuple[Face, ...] = ()
    """Faces that rest on something, of a die that is not flat."""


class Flight(msgspec.Struct, frozen=True, array_like=True):
    """One throw of two dice."""

    kind: Kind
    seed: str
    """What it was drawn from; the engine makes the same flight of it again."""
    length_mm: float
    width_mm: float
    die_mm: float
    relief_mm: float
    mass_g: float
    released_us: tuple[int, int]
    tracks: tuple[Track, Track]
    touches: tuple[Touch, ...]
    thumps: tuple[Thump, ...]
    stays: tuple[Stay, ...]
    off_us: tuple[int | None, int | None]
    """When a die left the table."""
    closest_mm: tuple[float, float]
    """A die's centre at its nearest to the right wall, less half an edge: below 0 within the relief."""
    gap_mm: tuple[float, float]
    """What was left between the die's own nearest corner and the right wall's measured face."""
    met_us: tuple[int, ...]
    """When the dice began to touch each other."""

    @property
    def end_us(self) -> int:
        """When all is still."""
        ends = [stay.begin_us for stay in self.stays] + [off for off in self.off_us if off is not None]
        return max(*ends, *self.released_us)

    @property
    def settled(self) -> bool:
        """Return whether each die is at rest in the end, or gone."""
        return all(self.off_us[die] is not None or self.last_stay(die) is not None for die in (0, 1))

    def last_stay(self, die: int) -> Stay | None:
        """Return how a die lies in the end, or None if it left the table."""
        own = [stay for stay in self.stays if stay.die == die]
        return own[-1] if own and self.off_us[die] is None else None

    def distance_mm(self, t_us: float) -> float:
        """Return how far apart the dice's centres are, seen from above."""
        return math.dist(self.tracks[0].at(t_us), self.tracks[1].at(t_us))


NAME = "bank.zlib"
TICK_US = 200
"""Poses lie on whole ticks."""
RELIEF_MM = 12.0
"""Of a wall of which a table's file says nothing."""
_PACKED = list[tuple[list[int], list[int], list[int]]]
_decode = msgspec.msgpack.Decoder(list[tuple[Flight, _PACKED]]).decode


def pack(flights: Sequence[Flight]) -> bytes:
    """Return flights as a bank's bytes."""
    rows = []
    for flight in flights:
        tracks = [
            (
                _differences([t // TICK_US for t in track.t_us]),
                _differences([round(10 * x) for x in track.x_mm]),
                _differences([round(10 * y) for y in track.y_mm]),
            )
            for track in flight.tracks
        ]
        empty = Track((), (), ())
        rows.append((msgspec.structs.replace(flight, tracks=(empty, empty)), tracks))
    return zlib.compress(msgspec.msgpack.encode(rows), 9)


def unpack(data: bytes) -> tuple[Flight, ...]:
    """Return the flights of a bank's bytes."""
    rows = _decode(zlib.decompress(data))
    return tuple(
        msgspec.structs.replace(flight, tracks=(_track(tracks[0]), _track(tracks[1])))
        for flight, tracks in rows
    )


@cache
def shipped() -> Mapping[Kind, tuple[Flight, ...]]:
    """Return the flights that come with the product, by kind."""
    found: dict[Kind, list[Flight]] = {}
    for flight in unpack((resources.files("drivers.sim.bodies") / NAME).read_bytes()):
        found.setdefault(flight.kind, []).append(flight)
    return {kind: tuple(flights) for kind, flights in found.items()}


def fits(table: DiceTable) -> bool:
    """Return whether the shipped flights can be played at a table: same length, width and dice."""
    flight = next(iter(shipped().values()))[0]
    return (
        abs(flight.length_mm - table.length_mm) < 1
        and abs(flight.width_mm - table.width_mm) < 1
        and abs(flight.die_mm - table.die_mm) < 0.01
    )


def for_wall(table: DiceTable) -> tuple[Flight, ...]:
    """Return the shipped flights at walls of a table's relief, or of the nearest that there is."""
    flights = [flight for kind in shipped().values() for flight in kind]
    asked = float(getattr(table, "wall_relief_mm", RELIEF_MM))
    nearest = min({flight.relief_mm for flight in flights}, key=lambda relief: abs(relief - asked))
    return tuple(flight for flight in flights if flight.relief_mm == nearest)


def _track(packed: tuple[list[int], list[int], list[int]]) -> Track:
    ticks, xs, ys = (tuple(accumulate(row)) for row in packed)
    return Track(
        tuple(tick * TICK_US for tick in ticks), tuple(x / 10 for x in xs), tuple(y / 10 for y in ys)
    )


def _differences(row: Sequence[int]) -> list[int]:
    return [row[0], *(after - before for before, after in pairwise(row))]
