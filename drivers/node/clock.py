"""From a node's clock to the table's: offset and drift from questions and answers.

A question leaves the table at `sent`, is received by the node at `got`, answered at `said`, and the answer is
received at `back`. The node's middle and the table's are the same moment up to the asymmetry of the two
directions. A line through many such pairs, the newer and the quicker ones weighing more, gives offset and
drift.
"""

from dataclasses import dataclass
from math import exp, sqrt

from drivers.node.sentences import CLOCK_US

MEMORY_US = 30e6
"""A pair this old weighs 1/e of a new one: short enough to follow a board that warms up."""
MAX_DRIFT = 500e-6
"""No crystal that a node may use is further off (ceramic resonators keep 0.5 %, which is not
good enough: NODE-LINK.md asks for a crystal)."""
USUAL_DRIFT = 50e-6
MIN_ERROR_US = 30.0
"""The assumed error of the quickest answer."""
BEST_ROUND_TRIP_DECAY = 20e-6
"""How fast the quickest round trip is forgotten: 20 us a second, so that one lucky round trip does not
dominate forever."""
CONTRADICTION_MARGIN_US = 1000.0
"""How far outside its own round trip an answer may lie before it contradicts the line."""
CONTRADICTIONS = 3
"""This many answers in a row off the fitted line mean that the node's clock was reset."""
MIN_ANSWERS = 5
DRIFT_EVIDENCE_RATIO = 10.0
"""The evidence for a drift must outweigh the usual one this many times before it is an error."""


@dataclass(frozen=True, slots=True)
class ClockAnswer:
    """One question and its answer: `sent` and `back` on the table's clock, `got` and `said` on the node's."""

    sent_us: int
    got_us: int
    said_us: int
    back_us: int


class ClockStepError(Exception):
    """The node's clock was reset, or runs at an impossible rate."""


class NodeClock:
    """One node's clock as the table knows it."""

    def __init__(self) -> None:
        self.best_us: float = 0.0
        """The quickest recent round trip, in microseconds."""
        self.answers = 0
        self.outliers = 0
        self._weight = 0.0
        self._node = 0.0
        self._offset = 0.0
        self._spread = 0.0
        self._slope = 0.0
        self._newest = 0.0
        self._contradictions = 0

    @property
    def ready(self) -> bool:
        """Return whether enough answers were heard to trust it."""
        return self.answers >= MIN_ANSWERS

    @property
    def drift(self) -> float:
        """Return how much faster the table's clock runs, as a fraction (1e-6 is 1 ppm)."""
        prior = 1 / USUAL_DRIFT**2
        return self._slope / (self._spread + prior)

    @property
    def error_us(self) -> float:
        """Return how far off the mapping may be: half the quickest round trip, and the line's own error."""
        return self.best_us / 2 + sqrt(1 / self._weight) if self._weight else float("inf")

    def learn(self, answer: ClockAnswer) -> None:
        """Handle an answer.

        Raises ClockStepError where answers keep contradicting what was learnt.
        """
        round_us = (answer.back_us - answer.sent_us) - (answer.said_us - answer.got_us) % CLOCK_US
        if round_us < 0:
            self._contradict()
            return
        table = (answer.sent_us + answer.back_us) / 2
        if not self.answers:
            self._node = self._newest = float(answer.got_us)
        got = self._unwrapped(answer.got_us, answer.sent_us + round_us / 2)
        node = got + ((answer.said_us - answer.got_us) % CLOCK_US) / 2
        offset = table - node
        if self.ready and abs(offset - self._offset_at(node)) > round_us / 2 + CONTRADICTION_MARGIN_US:
            self._contradict()
            return
        self._contradictions = 0
        aged = self.best_us + BEST_ROUND_TRIP_DECAY * max(0.0, node - self._newest)
        self.best_us = float(round_us) if not self.answers else min(float(round_us), aged)
        self._weigh_in(node, offset, MIN_ERROR_US + self.best_us / 4 + (round_us - self.best_us) / 2)
        self.answers += 1
        if abs(self.drift) > MAX_DRIFT and self._spread > DRIFT_EVIDENCE_RATIO / USUAL_DRIFT**2:
            raise ClockStepError(
                f"the node's clock is {self.drift * 1e6:+.0f} ppm off, expected at most {MAX_DRIFT * 1e6:.0f}"
            )

    def to_table(self, clock_us: int, now_us: int) -> int:
        """Return the table's time of a raw node clock that was read at about `now_us`."""
        node = self._unwrapped(clock_us, now_us)
        return round(node + self._offset_at(node))

    def _offset_at(self, node: float) -> float:
        return self._offset + (node - self._node) * self.drift

    def _unwrapped(self, clock_us: int, table_us: float) -> float:
        """Undo the wrap: of all node times with this clock, the one nearest to the table's time."""
        near = self._newest if not self.answers else table_us - self._offset_at(self._newest)
        behind = (clock_us - near + CLOCK_US / 2) % CLOCK_US - CLOCK_US / 2
        return near + behind

    def _weigh_in(self, node: float, offset: float, error_us: float) -> None:
        if not self.answers:
            self._offset = offset
        fade = exp(-max(0.0, node - self._newest) / MEMORY_US)
        self._newest = max(self._newest, node)
        weight = 1 / error_us**2
        self._weight = self._weight * fade + weight
        before = node - self._node
        share = weight / self._weight
        self._node += share * before
        off = offset - self._offset
        self._offset += share * off
        self._spread = self._spread * fade + weight * before * (node - self._node)
        self._slope = self._slope * fade + weight * before * (offset - self._offset)

    def _contradict(self) -> None:
        self.outliers += 1
        self._contradictions += 1
        if self._contradictions >= CONTRADICTIONS:
            raise ClockStepError("the node's clock was reset, or the answers are another node's")
