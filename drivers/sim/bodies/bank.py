"""Throws that an engine worked out beforehand, so that the virtual table plays bodies without an engine.

`bank.zlib` is made by `python -m drivers.sim.bodies.make_bank` (the extra `physics`). A throw takes half a
kilobyte: times in ticks, places in tenths of a millimetre, each as its difference from the one before.
"""

import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate, pairwise

import msgspec

from controller.model.geometry import DiceTable
from drivers.sim.bodies.flights import Flight, Kind, Track

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
