"""How loud hits are on each wall of a table, learned from certain hits; part of the recorded state.

A wall turns a die with one blow, and its sensor receives the whole blow, so an impact's peak is proportional
to the die's change of speed. A landing on the felt beside the wall turns a die by friction, and only a
sixteenth of its blow reaches the sensor. A landing is therefore much softer than a hit with the same turn,
but how much softer it is, in counts, must be learned from the table's own hits. The same hits show how much
loudness varies from hit to hit. This variation determines how much better a sound fits a hit than a knock,
and how rarely a turn at the wall is not heard.

All means and spreads of loudness are those of its natural logarithm.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import erfc, exp, hypot, log, pi, sqrt
from typing import NamedTuple, Self

LOUDER_WEIGHT, SOFTER_WEIGHT = 0.5, 0.15
"""The weights of a hit louder than the learned value, and of a softer one: felt causes part of many turns,
and of several blows a sensor reports only the hardest, so hits may be much softer than usual; but even at the
loudest position a hit is only 1.3 times as loud as usual."""
TOP_FRACTION = 0.95
"""A peak above this fraction of the wall's highest peak so far may be at the top of the sensor's range: the
hit was at least as loud."""
FIRST_SPREAD, FIRST_HITS = 0.45, 5.0
"""The spread assumed until hits show a wall's own spread, and the number of hits that carry as much weight as
this assumption. In 2,300 hits that changed a die's speed by 1 to 5 m/s, each made by one die alone, the
spread was 0.3."""
SETTING_HITS = 0.5
"""The weight, in hits, of the setting or the other wall as an estimate of a wall's mean."""
MAX_HITS = 40.0
"""The maximum weight, in hits, of a wall's earlier hits. It is limited because sensors age."""
OUTLIER_FRACTION, OUTLIER_RANGE = 0.05, log(100.0)
"""The fraction of hits with unusual loudness, because felt or the other die caused part of the turn: any
loudness from a tenth of the usual to ten times the usual is equally likely."""
KNOCK_RANGE, TOP_RANGE = log(33.0), log(2.0)
"""A knock may have any loudness over a range of 33 to 1, from a sensor's threshold to twice the top of its
range."""
MISSED_FRACTION = 1.0 / 200.0
"""A working sensor misses this fraction of hits, however hard they are."""
MIN_PEAK = 1.0
"""A peak of less than one count is not a measurement."""
FADE_FACTOR = 1.02
"""Factor by which a wall's lowest recent peak is raised after each throw: sensors lose sensitivity."""
_LOUD, _TOP, _QUIET = "counts_per_m_s_", "top_counts_", "least_counts_"
_MEAN, _SPREAD, _HITS = "log_counts_per_m_s_", "log_counts_spread_", "hits_"


class SureHit(NamedTuple):
    """A hit that is certain: its wall, its peak, and the die's change of speed (m/s)."""

    wall: str
    peak: float
    change: float


class HitLoudness(NamedTuple):
    """The counts per m/s of a wall's certain hits: mean and spread of the logarithm, and number of hits."""

    mean: float
    spread: float
    hits: float

    def spread_of_next(self, change: float, change_sd: float) -> float:
        """Return the spread expected of the next hit, from the errors of the mean and of its turn."""
        return hypot(self.spread * sqrt(1.0 + 1.0 / self.hits), change_sd / change)

    def after(self, log_loud: float) -> "HitLoudness":
        """Return the estimate updated with one more hit."""
        hits, off = min(self.hits, MAX_HITS), log_loud - self.mean
        fresh = off * off * hits / (hits + 1.0)
        variance = ((hits + FIRST_HITS) * self.spread * self.spread + fresh) / (hits + FIRST_HITS + 1.0)
        return HitLoudness(round(self.mean + off / (hits + 1.0), 4), round(sqrt(variance), 4), hits + 1.0)


