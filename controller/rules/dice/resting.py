"""The judgement of the dice at rest: their position, their faces, and the objects that they touched.

Rules: C34-INV-1 to 3, C34-PT-1 and 2, !34-12, H-LEGAL-2 and 3, !H-14.
"""

from collections.abc import Sequence
from math import sqrt

from controller.model.geometry import Point, Zone
from controller.model.readings import DieRest
from controller.model.rulesets import ThrowRules
from controller.rules.dice.findings import Findings
from controller.rules.dice.scene import DieSeen, Scene

FLAT_DEG = 15.0
"""Maximum tilt, in degrees, of a die that lies flat. According to field data, a camera cannot measure a tilt
below 12 degrees."""
STILL_ERRORS = 4.0
"""Maximum difference, in position errors, between two reported resting positions of a die that has not moved.
It is 2.8 standard deviations of the difference."""
EDGE_ERRORS = 2.0
"""Position errors within which a die's position does not show on which side of an edge the die lies."""
ZONE_REACH_EDGES = 2.0
"""Maximum distance, in edges of a die, from a zone to the centre of a die that the camera reports on it. A
die that leans on the zone's objects may have its centre outside the zone."""
STACKED_EDGES = 1.5
"""Maximum distance, in edges, between the centres of two dice of which one lies on the other. From above, two
squares overlap only if their centres are less than 1.41 edges apart; the rest is the position error."""
CRAPS_SURFACES = {"bank": "on_bank", "cup": "in_cup", "rail": "on_rail"}
"""Surfaces on which a die at rest makes a craps throw a No Roll, with the code of the cause. A die may lie on
any other surface (C34-INV-3)."""
CARD_SURFACES = frozenset({"felt", "cards"})
"""Surfaces on which a die may lie if the rules let the dice touch only cards (H-LEGAL-3)."""


def judge_rests(scene: Scene, rules: ThrowRules, found: Findings) -> tuple[int, int] | None:
    """Judge both dice at rest, and return the faces that are up if both are certain, or None."""
    faces = []
    for die in scene.dice:
        if die.gone:
            _judge_gone(die, found)
        elif die.offs:
            found.add_review(
                "conflict", f"die {die.number} left the table and was then seen at rest on it", die=die.number
            )
        elif die.rest is not None:
            found.evidence.append(die.rest)
            _judge_stillness(scene, die, found)
            _judge_place(scene, die, rules, found)
            face = _face(die.rest, die.number, rules, found)
            if face is not None:
                faces.append(face)
        elif die.seen:
            _judge_not_seen_at_rest(scene, die, found)
    _judge_pair(scene, rules, found)
    return (faces[0], faces[1]) if len(faces) == 2 else None


def _judge_gone(die: DieSeen, found: Findings) -> None:
    """Judge a die that left the table (C34-INV-1a, H-LEGAL-2)."""
    found.evidence.append(die.offs[-1])
    found.no_roll("off_table", f"die {die.number} left the table", die=die.number)


def _judge_not_seen_at_rest(scene: Scene, die: DieSeen, found: Findings) -> None:
    blind = sorted(dev for dev in scene.cameras() if scene.went_down(dev))
    why = f": {blind[0]} was down" if blind else ": the camera lost it" if die.losts else ""
    found.add_review("missing_reading", f"die {die.number} was not seen at rest{why}", die=die.number)


def _judge_stillness(scene: Scene, die: DieSeen, found: Findings) -> None:
    """Add a review if a die that has not moved shows a different face."""
    last = die.rests[-1]
    tolerance_mm = STILL_ERRORS * scene.errors.track_noise_mm
    for earlier in die.rests[:-1]:
        still = abs(earlier.x - last.x) <= tolerance_mm and abs(earlier.y - last.y) <= tolerance_mm
        if still and (earlier.up, set(earlier.resting_sides)) != (last.up, set(last.resting_sides)):
            found.add_review(
                "conflict",
                f"die {die.number} has not moved but showed {_name(earlier.up)} and then {_name(last.up)}",
                die=die.number,
            )
            return


def _name(face: int | None) -> str:
    return "no face" if face is None else str(face)


