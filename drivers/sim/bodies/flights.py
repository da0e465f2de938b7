"""The computed motion of two dice in one throw, and the throws shipped with the product."""

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
END_WALLS: tuple[Wall, ...] = ("left", "right")
FLAT_DEG = 4.0
"""Maximum tilt of a die that lies flat; felt gives way under an edge, tilting a die by a degree or two."""


class Track(msgspec.Struct, frozen=True, array_like=True):
    """Track of a die's centre, seen from above: timed points with linear motion in between."""

    t_us: tuple[int, ...]
    x_mm: tuple[float, ...]
    y_mm: tuple[float, ...]

    def at(self, t_us: float) -> Place:
        """Return the position at a time; the die is at rest before the first point and after the last."""
        after = bisect_right(self.t_us, t_us)
        if after == 0:
            return self.x_mm[0], self.y_mm[0]
        if after == len(self.t_us):
            return self.x_mm[-1], self.y_mm[-1]
        before = after - 1
        fraction = (t_us - self.t_us[before]) / (self.t_us[after] - self.t_us[before])
        return (
            self.x_mm[before] + fraction * (self.x_mm[after] - self.x_mm[before]),
            self.y_mm[before] + fraction * (self.y_mm[after] - self.y_mm[before]),
        )


class Touch(msgspec.Struct, frozen=True, array_like=True):
    """A die's contact with a wall, which lasts until the die is clear of the wall."""

    t_us: int
    die: int
    """Index of the die, 0 or 1."""
    wall: Wall
    along_mm: float
    impulse_mns: float


class Thump(msgspec.Struct, frozen=True, array_like=True):
    """The landing of a die on the felt within 9 cm of a wall."""

    t_us: int
    die: int
    wall: Wall
    away_mm: float
    along_mm: float
    impulse_mns: float


class Stay(msgspec.Struct, frozen=True, array_like=True):
    """A period in which a die lies still. A die can have several stays in one throw."""

    begin_us: int
    die: int
    face: Face
    """Face that points most nearly upwards."""
    tilt_deg: float
    on: Surface
    sides: tuple[Face, ...] = ()
    """Faces on which a leaning die rests."""


class Flight(msgspec.Struct, frozen=True, array_like=True):
    """One throw of two dice."""

    kind: Kind
    seed: str
    """Seed of the throw, from which the engine reproduces the flight."""
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
    """Time at which each die left the table; None for a die that remained on the table."""
    closest_mm: tuple[float, float]
    """Minimum distance of each die's centre from the right wall, minus half an edge; negative within the
    relief."""
    gap_mm: tuple[float, float]
    """Minimum distance between each die's nearest corner and the right wall's face."""
    met_us: tuple[int, ...]
    rims: tuple[Touch, ...] = ()
    """Contacts with the top of an end wall, which sensors cannot distinguish from contacts with its face."""

    def strikes(self, die: int | None = None) -> list[Touch]:
        """Return the contacts of a die (None: both dice) with the ends of the table (C34-INV-2ii), in
        order."""
        ends = [touch for touch in self.touches if touch.wall in END_WALLS]
        found = [touch for touch in (*ends, *self.rims) if die is None or touch.die == die]
        return sorted(found, key=lambda touch: touch.t_us)

    @property
    def end_us(self) -> int:
        """Time from which each die is still or off the table."""
        ends = [stay.begin_us for stay in self.stays] + [off for off in self.off_us if off is not None]
        return max(*ends, *self.released_us)

    @property
    def settled(self) -> bool:
        """Whether each die has come to rest or left the table."""
        return all(self.off_us[die] is not None or self.last_stay(die) is not None for die in (0, 1))

    def last_stay(self, die: int) -> Stay | None:
        """Return a die's final stay; None if the die left the table or never lay still."""
        own = [stay for stay in self.stays if stay.die == die]
        return own[-1] if own and self.off_us[die] is None else None

    def distance_mm(self, t_us: float) -> float:
        """Return the distance between the dice's centres, seen from above."""
        return math.dist(self.tracks[0].at(t_us), self.tracks[1].at(t_us))


FILE_NAME = "flights.zlib"
TICK_US = 200
"""Resolution of packed times."""
RELIEF_MM = 12.0
"""Relief of the walls if a table's file does not state it."""
_PACKED = list[tuple[list[int], list[int], list[int]]]
_decode = msgspec.msgpack.Decoder(list[tuple[Flight, _PACKED]]).decode


def pack(flights: Sequence[Flight]) -> bytes:
    """Return the contents of a file of flights."""
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
    """Return the flights in the contents of a file of flights."""
    rows = _decode(zlib.decompress(data))
    return tuple(
        msgspec.structs.replace(flight, tracks=(_track(tracks[0]), _track(tracks[1])))
        for flight, tracks in rows
    )


@cache
def shipped() -> Mapping[Kind, tuple[Flight, ...]]:
    """Return the shipped flights by kind."""
    found: dict[Kind, list[Flight]] = {}
    for flight in unpack((resources.files("drivers.sim.bodies") / FILE_NAME).read_bytes()):
        found.setdefault(flight.kind, []).append(flight)
    return {kind: tuple(flights) for kind, flights in found.items()}


def fits(table: DiceTable) -> bool:
    """Return whether the table's length, width and dice size match those of the shipped flights."""
    flight = next(iter(shipped().values()))[0]
    return (
        abs(flight.length_mm - table.length_mm) < 1
        and abs(flight.width_mm - table.width_mm) < 1
        and abs(flight.die_mm - table.die_mm) < 0.01
    )


def for_wall(table: DiceTable) -> tuple[Flight, ...]:
    """Return the shipped flights whose wall relief is nearest to the table's."""
    flights = [flight for kind in shipped().values() for flight in kind]
    relief_mm = float(getattr(table, "wall_relief_mm", RELIEF_MM))
    nearest = min({flight.relief_mm for flight in flights}, key=lambda relief: abs(relief - relief_mm))
    return tuple(flight for flight in flights if flight.relief_mm == nearest)


def _track(packed: tuple[list[int], list[int], list[int]]) -> Track:
    ticks, xs, ys = (tuple(accumulate(row)) for row in packed)
    return Track(
        tuple(tick * TICK_US for tick in ticks), tuple(x / 10 for x in xs), tuple(y / 10 for y in ys)
    )


def _differences(row: Sequence[int]) -> list[int]:
    return [row[0], *(after - before for before, after in pairwise(row))]
