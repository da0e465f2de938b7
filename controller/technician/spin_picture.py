"""A spin as its judge saw it: as data, as lines of text, and as a chart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

from controller.model.effects import Judged
from controller.model.geometry import Wheel
from controller.model.readings import (
    TURNING_IN_WORDS,
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
from controller.rules.wheel.trace import DROP_SENSOR_DELAY_US, SpinTrace, lap_before
from controller.technician.drawing import (
    DIE_COLOURS,
    HEIGHT,
    INK,
    MARGIN,
    PALE,
    SOFT,
    WIDTH,
    Drawing,
    Exhibit,
    Labels,
    Spot,
    Stroke,
    column,
    new_sheet,
)


@dataclass(frozen=True, slots=True)
class Pulse:
    """A beam's pulse; `own` says whether the tracked ball caused it."""

    seconds: float
    beam: int
    own: bool


@dataclass(frozen=True, slots=True)
class RunPoint:
    """A point of the ball's run: speed, and revolutions with bounds.

    The bounds allow for the part of the run before the first pulse.
    """

    seconds: float
    speed_rev_per_s: float
    turns_from: float
    turns: float
    turns_to: float


@dataclass(frozen=True, slots=True)
class Read:
    """A pocket reading; `number` is None if the rotor's angle was unknown."""

    seconds: float
    number: str | None
    counts: bool
    """Whether this is one of the agreeing readings that decided the number."""


@dataclass(frozen=True, slots=True)
class SpinSeen:
    """A spin for display. Times are in seconds from its first pulse."""

    beams: int
    pulses: tuple[Pulse, ...]
    laps: tuple[tuple[float, float], ...]
    """The time (s) at the middle of each lap and the lap's speed (rev/s), measured at one beam."""
    run: tuple[RunPoint, ...]
    needed_turns: float
    ball_direction: Turning | None
    rotor_direction: Turning | None
    rotor_s: tuple[float, ...]
    turn_s: float
    reads: tuple[Read, ...]
    closed_s: float | None
    predicted_s: float | None
    """Time of the drop, as predicted at No More Bets."""
    left_track_s: float | None
    dropped_s: float | None
    events: tuple[tuple[float, str], ...]
    decided_s: float

    @property
    def last_s(self) -> float:
        """End of the time axis (s)."""
        pulses = [pulse.seconds for pulse in self.pulses]
        reads = [read.seconds for read in self.reads]
        events = [seconds for seconds, _ in self.events]
        return max([1.0, self.decided_s, *pulses, *reads, *events])


def spin_seen(judged: Judged, wheel: Wheel, rules: SpinRules, closed_us: int | None) -> SpinSeen:
    """Return the judge's view of this spin, from its evidence; `closed_us` is the time of No More Bets."""
    basis, verdict = judged.basis, judged.verdict
    assert isinstance(verdict, SpinVerdict)
    seen = sorted((r for r in judged.readings if r.t <= basis.decided_at_us), key=lambda r: r.t)
    learned = Learned.from_figures(basis.learned)
    trace, early = (SpinTrace(wheel, rules, learned, basis.sources) for _ in range(2))
    for reading in seen:
        trace.receive(reading)
        if closed_us is not None and reading.t <= closed_us:
            early.receive(reading)
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
        run=_run_points(trace, zero),
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
            return "ball seen outside the wheel"
    return f"{reading.dev} {kind_of(reading).removeprefix('device_')}"


def _seconds(at_us: int | None, zero: int) -> float | None:
    return None if at_us is None else (at_us - zero) / 1e6


def _laps(run: BallRun | None) -> Iterator[tuple[float, float]]:
    for at in () if run is None else run.passes:
        if (lap := lap_before(at)) is not None:
            yield lap


def _run_points(trace: SpinTrace, zero: int) -> tuple[RunPoint, ...]:
    """Return the points of the run, including its end, all with the same uncertainty in revolutions."""
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
        RunPoint((t - zero) / 1e6, speed, turns + under, turns, turns + over)
        for t, speed, turns in (start, *spots, end)
    )


