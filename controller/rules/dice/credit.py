"""Which knock is whose: each impact explained by one die's hit, and doubt where one is left over."""

from dataclasses import replace
from math import sqrt

from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.heard import PLACE_ERRORS
from controller.rules.dice.identity import fits_exchanged
from controller.rules.dice.paths import Path
from controller.rules.dice.scene import Scene

WALLS = {"end": ("left", "right"), "far": ("left", "right"), "any": ("left", "right", "front", "back")}


RING_SHARE = 0.6
"""Ringing is weaker than this share of its hit."""
SQRT_2 = sqrt(2.0)
EXCHANGE_MS = 25.0
"""An exchange of the dice this near a turn may have made the turn: two frames."""


def credit(scene: Scene, paths: tuple[Path, Path]) -> None:
    """Settle what one die's encounters leave open by what the other die's explain."""
    for path, other in (paths, paths[::-1]):
        settled = [_settled(scene, encounter, path, other) for encounter in path.encounters]
        path.encounters = [_told_apart(scene, encounter, paths) for encounter in settled]


def _settled(scene: Scene, encounter: Encounter, path: Path, other: Path) -> Encounter:
    number = path.die.number
    if encounter.hit is Hit.YES and encounter.leans and encounter.impact in _own_impacts(other):
        seen = (
            f"die {number} was hidden at the {encounter.wall} wall, and the impact then is die {3 - number}'s"
        )
        return replace(encounter, hit=Hit.UNCLEAR, code="missing_reading", seen=seen)
    if encounter.hit is Hit.NO and encounter.doubts:
        taken = _explained(scene, other) | _explained(scene, path)
        left = [i for i in encounter.doubts if i not in taken]
        if left:
            heard = scene.impacts[left[0]]
            seen = f"{encounter.seen}, yet an impact was heard there at {heard.pos_mm:.0f} mm"
            return replace(encounter, hit=Hit.UNCLEAR, code="wall_unclear", seen=seen)
    return encounter


def _told_apart(scene: Scene, encounter: Encounter, paths: tuple[Path, Path]) -> Encounter:
    """Doubt a turn close to the wall that may be one die's way in and the other's way out."""
    since, until = encounter.t - EXCHANGE_MS, encounter.t + EXCHANGE_MS
    if not encounter.sharp or not fits_exchanged(scene, paths, since, until):
        return encounter
    seen = f"{encounter.seen}, unless it was exchanged with the other die there"
    return replace(encounter, hit=Hit.UNCLEAR, code="conflict", seen=seen)


def _own_impacts(path: Path) -> set[int]:
    return {e.impact for e in path.encounters if e.hit is Hit.YES and not e.leans and e.impact is not None}


def explained_by(scene: Scene, path: Path) -> set[int]:
    """Give the impacts that a die's hits account for, those that lean on their impact among them."""
    return _with_ringing(scene, {e.impact for e in path.encounters if e.impact is not None})


def _explained(scene: Scene, path: Path) -> set[int]:
    """Give the impacts that a die's certain hits explain: their own, and what rang after them."""
    return _with_ringing(scene, _own_impacts(path))


def _with_ringing(scene: Scene, own: set[int]) -> set[int]:
    return own | {i for hit in own for i in range(len(scene.impacts)) if rings(scene, hit, i)}


def rings(scene: Scene, first: int, later: int) -> bool:
    """Tell whether an impact is the ringing of another: the same wall soon after, there, and much weaker."""
    hit, ring = scene.impacts[first], scene.impacts[later]
    soon = 0.0 <= (ring.t - hit.t) / 1000.0 <= scene.errors.ringing_ms
    there = abs(ring.pos_mm - hit.pos_mm) <= SQRT_2 * PLACE_ERRORS * scene.errors.impact_position_mm
    return ring.wall == hit.wall and soon and there and ring.peak <= RING_SHARE * hit.peak
