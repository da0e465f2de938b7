"""The loudness of hits on each wall of a table, learned from proven hits and stored in the recorded state.

A wall turns a die with one blow, and the wall's sensor receives the whole blow. An impact's peak, in counts,
is therefore proportional to the die's change of speed. A landing on the felt turns a die by friction, and
only a sixteenth of its blow reaches the sensor. A thump (the sound of a landing) is therefore much softer
than a hit with the same turn, but the proportion differs between tables.

The hits also show how much loudness varies. This variation determines how strongly a matching loudness
favours a hit over a knock, and how rarely the sensor misses a turn at the wall. All means and spreads are
those of the logarithm of loudness. The package `controller.rules.dice` defines the other terms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import erfc, exp, hypot, log, pi, sqrt
from typing import NamedTuple, Self

LOUDER_WEIGHT, SOFTER_WEIGHT = 0.5, 0.15
"""Weights of a hit louder than the learned value, and of a softer one. A softer hit counts less, because felt
causes part of many turns and a sensor reports only the hardest of several blows. A louder hit is reliable,
because position makes a hit at most 1.3 times louder than a typical one."""
TOP_FRACTION = 0.95
"""A peak above this fraction of the wall's highest peak may be at the top of the sensor's range. The hit may
then have been louder."""
FIRST_SPREAD, FIRST_HITS = 0.45, 5.0
"""Spread assumed before hits show a wall's spread, and the number of hits that carry the same weight as this
assumption. In 2,300 simulated hits by single dice whose speed changed by 1 to 5 m/s, the spread was 0.3."""
SETTING_HITS = 0.5
"""Weight, in hits, of the first estimate of a wall's mean, from the setting or from another wall."""
MAX_HITS = 40.0
"""Maximum weight, in hits, of a wall's earlier hits. The weight is limited because sensors age."""
OUTLIER_FRACTION, OUTLIER_RANGE = 0.05, log(100.0)
"""Fraction of hits whose loudness is atypical, and the range of that loudness. In such hits, the felt or the
other die caused part of the turn. Any loudness from a tenth to ten times the usual one is equally likely."""
KNOCK_RANGE, TOP_RANGE = log(33.0), log(2.0)
"""Range of a knock's loudness (33 to 1, from a sensor's threshold to twice the top of its range), and the
part of it above the top (2 to 1). Any loudness in the range is equally likely."""
MISSED_FRACTION = 1.0 / 200.0
"""Fraction of hits, of any loudness, that a working sensor does not detect."""
MIN_PEAK = 1.0
"""Minimum peak, in counts, that is treated as a measurement."""
DECIMALS = 4
"""Decimals of a stored mean or spread. A ten-thousandth of a logarithm is far below the spread of the
hits."""
FADE_FACTOR = 1.02
"""Factor by which a wall's lowest recent peak increases after each throw, because sensors lose
sensitivity."""
_LOUD, _TOP, _QUIET = "counts_per_m_s_", "top_counts_", "least_counts_"
_MEAN, _SPREAD, _HITS = "log_counts_per_m_s_", "log_counts_spread_", "hits_"


class SureHit(NamedTuple):
    """A proven hit: its wall, its peak in counts, and the die's change of speed in m/s."""

    wall: str
    peak: float
    change: float


class HitLoudness(NamedTuple):
    """The loudness of a wall's proven hits.

    `mean` and `spread` are those of the logarithm of counts per m/s, and `hits` is the number of hits.
    """

    mean: float
    spread: float
    hits: float

    def spread_of_next(self, change: float, change_sd: float) -> float:
        """Return the spread expected of the next hit.

        It includes the error of the mean and the error `change_sd` of the die's change of speed.
        """
        return hypot(self.spread * sqrt(1.0 + 1.0 / self.hits), change_sd / change)

    def after(self, log_loud: float) -> "HitLoudness":
        """Return the estimate updated with one more hit."""
        hits, off = min(self.hits, MAX_HITS), log_loud - self.mean
        fresh = off * off * hits / (hits + 1.0)
        variance = ((hits + FIRST_HITS) * self.spread * self.spread + fresh) / (hits + FIRST_HITS + 1.0)
        return HitLoudness(
            round(self.mean + off / (hits + 1.0), DECIMALS), round(sqrt(variance), DECIMALS), hits + 1.0
        )


class Heard(NamedTuple):
    """An impact at a turn: its wall and peak, and the die's change of speed, in m/s, with its error."""

    wall: str
    peak: float
    change: float
    change_sd: float


