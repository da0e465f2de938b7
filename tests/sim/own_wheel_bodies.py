"""A second physics model of the wheel, independent of the judge and of the other wheel simulator.

The equations of motion are integrated in steps of `STEP_S`. The track is a cone that rises outwards by
`slope` and is tilted with the bowl. A ball on it is pressed into the cone by g cos(a) + w2 r sin(a) and
against the rim by w2 r cos(a) - g sin(a). Rolling friction is a fraction of both that varies along the rim,
air resistance is a fraction of v2, and tilt pulls the ball downhill. Where w2 r cos(a) no longer exceeds g
sin(a), the ball slides inwards; after 12 mm it has left the track. Deflectors and frets are random. Bearing
friction slows the rotor, and a dealer pushes it. Revolutions are counted from the ball's angle. The sensors'
readings are disturbed afterwards.
"""

import math
import random
from dataclasses import dataclass, field

from controller.model.geometry import STANDARD_POCKETS

STEP_S = 0.002
G_M_S2 = 9.81
TURN = 2 * math.pi
LEFT_M = 0.012
"""Distance from the rim beyond which a ball does not return."""
STATED_LOSS = 0.20
"""Largest fraction of pulses that a beam misses."""


@dataclass(slots=True)
class Rim:
    """The build, wear and adjustment of a wheel, drawn for each log."""

    pockets: str
    names: tuple[str, ...]
    beams_deg: list[float]
    reader_deg: float
    index_deg: float
    radius_m: float
    slope: float
    tilt: float
    tilt_to: float
    friction: float
    worn: list[tuple[float, float, float]]
    """Worn stretches of the rim: centre, half width (radians), friction relative to the rest of the rim."""
    drag_per_m: float
    bearing: tuple[float, float]
    jitter_s: float
    loss: float
    doubles: float
    strays_per_s: float
    index_loss: float
    read_loss: float
    dead: int | None
    rubs: list[float] = field(default_factory=list)

    def prepare(self) -> None:
        """Tabulate the friction by degree of the rim."""
        for degree in range(360):
            rub = self.friction
            for centre, half, factor in self.worn:
                off = abs((math.radians(degree) - centre + math.pi) % TURN - math.pi)
                rub *= factor if off < half else 1.0
            self.rubs.append(rub)

    def critical(self) -> float:
        """Return the speed in rad/s at which an untilted ball leaves the rim."""
        return math.sqrt(G_M_S2 * math.tan(self.slope) / self.radius_m)


@dataclass(slots=True)
class Ball:
    """A ball: its angle in the bowl, its speed and its location."""

    angle: float
    speed: float
    phase: str = "track"
    inward_m: float = 0.0
    inward_m_s: float = 0.0
    turned: float = 0.0
    since_s: float = 0.0
    pocket: int | None = None
    relative: float = 0.0
    left_s: float | None = None


@dataclass(slots=True)
class SensorReadings:
    """The readings of undisturbed sensors; times are in seconds."""

    beams: list[tuple[float, int, float]] = field(default_factory=list)
    """Time, beam, and revolutions of the ball since its launch."""
    index: list[tuple[float, str]] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    others: list[tuple[float, dict[str, object]]] = field(default_factory=list)
    pushes: list[float] = field(default_factory=list)


