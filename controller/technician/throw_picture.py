"""A throw as its judge saw it: as data, as lines of text, and as a plan of the table."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controller.model.effects import Judged
from controller.model.geometry import DiceTable, Point
from controller.model.readings import DieRest, WallImpact
from controller.model.rulesets import ThrowRules
from controller.rules.dice.hits import Encounter, Hit, WallEncounters, find_encounters
from controller.rules.dice.impacts import may_be_ringing
from controller.rules.dice.paths import Path, build_path
from controller.rules.dice.scene import DieSeen, Scene, build_scene
from controller.rules.dice.wording import RankedStory, rank_stories
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
    TextMark,
    column,
    new_sheet,
)

KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a die's track: seen frame by frame, or bridged while the die was hidden."""

    points: tuple[Point, ...]
    hidden: bool


@dataclass(frozen=True, slots=True)
class Touch:
    """A die's encounter with a wall, with the positions (mm) of the die's centre, its nearest face and the
    wall.
    """

    encounter: Encounter
    seconds: float
    centre: Point
    face: Point
    at_wall: Point


@dataclass(frozen=True, slots=True)
class DieShown:
    """One die with the legs of its track, its timed points (s) and its encounters with the walls."""

    number: int
    seen: DieSeen
    legs: tuple[Leg, ...]
    points: tuple[tuple[float, Point], ...]
    hidden_s: float
    touches: tuple[Touch, ...]
    best: Touch | None
    rest: DieRest | None


@dataclass(frozen=True, slots=True)
class DrawnImpact:
    """An impact with its letter, and the numbers of the dice whose hits explain it."""

    key: str
    impact: WallImpact
    seconds: float
    dice: tuple[int, ...]
    rings: str
    """Letter of the impact whose ringing this is; empty for other impacts."""


@dataclass(frozen=True, slots=True)
class ThrowSeen:
    """A throw for display; times (s) are measured from its first release or track point."""

    table: DiceTable
    dice: tuple[DieShown, DieShown]
    impacts: tuple[DrawnImpact, ...]
    far: str | None
    stories: tuple[RankedStory, ...] = ()
    """The throw's stories, best first. Each story explains the impacts as hits by the dice."""


def throw_seen(judged: Judged, table: DiceTable, rules: ThrowRules) -> ThrowSeen:
    """Return the judge's view of this throw, reconstructed from the throw's evidence."""
    basis = judged.basis
    scene = build_scene(
        judged.readings, table, rules.sensors, basis.sources, basis.decided_at_us, learned=basis.learned
    )
    # The judge reports nothing about the walls if No Roll was called while a die was moving.
    whole = all(die.ended and die.seen for die in scene.dice)
    met = find_encounters(scene, rules) if basis.called is None or whole else _without_walls(scene)
    one, two = (_shown(scene, met, label) for label in (0, 1))
    stories = () if met.account is None else rank_stories(scene, met.account)
    return ThrowSeen(table, (one, two), _impacts(scene, met), met.far, stories)


def _without_walls(scene: Scene) -> WallEncounters:
    one, two = scene.dice
    return WallEncounters((build_path(scene, one), build_path(scene, two)), ([], []), None, (), None)


def _impacts(scene: Scene, met: WallEncounters) -> tuple[DrawnImpact, ...]:
    owners: dict[int, list[int]] = {}
    for label, encounters in enumerate(met.encounters):
        for encounter in encounters:
            if encounter.hit is Hit.YES and encounter.impact is not None:
                owners.setdefault(encounter.impact, []).append(label + 1)
    impacts: list[DrawnImpact] = []
    for i, impact in enumerate(scene.impacts):
        first = next((hit for hit in owners if i not in owners and may_be_ringing(scene, hit, i)), None)
        seconds = scene.ms(impact.t) / 1000.0
        impacts.append(
            DrawnImpact(
                _key(i), impact, seconds, tuple(owners.get(i, ())), "" if first is None else _key(first)
            )
        )
    return tuple(impacts)


