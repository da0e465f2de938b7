"""The shipped throws: no wrong call, and no wrong void. `make soak` judges ten thousand throws."""

from collections import Counter

from drivers.sim.bodies.flights import Flight, pack, shipped
from drivers.sim.bodies.watching import Conditions
from tests.sim.dice_soak import BAD, THROWS_PER_LOG, Job, play

NEEDLESS = 0.015
"""Maximum fraction of needless reviews: one in a hundred, plus the statistical variation of 500 throws."""
CONDITIONS = Conditions(exchanges=0.25)


def test_the_shipped_throws_are_judged_as_they_happened() -> None:
    alike: dict[float, list[Flight]] = {}
    for flight in [flight for flights in shipped().values() for flight in flights]:
        alike.setdefault(flight.relief_mm, []).append(flight)
    said: Counter[str] = Counter()
    words: list[str] = []
    for relief, flights in alike.items():
        for first in range(0, len(flights), THROWS_PER_LOG):
            some = flights[first : first + THROWS_PER_LOG]
            seed = f"{relief:g}-{first}"
            job = Job(some[0].kind, seed, len(some), relief, "slice", (CONDITIONS,), None, pack(some))
            score = play(job)
            words += score.words
            said.update({column: count for (_, column), count in score.said.items()})
    assert not [column for column in BAD if said[column]], words
    assert said["needless review"] <= NEEDLESS * said.total(), words
