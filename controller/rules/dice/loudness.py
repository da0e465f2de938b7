"""How loud hits of each wall of a table are, learned from those that are certain; part of the recorded state.

A wall turns a die by one blow, and its sensor hears that whole: an impact's peak is in proportion to the
die's change of speed. A landing on the felt beside it turns a die by friction, and only a sixteenth of its
blow reaches the sensor. So a landing is much the softer for its turn; but how soft that is in counts, a
table's own hits must tell. The same hits tell how far the loudness of one strays, and so how much better a
sound of that loudness fits a hit than a knock, and how seldom a turn at the wall is not heard.

All spreads and means of loudness are of its natural logarithm.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import erfc, exp, hypot, log, pi, sqrt
from typing import NamedTuple, Self

LOUDER, SOFTER = 0.5, 0.15
"""The weights of a hit louder than what is known, and of a softer one: felt has a part in many a turn, and of
several blows a sensor tells the hardest, but nothing makes a hit louder than by 1.3, its place."""
TOP_SHARE = 0.95
"""A peak of this share of the wall's loudest yet may be at the top of the sensor's range: the hit was as loud
at least."""
FIRST_SPREAD, FIRST_HITS = 0.45, 5.0
"""The spread that is assumed before hits show a wall's own, and how many hits that counts for. Of 2,300 hits
by one to five metres a second, each die's alone, it was 0.3."""
SETTING_HITS = 0.5
"""The setting, or the other wall, tells the mean of a wall as well as half a hit of its own."""
MOST_HITS = 40.0
"""Earlier hits of a wall count for no more than this many: sensors age."""
ODD_SHARE, ODD_RANGE = 0.05, log(100.0)
"""One hit in twenty is not of the usual loudness, since felt or the other die had a part in its turn: it is
as likely of any from a tenth of the usual to ten times that."""
KNOCK_RANGE, TOP_RANGE = log(33.0), log(2.0)
"""A knock may be of any loudness over a range of 33 to 1, from a sensor's threshold to twice its top."""
DEAF_SHARE = 1.0 / 200.0
"""A sensor that is well misses one hit in so many, however hard."""
FADES = 1.02
"""The quietest impact of a wall is taken for louder by so much after each throw: sensors grow dull."""
_LOUD, _TOP, _QUIET = "counts_per_m_s_", "top_counts_", "least_counts_"
_MEAN, _SPREAD, _HITS = "log_counts_per_m_s_", "log_counts_spread_", "hits_"


class SureHit(NamedTuple):
    """A hit that is certain: its peak, and by how much it turned the die (m/s)."""

    wall: str
    peak: float
    change: float


class HitLoudness(NamedTuple):
    """The counts per m/s of a wall's certain hits: the mean and spread of their logarithm, and how many."""

    mean: float
    spread: float
    hits: float

    def spread_of_next(self, change: float, change_sd: float) -> float:
        """Return how far the next hit may stray from the mean, by how well that and its turn are known."""
        return hypot(self.spread * sqrt(1.0 + 1.0 / self.hits), change_sd / change)

    def after(self, log_loud: float) -> "HitLoudness":
        """Return it with one more hit."""
        hits, off = min(self.hits, MOST_HITS), log_loud - self.mean
        fresh = off * off * hits / (hits + 1.0)
        variance = ((hits + FIRST_HITS) * self.spread * self.spread + fresh) / (hits + FIRST_HITS + 1.0)
        return HitLoudness(round(self.mean + off / (hits + 1.0), 4), round(sqrt(variance), 4), hits + 1.0)


class Heard(NamedTuple):
    """An impact beside a turn: its wall and peak, and how much the die turned, in m/s, with its error."""

    wall: str
    peak: float
    change: float
    change_sd: float


