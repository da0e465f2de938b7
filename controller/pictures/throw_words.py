"""What stands beside a throw's plan, in words and figures."""

from collections.abc import Iterator

from controller.model.geometry import DiceTable
from controller.pictures.throw_seen import DieShown, ThrowSeen
from controller.rules.dice.encounter import Hit

_TILTED_DEG = 3.0


def rest_words(die: DieShown) -> str:
    """Say how a die lies, in a few words."""
    rest = die.rest
    assert rest is not None
    face = "no face read" if rest.up is None else f"{rest.up}"
    return f"die {die.number}: {face} on {rest.on}"


def die_lines(die: DieShown, table: DiceTable) -> Iterator[str]:
    """Say what one die did, from the hand to its rest."""
    if not die.seen.seen:
        yield "was not seen"
        return
    start = die.points[0][0] if die.points else 0.0
    release = "left the hand" if die.seen.releases else "release not seen, first point"
    yield f"{release} at {start:.3f} s"
    if die.hidden_s:
        yield f"hidden for {die.hidden_s * 1000:.0f} ms on its way"
    for touch in die.touches:
        yield f"{touch.seconds:.3f} s: {_without_name(touch.encounter.seen)}"
    best = die.best
    if best is not None and best.encounter.hit is Hit.NO:
        yield f"{best.seconds:.3f} s: {_without_name(best.encounter.seen)}"
    for thing in dict.fromkeys(contact.with_ for contact in die.seen.contacts):
        yield f"touched: {thing}"
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
        yield f"leans on its sides {' and '.join(map(str, rest.resting_sides))}"
    half = table.die_mm / 2.0
    ends = (("left", rest.x - half), ("right", table.length_mm - rest.x - half))
    wall, gap = min(ends, key=lambda end: end[1])
    yield f"lies {max(gap, 0.0):.0f} mm from the {wall} wall"


def heard_lines(seen: ThrowSeen) -> Iterator[str]:
    """Say what each wall heard, and whose it is."""
    for heard in seen.heard:
        impact = heard.impact
        whose = " and ".join(f"die {die}" for die in heard.dice)
        whose = whose or (f"{heard.rings} ringing" if heard.rings else "no die turned there and then")
        yield (
            f"{heard.key}  {heard.seconds:.3f} s {impact.wall} wall at {impact.pos_mm:.0f} mm,"
            f" peak {impact.peak:.0f}: {whose}"
        )
    if not seen.heard:
        yield "none"


def story_lines(seen: ThrowSeen) -> Iterator[str]:
    """Say which stories of the walls stand, and how much worse the next one fits, in squared errors."""
    for told in seen.stories:
        if not told.worse:
            yield f"best: {told.words}"
        elif told.stands:
            yield f"stands too, {told.worse:.0f} worse: {told.words}"
        else:
            yield f"ruled out, {told.worse:.0f} worse: {told.words}"


def _without_name(seen: str) -> str:
    """Leave out "die 1" where the column is headed so."""
    name, _, rest = seen.partition(" ")
    number, _, said = rest.partition(" ")
    return said if name == "die" and number in {"1", "2"} else seen
