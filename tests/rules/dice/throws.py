"""Seeded simulated throws of two dice: the sensors' readings and the ground truth.

A die slides and rolls along a 3.6 m table, bounces off walls with a tenth to two fifths of its speed, and may
meet obstacles. The camera reports the centre of a moving die at 90 frames a second with 2 mm noise. A wall
sensor reports a hit 0.5 to 2 ms later with 25 mm error, and one hit in four rings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from controller.model.geometry import DiceTable, Zone
from controller.model.readings import (
    DieAt,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    Reading,
    WallImpact,
)

LENGTH, WIDTH, EDGE = 3600.0, 1100.0, 19.0
HALF = EDGE / 2.0
TABLE = DiceTable(
    length_mm=LENGTH,
    width_mm=WIDTH,
    die_mm=EDGE,
    zones=(
        Zone(kind="bank", name="bank", polygon=((1550, 900), (2050, 900), (2050, 1100), (1550, 1100))),
        Zone(kind="cup", name="cup", polygon=((1700, 0), (1900, 0), (1900, 140), (1700, 140))),
    ),
)
SOURCES = {
    "cam": frozenset({"die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"}),
    "wall-left": frozenset({"wall_impact:left"}),
    "wall-right": frozenset({"wall_impact:right"}),
    "wall-front": frozenset({"wall_impact:front"}),
    "wall-back": frozenset({"wall_impact:back"}),
}
STEP_MS = 0.5
NOISE = 2.0


@dataclass
class Body:
    """One die: its start, its flight, and its obstacles."""

    number: int
    t0: float
    x: float
    y: float
    vx: float
    vy: float
    slowing: float = 0.5
    rolling: float = 3.5
    bounce: float = 0.2
    kick: float = 0.0
    """Speed along the wall, in m/s, that the pyramids add at the end wall."""
    blocks: list[tuple[float, float]] = field(default_factory=list)
    """Obstacles that turn the die back once: their position along x, and the fraction of speed kept."""
    back_blocks: list[tuple[float, float]] = field(default_factory=list)
    """Obstacles on the way back from the far end."""
    stops_at: float | None = None
    """The position along x at which the die comes to rest if it meets no obstacle."""
    leaves: bool = False
    """Whether the die flies over the rail after its hit."""
    points: list[tuple[float, float, float]] = field(default_factory=list)
    hits: list[tuple[float, str, float]] = field(default_factory=list)
    ended: float = 0.0
    face: int = 1

    def fly(self) -> None:
        """Move until the die rests or leaves. Record the camera's points and every hit."""
        if self.stops_at is not None:
            self.slowing = self.rolling = 1000.0 * self.vx * self.vx / (2.0 * abs(self.stops_at - self.x))
            self.vy = 0.0
        t, frame, phase = 0.0, 0, 0.0
        slow = self.slowing
        blocks = list(self.blocks)
        while t < 6000.0:
            if t >= phase:
                self.points.append((self.t0 + t, self.x, self.y))
                frame += 1
                phase = -(-frame * 1000.0 // 90.0)
            speed = (self.vx * self.vx + self.vy * self.vy) ** 0.5
            if speed < 0.012 or (self.leaves and self.y > WIDTH + 110.0):
                break
            lose = min(slow * STEP_MS / 1000.0, speed) / speed
            self.vx -= lose * self.vx
            self.vy -= lose * self.vy
            old = self.x
            self.x += self.vx * STEP_MS
            self.y += self.vy * STEP_MS
            t += STEP_MS
            if blocks and min(old, self.x) <= blocks[0][0] <= max(old, self.x):
                at, kept = blocks.pop(0)
                self.x = at
                self.vx *= -kept
                slow = self.rolling
            slow = self._walls(t, slow, blocks)
        self.ended = self.t0 + t

    def _walls(self, t: float, slow: float, blocks: list[tuple[float, float]]) -> float:
        for wall, at, sign in (("left", HALF, 1.0), ("right", LENGTH - HALF, -1.0)):
            if (self.x - at) * sign < 0.0 and self.vx * sign < 0.0:
                self.x = at
                self.vx *= -self.bounce
                self.vy += self.kick
                self.hits.append((self.t0 + t, wall, self.y))
                slow = self.rolling
                blocks += self.back_blocks
                self.back_blocks = []
                if self.leaves:
                    self.vy = 1.6
                    slow = 0.2
        if not self.leaves:
            for wall, at, sign in (("front", HALF, 1.0), ("back", WIDTH - HALF, -1.0)):
                if (self.y - at) * sign < 0.0 and self.vy * sign < 0.0:
                    self.y = at
                    self.vy *= -0.5
                    self.hits.append((self.t0 + t, wall, self.x))
        return slow


@dataclass
class Throw:
    """One throw as the sensors reported it, and its ground truth."""

    kind: str
    bodies: list[Body]
    readings: list[Reading]
    decided_at_us: int
    hit: tuple[frozenset[str], frozenset[str]]
    """The walls that each die touched."""

    @property
    def faces(self) -> tuple[int, int]:
        return self.bodies[0].face, self.bodies[1].face


class Maker:
    """A source of throws with one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def bodies(self, *, speed: tuple[float, float] = (2.9, 5.9), apart: float | None = None) -> list[Body]:
        """Return two simple bodies that hit the far end."""
        rng = self.rng
        rightward = rng.random() < 0.5
        v = rng.uniform(*speed)
        y1 = rng.uniform(250, 500)
        made = []
        for number in (1, 2):
            own = v * rng.uniform(0.97, 1.03) if apart is None else v
            y = y1 if number == 1 else rng.uniform(570, 850) if apart is None else y1 + apart
            made.append(
                Body(
                    number=number,
                    t0=0.0 if number == 1 or apart is not None else rng.uniform(0, 45),
                    x=450.0 if rightward else LENGTH - 450.0,
                    y=y,
                    vx=own if rightward else -own,
                    vy=0.0 if apart is not None else rng.uniform(-0.12, 0.12),
                    slowing=rng.uniform(0.2, 1.0),
                    rolling=rng.uniform(1.2, 4.5),
                    bounce=rng.uniform(0.12, 0.35),
                    kick=0.0 if apart is not None else rng.uniform(-0.5, 0.5),
                    face=rng.randint(1, 6),
                )
            )
        return made

    def far(self, body: Body, short: float) -> float:
        """Return the centre of a die whose face is `short` mm before the far end."""
        return LENGTH - HALF - short if body.vx > 0 else HALF + short

    def short_stop(self, body: Body, short: float) -> Body:
        """Return a body that comes to rest `short` mm before the far end."""
        body.stops_at = self.far(body, short)
        return body

    def turned(self, body: Body, short: float, kept: float | None = None) -> Body:
        """Return a body that an obstacle turns back `short` mm before the far end."""
        body.blocks = [(self.far(body, short), self.rng.uniform(0.1, 0.4) if kept is None else kept)]
        return body

    def sense(
        self,
        kind: str,
        bodies: list[Body],
        *,
        hidden: Callable[[Body, float], bool] = lambda _body, _t: False,
        failed: Callable[[str], bool] = lambda _wall: False,
        merge_ms: float = 3.0,
        knocks: list[tuple[float, str, float]] | None = None,
        rests: dict[int, dict[str, object]] | None = None,
        drop: float = 0.0,
    ) -> Throw:
        """Fly the bodies and return the sensors' readings."""
        rng = self.rng
        readings: list[Reading] = []
        heard: list[tuple[float, str, float]] = []
        base = rng.randint(0, 10**9)
        for body in bodies:
            body.fly()
            heard += body.hits
            readings += self._camera(body, base, hidden, drop, (rests or {}).get(body.number, {}))
        readings += self._wall_sensors(heard, knocks or [], base, failed, merge_ms)
        readings.sort(key=lambda reading: reading.t)
        hit = [frozenset(wall for _, wall, _ in body.hits) for body in bodies]
        hit += [frozenset()] * (2 - len(hit))
        return Throw(kind, bodies, readings, readings[-1].t, (hit[0], hit[1]))

    def _camera(
        self,
        body: Body,
        base: int,
        hidden: Callable[[Body, float], bool],
        drop: float,
        rest: dict[str, object],
    ) -> list[Reading]:
        rng = self.rng
        die = body.number
        assert die in {1, 2}
        start = body.points[0]
        reported: list[Reading] = [
            DieReleased(t=base + int(start[0] * 1000), dev="cam", die=die, x=start[1], y=round(start[2], 1))  # type: ignore[arg-type]
        ]
        for t, x, y in body.points:
            if hidden(body, t) or rng.random() < drop:
                continue
            reported.append(
                DieAt(
                    t=base + int(t * 1000),
                    dev="cam",
                    die=die,  # type: ignore[arg-type]
                    x=round(x + rng.gauss(0, NOISE), 1),
                    y=round(y + rng.gauss(0, NOISE), 1),
                )
            )
        end = base + int((body.ended + 50.0) * 1000)
        if body.leaves:
            reported.append(DieOffTable(t=end, dev="cam", die=die))  # type: ignore[arg-type]
        elif rest.get("lost"):
            reported.append(DieLost(t=end, dev="cam", die=die))  # type: ignore[arg-type]
        else:
            given: dict[str, object] = {
                "x": round(body.x, 1),
                "y": round(body.y, 1),
                "up": body.face,
                "confidence": round(rng.uniform(0.96, 1.0), 3),
                "tilt_deg": round(abs(rng.gauss(0, 0.7)), 1),
                "on": "felt",
            }
            given.update(rest)
            reported.append(DieRest(t=end, dev="cam", die=die, **given))  # type: ignore[arg-type]
        return reported

    def _wall_sensors(
        self,
        heard: list[tuple[float, str, float]],
        knocks: list[tuple[float, str, float]],
        base: int,
        failed: Callable[[str], bool],
        merge_ms: float,
    ) -> list[Reading]:
        rng = self.rng
        reported: list[Reading] = []
        last: dict[str, tuple[float, float]] = {}
        for t, wall, pos in sorted(heard + knocks):
            if failed(wall):
                continue
            before = last.get(wall)
            if before is not None and t - before[0] < merge_ms and abs(pos - before[1]) < 80.0:
                continue
            last[wall] = (t, pos)
            at = t + rng.uniform(0.5, 2.0)
            peak = rng.randint(300, 900)
            reported.append(self._impact(base, at, wall, pos, peak))
            if rng.random() < 0.25:
                reported.append(self._impact(base, at + rng.uniform(4, 12), wall, pos, rng.randint(80, 160)))
        return reported

    def _impact(self, base: int, t: float, wall: str, pos: float, peak: int) -> WallImpact:
        return WallImpact(
            t=base + int(t * 1000),
            dev=f"wall-{wall}",
            wall=wall,  # type: ignore[arg-type]
            pos_mm=round(pos + self.rng.gauss(0, 25)),
            peak=peak,
        )
