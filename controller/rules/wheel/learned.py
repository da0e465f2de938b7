"""The values that a table learns about its wheel, and the resulting model of a ball's loss of speed.

The model consists of the loss of speed and the time until the drop at a few speeds, with linear interpolation
in between and no assumed functional form. It is used to time No More Bets and to predict an undetected ball,
but never to count turns. The learned values are part of the recorded state.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Self

import msgspec

from controller.model.conversion import converter_of
from controller.rules.wheel.story import FASTEST

SPEEDS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0)
"""Speeds of the learned losses (rev/s), closest together around a ball's speed at No More Bets."""
_USUAL_FRICTION, _USUAL_DRAG = 0.033, 0.042
"""Typical loss of a ball on the rim, in rev/s2 and in rev/s2 per (rev/s)2, which applies until the wheel's
values are learned."""
_MIN_LOSS, _MAX_LOSS = 0.006, 0.5
"""Range of losses, in rev/s2. Values outside this range are errors of measurement."""
_STEP = 0.05
"""Approximate step of speed, in rev/s, in the sum over a ball's slowing: the smallest distance between
`SPEEDS`."""
_MAX_LOSS_RATIO = 1.6
"""Maximum ratio of a ball's loss to that of other balls on the same wheel."""
_LOOK_AHEAD_STEP_S = 0.5
"""Time step, in seconds, for calculating forwards in time. In this time a ball loses a tenth of its speed at
most."""
_LOOK_BACK_STEP_S = 0.1
"""Time step, in seconds, for calculating backwards in time. Even at `_MAX_LOSS_RATIO`, a ball takes about a
second to pass its knee (`KNEE_SLOWING`) from 1.0 to 0.7 rev/s."""


_NONE: Mapping[float, float] = {}


def typical_loss(speed: float) -> float:
    """Return the typical loss of speed at this speed, in rev/s2."""
    return _USUAL_FRICTION + _USUAL_DRAG * speed * speed


_USUAL = tuple(typical_loss(speed) for speed in SPEEDS)


