"""The turn that a die made at a wall between two points of its track.

Its way in and its way out each run over a few points. Where the dice met among these, a knock between two
frames may have bent them: then only the points on this side of the knock tell of the turn.
"""

from controller.rules.dice import bands
from controller.rules.dice.motion import FEW, Line, Turn, line, line_from, line_until, turn_between
from controller.rules.dice.paths import Approach


def turn_after(way: Approach, k: int, earliest: float, latest: float) -> Turn:
    """Return the turn after point k within a span of time, by whole or by knocked ways, which fit better."""
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
    """Return by how many squared errors a turn is further from the wall than any die that touches it."""
    out = max(turn.place - bands.contact_most(way.scene.table), 0.0) / turn.sd
    return out * out


def _since_knock(way: Approach, k: int) -> Line | None:
    """Return the way in up to point k from where the dice met; None where they did not right before."""
    first = max((n for n in way.path.knocks if k - FEW + 1 < n <= k), default=0)
    if not first:
        return None
    way_in = line(
        way.path.times[first : k + 1], way.gaps[first : k + 1], way.noise(first, k), way.path.times[k]
    )
    return way_in if first < k else _knocked(way, way_in, k, -1)


def _until_knock(way: Approach, k: int) -> Line | None:
    """Return the way out from point k up to where the dice met; None where they did not right after."""
    end = min((n for n in way.path.knocks if k < n < k + FEW), default=0)
    if not end:
        return None
    way_out = line(way.path.times[k:end], way.gaps[k:end], way.noise(k, end - 1), way.path.times[k])
    return way_out if end > k + 1 else _knocked(way, way_out, k, 1)


def _knocked(way: Approach, one: Line, near: int, towards: int) -> Line:
    """Give a way of which one point was seen, beside a knock, its speed.

    The knock came at any time of the step beyond it, begun at the speed that the die had beyond that. So its
    speed is that of the step if the knock came at once, and as far again from the other if it came halfway.
    """
    times, gaps, far, beyond = way.path.times, way.gaps, near + towards, near + 2 * towards
    wait = times[near] - times[far]
    step = (gaps[near] - gaps[far]) / wait
    if not 0 <= beyond < len(gaps):
        return one._replace(speed=step)
    half = 0.5 * (step - (gaps[far] - gaps[beyond]) / (times[far] - times[beyond]))
    return one._replace(speed=step + half, speed_var=half * half + 2.0 * one.place_var / (wait * wait))
