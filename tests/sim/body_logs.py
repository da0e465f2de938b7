"""A session of rigid-body throws at one table, with its log and the ground truth of each throw."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from controller.model.geometry import DiceTable
from drivers.sim.bodies.flights import Flight
from drivers.sim.bodies.watching import Conditions, PhysicalTruth, Watch
from drivers.sim.scenes import Feed, Scene, in_order_of_arrival

PAUSE_US = 2_000_000


class ThrowLog(msgspec.Struct, frozen=True, kw_only=True):
    """A series of throws at one table under the same conditions."""

    table: DiceTable
    name: str
    relief_mm: float
    rules: str
    feed: Feed
    truths: tuple[PhysicalTruth, ...]
    scenes: tuple[Scene, ...]

    def log(self) -> bytes:
        """Return the session as a recorded sensor log."""
        geometry = msgspec.to_builtins(self.table) | {"wall_relief_mm": self.relief_mm}
        header = {
            "log": "table-readings",
            "version": 1,
            "table": self.name,
            "ruleset": self.rules,
            "epoch": "2026-01-01T20:00:00Z",
            "dice_table": geometry,
        }
        encode = msgspec.json.Encoder().encode
        return b"\n".join([encode(header), *(encode(reading) for _, reading in self.feed)]) + b"\n"

    def write(self, folder: Path) -> Path:
        """Write the log and its truth file to a folder; return the log's path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.jsonl"
        path.write_bytes(self.log())
        truth = msgspec.json.format(msgspec.json.encode(self.truths), indent=1)
        path.with_suffix(".truth.json").write_bytes(truth + b"\n")
        return path


def observe(
    name: str,
    flights: Sequence[Flight],
    *,
    table: DiceTable,
    conditions: Conditions,
    rules: str = "craps-12-034",
) -> ThrowLog:
    """Observe successive flights; the same name, flights and conditions produce the same session."""
    rng = Random(f"{name} {conditions}")
    feed: Feed = []
    truths: list[PhysicalTruth] = []
    scenes: list[Scene] = []
    start_us = PAUSE_US
    for flight in flights:
        watch = Watch(flight, table, rng, start_us, conditions, rightward=rng.random() < 0.5)
        feed += watch.feed()
        truth = watch.truth
        truths.append(truth)
        scenes.append(
            Scene(
                kind=flight.kind,
                start_us=start_us,
                end_us=watch.collected_us,
                truth=watch.scene_truth(truth),
            )
        )
        start_us = watch.collected_us + PAUSE_US
    relief = max((flight.relief_mm for flight in flights), default=0.0)
    return ThrowLog(
        table=table,
        name=name,
        relief_mm=relief,
        rules=rules,
        feed=in_order_of_arrival(feed),
        truths=tuple(truths),
        scenes=tuple(scenes),
    )
