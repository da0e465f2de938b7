"""The turns (changes of speed) of a die at a wall, and the distance of an impact from the die.

The incoming and the outgoing path are each fitted to a few points. If the dice met between these points, a
collision between two frames may have bent the path. In that case only the points between the collision and
the wall are used. The package `controller.rules.dice` defines the other terms.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from math import sqrt

from controller.model.readings import WallImpact
from controller.rules.dice import bands
from controller.rules.dice.motion import FEW_POINTS, Line, Turn, line, line_from, line_until, turn_between
from controller.rules.dice.paths import Approach, Path, approach_to
from controller.rules.dice.scene import Scene

LOST_FRAME = 1.5
"""Duration of a step, in frames, above which the step contains a lost frame."""


def turn_after(approach: Approach, k: int, earliest: float, latest: float) -> Turn:
    """Return the turn after point k in a period, from whole paths or from their parts nearest the wall."""
    turns = [turn_between(*paths, earliest, latest) for paths in _paths_around(approach, k)]
    return min(turns, key=partial(_misfit, approach))


def heard_turn(approach: Approach, k: int, earliest: float, latest: float) -> Turn:
    """Return the turn after point k that best matches a touch of the wall in the period of an impact.

    If the outgoing path is uncertain, so is its intersection with the incoming path. The die may then have
    followed the incoming path up to the wall.
    """
    turns: list[Turn] = []
    hidden = approach.path.times[k + 1] - approach.path.times[k] > approach.scene.hidden_ms
    cost = bands.SLOWED_UNSEEN if hidden else bands.SLOWED
    for before, after in _paths_around(approach, k):
        turns.append(turn_between(before, after, earliest, latest))
        if before.speed < 0.0:
            to_wall = before.at(earliest) - bands.max_contact_mm(approach.scene.table)
            touch = min(max(earliest - to_wall / before.speed, earliest), latest)
            fraction = bands.UNSEEN_FRACTION if hidden else bands.LANDING_FRACTION
            slowed = turn_between(before, _slowed(after, before, fraction), touch, touch)
            turns.append(slowed._replace(misfit=slowed.misfit + cost))
    return min(turns, key=partial(_misfit, approach))


def _paths_around(approach: Approach, k: int) -> Iterator[tuple[Line, Line]]:
    """Yield the possible incoming and outgoing paths at a turn after point k."""
    times, gaps = approach.path.times, approach.gaps
    hidden = times[k + 1] - times[k] > approach.scene.hidden_ms
    before = line_until(times, gaps, k, approach.noise(k - 2, k), hidden=hidden)
    after = line_from(times, gaps, k + 1, approach.noise(k + 1, k + 3), hidden=hidden)
    if hidden:
        yield before, after
        # If the die landed soon after it reappeared, only its first points show how it left the wall.
        yield before, line_from(times, gaps, k + 1, approach.noise(k + 1, k + 3))
        return
    if times[k + 1] - times[k] > LOST_FRAME * approach.scene.errors.frame_ms:
        after = _slowed(after, before, bands.LANDING_FRACTION)
    yield before, after
    if approach.path.knocks:
        yield _path_since_knock(approach, k) or before, _path_until_knock(approach, k + 1) or after


def _slowed(after: Line, before: Line, fraction: float) -> Line:
    """Return the outgoing path of a die that may have landed between leaving the wall and the next frame."""
    return after._replace(bounce=max(after.bounce, fraction * abs(before.speed)))


def _misfit(approach: Approach, turn: Turn) -> float:
    """Return the misfit of a turn's paths to each other and to a touch of the wall, in squared errors."""
    return turn.misfit + out_of_band(approach, turn)


def out_of_band(approach: Approach, turn: Turn) -> float:
    """Return the distance of a turn from the contact band, in squared errors."""
    out = max(turn.place - bands.max_contact_mm(approach.scene.table), 0.0) / turn.sd
    return out * out


def _path_since_knock(approach: Approach, k: int) -> Line | None:
    """Return the incoming path from a recent collision of the dice to point k; None if there was none."""
    first = max((n for n in approach.path.knocks if k - FEW_POINTS + 1 < n <= k), default=0)
    if not first:
        return None
    incoming = line(
        approach.path.times[first : k + 1],
        approach.gaps[first : k + 1],
        approach.noise(first, k),
        approach.path.times[k],
    )
    return incoming if first < k else _limited_by_knock(approach, incoming, k, -1)


