"""A seeded wheel that simulates the readings of one spin and their ground truth.

It is independent of the judge. The ball's motion is integrated in steps, and the rotor slows down at a
constant rate.
"""

from dataclasses import dataclass, field
from math import exp, sqrt
from random import Random
from typing import Literal

from controller.model.geometry import STANDARD_POCKETS, Wheel
from controller.model.readings import BallBeam, BallDrop, PocketBall, Reading, RotorIndex, Turning

STEP_S = 0.001
DROP_SENSOR_S = 0.120
BEFORE_S = 8.0
OTHER: dict[Turning, Turning] = {"cw": "ccw", "ccw": "cw"}


def wheel(
    *beams_deg: float, reader_deg: float = 0.0, index_deg: float = 200.0, pockets: str = "american"
) -> Wheel:
    """Make a wheel, with three evenly spaced beams by default."""
    return Wheel(
        pockets=pockets,
        pockets_clockwise=STANDARD_POCKETS[pockets],
        beams_deg=beams_deg or (10.0, 130.0, 250.0),
        pocket_reader_deg=reader_deg,
        rotor_index_deg=index_deg,
        drop_rev_per_s=0.5,
    )


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The parameters of one spin: speeds in rev/s, times in seconds, fractions from 0 to 1."""

    wheel: Wheel = field(default_factory=wheel)
    revolutions: float = 15.0
    ball: Turning = "ccw"
    rotor: Turning = "cw"
    drop_speed: float = 0.5
    friction: float = 0.045
    drag: float = 0.022
    drag_power: float = 2.0
    knee: float = 0.0
    """Additional deceleration of a real ball (rev/s2) at about 0.85 rev/s, where the ball begins to roll."""
    worn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """A stretch of the track: its start and length (revolutions), and the ball's loss of speed there."""
    rotor_speed: float = 0.4
    rotor_deceleration: float = 0.002
    pocket: int = 7
    settle_s: float = 1.5
    bounces: int = 1
    turns_read: int = 6
    jitter_s: float = 0.0002
    read_jitter_s: float = 0.005
    missed: float = 0.0
    doubled: float = 0.0
    stray_pulses: int = 0
    dead_beams: frozenset[int] = frozenset()
    dying_beam: int | None = None
    missed_index: float = 0.0
    seed: int = 1
    begins_us: int = 10_000_000


@dataclass(frozen=True)
class Spin:
    """The readings of a scene's sensors, and the ground truth."""

    scene: Scene
    readings: list[Reading]
    launched_us: int
    left_us: int
    number: str
    runs: Literal["against", "with"]
    lost_in_a_row: int = 0
    """Maximum number of consecutive passes that working beams missed."""

    @property
    def lost_a_turn(self) -> bool:
        """Return whether working beams missed the ball for a whole revolution, by at least two passes."""
        scene = self.scene
        worn = len(scene.dead_beams) + (scene.dying_beam is not None)
        return self.lost_in_a_row >= max(len(scene.wheel.beams_deg) - worn - 1, 2)

    def of(self, *kinds: type[Reading]) -> list[Reading]:
        """Return the readings of these kinds."""
        return [reading for reading in self.readings if isinstance(reading, kinds)]

    def without(self, *kinds: type[Reading]) -> list[Reading]:
        """Return the readings without these kinds."""
        return [reading for reading in self.readings if not isinstance(reading, kinds)]

    def and_also(self, *more: Reading) -> list[Reading]:
        """Return these and the other readings in time order."""
        return in_order([*self.readings, *more])

    @property
    def end_us(self) -> int:
        return self.readings[-1].t


def in_order(readings: list[Reading]) -> list[Reading]:
    return sorted(readings, key=lambda reading: reading.t)


def spin(scene: Scene) -> Spin:
    random = Random(scene.seed)
    launch_deg = random.uniform(0, 360)
    run_s, crossings = _run(scene, launch_deg)
    pulses, lost_in_a_row = _faulty(scene, random, crossings, run_s)
    rotor = _Rotor(scene, random.random())
    settled_s = run_s + DROP_SENSOR_S + scene.settle_s
    reads = rotor.passes_of_pocket(scene.pocket, settled_s, scene.turns_read)
    reads = [at + random.gauss(0, scene.read_jitter_s) for at in reads]
    reads += [random.uniform(run_s + 0.4, settled_s - 0.05) for _ in range(scene.bounces)]
    last_s = max([*reads, settled_s]) + 0.5
    marks = [
        at + random.gauss(0, scene.jitter_s)
        for at in rotor.index_passes(-BEFORE_S, last_s)
        if random.random() >= scene.missed_index
    ]

    def at(seconds: float) -> int:
        return scene.begins_us + round(seconds * 1e6)

    readings: list[Reading] = [
        *(BallBeam(t=at(s), dev="wheel", beam=beam) for s, beam in pulses),
        *(RotorIndex(t=at(s), dev="wheel", direction=scene.rotor) for s in marks),
        *(PocketBall(t=at(s), dev="wheel") for s in reads),
        BallDrop(t=at(run_s + DROP_SENSOR_S), dev="wheel"),
    ]
    return Spin(
        scene,
        in_order(readings),
        at(0),
        at(run_s),
        scene.wheel.pockets_clockwise[scene.pocket],
        "with" if scene.ball == scene.rotor else "against",
        lost_in_a_row,
    )