class Slowing:
    """The loss of speed as a function of speed."""

    def __init__(self, learned: Mapping[float, float], left_s: Mapping[float, float] = _NONE) -> None:
        """`learned` holds the losses (rev/s2) at some of `SPEEDS`, from which the losses at the other speeds
        are estimated. `left_s` holds the seconds until the drop at some of `SPEEDS`."""
        self.losses = _fill_losses(learned)
        self._left_s = left_s
        self._timed = sorted(left_s)
        self._intervals_s: dict[int, float] = {}
        """Seconds between neighbouring speeds of `left_s` according to `losses`, by the index of the faster
        speed."""

    def loss(self, speed: float) -> float:
        """Return a ball's loss of speed at this speed, in rev/s2."""
        losses = self.losses
        at = bisect_left(SPEEDS, speed)
        if at == 0:
            return losses[0]
        if at == len(SPEEDS):
            return typical_loss(speed) * losses[-1] / typical_loss(SPEEDS[-1])
        low = SPEEDS[at - 1]
        fraction = (speed - low) / (SPEEDS[at] - low)
        return losses[at - 1] + fraction * (losses[at] - losses[at - 1])

    def seconds_left(self, speed: float, drop_speed: float) -> float:
        """Return the time until the drop of a ball at this speed, based on earlier balls.

        Until a ball has been timed, `drop_speed` is used instead. The result is negative for a ball that
        should already have dropped.
        """
        timed_speeds, left_s = self._timed, self._left_s
        if not timed_speeds:
            return self.seconds(speed, drop_speed)
        at = bisect_left(timed_speeds, speed)
        if at == 0:
            return left_s[timed_speeds[0]] - self.seconds(timed_speeds[0], speed)
        low = timed_speeds[at - 1]
        if at == len(timed_speeds):
            return left_s[low] + self.seconds(speed, low)
        high = timed_speeds[at]
        interval_s = self._intervals_s.get(at)
        if interval_s is None:
            interval_s = self._intervals_s[at] = self.seconds(high, low)
        fraction = self.seconds(speed, low) / interval_s
        return left_s[low] + fraction * (left_s[high] - left_s[low])

    def seconds(self, speed: float, drop_speed: float) -> float:
        """Return the time in which a ball slows to its drop speed; negative for a slower ball."""
        if speed <= drop_speed:
            return (speed - drop_speed) / self.loss(drop_speed)
        steps = max(int((speed - drop_speed) / _STEP), 1)
        width = (speed - drop_speed) / steps
        return width * self._sum_of_inverse_losses(drop_speed, width, steps)

    def _sum_of_inverse_losses(self, slowest: float, width: float, steps: int) -> float:
        """Return the sum of 1 / loss in the middle of each step of speed, from the slowest upwards."""
        losses, total, at = self.losses, 0.0, 0
        low = span = base = rise = 0.0
        for step in range(steps):
            speed = slowest + (step + 0.5) * width
            if not 0 < at < len(SPEEDS) or SPEEDS[at] < speed:
                at = bisect_left(SPEEDS, speed)
                if not 0 < at < len(SPEEDS):
                    total += 1.0 / self.loss(speed)
                    continue
                low, base = SPEEDS[at - 1], losses[at - 1]
                span, rise = SPEEDS[at] - low, losses[at] - base
            total += 1.0 / (base + (speed - low) / span * rise)
        return total

    def speed_after(self, speed: float, seconds: float) -> float:
        """Return the speed after a number of seconds, in rev/s."""
        steps = max(int(seconds / _LOOK_AHEAD_STEP_S), 1)
        for _ in range(steps):
            speed = max(speed - self.loss(speed) * seconds / steps, 0.0)
        return speed

    def turns_before(self, speed: float, seconds: float) -> float:
        """Return the maximum number of turns of a ball in this number of seconds before it reached this
        speed.

        The ball might have been at its knee, might have lost more speed than other balls on the same wheel,
        and might have been as fast as a hand can launch it.
        """
        steps = max(int(seconds / _LOOK_BACK_STEP_S), 1)
        step_s, turns = seconds / steps, 0.0
        for _ in range(steps):
            lost = _MAX_LOSS_RATIO * max(self.loss(speed), KNEE_SLOWING.loss(speed)) * step_s
            turns += (speed + lost / 2) * step_s
            speed = min(speed + lost, FASTEST)
        return turns


def measure_losses(laps: Sequence[tuple[float, float]]) -> dict[float, float]:
    """Return the losses in one ball's laps, at the nearest of `SPEEDS`.

    `laps` are times in seconds, about a turn apart, with the speeds in rev/s.
    """
    sums: dict[float, list[float]] = {}
    for (t, speed), (later, slower) in pairwise(laps):
        loss = (speed - slower) / (later - t) if later > t else 0.0
        middle = (speed + slower) / 2
        if _MIN_LOSS <= loss <= _MAX_LOSS and middle < SPEEDS[-1]:
            sums.setdefault(_nearest(middle), []).append(loss)
    return {speed: sum(losses) / len(losses) for speed, losses in sums.items()}


def times_to_drop(laps: Sequence[tuple[float, float]], left_s: float) -> dict[float, float]:
    """Return the seconds until the drop at each of the `SPEEDS` that a ball passed.

    `laps` are times in seconds with the speeds in rev/s; `left_s` is the time of the exit from the track.
    """
    passed: dict[float, float] = {}
    for (t, speed), (later, slower) in pairwise(laps):
        for at in SPEEDS[bisect_left(SPEEDS, slower) : bisect_left(SPEEDS, speed)]:
            passed[at] = left_s - t - (later - t) * (speed - at) / (speed - slower)
    return passed


def _nearest(speed: float) -> float:
    """Return the nearest of `SPEEDS`, the lower of two equally near ones; `speed` is below the last."""
    at = bisect_left(SPEEDS, speed)
    low, high = SPEEDS[max(at - 1, 0)], SPEEDS[at]
    return low if speed - low <= high - speed else high


