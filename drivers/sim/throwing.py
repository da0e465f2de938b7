"""A scripted throw: the paths of its dice, and the readings of the camera, the wall sensors and people.

Paths consist of straight legs with constant deceleration. Points are (u, y): u runs from the shooter's end of
the table to the far end; y is the table's y. Speeds are in m/s (mm/ms), times in microseconds.
"""

import math
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from controller.model.geometry import DiceTable
from controller.model.readings import (
    AnyReading,
    Die,
    DieAt,
    DieOffTable,
    DieReleased,
    DieRest,
    Face,
    Input,
    Surface,
    Wall,
    WallImpact,
)
from drivers.sim.scenes import CAMERA, Feed, Truth, in_order_of_arrival, with_camera_lag

Point = tuple[float, float]
Side = Literal["near", "far", "front", "back"]


@dataclass(frozen=True, slots=True)
class Leg:
    """A straight part of a path, with the speeds at its start and its end."""

    begin_us: int
    end_us: int
    start: Point
    stop: Point
    speed_in: float
    speed_out: float

    def at(self, t_us: float) -> Point:
        """Return the position at a time within the leg."""
        run_ms = (self.end_us - self.begin_us) / 1000
        gone_ms = (t_us - self.begin_us) / 1000
        distance = self.speed_in * gone_ms + (self.speed_out - self.speed_in) * gone_ms**2 / (2 * run_ms)
        fraction = min(1.0, max(0.0, distance / math.dist(self.start, self.stop)))
        return (
            self.start[0] + fraction * (self.stop[0] - self.start[0]),
            self.start[1] + fraction * (self.stop[1] - self.start[1]),
        )


@dataclass(frozen=True, slots=True)
class Touch:
    """The impact of a die on a wall."""

    t_us: int
    side: Side
    along_mm: float
    speed: float


@dataclass(slots=True)
class Path:
    """One die's path, built leg by leg."""

    release_us: int
    release_point: Point
    legs: list[Leg] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)

    @property
    def end_us(self) -> int:
        """Time at which the last leg ends."""
        return self.legs[-1].end_us if self.legs else self.release_us

    @property
    def end_point(self) -> Point:
        """Point where the path currently ends."""
        return self.legs[-1].stop if self.legs else self.release_point

    def go(self, to: Point, speed: float, speed_there: float) -> None:
        """Add a leg on which the speed changes uniformly from `speed` to `speed_there`."""
        distance = math.dist(self.end_point, to)
        if distance < 1e-6:
            return
        run_us = max(1, round(2000 * distance / (speed + speed_there)))
        begin = self.end_us
        self.legs.append(Leg(begin, begin + run_us, self.end_point, to, speed, speed_there))

    def strike(self, side: Side, speed: float) -> None:
        """Record an impact on a wall at the current end of the path."""
        along = self.end_point[1] if side in ("near", "far") else self.end_point[0]
        self.touches.append(Touch(self.end_us, side, along, speed))

    def at(self, t_us: float) -> Point:
        """Return the die's position at a time; outside the path's period, the nearer end of the path."""
        if t_us <= self.release_us or not self.legs:
            return self.release_point
        for leg in self.legs:
            if t_us < leg.end_us:
                return leg.at(t_us)
        return self.end_point

    def struck(self, side: Side) -> bool:
        """Return whether the die struck this wall."""
        return any(touch.side == side for touch in self.touches)


def nearest_approach(first: Path, second: Path) -> tuple[int, float]:
    """Return when two dice are closest, to the millisecond, and their distance (mm) at that time."""
    begin = max(first.release_us, second.release_us)
    end = max(begin + 1, min(first.end_us, second.end_us))
    return min(
        ((t, math.dist(first.at(t), second.at(t))) for t in range(begin, end, 1000)), key=lambda pair: pair[1]
    )


TRACK_NOISE_MM = 2.0
"""Standard deviation of a die's measured centre in one frame, per axis."""


