"""The readings of a wheel's sensors for the motion of a ball and a rotor, and the sensors' faults."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from controller.model.geometry import Wheel
from controller.model.readings import AnyReading, BallBeam, BallDrop, PocketBall, RotorIndex
from drivers.sim.wheel_motion import Fall, Rotor, Run

WHEEL = "wheel"
DROP_SENSED_S = 0.120


@dataclass(frozen=True, slots=True)
class Optics:
    """Optical properties of a wheel's sensors. Jitters are standard deviations."""

    jitter_s: float = 0.0003
    askew_deg: tuple[float, ...] = ()
    """Deviation of each beam from its angle in the table's file."""
    drop_jitter_s: float = 0.012
    reader_jitter_s: float = 0.002
    marginal: tuple[float, ...] = ()
    """Ball speed (rev/s) above which each beam begins to miss the ball; at twice that speed the beam always
    misses it. 0 means that the beam never misses the ball."""


@dataclass(slots=True)
class Faults:
    """The sensors' faults in one spin. Fractions are probabilities per pulse."""

    missed: float = 0.0
    doubled: float = 0.0
    strays_hz: float = 0.0
    strays_s: list[tuple[float, int]] = field(default_factory=list)
    """Time and beam of each stray pulse."""
    dead_beams: frozenset[int] = frozenset()
    dead_from_s: float = 0.0
    silent: list[tuple[float, float]] = field(default_factory=list)
    """Periods in which all sensors of the wheel are silent."""
    silent_beams: list[tuple[float, float]] = field(default_factory=list)
    drop_unsensed: bool = False
    drop_strays_s: list[float] = field(default_factory=list)
    index_missed: float = 0.0
    index_doubled: float = 0.0
    second_mark: float | None = None
    """Position of a scratch that triggers the index sensor, in turns clockwise from the rotor's mark."""
    second_mark_seen: float = 1.0
    reader_missed: float = 0.0
    reader_misses: frozenset[int] = frozenset()
    """Turns on which the reader misses the resting ball, counted from 0."""
    reader_dead: bool = False
    reader_strays: int = 0


@dataclass(slots=True)
class Play:
    """The moving parts of one spin: the ball's runs and fall, and the rotor."""

    runs: list[Run]
    rotor: Rotor
    fall: Fall | None
    """The ball's fall into its pocket; None if no ball comes to rest."""
    rests: list[tuple[float, float]] = field(default_factory=list)
    """Resting positions before the ball hops to the last one: turns clockwise from the rotor's mark, and the
    time of the hop."""
    lift_s: float = 0.0
    """Time at which the dealer removes the ball."""
    begin_s: float = 0.0
    end_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SensedSpin:
    """The sensors' readings, with the pulses that the ball caused."""

    readings: list[AnyReading]
    pulses_s: list[tuple[float, int]]
    """Time and beam of each reported pulse that the ball caused."""


def sense(rng: Random, wheel: Wheel, optics: Optics, play: Play, faults: Faults) -> SensedSpin:
    """Return the readings of a wheel's sensors for one spin, in order of time."""
    pulses = [
        (t_s, beam) for t_s, beam in _pulses(rng, wheel, optics, play, faults) if not _hidden(faults, t_s)
    ]
    beam_pulses = list(pulses)
    beam_pulses += [
        (t_s + rng.uniform(0.0009, 0.006), beam) for t_s, beam in pulses if rng.random() < faults.doubled
    ]
    beam_pulses += [stray for stray in _strays(rng, wheel, play, faults) if not _hidden(faults, stray[0])]
    readings: list[AnyReading] = [BallBeam(t=_us(t_s), dev=WHEEL, beam=beam) for t_s, beam in beam_pulses]
    readings += _indexes(rng, wheel, optics, play, faults)
    readings += [BallDrop(t=_us(t_s), dev=WHEEL) for t_s in _drops(rng, optics, play, faults)]
    if not faults.reader_dead:
        reads = _reads(rng, wheel, play, faults)
        readings += [
            PocketBall(t=_us(t_s + rng.gauss(0, optics.reader_jitter_s)), dev=WHEEL) for t_s in reads
        ]
    silent = [(_us(since), _us(until)) for since, until in faults.silent]
    readings = [r for r in readings if not any(since <= r.t < until for since, until in silent)]
    return SensedSpin(sorted(readings, key=lambda reading: reading.t), sorted(pulses))


