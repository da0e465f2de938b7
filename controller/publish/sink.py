"""Sinks: they accept messages in order, a few at a time, repeat them after a while, and report the answers.

The window also notices when settlement has been silent for too long or is too far behind. Pure: the time in
microseconds and the random numbers (0 to 1) that spread the waits are passed in.
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
    """The sink has just become able to accept messages: what was offered before may be lost."""


class Acknowledged(NamedTuple):
    """An acknowledgement, with its proof for the journal."""

    ack: Acknowledgement
    proof: AckProof


Report = Ready | Answer | Acknowledged
Post = Callable[[Report], None]
"""Accepts a report from any thread, and returns at once."""


class Sink(Protocol):
    """A connection to the settlement engine. No method waits: the sink's own thread does what takes time."""

    @property
    def ready(self) -> bool:
        """Whether messages are accepted now; those offered while it is not may be dropped."""

    def start(self, post: Post) -> None:
        """Start, and pass reports to this."""

    def offer(self, messages: Sequence[Message]) -> None:
        """Queue messages in order. Only an acknowledgement shows that they arrived."""

    def send_open_statement(self, word: OpenStatement, key: Signer) -> None:
        """Send the signed statement that bets are open; one that can't be sent now is dropped."""

    def send_status(self, status: TableStatus) -> None:
        """Publish the table's status."""

    def show(self, board: bytes) -> None:
        """Publish the table's board, also for those who connect later."""

    def stop(self, timeout_s: float) -> bool:
        """End; return False if the thread did not end in time."""


Chance = Callable[[], float]
"""Returns a number from 0 up to 1, so that tables do not all reconnect to a broker at the same moment."""


class Backoff:
    """Waits that double up to a limit, each shortened at random by up to half."""

    def __init__(self, first_s: float, most_s: float, chance: Chance) -> None:
        self._first_us = first_s * 1e6
        self._most_us = most_s * 1e6
        self._chance = chance
        self._tries = 0

    def next_us(self) -> int:
        """Return the next wait in microseconds."""
        longest = min(self._most_us, self._first_us * 2.0 ** min(self._tries, 32))
        self._tries += 1
        return round(longest * (0.5 + self._chance() / 2))

    def shorten(self) -> None:
        """Shorten the next wait, but not to the first: a slow receiver is not helped by repetition."""
        self._tries //= 2

    def reset(self) -> None:
        """Start again with the first wait."""
        self._tries = 0


class Window:
    """The outcomes that were offered and not acknowledged, in order."""

    def __init__(self, settings: PublishSettings, chance: Chance) -> None:
        self._size = settings.max_in_flight
        self._backoff = Backoff(settings.retry_s, settings.retry_most_s, chance)
        self._waiting: dict[str, Message] = {}
        self._due_us: int | None = None
        self._newest_seq = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def oldest(self) -> Message | None:
        """The first that is not acknowledged."""
        return next(iter(self._waiting.values()), None)

    @property
    def room(self) -> int:
        """How many more may be offered: an outcome that is stuck delays those that follow it."""
        oldest = self.oldest
        if oldest is None:
            return self._size
        return max(0, self._size - (self._newest_seq - oldest.seq + 1))

    @property
    def due_us(self) -> int | None:
        """When waiting outcomes are offered again; None while none wait."""
        return self._due_us if self._waiting else None

    def add(self, messages: Iterable[Message], now_us: int) -> None:
        """Note that these were offered now."""
        for message in messages:
            self._waiting[message.id] = message
            self._newest_seq = message.seq
        if self._due_us is None and self._waiting:
            self._due_us = now_us + self._backoff.next_us()

    def holds(self, outcome_id: str, chain: str) -> bool:
        """Return whether this outcome waits, with this chain hash."""
        message = self._waiting.get(outcome_id)
        return message is not None and message.chain == chain

    def acknowledged(self, outcome_id: str, now_us: int) -> None:
        """Remove an outcome that waited."""
        del self._waiting[outcome_id]
        self._backoff.shorten()
        self._due_us = now_us + self._backoff.next_us() if self._waiting else None

    def due(self, now_us: int) -> tuple[Message, ...]:
        """Return everything that waits, in order, if it is time to offer it again."""
        if self._due_us is None or now_us < self._due_us:
            return ()
        self._due_us = now_us + self._backoff.next_us()
        return tuple(self._waiting.values())

    def offer_again_now(self, now_us: int) -> None:
        """Offer waiting outcomes at once: the receiver has just come back."""
        self._backoff.reset()
        if self._waiting:
            self._due_us = now_us

    def clear(self) -> None:
        """Forget what was offered; it is still in the outbox."""
        self._waiting.clear()
        self._backoff.reset()
        self._due_us = None


class Patience:
    """Notices that settlement has been silent for too long or is too many outcomes behind."""

    def __init__(self, settings: PublishSettings) -> None:
        self._most = settings.max_unacknowledged
        self._longest_us = round(settings.max_silence_s * 1e6)
        self._heard_us: int | None = None
        self._behind = False

    def note_acknowledgement(self, now_us: int) -> None:
        """Note an acknowledgement."""
        self._heard_us = now_us

    def silent(self, now_us: int, waiting: int) -> bool:
        """Return whether outcomes wait and nothing was acknowledged for too long."""
        if self._heard_us is None or not waiting:
            self._heard_us = now_us
        return now_us - self._heard_us > self._longest_us

    def behind(self, waiting: int) -> bool:
        """Return whether too many wait; that ends when half of the limit is left."""
        if self._most is not None:
            self._behind = waiting > (self._most // 2 if self._behind else self._most)
        return self._behind


BETS_REPORT_EVERY_US = 200_000
"""The newest report of the engine on bets is passed to the core at most this often."""


class NewestReport(Generic[T]):
    """Holds the newest report until it is due: repetitions must not take the space reserved for play.

    A report older than one received, or than what was acknowledged at the start, is a replayed copy.
    """

    def __init__(self, acknowledged_seq: int) -> None:
        self._at = (acknowledged_seq, 0)
        self._received: T | None = None
        self._passed_on: T | None = None
        self._due_us = 0

    def put(self, report: T, at: tuple[int, int]) -> None:
        """Store a report with the outcome and the step of the engine's book at which it held."""
        if at >= self._at:
            self._received, self._at = report, at

    def due(self, now_us: int) -> T | None:
        """Return the report to pass on now; None if there is none, or it has been passed on."""
        if self._received == self._passed_on or now_us < self._due_us:
            return None
        self._passed_on, self._due_us = self._received, now_us + BETS_REPORT_EVERY_US
        return self._passed_on
