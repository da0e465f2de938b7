"""Evenings of spins by physics, of every kind, as recorded logs with the truth of each scene."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from drivers.sim import blind_spins, spins
from drivers.sim.blind_spins import BLIND
from drivers.sim.caught_spins import CAUGHT
from drivers.sim.croupier import Croupier, Kind, SpinTruth
from drivers.sim.houses import HOUSES
from drivers.sim.lap_tables import lap_house
from drivers.sim.scenes import Feed, Header, in_order_of_arrival, write_log
from drivers.sim.spins import ODD

LAPS: Mapping[str, Kind] = {
    "laps": Kind(lap_house, Croupier.any_spin),
    "laps_beams_2": Kind(partial(lap_house, count=2), Croupier.any_spin),
    "laps_beams_3": Kind(partial(lap_house, count=3, uneven=True), Croupier.any_spin),
    "laps_beams_8": Kind(partial(lap_house, count=8), Croupier.any_spin),
    "laps_weak": Kind(lap_house, Croupier.weak),
    "laps_dust": Kind(lap_house, blind_spins.dust),
    "laps_dead_beam": Kind(partial(lap_house, uneven=True), blind_spins.dead_beam),
    "laps_drop_ghost": Kind(lap_house, blind_spins.drop_ghost),
    "laps_pushed": Kind(lap_house, spins.pushed),
    "laps_hop": Kind(lap_house, spins.hop),
    "laps_relaunched": Kind(lap_house, CAUGHT["relaunched_later"].play),
    "laps_caught_dropped": Kind(lap_house, CAUGHT["caught_dropped"].play),
}
"""Balls whose laps are a table, not an equation's."""

KINDS: Mapping[str, Kind] = {
    **{name: Kind(house, Croupier.any_spin) for name, house in HOUSES.items()},
    **BLIND,
    **ODD,
    **CAUGHT,
    **LAPS,
}
"""Every kind of evening by name."""


def evening(kind: str, seed: int, n: int = 10) -> tuple[Header, Feed, list[SpinTruth]]:
    """Play `n` scenes of one kind on one drawn wheel; the same kind and seed give the same evening.

    Raises:
        KeyError: the kind is not one of KINDS.
    """
    rng = Random(f"{kind} {seed}")  # noqa: S311 - a reproducible simulation, not a secret
    return played(kind, KINDS[kind], rng, n)


def played(name: str, kind: Kind, rng: Random, n: int) -> tuple[Header, Feed, list[SpinTruth]]:
    """Play `n` scenes of a kind with this randomness."""
    hand = Croupier(rng, kind.house(rng), rng.uniform(1.0, 3.0))
    feed: Feed = []
    truths: list[SpinTruth] = []
    for _ in range(n):
        seen, truth = hand.sensed(name, kind.play(hand))
        feed += seen
        truths.append(truth)
    header = Header(table=f"spins-{name}", ruleset="roulette", wheel=hand.house.wheel)
    return header, in_order_of_arrival(feed), truths


def write(folder: Path, name: str, header: Header, feed: Feed, truths: list[SpinTruth]) -> None:
    """Write an evening as `NAME.jsonl` and `NAME.truth.json`."""
    write_log(folder / f"{name}.jsonl", header, feed)
    truth = msgspec.json.format(msgspec.json.encode(truths), indent=1)
    (folder / f"{name}.truth.json").write_bytes(truth + b"\n")