class Heard(NamedTuple):
    """An impact at a turn: its wall and peak, and the die's change of speed, in m/s, with its error."""

    wall: str
    peak: float
    change: float
    change_sd: float


@dataclass(frozen=True, slots=True)
class Loudness:
    """The counts of peak per m/s of a die's change of speed, for each wall that is known."""

    counts_per_m_s: Mapping[str, float] = field(default_factory=dict)
    top_counts: Mapping[str, float] = field(default_factory=dict)
    """The highest peak so far of each wall."""
    least_counts: Mapping[str, float] = field(default_factory=dict)
    """The lowest recent peak of each wall: its sensor hears anything as loud as that."""
    hits: Mapping[str, HitLoudness] = field(default_factory=dict)
    """The loudness of each wall's hits, without those at the top of the sensor's range."""

    def at(self, wall: str, setting: float) -> float:
        """Return the counts per m/s of a wall; if unknown, the loudest other wall's or the setting."""
        return self.counts_per_m_s.get(wall, max(self.counts_per_m_s.values(), default=setting))

    def hit_cost(self, heard: Heard, setting: float, loudest: float = 0.0) -> float:
        """Return how much worse the loudness of an impact fits a hit with this turn than it fits a knock.

        The result is negative if the impact is as loud as such hits usually are, because few knocks are.
        `loudest` is the highest peak of this throw at its wall. A wall's first peak may be at the top of the
        sensor's range, so it yields 0.
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
            # A peak at the top of the range is only a lower limit of the hit's loudness.
            probability = (1.0 - OUTLIER_FRACTION) * 0.5 * erfc(
                deviation / sqrt(2.0)
            ) + 0.5 * OUTLIER_FRACTION
            cost = -2.0 * log(probability * KNOCK_RANGE / TOP_RANGE)
        return cost

    def quiet_turn_cost(self, heard: Heard, setting: float) -> float:
        """Return the difference, in squared errors, between a turn and the turn that makes this peak."""
        estimate = self.hits.get(heard.wall) or self._prior(setting)
        expected_change = heard.peak / exp(estimate.mean)
        error = hypot(expected_change * estimate.spread * sqrt(1.0 + 1.0 / estimate.hits), heard.change_sd)
        return ((expected_change - heard.change) / error) ** 2

    def unheard_cost(self, wall: str, change: float, change_sd: float, setting: float) -> float:
        """Return the cost of a touch, with this change of speed in m/s, that a working sensor did not hear.

        It is 0 until an impact of the wall has shown how soft a sound its sensor reports.
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
        """Return the loudness updated with a throw's hits, in small steps to limit the effect of a false hit.

        `peaks` are all impacts of the throw, each as its wall and peak.
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
        """Return the learned values as the numbers of a recording's `state`."""
        numbers = {f"{_LOUD}{wall}": counts for wall, counts in sorted(self.counts_per_m_s.items())}
        numbers |= {f"{_TOP}{wall}": counts for wall, counts in sorted(self.top_counts.items())}
        numbers |= {f"{_QUIET}{wall}": counts for wall, counts in sorted(self.least_counts.items())}
        for wall, (mean, spread, hits) in sorted(self.hits.items()):
            numbers |= {f"{_MEAN}{wall}": mean, f"{_SPREAD}{wall}": spread, f"{_HITS}{wall}": hits}
        return numbers

    @classmethod
    def from_figures(cls, figures: Mapping[str, float]) -> Self:
        """Restore the loudness from `figures`; other numbers are ignored."""
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
        """Return the estimate for a wall that is not known yet: the other wall's mean, or the setting."""
        mean = max((known.mean for known in self.hits.values()), default=log(setting))
        return HitLoudness(mean, FIRST_SPREAD, SETTING_HITS)


def _with_prefix(figures: Mapping[str, float], prefix: str) -> dict[str, float]:
    return {key.removeprefix(prefix): value for key, value in figures.items() if key.startswith(prefix)}
