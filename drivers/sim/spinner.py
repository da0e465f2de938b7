"""One spin before the sensors: the ball, the rotor, where the ball comes to rest, and what goes wrong."""

from dataclasses import dataclass, field, replace
from random import Random

from controller.model.geometry import Wheel
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    Input,
    PocketBall,
    RotorIndex,
)
from drivers.sim.motions import BallRun, RotorRun
from drivers.sim.scenes import Feed, Truth, in_order_of_arrival

WHEEL = "wheel"
DROP_SENSED_US = 120_000
BEAM_JITTER_US = 300
INDEX_JITTER_US = 300
READER_JITTER_US = 1500


@dataclass(slots=True)
class Spin:
    """What happens; kinds change it before the sensors see it."""

    ball: BallRun
    rotors: list[RotorRun]
    pocket: int
    settle_s: float
    lift_s: float
    """When the dealer takes the ball out of its pocket."""
    missed: float = 0.0
    doubled: float = 0.0
    strays: int = 0
    dead_beams: frozenset[int] = frozenset()
    dead_from_s: float = 0.0
    bounces_s: tuple[float, ...] = ()
    rests: list[tuple[int, int]] = field(default_factory=list)
    """Pockets the ball lay in before it hopped on, each with how many times the reader saw it there."""
    reader_dead: bool = False
    drop_unsensed: bool = False
    missed_index: float = 0.0
    blind: tuple[int, int] | None = None
    extra: list[AnyReading] = field(default_factory=list)
    truth: Truth | None = None

    @property
    def drop_us(self) -> int:
        """When the ball leaves the track."""
        return round(self.ball.drop_s * 1e6)