def ball_lines(seen: SpinSeen) -> Iterator[str]:
    """Yield the ball's revolutions, speed and direction, and the silent beams."""
    own = sum(pulse.own for pulse in seen.pulses)
    if seen.run:
        end = seen.run[-1]
        yield (
            f"{end.turns:.1f} revolutions, or {end.turns_from:.1f} to {end.turns_to:.1f} including the unseen"
            f" start; {seen.needed_turns:g} required (R-SPIN-2)"
        )
        yield f"slowed from {seen.run[0].speed_rev_per_s:.2f} to {end.speed_rev_per_s:.2f} rev/s"
    else:
        yield "the pulses do not match the run of a ball"
    ball = seen.ball_direction
    direction = TURNING_IN_WORDS[ball] if ball else "in an unknown direction"
    yield f"ran {direction}; caused {own} of {len(seen.pulses)} pulses"
    cut = {pulse.beam for pulse in seen.pulses}
    silent = [str(beam) for beam in range(seen.beams) if beam not in cut]
    if silent and len(silent) < seen.beams:
        yield f"silent: {'beam' if len(silent) == 1 else 'beams'} {', '.join(silent)}"


def bets_lines(seen: SpinSeen, cause: str) -> Iterator[str]:
    """Yield the times of No More Bets, of the predicted drop and of the drop."""
    if seen.closed_s is None:
        yield "no more bets was not called"
    else:
        yield f"no more bets at {seen.closed_s:.2f} s" + (f", {cause.replace('_', ' ')}" if cause else "")
    if seen.predicted_s is not None:
        yield f"drop predicted at {seen.predicted_s:.2f} s"
    if seen.left_track_s is not None:
        delay_s = DROP_SENSOR_DELAY_US / 1e6
        yield f"left the track at {seen.left_track_s:.2f} s, {delay_s:.2f} s before the drop sensor fired"
    else:
        yield "the drop sensor did not fire"


def pocket_lines(seen: SpinSeen) -> Iterator[str]:
    """Yield the rotor's direction and speed, the pocket readings, and other events."""
    if seen.rotor_direction is None:
        yield "no index pass during the spin showed the rotor's direction"
    else:
        yield f"rotor {TURNING_IN_WORDS[seen.rotor_direction]}, {seen.turn_s:.2f} s per turn"
    if seen.reads:
        numbers = ", ".join(read.number or "unknown" for read in seen.reads)
        count = sum(read.counts for read in seen.reads)
        yield f"pocket readings: {numbers}; {count} of {len(seen.reads)} count"
    else:
        yield "no pocket reading"
    for seconds, what in seen.events:
        yield f"{seconds:.2f} s: {what}"


_LEFT, _RIGHT, _TOP, _FOOT = 150.0, 1120.0, 128.0, 392.0
_SPEED, _TURNS = DIE_COLOURS
_BAND = "#f3dccb"
_ROWS_HEIGHT = 112.0
_MIN_CLOSED_S = -3.0
"""Earliest time of No More Bets that the chart shows (s); the text also gives earlier times."""
_READ_WIDTH_PX = 17.0
"""Distance between two pocket readings below which they are drawn on different lines."""
_GRID = Stroke("#e2e2e2", 1)
_TICKS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class _Axis(NamedTuple):
    first: float
    last: float
    start_px: float
    end_px: float

    def at(self, value: float) -> float:
        fraction = (value - self.first) / (self.last - self.first)
        return self.start_px + fraction * (self.end_px - self.start_px)

    def ticks(self, max_ticks: int) -> list[float]:
        span = self.last - self.first
        step = next((tick for tick in _TICKS if span / tick <= max_ticks), span / max_ticks)
        return [i * step for i in range(ceil(self.first / step), floor(self.last / step + 1e-9) + 1)]


def draw_spin(exhibit: Exhibit, seen: SpinSeen, sentence: str, when: str) -> Drawing:
    """Draw the spin as a chart, on a sheet of 1200 by 700 pixels."""
    drawing = new_sheet(exhibit, sentence, when)
    fastest = max([0.5, *(v for _, v in seen.laps), *(spot.speed_rev_per_s for spot in seen.run)])
    max_turns = max([seen.needed_turns * 1.2, *(spot.turns_to for spot in seen.run)])
    first_s = min(-0.02 * seen.last_s, max(seen.closed_s or 0.0, _MIN_CLOSED_S))
    time = _Axis(first_s, seen.last_s * 1.02, _LEFT, _RIGHT)
    speed = _Axis(0.0, fastest * 1.12, _FOOT, _TOP)
    turns = _Axis(0.0, max_turns * 1.12, _FOOT, _TOP)
    labels = Labels(drawing, (_LEFT + 2, _TOP + 2), (_RIGHT - 2, _FOOT))
    _axes(drawing, time, speed, turns)
    _revolutions(drawing, seen, time, turns, labels)
    _speeds(drawing, seen, time, speed, labels)
    _moments(drawing, seen, time, labels)
    rows_end = _rows(drawing, seen, time)
    _time_axis(drawing, time, rows_end)
    room = (WIDTH - 2 * MARGIN) / 3
    y = rows_end + 56
    max_lines = int((HEIGHT - 34 - y) / 17)
    column(drawing, (MARGIN, y), room - 16, "Ball", ball_lines(seen), max_lines=max_lines)
    column(
        drawing,
        (MARGIN + room, y),
        room - 16,
        "Bets and drop",
        bets_lines(seen, exhibit.closed_by),
        max_lines=max_lines,
    )
    column(drawing, (MARGIN + 2 * room, y), room, "Rotor and pocket", pocket_lines(seen), max_lines=max_lines)
    _legend(drawing)
    return drawing