def _fill_losses(learned: Mapping[float, float]) -> list[float]:
    """Return a loss for each speed. The ratio to the typical loss is interpolated between known speeds, and
    constant beyond them."""
    known = sorted(learned)
    if not known:
        return list(_USUAL)
    ratios = [learned[speed] / typical_loss(speed) for speed in known]
    losses: list[float] = []
    at = 0
    for speed, usual in zip(SPEEDS, _USUAL, strict=True):
        while at < len(known) and known[at] < speed:
            at += 1
        if 0 < at < len(known):
            fraction = (speed - known[at - 1]) / (known[at] - known[at - 1])
            ratio = ratios[at - 1] + fraction * (ratios[at] - ratios[at - 1])
        else:
            ratio = ratios[min(at, len(known) - 1)]
        losses.append(usual * ratio)
    return losses


KNEE_SLOWING = Slowing({0.45: 0.02, 0.55: 0.05, 0.65: 0.12, 0.8: 0.2, 1.0: 0.2, 1.2: 0.1})
"""Loss with the knee of a real ball. From about 1 rev/s, where the ball stops sliding along the rim, to 0.6,
where it rolls freely, it loses speed two to four times as fast as at other speeds. The values were measured
in videos of real wheels."""
MAX_LOSS_WITHOUT_KNEE = 0.12
"""Maximum loss without a knee, in rev/s2. A ball without a knee loses 0.05 to 0.1 at 0.7 to 1 rev/s, even on
a damp track."""
KNEE_SPEEDS = 0.7, 1.0
"""Speeds between which the knee appears, in rev/s."""


NOMINAL_SPREAD = 0.06
"""Standard deviation of a spin's drop speed from the wheel's nominal drop speed, as a fraction of the nominal
speed."""
SPIN_SPREAD = 0.03
"""Standard deviation of a spin's drop speed from the wheel's mean, as a fraction of the mean."""
_BALLS_TO_REGAIN_TRUST = 20.0
"""After missing a ball on a turn, a reader is trusted again once it has read this many balls on every
turn."""
_MIN_NEWEST_WEIGHT = 0.15
"""Minimum weight of the newest spin in the values learned by speed. After a change to the track (if it has
been wiped or is damp), a few spins are enough to learn the new values."""
_MEMORY_SPINS = 40.0
"""Maximum weight of earlier spins. Temperature and wear change a wheel, so older spins count for less."""


