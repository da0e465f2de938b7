"""Dice that push each other at a wall: one turns away from the wall, and the other is knocked back into it.

A push acts along the line from the pushing die to the pushed die, within limits set by friction and by the
tilt of the faces. The pushing die is therefore nearer to the wall and may strike the wall again. The package
`controller.rules.dice` defines the terms.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import combinations
from math import hypot, inf
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.contact import Contact
from controller.rules.dice.motion import line_from, line_until, turn_between
from controller.rules.dice.paths import MIN_NOISE_MM, Path, approach_to
from controller.rules.dice.scene import Scene

MIN_AWAY_FRACTION = 0.35
"""Minimum component of a push away from the wall, as a fraction of the distance between the dice's centres.
It is the cosine of 70 degrees. Faces that meet are tilted by up to 45 degrees from the line between the
centres, and a friction coefficient of 0.5 adds 25 degrees."""
GAP_ERRORS = 1.2
"""Error in the difference between two dice's distances from the wall, as a multiple of a track point's error.
Each distance has an error of 0.85, because it is computed for a moment between two frames, from three points
on one side or five on both sides."""
SAME_MOMENT_MS = 6.0
"""A turn within this time, in ms, of a moment shows the die's position at that moment. It is about half a
frame."""
MIN_RETURN_MS = 8.0
"""Minimum time, in ms, in which a die leaves the wall and returns. At 1 m/s, the die moves 4 mm away and back
in this time."""


Seen = tuple[Path, Sequence[Contact]]
"""A die's path and its contacts."""
Pair = tuple[Seen, Seen]
"""Two dice: the pushed die first, then the pushing die."""


class Place(NamedTuple):
    """A die's distance from a wall and its position along the wall, in mm."""

    gap_mm: float
    along_mm: float


def push_cost(scene: Scene, pair: Pair, wall: str, t: float) -> float:
    """Return the cost of assuming that the second die pushed the first away from a wall at this moment.

    The cost is infinite if the second die was out of reach, or either die was hidden.
    """
    one, two = (_place(scene, path, contacts, wall, t) for path, contacts in pair)
    if one is None or two is None:
        return inf
    noise = max(scene.errors.track_noise_mm, MIN_NOISE_MM)
    nearer_mm = one.gap_mm - two.gap_mm
    distance = hypot(nearer_mm, one.along_mm - two.along_mm)
    if distance > 2.0 * bands.max_contact_mm(scene.table) + bands.DICE_REACH_ERRORS * noise:
        return inf
    edge = scene.table.die_mm
    shortfall = max(MIN_AWAY_FRACTION * max(distance, edge) - nearer_mm, 0.0) / (GAP_ERRORS * noise)
    overlap_errors = max(edge - distance, 0.0) / (GAP_ERRORS * noise)
    return bands.PUSHED + shortfall * shortfall + min(overlap_errors * overlap_errors, bands.OVERLAP)


def overlap(scene: Scene, pair: Pair, wall: str, t: float) -> bool:
    """Return whether the inferred positions of two dice overlap at a moment.

    They may overlap if the dice met between two frames.
    """
    one, two = (_place(scene, path, contacts, wall, t) for path, contacts in pair)
    if one is None or two is None:
        return False
    return hypot(one.gap_mm - two.gap_mm, one.along_mm - two.along_mm) < scene.table.die_mm


def may_be_knocked_back(scene: Scene, paths: tuple[Path, Path], impacts: Sequence[int]) -> bool:
    """Return whether one die may have made two of these impacts because the other die knocked it back.

    The dice must have been close enough to touch each other at one of the impacts. A die may then have struck
    the wall, and the other die may have knocked it back within `SHOVE_MS`. In that case, two tracks and two
    impacts do not show whether both dice touched the wall.
    """
    near_mm = 2.0 * bands.MEAN_EDGES * scene.table.die_mm
    delay_ms = 0.5 * sum(scene.errors.impact_delay_ms)
    return any(
        first.wall == second.wall
        and MIN_RETURN_MS <= (second.t - first.t) / 1000.0 <= bands.SHOVE_MS
        and any(_distance_mm(paths, scene.ms(impact.t) - delay_ms) <= near_mm for impact in (first, second))
        for first, second in combinations((scene.impacts[i] for i in impacts), 2)
    )


