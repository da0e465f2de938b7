"""The table's requests to a node: commands, and queries from which the node's clock is estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, sqrt

from drivers.node.sentences import CLOCK_US, PING_RETRY_US, CommandResult, Sentence
from drivers.node.wire import Wire

MEMORY_US = 30e6
"""Age at which an answer's weight has decayed to 1/e. It is short enough to follow a board's warm-up."""
MAX_DRIFT = 500e-6
"""Maximum drift that NODE-LINK.md allows. A crystal meets this limit; a ceramic resonator (0.5 %)
might not."""
USUAL_DRIFT = 50e-6
"""Standard deviation of the drift, assumed before measurements are available."""
MIN_ERROR_US = 30.0
"""Constant part of an answer's assumed error. The rest depends on the answer's round trip."""
BEST_ROUND_TRIP_DECAY = 20e-6
"""Rate at which the stored quickest round trip increases: 20 us per second. A single exceptionally fast round
trip therefore loses its influence."""
CONTRADICTION_MARGIN_US = 1000.0
"""Maximum deviation of an answer from the fitted line, in addition to half the answer's round trip."""
MAX_CONTRADICTIONS = 3
"""Number of consecutive outliers after which the node's clock is assumed to have been reset."""
MIN_ANSWERS = 5
DRIFT_EVIDENCE_RATIO = 10.0
"""Factor by which measurements must outweigh USUAL_DRIFT before an excessive drift is treated as an error."""


@dataclass(frozen=True, slots=True)
class ClockAnswer:
    """The four times of a query and its answer."""

    sent_us: int
    """Table time at which the query was sent."""
    received_us: int
    """Node time at which the query was received."""
    answered_us: int
    """Node time at which the answer was sent."""
    returned_us: int
    """Table time at which the answer arrived."""


class ClockStepError(Exception):
    """Raised if the node's clock was reset or its drift is excessive."""


class NodeClock:
    """The table's estimate of one node's clock, a straight line fitted to the answers."""

    def __init__(self) -> None:
        self.best_us: float = 0.0
        """The quickest recent round trip, in microseconds."""
        self.answers = 0
        """Number of answers used."""
        self.outliers = 0
        """Number of answers that contradicted the fitted line."""
        self._weight = 0.0
        self._node = 0.0
        self._offset = 0.0
        self._spread = 0.0
        self._slope = 0.0
        self._newest = 0.0
        self._contradictions = 0

    @property
    def ready(self) -> bool:
        """Whether the estimate is based on enough answers."""
        return self.answers >= MIN_ANSWERS

    @property
    def drift(self) -> float:
        """Fraction by which the table's clock runs faster than the node's (1e-6 is 1 ppm)."""
        prior = 1 / USUAL_DRIFT**2
        return self._slope / (self._spread + prior)

    @property
    def error_us(self) -> float:
        """Error of `to_table`, estimated as half the quickest round trip plus the line's standard error."""
        return self.best_us / 2 + sqrt(1 / self._weight) if self._weight else float("inf")

    def learn(self, answer: ClockAnswer) -> None:
        """Update the estimate with an answer.

        Raises:
            ClockStepError: If several successive answers contradict the estimate, or the drift is excessive.
        """
        round_us = (answer.returned_us - answer.sent_us) - (
            answer.answered_us - answer.received_us
        ) % CLOCK_US
        if round_us < 0:
            self._contradict()
            return
        table = (answer.sent_us + answer.returned_us) / 2
        if not self.answers:
            self._node = self._newest = float(answer.received_us)
        got = self._unwrap(answer.received_us, answer.sent_us + round_us / 2)
        node = got + ((answer.answered_us - answer.received_us) % CLOCK_US) / 2
        offset = table - node
        if self.ready and abs(offset - self._offset_at(node)) > round_us / 2 + CONTRADICTION_MARGIN_US:
            self._contradict()
            return
        self._contradictions = 0
        aged = self.best_us + BEST_ROUND_TRIP_DECAY * max(0.0, node - self._newest)
        self.best_us = float(round_us) if not self.answers else min(float(round_us), aged)
        self._add(node, offset, MIN_ERROR_US + self.best_us / 4 + (round_us - self.best_us) / 2)
        self.answers += 1
        if abs(self.drift) > MAX_DRIFT and self._spread > DRIFT_EVIDENCE_RATIO / USUAL_DRIFT**2:
            raise ClockStepError(
                f"found a drift of {self.drift * 1e6:+.0f} ppm between the node's clock and the table's,"
                f" expected at most {MAX_DRIFT * 1e6:.0f} ppm"
            )

    def to_table(self, clock_us: int, now_us: int) -> int:
        """Convert a raw value of the node's clock, read at about `now_us`, to table microseconds."""
        node = self._unwrap(clock_us, now_us)
        return round(node + self._offset_at(node))

    def _offset_at(self, node: float) -> float:
        return self._offset + (node - self._node) * self.drift

    def _unwrap(self, clock_us: int, table_us: float) -> float:
        """Of all node times with this clock value, return the one nearest to the table's time, unwrapped."""
        estimate = self._newest if not self.answers else table_us - self._offset_at(self._newest)
        difference = (clock_us - estimate + CLOCK_US / 2) % CLOCK_US - CLOCK_US / 2
        return estimate + difference

    def _add(self, node: float, offset: float, error_us: float) -> None:
        if not self.answers:
            self._offset = offset
        decay = exp(-max(0.0, node - self._newest) / MEMORY_US)
        self._newest = max(self._newest, node)
        weight = 1 / error_us**2
        self._weight = self._weight * decay + weight
        node_delta = node - self._node
        gain = weight / self._weight
        self._node += gain * node_delta
        offset_delta = offset - self._offset
        self._offset += gain * offset_delta
        self._spread = self._spread * decay + weight * node_delta * (node - self._node)
        self._slope = self._slope * decay + weight * node_delta * (offset - self._offset)

    def _contradict(self) -> None:
        self.outliers += 1
        self._contradictions += 1
        if self._contradictions >= MAX_CONTRADICTIONS:
            raise ClockStepError("the node's clock was reset, or the answers came from another node")