def _pulses(
    rng: Random, wheel: Wheel, optics: Optics, play: Play, faults: Faults
) -> Iterable[tuple[float, int]]:
    legs = [leg for leg in play.fall.legs if leg.where == "track"] if play.fall else []
    for beam, angle_deg in enumerate(wheel.beams_deg):
        askew_deg = optics.askew_deg[beam] if optics.askew_deg else 0.0
        threshold = optics.marginal[beam] if optics.marginal else 0.0
        for run in play.runs:
            place = ((angle_deg + askew_deg) / 360) % 1.0
            times = run.passes(place)
            if run is play.runs[-1]:
                times += [t_s for leg in legs for t_s in leg.passes(place)]
            for t_s in times:
                dead = beam in faults.dead_beams and t_s >= faults.dead_from_s
                if dead or rng.random() < faults.missed:
                    continue
                if threshold and rng.random() < _speed(run, t_s) / threshold - 1.0:
                    continue
                yield t_s + rng.gauss(0, optics.jitter_s), beam


def _speed(run: Run, t_s: float) -> float:
    return (run.turns_at(t_s + 0.02) - run.turns_at(t_s - 0.02)) / 0.04


def _strays(rng: Random, wheel: Wheel, play: Play, faults: Faults) -> Iterable[tuple[float, int]]:
    yield from faults.strays_s
    if faults.strays_hz and play.runs:
        t_s, end_s = play.runs[0].launch_s, play.runs[-1].end_s
        while (t_s := t_s + rng.expovariate(faults.strays_hz)) < end_s:
            yield t_s, rng.randrange(len(wheel.beams_deg))


def _hidden(faults: Faults, t_s: float) -> bool:
    return any(since <= t_s < until for since, until in (*faults.silent, *faults.silent_beams))


def _indexes(rng: Random, wheel: Wheel, optics: Optics, play: Play, faults: Faults) -> Iterable[AnyReading]:
    place = wheel.rotor_index_deg / 360
    passes = [item for item in play.rotor.passes(place) if rng.random() >= faults.index_missed]
    passes += [
        (t_s + rng.uniform(0.001, 0.008), direction)
        for t_s, direction in passes
        if rng.random() < faults.index_doubled
    ]
    if faults.second_mark is not None:
        seconds = play.rotor.passes(place, faults.second_mark)
        passes += [item for item in seconds if rng.random() < faults.second_mark_seen]
    for t_s, direction in passes:
        yield RotorIndex(
            t=_us(t_s + rng.gauss(0, optics.jitter_s)), dev=WHEEL, direction="ccw" if direction > 0 else "cw"
        )


def _drops(rng: Random, optics: Optics, play: Play, faults: Faults) -> Iterable[float]:
    yield from faults.drop_strays_s
    if faults.drop_unsensed:
        return
    for run in play.runs:
        if run.dropped:
            yield run.end_s + DROP_SENSED_S + max(-0.05, min(0.05, rng.gauss(0, optics.drop_jitter_s)))


def _reads(rng: Random, wheel: Wheel, play: Play, faults: Faults) -> Iterable[float]:
    place = wheel.pocket_reader_deg / 360
    if play.fall is None:
        return
    for leg in play.fall.legs:
        if leg.where == "rotor":
            # The reader detects a bouncing ball only when the ball is in a pocket between two hops.
            yield from (t_s for t_s in leg.passes(place) if rng.random() < 0.5)
    since_s = play.fall.settle_s
    for behind, until_s in (*play.rests, (play.fall.behind, play.lift_s)):
        passes = [t_s for t_s, _ in play.rotor.passes(place, behind) if since_s < t_s < until_s]
        for turn, t_s in enumerate(passes):
            if turn not in faults.reader_misses and rng.random() >= faults.reader_missed:
                yield t_s
        since_s = until_s + 0.4
    for _ in range(faults.reader_strays):
        yield rng.uniform(play.fall.settle_s + 0.3, play.fall.settle_s + 7)


def _us(t_s: float) -> int:
    return round(t_s * 1e6)
