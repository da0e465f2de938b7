"""The wall contacts that only a die's track shows: no impact matches them.

A track alone never proves a touch. The package `controller.rules.dice` defines the terms.
"""

from collections.abc import Sequence
from math import inf, sqrt

from controller.rules.dice import bands
from controller.rules.dice.contact import SAME_TURN_MS, SLOW_TURN_MS, Contact, turn_contact
from controller.rules.dice.motion import Turn, line
from controller.rules.dice.paths import STOP_STEPS, Approach, Span, points_around, speed_between
from controller.rules.dice.turns import band_errors, cause_certainty_of, room_errors, turn_after, unheard_cost

AT_REST_M_PER_S = 0.2
"""Speed, in m/s, below which a die is treated as having stopped at the end of its track."""
STAYED_MM = 20.0
"""A die that rests within this distance, in mm, of the point where it was nearest to the wall is treated as
having stopped there, and any other die as having turned back."""
BEYOND_ERRORS = 8.0
"""A die seen more than this many position errors behind a wall's base is not on the table. Noise alone is
never so large."""
REST_ERROR_FRACTION = 0.5
"""Position error of a die at rest, as a fraction of the error in flight. The camera averages a resting
position over many frames."""
NEAREST_POINTS = 3
"""Number of points averaged to find a slow die's nearest position to a wall. The error of a single point may
exceed the distance that the die fell back."""
SLOW_ERRORS = 4.0
"""Maximum distance between the points around a slow die's nearest point, in errors. Noise alone spreads three
points this far in one case in seventy."""
SURE_ERRORS = 3.0
"""Number of standard errors that a difference in position must exceed to be real, and within which a resting
position is reported to people."""
REPORTED_ERRORS, MIN_REPORTED_MM = 2.0, 1.0
"""Accuracy with which the position of a turn is reported to people: this many standard errors, but at least
a millimetre."""
STOP_EVIDENCE_POINTS = 8
"""Number of points before a die's rest that are evidence of how it stopped: more than the LAST_POINTS from
which its position is estimated."""
LAST_POINTS = 6
"""Number of track points, besides the rest, from which the resting position of a stopping die is
estimated."""


def silent_turns(approach: Approach, span: Span) -> list[Contact | None]:
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
        near_wall = turn.place - max_contact < SURE_ERRORS * turn.sd and turn.misfit < bands.MARGIN
        if near_wall and abs(turn.t - sharpest[0].t) > SAME_TURN_MS:
            found.append(_silent_turn(approach, turn, k))
    return [*found]


def _silent_turn(approach: Approach, turn: Turn, k: int) -> Contact:
    """Return a contact for a turn without a matching impact.

    Near the wall it may be a touch, but a track alone never proves one.
    """
    contact = turn_contact(approach, turn, k)
    outside, inside = band_errors(approach, turn)
    unheard = unheard_cost(approach, turn.t, turn.change, turn.change_sd)
    contact.touch = unheard + outside
    contact.cause_certainty = cause_certainty_of(turn)
    contact.cause = contact.cause_certainty * bands.CAUSELESS
    contact.miss = min(contact.cause + contact.cause_certainty * inside, unheard + bands.UNPROVEN_MARGIN)
    contact.landed = min(
        contact.cause + contact.cause_certainty * room_errors(approach, turn) ** 2, contact.miss
    )
    contact.code, heard = _silence(approach, turn.t)
    within = max(REPORTED_ERRORS * turn.sd, MIN_REPORTED_MM)
    contact.seen = (
        f"die {approach.path.die.number} turned at the {approach.wall} wall"
        f" (within {within:.0f} mm), but {heard}"
    )
    return contact


def _silence(approach: Approach, t: float) -> tuple[str, str]:
    if approach.scene.hears(approach.wall, approach.scene.start_us + int(t * 1000.0)):
        return "wall_unclear", "no matching impact was heard"
    return "missing_reading", "no working sensor was listening there"


def rested(approach: Approach, span: Span) -> Contact | None:
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
    # A die whose face is beyond the wall's tips lies between them and touches the wall.
    deep = max(-short, 0.0) / sd
    contact = Contact(
        wall=approach.wall,
        t=times[end - 1],
        gap_mm=short,
        did="stopped",
        rests=True,
        touch=bands.UNHEARD + bands.fell_flat_cost(approach.scene.table, place, sd),
        miss=deep * deep,
        points=points_around(approach, end - STOP_EVIDENCE_POINTS, end),
    )
    contact.code, heard = _silence(approach, times[end - 1])
    within = SURE_ERRORS * sd
    contact.seen = (
        f"die {path.die.number} stopped at the {approach.wall} wall (within {within:.0f} mm), but {heard}"
    )
    return contact


