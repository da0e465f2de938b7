"""How loud hits of each wall of a table are, learned from those that are certain; part of the recorded state.

A wall turns a die by one blow, and its sensor hears that whole: an impact's peak is in proportion to the
die's change of speed. A landing on the felt beside it turns a die by friction, and only a sixteenth of its
blow reaches the sensor. So a landing is much the softer for its turn; but how soft that is in counts, a
table's own hits must tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

LOUDER, SOFTER = 0.5, 0.15
"""The weights of a hit louder than what is known, and of a softer one: felt has a part in many a turn, and of
several blows a sensor tells the hardest, but nothing makes a hit louder than by 1.3, its place."""
TOP_SHARE = 0.95
"""A peak of this share of the wall's loudest yet may be at the top of the sensor's range: the hit was as loud
at least."""
_LOUD, _TOP = "counts_per_m_s_", "top_counts_"


class SureHit(NamedTuple):
    """A hit that is certain: its peak, and by how much it turned the die (m/s)."""

    wall: str
    peak: float
    change: float


@dataclass(frozen=True, slots=True)
class Loudness:
    """Counts of a peak for each metre a second that it turns a die by, of each wall that is known."""

    counts_per_m_s: Mapping[str, float] = field(default_factory=dict)
    top_counts: Mapping[str, float] = field(default_factory=dict)
    """The loudest peak yet of each wall."""

    def at(self, wall: str, usual: float) -> float:
        """Return it for a wall; one not known yet is taken for as loud as the other, or as is usual."""
        return self.counts_per_m_s.get(wall, max(self.counts_per_m_s.values(), default=usual))

    def after(self, hits: Iterable[SureHit], usual: float) -> Self:
        """Learn from a throw's hits, little by little: one that was none must make no landing sound loud."""
        known, top = dict(self.counts_per_m_s), dict(self.top_counts)
        for wall, peak, change in hits:
            before, loud = known.get(wall, self.at(wall, usual)), peak / change
            weight = LOUDER if loud > before else SOFTER if peak < TOP_SHARE * top.get(wall, 0.0) else 0.0
            known[wall] = round(before * (loud / before) ** weight, 1)
            top[wall] = max(peak, top.get(wall, 0.0))
        return type(self)(known, top)

    def figures(self) -> dict[str, float]:
        """Return what was learned as the numbers of a recording's `state`."""
        loud = {f"{_LOUD}{wall}": counts for wall, counts in sorted(self.counts_per_m_s.items())}
        return loud | {f"{_TOP}{wall}": counts for wall, counts in sorted(self.top_counts.items())}

    @classmethod
    def from_figures(cls, figures: Mapping[str, float]) -> Self:
        """Restore what `figures` returned; other figures are none of these."""
        return cls(_of(figures, _LOUD), _of(figures, _TOP))


def _of(figures: Mapping[str, float], begins: str) -> dict[str, float]:
    return {key.removeprefix(begins): value for key, value in figures.items() if key.startswith(begins)}