def return_cost(scene: Scene, path: Path, wall: str, t: float, fastest: float) -> float:
    """Return the cost of assuming that a die was at a wall at this moment, given its points before and after.

    `fastest` is the highest speed of the throw, in m/s. Walls and collisions only slow the dice, so the die
    did not exceed that speed.
    """
    min_delay, max_delay = scene.errors.impact_delay_ms
    spare_ms = 0.5 * (max_delay - min_delay) + bands.CLOCK_MARGIN_MS
    approach = approach_to(scene, path, wall)
    k = min(max(bisect_right(path.times, t) - 1, 0), len(path.times) - 2)
    band = bands.max_contact_mm(scene.table)
    shortfall = min(
        max(approach.gaps[k] - band - fastest * max(at - path.times[k], 0.0), 0.0)
        + max(approach.gaps[k + 1] - band - fastest * max(path.times[k + 1] - at, 0.0), 0.0)
        for at in (t - spare_ms, t, t + spare_ms)
    )
    return (shortfall / approach.noise(k, k + 1)) ** 2


def last_seen_before(path: Path, t: float) -> float:
    """Return the time of a die's last point before a moment, or that moment if there is none."""
    j = bisect_left(path.times, t)
    return path.times[j - 1] if j else t


def _distance_mm(paths: tuple[Path, Path], t: float) -> float:
    """Return the distance, in mm, between the dice's centres at a moment, interpolated between frames."""
    (x, y), (u, v) = (_interpolate(path, t) for path in paths)
    return hypot(x - u, y - v)


def _interpolate(path: Path, t: float) -> tuple[float, float]:
    j = min(max(bisect_left(path.times, t), 1), len(path.times) - 1)
    if j < 1 or not path.times[j - 1] <= t <= path.times[j]:
        return inf, inf
    fraction = (t - path.times[j - 1]) / (path.times[j] - path.times[j - 1])
    x, y = path.xs[j - 1], path.ys[j - 1]
    return x + fraction * (path.xs[j] - x), y + fraction * (path.ys[j] - y)


def _place(scene: Scene, path: Path, contacts: Sequence[Contact], wall: str, t: float) -> Place | None:
    """Return a die's position at a moment, or None if the die was hidden."""
    i = max(bisect_left(path.times, t) - 1, 0)
    if i + 1 >= len(path.times) or t < path.times[i]:
        return None
    step = path.times[i + 1] - path.times[i]
    if step > scene.hidden_ms:
        return None
    before, after = _at_point(scene, path, wall, i), _at_point(scene, path, wall, i + 1)
    fraction = (t - path.times[i]) / step
    along_mm = before.along_mm + fraction * (after.along_mm - before.along_mm)
    turns = [
        contact
        for contact in contacts
        if contact.wall == wall and contact.misfit <= bands.MARGIN and abs(contact.t - t) <= SAME_MOMENT_MS
    ]
    if turns and 0.0 < fraction < 1.0:
        nearest = min(turns, key=lambda contact: abs(contact.t - t))
        return Place(nearest.gap_mm + bands.MIN_CONTACT_EDGES * scene.table.die_mm, along_mm)
    straight_mm = before.gap_mm + fraction * (after.gap_mm - before.gap_mm)
    return Place(_gap_at_turn(scene, path, wall, i, t) or straight_mm, along_mm)


def _gap_at_turn(scene: Scene, path: Path, wall: str, i: int, t: float) -> float | None:
    """Return the distance from a wall, in mm, of a die that turned sharply within a step, or None."""
    approach = approach_to(scene, path, wall)
    before = line_until(path.times, approach.gaps, i, approach.noise(i - 2, i))
    after = line_from(path.times, approach.gaps, i + 1, approach.noise(i + 1, i + 3))
    turn = turn_between(before, after, path.times[i], path.times[i + 1])
    sharply = turn.change - turn.change_sd > bands.MAX_CAUSELESS_M_PER_S and before.speed < 0.0
    if not sharply or turn.misfit > bands.MARGIN:
        return None
    return max(before.at(t), after.at(t))


def _at_point(scene: Scene, path: Path, wall: str, i: int) -> Place:
    x, y = path.xs[i], path.ys[i]
    if wall in {"left", "right"}:
        return Place(x if wall == "left" else scene.table.length_mm - x, y)
    return Place(y if wall == "front" else scene.table.width_mm - y, x)
