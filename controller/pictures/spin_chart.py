"""A spin over time: ball speed and revolutions, every beam's pulses, No More Bets, drop, and pocket reads."""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from controller.pictures.drawing import DIE_COLOURS, INK, PALE, SOFT, Drawing, Spot, Stroke
from controller.pictures.exhibit import Exhibit
from controller.pictures.labels import Labels
from controller.pictures.sheet import HEIGHT, MARGIN, WIDTH, column, titled
from controller.pictures.spin_seen import SpinSeen
from controller.pictures.spin_words import ball_lines, bets_lines, pocket_lines

_LEFT, _RIGHT, _TOP, _FOOT = 150.0, 1120.0, 128.0, 392.0
_SPEED, _TURNS = DIE_COLOURS
_BAND = "#f3dccb"
_ROWS_HIGH = 112.0
_EARLIEST_S = -3.0
"""Bets that were closed longer before the launch are told in words alone."""
_READ_PX = 17.0
"""Pocket reads nearer than this to each other stand on two lines."""
_GRID = Stroke("#e2e2e2", 1)
_TICKS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class _Axis(NamedTuple):
    """From values to pixels."""

    first: float
    last: float
    start_px: float
    end_px: float

    def at(self, value: float) -> float:
        share = (value - self.first) / (self.last - self.first)
        return self.start_px + share * (self.end_px - self.start_px)

    def ticks(self, most: int) -> list[float]:
        span = self.last - self.first
        step = next((tick for tick in _TICKS if span / tick <= most), span / most)
        return [i * step for i in range(ceil(self.first / step), floor(self.last / step + 1e-9) + 1)]


def draw_spin(exhibit: Exhibit, seen: SpinSeen, sentence: str, when: str) -> Drawing:
    """Draw the chart, 1200 by 700 pixels."""
    drawing = titled(exhibit, sentence, when)
    fastest = max([0.5, *(v for _, v in seen.laps), *(spot.speed_rev_per_s for spot in seen.fitted)])
    most_turns = max([seen.needed_turns * 1.2, *(spot.turns_to for spot in seen.fitted)])
    first_s = min(-0.02 * seen.last_s, max(seen.closed_s or 0.0, _EARLIEST_S))
    time = _Axis(first_s, seen.last_s * 1.02, _LEFT, _RIGHT)
    speed = _Axis(0.0, fastest * 1.12, _FOOT, _TOP)
    turns = _Axis(0.0, most_turns * 1.12, _FOOT, _TOP)
    labels = Labels(drawing, (_LEFT + 2, _TOP + 2), (_RIGHT - 2, _FOOT))
    _axes(drawing, time, speed, turns)
    _revolutions(drawing, seen, time, turns, labels)
    _speeds(drawing, seen, time, speed, labels)
    _moments(drawing, seen, time, labels)
    rows_end = _rows(drawing, seen, time)
    _time_axis(drawing, time, rows_end)
    room = (WIDTH - 2 * MARGIN) / 3
    y = rows_end + 56
    most = int((HEIGHT - 34 - y) / 17)
    column(drawing, (MARGIN, y), room - 16, "Ball", ball_lines(seen), most=most)
    column(
        drawing,
        (MARGIN + room, y),
        room - 16,
        "Bets and drop",
        bets_lines(seen, exhibit.closed_by),
        most=most,
    )
    column(drawing, (MARGIN + 2 * room, y), room, "Rotor and pocket", pocket_lines(seen), most=most)
    _legend(drawing)
    return drawing


def _axes(drawing: Drawing, time: _Axis, speed: _Axis, turns: _Axis) -> None:
    for value in speed.ticks(7):
        y = speed.at(value)
        drawing.line((_LEFT, y), (_RIGHT, y), stroke=_GRID)
        drawing.words((_LEFT - 8, y + 4), f"{value:g}", 11.5, anchor="end", colour=_SPEED)
    for value in turns.ticks(7):
        y = turns.at(value)
        drawing.line((_RIGHT, y), (_RIGHT + 5, y), stroke=Stroke(_TURNS, 1))
        drawing.words((_RIGHT + 9, y + 4), f"{value:g}", 11.5, colour=_TURNS)
    for value in time.ticks(12):
        drawing.line((time.at(value), _TOP), (time.at(value), _FOOT), stroke=_GRID)
    drawing.box((_LEFT, _TOP), (_RIGHT - _LEFT, _FOOT - _TOP), Stroke(SOFT, 1))
    drawing.words((MARGIN, _TOP - 8), "speed, rev/s", 12, colour=_SPEED)
    drawing.words((WIDTH - MARGIN, _TOP - 8), "revolutions", 12, anchor="end", colour=_TURNS)


