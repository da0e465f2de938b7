"""The sink for a settlement engine in this process."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple, Protocol

from controller.model.tables import EmbeddedSettings
from controller.publish.betting import OpenStatement
from controller.publish.events import (
    Acknowledgement,
    Answer,
    LateWagersQuery,
    Message,
    PlayQuery,
    TableStatus,
)
from controller.publish.faults import Alarm, PublishFault
from controller.publish.sink import Post, Ready
from controller.publish.wire import Signer

WAIT_TIMEOUT_S = 0.5
SETTLEMENT_FAULTS = frozenset({"settlement_failed", "settlement_refused", "settlement_unfit"})
"""Faults of an engine in this process. At most one is active."""


class Enrolment(NamedTuple):
    """The data for a table's enrolment. `never_settled` is True if none of its outcomes has been settled."""

    public_key: bytes
    never_settled: bool


class EngineSetup(NamedTuple):
    """The setup of an engine in this process: the table's data, and functions that query or inform the table.

    `enrolment` needs an open journal.
    """

    table: str
    rules: str
    settings: EmbeddedSettings
    folder: Path
    """The journal's folder, which is also the default folder of the engine's files."""
    enrolment: Callable[[], Enrolment]
    ask: Callable[[str], bool] = lambda _nonce: False
    """Asks the table, with a nonce, whether bets are open. Returns False if the table can't be asked."""
    ask_late: Callable[[LateWagersQuery], bool] = lambda _query: False
    """Lodges, for confirmation, a wager made with the dice out. Returns False if the table refuses it."""
    line_bet: Callable[[str, bool], None] = lambda _seat, _has: None
    """Reports to the table whether the shooter at a seat has a line bet."""
    pair_plus: Callable[[tuple[str, ...]], None] = lambda _without: None
    """Reports to the table which positions have an Ante and no Pair Plus."""
    ask_play: Callable[[PlayQuery], bool] = lambda _query: False
    """Asks the table whether it accepts Play at some positions. Returns False if the table can't be asked."""
    played: Callable[[int, tuple[str, ...]], None] = lambda _round, _seats: None
    """Reports to the table which positions have a Play wager in a round of bets."""


class EngineBlocked(Exception):
    """The engine can't continue until a person intervenes. `code` is a key of FAULTS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Consumer(Protocol):
    """A settlement engine. All calls except `receive_statement` come from one thread."""

    def begin(self) -> None:
        """Prepare for events. If this raises an exception, `take` must prepare instead."""
        return

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        """Handle an event. Call `answer` once the event's effect is durable, now or later, from any thread.

        Acknowledge an event again if it was settled before. If this raises an exception, the table offers the
        event again.
        """

    def receive_statement(self, statement: OpenStatement) -> None:
        """Handle the table's statement that bets are open. Called from the core's thread; must not block."""
        del statement

    def end(self) -> None:
        """Release all resources."""
        return


class EmbeddedSink:
    """Passes events to an engine in a separate thread. A slow engine does not delay other threads."""

    def __init__(self, consumer: Consumer, alarm: Alarm) -> None:
        """Prepare without starting the thread; see `start`."""
        self._consumer = consumer
        self._alarm = alarm
        self._waiting: dict[str, bytes] = {}
        self._just_acknowledged: set[str] = set()
        self._lock = Lock()
        self._started = False
        self._wakeup = Event()
        self._stopping = False
        self._post: Post = _discard
        self._thread = Thread(target=self._run, name="settlement", daemon=True)

    @property
    def ready(self) -> bool:
        """Whether the engine's thread is running."""
        return self._started and not self._stopping

    def start(self, post: Post) -> None:
        """Start passing events on."""
        self._post = post
        self._started = True
        self._thread.start()
        post(Ready())

    def offer(self, messages: Sequence[Message]) -> None:
        """Queue messages for the engine, except those already queued or just acknowledged."""
        with self._lock:
            for message in messages:
                if message.id not in self._just_acknowledged:
                    self._waiting.setdefault(message.id, message.event)
            # The pump handles answers before each offer, so earlier answers have been handled or lost.
            self._just_acknowledged.clear()
        self._wakeup.set()

    def send_open_statement(self, statement: OpenStatement, key: Signer) -> None:
        """Pass the statement on unsigned, since the engine is in the same process."""
        del key
        self._consumer.receive_statement(statement)

    def send_status(self, status: TableStatus) -> None:
        """Do nothing, since an engine in this process starts and ends with the table."""

    def show(self, board: bytes) -> None:
        """Do nothing, since displays use a broker or the control socket."""

    def stop(self, timeout_s: float) -> bool:
        """Stop passing events on; return False if the engine's thread does not end in time."""
        self._stopping = True
        self._wakeup.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._try(self._consumer.begin)
        while not self._stopping:
            self._wakeup.wait(WAIT_TIMEOUT_S)
            self._wakeup.clear()
            while (first := self._first()) is not None and not self._stopping:
                outcome_id, event = first
                self._try(partial(self._consumer.take, event, self._answer))
                with self._lock:
                    del self._waiting[outcome_id]
        self._try(self._consumer.end)

    def _first(self) -> tuple[str, bytes] | None:
        """Return the id and the event of the outcome that has waited longest."""
        with self._lock:
            return next(iter(self._waiting.items()), None)

    def _try(self, action: Callable[[], None]) -> None:
        code = None
        try:
            action()
        except EngineBlocked as blocked:
            code, found = blocked.code, str(blocked)
        except Exception as error:  # noqa: BLE001 - after any exception, the outcome is offered again
            code, found = "settlement_failed", f"{type(error).__name__}: {error}"
        for other in SETTLEMENT_FAULTS - {code}:
            self._alarm.clear(other)
        if code is not None:
            self._alarm.report(PublishFault(code, "settlement engine", found))

    def _answer(self, answer: Answer) -> None:
        """Record the engine's answer and post it. The lock keeps `offer` from running in between."""
        with self._lock:
            if isinstance(answer, Acknowledgement):
                self._just_acknowledged.add(answer.id)
            self._post(answer)


def _discard(_report: object) -> None:
    """Discard a report. No report is expected before `start`."""
