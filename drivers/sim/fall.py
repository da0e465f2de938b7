"""From the track to the pocket: a ball slides down the bowl, meets a deflector, bounces over the frets.

How much speed a deflector and a fret leave it are what observers of wheels give: 0.4 to 0.65 at a deflector,
0.3 to 0.7 at a fret; it settles 0.5 to 2.5 s after the drop, a few to more than 15 pockets on.
"""

import math
from dataclasses import dataclass
from random import Random

from drivers.sim.ball import Run
from drivers.sim.rotor import Rotor

DEFLECTORS = 8
_STILL_REV_PER_S = 0.09
"""Slower than this over the frets (some three pockets a second), a ball stays where it is."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of the ball's way: it goes evenly from one angle of the bowl to another."""

    begin_s: float
    end_s: float
    begin: float
    end: float
    where: str
    """bowl, track (knocked back up) or rotor."""

    def passes(self, place: float) -> list[float]:
        """Return when the ball passes a place of the bowl on this leg."""
        low, high = sorted((self.begin, self.end))
        if high == low:
            return []
        times = []
        for lap in range(math.ceil(low - place), math.floor(high - place) + 1):
            share = (place + lap - self.begin) / (self.end - self.begin)
            times.append(self.begin_s + share * (self.end_s - self.begin_s))
        return sorted(times)


@dataclass(frozen=True, slots=True)
class Fall:
    """How a ball came to rest: its legs, and where it lies in the rotor."""

    legs: tuple[Leg, ...]
    settle_s: float
    behind: float
    """How far clockwise of the rotor's mark it lies (turns)."""

    def pocket(self, count: int) -> int:
        """Return the number of the pocket, clockwise from the mark, of so many."""
        return round(self.behind * count) % count


def fall(rng: Random, ball: Run, rotor: Rotor, *, knocked_up: float, pockets: int) -> Fall:
    """Let a ball fall from the track's end; with the chance `knocked_up` a deflector sends it up again."""
    t_s, angle, speed = ball.end_s, ball.end, ball.way * ball.end_speed
    legs: list[Leg] = []

    def go(seconds: float, over: float, where: str) -> None:
        nonlocal t_s, angle
        legs.append(Leg(t_s, t_s + seconds, angle, angle + over, where))
        t_s, angle = t_s + seconds, angle + over

    slides_s = rng.uniform(0.3, 0.8)
    go(slides_s, slides_s * speed * 0.95, "bowl")
    if rng.random() < 0.7:
        speed *= rng.uniform(0.4, 0.65) * (-1 if rng.random() < 0.06 else 1)
        back_up = rng.random() < knocked_up
        seconds = rng.uniform(0.35, 0.9) if back_up else rng.uniform(0.05, 0.25)
        go(seconds, seconds * speed, "track" if back_up else "bowl")
    over_frets = speed - rotor.speed_at(t_s)
    while abs(over_frets) > _STILL_REV_PER_S:
        seconds = rng.uniform(0.06, 0.24)
        go(seconds, seconds * (over_frets + rotor.speed_at(t_s)), "rotor")
        over_frets *= rng.uniform(0.3, 0.7) * (-1 if rng.random() < 0.15 else 1)
    go(0.02, 0.02 * rotor.speed_at(t_s), "rotor")
    pocket = round((rotor.mark_at(t_s) - angle) * pockets)
    # A ball lies a little off its pocket's middle, and lies there all the time.
    off = rng.uniform(-0.2, 0.2)
    return Fall(tuple(legs), t_s, ((pocket + off) / pockets) % 1.0)