def _axes(drawing: Drawing, time: _Axis, speed: _Axis, turns: _Axis) -> None:
    for value in speed.ticks(7):
        y = speed.at(value)
        drawing.line((_LEFT, y), (_RIGHT, y), stroke=_GRID)
        drawing.text((_LEFT - 8, y + 4), f"{value:g}", 11.5, anchor="end", colour=_SPEED)
    for value in turns.ticks(7):
        y = turns.at(value)
        drawing.line((_RIGHT, y), (_RIGHT + 5, y), stroke=Stroke(_TURNS, 1))
        drawing.text((_RIGHT + 9, y + 4), f"{value:g}", 11.5, colour=_TURNS)
    for value in time.ticks(12):
        drawing.line((time.at(value), _TOP), (time.at(value), _FOOT), stroke=_GRID)
    drawing.box((_LEFT, _TOP), (_RIGHT - _LEFT, _FOOT - _TOP), Stroke(SOFT, 1))
    drawing.text((MARGIN, _TOP - 8), "speed, rev/s", 12, colour=_SPEED)
    drawing.text((WIDTH - MARGIN, _TOP - 8), "revolutions", 12, anchor="end", colour=_TURNS)


def _revolutions(drawing: Drawing, seen: SpinSeen, time: _Axis, turns: _Axis, labels: Labels) -> None:
    y = turns.at(seen.needed_turns)
    min_line = ((_LEFT, y), (_RIGHT, y))
    drawing.line(*min_line, stroke=Stroke(_TURNS, 1.2, (2, 4)))
    labels.keep_line_free(min_line, 4)
    if seen.run:
        over = [(time.at(s.seconds), turns.at(s.turns_to)) for s in seen.run]
        under = [(time.at(s.seconds), turns.at(max(s.turns_from, 0.0))) for s in reversed(seen.run)]
        drawing.line(*over, *under, over[0], stroke=Stroke(width=0), fill=_BAND)
        own = [(time.at(s.seconds), turns.at(s.turns)) for s in seen.run]
        drawing.line(*own, stroke=Stroke(_TURNS, 2, (9, 4)))
        labels.keep_line_free(own[::4], 5)
    words = f"{seen.needed_turns:g} revolutions needed"
    labels.put((_RIGHT - 120, y), words, colour=_TURNS)


def _speeds(drawing: Drawing, seen: SpinSeen, time: _Axis, speed: _Axis, labels: Labels) -> None:
    curve = [(time.at(s.seconds), speed.at(s.speed_rev_per_s)) for s in seen.run]
    if curve:
        drawing.line(*curve, stroke=Stroke(_SPEED, 2.2))
        labels.keep_line_free(curve[::4], 5)
    for seconds, value in seen.laps:
        at = (time.at(seconds), speed.at(value))
        drawing.disc(at, 2.4, Stroke(_SPEED, 1), "#ffffff")
        labels.keep_free(at, 4)


def _moments(drawing: Drawing, seen: SpinSeen, time: _Axis, labels: Labels) -> None:
    moments: list[tuple[float | None, str, Stroke]] = [
        (seen.closed_s, "no more bets", Stroke(INK, 2)),
        (seen.predicted_s, "drop predicted", Stroke(INK, 1.4, (5, 4))),
        (seen.left_track_s, "left the track", Stroke(INK, 1.4)),
    ]
    for seconds, _, stroke in moments:
        if seconds is not None and time.first <= seconds <= time.last:
            line = ((time.at(seconds), _TOP), (time.at(seconds), _FOOT))
            drawing.line(*line, stroke=stroke)
            labels.keep_line_free(line, 3)
    for row, (seconds, name, _) in enumerate(moments):
        if seconds is not None and time.first <= seconds <= time.last:
            labels.put((time.at(seconds), _TOP + 22 + 20 * row), f"{name} {seconds:.2f} s")


