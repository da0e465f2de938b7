"""The consequences of wall hits: both dice must hit the wall that the rule set names.

A miss leads to a No Roll or only to a warning. Rules: C34-INV-2ii and !34-11 (an end; the far one if so
configured), CV1-SHOOT-3/4 and !V1-26 (the far end, with warnings), H-LEGAL-1 (any wall). The package
`controller.rules.dice` defines the terms.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from controller.model.readings import Reading
from controller.model.rulesets import ThrowRules
from controller.rules.dice import bands
from controller.rules.dice.contact import Contact
from controller.rules.dice.findings import Findings
from controller.rules.dice.impacts import Touched, may_be_ringing
from controller.rules.dice.loudness import SureHit
from controller.rules.dice.meetings import untangle_names
from controller.rules.dice.paths import Path, build_path
from controller.rules.dice.scene import DieSeen, Scene
from controller.rules.dice.stories import Account, build_account
from controller.rules.dice.wording import wall_words

WALLS = {"end": ("left", "right"), "far": ("left", "right"), "any": ("left", "right", "front", "back")}

COUNTING = frozenset({"stands", "warned"})
"""The consequences under which a throw counts."""
MIDDLE_FRACTION = 0.1
"""A release within this fraction of the table's length from its middle does not show which end is the far
end. The direction of flight shows it instead."""

_EVERY_OUTCOME: frozenset[Touched] = frozenset({(False, False), (False, True), (True, False), (True, True)})
DIRECTION_POINT = 4
"""Index of the first track point that shows a die's direction of flight despite the noise."""


class Hit(IntEnum):
    """Whether a die hit a wall, from the weakest to the strongest evidence."""

    NO = 0
    UNCLEAR = 1
    YES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """The events of one die at one wall, with or without a hit.

    `t` is the time in ms from the throw's start. `gap_mm` is the distance from the die's face to the wall's
    tips when the die turned or stopped. `code` is the review code if the hit is unclear. `impact` is the
    number of the impact that the hit made.
    """

    wall: str
    hit: Hit
    t: float
    seen: str
    gap_mm: float = 0.0
    code: str = ""
    impact: int | None = None
    points: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class WallFindings:
    """The result of judging the walls: whether a warning is due, and the walls that were hit."""

    warning: bool = False
    hit: tuple[str, ...] = ()
    sure: tuple[SureHit, ...] = ()
    """The proven hits, from which the loudness of each wall is learned."""


def far_end(scene: Scene) -> str | None:
    """Return the end farthest from the shooter, or None if it is unknown.

    It is the end opposite the release. If the camera first saw the dice in flight, it is the end towards
    which they flew. If the dice flew in opposite directions, it is unknown.
    """
    length = scene.table.length_mm
    thrown = [die for die in scene.dice if die.releases]
    for die in thrown:
        off_middle = die.releases[0].x - length / 2.0
        if not die.releases[0].in_flight and abs(off_middle) > MIDDLE_FRACTION * length:
            return "right" if off_middle < 0.0 else "left"
    directions = {
        "right" if die.track[DIRECTION_POINT].x > die.track[0].x else "left"
        for die in thrown
        if len(die.track) > DIRECTION_POINT and (die.came_in_flight or not die.releases[0].in_flight)
    }
    return directions.pop() if len(directions) == 1 else None


def _needs_far(rules: ThrowRules) -> bool:
    return rules.wall == "far" or rules.far_wall_required


@dataclass(frozen=True, slots=True)
class WallEncounters:
    """Each die's path, its encounters with the required walls, and the account of all possible stories."""

    paths: tuple[Path, Path]
    encounters: tuple[list[Encounter], list[Encounter]]
    account: Account | None
    walls: tuple[str, ...]
    far: str | None

    def best(self, label: int) -> Encounter | None:
        """Return a die's deciding encounter.

        It is the encounter with the strongest evidence of a hit. Of several equally strong encounters, one at
        the far end takes precedence, and then the one nearest to the wall.
        """
        own = [e for e in self.encounters[label] if e.wall in self.walls]
        return max(own, key=lambda e: (e.hit, e.wall == self.far, -abs(e.gap_mm)), default=None)


def find_encounters(scene: Scene, rules: ThrowRules) -> WallEncounters:
    """Find each die's encounters with the required walls, and the die that made each impact."""
    far = far_end(scene)
    walls = WALLS[rules.wall]
    if _needs_far(rules):
        walls = (far,) if far is not None else walls
    ordered = sorted(walls, key=lambda wall: wall != far and wall in {"left", "right"})
    ordered.sort(key=lambda wall: wall in {"front", "back"})
    paths = untangle_names(scene, (build_path(scene, scene.dice[0]), build_path(scene, scene.dice[1])))
    account = build_account(scene, paths, ordered)
    encounters = (_encounters(scene, account, 0), _encounters(scene, account, 1))
    return WallEncounters(paths, encounters, account, walls, far)