def _judge_place(scene: Scene, die: DieSeen, rules: ThrowRules, found: Findings) -> None:
    rest = die.rest
    assert rest is not None
    surface, sure = _surface(scene, rest)
    if not sure:
        seen_on = "can't tell what it lies on" if rest.on == "unknown" else f"reports it on the {rest.on}"
        edge = f"lies at the edge of the {surface}, but the camera {seen_on}"
        nowhere = f"is reported on the {surface}, but the table has none at that position"
        seen = nowhere if surface == rest.on else edge
        found.add_review("conflict", f"die {die.number} {seen}", die=die.number)
        return
    if rules.objects == "cards_only":
        _judge_card_table(surface, die.number, rules, found)
    else:
        _judge_craps_table(scene, rest, surface, die.number, found)


def _judge_craps_table(scene: Scene, rest: DieRest, surface: str, die: int, found: Findings) -> None:
    """Judge the surface on which a die lies at craps (C34-INV-2iii, C34-INV-2iv, C34-INV-3)."""
    code = CRAPS_SURFACES.get(surface)
    if code is not None:
        where = "in the cup" if surface == "cup" else f"on the {surface}"
        found.no_roll(code, f"die {die} came to rest {where}", die=die)
    elif not _inside(scene, rest):
        found.add_review(
            "conflict", f"die {die} lies outside the walls, but is reported on the {rest.on}", die=die
        )


def _judge_card_table(surface: str, die: int, rules: ThrowRules, found: Findings) -> None:
    """Judge the surface on which a High Roller die lies (H-LEGAL-2, H-LEGAL-3, !H-14)."""
    if surface in CARD_SURFACES or surface == "die":
        return
    if surface == "chips":
        judge_loose_chips(f"die {die} lies on loose chips", die, rules, found)
    elif surface == "unknown":
        found.add_review("missing_reading", f"the camera can't tell what die {die} lies on", die=die)
    else:
        found.no_roll("foreign_contact", f"die {die} came to rest on the {surface}", die=die)


LOOSE_CHIPS_RULE = "H-LEGAL-3"
"""The rule that, read literally, makes loose chips foreign objects; the dealer decides (!H-14)."""


def judge_loose_chips(seen: str, die: int, rules: ThrowRules, found: Findings) -> None:
    """Judge a die that rests on or touched loose chips, as the house interprets the rule (!H-14)."""
    if rules.loose_chips == "review":
        found.add_review("conflict", seen, die=die, rule=LOOSE_CHIPS_RULE)
    elif rules.loose_chips == "no_roll":
        found.no_roll("foreign_contact", seen, die=die)


def _judge_aslant(code: str, seen: str, die: int, rules: ThrowRules, found: Findings) -> None:
    """Judge a die that is stacked or cocked: a No Roll, or a review if the house requires it (!H-15)."""
    if rules.aslant == "no_roll":
        found.no_roll(code, seen, die=die)
    else:
        found.add_review("conflict", seen, die=die, rule=found.causes.get(code))


def _inside(scene: Scene, rest: DieRest) -> bool:
    tolerance_mm = EDGE_ERRORS * scene.errors.track_noise_mm
    return (
        -tolerance_mm <= rest.x <= scene.table.length_mm + tolerance_mm
        and -tolerance_mm <= rest.y <= scene.table.width_mm + tolerance_mm
    )


def _surface(scene: Scene, rest: DieRest) -> tuple[str, bool]:
    """Return the surface on which a die lies, and whether it is certain.

    The table's zones take precedence over the camera's report.
    """
    tolerance_mm = EDGE_ERRORS * scene.errors.track_noise_mm
    for zone in scene.table.zones:
        if zone.kind == rest.on or zone.kind in CARD_SURFACES:
            continue
        inside = _within(zone, rest.x, rest.y)
        at_edge = _edge_distance(zone.polygon, rest.x, rest.y) <= tolerance_mm
        if inside or (at_edge and rest.on == "unknown"):
            return zone.kind, not at_edge
    own = [zone for zone in scene.table.zones if zone.kind == rest.on]
    reach_mm = ZONE_REACH_EDGES * scene.table.die_mm
    return rest.on, not own or any(_reaches(zone, rest, reach_mm) for zone in own)


def _reaches(zone: Zone, rest: DieRest, reach_mm: float) -> bool:
    return _within(zone, rest.x, rest.y) or _edge_distance(zone.polygon, rest.x, rest.y) <= reach_mm


def _within(zone: Zone, x: float, y: float) -> bool:
    inside = False
    x0, y0 = zone.polygon[-1]
    for x1, y1 in zone.polygon:
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
        x0, y0 = x1, y1
    return inside


