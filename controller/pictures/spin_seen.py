"""What a spin's chart shows: the same pulses, run, reads and prediction that its judge had."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from controller.model.effects import Judged
from controller.model.geometry import Wheel
from controller.model.readings import (
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    Reading,
    RotorIndex,
    Turning,
    kind_of,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import SpinVerdict
from controller.rules.wheel import Learned
from controller.rules.wheel.ball import BallRun
from controller.rules.wheel.trace import SpinTrace, lap_before


@dataclass(frozen=True, slots=True)
class Pulse:
    """A beam that was cut; `own` where the ball that was followed cut it, not something else."""

    seconds: float
    beam: int
    own: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """A spot of the ball's run: its speed, and the revolutions by then with what the unseen start adds."""

    seconds: float
    speed_rev_per_s: float
    turns_from: float
    turns: float
    turns_to: float


@dataclass(frozen=True, slots=True)
class Read:
    """A pocket read; `number` None where the rotor's place was not known."""

    seconds: float
    number: str | None
    counts: bool
    """Whether it is one of the reads that agree."""


@dataclass(frozen=True, slots=True)
class SpinSeen:
    """A spin as it is shown; seconds count from its first pulse."""

    beams: int
    pulses: tuple[Pulse, ...]
    laps: tuple[tuple[float, float], ...]
    """Speeds by one beam's own laps: the middle of the lap, revolutions a second."""
    fitted: tuple[Fitted, ...]
    needed_turns: float
    ball_direction: Turning | None
    rotor_direction: Turning | None
    rotor_s: tuple[float, ...]
    turn_s: float
    reads: tuple[Read, ...]
    closed_s: float | None
    predicted_s: float | None
    """When the ball was to drop, as predicted at No More Bets."""
    left_track_s: float | None
    dropped_s: float | None
    events: tuple[tuple[float, str], ...]
    decided_s: float

    @property
    def last_s(self) -> float:
        """Give where the time axis must reach."""
        pulses = [pulse.seconds for pulse in self.pulses]
        reads = [read.seconds for read in self.reads]
        events = [seconds for seconds, _ in self.events]
        return max([1.0, self.decided_s, *pulses, *reads, *events])


def see_spin(judged: Judged, wheel: Wheel, rules: SpinRules, closed_us: int | None) -> SpinSeen:
    """Lay out what the judge of this spin had before it; `closed_us` is when the bets were closed."""
    basis, verdict = judged.basis, judged.verdict
    assert isinstance(verdict, SpinVerdict)
    seen = sorted((r for r in judged.readings if r.t <= basis.decided_at_us), key=lambda r: r.t)
    learned = Learned.from_figures(basis.learned)
    trace, early = (SpinTrace(wheel, rules, learned, basis.sources) for _ in range(2))
    for reading in seen:
        trace.see(reading)
        if closed_us is not None and reading.t <= closed_us:
            early.see(reading)
    zero = trace.pulses[0].t if trace.pulses else seen[0].t if seen else basis.decided_at_us
    run = trace.ball()
    own = frozenset() if run is None else frozenset((at.t, at.beam) for at in run.passes)
    counting = {id(read.reading) for read in trace.pockets.agreeing}
    predicted_us = early.predicted_drop_us()
    marks = [reading.t for reading in seen if isinstance(reading, RotorIndex)]
    return SpinSeen(
        beams=len(wheel.beams_deg),
        pulses=tuple(Pulse((p.t - zero) / 1e6, p.beam, (p.t, p.beam) in own) for p in trace.pulses),
        laps=tuple(((middle_us - zero) / 1e6, speed) for middle_us, speed in _laps(run)),
        fitted=_fitted(trace, zero),
        needed_turns=rules.min_revolutions,
        ball_direction=trace.ball_direction if run is None else run.direction,
        rotor_direction=trace.rotor_direction,
        rotor_s=tuple((t - zero) / 1e6 for t in marks),
        turn_s=trace.rotor.period_us() / 1e6,
        reads=tuple(
            Read((read.reading.t - zero) / 1e6, read.number, id(read.reading) in counting)
            for read in trace.pockets.reads
        ),
        closed_s=_seconds(closed_us, zero),
        predicted_s=_seconds(predicted_us, zero),
        left_track_s=_seconds(trace.left_track_us, zero),
        dropped_s=_seconds(None if trace.drop is None else trace.drop.t, zero),
        events=tuple(((r.t - zero) / 1e6, _event(r)) for r in seen if isinstance(r, _EVENTS)),
        decided_s=(basis.decided_at_us - zero) / 1e6,
    )


_EVENTS = (ForeignObject, BallOut, DeviceDown, DeviceUp)


def _event(reading: Reading) -> str:
    match reading:
        case ForeignObject():
            return f"foreign object: {reading.where}"
        case BallOut():
            return "ball seen outside"
    return f"{reading.dev} {kind_of(reading).removeprefix('device_')}"


def _seconds(at_us: int | None, zero: int) -> float | None:
    return None if at_us is None else (at_us - zero) / 1e6


def _laps(run: BallRun | None) -> Iterator[tuple[float, float]]:
    for at in () if run is None else run.passes:
        if (lap := lap_before(at)) is not None:
            yield lap


def _fitted(trace: SpinTrace, zero: int) -> tuple[Fitted, ...]:
    """Lay out the run pass by pass, and its end; what start and end leave open is the same all along."""
    run = trace.ball()
    if run is None:
        return ()
    under, over = run.turns_from - run.turns, run.turns_to - run.turns
    first = run.passes[0].turns
    spots = [
        (at.t, (at.turns - before.turns) * 1e6 / (at.t - before.t), at.turns - first)
        for before, at in pairwise(run.passes)
    ]
    start = (run.passes[0].t, spots[0][1] if spots else run.end_speed, 0.0)
    end = (run.end_us, run.end_speed, run.turns)
    return tuple(
        Fitted((t - zero) / 1e6, speed, turns + under, turns, turns + over)
        for t, speed, turns in (start, *spots, end)
    )
