"""A throw as a plan of its table, to scale: tracks, walls, hits, impacts, rests, and distances missed by."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.model.geometry import Point
from controller.pictures.drawing import DIE_COLOURS, INK, PALE, SOFT, Drawing, Spot, Stroke
from controller.pictures.exhibit import Exhibit
from controller.pictures.labels import Labels
from controller.pictures.sheet import HEIGHT, MARGIN, WIDTH, column, titled
from controller.pictures.throw_seen import DieShown, Heard, ThrowSeen, Touch
from controller.pictures.throw_words import die_lines, heard_lines, rest_words, story_lines
from controller.rules.dice.encounter import Hit

_LEFT, _TOP, _MOST_HIGH = 96.0, 122.0, 330.0
_WALL = Stroke(INK, 4)
_ZONE = Stroke("#8a8a8a", 1)
_ZONE_FILL = "#eeeeee"
_EVERY_S = 0.2
_MOST_PEAK_PX = 16.0
_DASH = (5.0, 4.0)


class _Scale(NamedTuple):
    """From millimetres on the table to pixels on the sheet; the stickperson's rail is below."""

    per_mm: float
    left: float
    bottom: float

    def spot(self, point: Point) -> Spot:
        return self.left + point[0] * self.per_mm, self.bottom - point[1] * self.per_mm


def draw_throw(exhibit: Exhibit, seen: ThrowSeen, sentence: str, when: str) -> Drawing:
    """Draw the plan, 1200 by 700 pixels."""
    drawing = titled(exhibit, sentence, when)
    table = seen.table
    per_mm = min((WIDTH - 2 * _LEFT) / table.length_mm, _MOST_HIGH / table.width_mm)
    left = (WIDTH - table.length_mm * per_mm) / 2
    scale = _Scale(per_mm, left, _TOP + table.width_mm * per_mm)
    right = left + table.length_mm * per_mm
    labels = Labels(drawing, (left, _TOP), (right, scale.bottom))
    letters = Labels(drawing, (10, 96), (WIDTH - 10, scale.bottom + 34))
    _table(drawing, seen, scale, labels)
    for die in seen.dice:
        _track(drawing, die, scale, labels)
    for heard in seen.heard:
        _impact(drawing, heard, scale, seen, letters)
    for die in seen.dice:
        _ends(drawing, die, scale, labels)
    for die in seen.dice:
        _times(die, scale, labels)
    _words_below(drawing, seen, scale.bottom + 66)
    return drawing


def _table(drawing: Drawing, seen: ThrowSeen, scale: _Scale, labels: Labels) -> None:
    table = seen.table
    for zone in table.zones:
        corners = [scale.spot(corner) for corner in (*zone.polygon, zone.polygon[0])]
        drawing.line(*corners, stroke=_ZONE, fill=_ZONE_FILL)
        x = sum(x for x, _ in corners[:-1]) / len(zone.polygon)
        y = sum(y for _, y in corners[:-1]) / len(zone.polygon)
        drawing.words((x, y + 4), zone.name or zone.kind, 12, anchor="middle", colour=SOFT)
    x0, y0 = scale.spot((0.0, table.width_mm))
    x1, y1 = scale.spot((table.length_mm, 0.0))
    drawing.box((x0, y0), (x1 - x0, y1 - y0), _WALL)
    labels.keep_line_free(((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)), 4)
    far = {None: ("left wall", "right wall"), "left": ("left wall (far end)", "right wall")}
    names = far.get(seen.far, ("left wall", "right wall (far end)"))
    drawing.words((x0, y0 - 12), names[0], 12, colour=SOFT)
    drawing.words((x1, y0 - 12), names[1], 12, anchor="end", colour=SOFT)
    drawing.words(((x0 + x1) / 2, y0 - 12), "boxperson's rail", 12, anchor="middle", colour=SOFT)
    for mm in range(0, int(table.length_mm) + 1, 500):
        x, y = scale.spot((float(mm), 0.0))
        drawing.line((x, y + 3), (x, y + 8), stroke=Stroke(SOFT, 1))
        drawing.words((x, y + 20), f"{mm}", 11, anchor="middle", colour=SOFT)
    drawing.words(
        ((x0 + x1) / 2, y1 + 35), "stickperson's rail; millimetres", 12, anchor="middle", colour=SOFT
    )


