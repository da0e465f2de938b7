"""The contacts of each die with a wall: moments at which the die may have touched it.

The evidence of a touch is a turn (a change of the die's speed away from the wall) in the contact band, with
an impact at that position and time. Each contact holds the costs of all explanations of that contact alone;
`stories` combines them for both dice. `unheard` finds the contacts without a matching impact. The package
`controller.rules.dice` defines the terms.
"""

from bisect import bisect_right
from collections.abc import Iterator
from math import inf, log
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.contact import SAME_TURN_MS, SLOW_TURN_MS, Contact, turn_contact
from controller.rules.dice.loudness import Heard
from controller.rules.dice.motion import FEW_POINTS, Turn, line_until
from controller.rules.dice.paths import (
    SPEED_POINTS,
    THROWN_M_PER_S,
    Approach,
    Path,
    Span,
    approach_to,
    hidden_step,
    spans_near,
    speed_unknown,
)
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import (
    band_errors,
    cause_certainty_of,
    heard_turn,
    place_cost,
    place_errors,
    room_errors,
    turn_after,
    unheard_cost,
)
from controller.rules.dice.unheard import (
    drifted,
    fell_back,
    hidden_contact,
    lost_track_contact,
    no_touch,
    open_contact,
    rested,
    seen_at_wall,
    seen_beyond,
    silent_turns,
    unseen_start_contact,
)

STILL_M_PER_S = 0.05
"""Speed, in m/s, below which a die is still and makes no impact. It is the error of a speed measured over
five points."""
LEAVING_M_PER_S = 0.1
"""Speed away from the wall, in m/s, above which a die that does not turn has already left the wall. It is
twice the error of a speed measured over five points."""


class _NearImpact(NamedTuple):
    """An impact that a die may have made.

    `impact` is its number, `errors` its squared distance from the die in standard errors, and `interrupted`
    the cost that `_interrupted_cost` returns.
    """

    impact: int
    errors: float
    interrupted: float


def find_contacts(scene: Scene, path: Path, wall: str) -> list[Contact]:
    """Return a die's contacts with a wall.

    A die that never came near the wall has one contact, which cannot have been a touch.
    """
    if len(path.times) < 2:
        why = "has no track" if not path.times else "has only one track point"
        return [open_contact(wall, 0.0, f"die {path.die.number} {why}")]
    approach = approach_to(scene, path, wall)
    nearest = min(approach.gaps)
    found: list[Contact] = []
    if nearest <= _fastest(scene, path) * path.longest_ms + approach.close:
        for span in spans_near(approach):
            found += _contacts_in_span(approach, span)
    if not found:
        found.append(no_touch(approach, approach.gaps.index(nearest)))
    found += filter(None, (unseen_start_contact(approach), lost_track_contact(approach)))
    return found


def _fastest(scene: Scene, path: Path) -> float:
    """Return the highest speed, in m/s, that the die reached or may have reached while it was hidden."""
    unknown = any(speed_unknown(scene, path, i) for i in range(min(SPEED_POINTS, len(path.times)) - 1))
    return max(path.fastest, THROWN_M_PER_S) if unknown else path.fastest


def _contacts_in_span(approach: Approach, span: Span) -> list[Contact]:
    """Return the contacts in one span near the wall, with and without matching impacts."""
    found = list(_heard_contacts(approach, span))
    beyond = seen_beyond(approach, span)
    if beyond is None and any(contact.miss + contact.knock > bands.CERTAIN_MARGIN for contact in found):
        return found
    hidden = hidden_step(approach, span)
    track_only = [rested(approach, span), fell_back(approach, span)]
    if hidden is None:
        track_only += silent_turns(approach, span)
    elif not found:
        track_only.append(hidden_contact(approach, hidden))
    unmatched = [
        contact
        for contact in track_only
        if contact is not None and not any(_is_same_turn(heard_contact, contact) for heard_contact in found)
    ]
    for turn in [contact for contact in unmatched if contact.change]:
        heard = [heard_contact for heard_contact in found if abs(turn.t - heard_contact.t) <= SAME_TURN_MS]
        if heard:
            unmatched.remove(turn)
            _assign_turn(min(heard, key=lambda heard_contact: abs(turn.t - heard_contact.t)), turn, heard)
    found += unmatched
    if hidden is None:
        found += filter(None, [drifted(approach, span, found)])
    if beyond is not None:
        found.append(beyond)
    if not found:
        gaps = approach.gaps[span.first : span.last + 1]
        m = span.first + gaps.index(min(gaps))
        found.append(
            seen_at_wall(approach, m) if gaps[m - span.first] < approach.close else no_touch(approach, m)
        )
    return sorted(found, key=lambda contact: contact.t)


