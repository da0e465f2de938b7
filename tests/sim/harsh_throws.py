"""Compose throws that are hard to judge from dice that were thrown separately.

At least one die of each throw lands beside the wall and bounces back, and the wall's sensor detects the
landing. The other die does the same or strikes the wall. Among 2,500 near misses only one is such a throw.
Each die is moved to within a few millimetres of the wall.

`python -m tests.sim.harsh_throws FLIGHTS... --save FILE` writes a file for `tests.sim.dice_soak --flights`.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random

from msgspec.structs import replace

from drivers.sim.bodies.flights import Flight, Thump, Track, pack, shipped, unpack
from drivers.sim.bodies.watching import COUNTS_PER_MNS, THRESHOLD_COUNTS, THUMP_COUPLING, THUMP_DECAY_MM

NEAREST_MM, FURTHEST_MM = 0.5, 6.0
"""Range of the distance between the wall and a die's nearest corner at its closest approach."""
SOON_US = 12_000
APART_MM = 45.0
"""Minimum distance between the two dice, at which a camera does not confuse them."""
TURNED_M_PER_S = 0.8


def renumbered(flight: Flight, die: int) -> Flight:
    """Return the flight with `die` renumbered as die 0."""
    order = (die, 1 - die)

    def turned(number: int) -> int:
        return order.index(number)

    return replace(
        flight,
        tracks=(flight.tracks[die], flight.tracks[1 - die]),
        released_us=(flight.released_us[die], flight.released_us[1 - die]),
        touches=tuple(replace(touch, die=turned(touch.die)) for touch in flight.touches),
        thumps=tuple(replace(thump, die=turned(thump.die)) for thump in flight.thumps),
        stays=tuple(replace(stay, die=turned(stay.die)) for stay in flight.stays),
        off_us=(flight.off_us[die], flight.off_us[1 - die]),
        closest_mm=(flight.closest_mm[die], flight.closest_mm[1 - die]),
        gap_mm=(flight.gap_mm[die], flight.gap_mm[1 - die]),
    )


def moved(flight: Flight, by_mm: float) -> Flight:
    """Return the flight with die 0 moved towards the right wall."""
    track = flight.tracks[0]
    own = Track(track.t_us, tuple(round(x + by_mm, 1) for x in track.x_mm), track.y_mm)
    return replace(
        flight,
        tracks=(own, flight.tracks[1]),
        thumps=tuple(
            replace(thump, away_mm=round(thump.away_mm - by_mm, 1))
            for thump in flight.thumps
            if thump.die == 0 and thump.wall == "right"
        ),
        closest_mm=(flight.closest_mm[0] - by_mm, flight.closest_mm[1]),
        gap_mm=(flight.gap_mm[0] - by_mm, flight.gap_mm[1]),
    )


def counts(thump: Thump) -> float:
    """Return the mean peak of a landing, in counts."""
    return COUNTS_PER_MNS * thump.impulse_mns * THUMP_COUPLING * math.exp(-thump.away_mm / THUMP_DECAY_MM)


def landings(flights: Sequence[Flight], rng: Random) -> Iterator[Flight]:
    """Yield each die that bounced back from a detectable landing beside the wall, as die 0 of a flight."""
    for flight in flights:
        for die in (0, 1):
            if flight.off_us[die] is not None or any(touch.die == die for touch in flight.touches):
                continue
            own = renumbered(flight, die)
            near = moved(own, own.gap_mm[0] - rng.uniform(NEAREST_MM, FURTHEST_MM))
            if any(counts(thump) >= THRESHOLD_COUNTS and _turns(near, thump) for thump in near.thumps):
                yield near


def _turns(flight: Flight, thump: Thump) -> bool:
    """Return whether the die is nearest to the wall at this landing, and moves back afterwards."""
    track = flight.tracks[0]
    t, x = thump.t_us, track.at(thump.t_us)[0]
    before, after = track.at(t - SOON_US)[0], track.at(t + SOON_US)[0]
    change = ((x - before) - (after - x)) / SOON_US * 1000
    return change >= TURNED_M_PER_S and max(track.x_mm) - x < 2.0


def hits(flights: Sequence[Flight]) -> Iterator[Flight]:
    """Yield each die that struck the right wall, as die 0 of a flight."""
    for flight in flights:
        for die in (0, 1):
            walls = {touch.wall for touch in flight.touches if touch.die == die}
            if flight.off_us[die] is None and walls == {"right"} and not flight.met_us:
                yield renumbered(flight, die)


def together(one: Flight, two: Flight, seed: str) -> Flight | None:
    """Return a throw with die 0 of both flights, or None if these dice would have met."""
    tracks = (one.tracks[0], two.tracks[0])
    end = max(one.end_us, two.end_us)
    if any(math.dist(tracks[0].at(t), tracks[1].at(t)) < APART_MM for t in range(0, end, 4000)):
        return None
    return replace(
        one,
        kind="near_miss" if not two.touches else "near_miss_one_hit",
        seed=seed,
        tracks=tracks,
        released_us=(one.released_us[0], two.released_us[0]),
        touches=tuple(replace(touch, die=1) for touch in two.touches if touch.die == 0),
        thumps=tuple(
            replace(thump, die=die)
            for die, own in enumerate((one, two))
            for thump in own.thumps
            if thump.die == 0
        ),
        stays=tuple(
            replace(stay, die=die)
            for die, own in enumerate((one, two))
            for stay in own.stays
            if stay.die == 0
        ),
        off_us=(None, None),
        closest_mm=(one.closest_mm[0], two.closest_mm[0]),
        gap_mm=(one.gap_mm[0], two.gap_mm[0]),
        met_us=(),
    )


def put_together(flights: Sequence[Flight], seed: str) -> Iterator[Flight]:
    """Yield throws endlessly: alternately two landings, and a landing with a hit."""
    rng = Random(seed)
    landed, struck = list(landings(flights, rng)), list(hits(flights))
    for number in count():
        one = rng.choice(landed)
        others = landed if number % 2 == 0 else struck
        two = rng.choice([other for other in others if other.relief_mm == one.relief_mm])
        if other_throw(one, two) and (made := together(one, two, f"harsh {seed}-{number}")) is not None:
            yield made


def other_throw(one: Flight, two: Flight) -> bool:
    """Return whether two dice were thrown separately."""
    return (one.kind, one.seed) != (two.kind, two.seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flights", nargs="+", metavar="FLIGHTS", help="files of flights, or `shipped`")
    parser.add_argument("--throws", type=int, default=300, metavar="N")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--save", required=True, metavar="FILE")
    arguments = parser.parse_args()
    flights: list[Flight] = []
    for name in arguments.flights:
        if name == "shipped":
            flights += [flight for kept in shipped().values() for flight in kept]
        else:
            flights += unpack(Path(name).read_bytes())
    made = list(islice(put_together(flights, arguments.seed), arguments.throws))
    Path(arguments.save).write_bytes(pack(made))
    sys.stdout.write(f"{len(made)} throws\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
