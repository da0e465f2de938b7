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
"""Faults of an engine in this process: at most one is active."""


class Enrolment(NamedTuple):
    """A table's data for enrolment: its public key, and whether none of its outcomes was settled before."""

    public_key: bytes
    never_settled: bool


class EngineSetup(NamedTuple):
    """The setup of an engine in this process: its table, and the functions with which it queries the table
    and reports to it.

    `enrolment` needs an open journal.
    """

    table: str
    rules: str
    settings: EmbeddedSettings
    folder: Path
    """The journal's folder, which by default also holds the engine's own files."""
    enrolment: Callable[[], Enrolment]
    ask: Callable[[str], bool] = lambda _nonce: False
    """Asks the table, with a nonce, whether bets are open; returns False if the table can't be asked."""
    ask_late: Callable[[LateWagersQuery], bool] = lambda _query: False
    """Asks the table whether a wager made with the dice out is confirmed in time; returns False if the table
    does not lodge it."""
    line_bet: Callable[[str, bool], None] = lambda _seat, _has: None
    """Reports to the table whether the shooter at a seat has the line bet."""
    pair_plus: Callable[[tuple[str, ...]], None] = lambda _without: None
    """Reports to the table which positions have an Ante and no Pair Plus."""
    ask_play: Callable[[PlayQuery], bool] = lambda _query: False
    """Asks the table whether it accepts Play at some positions; returns False if the table can't be asked."""
    played: Callable[[int, tuple[str, ...]], None] = lambda _round, _seats: None
    """Reports to the table which positions have a Play wager in a round of bets."""


class Blocked(Exception):
    """Raised by an engine if a person must correct something first; `code` is a key of FAULTS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Consumer(Protocol):
    """A settlement engine. All calls except `receive_statement` come from one thread."""

    def begin(self) -> None:
        """Prepare; an engine that raises here must prepare at the next event instead."""
        return

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        """Handle an event; call `answer` once its effect is durable, now or later, from any thread.

        An event that was settled before is acknowledged again. If this raises anything, the event is offered
        again.
        """

    def receive_statement(self, statement: OpenStatement) -> None:
        """Handle the table's own statement that bets are open, in the core's thread; return immediately."""
        del statement

    def end(self) -> None:
        """Release everything."""
        return


class EmbeddedSink:
    """Passes events to an engine in a separate thread, so that a slow engine delays nothing else."""

    def __init__(self, consumer: Consumer, alarm: Alarm) -> None:
        """Prepare; no event is passed on before `start`."""
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
        """Begin to pass events on."""
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
            # The pump handles answers before it offers again: by now it has handled these, or lost them.
            self._just_acknowledged.clear()
        self._wakeup.set()

    def send_open_statement(self, statement: OpenStatement, key: Signer) -> None:
        """Pass the statement on unsigned: the engine is in the same process."""
        del key
        self._consumer.receive_statement(statement)

    def send_status(self, status: TableStatus) -> None:
        """Do nothing: an engine in this process starts and ends with the table."""

    def show(self, board: bytes) -> None:
        """Do nothing: displays use a broker or the control socket."""

    def stop(self, timeout_s: float) -> bool:
        """Stop passing events on; return False if the engine does not end in time."""
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
        """Return the message that has waited longest; another thread may offer more, hence the lock."""
        with self._lock:
            return next(iter(self._waiting.items()), None)

    def _try(self, action: Callable[[], None]) -> None:
        code = None
        try:
            action()
        except Blocked as blocked:
            code, found = blocked.code, str(blocked)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises, the outcome is offered again
            code, found = "settlement_failed", f"{type(error).__name__}: {error}"
        for other in SETTLEMENT_FAULTS - {code}:
            self._alarm.clear(other)
        if code is not None:
            self._alarm.report(PublishFault(code, "settlement engine", found))

    def _answer(self, answer: Answer) -> None:
        """Record the engine's answer and pass it on, under the lock so that no offer comes in between."""
        with self._lock:
            if isinstance(answer, Acknowledgement):
                self._just_acknowledged.add(answer.id)
            self._post(answer)


def _discard(_report: object) -> None:
    """Discard a report; none is expected before `start`."""