def _rows(drawing: Drawing, seen: SpinSeen, time: _Axis) -> float:
    """Draw rows for the beams, the rotor's mark and the pocket readings; return the y of the bottom edge."""
    names = [f"beam {beam}" for beam in range(seen.beams)]
    shown = [*names, "rotor's mark", "pocket reading", "", *(["other"] if seen.events else [])]
    high = min(17.0, _ROWS_HEIGHT / len(shown))
    size = min(11.5, high - 1.5)
    for i, name in enumerate(shown):
        y = _FOOT + 8 + (i + 0.5) * high
        if name:
            drawing.line((_LEFT, y), (_RIGHT, y), stroke=_GRID)
        silent = i < seen.beams and all(pulse.beam != i for pulse in seen.pulses)
        text = f"{name}: silent" if silent else name
        drawing.text((_LEFT - 8, y + 0.35 * size), text, size, anchor="end", colour=INK if silent else SOFT)
    middle = [_FOOT + 8 + (i + 0.5) * high for i in range(len(shown))]
    tall = 0.38 * high
    for pulse in seen.pulses:
        at = (time.at(pulse.seconds), middle[pulse.beam])
        if pulse.own:
            drawing.line((at[0], at[1] - tall), (at[0], at[1] + tall), stroke=Stroke(_SPEED, 1.5))
        else:
            drawing.cross(at, tall, Stroke(INK, 1.2))
    for seconds in seen.rotor_s:
        if seconds >= time.first:
            x, y = time.at(seconds), middle[seen.beams]
            drawing.line((x, y - tall), (x, y + tall), stroke=Stroke(_TURNS, 2))
    _reads(drawing, seen, time, middle[seen.beams + 1 : seen.beams + 3])
    for seconds, _ in seen.events:
        drawing.cross((time.at(seconds), middle[-1]), tall, Stroke(INK, 1.6))
    return middle[-1] + high / 2


def _reads(drawing: Drawing, seen: SpinSeen, time: _Axis, lines: Sequence[float]) -> None:
    taken = [-_READ_WIDTH_PX] * len(lines)
    for read in seen.reads:
        x = time.at(read.seconds)
        line = next((i for i, last in enumerate(taken) if x - last >= _READ_WIDTH_PX), len(lines) - 1)
        taken[line] = x
        drawing.text((x, lines[line] + 4.5), read.number or "?", 12.5, anchor="middle", bold=read.counts)


def _time_axis(drawing: Drawing, time: _Axis, y: float) -> None:
    drawing.line((_LEFT, y + 2), (_RIGHT, y + 2), stroke=Stroke(SOFT, 1))
    for value in time.ticks(12):
        x = time.at(value)
        drawing.line((x, y + 2), (x, y + 7), stroke=Stroke(SOFT, 1))
        drawing.text((x, y + 19), f"{value:g}", 11.5, anchor="middle", colour=SOFT)
    drawing.text((_RIGHT + 14, y + 19), "seconds", 11.5, colour=SOFT)


def _legend(drawing: Drawing) -> None:
    y, x = HEIGHT - 18.0, MARGIN
    drawing.line((MARGIN, y - 16), (WIDTH - MARGIN, y - 16), stroke=Stroke(PALE, 1))
    drawing.disc((x + 6, y - 4), 2.8, Stroke(_SPEED, 1), "#ffffff")
    drawing.text((x + 16, y), "lap speed measured at one beam", 11.5, colour=SOFT)
    _sample(drawing, (x + 220, y), Stroke(_SPEED, 2.2), "speed between passes")
    _sample(drawing, (x + 400, y), Stroke(_TURNS, 2, (9, 4)), "revolutions, with their uncertainty")
    _ticks(drawing, (x + 672, y), "pulse from the ball")
    drawing.cross((x + 816, y - 4), 4, Stroke(INK, 1.2))
    drawing.text((x + 826, y), "other pulse", 11.5, colour=SOFT)
    drawing.text((x + 916, y), "bold: readings that count", 11.5, colour=SOFT)


def _sample(drawing: Drawing, at: Spot, stroke: Stroke, text: str) -> None:
    x, y = at
    drawing.line((x, y - 4), (x + 34, y - 4), stroke=stroke)
    drawing.text((x + 40, y), text, 11.5, colour=SOFT)


def _ticks(drawing: Drawing, at: Spot, text: str) -> None:
    x, y = at
    spots: Sequence[float] = (x, x + 6, x + 12)
    for spot in spots:
        drawing.line((spot, y - 9), (spot, y + 1), stroke=Stroke(_SPEED, 1.5))
    drawing.text((x + 20, y), text, 11.5, colour=SOFT)