MAX_TRIES = 4
RETRY_US = 150_000
MAX_WAITING = 32
EXPIRY_US = 2_000_000
"""Maximum time for which a command waits for its node to come up."""


@dataclass(slots=True)
class _WaitingCommand:
    verb: str
    fields: dict[str, str]
    queued_us: int
    due_us: int
    tries: int = 0


class Commands:
    """The commands that have not been acknowledged yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, _WaitingCommand] = {}
        self._number = 0

    def add(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Queue a command and return its number. Raises OverflowError if MAX_WAITING commands are waiting."""
        if len(self._waiting) >= MAX_WAITING:
            raise OverflowError(f"{MAX_WAITING} commands are already waiting for the node")
        self._number += 1
        self._waiting[self._number] = _WaitingCommand(
            verb, {"id": str(self._number), **fields}, now_us, now_us
        )
        return self._number

    def next_deadline(self) -> int | None:
        """Return when the next command is due to be sent, retried or abandoned."""
        return min((waiting.due_us for waiting in self._waiting.values()), default=None)

    def send_due(self, now_us: int, wire: Wire) -> list[CommandResult]:
        """Send the commands that are due; return the results of commands unanswered after MAX_TRIES."""
        unanswered = []
        for number, waiting in list(self._waiting.items()):
            if now_us < waiting.due_us:
                continue
            if waiting.tries == MAX_TRIES:
                unanswered.append(self._end(number, f"no answer after {MAX_TRIES} tries"))
                continue
            waiting.tries += 1
            waiting.due_us = now_us + RETRY_US
            wire.send(now_us, waiting.verb, waiting.fields)
        return unanswered

    def expire(self, now_us: int) -> list[CommandResult]:
        """Abandon commands that have waited too long for the node to come up; return their results."""
        expired = [n for n, waiting in self._waiting.items() if now_us >= waiting.queued_us + EXPIRY_US]
        return [self._end(number, "the node is not up") for number in expired]

    def next_expiry(self) -> int | None:
        """Return when the next command waiting for the node to come up will be abandoned."""
        return min((waiting.queued_us + EXPIRY_US for waiting in self._waiting.values()), default=None)

    def handle_acknowledgement(self, fields: Mapping[str, str]) -> CommandResult | None:
        """Return the result of an acknowledged command; None if no such command is waiting."""
        number = fields.get("id", "")
        if not number.isdecimal() or len(number) > 10 or int(number) not in self._waiting:
            return None
        del self._waiting[int(number)]
        return CommandResult(int(number), fields.get("ok") == "1", fields.get("says", ""))

    def _end(self, number: int, message: str) -> CommandResult:
        waiting = self._waiting.pop(number)
        return CommandResult(number, ok=False, message=f"{waiting.verb}: {message}")


MAX_OPEN_QUERIES = 8
MAX_PADDING = 64


class ClockQueries:
    """The clock queries (pings) that are waiting for an answer.

    A sentence takes milliseconds on a slow line. A query is padded to the length of its answer so that both
    take the same time at any line speed.
    """

    def __init__(self) -> None:
        self._sent_us: dict[int, int] = {}
        self._number = 0
        self._padding = 0
        self._answer_bytes: int | None = None
        self.unanswered_us: int | None = None
        """Time of the first query since the last answer; None if no query has been sent since."""

    def forget(self) -> None:
        """Discard all queries sent so far."""
        self._sent_us.clear()
        self.unanswered_us = None

    def ignored(self, received_us: int) -> bool:
        """Return whether the node has left a query unanswered although it has sent sentences since the query.

        `received_us` is the time of the latest sentence from the node.
        """
        return self.unanswered_us is not None and received_us >= self.unanswered_us + PING_RETRY_US

    def send(self, now_us: int, wire: Wire) -> None:
        """Send the next query."""
        self._number += 1
        self._sent_us[self._number] = now_us
        if self.unanswered_us is None:
            self.unanswered_us = now_us
        if len(self._sent_us) > MAX_OPEN_QUERIES:
            del self._sent_us[next(iter(self._sent_us))]
        line = wire.send(now_us, "ping", {"id": str(self._number), "pad": "0" * self._padding})
        if self._answer_bytes is not None:
            self._padding = min(MAX_PADDING, max(0, self._padding + self._answer_bytes - len(line)))

    def answer(self, sentence: Sentence, line_bytes: int, now_us: int) -> ClockAnswer | None:
        """Return the four times of a query and its answer; None if the answer matches no query.

        `line_bytes` is the length of the answer's line.
        """
        number, got = number_in(sentence.fields, "id"), number_in(sentence.fields, "got")
        if number is None or got is None or got >= CLOCK_US:
            return None
        sent_us = self._sent_us.pop(number, None)
        if sent_us is None:
            return None
        self.unanswered_us = None
        self._answer_bytes = line_bytes
        return ClockAnswer(sent_us, got, sentence.clock_us, now_us)


def number_in(fields: Mapping[str, str], name: str, missing: str = "") -> int | None:
    """Return a field's value if it is a whole number of at most ten digits; otherwise None.

    `missing` is the value assumed for an absent field.
    """
    text = fields.get(name, missing)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None
