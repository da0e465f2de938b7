"""What the dice's hits are worth: both must hit the wall that the rule set names, or a warning is due.

C34-INV-2ii and !34-11 (an end, the far one by setting), CV1-SHOOT-3/4 and !V1-26 (the far one, with
warnings), H-LEGAL-1 (any wall).
"""

from dataclasses import dataclass

from controller.model.rulesets import ThrowRules
from controller.rules.dice.credit import WALLS, credit
from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.findings import Findings
from controller.rules.dice.identity import Pair, possible_hits
from controller.rules.dice.paths import Path, path_of
from controller.rules.dice.scene import DieSeen, Scene
from controller.rules.dice.walls import encounters_with
from controller.rules.dice.wording import wall_words

STANDING = frozenset({"stands", "warned"})
"""What hits may mean for a throw that counts."""
MIDDLE_SHARE = 0.1
"""A release within this share of the table's length from its middle tells no end; the way it flew does."""

FIRST_POINTS = 4
"""After this many points a die's way shows whatever the noise."""


@dataclass(frozen=True, slots=True)
class WallWord:
    """The walls' word on a throw: whether a warning is due, and the walls that were hit."""

    warning: bool = False
    hit: tuple[str, ...] = ()


def far_end(scene: Scene) -> str | None:
    """Name the end farthest from the shooter: the one away from the release; None where none was seen."""
    length = scene.table.length_mm
    thrown = [die for die in scene.dice if die.releases]
    for die in thrown:
        off_middle = die.releases[0].x - length / 2.0
        if abs(off_middle) > MIDDLE_SHARE * length:
            return "right" if off_middle < 0.0 else "left"
    for die in thrown:
        if len(die.track) > FIRST_POINTS:
            return "right" if die.track[FIRST_POINTS].x > die.track[0].x else "left"
    return None


@dataclass(frozen=True, slots=True)
class Met:
    """How the dice met the walls: each path with all its encounters, the walls that count, the far end."""

    paths: tuple[Path, Path]
    walls: tuple[str, ...]
    far: str | None

    def best(self, label: int) -> Encounter | None:
        """Give the encounter that decides for a die: its best, and of those the far end's or the closest."""
        own = [e for e in self.paths[label].encounters if e.wall in self.walls]
        return max(own, key=lambda e: (e.hit, e.wall == self.far, -abs(e.gap_mm)), default=None)


def meet_walls(scene: Scene, rules: ThrowRules) -> Met:
    """Find what each die did at each wall, and whose each impact is."""
    far = far_end(scene)
    walls = WALLS[rules.wall]
    if rules.wall == "far" or rules.far_wall_required:
        walls = (far,) if far is not None else walls
    paths = (path_of(scene, scene.dice[0]), path_of(scene, scene.dice[1]))
    for path in paths:
        _meet(scene, path, walls, far)
    credit(scene, paths)
    return Met(paths, walls, far)


def judge_hits(scene: Scene, rules: ThrowRules, found: Findings, *, warnings: int) -> WallWord:
    """Judge whether the dice hit the walls they must, and what it means if they did not."""
    return _Words(scene, rules, found, meet_walls(scene, rules)).weigh(warnings)


def _meet(scene: Scene, path: Path, walls: tuple[str, ...], far: str | None) -> None:
    """Find a die's encounters, the far end first and the rails only where no end was hit."""
    for wall in sorted(("left", "right"), key=lambda end: end != far):
        path.encounters += encounters_with(scene, path, wall)
    if "front" in walls and not any(e.hit is Hit.YES for e in path.encounters):
        for wall in ("front", "back"):
            path.encounters += encounters_with(scene, path, wall)