def _run(scene: Scene, launch_deg: float) -> tuple[float, list[tuple[float, int]]]:
    """Integrate the ball's run back from the drop. Return its length and each beam's passes."""
    sense = 1.0 if scene.ball == "ccw" else -1.0
    speed, ran = scene.drop_speed, 0.0
    places = [0.0]
    while ran < scene.revolutions:
        place = (launch_deg / 360.0 + sense * (scene.revolutions - ran)) % 1.0
        half = speed + STEP_S / 2 * _loss(scene, speed, place)
        ran += half * STEP_S
        speed += STEP_S * _loss(scene, half, place)
        places.append(ran)
    run_s = (len(places) - 1) * STEP_S
    begin = [scene.revolutions - place for place in reversed(places)]
    passes = []
    for beam, deg in enumerate(scene.wheel.beams_deg):
        wanted = (sense * (deg - launch_deg) / 360.0) % 1.0
        for i in range(1, len(begin)):
            if begin[i - 1] < wanted <= begin[i]:
                fraction = (wanted - begin[i - 1]) / (begin[i] - begin[i - 1])
                passes.append(((i - 1 + fraction) * STEP_S, beam))
                wanted += 1.0
    return run_s, sorted(passes)


def _loss(scene: Scene, speed: float, place: float) -> float:
    """Return the ball's loss of speed per second at this speed and position on the track."""
    begin, length, worn = scene.worn
    loss: float = scene.friction + scene.drag * speed**scene.drag_power
    if scene.knee:
        loss += scene.knee * exp(-(((speed - 0.85) / 0.15) ** 2))
    return loss + worn if (place - begin) % 1.0 < length else loss


def _faulty(
    scene: Scene, random: Random, passes: list[tuple[float, int]], run_s: float
) -> tuple[list[tuple[float, int]], int]:
    dies_s = random.uniform(0.1, 0.9) * run_s
    pulses = []
    row = most = 0
    for at, beam in passes:
        if beam in scene.dead_beams or (beam == scene.dying_beam and at > dies_s):
            continue
        if random.random() < scene.missed:
            row += 1
            most = max(most, row)
            continue
        row = 0
        pulses.append((at + random.gauss(0, scene.jitter_s), beam))
        if random.random() < scene.doubled:
            pulses.append((at + random.uniform(0.001, 0.006), beam))
    beams = len(scene.wheel.beams_deg)
    strays = [(random.uniform(0, run_s), random.randrange(beams)) for _ in range(scene.stray_pulses)]
    return pulses + strays, most


class _Rotor:
    """A rotor that slows down at a constant rate from its position at the launch."""

    def __init__(self, scene: Scene, phase: float) -> None:
        self.scene = scene
        self.phase = phase
        self.sense = 1.0 if scene.rotor == "ccw" else -1.0

    def index_passes(self, since_s: float, until_s: float) -> list[float]:
        return self._passes(0.0, since_s, until_s)

    def passes_of_pocket(self, pocket: int, since_s: float, count: int) -> list[float]:
        step_deg = 360.0 / len(self.scene.wheel.pockets_clockwise)
        mark_deg = self.scene.wheel.pocket_reader_deg + pocket * step_deg
        offset = self.sense * (mark_deg - self.scene.wheel.rotor_index_deg) / 360.0
        return self._passes(offset % 1.0, since_s, since_s + 60.0)[:count]

    def _passes(self, offset: float, since_s: float, until_s: float) -> list[float]:
        """Return the times at which the mark is `offset` past the index sensor, in revolutions."""
        passes = [self._when(turn + offset - self.phase) for turn in range(-20, 60)]
        return [at for at in passes if at is not None and since_s <= at <= until_s]

    def _when(self, turns: float) -> float | None:
        speed, slows = self.scene.rotor_speed, self.scene.rotor_deceleration
        under = speed * speed - 2.0 * slows * turns
        return None if under < 0 else 2.0 * turns / (speed + sqrt(under))