def _edge_distance(polygon: Sequence[Point], x: float, y: float) -> float:
    nearest = float("inf")
    x0, y0 = polygon[-1]
    for x1, y1 in polygon:
        dx, dy = x1 - x0, y1 - y0
        length = dx * dx + dy * dy
        along = 0.0 if length == 0.0 else min(max(((x - x0) * dx + (y - y0) * dy) / length, 0.0), 1.0)
        ex, ey = x - x0 - along * dx, y - y0 - along * dy
        nearest = min(nearest, ex * ex + ey * ey)
        x0, y0 = x1, y1
    return sqrt(nearest)


def _face(rest: DieRest, die: int, rules: ThrowRules, found: Findings) -> int | None:
    """Return the face that is up, or None.

    The face must be read with enough confidence and must match how the die lies (C34-PT-1).
    """
    sides = set(rest.resting_sides)
    if rest.up is None and not sides and abs(rest.tilt_deg) > FLAT_DEG:
        seen = f"no face of die {die} was read: it is tilted by {abs(rest.tilt_deg):.0f} degrees"
        found.add_review("low_confidence", seen, die=die)
        return None
    if rest.confidence < rules.min_confidence:
        confidence = f"confidence {rest.confidence:.2f}, below {rules.min_confidence:.2f}"
        found.add_review("low_confidence", f"the face of die {die} was read with {confidence}", die=die)
        return None
    if len(sides) > 1:
        names = " and ".join(str(side) for side in sorted(sides))
        _judge_aslant("cocked", f"die {die} rests on sides {names}", die, rules, found)
        return None
    if sides:
        return _opposite(rest, sides.pop(), die, found)
    if rest.up is None:
        found.add_review("low_confidence", f"no face of die {die} was read", die=die)
        return None
    if abs(rest.tilt_deg) > FLAT_DEG:
        found.add_review(
            "conflict",
            f"die {die} is tilted by {abs(rest.tilt_deg):.0f} degrees but reported as lying flat",
            die=die,
        )
        return None
    return rest.up


def _opposite(rest: DieRest, side: int, die: int, found: Findings) -> int | None:
    """Return the upper face of a die that leans on chips: the one opposite its resting side (C34-PT-1i)."""
    face = 7 - side
    if rest.up is not None and rest.up != face:
        found.add_review(
            "conflict", f"die {die} rests on its {side}, so {face} is up, but {rest.up} was read", die=die
        )
        return None
    return face


def _judge_pair(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge two dice if one lies on the other (C34-INV-1b, !H-15)."""
    one, two = scene.dice
    if one.offs or two.offs:
        return
    rests = [die.rest for die in scene.dice]
    distance_mm = _distance_mm(rests[0], rests[1])
    for die, rest in zip(scene.dice, rests, strict=True):
        if rest is None or rest.on != "die":
            continue
        if distance_mm is None or distance_mm <= STACKED_EDGES * scene.table.die_mm:
            seen = f"die {die.number} came to rest on die {3 - die.number}"
            _judge_aslant("stacked", seen, die.number, rules, found)
            return
        found.add_review(
            "conflict",
            f"die {die.number} is reported on die {3 - die.number}, which lies {distance_mm:.0f} mm away",
            die=die.number,
        )
        return


def _distance_mm(one: DieRest | None, two: DieRest | None) -> float | None:
    if one is None or two is None:
        return None
    dx, dy = one.x - two.x, one.y - two.y
    return sqrt(dx * dx + dy * dy)


# --- objects that the dice touched ---

HARMLESS = frozenset({"felt", "card", "cards", "die", "dice", "wall", "left", "right", "front", "back"})
"""Objects that a die may always touch: the playing surface, the other die, cards, and the walls."""
CHIPS = frozenset({"chip", "chips"})


def judge_contacts(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge the objects that each die touched, and report each object once."""
    for die in scene.dice:
        reported: set[str] = set()
        for contact in die.contacts:
            touched = contact.with_.strip().lower()
            if touched in reported or touched in HARMLESS:
                continue
            reported.add(touched)
            found.evidence.append(contact)
            if rules.objects == "cards_only":
                _judge_foreign(touched, die.number, rules, found)
            elif touched == "bank":
                found.note(
                    "bank_touched", f"die {die.number} touched the bank", die=die.number, rule="!34-12"
                )


def _judge_foreign(touched: str, die: int, rules: ThrowRules, found: Findings) -> None:
    if touched in CHIPS:
        judge_loose_chips(f"die {die} touched loose chips", die, rules, found)
    elif touched in {"", "unknown"}:
        found.add_review("missing_reading", f"die {die} touched something that was not identified", die=die)
    else:
        found.no_roll("foreign_contact", f"die {die} touched the {touched}", die=die)
