"""What a dice table's camera, wall sensors and people report of a throw: readings with their arrival."""

from random import Random
from typing import Literal

from controller.model.geometry import DiceTable
from controller.model.readings import (
    AnyReading,
    DieAt,
    DieOffTable,
    DieReleased,
    DieRest,
    Input,
    Wall,
    WallImpact,
)
from drivers.sim.scenes import Feed, in_order_of_arrival
from drivers.sim.thrower import TRACK_NOISE_MM, Path, Point, Script, Side

FRAME_US = 1_000_000 / 90
IMPACT_ERROR_MM = 25.0
CAMERA = "cam"


class Senses:
    """One table's sensors: `rightward` is where the shooter throws, `rails_heard` adds the rails' own."""

    def __init__(self, rng: Random, table: DiceTable, *, rightward: bool, rails_heard: bool) -> None:
        self.rng = rng
        self.table = table
        self.rightward = rightward
        self.rails_heard = rails_heard

    def wall(self, side: Side) -> Wall:
        """Return the wall that is near or far for this shooter."""
        if side in ("front", "back"):
            return "front" if side == "front" else "back"
        return "right" if (side == "far") == self.rightward else "left"

    def wall_device(self, side: Side) -> str:
        """Return the device of a wall."""
        return f"wall-{self.wall(side)}"

    def place(self, point: Point) -> Point:
        """Turn (u, y) into the table's own (x, y)."""
        return (point[0] if self.rightward else self.table.length_mm - point[0], point[1])

    def sense(self, script: Script) -> Feed:
        """Return every reading of a throw in order of arrival."""
        seen = self._camera(script)
        heard = [(reading.t + self.rng.randint(1000, 3000), reading) for reading in self._impacts(script)]
        told = [(reading.t + self.rng.randint(200, 3000), reading) for reading in self._people(script)]
        return in_order_of_arrival([*self._lagged(seen), *heard, *told])

    def _camera(self, script: Script) -> list[AnyReading]:
        readings = list(script.seen)
        grid = script.first_us + self.rng.randint(0, round(FRAME_US) - 1)
        for index, path in enumerate(script.paths):
            x, y = self._noisy(path.hand)
            readings.append(
                DieReleased(t=path.release_us, dev=CAMERA, die=self._name(0, index, None), x=x, y=y)
            )
            readings.extend(self._track(script, index, path, grid))
            readings.extend(self._end(script, index, path))
        blind = script.blind
        if blind is not None:
            readings = [r for r in readings if not blind[0] <= r.t < blind[1]]
        return sorted(readings, key=lambda reading: reading.t)

    def _track(self, script: Script, index: int, path: Path, grid: int) -> list[AnyReading]:
        points: list[AnyReading] = []
        frame = 0
        while (t := round(grid + frame * FRAME_US)) <= path.end_us:
            frame += 1
            if t < path.release_us or self._hidden(script, index, t) or self.rng.random() < 0.01:
                continue
            x, y = self._noisy(path.at(t))
            points.append(DieAt(t=t, dev=CAMERA, die=self._name(t, index, script.swap_us), x=x, y=y))
        return points

    def _end(self, script: Script, index: int, path: Path) -> list[AnyReading]:
        rest = script.rests[index]
        t = rest.at_us if rest.at_us is not None else path.end_us + self.rng.randint(35_000, 95_000)
        rest.at_us = t
        if not rest.seen:
            return []
        die = self._name(t, index, script.swap_us)
        if rest.off_table:
            return [DieOffTable(t=t, dev=CAMERA, die=die)]
        x, y = self._noisy(script.lies.get(index, path.here))
        return [
            DieRest(
                t=t,
                dev=CAMERA,
                die=die,
                x=x,
                y=y,
                up=rest.up,
                confidence=rest.confidence,
                tilt_deg=rest.tilt_deg,
                on=rest.on,
                resting_sides=rest.sides,
            )
        ]

    def _impacts(self, script: Script) -> list[AnyReading]:
        hits = [
            (touch.t_us, touch.side, touch.along_mm, 120 + 130 * touch.speed)
            for index, path in enumerate(script.paths)
            for number, touch in enumerate(path.touches)
            if (index, number) not in script.unheard
        ]
        hits.extend((t, side, along, 300.0) for t, side, along in script.knocks)
        readings: list[AnyReading] = []
        for t_us, side, along, strength in hits:
            if side in ("front", "back") and not self.rails_heard:
                continue
            if side == "far" and script.deaf_from_us is not None and t_us >= script.deaf_from_us:
                continue
            peak = min(1023.0, round(strength * self.rng.uniform(0.6, 1.5)))
            heard = t_us + self.rng.randint(500, 2000)
            readings.append(self._impact(heard, side, along, peak))
            if self.rng.random() < 0.25:
                again = heard + self.rng.randint(1000, 12_000)
                readings.append(self._impact(again, side, along, round(peak * self.rng.uniform(0.1, 0.45))))
        return readings

    def _impact(self, t_us: int, side: Side, along: float, peak: float) -> WallImpact:
        error = max(-75.0, min(75.0, self.rng.gauss(0, IMPACT_ERROR_MM)))
        middle = along if side in ("near", "far") else self.place((along, 0))[0]
        return WallImpact(
            t=t_us,
            dev=self.wall_device(side),
            wall=self.wall(side),
            pos_mm=float(round(middle + error)),
            peak=peak,
        )

    def _people(self, script: Script) -> list[AnyReading]:
        collected: list[AnyReading] = []
        if script.collected_us is not None:
            collected.append(
                Input(t=script.collected_us, dev="console", name="dice_collected", by="stickperson")
            )
        return [*script.extra, *collected]

    def _lagged(self, seen: list[AnyReading]) -> Feed:
        """Delay each frame by its own lag; a camera sends frame by frame and never overtakes itself."""
        feed: Feed = []
        last_t, arrival = -1, 0
        for reading in seen:
            if reading.t != last_t:
                arrival = max(arrival + 1, reading.t + self.rng.randint(30_000, 80_000))
                last_t = reading.t
            feed.append((arrival, reading))
        return feed

    def _noisy(self, point: Point) -> Point:
        x, y = self.place(point)
        return (
            round(x + self.rng.gauss(0, TRACK_NOISE_MM), 1),
            round(y + self.rng.gauss(0, TRACK_NOISE_MM), 1),
        )

    @staticmethod
    def _hidden(script: Script, index: int, t_us: int) -> bool:
        return any(die == index and begin <= t_us < end for die, begin, end in script.hidden)

    @staticmethod
    def _name(t_us: int, index: int, swap_us: int | None) -> Literal[1, 2]:
        swapped = swap_us is not None and t_us >= swap_us
        return 2 if (index == 1) != swapped else 1