@dataclass(slots=True)
class Rest:
    """A die at rest and its report; `seen` is False if the camera does not report the die."""

    face: Face
    up: Face | None
    confidence: float
    tilt_deg: float
    on: Surface = "felt"
    sides: tuple[Face, ...] = ()
    seen: bool = True
    off_table: bool = False
    at_us: int | None = None

    def reading(self, t_us: int, die: Die, place: Point) -> DieRest:
        """Return the camera's reading of the die at `place`, in the table's (x, y)."""
        return DieRest(
            t=t_us,
            dev=CAMERA,
            die=die,
            x=place[0],
            y=place[1],
            up=self.up,
            confidence=self.confidence,
            tilt_deg=self.tilt_deg,
            on=self.on,
            resting_sides=self.sides,
        )


@dataclass(slots=True)
class Script:
    """One scripted throw: the dice's paths, the sensors' errors and people's inputs."""

    paths: list[Path]
    rests: list[Rest]
    hidden: list[tuple[int, int, int]] = field(default_factory=list)
    """Periods in which a die is hidden from the camera: index of the die, start and end."""
    blind: tuple[int, int] | None = None
    """Start and end of a period in which the camera reports nothing."""
    silent_from_us: int | None = None
    """Time from which the far wall's sensor reports nothing."""
    unheard: set[tuple[int, int]] = field(default_factory=set)
    """Impacts that produce no reading: index of the die, and index in the touches of its path."""
    knocks: list[tuple[int, Side, float]] = field(default_factory=list)
    """Knocks that a wall sensor detects: time, side, and position along the wall."""
    swap_us: int | None = None
    """Time from which the camera confuses the two dice."""
    seen: list[AnyReading] = field(default_factory=list)
    """The camera's readings apart from tracks and resting positions."""
    extra: list[AnyReading] = field(default_factory=list)
    """People's inputs, and the devices' health readings."""
    collected_us: int | None = None
    final_places: dict[int, Point] = field(default_factory=dict)
    """Final positions of dice that were moved after their paths ended, by index of the die."""
    truth: Truth | None = None

    @property
    def first_us(self) -> int:
        """Time at which the first die leaves the hand."""
        return min(path.release_us for path in self.paths)

    @property
    def rest_us(self) -> int:
        """Time of the last report of a die at rest. If a die has none, the end of its path is used."""
        return max(rest.at_us or path.end_us for path, rest in zip(self.paths, self.rests, strict=True))

    @property
    def dice(self) -> tuple[int, int]:
        """Faces of the dice in the camera's final numbering."""
        faces = [rest.face for rest in self.rests] + [1]
        return (faces[1], faces[0]) if self.swap_us is not None else (faces[0], faces[1])


@dataclass(frozen=True, slots=True)
class Reach:
    """A die's flight to a wall: y at the wall (mm), and the speeds at launch and arrival."""

    y_mm: float
    launch: float
    arrive: float