def _key(i: int) -> str:
    return KEYS[i % len(KEYS)]


def _shown(scene: Scene, met: WallEncounters, label: int) -> DieShown:
    path = met.paths[label]
    points = list(zip(path.xs, path.ys, strict=True))
    legs: list[Leg] = []
    hidden_s = 0.0
    for i in range(1, len(points)):
        gap_ms = path.times[i] - path.times[i - 1]
        rests = path.rests and i == len(points) - 1
        hidden = gap_ms > scene.hidden_ms and not rests
        hidden_s += gap_ms / 1000.0 if hidden else 0.0
        if legs and legs[-1].hidden == hidden:
            legs[-1] = Leg((*legs[-1].points, points[i]), hidden)
        else:
            legs.append(Leg((points[i - 1], points[i]), hidden))
    best = met.best(label) if path.times else None
    touches = [_touch(scene, path, e) for e in met.encounters[label] if e.hit is not Hit.NO and path.times]
    return DieShown(
        number=path.die.number,
        seen=path.die,
        legs=tuple(legs),
        points=tuple((t / 1000.0, point) for t, point in zip(path.times, points, strict=True)),
        hidden_s=hidden_s,
        touches=tuple(touches),
        best=None if best is None else _touch(scene, path, best),
        rest=path.die.rest,
    )


def _touch(scene: Scene, path: Path, encounter: Encounter) -> Touch:
    """Return an encounter with positions. The track determines the position along the wall, and the gap
    determines the distance from the wall."""
    table, half = scene.table, scene.table.die_mm / 2.0
    gap = max(encounter.gap_mm, 0.0) if encounter.hit is not Hit.UNCLEAR else 0.0
    x = _at(path.times, path.xs, encounter.t)
    y = _at(path.times, path.ys, encounter.t)
    places: dict[str, tuple[Point, Point, Point]] = {
        "left": ((gap + half, y), (gap, y), (0.0, y)),
        "right": ((table.length_mm - gap - half, y), (table.length_mm - gap, y), (table.length_mm, y)),
        "front": ((x, gap + half), (x, gap), (x, 0.0)),
        "back": ((x, table.width_mm - gap - half), (x, table.width_mm - gap), (x, table.width_mm)),
    }
    centre, face, at_wall = places[encounter.wall]
    if encounter.hit is Hit.UNCLEAR:
        centre = (x, y)
    return Touch(encounter, encounter.t / 1000.0, centre, face, at_wall)


def _at(times: Sequence[float], places: Sequence[float], t: float) -> float:
    i = min(max(bisect_left(times, t), 1), len(times) - 1)
    if len(times) < 2:
        return places[0]
    fraction = min(max((t - times[i - 1]) / (times[i] - times[i - 1]), 0.0), 1.0)
    return places[i - 1] + fraction * (places[i] - places[i - 1])


_TILTED_DEG = 3.0


def rest_text(die: DieShown) -> str:
    """Return a label for a die at rest: its number, its face and the surface."""
    rest = die.rest
    assert rest is not None
    face = "no face read" if rest.up is None else f"{rest.up}"
    return f"die {die.number}: {face} on {rest.on}"


def die_lines(die: DieShown, table: DiceTable) -> Iterator[str]:
    """Yield one die's events, from its release until it comes to rest."""
    if not die.seen.seen:
        yield "was not seen"
        return
    start = die.points[0][0] if die.points else 0.0
    release = "left the hand" if die.seen.releases else "release not seen, first point"
    yield f"{release} at {start:.3f} s"
    if die.hidden_s:
        yield f"hidden for {die.hidden_s * 1000:.0f} ms in flight"
    heading = f"die {die.number} "
    for touch in die.touches:
        yield f"{touch.seconds:.3f} s: {touch.encounter.seen.removeprefix(heading)}"
    best = die.best
    if best is not None and best.encounter.hit is Hit.NO:
        yield f"{best.seconds:.3f} s: {best.encounter.seen.removeprefix(heading)}"
    for touched in dict.fromkeys(contact.with_ for contact in die.seen.contacts):
        yield f"touched: {touched}"
    yield from _end(die, table)