class Learned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Values learned about a wheel from earlier spins. All are numbers that JSON preserves.

    `spins` is the weight of the learned values. `drop_rev_per_s` is the ball's mean speed at its exit from
    the track (None before the first spin), and `deceleration_rev_per_s2` the loss per second at that speed.
    `losses_rev_per_s2` is the loss per second, and `left_s` the seconds until the drop, at those of `SPEEDS`
    that spins have passed. `pocket_reader_works` is 1 if the reader detected the last ball that it should
    have detected. `pocket_reader_doubts` is the number of balls to be read on every turn before a reader that
    missed one is trusted again.
    """

    spins: float = 0.0
    drop_rev_per_s: float | None = None
    deceleration_rev_per_s2: float | None = None
    losses_rev_per_s2: Mapping[float, float] = msgspec.field(default_factory=dict)
    left_s: Mapping[float, float] = msgspec.field(default_factory=dict)
    pocket_reader_works: float = 0.0
    pocket_reader_doubts: float = 0.0

    @property
    def pocket_reader_known(self) -> bool:
        """Whether the pocket reader detected the last ball and has not missed one recently."""
        return self.pocket_reader_works > 0.0 and self.pocket_reader_doubts <= 0.0

    def drop_speed(self, nominal_rev_per_s: float) -> tuple[float, float]:
        """Return the expected drop speed and its standard deviation, both in rev/s."""
        if self.drop_rev_per_s is None:
            return nominal_rev_per_s, NOMINAL_SPREAD * nominal_rev_per_s
        prior = (SPIN_SPREAD / NOMINAL_SPREAD) ** 2
        mean = (prior * nominal_rev_per_s + self.spins * self.drop_rev_per_s) / (prior + self.spins)
        return mean, SPIN_SPREAD * mean * (1.0 + 1.0 / (prior + self.spins)) ** 0.5

    def slowing(self) -> Slowing:
        """Return the loss of speed of this wheel's balls, as measured in earlier spins."""
        losses = self.losses_rev_per_s2
        if not losses and self.deceleration_rev_per_s2 and self.drop_rev_per_s:
            losses = {self.drop_rev_per_s: self.deceleration_rev_per_s2}
        return Slowing(losses, self.left_s)

    def after_drop(
        self,
        speed_rev_per_s: float,
        deceleration_rev_per_s2: float,
        losses: Mapping[float, float],
        left_s: Mapping[float, float],
    ) -> Self:
        """Learn from one ball that was followed to its drop.

        `losses` and `left_s` are keyed by speed, as returned by `measure_losses` and `times_to_drop`.
        """
        weight = 1.0 / (min(self.spins, _MEMORY_SPINS) + 1.0)
        newest = max(weight, _MIN_NEWEST_WEIGHT)
        return msgspec.structs.replace(
            self,
            spins=min(self.spins, _MEMORY_SPINS) + 1.0,
            drop_rev_per_s=_move_towards(self.drop_rev_per_s, speed_rev_per_s, weight),
            deceleration_rev_per_s2=_move_towards(
                self.deceleration_rev_per_s2, deceleration_rev_per_s2, weight
            ),
            losses_rev_per_s2=_move_all_towards(self.losses_rev_per_s2, losses, newest),
            left_s=_move_all_towards(self.left_s, left_s, newest),
        )

    def after_reads(self, *, missed: bool) -> Self:
        """Record that the pocket reader detected the ball, and whether it missed the ball on a turn between
        two detections."""
        doubts = _BALLS_TO_REGAIN_TRUST if missed else max(self.pocket_reader_doubts - 1.0, 0.0)
        return msgspec.structs.replace(self, pocket_reader_works=1.0, pocket_reader_doubts=doubts)

    def after_silence(self) -> Self:
        """Record that the pocket reader did not detect a ball that had dropped.

        The reader is no longer treated as working. One missed ball is plausible; two in a row show a failed
        reader.
        """
        return msgspec.structs.replace(self, pocket_reader_works=0.0)

    def figures(self) -> dict[str, float]:
        """Return the learned values as the numbers of a recording's `state`."""
        figures = {name: value for name in _SCALAR_FIELDS if (value := getattr(self, name)) is not None}
        for name, prefix in _BY_SPEED_PREFIXES.items():
            known = getattr(self, name)
            figures |= {key: known[at] for at, key in _KEYS[prefix].items() if at in known}
        return figures

    @staticmethod
    def from_figures(figures: Mapping[str, float]) -> "Learned":
        """Restore the values from `figures`. Raises `msgspec.ValidationError` for invalid numbers.

        A recording might lack the values by speed, which a few spins restore.
        """
        plain = {name: value for name, value in figures.items() if not name.startswith(_PREFIXES)}
        by_speed = {
            name: {at: figures[key] for at, key in _KEYS[prefix].items() if key in figures}
            for name, prefix in _BY_SPEED_PREFIXES.items()
        }
        return msgspec.structs.replace(_convert(plain), **by_speed)


_BY_SPEED_PREFIXES = {"losses_rev_per_s2": "loss_at_", "left_s": "left_at_"}
_PREFIXES = tuple(_BY_SPEED_PREFIXES.values())
_KEYS = {prefix: {at: f"{prefix}{at:g}" for at in SPEEDS} for prefix in _PREFIXES}
_SCALAR_FIELDS = tuple(name for name in Learned.__struct_fields__ if name not in _BY_SPEED_PREFIXES)
_convert = converter_of(Learned)


def _move_all_towards(
    known: Mapping[float, float], newest: Mapping[float, float], weight: float
) -> dict[float, float]:
    means = dict(known)
    for at, value in newest.items():
        means[at] = _move_towards(means.get(at), value, weight)
    return means


def _move_towards(mean: float | None, value: float, weight: float) -> float:
    return value if mean is None else mean + weight * (value - mean)