class Thrower:
    """Builder of one throw's paths, which begin at `start_us` near the end where u = 0."""

    def __init__(self, rng: Random, table: DiceTable, start_us: int, *, rightward: bool) -> None:
        self.rng = rng
        self.rightward = rightward
        self.table = table
        self.start_us = start_us
        self.half = table.die_mm / 2
        self.far_u = table.length_mm - self.half
        self.stand_u = rng.uniform(320.0, 620.0)

    def release(self, y_mm: float, after_us: int) -> Path:
        """Return a path that begins at a die's release."""
        return Path(self.start_us + after_us, (self.stand_u + self.rng.uniform(-25, 25), y_mm))

    def hands(self) -> tuple[float, float]:
        """Draw the y (mm) at which each die leaves the hand."""
        middle = self.rng.uniform(0.36, 0.64) * self.table.width_mm
        gap = self.rng.uniform(45.0, 0.4 * self.table.width_mm)
        low, high = middle - gap / 2, middle + gap / 2
        return (low, high) if self.rng.random() < 0.6 else (high, low)

    def reaches(self) -> tuple[Reach, Reach]:
        """Draw both dice's flights to the far wall. The paths might cross."""
        launch = self.rng.uniform(2.5, 6.2)
        width = self.table.width_mm

        def reach() -> Reach:
            own_speed = launch * self.rng.uniform(0.9, 1.1)
            return Reach(
                self.rng.uniform(60, width - 60),
                own_speed,
                max(1.3, own_speed * self.rng.uniform(0.55, 0.95)),
            )

        first, second = reach(), reach()
        while abs(first.y_mm - second.y_mm) < 70:
            second = reach()
        return first, second

    def offsets(self) -> tuple[int, int]:
        """Draw the two release times, at most 45 ms apart, in microseconds after the start."""
        pair = (0, self.rng.randint(0, 45_000))
        return pair if self.rng.random() < 0.5 else (pair[1], pair[0])

    def fly(self, path: Path, to: Point, launch: float, arrive: float) -> None:
        """Add a flight to a point, with one to three bounces on the felt."""
        bounces = self.rng.randint(1, 3)
        fractions = sorted(self.rng.uniform(0.35, 0.93) for _ in range(bounces))
        start, speed = path.end_point, launch
        for number, fraction in enumerate(fractions, 1):
            landing = (
                start[0] + fraction * (to[0] - start[0]),
                self.inside(start[1] + fraction * (to[1] - start[1]) + self.rng.gauss(0, 7)),
            )
            path.go(landing, speed, speed * 0.985)
            speed = launch * (arrive / launch) ** (number / bounces)
        path.go(to, speed, max(arrive * 0.985, 0.05))

    def strike_far(self, path: Path, reach: Reach) -> None:
        """Add a flight to the far wall and the impact on it."""
        self.fly(path, (self.far_u, reach.y_mm), reach.launch, reach.arrive)
        path.strike("far", reach.arrive)

    def rebound(self, path: Path, struck_at: float) -> None:
        """Add a rebound from the far wall and the roll to rest."""
        speed = max(0.55, struck_at * self.rng.uniform(0.12, 0.42))
        angle = math.radians(self.rng.gauss(0, 17))
        self.settle(path, speed, math.pi + max(-0.7, min(0.7, angle)))

    def settle(self, path: Path, speed: float, heading: float, slow: float | None = None) -> None:
        """Add a roll along a heading until the die comes to rest; a rail makes the die rebound.

        `heading` is in radians, 0 towards the far end. `slow` is the deceleration (m/s2).
        """
        distance = 1000 * speed**2 / (2 * (slow or self.rng.uniform(0.9, 3.2)))
        start = path.end_point
        goal = (start[0] + distance * math.cos(heading), start[1] + distance * math.sin(heading))
        rail = self.half if goal[1] < self.half else self.table.width_mm - self.half
        if self.half <= goal[1] <= self.table.width_mm - self.half:
            path.go(goal, speed, 0)
            return
        fraction = (rail - start[1]) / (goal[1] - start[1])
        at_rail = speed * math.sqrt(max(0.0, 1 - fraction))
        path.go((start[0] + fraction * (goal[0] - start[0]), rail), speed, at_rail)
        path.strike("front" if rail == self.half else "back", at_rail)
        remaining = 0.35 * (1 - fraction)
        path.go(
            (
                path.end_point[0] + remaining * (goal[0] - start[0]),
                self.inside(rail - remaining * (goal[1] - start[1])),
            ),
            0.6 * at_rail,
            0,
        )

    def stop_short(self, path: Path, at: Point, launch: float) -> None:
        """Add a flight, a landing and a roll that ends at a point."""
        fraction = self.rng.uniform(0.4, 0.75)
        start = path.end_point
        landing = (start[0] + fraction * (at[0] - start[0]), start[1] + fraction * (at[1] - start[1]))
        path.go(landing, launch, launch * 0.97)
        path.go(at, launch * self.rng.uniform(0.65, 0.9), 0)

    def roll_to(self, path: Path, at: Point, speed: float) -> None:
        """Add a roll that ends at a point."""
        path.go(at, speed, 0)

    def inside(self, y_mm: float) -> float:
        """Return y, limited so that the die's centre is more than an edge length from either rail."""
        return min(self.table.width_mm - 2 * self.half - 1, max(2 * self.half + 1, y_mm))

    def flat(self) -> Rest:
        """Return a die flat on the felt, with a random face that the camera reads with high confidence."""
        face = self.face()
        return Rest(face, face, round(self.rng.uniform(0.9, 0.999), 3), round(abs(self.rng.gauss(0, 0.7)), 1))

    def face(self) -> Face:
        """Return a random face."""
        return self.rng.choice((1, 2, 3, 4, 5, 6))

    def seen_at(self, point: Point) -> Point:
        """Return the camera's measurement of a point (u, y) as the table's (x, y)."""
        x = point[0] if self.rightward else self.table.length_mm - point[0]
        return (
            round(x + self.rng.gauss(0, TRACK_NOISE_MM), 1),
            round(point[1] + self.rng.gauss(0, TRACK_NOISE_MM), 1),
        )

    def short_by(self, min_mm: float, max_mm: float) -> float:
        """Draw a distance from the wall (mm) on a logarithmic scale."""
        return math.exp(self.rng.uniform(math.log(min_mm), math.log(max_mm)))


