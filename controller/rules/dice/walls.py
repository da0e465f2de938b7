"""Did a die hit a wall? Hit, no hit, or unclear, from its own track and from what the wall heard.

A hit is a turn of the die's own track at the wall with an impact there and then; no hit is a track that
provably stayed away from it (C34-INV-2ii, CV1-SHOOT-3, H-LEGAL-1).
"""

from dataclasses import replace

from controller.rules.dice.encounter import Encounter, Hit
from controller.rules.dice.heard import heard_hits
from controller.rules.dice.paths import (
    Approach,
    Path,
    Span,
    approach_to,
    hidden_ms,
    points_around,
    spans_near,
    speed_between,
)
from controller.rules.dice.scene import Scene
from controller.rules.dice.short import TAIL, TURNED, rest_near, turn_near, unclear

AT_REST_M_PER_S = 0.2
"""A track that ends slower than this ended because the die stopped."""

STAYED_MM = 20.0
"""A die that rests within this of its nearest point stopped there; else it turned back."""
CLOSE_MM = 150.0
"""A die that turned back this close may have been at the wall under the other die's name."""


def encounters_with(scene: Scene, path: Path, wall: str) -> list[Encounter]:
    """Find every encounter of a die with a wall; one NO encounter where it never came near."""
    if len(path.times) < 2:
        why = "has no track" if not path.times else "has only one track point"
        seen = f"die {path.die.number} {why}"
        return [Encounter(wall=wall, hit=Hit.UNCLEAR, t=0.0, seen=seen, code="missing_reading")]
    way = approach_to(scene, path, wall)
    gaps = [gap for _, gap in way.samples]
    nearest = min(gaps)
    found: list[Encounter] = []
    if nearest <= path.fastest * path.longest_ms + 12.0 * way.noise:
        for span in spans_near(way):
            found += _look(way, span)
    found += filter(None, (_unseen_start(way), _lost_tail(way)))
    return found or [_never_near(way, gaps.index(nearest))]


def _never_near(way: Approach, m: int) -> Encounter:
    """Say how far from the wall a die stopped or turned back that never came near it."""
    t, gap = way.samples[m]
    stopped = way.path.rests and way.samples[-1][1] - gap <= STAYED_MM
    did = "stopped" if stopped else TURNED
    return Encounter(
        wall=way.wall,
        hit=Hit.NO,
        t=t,
        gap_mm=gap,
        seen=f"die {way.path.die.number} {did} {gap:.0f} mm short of the {way.wall} wall",
        sharp=not stopped and gap <= CLOSE_MM,
        points=points_around(way, Span(m, m)),
    )


def _unseen_start(way: Approach) -> Encounter | None:
    """Doubt a die whose release was not seen: nobody knows where it was before its first point."""
    if way.path.die.releases:
        return None
    seen = f"the way of die {way.path.die.number} before it was first seen is not known"
    return unclear(way, Span(0, 0), seen, "missing_reading")


def _lost_tail(way: Approach) -> Encounter | None:
    """Doubt a die whose track ends while it moves: nobody saw whether it reached the wall after that."""
    path = way.path
    if path.rests or path.die.gone:
        return None
    last = len(way.samples) - 1
    speed = speed_between(way.samples, max(last - 4, 0), last)
    if path.die.rest is not None and speed < AT_REST_M_PER_S:
        return None
    seen = f"the track of die {path.die.number} ends {way.samples[last][1]:.0f} mm from the {way.wall} wall"
    return unclear(way, Span(last, last), seen, "missing_reading")


def _look(way: Approach, span: Span) -> list[Encounter]:
    """Look at one span near the wall: hits that were heard, else what the track alone says."""
    hits = heard_hits(way, span)
    if hits:
        return hits
    number = way.path.die.number
    hidden = hidden_ms(way, span)
    if hidden is not None:
        seen = f"die {number} was hidden for {hidden:.0f} ms near the {way.wall} wall"
        return [unclear(way, span, seen, "missing_reading")]
    gaps = [gap for _, gap in way.samples[span.first : span.last + 1]]
    m = span.first + gaps.index(min(gaps))
    beyond = -way.samples[m][1]
    if beyond > 8.0 * way.noise:
        seen = f"die {number} was seen {beyond:.0f} mm beyond the {way.wall} wall"
        return [replace(unclear(way, span, seen, "conflict"), beyond=True)]
    end = len(way.samples) - 1
    if way.path.rests and m >= end - TAIL:
        rested = rest_near(way, span)
        if rested is not None:
            return [rested]
    return [turn_near(way, span, m)]