def _revolutions(drawing: Drawing, seen: SpinSeen, time: _Axis, turns: _Axis, labels: Labels) -> None:
    y = turns.at(seen.needed_turns)
    least = ((_LEFT, y), (_RIGHT, y))
    drawing.line(*least, stroke=Stroke(_TURNS, 1.2, (2, 4)))
    labels.keep_line_free(least, 4)
    if seen.fitted:
        over = [(time.at(s.seconds), turns.at(s.turns_to)) for s in seen.fitted]
        under = [(time.at(s.seconds), turns.at(max(s.turns_from, 0.0))) for s in reversed(seen.fitted)]
        drawing.line(*over, *under, over[0], stroke=Stroke(width=0), fill=_BAND)
        own = [(time.at(s.seconds), turns.at(s.turns)) for s in seen.fitted]
        drawing.line(*own, stroke=Stroke(_TURNS, 2, (9, 4)))
        labels.keep_line_free(own[::4], 5)
    words = f"{seen.needed_turns:g} revolutions must be run"
    labels.put((_RIGHT - 120, y), words, colour=_TURNS)


def _speeds(drawing: Drawing, seen: SpinSeen, time: _Axis, speed: _Axis, labels: Labels) -> None:
    curve = [(time.at(s.seconds), speed.at(s.speed_rev_per_s)) for s in seen.fitted]
    if curve:
        drawing.line(*curve, stroke=Stroke(_SPEED, 2.2))
        labels.keep_line_free(curve[::4], 5)
    for seconds, value in seen.laps:
        at = (time.at(seconds), speed.at(value))
        drawing.disc(at, 2.4, Stroke(_SPEED, 1), "#ffffff")
        labels.keep_free(at, 4)


def _moments(drawing: Drawing, seen: SpinSeen, time: _Axis, labels: Labels) -> None:
    """Draw the moments as upright lines; their names stand where there is room, earlier ones higher."""
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
    """Draw a row for each beam, for the rotor's mark and for the pocket reads; give where they end."""
    names = [f"beam {beam}" for beam in range(seen.beams)]
    shown = [*names, "rotor's mark", "pocket read", "", *(["other"] if seen.events else [])]
    high = min(17.0, _ROWS_HIGH / len(shown))
    size = min(11.5, high - 1.5)
    for i, name in enumerate(shown):
        y = _FOOT + 8 + (i + 0.5) * high
        if name:
            drawing.line((_LEFT, y), (_RIGHT, y), stroke=_GRID)
        silent = i < seen.beams and all(pulse.beam != i for pulse in seen.pulses)
        text = f"{name}: silent" if silent else name
        drawing.words((_LEFT - 8, y + 0.35 * size), text, size, anchor="end", colour=INK if silent else SOFT)
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
    taken = [-_READ_PX] * len(lines)
    for read in seen.reads:
        x = time.at(read.seconds)
        line = next((i for i, last in enumerate(taken) if x - last >= _READ_PX), len(lines) - 1)
        taken[line] = x
        drawing.words((x, lines[line] + 4.5), read.number or "?", 12.5, anchor="middle", bold=read.counts)


def _time_axis(drawing: Drawing, time: _Axis, y: float) -> None:
    drawing.line((_LEFT, y + 2), (_RIGHT, y + 2), stroke=Stroke(SOFT, 1))
    for value in time.ticks(12):
        x = time.at(value)
        drawing.line((x, y + 2), (x, y + 7), stroke=Stroke(SOFT, 1))
        drawing.words((x, y + 19), f"{value:g}", 11.5, anchor="middle", colour=SOFT)
    drawing.words((_RIGHT + 14, y + 19), "seconds", 11.5, colour=SOFT)


def _legend(drawing: Drawing) -> None:
    y, x = HEIGHT - 18.0, MARGIN
    drawing.line((MARGIN, y - 16), (WIDTH - MARGIN, y - 16), stroke=Stroke(PALE, 1))
    drawing.disc((x + 6, y - 4), 2.8, Stroke(_SPEED, 1), "#ffffff")
    drawing.words((x + 16, y), "speed by one beam's lap", 11.5, colour=SOFT)
    _sample(drawing, (x + 190, y), Stroke(_SPEED, 2.2), "fitted speed")
    _sample(drawing, (x + 326, y), Stroke(_TURNS, 2, (9, 4)), "revolutions, with what is not certain")
    _ticks(drawing, (x + 606, y), "pulse of the ball")
    drawing.cross((x + 752, y - 4), 4, Stroke(INK, 1.2))
    drawing.words((x + 762, y), "pulse of something else", 11.5, colour=SOFT)
    drawing.words((x + 934, y), "bold: the reads that agree", 11.5, colour=SOFT)


def _sample(drawing: Drawing, at: Spot, stroke: Stroke, text: str) -> None:
    x, y = at
    drawing.line((x, y - 4), (x + 34, y - 4), stroke=stroke)
    drawing.words((x + 40, y), text, 11.5, colour=SOFT)


def _ticks(drawing: Drawing, at: Spot, text: str) -> None:
    x, y = at
    spots: Sequence[float] = (x, x + 6, x + 12)
    for spot in spots:
        drawing.line((spot, y - 9), (spot, y + 1), stroke=Stroke(_SPEED, 1.5))
    drawing.words((x + 20, y), text, 11.5, colour=SOFT)