def _end(die: DieShown, table: DiceTable) -> Iterator[str]:
    rest = die.rest
    if rest is None:
        yield "left the table" if die.seen.gone else "was not seen at rest"
        return
    face = "no face read" if rest.up is None else f"{rest.up} up"
    tilted = f", tilted {rest.tilt_deg:.0f} degrees" if abs(rest.tilt_deg) >= _TILTED_DEG else ""
    yield f"rests on {rest.on}, {face}, confidence {rest.confidence:.2f}{tilted}"
    if rest.resting_sides:
        yield f"leans on {' and '.join(f'side {side}' for side in rest.resting_sides)}"
    half = table.die_mm / 2.0
    ends = (("left", rest.x - half), ("right", table.length_mm - rest.x - half))
    wall, gap = min(ends, key=lambda end: end[1])
    yield f"lies {max(gap, 0.0):.0f} mm from the {wall} wall"


def impact_lines(seen: ThrowSeen) -> Iterator[str]:
    """Yield one line for each impact, with its cause: the dice that hit the wall, ringing, or none."""
    for drawn in seen.impacts:
        impact = drawn.impact
        whose = " and ".join(f"die {die}" for die in drawn.dice)
        whose = whose or (f"ringing of {drawn.rings}" if drawn.rings else "no die turned there at that time")
        yield (
            f"{drawn.key}  {drawn.seconds:.3f} s {impact.wall} wall at {impact.pos_mm:.0f} mm,"
            f" peak {impact.peak:.0f}: {whose}"
        )
    if not seen.impacts:
        yield "none"


def story_lines(seen: ThrowSeen) -> Iterator[str]:
    """Yield the throw's stories, best first, each with the amount by which its squared error exceeds that of
    the best story."""
    for story in seen.stories:
        if not story.worse:
            yield f"best: {story.words}"
        elif story.possible:
            yield f"also possible (squared error +{story.worse:.0f}): {story.words}"
        else:
            yield f"ruled out (squared error +{story.worse:.0f}): {story.words}"


_LEFT, _TOP, _MAX_HEIGHT = 96.0, 122.0, 330.0
_WALL = Stroke(INK, 4)
_ZONE = Stroke("#8a8a8a", 1)
_ZONE_FILL = "#eeeeee"
_LABEL_EVERY_S = 0.2
_MAX_PEAK_PX = 16.0
_DASH = (5.0, 4.0)


class _Scale(NamedTuple):
    """The scale from millimetres on the table to pixels, with the stickperson's rail at the bottom."""

    per_mm: float
    left: float
    bottom: float

    def spot(self, point: Point) -> Spot:
        return self.left + point[0] * self.per_mm, self.bottom - point[1] * self.per_mm


def draw_throw(exhibit: Exhibit, seen: ThrowSeen, sentence: str, when: str) -> Drawing:
    """Draw the throw as a plan of the table, on a sheet of 1200 by 700 pixels."""
    drawing = new_sheet(exhibit, sentence, when)
    table = seen.table
    per_mm = min((WIDTH - 2 * _LEFT) / table.length_mm, _MAX_HEIGHT / table.width_mm)
    left = (WIDTH - table.length_mm * per_mm) / 2
    scale = _Scale(per_mm, left, _TOP + table.width_mm * per_mm)
    right = left + table.length_mm * per_mm
    labels = Labels(drawing, (left, _TOP), (right, scale.bottom))
    letters = Labels(drawing, (10, 96), (WIDTH - 10, scale.bottom + 34))
    _table(drawing, seen, scale, labels)
    for die in seen.dice:
        _track(drawing, die, scale, labels)
    for drawn in seen.impacts:
        _impact(drawing, drawn, scale, seen, letters)
    for die in seen.dice:
        _ends(drawing, die, scale, labels)
    for die in seen.dice:
        _times(die, scale, labels)
    _text_below(drawing, seen, scale.bottom + 66)
    return drawing


