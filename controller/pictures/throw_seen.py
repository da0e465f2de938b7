"""What a throw's plan shows: the same tracks, turns and impacts that its judge saw."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from controller.model.effects import Judged
from controller.model.geometry import DiceTable, Point
from controller.model.readings import DieRest, WallImpact
from controller.model.rulesets import ThrowRules
from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.hits import Met, meet_walls
from controller.rules.dice.paths import Path, path_of
from controller.rules.dice.scene import DieSeen, Scene, sort_out
from controller.rules.dice.stories import rings
from controller.rules.dice.telling import Told, tell_stories

KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a die's track: seen frame by frame, or bridged over a time in which it was hidden."""

    points: tuple[Point, ...]
    hidden: bool


@dataclass(frozen=True, slots=True)
class Touch:
    """What a die did near a wall: where its centre was then, and where the wall is."""

    encounter: Encounter
    seconds: float
    centre: Point
    face: Point
    at_wall: Point


@dataclass(frozen=True, slots=True)
class DieShown:
    """One die: its track in legs, its points with their seconds, and what it did at the walls."""

    number: int
    seen: DieSeen
    legs: tuple[Leg, ...]
    points: tuple[tuple[float, Point], ...]
    hidden_s: float
    touches: tuple[Touch, ...]
    best: Touch | None
    rest: DieRest | None


@dataclass(frozen=True, slots=True)
class Heard:
    """An impact, its letter, and the dice whose own turn it is the sound of."""

    key: str
    impact: WallImpact
    seconds: float
    dice: tuple[int, ...]
    rings: str
    """The letter of the hit that it is the ringing of, or nothing."""


@dataclass(frozen=True, slots=True)
class ThrowSeen:
    """A throw as it is shown; seconds count from its first release or track point."""

    table: DiceTable
    dice: tuple[DieShown, DieShown]
    heard: tuple[Heard, ...]
    far: str | None
    stories: tuple[Told, ...] = ()
    """What can have happened at the walls, the best first; nothing where the judge says nothing of them."""


def see_throw(judged: Judged, table: DiceTable, rules: ThrowRules) -> ThrowSeen:
    """Lay out what the judge of this throw had before it."""
    basis = judged.basis
    scene = sort_out(judged.readings, table, rules.sensors, basis.sources, basis.decided_at_us)
    # While a die still flies when a person calls No Roll, the judge says nothing of walls.
    whole = all(die.ended and die.seen for die in scene.dice)
    met = meet_walls(scene, rules) if basis.called is None or whole else _unmet(scene)
    one, two = (_shown(scene, met, label) for label in (0, 1))
    stories = () if met.account is None else tell_stories(scene, met.account)
    return ThrowSeen(table, (one, two), _heard(scene, met), met.far, stories)


def _unmet(scene: Scene) -> Met:
    one, two = scene.dice
    return Met((path_of(scene, one), path_of(scene, two)), ([], []), None, (), None)


def _heard(scene: Scene, met: Met) -> tuple[Heard, ...]:
    owners: dict[int, list[int]] = {}
    for label, encounters in enumerate(met.encounters):
        for encounter in encounters:
            if encounter.hit is Hit.YES and encounter.impact is not None:
                owners.setdefault(encounter.impact, []).append(label + 1)
    heard: list[Heard] = []
    for i, impact in enumerate(scene.impacts):
        first = next((hit for hit in owners if i not in owners and rings(scene, hit, i)), None)
        seconds = scene.ms(impact.t) / 1000.0
        heard.append(
            Heard(_key(i), impact, seconds, tuple(owners.get(i, ())), "" if first is None else _key(first))
        )
    return tuple(heard)


def _key(i: int) -> str:
    return KEYS[i % len(KEYS)]


def _shown(scene: Scene, met: Met, label: int) -> DieShown:
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
    """Place an encounter: along the wall where the track was then, across it where the die turned."""
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
    share = min(max((t - times[i - 1]) / (times[i] - times[i - 1]), 0.0), 1.0)
    return places[i - 1] + share * (places[i] - places[i - 1])
