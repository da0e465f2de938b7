"""A wall's sensor detects a landing only after a long fall, and a falling die flies straight."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from controller.model.readings import DieAt, Reading
from controller.model.verdicts import Ruling
from tests.rules.dice.test_bodies import Cast, readings_of, ruling_of, with_peak

SEEDS = range(20)
CAST = Cast(12.0, 700.0, speed=1.5, back=0.3)
PEAK = 130.0
"""The peak of a landing that turns a die in this way. Only the die's path differs from that of a hit."""
Bend = Callable[[float], float]
"""Additional distance from the wall, in mm, at a time in ms before the turn."""


def straight(_: float) -> float:
    return 0.0


def slowed(before_ms: float) -> float:
    """Return the additional distance of a die that felt slowed by 4 m/s2 for a fifth of a second."""
    return 0.5 * 0.004 * min(before_ms, 200.0) ** 2


def bounced(before_ms: float) -> float:
    """Return the additional distance of a die that bounced 200 and 80 ms before its turn."""
    return 0.5 * (min(max(before_ms, 80.0), 200.0) - 80.0)


def bent(readings: list[Reading], bend: Bend) -> list[Reading]:
    """Bend the second die's path to the right wall."""
    turn_ms = CAST.turn_ms
    return [
        replace(r, x=r.x - bend(turn_ms - r.t / 1000.0))
        if isinstance(r, DieAt) and r.die == 2 and r.t / 1000.0 < turn_ms
        else r
        for r in readings
    ]


def rulings(bend: Bend, peak: float = PEAK) -> list[Ruling]:
    result = []
    for seed in SEEDS:
        readings = with_peak(readings_of((Cast(9.0, 300.0), CAST), seed), 700.0, peak)
        result.append(ruling_of(bent(readings, bend)))
    return result


def test_a_die_that_flew_straight_may_have_fallen_beside_the_wall() -> None:
    assert set(rulings(straight)) == {Ruling.REVIEW}


@pytest.mark.parametrize("bend", [slowed, bounced])
def test_a_die_that_touched_the_felt_on_its_way_did_not_fall_so_hard(bend: Bend) -> None:
    assert rulings(bend).count(Ruling.VALID) >= len(SEEDS) - 1
