"""The sink's interface, and the rules for offering messages to it.

The number of messages in flight is limited, and unacknowledged messages are offered again after a delay.
`SilenceMonitor` detects when settlement has been silent for too long or is too far behind. The module does no
I/O. Times, in microseconds, and random numbers are passed in.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from controller.journal.contents import AckProof
from controller.model.tables import PublishSettings
from controller.publish.betting import OpenStatement
from controller.publish.events import Acknowledgement, Answer, Message, TableStatus
from controller.publish.wire import Signer

T = TypeVar("T")


class Ready:
    """The sink can now accept messages. Messages offered earlier might have been lost."""


class Acknowledged(NamedTuple):
    """An acknowledgement and its proof for the journal."""

    ack: Acknowledgement
    proof: AckProof


Report = Ready | Answer | Acknowledged
Post = Callable[[Report], None]
"""Accepts a report from any thread, and does not block."""


class Sink(Protocol):
    """A connection to the settlement engine.

    Slow work is done in the sink's thread; only `stop` may block.
    """

    @property
    def ready(self) -> bool:
        """Whether messages are accepted now. A sink that is not ready can drop messages."""

    def start(self, post: Post) -> None:
        """Start the sink, and pass its reports to `post`."""

    def offer(self, messages: Sequence[Message]) -> None:
        """Queue messages, in order. Only an acknowledgement shows that a message has arrived."""

    def send_open_statement(self, statement: OpenStatement, key: Signer) -> None:
        """Sign and send the statement that bets are open, or drop it if it can't be sent now."""

    def send_status(self, status: TableStatus) -> None:
        """Publish the table's status."""

    def show(self, board: bytes) -> None:
        """Publish the table's board, including to clients that connect later."""

    def stop(self, timeout_s: float) -> bool:
        """Stop the sink; return False if its thread does not end in time."""


RandomFraction = Callable[[], float]
"""Returns a random number from 0 to 1. Random delays keep tables from reconnecting to a broker all at
once."""


class Backoff:
    """Delays that double up to a limit. Each delay is shortened by a random amount of up to half."""

    def __init__(self, first_s: float, max_s: float, random_fraction: RandomFraction) -> None:
        self._first_us = first_s * 1e6
        self._max_us = max_s * 1e6
        self._random_fraction = random_fraction
        self._tries = 0

    def next_us(self) -> int:
        """Return the next delay in microseconds."""
        max_us = min(self._max_us, self._first_us * 2.0 ** min(self._tries, 32))
        self._tries += 1
        return round(max_us * (0.5 + self._random_fraction() / 2))

    def shorten(self) -> None:
        """Shorten the next delay, but not straight back to the first, as the receiver might be slow."""
        self._tries //= 2

    def reset(self) -> None:
        """Start again with the first delay."""
        self._tries = 0


class Window:
    """The outcomes that have been offered and not yet acknowledged, in order."""

    def __init__(self, settings: PublishSettings, random_fraction: RandomFraction) -> None:
        self._size = settings.max_in_flight
        self._backoff = Backoff(settings.retry_s, settings.retry_most_s, random_fraction)
        self._waiting: dict[str, Message] = {}
        self._due_us: int | None = None
        self._newest_seq = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def oldest(self) -> Message | None:
        """The oldest unacknowledged outcome."""
        return next(iter(self._waiting.values()), None)

    @property
    def room(self) -> int:
        """The number of further outcomes that can be offered. The window's size limits the span from the
        oldest unacknowledged outcome to the newest offered one.
        """
        oldest = self.oldest
        if oldest is None:
            return self._size
        return max(0, self._size - (self._newest_seq - oldest.seq + 1))

    @property
    def due_us(self) -> int | None:
        """The time at which waiting outcomes are offered again; None if no outcome is waiting."""
        return self._due_us if self._waiting else None

    def add(self, messages: Iterable[Message], now_us: int) -> None:
        """Add messages that have just been offered."""
        for message in messages:
            self._waiting[message.id] = message
            self._newest_seq = message.seq
        if self._due_us is None and self._waiting:
            self._due_us = now_us + self._backoff.next_us()

    def holds(self, outcome_id: str, chain: str) -> bool:
        """Return whether an outcome with this id and chain hash is waiting."""
        message = self._waiting.get(outcome_id)
        return message is not None and message.chain == chain

    def remove(self, outcome_id: str, now_us: int) -> None:
        """Remove an acknowledged outcome."""
        del self._waiting[outcome_id]
        self._backoff.shorten()
        self._due_us = now_us + self._backoff.next_us() if self._waiting else None

    def due(self, now_us: int) -> tuple[Message, ...]:
        """Return all waiting messages, in order, if they are due to be offered again."""
        if self._due_us is None or now_us < self._due_us:
            return ()
        self._due_us = now_us + self._backoff.next_us()
        return tuple(self._waiting.values())

    def offer_again_now(self, now_us: int) -> None:
        """Make all waiting outcomes due now, for example after a reconnection."""
        self._backoff.reset()
        if self._waiting:
            self._due_us = now_us

    def clear(self) -> None:
        """Remove all messages. They remain in the outbox."""
        self._waiting.clear()
        self._backoff.reset()
        self._due_us = None


class SilenceMonitor:
    """Detects when settlement has been silent for too long or is too many outcomes behind."""

    def __init__(self, settings: PublishSettings) -> None:
        self._max_waiting = settings.max_unacknowledged
        self._max_silence_us = round(settings.max_silence_s * 1e6)
        self._received_us: int | None = None
        self._behind = False

    def note_acknowledgement(self, now_us: int) -> None:
        """Record an acknowledgement."""
        self._received_us = now_us

    def silent(self, now_us: int, waiting: int) -> bool:
        """Return whether outcomes are waiting and the last acknowledgement is too old."""
        if self._received_us is None or not waiting:
            self._received_us = now_us
        return now_us - self._received_us > self._max_silence_us

    def behind(self, waiting: int) -> bool:
        """Return whether too many outcomes are waiting.

        Once True, the result remains True while the number of waiting outcomes is above half of the limit.
        """
        if self._max_waiting is not None:
            self._behind = waiting > (self._max_waiting // 2 if self._behind else self._max_waiting)
        return self._behind


BETS_REPORT_EVERY_US = 200_000
"""Minimum interval between reports on bets that are passed to the core."""


class NewestReport(Generic[T]):
    """Limits the rate of reports. It keeps only the newest report until one is due, and drops duplicates.

    A report older than the previous one, or older than the outcomes acknowledged at the start, is a copy and
    is ignored.
    """

    def __init__(self, acknowledged_seq: int) -> None:
        self._at = (acknowledged_seq, 0)
        self._received: T | None = None
        self._passed_on: T | None = None
        self._due_us = 0

    def put(self, report: T, at: tuple[int, int]) -> None:
        """Store a report. `at` is its position: the newest settled outcome and the wager book's step."""
        if at >= self._at:
            self._received, self._at = report, at

    def due(self, now_us: int) -> T | None:
        """Return the report to pass on now; None if there is no new report or it is not due."""
        if self._received == self._passed_on or now_us < self._due_us:
            return None
        self._passed_on, self._due_us = self._received, now_us + BETS_REPORT_EVERY_US
        return self._passed_on