def draw_rim(rng: random.Random) -> Rim:
    count = rng.choice((2, 3, 4, 4, 8))
    if count == 2:
        at = rng.uniform(0, 360)
        beams = [at, (at + rng.uniform(80, 150)) % 360]
    else:
        even = 360 / count
        beams = [(i * even + rng.uniform(-0.22, 0.22) * even) % 360 for i in range(count)]
    worn = [
        (rng.uniform(0, TURN), rng.uniform(0.1, 0.7), rng.uniform(0.6, 2.2)) for _ in range(rng.randint(0, 3))
    ]
    if rng.random() < 0.5:
        worn.append((rng.uniform(0, TURN), 0.03, rng.uniform(2, 6)))
    pockets = rng.choice(("american", "european"))
    rim = Rim(
        pockets=pockets,
        names=STANDARD_POCKETS[pockets],
        beams_deg=[round(b, 1) for b in beams],
        reader_deg=round(rng.uniform(0, 359), 1),
        index_deg=round(rng.uniform(0, 359), 1),
        radius_m=rng.uniform(0.36, 0.41),
        slope=math.radians(rng.uniform(17, 25)),
        tilt=math.radians(rng.choice((0.0, rng.uniform(0, 0.3), rng.uniform(0.2, 0.8)))),
        tilt_to=rng.uniform(0, TURN),
        friction=rng.uniform(0.003, 0.008),
        worn=worn,
        drag_per_m=rng.uniform(0.01, 0.03),
        bearing=(rng.uniform(0.0001, 0.0008), rng.uniform(0.0012, 0.0025)),
        jitter_s=rng.uniform(0.0001, 0.0015),
        loss=rng.choice((0.0, rng.uniform(0, 0.05), rng.uniform(0, STATED_LOSS))),
        doubles=rng.choice((0.0, rng.uniform(0, 0.05))),
        strays_per_s=rng.choice((0.0, rng.uniform(0, 0.1))),
        index_loss=rng.choice((0.0, rng.uniform(0, 0.04))),
        read_loss=rng.choice((0.0, rng.uniform(0, 0.1))),
        dead=rng.randrange(count) if count > 2 and rng.random() < 0.2 else None,
    )
    rim.prepare()
    return rim