@dataclass(frozen=True, slots=True)
class Loudness:
    """The learned loudness of each wall's hits."""

    counts_per_m_s: Mapping[str, float] = field(default_factory=dict)
    """The counts of an impact's peak per m/s of the die's change of speed, for each wall with proven hits."""
    top_counts: Mapping[str, float] = field(default_factory=dict)
    """The highest peak of each wall's proven hits."""
    least_counts: Mapping[str, float] = field(default_factory=dict)
    """The lowest recent peak of each wall. The wall's sensor detects an impact with this peak."""
    hits: Mapping[str, HitLoudness] = field(default_factory=dict)
    """The loudness of each wall's hits, except hits at the top of the sensor's range."""

    def at(self, wall: str, setting: float) -> float:
        """Return the counts per m/s of a wall.

        For a wall without proven hits, return the value of the loudest wall, or else `setting`.
        """
        return self.counts_per_m_s.get(wall, max(self.counts_per_m_s.values(), default=setting))

    def hit_cost(self, heard: Heard, setting: float, loudest: float = 0.0) -> float:
        """Return the cost of an impact's loudness as a hit with this turn, less its cost as a knock.

        The result is negative if the loudness is typical of such a hit, because few knocks have the same
        loudness. `loudest` is the highest peak of this throw at the wall. For a wall without proven hits, the
        loudest peak yields 0, because it may be at the top of the sensor's range.
        """
        wall, peak, change, change_sd = heard
        if peak < MIN_PEAK or change <= change_sd:
            return 0.0
        estimate = self.hits.get(wall) or self._prior(setting)
        spread = estimate.spread_of_next(change, change_sd)
        deviation = (log(peak / change) - estimate.mean) / spread
        density = exp(-0.5 * deviation * deviation) / (spread * sqrt(2.0 * pi))
        cost = -2.0 * log(
            ((1.0 - OUTLIER_FRACTION) * density + OUTLIER_FRACTION / OUTLIER_RANGE) * KNOCK_RANGE
        )
        if peak >= TOP_FRACTION * max(self.top_counts.get(wall, 0.0), loudest):
            if wall not in self.top_counts:
                return 0.0
            # At the top of the range, the peak is only a lower limit of the hit's loudness.
            probability = (1.0 - OUTLIER_FRACTION) * 0.5 * erfc(
                deviation / sqrt(2.0)
            ) + 0.5 * OUTLIER_FRACTION
            cost = -2.0 * log(probability * KNOCK_RANGE / TOP_RANGE)
        return cost

    def quiet_turn_cost(self, heard: Heard, setting: float) -> float:
        """Return the squared deviation, in errors, of a turn from the typical turn with this peak."""
        estimate = self.hits.get(heard.wall) or self._prior(setting)
        expected_change = heard.peak / exp(estimate.mean)
        error = hypot(expected_change * estimate.spread * sqrt(1.0 + 1.0 / estimate.hits), heard.change_sd)
        return ((expected_change - heard.change) / error) ** 2

    def unheard_cost(self, wall: str, change: float, change_sd: float, setting: float) -> float:
        """Return the cost of a touch that a working sensor did not detect.

        `change` is the die's change of speed in m/s, and `change_sd` its standard error. The cost is 0 before
        the wall's first impact, because the sensor's threshold is then unknown.
        """
        softest = self.least_counts.get(wall)
        if not softest or change <= change_sd:
            return 0.0
        estimate = self.hits.get(wall) or self._prior(setting)
        quieter = log(softest / change) - estimate.mean
        typical = 0.5 * erfc(-quieter / estimate.spread_of_next(change, change_sd) / sqrt(2.0))
        outlier = min(max(0.5 + quieter / OUTLIER_RANGE, 0.0), 1.0)
        return -2.0 * log(
            min((1.0 - OUTLIER_FRACTION) * typical + OUTLIER_FRACTION * outlier + MISSED_FRACTION, 1.0)
        )

    def after(self, hits: Iterable[SureHit], setting: float, peaks: Iterable[tuple[str, float]] = ()) -> Self:
        """Return the loudness updated with a throw's hits.

        Each hit moves the learned loudness only part of the way to its own, which limits the effect of a
        false hit. `peaks` holds the wall and peak of each impact of the throw.
        """
        known, top, loud = dict(self.counts_per_m_s), dict(self.top_counts), dict(self.hits)
        for wall, peak, change in hits:
            before, counts = known.get(wall, self.at(wall, setting)), peak / change
            whole = peak < TOP_FRACTION * top.get(wall, 0.0)
            weight = LOUDER_WEIGHT if counts > before else SOFTER_WEIGHT if whole else 0.0
            known[wall] = round(before * (counts / before) ** weight, 1)
            top[wall] = max(peak, top.get(wall, 0.0))
            if whole and peak >= MIN_PEAK:
                loud[wall] = (loud.get(wall) or self._prior(setting)).after(log(counts))
        softest = {wall: round(FADE_FACTOR * counts, 2) for wall, counts in self.least_counts.items()}
        for wall, peak in peaks:
            if peak >= MIN_PEAK:
                softest[wall] = min(peak, softest.get(wall, peak))
        return type(self)(known, top, softest, loud)

    def figures(self) -> dict[str, float]:
        """Return the learned values for a recording's `state`."""
        numbers = {f"{_LOUD}{wall}": counts for wall, counts in sorted(self.counts_per_m_s.items())}
        numbers |= {f"{_TOP}{wall}": counts for wall, counts in sorted(self.top_counts.items())}
        numbers |= {f"{_QUIET}{wall}": counts for wall, counts in sorted(self.least_counts.items())}
        for wall, (mean, spread, hits) in sorted(self.hits.items()):
            numbers |= {f"{_MEAN}{wall}": mean, f"{_SPREAD}{wall}": spread, f"{_HITS}{wall}": hits}
        return numbers

    @classmethod
    def from_figures(cls, figures: Mapping[str, float]) -> Self:
        """Return the loudness that `figures` describes; other entries are ignored."""
        spreads, counts = _with_prefix(figures, _SPREAD), _with_prefix(figures, _HITS)
        hits = {
            wall: HitLoudness(mean, spreads[wall], counts[wall])
            for wall, mean in _with_prefix(figures, _MEAN).items()
            if spreads.get(wall, 0.0) > 0.0 and counts.get(wall, 0.0) > 0.0
        }
        return cls(
            _with_prefix(figures, _LOUD), _with_prefix(figures, _TOP), _with_prefix(figures, _QUIET), hits
        )

    def _prior(self, setting: float) -> HitLoudness:
        """Return the estimate for a wall without learned hits: the loudest other wall's mean, or the
        setting."""
        mean = max((known.mean for known in self.hits.values()), default=log(setting))
        return HitLoudness(mean, FIRST_SPREAD, SETTING_HITS)


def _with_prefix(figures: Mapping[str, float], prefix: str) -> dict[str, float]:
    return {key.removeprefix(prefix): value for key, value in figures.items() if key.startswith(prefix)}