def judge_hits(scene: Scene, rules: ThrowRules, found: Findings, *, warnings: int) -> WallFindings:
    """Judge whether the dice hit the required walls, and the consequences if they did not."""
    met = find_encounters(scene, rules)
    if met.far is None and _needs_far(rules):
        # A hit or a miss at either end decides nothing if the far end is unknown.
        seen = "the far end is unknown: no hand was seen, and the direction of flight is not clear"
        found.add_review("missing_reading", seen)
        return WallFindings()
    walls = _WallJudgement(scene, rules, found, met).judge(warnings)
    return replace(walls, sure=tuple(_sure_hits(scene, met)))


def _encounters(scene: Scene, account: Account, label: int) -> list[Encounter]:
    """Return a die's contacts as encounters, judged by the stories without swapped names."""
    outcomes = {touched[label] for touched in account.possible_unswapped}
    stories = [story for touched, story in account.own_stories.items() if touched[label]]
    made = min(stories).made[label]
    die = label + 1
    if outcomes == {True}:
        hits = [
            _hit_encounter(scene, contact, die, impact)
            for contact in account.contacts[label]
            for impact in _sounds(scene, contact, made)
        ]
        return hits or [_unclear_encounter(scene, contact, die) for contact in account.contacts[label]]
    unclear = True in outcomes
    return [
        _unclear_encounter(scene, contact, die)
        if unclear and _is_open(contact)
        else _miss_encounter(contact, die)
        for contact in account.contacts[label]
    ]


def _sounds(scene: Scene, contact: Contact, made: frozenset[int]) -> list[int]:
    """Return the impacts that a contact made, without ringing."""
    own = sorted(made & contact.heard.keys())
    return [i for i in own if not any(may_be_ringing(scene, first, i) for first in own if first < i)]


def _sure_hits(scene: Scene, met: WallEncounters) -> Iterator[SureHit]:
    """Yield the proven hits by one die alone in a precisely measured turn.

    A turn larger than any that a landing causes counts at any loudness, so that the judge can relearn the
    loudness if a sensor has become less sensitive.
    """
    account = met.account
    if account is None or any(path.jumps for path in met.paths):
        return
    best = min(account.own_stories.values())
    for label, contacts in enumerate(account.contacts):
        certain = account.certainly_hit(label)
        made = best.made[label] - best.made[1 - label]
        others = {i for contact in account.contacts[1 - label] for i in contact.heard}
        for contact in contacts:
            min_change = bands.MAX_CAUSELESS_M_PER_S if certain else bands.MAX_LANDING_M_PER_S
            own = _sounds(scene, contact, made if certain else frozenset(contact.heard.keys() - others))
            known = contact.misfit <= bands.MARGIN and not contact.hidden
            if len(own) == 1 and known and contact.min_change >= min_change:
                yield SureHit(contact.wall, scene.impacts[own[0]].peak, contact.change)


def _is_open(contact: Contact) -> bool:
    return bool(contact.heard) or contact.doubtful


def _hit_encounter(scene: Scene, contact: Contact, die: int, number: int) -> Encounter:
    impact = scene.impacts[number]
    return Encounter(
        wall=contact.wall,
        hit=Hit.YES,
        t=contact.t,
        gap_mm=contact.gap_mm,
        seen=f"die {die} turned at the {contact.wall} wall, heard at {impact.pos_mm:.0f} mm",
        impact=number,
        points=(*contact.points, impact),
    )


def _miss_encounter(contact: Contact, die: int) -> Encounter:
    return Encounter(
        wall=contact.wall,
        hit=Hit.NO,
        t=contact.t,
        gap_mm=contact.gap_mm,
        seen=_miss_in_words(contact, die),
        points=contact.points,
    )


def _miss_in_words(contact: Contact, die: int) -> str:
    short = max(contact.gap_mm, 0.0)
    return f"die {die} {contact.did} {short:.0f} mm short of the {contact.wall} wall"


def _unclear_encounter(scene: Scene, contact: Contact, die: int) -> Encounter:
    code, seen = contact.code, contact.seen
    if contact.heard:
        impact = scene.impacts[min(contact.heard)]
        code = "missing_reading" if contact.hidden else "wall_unclear"
        seen = f"{_miss_in_words(contact, die)}, yet an impact was heard there at {impact.pos_mm:.0f} mm"
    return Encounter(
        wall=contact.wall,
        hit=Hit.UNCLEAR,
        t=contact.t,
        gap_mm=contact.gap_mm,
        seen=seen,
        code=code,
        points=contact.points,
    )


