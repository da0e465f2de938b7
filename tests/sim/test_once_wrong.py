"""Rigid-body throws that are hard to judge, each observed many times.

`once_wrong.zlib` contains them in the format of the shipped flights. In some throws a die came near the wall
and turned before reaching it. Either the other die pushed it and bounced into the wall, or its own landing
turned it and was detected, in one throw by a side wall. In the other throws the dice met immediately before
one of them struck the wall.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from drivers.sim.bodies import flights
from drivers.sim.bodies.flights import Flight
from drivers.sim.bodies.watching import Conditions
from tests.sim.dice_soak import BAD, Job, play

FLIGHTS = flights.unpack((Path(__file__).parent / "once_wrong.zlib").read_bytes())
THROWN_BACK = flights.unpack((Path(__file__).parent / "thrown_back.zlib").read_bytes())
"""One die struck the wall repeatedly, pushed back by the other die, which never touched the wall."""
STEEP = flights.unpack((Path(__file__).parent / "steep_landings.zlib").read_bytes())
"""Composed throws: a hit, and a lob that landed loudly beside the wall and barely turned."""
WATCHINGS = 8
MANY = 24
"""Repetitions in the soak, which find a failure rate of one in eight with a probability of 96 %."""
FPS = pytest.mark.parametrize("fps", [60.0, 90.0, 120.0])


def name(flight: Flight) -> str:
    return f"{flight.kind}-{flight.seed}"


def watched(flight: Flight, fps: float, watchings: int = WATCHINGS) -> Counter[str]:
    conditions = (Conditions(exchanges=0.25, fps=fps),)
    said: Counter[str] = Counter()
    for number in range(watchings):
        seed = f"{flight.seed}-r{number}"
        job = Job(flight.kind, seed, 1, flight.relief_mm, "again", conditions, None, flights.pack([flight]))
        said.update({column: count for (_, column), count in play(job).said.items()})
    return said


@pytest.mark.parametrize("fps", [60.0, 90.0])
@pytest.mark.parametrize("flight", FLIGHTS, ids=name)
def test_a_hard_throw_is_never_judged_wrong(flight: Flight, fps: float) -> None:
    said = watched(flight, fps)
    assert not any(said[column] for column in BAD), said


@FPS
@pytest.mark.parametrize("flight", THROWN_BACK, ids=name)
def test_the_strikes_of_a_die_thrown_back_by_the_other_count_for_itself_only(
    flight: Flight, fps: float
) -> None:
    said = watched(flight, fps)
    assert not any(said[column] for column in BAD), said


@FPS
@pytest.mark.parametrize("flight", STEEP, ids=name)
def test_a_steep_landing_is_loud_and_hardly_turns_a_die(flight: Flight, fps: float) -> None:
    said = watched(flight, fps)
    assert not any(said[column] for column in BAD), said


CALLED_ONCE = "at_wall-9003-0-6", 60.0
"""A throw whose dice swapped places twice within one frame, while one of them struck the wall three times."""


def observed() -> Iterator[ParameterSet]:
    for flight in (*FLIGHTS, *THROWN_BACK, *STEEP):
        for fps in (60.0, 90.0, 120.0):
            wrong = pytest.mark.xfail(reason="called in one observation out of 24 at 60 frames/s")
            marks = [wrong] if (name(flight), fps) == CALLED_ONCE else []
            yield pytest.param(flight, fps, id=f"{name(flight)}-{fps:g}", marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("flight", "fps"), list(observed()))
def test_a_hard_throw_is_never_judged_wrong_however_it_is_sensed(flight: Flight, fps: float) -> None:
    said = watched(flight, fps, MANY)
    assert not any(said[column] for column in BAD), said
