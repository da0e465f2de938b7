"""The turn that a die made at a wall between two points of its track, and whether a sound came from there.

The incoming and the outgoing path are each fitted to a few points. If the dice met during these, a collision
between two frames may have bent the path: then only the points on the wall's side of the collision are used.
"""

from bisect import bisect_right
from math import sqrt

from controller.model.readings import WallImpact
from controller.rules.dice import bands
from controller.rules.dice.motion import FEW, Line, Turn, line, line_from, line_until, turn_between
from controller.rules.dice.paths import Approach, Path, approach_to
from controller.rules.dice.scene import Scene


def turn_after(way: Approach, k: int, earliest: float, latest: float) -> Turn:
    """Return the turn after point k in a span of time, from whole or collision-limited paths."""
    times = way.path.times
    hidden = times[k + 1] - times[k] > way.scene.hidden_ms
    before = line_until(times, way.gaps, k, way.noise(k - 2, k), hidden=hidden)
    after = line_from(times, way.gaps, k + 1, way.noise(k + 1, k + 3), hidden=hidden)
    if not hidden and times[k + 1] - times[k] > 1.5 * way.scene.errors.frame_ms:
        after = after._replace(bounce=max(after.bounce, bands.LANDING_SHARE * abs(before.speed)))
    turn = turn_between(before, after, earliest, latest)
    if hidden or not way.path.knocks:
        return turn
    knocked = turn_between(
        _since_knock(way, k) or before, _until_knock(way, k + 1) or after, earliest, latest
    )
    return min(turn, knocked, key=lambda own: own.misfit + out_of_band(way, own))


def out_of_band(way: Approach, turn: Turn) -> float:
    """Return how far a turn is outside the range of a die that touches the wall, in squared errors."""
    out = max(turn.place - bands.contact_most(way.scene.table), 0.0) / turn.sd
    return out * out


def _since_knock(way: Approach, k: int) -> Line | None:
    """Return the incoming path to point k from where the dice met; None if they did not just before."""
    first = max((n for n in way.path.knocks if k - FEW + 1 < n <= k), default=0)
    if not first:
        return None
    way_in = line(
        way.path.times[first : k + 1], way.gaps[first : k + 1], way.noise(first, k), way.path.times[k]
    )
    return way_in if first < k else _knocked(way, way_in, k, -1)


def _until_knock(way: Approach, k: int) -> Line | None:
    """Return the outgoing path from point k to where the dice met; None if they did not just after."""
    end = min((n for n in way.path.knocks if k < n < k + FEW), default=0)
    if not end:
        return None
    way_out = line(way.path.times[k:end], way.gaps[k:end], way.noise(k, end - 1), way.path.times[k])
    return way_out if end > k + 1 else _knocked(way, way_out, k, 1)


def _knocked(way: Approach, one: Line, near: int, towards: int) -> Line:
    """Return a path that has only one point on this side of a collision, with its speed.

    The collision happened at some time during the adjacent step, which the die began at the speed it had on
    the other side of it. If the collision came at once, this path's speed is that of the step; if it came
    halfway, it differs from that of the step by as much again as the other speed does, on the opposite side.
    """
    times, gaps, far, beyond = way.path.times, way.gaps, near + towards, near + 2 * towards
    wait = times[near] - times[far]
    step = (gaps[near] - gaps[far]) / wait
    if not 0 <= beyond < len(gaps):
        return one._replace(speed=step)
    half = 0.5 * (step - (gaps[far] - gaps[beyond]) / (times[far] - times[beyond]))
    return one._replace(speed=step + half, speed_var=half * half + 2.0 * one.place_var / (wait * wait))


def place_errors(way: Approach, impact: WallImpact, t: float, k: int) -> float | None:
    """Return an impact's distance from a die along the wall, in squared errors; None if it was elsewhere."""
    times, along = way.path.times, way.along
    step = times[k + 1] - times[k]
    place, unsure = along[k], way.noise(k, k + 1)
    if step <= way.scene.hidden_ms:
        place += (along[k + 1] - along[k]) * min(max((t - times[k]) / step, 0.0), 1.0)
    else:
        before, after = line_until(times, along, k, unsure), line_from(times, along, k + 1, unsure)
        place, unsure = 0.5 * (before.at(t) + after.at(t)), sqrt(before.variance_at(t))
    error = way.scene.errors.impact_position_mm
    away = abs(place - impact.pos_mm) / sqrt(error * error + unsure * unsure)
    if away > bands.PLACE_ERRORS:
        return None
    return away * away


def place_price(errors: float) -> float:
    """Return the price of an impact at this distance, in squared errors, from the die that made it."""
    return max(errors - bands.PLACE_FREE * bands.PLACE_FREE, 0.0)


def heard_there(scene: Scene, path: Path, impact: int, t: float) -> float | None:
    """Return the price of an impact's position for a die that made it; None if the impact was elsewhere."""
    heard = scene.impacts[impact]
    k = min(max(bisect_right(path.times, t) - 1, 0), len(path.times) - 2)
    errors = place_errors(approach_to(scene, path, heard.wall), heard, t, k)
    return None if errors is None else place_price(errors)