def _track(drawing: Drawing, die: DieShown, scale: _Scale, labels: Labels) -> None:
    colour = DIE_COLOURS[die.number - 1]
    for leg in die.legs:
        spots = [scale.spot(point) for point in leg.points]
        drawing.line(*spots, stroke=Stroke(colour, 1.4, _DASH if leg.hidden else ()))
        labels.keep_line_free(spots, 4)
    for _, point in die.points:
        mark(drawing, die.number, scale.spot(point), 1.7)


def mark(drawing: Drawing, number: int, at: Spot, size: float) -> None:
    """Draw a die's mark: a filled disc for die 1, an open square for die 2."""
    colour = DIE_COLOURS[number - 1]
    if number == 1:
        drawing.disc(at, size, Stroke(width=0), colour)
    else:
        drawing.box((at[0] - size, at[1] - size), (2 * size, 2 * size), Stroke(colour, 1), "#ffffff")


def _impact(drawing: Drawing, heard: Heard, scale: _Scale, seen: ThrowSeen, labels: Labels) -> None:
    impact, table = heard.impact, seen.table
    place, (dx, dy) = {
        "left": ((0.0, impact.pos_mm), (-1, 0)),
        "right": ((table.length_mm, impact.pos_mm), (1, 0)),
        "front": ((impact.pos_mm, 0.0), (0, 1)),
        "back": ((impact.pos_mm, table.width_mm), (0, -1)),
    }[impact.wall]
    x, y = scale.spot(place)
    loudest = max(other.impact.peak for other in seen.heard) or 1.0
    long = 6 + _MOST_PEAK_PX * impact.peak / loudest
    start, end = (x + 4 * dx, y + 4 * dy), (x + (4 + long) * dx, y + (4 + long) * dy)
    drawing.line(start, end, stroke=Stroke(INK, 4))
    labels.keep_line_free((start, end), 4)
    labels.put(((start[0] + end[0]) / 2 + 12 * dx, (start[1] + end[1]) / 2 + 12 * dy), heard.key, 13)


def _ends(drawing: Drawing, die: DieShown, scale: _Scale, labels: Labels) -> None:
    colour = DIE_COLOURS[die.number - 1]
    if die.seen.releases:
        release = die.seen.releases[0]
        at = scale.spot((release.x, release.y))
        mark(drawing, die.number, at, 5)
        labels.keep_free(at, 6)
        labels.put(at, f"die {die.number} released", colour=colour)
    for touch in die.touches:
        _touch(drawing, die, touch, scale, labels)
    if die.best is not None and die.best.encounter.hit is Hit.NO:
        _missed(drawing, die, die.best, scale, labels)
    if die.rest is not None:
        at = scale.spot((die.rest.x, die.rest.y))
        drawing.box((at[0] - 8, at[1] - 8), (16, 16), Stroke(colour, 2), "#ffffff")
        face = "?" if die.rest.up is None else str(die.rest.up)
        drawing.words((at[0], at[1] + 4.5), face, 13, anchor="middle", colour=colour, bold=True)
        labels.keep_free(at, 10)
        labels.put(at, rest_words(die), colour=colour)
    elif die.points and (die.seen.gone or die.seen.losts):
        at = scale.spot(die.points[-1][1])
        drawing.cross(at, 7, Stroke(colour, 2.5))
        labels.keep_free(at, 8)
        gone = "left the table" if die.seen.gone else "lost from sight"
        labels.put(at, f"die {die.number} {gone}", colour=colour)


