"""The bank's throws, judged as `make soak` judges ten thousand: no wrong call, none wrongly void."""

from collections import Counter

from drivers.sim.bodies.flights import Flight, pack, shipped
from drivers.sim.bodies.watching import Conditions
from tests.sim.dice_soak import AN_EVENING, BAD, Job, play

NEEDLESS = 0.015
"""One in a hundred, plus the statistical variation of five hundred throws."""
CONDITIONS = Conditions(exchanges=0.25)


def test_the_throws_of_the_bank_are_judged_as_they_happened() -> None:
    alike: dict[float, list[Flight]] = {}
    for flight in [flight for flights in shipped().values() for flight in flights]:
        alike.setdefault(flight.relief_mm, []).append(flight)
    said: Counter[str] = Counter()
    words: list[str] = []
    for relief, flights in alike.items():
        for first in range(0, len(flights), AN_EVENING):
            some = flights[first : first + AN_EVENING]
            seed = f"{relief:g}-{first}"
            job = Job(some[0].kind, seed, len(some), relief, "slice", (CONDITIONS,), None, pack(some))
            score = play(job)
            words += score.words
            said.update({column: count for (_, column), count in score.said.items()})
    assert not [column for column in BAD if said[column]], words
    assert said["needless review"] <= NEEDLESS * said.total(), words