class Spinner:
    """Draws spins on one wheel that begin at `start_us`, with the caller's randomness."""

    def __init__(self, rng: Random, wheel: Wheel, start_us: int) -> None:
        self.rng = rng
        self.wheel = wheel
        self.start_s = start_us / 1e6

    def spin(self, turns: float, longer_turns: float = 0.0) -> Spin:
        """Spin the rotor, launch the ball against it to run these turns, and let it settle.

        The ball lies for four to six turns of the rotor, and for `longer_turns` more.
        """
        rng = self.rng
        way = rng.choice((1, -1))
        ball = BallRun(
            launch_s=self.start_s + rng.uniform(6.0, 11.0),
            start=rng.random(),
            way=way,
            turns=turns,
            drop_speed=self.wheel.drop_rev_per_s * (1 + max(-0.045, min(0.045, rng.gauss(0, 0.018)))),
            friction=rng.uniform(0.022, 0.06),
            drag=rng.uniform(0.008, 0.028),
            wobble=rng.choice((0.0, rng.uniform(0, 0.003))),
        )
        settle_s = ball.drop_s + rng.uniform(0.8, 3.4)
        speed = rng.uniform(0.24, 0.52)
        lift_s = settle_s + (longer_turns + rng.uniform(4.6, 6.6)) / (speed * 0.75)
        rotor = RotorRun(
            begin_s=self.start_s,
            end_s=lift_s + rng.uniform(0.5, 2.0),
            mark=rng.random(),
            way=-way,
            speed=speed,
            slowing=rng.uniform(0.1, 0.9) * 0.45 * speed / (lift_s + 2 - self.start_s),
        )
        return Spin(
            ball=ball,
            rotors=[rotor],
            pocket=rng.randrange(len(self.wheel.pockets_clockwise)),
            settle_s=settle_s,
            lift_s=lift_s,
            bounces_s=tuple(
                sorted(
                    rng.uniform(ball.drop_s + 0.3, settle_s - 0.05)
                    for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))
                )
            ),
        )

    def good_turns(self) -> float:
        """Choose how far an honest spin runs."""
        return self.rng.uniform(6.5, 29.0)

    def number(self, spin: Spin) -> str:
        """Name the pocket the ball ends in."""
        return self.wheel.pockets_clockwise[spin.pocket]

    def say(self, spin: Spin, t_s: float, name: str, number: str | None = None) -> None:
        """Have the dealer enter something."""
        entered = Input(t=round(t_s * 1e6), dev="console", name=name, by="dealer", number=number)
        spin.extra.append(entered)

    def reads(self, spin: Spin) -> list[float]:
        """Give when the reader sees the ball lie in a pocket: first where it hopped on from, then at rest."""
        times: list[float] = []
        since = spin.settle_s
        for pocket, turns in spin.rests:
            seen = [t for t in self._pocket_passes(spin, pocket) if t > since][:turns]
            times.extend(seen)
            since = seen[-1] + self.rng.uniform(0.2, 0.8)
        times.extend(t for t in self._pocket_passes(spin, spin.pocket) if since < t < spin.lift_s)
        return times

    def sense(self, spin: Spin) -> Feed:
        """Give every reading of a spin in order of arrival."""
        readings = [*self._beams(spin), *self._indexes(spin)]
        if not spin.drop_unsensed:
            late = DROP_SENSED_US + round(self.rng.gauss(0, 1500))
            readings.append(BallDrop(t=spin.drop_us + late, dev=WHEEL))
        if not spin.reader_dead:
            seen = [*spin.bounces_s, *self.reads(spin)]
            readings.extend(PocketBall(t=self._jittered(t, READER_JITTER_US), dev=WHEEL) for t in seen)
        if spin.blind is not None:
            readings = [r for r in readings if not spin.blind[0] <= r.t < spin.blind[1]]
        readings.extend(spin.extra)
        readings.sort(key=lambda reading: reading.t)
        return in_order_of_arrival((r.t + self.rng.randint(1000, 3000), r) for r in readings)

    def _beams(self, spin: Spin) -> list[AnyReading]:
        rng = self.rng
        seen: list[AnyReading] = []
        for beam, angle in enumerate(self.wheel.beams_deg):
            for t_s in spin.ball.passes(angle / 360):
                if (beam in spin.dead_beams and t_s >= spin.dead_from_s) or rng.random() < spin.missed:
                    continue
                t = self._jittered(t_s, BEAM_JITTER_US)
                seen.append(BallBeam(t=t, dev=WHEEL, beam=beam))
                if rng.random() < spin.doubled:
                    seen.append(BallBeam(t=t + rng.randint(900, 6000), dev=WHEEL, beam=beam))
        for _ in range(spin.strays):
            t = round(1e6 * rng.uniform(spin.ball.launch_s + 2, spin.ball.drop_s - 0.2))
            alive = [beam for beam in range(len(self.wheel.beams_deg)) if beam not in spin.dead_beams]
            seen.append(BallBeam(t=t, dev=WHEEL, beam=rng.choice(alive)))
        return seen

    def _indexes(self, spin: Spin) -> list[AnyReading]:
        return [
            RotorIndex(
                t=self._jittered(t, INDEX_JITTER_US), dev=WHEEL, direction="ccw" if rotor.way == 1 else "cw"
            )
            for rotor in spin.rotors
            for t in rotor.passes(self.wheel.rotor_index_deg / 360)
            if self.rng.random() >= spin.missed_index
        ]

    def _pocket_passes(self, spin: Spin, pocket: int) -> list[float]:
        behind = pocket / len(self.wheel.pockets_clockwise)
        place = self.wheel.pocket_reader_deg / 360
        # A ball lies a little off its pocket's middle, and lies there all the time.
        off = self.rng.uniform(-0.2, 0.2) / len(self.wheel.pockets_clockwise)
        return [t for rotor in spin.rotors for t in rotor.passes(place, behind + off)]

    def _jittered(self, t_s: float, error_us: float) -> int:
        return round(t_s * 1e6 + max(-3 * error_us, min(3 * error_us, self.rng.gauss(0, error_us))))


def turned_around(spin: Spin, t_s: float) -> None:
    """Have the rotor stop at a time and turn the other way from a second later."""
    first = spin.rotors[0]
    spin.rotors = [
        replace(first, end_s=t_s),
        replace(first, begin_s=t_s + 1.0, mark=first.mark_at(t_s), way=-first.way),
    ]