@dataclass(frozen=True, slots=True)
class Loudness:
    """Counts of a peak for each metre a second that it turns a die by, of each wall that is known."""

    counts_per_m_s: Mapping[str, float] = field(default_factory=dict)
    top_counts: Mapping[str, float] = field(default_factory=dict)
    """The loudest peak yet of each wall."""
    least_counts: Mapping[str, float] = field(default_factory=dict)
    """The quietest peak of late of each wall: its sensor hears what is as loud."""
    hits: Mapping[str, HitLoudness] = field(default_factory=dict)
    """The loudness of each wall's hits below the top of its sensor's range."""

    def at(self, wall: str, setting: float) -> float:
        """Return it for a wall; one not known yet is taken for as loud as the other, or as is usual."""
        return self.counts_per_m_s.get(wall, max(self.counts_per_m_s.values(), default=setting))

    def hit_price(self, heard: Heard, setting: float, loudest: float = 0.0) -> float:
        """Return how much worse an impact's loudness fits a hit that turned a die so than a knock.

        Below zero where it is as loud as such hits are: few knocks happen to be. `loudest` is the loudest
        peak of this throw at its wall; the first one of a wall may be the top of the sensor's range or not,
        and says nothing.
        """
        wall, peak, change, change_sd = heard
        if peak < 1.0 or change <= change_sd:
            return 0.0
        likely = self.hits.get(wall) or self._likely(setting)
        spread = likely.spread_of_next(change, change_sd)
        off = (log(peak / change) - likely.mean) / spread
        density = exp(-0.5 * off * off) / (spread * sqrt(2.0 * pi))
        price = -2.0 * log(((1.0 - ODD_SHARE) * density + ODD_SHARE / ODD_RANGE) * KNOCK_RANGE)
        if peak >= TOP_SHARE * max(self.top_counts.get(wall, 0.0), loudest):
            if wall not in self.top_counts:
                return 0.0
            # At the top of its range a sensor tells that the hit was as loud at least.
            share = (1.0 - ODD_SHARE) * 0.5 * erfc(off / sqrt(2.0)) + 0.5 * ODD_SHARE
            price = -2.0 * log(share * KNOCK_RANGE / TOP_RANGE)
        return price

    def quiet_turn_price(self, heard: Heard, setting: float) -> float:
        """Return by how many squared errors a turn differs from the one that makes such a peak."""
        likely = self.hits.get(heard.wall) or self._likely(setting)
        made = heard.peak / exp(likely.mean)
        error = hypot(made * likely.spread * sqrt(1.0 + 1.0 / likely.hits), heard.change_sd)
        return ((made - heard.change) / error) ** 2

    def unheard_price(self, wall: str, change: float, change_sd: float, setting: float) -> float:
        """Return the price of a working sensor's not hearing a touch that turned a die by `change` m/s.

        0 as long as nothing was heard of the wall that shows how quiet a sound its sensor tells.
        """
        least = self.least_counts.get(wall)
        if not least or change <= change_sd:
            return 0.0
        likely = self.hits.get(wall) or self._likely(setting)
        quieter = log(least / change) - likely.mean
        usual = 0.5 * erfc(-quieter / likely.spread_of_next(change, change_sd) / sqrt(2.0))
        odd = min(max(0.5 + quieter / ODD_RANGE, 0.0), 1.0)
        return -2.0 * log(min((1.0 - ODD_SHARE) * usual + ODD_SHARE * odd + DEAF_SHARE, 1.0))

    def after(self, hits: Iterable[SureHit], setting: float, peaks: Iterable[tuple[str, float]] = ()) -> Self:
        """Learn from a throw's hits, little by little: one that was none must make no landing sound loud.

        `peaks` are all that was heard in it, each with its wall.
        """
        known, top, loud = dict(self.counts_per_m_s), dict(self.top_counts), dict(self.hits)
        for wall, peak, change in hits:
            before, counts = known.get(wall, self.at(wall, setting)), peak / change
            whole = peak < TOP_SHARE * top.get(wall, 0.0)
            weight = LOUDER if counts > before else SOFTER if whole else 0.0
            known[wall] = round(before * (counts / before) ** weight, 1)
            top[wall] = max(peak, top.get(wall, 0.0))
            if whole and peak > 0.0:
                loud[wall] = (loud.get(wall) or self._likely(setting)).after(log(counts))
        least = {wall: round(FADES * counts, 1) for wall, counts in self.least_counts.items()}
        for wall, peak in peaks:
            least[wall] = min(peak, least.get(wall, peak))
        return type(self)(known, top, least, loud)

    def figures(self) -> dict[str, float]:
        """Return what was learned as the numbers of a recording's `state`."""
        told = {f"{_LOUD}{wall}": counts for wall, counts in sorted(self.counts_per_m_s.items())}
        told |= {f"{_TOP}{wall}": counts for wall, counts in sorted(self.top_counts.items())}
        told |= {f"{_QUIET}{wall}": counts for wall, counts in sorted(self.least_counts.items())}
        for wall, (mean, spread, hits) in sorted(self.hits.items()):
            told |= {f"{_MEAN}{wall}": mean, f"{_SPREAD}{wall}": spread, f"{_HITS}{wall}": hits}
        return told

    @classmethod
    def from_figures(cls, figures: Mapping[str, float]) -> Self:
        """Restore what `figures` returned; other figures are none of these."""
        spreads, counts = _of(figures, _SPREAD), _of(figures, _HITS)
        hits = {
            wall: HitLoudness(mean, spreads[wall], counts[wall])
            for wall, mean in _of(figures, _MEAN).items()
            if spreads.get(wall, 0.0) > 0.0 and counts.get(wall, 0.0) > 0.0
        }
        return cls(_of(figures, _LOUD), _of(figures, _TOP), _of(figures, _QUIET), hits)

    def _likely(self, setting: float) -> HitLoudness:
        """Return what is most likely of a wall that is not known yet: that of the other, or the setting."""
        mean = max((known.mean for known in self.hits.values()), default=log(setting))
        return HitLoudness(mean, FIRST_SPREAD, SETTING_HITS)


def _of(figures: Mapping[str, float], begins: str) -> dict[str, float]:
    return {key.removeprefix(begins): value for key, value in figures.items() if key.startswith(begins)}
