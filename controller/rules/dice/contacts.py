"""The contacts of each die with a wall: moments at which the die may have touched it.

The evidence of a touch is a turn (a change of the die's speed away from the wall) in the contact band, with
an impact at that position and time. Each contact holds the costs of all explanations of that contact alone;
`stories` combines them for both dice. The package `controller.rules.dice` defines the terms.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import NamedTuple

from controller.model.readings import Reading
from controller.rules.dice import bands
from controller.rules.dice.loudness import Heard
from controller.rules.dice.motion import FEW_POINTS, Turn, line, line_until
from controller.rules.dice.paths import (
    SPEED_POINTS,
    THROWN_M_PER_S,
    Approach,
    Path,
    Span,
    approach_to,
    hidden_step,
    points_around,
    spans_near,
    speed_between,
    speed_unknown,
)
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import heard_turn, out_of_band, place_cost, place_errors, turn_after

AT_REST_M_PER_S = 0.2
"""Speed, in m/s, below which a die counts as stopped at the end of its track."""
STAYED_MM = 20.0
"""A die that rests within this distance, in mm, of its nearest point to the wall stopped there. Otherwise it
turned back."""
BEYOND_ERRORS = 8.0
"""A die seen more than this many position errors behind a wall's base is not on the table. Noise alone is
never so large."""
SAME_TURN_MS = 15.0
"""Maximum time, in ms, between two contacts that are one turn. No die returns to a wall within a frame."""
SLOW_TURN_MS = 28.0
"""Maximum time, in ms, between an impact and a turn in the track that are the same contact. A slow turn
extends over two frames."""
REST_ERROR_FRACTION = 0.5
"""Position error of a die at rest, as a fraction of the error in flight. The camera averages a resting
position over many frames."""
NEAREST_POINTS = 3
"""Number of points averaged to find a slow die's nearest position to a wall. The error of a single point may
exceed the distance that the die fell back."""
SLOW_ERRORS = 4.0
"""Maximum distance between the points around a slow die's nearest point, in errors. Noise alone spreads three
points so far in one case in seventy."""
LAST_POINTS = 6
"""Number of track points, besides the rest, from which the resting position of a stopping die is
estimated."""


@dataclass(slots=True, kw_only=True)
class Contact:
    """A moment at which a die may have touched a wall, with the costs of its explanations.

    `t` is the time in ms from the throw's start. `gap_mm` is the distance of the die's face from the wall's
    tips. `touch` is the cost of a touch that no sensor detected, `miss` the cost of no touch, and `landed`
    the cost of no touch if a landing on the felt turned the die. `heard` maps the number of each impact that
    this touch may have made to the cost of that explanation. `knock` is the cost of explaining such an impact
    as a knock.
    """

    wall: str
    t: float
    gap_mm: float
    did: str
    touch: float
    miss: float
    landed: float = 0.0
    heard: dict[int, float] = field(default_factory=dict)
    knock: float = bands.KNOCK
    placed: dict[int, float] = field(default_factory=dict)
    """Amount added to the cost of a knock, by the number of the impact. It depends on the impact's distance
    from the die."""
    misfit: float = inf
    """Misfit of the turn and its impact to a touch, in squared errors; infinite without an impact."""
    code: str = ""
    seen: str = ""
    cause_certainty: float = 0.0
    """Certainty, from 0 to 1, that something other than the felt caused the turn."""
    change: float = 0.0
    """Change of the die's speed away from the wall, in m/s."""
    min_change: float = 0.0
    """`change` less its standard error."""
    cause: float = 0.0
    """The part of `miss` and `landed` that is the cost of the turn's cause."""
    sd: float = 0.0
    """Standard error of the position at which the die turned, in mm."""
    reach: float = 0.0
    """Cost of an orientation in which the die did not reach the wall from the position where it turned."""
    proof: float = 0.0
    """Minimum cost of no touch if an impact at this moment can only have been a knock."""
    clear: bool = False
    """Whether the turn exceeds the noise of the track."""
    hidden: bool = False
    rests: bool = False
    """Whether the die came to rest at the wall. An earlier touch of this wall may then have lasted until
    now."""
    beyond: bool = False
    points: tuple[Reading, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Return whether a touch that no sensor detected remains possible."""
        return self.touch - self.miss <= bands.MARGIN


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

    A die that never came near the wall has one contact, in which it cannot have touched the wall.
    """
    if len(path.times) < 2:
        why = "has no track" if not path.times else "has only one track point"
        return [_open_contact(wall, 0.0, f"die {path.die.number} {why}")]
    approach = approach_to(scene, path, wall)
    nearest = min(approach.gaps)
    found: list[Contact] = []
    if nearest <= _fastest(scene, path) * path.longest_ms + approach.close:
        for span in spans_near(approach):
            found += _contacts_in_span(approach, span)
    if not found:
        found.append(_no_touch(approach, approach.gaps.index(nearest)))
    found += filter(None, (_unseen_start_contact(approach), _lost_track_contact(approach)))
    return found


def _fastest(scene: Scene, path: Path) -> float:
    """Return the highest speed, in m/s, that the die reached or may have reached while it was hidden."""
    unknown = any(speed_unknown(scene, path, i) for i in range(min(SPEED_POINTS, len(path.times)) - 1))
    return max(path.fastest, THROWN_M_PER_S) if unknown else path.fastest


def _contacts_in_span(approach: Approach, span: Span) -> list[Contact]:
    """Return the contacts in one span near the wall, with and without matching impacts."""
    found = list(_heard_contacts(approach, span))
    beyond = _seen_beyond(approach, span)
    if beyond is None and any(contact.miss + contact.knock > 2.0 * bands.MARGIN for contact in found):
        return found
    hidden = hidden_step(approach, span)
    track_only = [_rested(approach, span), _fell_back(approach, span)]
    if hidden is None:
        track_only += _silent_turns(approach, span)
    elif not found:
        track_only.append(_hidden_contact(approach, hidden))
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
        found += filter(None, [_drifted(approach, span, found)])
    if beyond is not None:
        found.append(beyond)
    if not found:
        gaps = approach.gaps[span.first : span.last + 1]
        m = span.first + gaps.index(min(gaps))
        found.append(
            _seen_at_wall(approach, m) if gaps[m - span.first] < approach.close else _no_touch(approach, m)
        )
    return sorted(found, key=lambda contact: contact.t)


def _assign_turn(heard: Contact, turn: Contact, candidates: list[Contact]) -> None:
    """Assign a turn found only in the track to the contact nearest in time, whose impact fits no turn."""
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
    still = abs(turn.speed_in) < 0.05 and abs(turn.speed_out) < 0.05
    if still or (turn.speed_in > 0.1 and not turned):
        return None
    outside, inside = _band_errors(approach, turn)
    # If the die did not make this impact, it turned at the intersection of its paths.
    other = turn_after(approach, k, approach.path.times[k], approach.path.times[k + 1])
    other_outside, other_inside = _band_errors(approach, other)
    inside = min(inside, other_inside)
    room = _room_errors(approach, turn)
    cost = turn.misfit + outside
    if heard.interrupted < cost:
        # The intersection of the paths does not show how near to the wall the die came.
        cost, inside, room = heard.interrupted, 0.0, 0.0
    cost += place_cost(heard.errors)
    if cost > bands.KNOCK + 4.0 * bands.MARGIN:
        return None
    step = approach.path.times[k + 1] - approach.path.times[k]
    hidden = step > approach.scene.hidden_ms
    contact = _contact(approach, turn, k)
    contact.clear = turned
    contact.heard[heard.impact] = (
        cost if turned else cost + _unseen_turn_cost(approach.scene, heard.impact, turn)
    )
    contact.placed[heard.impact] = 0.0 if hidden else max(bands.KNOCK_AT_DIE - heard.errors, 0.0)
    contact.misfit = cost
    contact.cause_certainty = _cause_certainty(turn) if turned else 0.0
    contact.cause = contact.cause_certainty * bands.CAUSELESS
    contact.miss = contact.cause + contact.cause_certainty * inside
    contact.landed = contact.cause + contact.cause_certainty * room * room
    contact.touch = _unheard_cost(approach, turn.t, turn.change, turn.change_sd) + outside
    if hidden:
        contact.knock = max(bands.KNOCK - 2.0 * log(step / approach.scene.hidden_ms), 0.0)
        contact.hidden = True
    else:
        contact.touch = min(
            contact.touch + turn.misfit,
            _unheard_cost(approach, other.t, other.change, other.change_sd) + other.misfit + other_outside,
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


def _room_errors(approach: Approach, turn: Turn) -> float:
    """Return the distance, in errors, by which the die turned nearer to the wall than a landing die can
    come."""
    return max(bands.MISS_EDGES * approach.scene.table.die_mm - turn.place, 0.0) / turn.sd


def _band_errors(approach: Approach, turn: Turn) -> tuple[float, float]:
    """Return the distances of a turn outside and inside the contact band's limit, in squared errors.

    The band has no inner limit. Rubber pads give way, and `_seen_beyond` reports a die seen far behind the
    wall's base.
    """
    within = max(bands.max_contact_mm(approach.scene.table) - turn.place, 0.0) / turn.sd
    return out_of_band(approach, turn), within * within


def _cause_certainty(turn: Turn) -> float:
    min_change = turn.change - bands.HARD_ERRORS * turn.change_sd
    return min(max(min_change, 0.0) / bands.MAX_CAUSELESS_M_PER_S, 1.0)


def _contact(approach: Approach, turn: Turn, k: int) -> Contact:
    return Contact(
        wall=approach.wall,
        t=turn.t,
        gap_mm=turn.place - 0.5 * approach.scene.table.die_mm,
        did="turned back",
        sd=turn.sd,
        reach=bands.reach_cost(turn.place / approach.scene.table.die_mm),
        touch=inf,
        miss=0.0,
        change=turn.change,
        min_change=turn.change - bands.HARD_ERRORS * turn.change_sd,
        points=points_around(approach, k, k + 1),
    )


# --- turns that only the track shows ---


def _silent_turns(approach: Approach, span: Span) -> list[Contact | None]:
    """Return the contacts without an impact in a span: its sharpest turn, and others near the wall."""
    times, gaps = approach.path.times, approach.gaps
    last = len(times) - (2 if approach.path.rests else 1)
    max_contact = bands.max_contact_mm(approach.scene.table)
    turns: list[tuple[Turn, int]] = []
    for k in range(max(span.first, 1), min(span.last, last - 1)):
        if gaps[k + 1] - gaps[k] < gaps[k] - gaps[k - 1] + approach.noise(k, k):
            continue
        turn = turn_after(approach, k, times[k], times[k + 1])
        bounced = turn.speed_out > bands.BACK_M_PER_S or turn.change > bands.MAX_CAUSELESS_M_PER_S
        if turn.speed_in < 0.0 and bounced and turn.change > bands.OWN_TURN_ERRORS * turn.change_sd:
            turns.append((turn, k))
    if not turns:
        return []
    sharpest = max(turns, key=lambda found: found[0].change - found[0].misfit)
    found = [_silent_turn(approach, *sharpest)]
    for turn, k in turns:
        near_wall = turn.place - max_contact < 3.0 * turn.sd and turn.misfit < bands.MARGIN
        if near_wall and abs(turn.t - sharpest[0].t) > SAME_TURN_MS:
            found.append(_silent_turn(approach, turn, k))
    return [*found]


def _silent_turn(approach: Approach, turn: Turn, k: int) -> Contact:
    """Return a contact for a turn without a matching impact.

    Near the wall it may be a touch, but a track alone never proves one.
    """
    contact = _contact(approach, turn, k)
    outside, inside = _band_errors(approach, turn)
    unheard = _unheard_cost(approach, turn.t, turn.change, turn.change_sd)
    contact.touch = unheard + outside
    contact.cause_certainty = _cause_certainty(turn)
    contact.cause = contact.cause_certainty * bands.CAUSELESS
    contact.miss = min(contact.cause + contact.cause_certainty * inside, unheard + bands.MARGIN - 1.0)
    contact.landed = min(
        contact.cause + contact.cause_certainty * _room_errors(approach, turn) ** 2, contact.miss
    )
    contact.code, heard = _silence(approach, turn.t)
    within = max(2.0 * turn.sd, 1.0)
    contact.seen = (
        f"die {approach.path.die.number} turned at the {approach.wall} wall"
        f" (within {within:.0f} mm), but {heard}"
    )
    return contact


def _unheard_cost(approach: Approach, t: float, change: float, change_sd: float) -> float:
    if not approach.scene.hears(approach.wall, approach.scene.start_us + int(t * 1000.0)):
        return bands.UNHEARD
    cost = approach.scene.loudness.unheard_cost(
        approach.wall, change, change_sd, approach.scene.errors.hit_counts_per_m_s
    )
    return max(cost, bands.UNHEARD)


def _silence(approach: Approach, t: float) -> tuple[str, str]:
    if approach.scene.hears(approach.wall, approach.scene.start_us + int(t * 1000.0)):
        return "wall_unclear", "no matching impact was heard"
    return "missing_reading", "no working sensor was listening there"


def _rested(approach: Approach, span: Span) -> Contact | None:
    """Return a contact for a die that came to rest near the wall without a turn.

    The die may have touched the wall with an edge or a corner, too softly for the sensor, before it fell
    flat.
    """
    path, gaps, times = approach.path, approach.gaps, approach.path.times
    end = len(gaps) - 1
    if not path.rests or span.last < end or gaps[end] > approach.close:
        return None
    # At the first point the die is in the hand. Use that point only if no other precedes the rest.
    first = max(end - LAST_POINTS, min(1, end - 1))
    noise = approach.noise(first, end)
    tail = line(times[first:end], gaps[first:end], noise, times[end - 1])
    moving, moving_var = tail.at(times[end - 1]), tail.variance_at(times[end - 1])
    rest_var = REST_ERROR_FRACTION * REST_ERROR_FRACTION * noise * noise
    both = moving_var + rest_var
    place = (rest_var * moving + moving_var * gaps[end]) / both
    sd = sqrt(rest_var * moving_var / both)
    short = place - bands.MIN_CONTACT_EDGES * approach.scene.table.die_mm
    # A die whose face is beyond the tips lies between them and touches the wall.
    deep = max(-short, 0.0) / sd
    contact = Contact(
        wall=approach.wall,
        t=times[end - 1],
        gap_mm=short,
        did="stopped",
        rests=True,
        touch=bands.UNHEARD + bands.fell_flat_cost(approach.scene.table, place, sd),
        miss=deep * deep,
        points=points_around(approach, end - 8, end),
    )
    contact.code, heard = _silence(approach, times[end - 1])
    contact.seen = (
        f"die {path.die.number} stopped at the {approach.wall} wall (within {3.0 * sd:.0f} mm), but {heard}"
    )
    return contact


def _fell_back(approach: Approach, span: Span) -> Contact | None:
    """Return a contact for a die that came to the wall on an edge or a corner, and fell back as it stopped.

    Such a die tips over so slowly that only its position shows the touch.
    """
    means = _mean_gaps(approach, span)
    if not approach.path.rests or not means:
        return None
    m = min(means, key=means.__getitem__)
    sd = approach.noise(m - 1, m + 1) / sqrt(NEAREST_POINTS)
    if not 3.0 * sd < approach.gaps[-1] - means[m] <= STAYED_MM:
        return None
    contact = _nearest_contact(approach, m, means[m], sd)
    contact.seen = (
        f"die {approach.path.die.number} fell back from the {approach.wall} wall, but"
        f" {_silence(approach, contact.t)[1]}"
    )
    return contact


def _drifted(approach: Approach, span: Span, found: Sequence[Contact]) -> Contact | None:
    """Return a contact for a die that drifted to the wall and away again.

    Such a die turns so slowly that its position shows a touch better than its speed does. There is no such
    contact if one of those in `found` is, or may be, a touch at that time.
    """
    means = _mean_gaps(approach, span)
    if not means or not found:
        return None
    m = min(means, key=means.__getitem__)
    t = approach.path.times[m]
    same = [contact for contact in found if contact.touch < inf and abs(contact.t - t) <= SLOW_TURN_MS]
    sd = approach.noise(m - 1, m + 1) / sqrt(NEAREST_POINTS)
    farthest = max(mean for k, mean in means.items() if k >= m)
    if any(contact.heard or contact.doubtful for contact in same) or farthest - means[m] <= 3.0 * sd:
        return None
    contact = _nearest_contact(approach, m, means[m], sd)
    unheard = [_unheard_cost(approach, turn.t, turn.change, turn.change - turn.min_change) for turn in same]
    contact.touch += max(unheard, default=bands.UNHEARD) - bands.UNHEARD
    contact.seen = (
        f"die {approach.path.die.number} came slowly to the {approach.wall} wall and away again, but"
        f" {_silence(approach, t)[1]}"
    )
    return contact


def _mean_gaps(approach: Approach, span: Span) -> dict[int, float]:
    """Return the mean distance from the wall around each point of a span, by the number of the point."""
    return {
        k + NEAREST_POINTS // 2: sum(approach.gaps[k : k + NEAREST_POINTS]) / NEAREST_POINTS
        for k in range(span.first, span.last + 2 - NEAREST_POINTS)
    }


def _nearest_contact(approach: Approach, m: int, nearest: float, sd: float) -> Contact:
    """Return a contact at the point where a slow die was nearest to the wall."""
    contact = Contact(
        wall=approach.wall,
        t=approach.path.times[m],
        gap_mm=nearest - bands.MIN_CONTACT_EDGES * approach.scene.table.die_mm,
        did="turned back",
        touch=bands.UNHEARD + bands.reaching_cost(approach.scene.table, nearest, sd),
        miss=0.0,
        points=points_around(approach, m, m),
    )
    contact.code = _silence(approach, contact.t)[0]
    return contact


def _hidden_contact(approach: Approach, k: int) -> Contact:
    times = approach.path.times
    hidden = times[k + 1] - times[k]
    seen = f"die {approach.path.die.number} was hidden for {hidden:.0f} ms near the {approach.wall} wall"
    contact = _open_contact(approach.wall, 0.5 * (times[k] + times[k + 1]), seen)
    contact.points = points_around(approach, k, k + 1)
    return contact


def _seen_at_wall(approach: Approach, m: int) -> Contact:
    """Return a contact for a die that may have slid along the wall, without a turn or a rest."""
    contact = _no_touch(approach, m)
    place, sd = _nearest_place(approach, m)
    outside = max(place - bands.max_contact_mm(approach.scene.table), 0.0) / sd
    contact.touch = bands.UNHEARD + outside * outside
    contact.code, heard = _silence(approach, contact.t)
    contact.seen = f"die {approach.path.die.number} was seen at the {approach.wall} wall, but {heard}"
    return contact


def _nearest_place(approach: Approach, m: int) -> tuple[float, float]:
    """Return a die's distance from the wall at its nearest point, and the standard error.

    The nearest of many points of a slow die is the one with the largest error, so that die's distance is the
    mean around the point.
    """
    noise = approach.noise(m, m)
    around = approach.gaps[max(m - 1, 0) : m + 2]
    if len(around) < NEAREST_POINTS or max(around) - min(around) > SLOW_ERRORS * noise:
        return approach.gaps[m], noise
    return sum(around) / len(around), noise / sqrt(len(around))


def _open_contact(wall: str, t: float, seen: str) -> Contact:
    """Return a contact in which a touch and no touch are equally possible."""
    return Contact(
        wall=wall, t=t, gap_mm=0.0, did="turned back", touch=0.0, miss=0.0, code="missing_reading", seen=seen
    )


def _seen_beyond(approach: Approach, span: Span) -> Contact | None:
    """Return a contact with the code `conflict` for a die that was seen behind a wall, or None."""
    gaps = approach.gaps[span.first : span.last + 1]
    m = span.first + gaps.index(min(gaps))
    behind = bands.min_contact_mm(approach.scene.table) - approach.gaps[m]
    if behind <= BEYOND_ERRORS * approach.noise(m, m):
        return None
    face = 0.5 * approach.scene.table.die_mm - approach.gaps[m]
    seen = f"die {approach.path.die.number} was seen {face:.0f} mm beyond the {approach.wall} wall"
    contact = _open_contact(approach.wall, approach.path.times[m], seen)
    contact.code, contact.beyond, contact.points = "conflict", True, points_around(approach, m, m)
    return contact


def _no_touch(approach: Approach, m: int) -> Contact:
    """Return a contact without a touch, at the point where the die stopped or turned back."""
    gaps = approach.gaps
    stopped = approach.path.rests and gaps[-1] - gaps[m] <= STAYED_MM
    return Contact(
        wall=approach.wall,
        t=approach.path.times[m],
        gap_mm=gaps[m] - 0.5 * approach.scene.table.die_mm,
        did="stopped" if stopped else "turned back",
        touch=inf,
        miss=0.0,
        points=points_around(approach, m, m),
    )


def _unseen_start_contact(approach: Approach) -> Contact | None:
    if approach.path.die.releases:
        return None
    seen = f"the path of die {approach.path.die.number} before it was first seen is unknown"
    return _open_contact(approach.wall, approach.path.times[0], seen)


def _lost_track_contact(approach: Approach) -> Contact | None:
    """Return an open contact for a die whose track ends in motion; it may have reached the wall later."""
    path = approach.path
    if path.rests or path.die.gone:
        return None
    last = len(approach.gaps) - 1
    if path.die.rest is not None and speed_between(approach, max(last - 4, 0), last) < AT_REST_M_PER_S:
        return None
    face = approach.gaps[last] - 0.5 * approach.scene.table.die_mm
    seen = f"the track of die {path.die.number} ends {face:.0f} mm from the {approach.wall} wall"
    contact = _open_contact(approach.wall, path.times[last], seen)
    contact.points = points_around(approach, last, last)
    return contact
