"""Hits that were heard: an impact belongs to the die whose own track turned at that wall, there and then."""

from bisect import bisect_right
from math import sqrt

from controller.model.readings import WallImpact
from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.motion import Turn, turns_near
from controller.rules.dice.paths import Approach, Span, points_around

TOUCHING = 3.5
"""Standard deviations within which a turn is at the wall, or a time at an impact's."""
TOUCHING_HIDDEN = 2.5
"""The same for a die that was hidden while it turned: its errors are larger, so less is allowed."""
PLACE_ERRORS = 4.0
"""Standard deviations of an impact's position within which it is at the die."""
SLOWEST_HIT = 0.2
"""A die slower than this (m/s) turns too softly to be told from one that stops at the wall."""
TIME_MARGIN_MS = 1.0
"""Spare time around an impact's least and greatest delay: clocks are within a millisecond."""
SHARPEST_MS = 9.0
"""A turn whose time is less certain than this can't be matched with an impact."""


def heard_hits(way: Approach, span: Span) -> list[Encounter]:
    """Find the impacts within a span that are this die's."""
    times = way.path.times
    least, most = way.scene.errors.impact_delay_ms
    hits: list[Encounter] = []
    for i in way.heard:
        impact = way.scene.impacts[i]
        t = way.scene.ms(impact.t)
        if not times[span.first] + least - SHARPEST_MS <= t <= times[span.last] + most + SHARPEST_MS:
            continue
        k = min(max(bisect_right(times, t - 0.5 * (least + most)) - 1, span.first), span.last - 1)
        found = _own_turn(way, impact, t, k)
        if found is None:
            continue
        turn, hidden = found
        if hits and turn.t - hits[-1].t < way.scene.errors.ringing_ms:
            continue
        hits.append(_hit(way, i, turn, k, leans=hidden))
    return hits


def _hit(way: Approach, i: int, turn: Turn, k: int, *, leans: bool) -> Encounter:
    impact = way.scene.impacts[i]
    return Encounter(
        wall=way.wall,
        hit=Hit.YES,
        t=turn.t,
        gap_mm=turn.place,
        seen=f"die {way.path.die.number} turned at the {way.wall} wall, heard at {impact.pos_mm:.0f} mm",
        impact=i,
        leans=leans,
        points=(*points_around(way, Span(k, k + 1)), impact),
    )


def _own_turn(way: Approach, impact: WallImpact, t: float, k: int) -> tuple[Turn, bool] | None:
    """Find the turn at the wall that this impact is the sound of, and whether the die was hidden then."""
    samples = way.samples
    if not may_be_at(way, impact, k):
        return None
    hidden = samples[k + 1][0] - samples[k][0] > way.scene.hidden_ms
    first, last = (k, k) if hidden else (k - 1, k + 1)
    touching = TOUCHING_HIDDEN if hidden else TOUCHING
    for turn in turns_near(samples, first, last, way.noise):
        if turn.speed_in > -SLOWEST_HIT or turn.speed_out < -0.1 or turn.t_sd > SHARPEST_MS:
            continue
        at_wall = abs(turn.place) <= touching * turn.place_sd + 0.5
        if at_wall and _heard_then(way, turn, t) and _heard_there(way, turn, impact, k):
            return turn, hidden
    return None


def may_be_at(way: Approach, impact: WallImpact, k: int) -> bool:
    """Tell cheaply whether an impact can be near the die around point k."""
    errors = way.scene.errors
    moved = abs(way.along[k + 1] - way.along[k]) + way.path.fastest * 2.0 * errors.frame_ms
    spare = PLACE_ERRORS * errors.impact_position_mm + 10.0 * way.noise
    return abs(way.along[k] - impact.pos_mm) <= spare + moved


def _heard_then(way: Approach, turn: Turn, t: float) -> bool:
    least, most = way.scene.errors.impact_delay_ms
    spare = TIME_MARGIN_MS + TOUCHING * turn.t_sd
    return least - spare <= t - turn.t <= most + spare


def _heard_there(way: Approach, turn: Turn, impact: WallImpact, k: int) -> bool:
    position, noise = way.scene.errors.impact_position_mm, 2.0 * way.noise
    spare = PLACE_ERRORS * sqrt(position * position + noise * noise)
    return abs(_along_at(way, turn.t, k) - impact.pos_mm) <= spare


def _along_at(way: Approach, t: float, k: int) -> float:
    """Give the die's place along the wall at this time, carried on from the way in where it was hidden."""
    times, along = way.path.times, way.along
    back = max(k - 5, 0)
    if times[k + 1] - times[k] <= way.scene.hidden_ms or k == back:
        share = (t - times[k]) / (times[k + 1] - times[k])
        return along[k] + min(max(share, 0.0), 1.0) * (along[k + 1] - along[k])
    speed = (along[k] - along[back]) / (times[k] - times[back])
    return along[k] + speed * (t - times[k])
