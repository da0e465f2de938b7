"""A slice of the bank's throws, judged as `make soak` judges ten thousand: none false, none wrongly void."""

from collections import Counter

from drivers.sim.bodies import bank
from drivers.sim.bodies.flights import Flight
from drivers.sim.bodies.watching import Conditions
from tests.sim.dice_soak import AN_EVENING, BAD, Job, play

EACH = 3
"""Every third throw of the bank; they lie by kind and relief, so that all are there."""
CONDITIONS = Conditions(exchanges=0.25)


def test_every_third_throw_of_the_bank_is_judged_as_it_happened() -> None:
    alike: dict[float, list[Flight]] = {}
    for flight in [flight for flights in bank.shipped().values() for flight in flights][::EACH]:
        alike.setdefault(flight.relief_mm, []).append(flight)
    said: Counter[str] = Counter()
    words: list[str] = []
    for relief, flights in alike.items():
        for first in range(0, len(flights), AN_EVENING):
            some = flights[first : first + AN_EVENING]
            seed = f"{relief:g}-{first}"
            job = Job(some[0].kind, seed, len(some), relief, "slice", (CONDITIONS,), None, bank.pack(some))
            score = play(job)
            words += score.words
            said.update({column: count for (_, column), count in score.said.items()})
    assert not [column for column in BAD if said[column]], words
    assert said["needless review"] <= 0.01 * said.total(), words