def _touch(drawing: Drawing, die: DieShown, touch: Touch, scale: _Scale, labels: Labels) -> None:
    at, colour = scale.spot(touch.centre), DIE_COLOURS[die.number - 1]
    drawing.disc(at, 7, Stroke(colour, 2))
    labels.keep_free(at, 8)
    hit = touch.encounter.hit is Hit.YES
    labels.put(at, f"die {die.number} {'hit' if hit else 'unclear'}, {touch.seconds:.3f} s", colour=colour)


def _missed(drawing: Drawing, die: DieShown, touch: Touch, scale: _Scale, labels: Labels) -> None:
    """Draw how far from the wall a die stayed, between two short bars."""
    face, wall = scale.spot(touch.face), scale.spot(touch.at_wall)
    thick = Stroke(INK, 2.2)
    across = 7.0
    for x, y in (face, wall):
        upright = touch.encounter.wall in {"left", "right"}
        ends = ((x, y - across), (x, y + across)) if upright else ((x - across, y), (x + across, y))
        drawing.line(*ends, stroke=thick)
    drawing.line(face, wall, stroke=thick)
    labels.keep_line_free((face, wall), 6)
    middle = ((face[0] + wall[0]) / 2, (face[1] + wall[1]) / 2)
    labels.put(middle, f"die {die.number}: {touch.encounter.gap_mm:.0f} mm short of the wall", 13)


def _times(die: DieShown, scale: _Scale, labels: Labels) -> None:
    for seconds, point in _every(die):
        labels.put(
            scale.spot(point), f"{seconds:.1f} s", 10.5, colour=DIE_COLOURS[die.number - 1], must=False
        )


def _every(die: DieShown) -> Iterator[tuple[float, Point]]:
    due = _EVERY_S
    for seconds, point in die.points[:-1]:
        if seconds >= due:
            yield seconds, point
            due = seconds - seconds % _EVERY_S + _EVERY_S


def _words_below(drawing: Drawing, seen: ThrowSeen, y: float) -> None:
    room = (WIDTH - 2 * MARGIN) / 3
    most = int((HEIGHT - 34 - y) / 17)
    for i, die in enumerate(seen.dice):
        at = (MARGIN + i * room, y)
        mark(drawing, die.number, (at[0] + 5, y - 5), 5)
        column(
            drawing, (at[0] + 16, y), room - 30, f"Die {die.number}", die_lines(die, seen.table), most=most
        )
    at = (MARGIN + 2 * room, y)
    told = [*heard_lines(seen), *(f"story, {line}" for line in story_lines(seen))]
    column(drawing, at, room, "Impacts heard", told, most=most)
    _legend(drawing)


def _legend(drawing: Drawing) -> None:
    y, x = HEIGHT - 18.0, MARGIN
    drawing.line((MARGIN, y - 16), (WIDTH - MARGIN, y - 16), stroke=Stroke(PALE, 1))
    mark(drawing, 1, (x + 6, y - 4), 4)
    drawing.words((x + 18, y), "die 1, one mark a camera frame", 11.5, colour=SOFT)
    mark(drawing, 2, (x + 226, y - 4), 4)
    drawing.words((x + 238, y), "die 2", 11.5, colour=SOFT)
    drawing.line((x + 286, y - 4), (x + 322, y - 4), stroke=Stroke(SOFT, 1.4, _DASH))
    drawing.words((x + 330, y), "hidden, bridged", 11.5, colour=SOFT)
    drawing.disc((x + 448, y - 4), 6, Stroke(SOFT, 2))
    drawing.words((x + 460, y), "turn at a wall", 11.5, colour=SOFT)
    drawing.line((x + 562, y - 4), (x + 580, y - 4), stroke=Stroke(INK, 4))
    drawing.words((x + 588, y), "A, B: impact heard, longer is louder", 11.5, colour=SOFT)
    for end in (x + 826, x + 852):
        drawing.line((end, y - 10), (end, y + 2), stroke=Stroke(INK, 2))
    drawing.line((x + 826, y - 4), (x + 852, y - 4), stroke=Stroke(INK, 2))
    drawing.words((x + 860, y), "gap to the wall; seconds from the release", 11.5, colour=SOFT)