FRAME_US = 1_000_000 / 90
IMPACT_ERROR_MM = 25.0


class TableSensors:
    """Sensors of one table.

    `rightward` is True if the dice are thrown to the right. `rails_heard` adds sensors on the rails.
    """

    def __init__(self, rng: Random, table: DiceTable, *, rightward: bool, rails_heard: bool) -> None:
        self.rng = rng
        self.table = table
        self.rightward = rightward
        self.rails_heard = rails_heard

    def wall(self, side: Side) -> Wall:
        """Return the wall on a side that is named from the shooter's position."""
        if side in ("front", "back"):
            return "front" if side == "front" else "back"
        return "right" if (side == "far") == self.rightward else "left"

    def wall_device(self, side: Side) -> str:
        """Return the name of a wall's device."""
        return f"wall-{self.wall(side)}"

    def place(self, point: Point) -> Point:
        """Convert (u, y) to the table's (x, y)."""
        return (point[0] if self.rightward else self.table.length_mm - point[0], point[1])

    def sense(self, script: Script) -> Feed:
        """Return all readings of a throw in order of arrival."""
        seen = self._camera(script)
        heard = [(reading.t + self.rng.randint(1000, 3000), reading) for reading in self._impacts(script)]
        entered = [(reading.t + self.rng.randint(200, 3000), reading) for reading in self._people(script)]
        return in_order_of_arrival([*with_camera_lag(seen, self.rng), *heard, *entered])

    def _camera(self, script: Script) -> list[AnyReading]:
        readings = list(script.seen)
        grid = script.first_us + self.rng.randint(0, round(FRAME_US) - 1)
        for index, path in enumerate(script.paths):
            x, y = self._noisy(path.release_point)
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
        return [rest.reading(t, die, self._noisy(script.final_places.get(index, path.end_point)))]

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
            if side == "far" and script.silent_from_us is not None and t_us >= script.silent_from_us:
                continue
            peak = min(1023.0, round(strength * self.rng.uniform(0.6, 1.5)))
            heard = t_us + self.rng.randint(500, 2000)
            readings.append(self._impact(heard, side, along, peak))
            if self.rng.random() < 0.25:
                ringing_us = heard + self.rng.randint(1000, 12_000)
                readings.append(
                    self._impact(ringing_us, side, along, round(peak * self.rng.uniform(0.1, 0.45)))
                )
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