class World:
    """A rotating wheel and the balls in it."""

    def __init__(self, rim: Rim, rng: random.Random) -> None:
        self.rim, self.rng = rim, rng
        self.t_s = 0.5
        self.mark = rng.uniform(0, TURN)
        self.rotor = rng.choice((-1, 1)) * rng.uniform(0.18, 0.45) * TURN
        self.balls: list[Ball] = []
        self.heard = SensorReadings()
        self.push_rad_s2, self.push_until_s = 0.0, 0.0
        self.jumps = False

    def push(self, share: float, during_s: float = 0.4) -> None:
        """Change the rotor's speed by a fraction of itself; a fraction below -1 reverses the rotor."""
        self.push_rad_s2 = self.rotor * share / during_s
        self.push_until_s = self.t_s + during_s
        self.heard.pushes += [self.t_s, self.push_until_s]

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.step()

    def step(self) -> None:
        """Advance one step."""
        rim = self.rim
        start_s, before = self.t_s, self.mark
        self.t_s += STEP_S
        if self.t_s < self.push_until_s:
            self.rotor += self.push_rad_s2 * STEP_S
        steady, by_speed = rim.bearing
        self.rotor -= math.copysign(steady, self.rotor) * STEP_S + by_speed * self.rotor * STEP_S
        self.mark += self.rotor * STEP_S
        part = crossing(before, self.mark, math.radians(rim.index_deg))
        if part is not None:
            self.heard.index.append((start_s + part * STEP_S, "ccw" if self.rotor > 0 else "cw"))
        for ball in self.balls:
            self._move(ball, start_s)

    def _move(self, ball: Ball, start_s: float) -> None:
        before = ball.angle
        if ball.phase == "track":
            self.roll(ball)
            ball.angle += ball.speed * STEP_S
            for number, degrees in enumerate(self.rim.beams_deg):
                part = crossing(before, ball.angle, math.radians(degrees))
                if part is not None:
                    turns = (ball.turned + abs(ball.speed) * STEP_S * part) / TURN
                    self.heard.beams.append((start_s + part * STEP_S, number, turns))
            ball.turned += abs(ball.speed) * STEP_S
            if ball.inward_m > LEFT_M:
                ball.phase, ball.left_s, ball.since_s = "inward", self.t_s, self.t_s
                lag = self.rng.uniform(0.05, 0.2)
                self.heard.others.append((self.t_s + lag, {"kind": "ball_drop"}))
        elif ball.phase == "inward":
            if self.rng.random() < STEP_S * 2.5:
                ball.speed *= self.rng.uniform(0.4, 0.9)
            ball.angle += ball.speed * STEP_S
            if self.t_s - ball.since_s > 0.45 and self.rng.random() < STEP_S * 4:
                if self.jumps:
                    ball.phase = "gone"
                    return
                ball.phase, ball.since_s = "frets", self.t_s
                ball.relative = ball.angle - self.mark
                ball.speed -= self.rotor
        elif ball.phase == "frets":
            self._bounce(ball)
            ball.angle = self.mark + ball.relative
            self._read(ball, before, start_s, 0.3)
        elif ball.phase == "pocket":
            ball.angle = self.mark + ball.relative
            self._read(ball, before, start_s, 1.0)

    def roll(self, ball: Ball) -> None:
        rim, speed2 = self.rim, ball.speed * ball.speed
        slope = rim.slope + rim.tilt * math.cos(ball.angle - rim.tilt_to)
        out = speed2 * rim.radius_m
        against = max(0.0, out * math.cos(slope) - G_M_S2 * math.sin(slope))
        into = G_M_S2 * math.cos(slope) + out * math.sin(slope)
        rub = rim.rubs[int(ball.angle * 360 / TURN) % 360] * (into + against)
        loss = rub / rim.radius_m + rim.drag_per_m * rim.radius_m * speed2
        downhill = G_M_S2 * math.sin(rim.tilt) * math.sin(ball.angle - rim.tilt_to) / rim.radius_m
        ball.speed += (downhill - math.copysign(loss, ball.speed)) * STEP_S
        ball.inward_m_s += (G_M_S2 * math.sin(slope) - out * math.cos(slope)) * STEP_S
        ball.inward_m += ball.inward_m_s * STEP_S
        if ball.inward_m <= 0:
            ball.inward_m = ball.inward_m_s = 0.0

    def _bounce(self, ball: Ball) -> None:
        pitch = TURN / len(self.rim.names)
        old = math.floor(ball.relative / pitch + 0.5)
        ball.relative += ball.speed * STEP_S
        if math.floor(ball.relative / pitch + 0.5) != old:
            ball.speed *= self.rng.uniform(0.55, 0.95)
            if self.rng.random() < 0.12:
                ball.speed *= -0.6
        ball.speed -= ball.speed * 0.3 * STEP_S
        if abs(ball.speed) < 0.35:
            place = math.floor(ball.relative / pitch + 0.5)
            off = self.rng.uniform(-0.2, 0.2)
            ball.relative, ball.phase = (place + off) * pitch, "pocket"
            # Pockets are numbered clockwise, angles counter-clockwise.
            ball.pocket, ball.since_s = -place % len(self.rim.names), self.t_s

    def _read(self, ball: Ball, before: float, start_s: float, chance: float) -> None:
        part = crossing(before, ball.angle, math.radians(self.rim.reader_deg))
        if part is not None and abs(ball.angle - before) < 1 and self.rng.random() < chance:
            self.heard.reads.append(start_s + part * STEP_S)


def crossing(before: float, after: float, at: float) -> float | None:
    """Return the fraction of a step at which an angle was passed, or None if it was not."""
    low, high = (before - at) / TURN, (after - at) / TURN
    line = max(math.floor(low), math.floor(high))
    if math.floor(low) == math.floor(high) or high == low:
        return None
    return (line - low) / (high - low)


def turns_of(rim: Rim, angle: float, speed: float) -> float:
    """Return the number of revolutions that a ball with this launch completes on the track."""
    world = World(rim, random.Random(0))
    ball = Ball(angle, speed)
    while ball.inward_m <= LEFT_M:
        world.roll(ball)
        ball.angle += ball.speed * STEP_S
        ball.turned += abs(ball.speed) * STEP_S
    return ball.turned / TURN