@dataclass(frozen=True, slots=True)
class _WallJudgement:
    scene: Scene
    rules: ThrowRules
    found: Findings
    met: WallEncounters

    def judge(self, warnings: int) -> WallFindings:
        """Judge every outcome that is not ruled out.

        A person decides if the throw counts with some of these outcomes but not with others.
        """
        judged = [die for die in self.scene.dice if not die.gone and die.seen]
        outcomes = _EVERY_OUTCOME if self._jumped_paths else self._account.possible
        meanings = {self._meaning(touched, judged, warnings) for touched in outcomes}
        own_meanings = {
            self._meaning(touched, judged, warnings) for touched in self._account.possible_unswapped
        }
        self._note_near_end()
        # The rule set may forgive a missed wall. If the camera did not follow the die, however, the reported
        # resting position may not be the die's.
        untrusted = meanings <= COUNTING and (self._jumped_paths or self._beyond_walls)
        # Swapped names alone decide nothing. If the consequences are uncertain even with the names that the
        # camera reported, a person decides.
        agreed = meanings | own_meanings <= COUNTING or meanings == own_meanings
        if not untrusted and len(meanings) == 1 and agreed:
            return self._report(meanings.pop(), judged)
        if not untrusted and meanings <= COUNTING and agreed:
            return self._report("stands", judged)
        if not (self._jumped_paths or self._beyond_walls) and len(own_meanings) > 1:
            return self._report("unclear", judged)
        self._report_conflict()
        return WallFindings()

    @property
    def _account(self) -> Account:
        account = self.met.account
        assert account is not None
        return account

    @property
    def _jumped_paths(self) -> list[Path]:
        return [path for path in self.met.paths if path.jump_mm]

    @property
    def _beyond_walls(self) -> list[tuple[int, str]]:
        """Return each die that was seen behind a wall, with a description."""
        seen = {
            label + 1: contact.seen
            for label, contacts in enumerate(self._account.contacts)
            for contact in contacts
            if contact.beyond
        }
        return list(seen.items())

    def _report_conflict(self) -> None:
        for path in self._jumped_paths:
            seen = f"the track of die {path.die.number} jumps by {path.jump_mm:.0f} mm"
            self.found.add_review("conflict", seen, die=path.die.number)
        for die, seen in self._beyond_walls:
            self.found.add_review("conflict", seen, die=die)
        if not (self._jumped_paths or self._beyond_walls):
            close = "the dice's tracks came so close that the camera may have swapped the dice"
            self.found.add_review("conflict", f"{close}: either both hit a wall, or only one did")

    def _meaning(self, touched: Touched, judged: list[DieSeen], warnings: int) -> str:
        """Return the consequence of the hits for the throw: stands, warned or void."""
        hits = [touched[die.number - 1] for die in judged]
        if all(hits):
            return "stands"
        if self.rules.missed_wall == "no_roll":
            return "void"
        return "warned" if any(hits) or warnings < self.rules.warnings else "void"

    def _report(self, meaning: str, judged: list[DieSeen]) -> WallFindings:
        hit = tuple(
            e.wall for e in (self.met.best(0), self.met.best(1)) if e is not None and e.hit is Hit.YES
        )
        missed_with_any_names = meaning == "void" and self._account.missed_with_any_names
        for die in judged:
            best = self.met.best(die.number - 1)
            if best is None:
                continue
            self.found.evidence += best.points
            if not missed_with_any_names:
                self._report_die(best, die.number, meaning)
        if missed_with_any_names:
            hit_by = "only one die" if any(map(any, self._account.possible)) else "neither die"
            seen = f"{hit_by} hit a wall, whether or not the camera swapped the dice's names"
            self.found.no_roll("no_wall_hit", f"{seen}; {wall_words(self.rules)}")
        if meaning not in COUNTING and not (self.found.void or self.found.review):
            # Several contacts together may leave a touch in doubt although each of them alone excludes it.
            self.found.add_review("wall_unclear", "either both dice hit a wall, or only one did")
        return WallFindings(meaning == "warned", hit)

    def _report_die(self, best: Encounter, die: int, meaning: str) -> None:
        if best.hit is Hit.NO and meaning == "void":
            self.found.no_roll("no_wall_hit", f"{best.seen}; {wall_words(self.rules)}", die=die)
        elif best.hit is Hit.NO and meaning == "warned":
            rule = self.found.causes.get("no_wall_hit")
            self.found.note("wall_warning", f"{best.seen}; {wall_words(self.rules)}", die=die, rule=rule)
        elif best.hit is Hit.UNCLEAR and meaning in {"void", "unclear"}:
            self.found.add_review(best.code, best.seen, die=die)
        elif best.hit is Hit.UNCLEAR:
            self.found.note("wall_unclear", best.seen, die=die)

    def _note_near_end(self) -> None:
        """Note a hit on the near end, which counts although the shooter must aim for the far end.

        Rules: C34-DICE-5, !34-11.
        """
        if self.rules.wall == "any" or self.met.far is None:
            return
        for label, encounters in enumerate(self.met.encounters):
            ends = {e.wall for e in encounters if e.hit is Hit.YES}
            near = ends - {self.met.far}
            if near:
                end = near.pop()
                seen = f"die {label + 1} hit the {end} wall, the end nearest to the shooter"
                self.found.note("near_wall", seen, die=label + 1, rule="!34-11")