def _path_until_knock(approach: Approach, k: int) -> Line | None:
    """Return the outgoing path from point k to a collision of the dice soon after; None if there was none."""
    end = min((n for n in approach.path.knocks if k < n < k + FEW_POINTS), default=0)
    if not end:
        return None
    outgoing = line(
        approach.path.times[k:end], approach.gaps[k:end], approach.noise(k, end - 1), approach.path.times[k]
    )
    return outgoing if end > k + 1 else _limited_by_knock(approach, outgoing, k, 1)


def _limited_by_knock(approach: Approach, path: Line, point: int, towards: int) -> Line:
    """Add an estimated speed to a path that has only a single point on this side of a collision.

    The collision happened during the adjacent step. If it happened at the far end of the step, the die had
    this path's speed throughout the step. If it happened halfway, the step's mean speed is halfway between
    this path's speed and the speed on the other side. The estimate is the mean of the two values that these
    cases give for this path's speed.
    """
    times, gaps, previous, before_previous = (
        approach.path.times,
        approach.gaps,
        point + towards,
        point + 2 * towards,
    )
    step_time = times[point] - times[previous]
    step = (gaps[point] - gaps[previous]) / step_time
    if not 0 <= before_previous < len(gaps):
        return path._replace(speed=step)
    half = 0.5 * (
        step - (gaps[previous] - gaps[before_previous]) / (times[previous] - times[before_previous])
    )
    return path._replace(
        speed=step + half, speed_var=half * half + 2.0 * path.place_var / (step_time * step_time)
    )


def place_errors(approach: Approach, impact: WallImpact, t: float, k: int) -> float | None:
    """Return an impact's squared distance from a die along the wall, in errors; None if it is too large."""
    times, along = approach.path.times, approach.along
    step = times[k + 1] - times[k]
    place, error_mm = along[k], approach.noise(k, k + 1)
    if step <= approach.scene.hidden_ms:
        place += (along[k + 1] - along[k]) * min(max((t - times[k]) / step, 0.0), 1.0)
    else:
        before, after = line_until(times, along, k, error_mm), line_from(times, along, k + 1, error_mm)
        # Up to its touch, the die followed the incoming path. Afterwards, something may have turned it.
        places = before.at(t), 0.5 * (before.at(t) + after.at(t))
        place = min(places, key=lambda at: abs(at - impact.pos_mm))
        error_mm = sqrt(before.variance_at(t))
    error = approach.scene.errors.impact_position_mm
    distance = abs(place - impact.pos_mm) / sqrt(error * error + error_mm * error_mm)
    if distance > bands.PLACE_ERRORS:
        return None
    return distance * distance


def place_cost(errors: float) -> float:
    """Return the cost of an impact at this squared distance, in errors, from the die that made it."""
    return max(errors - bands.PLACE_TOLERANCE * bands.PLACE_TOLERANCE, 0.0)


def heard_place_cost(scene: Scene, path: Path, impact: int, t: float) -> float | None:
    """Return the cost of an impact's position if this die made it, or None if the die was too far away."""
    heard = scene.impacts[impact]
    k = min(max(bisect_right(path.times, t) - 1, 0), len(path.times) - 2)
    errors = place_errors(approach_to(scene, path, heard.wall), heard, t, k)
    return None if errors is None else place_cost(errors)


def band_errors(approach: Approach, turn: Turn) -> tuple[float, float]:
    """Return the distances of a turn outside and inside the contact band's limit, in squared errors.

    The band has no inner limit. Rubber pads give way, and `seen_beyond` reports a die seen far behind the
    wall's base.
    """
    within = max(bands.max_contact_mm(approach.scene.table) - turn.place, 0.0) / turn.sd
    return out_of_band(approach, turn), within * within


def room_errors(approach: Approach, turn: Turn) -> float:
    """Return how much nearer to the wall the die turned than a landing die can come, in errors."""
    return max(bands.MISS_EDGES * approach.scene.table.die_mm - turn.place, 0.0) / turn.sd


def cause_certainty_of(turn: Turn) -> float:
    """Return the certainty, from 0 to 1, that something other than the felt caused a turn."""
    min_change = turn.change - bands.HARD_ERRORS * turn.change_sd
    return min(max(min_change, 0.0) / bands.MAX_CAUSELESS_M_PER_S, 1.0)


def unheard_cost(approach: Approach, t: float, change: float, change_sd: float) -> float:
    """Return the cost of a touch that the wall's sensors did not detect.

    `change` is the die's change of speed in m/s, and `change_sd` its standard error.
    """
    if not approach.scene.hears(approach.wall, approach.scene.start_us + int(t * 1000.0)):
        return bands.UNHEARD
    cost = approach.scene.loudness.unheard_cost(
        approach.wall, change, change_sd, approach.scene.errors.hit_counts_per_m_s
    )
    return max(cost, bands.UNHEARD)