@dataclass(frozen=True, slots=True)
class _Words:
    scene: Scene
    rules: ThrowRules
    found: Findings
    met: Met

    def weigh(self, warnings: int) -> WallWord:
        """Weigh every reading that the tracks allow: one ruling is certain, several are a conflict."""
        judged = [die for die in self.scene.dice if not die.gone and die.seen]
        meanings = {self._meaning(pair, judged, warnings) for pair in self._pairs()}
        self._note_near_end()
        # A wall may be forgiven, but not a camera that followed something else: that may rest there now.
        astray = meanings <= STANDING and (self._jumped or self._beyond)
        if not astray and len(meanings) == 1:
            return self._tell(meanings.pop(), judged)
        if not astray and meanings <= STANDING:
            return self._tell("stands", judged)
        self._tell_conflict()
        return WallWord()

    @property
    def _jumped(self) -> list[Path]:
        return [path for path in self.met.paths if path.jump_mm]

    @property
    def _beyond(self) -> list[tuple[int, Encounter]]:
        """Give the dice that were seen on the other side of a wall, each once."""
        seen = {path.die.number: e for path in self.met.paths for e in path.encounters if e.beyond}
        return list(seen.items())

    def _pairs(self) -> set[Pair]:
        if self._jumped:
            return {(one, two) for one in Hit for two in Hit}
        return possible_hits(self.scene, self.met.paths, self.met.walls)

    def _tell_conflict(self) -> None:
        for path in self._jumped:
            seen = f"the track of die {path.die.number} jumps by {path.jump_mm:.0f} mm"
            self.found.ask("conflict", seen, die=path.die.number)
        for die, encounter in self._beyond:
            self.found.ask("conflict", encounter.seen, die=die)
        if not (self._jumped or self._beyond):
            self.found.ask("conflict", "the dice's tracks came so close that they may have been exchanged")

    def _meaning(self, pair: Pair, judged: list[DieSeen], warnings: int) -> str:
        """Name what the hits mean for the throw: stands, warned, void or unclear."""
        hits = [pair[die.number - 1] for die in judged]
        if self.rules.missed_wall == "no_roll":
            return "void" if Hit.NO in hits else "unclear" if Hit.UNCLEAR in hits else "stands"
        if Hit.YES in hits or not hits:
            return "warned" if Hit.NO in hits else "stands"
        if warnings < self.rules.warnings:
            return "warned" if Hit.NO in hits else "stands"
        return "unclear" if Hit.UNCLEAR in hits else "void"

    def _tell(self, meaning: str, judged: list[DieSeen]) -> WallWord:
        hit = tuple(
            e.wall for e in (self.met.best(0), self.met.best(1)) if e is not None and e.hit is Hit.YES
        )
        for die in judged:
            best = self.met.best(die.number - 1)
            if best is None:
                continue
            self.found.evidence += best.points
            self._tell_die(best, die.number, meaning)
        return WallWord(meaning == "warned", hit)

    def _tell_die(self, best: Encounter, die: int, meaning: str) -> None:
        if best.hit is Hit.NO and meaning == "void":
            self.found.no_roll("no_wall_hit", f"{best.seen}; {wall_words(self.rules)}", die=die)
        elif best.hit is Hit.NO and meaning == "warned":
            rule = self.found.causes.get("no_wall_hit")
            self.found.note("wall_warning", f"{best.seen}; {wall_words(self.rules)}", die=die, rule=rule)
        elif best.hit is Hit.UNCLEAR and meaning in {"void", "unclear"}:
            self.found.ask(best.code, best.seen, die=die)
        elif best.hit is Hit.UNCLEAR:
            self.found.note("wall_unclear", best.seen, die=die)

    def _note_near_end(self) -> None:
        """Note a hit of the near end: it counts, but the far one is the aim (C34-DICE-5, !34-11)."""
        if self.rules.wall == "any" or self.met.far is None:
            return
        for path in self.met.paths:
            ends = {e.wall for e in path.encounters if e.hit is Hit.YES}
            near = ends - {self.met.far}
            if near:
                end = near.pop()
                seen = f"die {path.die.number} hit the {end} wall, the end nearest to the shooter"
                self.found.note("near_wall", seen, die=path.die.number, rule="!34-11")