def fell_back(approach: Approach, span: Span) -> Contact | None:
    """Return a contact for a die that came to the wall on an edge or a corner, and fell back as it stopped.

    Such a die tips over so slowly that only its position shows the touch.
    """
    means = _mean_gaps(approach, span)
    if not approach.path.rests or not means:
        return None
    m = min(means, key=means.__getitem__)
    sd = approach.noise(m - 1, m + 1) / sqrt(NEAREST_POINTS)
    if not SURE_ERRORS * sd < approach.gaps[-1] - means[m] <= STAYED_MM:
        return None
    contact = _nearest_contact(approach, m, means[m], sd)
    contact.seen = (
        f"die {approach.path.die.number} fell back from the {approach.wall} wall, but"
        f" {_silence(approach, contact.t)[1]}"
    )
    return contact


def drifted(approach: Approach, span: Span, found: Sequence[Contact]) -> Contact | None:
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
    if any(contact.heard or contact.doubtful for contact in same) or farthest - means[m] <= SURE_ERRORS * sd:
        return None
    contact = _nearest_contact(approach, m, means[m], sd)
    unheard = [unheard_cost(approach, turn.t, turn.change, turn.change - turn.min_change) for turn in same]
    contact.touch += max(unheard, default=bands.UNHEARD) - bands.UNHEARD
    contact.seen = (
        f"die {approach.path.die.number} drifted slowly to the {approach.wall} wall and away again, but"
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


def hidden_contact(approach: Approach, k: int) -> Contact:
    """Return an open contact for a die that was hidden near the wall after point k."""
    times = approach.path.times
    hidden = times[k + 1] - times[k]
    seen = f"die {approach.path.die.number} was hidden for {hidden:.0f} ms near the {approach.wall} wall"
    contact = open_contact(approach.wall, 0.5 * (times[k] + times[k + 1]), seen)
    contact.points = points_around(approach, k, k + 1)
    return contact


def seen_at_wall(approach: Approach, m: int) -> Contact:
    """Return a contact for a die that may have slid along the wall, without a turn or a rest."""
    contact = no_touch(approach, m)
    place, sd = _nearest_place(approach, m)
    outside = max(place - bands.max_contact_mm(approach.scene.table), 0.0) / sd
    contact.touch = bands.UNHEARD + outside * outside
    contact.code, heard = _silence(approach, contact.t)
    contact.seen = f"die {approach.path.die.number} was seen at the {approach.wall} wall, but {heard}"
    return contact


def _nearest_place(approach: Approach, m: int) -> tuple[float, float]:
    """Return a die's distance from the wall at its nearest point, and the standard error.

    Of a slow die's many points near the wall, the nearest is the one with the largest error. The distance of
    such a die is therefore the mean around that point.
    """
    noise = approach.noise(m, m)
    around = approach.gaps[max(m - 1, 0) : m + 2]
    if len(around) < NEAREST_POINTS or max(around) - min(around) > SLOW_ERRORS * noise:
        return approach.gaps[m], noise
    return sum(around) / len(around), noise / sqrt(len(around))


def open_contact(wall: str, t: float, seen: str) -> Contact:
    """Return a contact that is as likely to have been a touch as not."""
    return Contact(
        wall=wall, t=t, gap_mm=0.0, did="turned back", touch=0.0, miss=0.0, code="missing_reading", seen=seen
    )


def seen_beyond(approach: Approach, span: Span) -> Contact | None:
    """Return a contact with the code `conflict` for a die that was seen behind a wall, or None."""
    gaps = approach.gaps[span.first : span.last + 1]
    m = span.first + gaps.index(min(gaps))
    behind = bands.min_contact_mm(approach.scene.table) - approach.gaps[m]
    if behind <= BEYOND_ERRORS * approach.noise(m, m):
        return None
    face = 0.5 * approach.scene.table.die_mm - approach.gaps[m]
    seen = f"die {approach.path.die.number} was seen {face:.0f} mm beyond the {approach.wall} wall"
    contact = open_contact(approach.wall, approach.path.times[m], seen)
    contact.code, contact.beyond, contact.points = "conflict", True, points_around(approach, m, m)
    return contact


def no_touch(approach: Approach, m: int) -> Contact:
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


def unseen_start_contact(approach: Approach) -> Contact | None:
    """Return an open contact for a die whose release was not seen; it may already have been at the wall."""
    if approach.path.die.releases:
        return None
    seen = f"the path of die {approach.path.die.number} before it was first seen is unknown"
    return open_contact(approach.wall, approach.path.times[0], seen)


def lost_track_contact(approach: Approach) -> Contact | None:
    """Return an open contact for a die whose track ends in motion; it may have reached the wall later."""
    path = approach.path
    if path.rests or path.die.gone:
        return None
    last = len(approach.gaps) - 1
    if (
        path.die.rest is not None
        and speed_between(approach, max(last - STOP_STEPS, 0), last) < AT_REST_M_PER_S
    ):
        return None
    face = approach.gaps[last] - 0.5 * approach.scene.table.die_mm
    seen = f"the track of die {path.die.number} ends {face:.0f} mm from the {approach.wall} wall"
    contact = open_contact(approach.wall, path.times[last], seen)
    contact.points = points_around(approach, last, last)
    return contact