def _table(drawing: Drawing, seen: ThrowSeen, scale: _Scale, labels: Labels) -> None:
    table = seen.table
    for zone in table.zones:
        corners = [scale.spot(corner) for corner in (*zone.polygon, zone.polygon[0])]
        drawing.line(*corners, stroke=_ZONE, fill=_ZONE_FILL)
        x = sum(x for x, _ in corners[:-1]) / len(zone.polygon)
        y = sum(y for _, y in corners[:-1]) / len(zone.polygon)
        words = TextMark((x, y + 4), zone.name or zone.kind, 12, "middle", SOFT)
        drawing.marks.append(words)
        labels.keep_text_free(words)
    x0, y0 = scale.spot((0.0, table.width_mm))
    x1, y1 = scale.spot((table.length_mm, 0.0))
    drawing.box((x0, y0), (x1 - x0, y1 - y0), _WALL)
    labels.keep_line_free(((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)), 4)
    far = {None: ("left wall", "right wall"), "left": ("left wall (far end)", "right wall")}
    names = far.get(seen.far, ("left wall", "right wall (far end)"))
    drawing.text((x0, y0 - 12), names[0], 12, colour=SOFT)
    drawing.text((x1, y0 - 12), names[1], 12, anchor="end", colour=SOFT)
    drawing.text(((x0 + x1) / 2, y0 - 12), "boxperson's rail", 12, anchor="middle", colour=SOFT)
    for mm in range(0, int(table.length_mm) + 1, 500):
        x, y = scale.spot((float(mm), 0.0))
        drawing.line((x, y + 3), (x, y + 8), stroke=Stroke(SOFT, 1))
        drawing.text((x, y + 20), f"{mm}", 11, anchor="middle", colour=SOFT)
    drawing.text(
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


def _impact(drawing: Drawing, drawn: DrawnImpact, scale: _Scale, seen: ThrowSeen, labels: Labels) -> None:
    impact, table = drawn.impact, seen.table
    place, (dx, dy) = {
        "left": ((0.0, impact.pos_mm), (-1, 0)),
        "right": ((table.length_mm, impact.pos_mm), (1, 0)),
        "front": ((impact.pos_mm, 0.0), (0, 1)),
        "back": ((impact.pos_mm, table.width_mm), (0, -1)),
    }[impact.wall]
    x, y = scale.spot(place)
    loudest = max(other.impact.peak for other in seen.impacts) or 1.0
    long = 6 + _MAX_PEAK_PX * impact.peak / loudest
    start, end = (x + 4 * dx, y + 4 * dy), (x + (4 + long) * dx, y + (4 + long) * dy)
    drawing.line(start, end, stroke=Stroke(INK, 4))
    labels.keep_line_free((start, end), 4)
    labels.put(((start[0] + end[0]) / 2 + 12 * dx, (start[1] + end[1]) / 2 + 12 * dy), drawn.key, 13)


def _ends(drawing: Drawing, die: DieShown, scale: _Scale, labels: Labels) -> None:
    colour = DIE_COLOURS[die.number - 1]
    if die.seen.releases:
        release = die.seen.releases[0]
        at = scale.spot((release.x, release.y))
        mark(drawing, die.number, at, 5)
        labels.keep_free(at, 6)
        labels.put(at, f"die {die.number} released", colour=colour)
    for touch in die.touches:
        _draw_touch(drawing, die, touch, scale, labels)
    if die.best is not None and die.best.encounter.hit is Hit.NO:
        _missed(drawing, die, die.best, scale, labels)
    if die.rest is not None:
        at = scale.spot((die.rest.x, die.rest.y))
        drawing.box((at[0] - 8, at[1] - 8), (16, 16), Stroke(colour, 2), "#ffffff")
        face = "?" if die.rest.up is None else str(die.rest.up)
        drawing.text((at[0], at[1] + 4.5), face, 13, anchor="middle", colour=colour, bold=True)
        labels.keep_free(at, 10)
        labels.put(at, rest_text(die), colour=colour)
    elif die.points and (die.seen.gone or die.seen.losts):
        at = scale.spot(die.points[-1][1])
        drawing.cross(at, 7, Stroke(colour, 2.5))
        labels.keep_free(at, 8)
        gone = "left the table" if die.seen.gone else "lost from sight"
        labels.put(at, f"die {die.number} {gone}", colour=colour)


def _draw_touch(drawing: Drawing, die: DieShown, touch: Touch, scale: _Scale, labels: Labels) -> None:
    at, colour = scale.spot(touch.centre), DIE_COLOURS[die.number - 1]
    drawing.disc(at, 7, Stroke(colour, 2))
    labels.keep_free(at, 8)
    hit = touch.encounter.hit is Hit.YES
    labels.put(at, f"die {die.number} {'hit' if hit else 'unclear'}, {touch.seconds:.3f} s", colour=colour)


def _missed(drawing: Drawing, die: DieShown, touch: Touch, scale: _Scale, labels: Labels) -> None:
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
    for seconds, point in _label_points(die):
        labels.put(
            scale.spot(point), f"{seconds:.1f} s", 10.5, colour=DIE_COLOURS[die.number - 1], required=False
        )


def _label_points(die: DieShown) -> Iterator[tuple[float, Point]]:
    due = _LABEL_EVERY_S
    for seconds, point in die.points[:-1]:
        if seconds >= due:
            yield seconds, point
            due = seconds - seconds % _LABEL_EVERY_S + _LABEL_EVERY_S


def _text_below(drawing: Drawing, seen: ThrowSeen, y: float) -> None:
    room = (WIDTH - 2 * MARGIN) / 3
    max_lines = int((HEIGHT - 34 - y) / 17)
    for i, die in enumerate(seen.dice):
        at = (MARGIN + i * room, y)
        mark(drawing, die.number, (at[0] + 5, y - 5), 5)
        column(
            drawing,
            (at[0] + 16, y),
            room - 30,
            f"Die {die.number}",
            die_lines(die, seen.table),
            max_lines=max_lines,
        )
    at = (MARGIN + 2 * room, y)
    lines = [*impact_lines(seen), *(f"story, {line}" for line in story_lines(seen))]
    column(drawing, at, room, "Impacts", lines, max_lines=max_lines)
    _legend(drawing)


def _legend(drawing: Drawing) -> None:
    y, x = HEIGHT - 18.0, MARGIN
    drawing.line((MARGIN, y - 16), (WIDTH - MARGIN, y - 16), stroke=Stroke(PALE, 1))
    mark(drawing, 1, (x + 6, y - 4), 4)
    drawing.text((x + 18, y), "die 1, one mark per frame", 11.5, colour=SOFT)
    mark(drawing, 2, (x + 226, y - 4), 4)
    drawing.text((x + 238, y), "die 2", 11.5, colour=SOFT)
    drawing.line((x + 286, y - 4), (x + 322, y - 4), stroke=Stroke(SOFT, 1.4, _DASH))
    drawing.text((x + 330, y), "while hidden", 11.5, colour=SOFT)
    drawing.disc((x + 448, y - 4), 6, Stroke(SOFT, 2))
    drawing.text((x + 460, y), "turn at a wall", 11.5, colour=SOFT)
    drawing.line((x + 562, y - 4), (x + 580, y - 4), stroke=Stroke(INK, 4))
    drawing.text((x + 588, y), "A, B: impact, longer is louder", 11.5, colour=SOFT)
    for end in (x + 826, x + 852):
        drawing.line((end, y - 10), (end, y + 2), stroke=Stroke(INK, 2))
    drawing.line((x + 826, y - 4), (x + 852, y - 4), stroke=Stroke(INK, 2))
    drawing.text((x + 860, y), "gap to the wall; seconds from the release", 11.5, colour=SOFT)