def _assign_turn(heard: Contact, turn: Contact, candidates: list[Contact]) -> None:
    """Assign a turn found only in the track to the contact `heard`.

    `candidates` are the contacts at that time, including `heard`. Their impacts fit no turn, so the turns
    that were fitted to these impacts are dropped.
    """
    for contact in candidates:
        contact.miss = contact.landed = contact.cause = contact.cause_certainty = 0.0
    heard.touch, heard.miss, heard.landed = turn.touch, turn.miss, turn.cause
    heard.cause, heard.cause_certainty, heard.gap_mm = turn.cause, turn.cause_certainty, turn.gap_mm
    heard.change, heard.min_change = turn.change, turn.min_change
    heard.sd, heard.reach = turn.sd, turn.reach


def _is_same_turn(heard: Contact, contact: Contact) -> bool:
    """Return whether a contact and one with an impact are the same turn.

    A contact whose impact fits no turn is never the same turn.
    """
    return heard.misfit <= bands.MARGIN and abs(contact.t - heard.t) <= SLOW_TURN_MS


# --- turns with an impact ---


def _heard_contacts(approach: Approach, span: Span) -> Iterator[Contact]:
    """Yield a contact for each impact that this die may have made, with the die's turn at that moment."""
    scene, times = approach.scene, approach.path.times
    min_delay, max_delay = scene.errors.impact_delay_ms
    spare_ms = 0.5 * (max_delay - min_delay) + bands.CLOCK_MARGIN_MS
    contacts: list[Contact] = []
    for i, impact in enumerate(scene.impacts):
        t = scene.ms(impact.t) - 0.5 * (min_delay + max_delay)
        if (
            impact.wall != approach.wall
            or not times[span.first] <= t <= times[span.last] + scene.errors.frame_ms
        ):
            continue
        k = min(max(bisect_right(times, t) - 1, span.first), span.last - 1)
        errors = place_errors(approach, impact, t, k)
        if errors is None:
            continue
        turn = heard_turn(approach, k, t - spare_ms, t + spare_ms)
        contact = _weigh_turn(
            approach, turn, k, _NearImpact(i, errors, _interrupted_cost(approach, k, t + spare_ms))
        )
        if contact is None:
            continue
        last = contacts[-1] if contacts else None
        if last is not None and _repeats_turn(approach, k, last, contact):
            contact.miss = contact.landed = contact.cause = contact.cause_certainty = 0.0
        if last is not None and contact.t - last.t <= SAME_TURN_MS:
            _merge(last, contact)
        else:
            contacts.append(contact)
    yield from contacts


def _repeats_turn(approach: Approach, k: int, earlier: Contact, later: Contact) -> bool:
    """Return whether the later contact's incoming path starts before the earlier contact's turn."""
    first = approach.path.times[max(k - FEW_POINTS + 1, 0)]
    return earlier.misfit <= bands.MARGIN < later.misfit and first < earlier.t


def _interrupted_cost(approach: Approach, k: int, latest: float) -> float:
    """Return the cost of a touch that only the incoming path shows.

    The die met the other die, an obstacle or the wall again before the next frame. Its outgoing path is then
    no evidence of the touch.
    """
    times = approach.path.times
    if times[k + 1] - times[k] > approach.scene.hidden_ms:
        return inf
    before = line_until(times, approach.gaps, k, approach.noise(k - 2, k))
    gap = max(before.at(latest) - bands.max_contact_mm(approach.scene.table), 0.0)
    return bands.BROKEN + gap * gap / before.variance_at(latest)


def _weigh_turn(approach: Approach, turn: Turn, k: int, heard: _NearImpact) -> Contact | None:
    """Return a contact for a turn near an impact, or None if the die cannot have made the impact."""
    turned = turn.change > max(bands.OWN_TURN_M_PER_S, bands.OWN_TURN_ERRORS * turn.change_sd)
    still = abs(turn.speed_in) < STILL_M_PER_S and abs(turn.speed_out) < STILL_M_PER_S
    if still or (turn.speed_in > LEAVING_M_PER_S and not turned):
        return None
    outside, inside = band_errors(approach, turn)
    # If the die did not make this impact, it turned at the intersection of its paths.
    other = turn_after(approach, k, approach.path.times[k], approach.path.times[k + 1])
    other_outside, other_inside = band_errors(approach, other)
    inside = min(inside, other_inside)
    room = room_errors(approach, turn)
    cost = turn.misfit + outside
    if heard.interrupted < cost:
        # The intersection of the paths does not show how near to the wall the die came.
        cost, inside, room = heard.interrupted, 0.0, 0.0
    cost += place_cost(heard.errors)
    if cost > bands.MAX_MATCH_COST:
        return None
    step = approach.path.times[k + 1] - approach.path.times[k]
    hidden = step > approach.scene.hidden_ms
    contact = turn_contact(approach, turn, k)
    contact.clear = turned
    contact.heard[heard.impact] = (
        cost if turned else cost + _unseen_turn_cost(approach.scene, heard.impact, turn)
    )
    contact.placed[heard.impact] = 0.0 if hidden else max(bands.KNOCK_AT_DIE - heard.errors, 0.0)
    contact.misfit = cost
    contact.cause_certainty = cause_certainty_of(turn) if turned else 0.0
    contact.cause = contact.cause_certainty * bands.CAUSELESS
    contact.miss = contact.cause + contact.cause_certainty * inside
    contact.landed = contact.cause + contact.cause_certainty * room * room
    contact.touch = unheard_cost(approach, turn.t, turn.change, turn.change_sd) + outside
    if hidden:
        # The longer the die was hidden, the likelier is a knock in that period.
        contact.knock = max(bands.KNOCK - 2.0 * log(step / approach.scene.hidden_ms), 0.0)
        contact.hidden = True
    else:
        contact.touch = min(
            contact.touch + turn.misfit,
            unheard_cost(approach, other.t, other.change, other.change_sd) + other.misfit + other_outside,
        )
    return contact


def _unseen_turn_cost(scene: Scene, impact: int, turn: Turn) -> float:
    """Return the cost of an impact at a turn within the track's noise; a soft impact needs no larger turn."""
    wall, peak = scene.impacts[impact].wall, scene.impacts[impact].peak
    heard = Heard(wall, peak, turn.change, turn.change_sd)
    cost = scene.loudness.quiet_turn_cost(heard, scene.errors.hit_counts_per_m_s)
    return min(cost, bands.CAUSELESS)


def _merge(first: Contact, later: Contact) -> None:
    """Merge the later contact into the first, as one turn with several possible impacts (a hit and its
    ringing)."""
    heard = {**later.heard, **first.heard}
    first.placed = {**later.placed, **first.placed}
    if later.misfit < first.misfit:
        first.t, first.gap_mm, first.misfit, first.clear = later.t, later.gap_mm, later.misfit, later.clear
        first.miss, first.landed, first.cause = later.miss, later.landed, later.cause
        first.cause_certainty, first.change, first.min_change = (
            later.cause_certainty,
            later.change,
            later.min_change,
        )
        first.sd, first.reach, first.touch = later.sd, later.reach, later.touch
    first.heard = heard
