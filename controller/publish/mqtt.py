"""The sink for a settlement engine behind an MQTT 5 broker.

One thread connects, publishes and reads; all its waits have a time limit. The broker's acknowledgement shows
that the broker has a message; it is no substitute for the settlement engine's acknowledgement.
"""

import select
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import Literal

import msgspec

from controller.journal.contents import AckProof
from controller.model.printable import excerpt
from controller.model.tables import LOCAL_HOSTS, MqttSettings
from controller.publish.betting import OpenStatement, statement_bytes
from controller.publish.events import (
    CONTENT_TYPE,
    Acknowledgement,
    Answer,
    LateWagersQuery,
    LineBet,
    Message,
    PairPlus,
    PlayPlaced,
    PlayQuery,
    ProgressReport,
    ResendRequest,
    TableStatus,
    read_answer,
)
from controller.publish.faults import Alarm, PublishFault
from controller.publish.identity import DuplicateClientDetector, Pin
from controller.publish.mqtt_link import (
    NO_SUBSCRIBER,
    SESSION_TAKEN_OVER,
    Connected,
    ConnectionLost,
    LinkEvent,
    MqttLink,
    Outgoing,
    Published,
    Received,
    Subscribed,
    tls_context,
)
from controller.publish.sink import Acknowledged, Backoff, Post, RandomFraction, Ready, Report
from controller.publish.wire import Signer, UnreadableMessage, topics_of

WAIT_TIMEOUT_S = 0.5
REFUSED = 0x80
"""The lowest MQTT reason code that indicates a refusal."""
STEADY_US = 10_000_000
"""Duration of a connection after which the delay before the next reconnection is reset."""
RETRY_S = 1.0
MAX_RETRY_S = 60.0
JSON = "application/json"
ANSWER_FAULT_CLEARS_US = 60_000_000
"""Time from the last forged or unreadable answer until the fault clears."""
MAX_STATEMENTS = 32
"""Maximum number of statements waiting for this thread. A further statement displaces the oldest one."""

_CONNECTION = frozenset({"broker_unreachable", "broker_refused", "broker_files_bad", "sink_failed"})
"""Faults of the connection. At most one is active."""

Phase = Literal["away", "connecting", "subscribing", "ready"]
_encode = msgspec.json.Encoder().encode
LEAVE_TIMEOUT_US = 1_000_000
"""Maximum time that a stopping table waits for the broker to accept its last messages."""
LEAVE_WAIT_S = 0.05


class MqttSink:
    """Publishes one table's outcomes. Other threads may call the methods of `Sink`, and `report_to`."""

    def __init__(
        self,
        table: str,
        settings: MqttSettings,
        alarm: Alarm,
        *,
        now_us: Callable[[], int],
        random_fraction: RandomFraction,
        pin: Pin | None = None,
    ) -> None:
        """Prepare without connecting; `pin` authenticates answers.

        Raises ValueError if the table's name or the settings are not valid for MQTT.
        """
        if settings.tls is None and settings.host not in LOCAL_HOSTS:
            raise ValueError(
                f"publish: mqtt: no `tls` is set for the broker at {settings.host}; name the files `ca`,"
                " `certificate` and `key` (only a broker on this machine can be used without TLS)"
            )
        self._table = table
        self._settings = settings
        self._alarm = alarm
        self._now_us = now_us
        self._topics = topics_of(table, settings.prefix)
        self._where = f"{settings.host}:{settings.port}"
        self._duplicates = DuplicateClientDetector(alarm, self._where)
        self._pin = pin or Pin()
        self._forged = 0
        self._forged_us: int | None = None
        self._unreadable_us: int | None = None
        self._backoff = Backoff(RETRY_S, MAX_RETRY_S, random_fraction)
        self._timeout_us = round(settings.timeout_s * 1e6)
        self._link: MqttLink | None = None
        self._phase: Phase = "away"
        self._phase_ends_us = 0
        self._ready_us = 0
        self._offered: deque[Message] = deque()
        self._due: deque[Outgoing] = deque()
        self._statements: deque[tuple[OpenStatement, Signer]] = deque(maxlen=MAX_STATEMENTS)
        self._unconfirmed: dict[int, tuple[Outgoing, int]] = {}
        self._in_transit: set[bytes] = set()
        self._players_seq = 0
        self._refused: set[str] = set()
        self._status: TableStatus | None = None
        self._status_is_new = False
        self._board = b""
        self._board_is_new = False
        self._stopping = False
        self._post: Post = _discard
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._thread = Thread(target=self._run, name="mqtt", daemon=True)
        self.session_present: bool | None = None
        """Whether the broker had a session for the table at the last connection."""

    # --- any thread ---

    @property
    def ready(self) -> bool:
        """Whether the broker has accepted the table and its subscription."""
        return self._phase == "ready"

    def start(self, post: Post) -> None:
        """Start the thread, which connects to the broker."""
        self.report_to(post)
        self._thread.start()

    def report_to(self, post: Post) -> None:
        """Pass reports to `post` without starting a thread. The caller must call `turn`."""
        self._post = post

    def offer(self, messages: Sequence[Message]) -> None:
        """Queue messages to publish, in order."""
        self._offered.extend(messages)
        self._wake_thread()

    def send_open_statement(self, statement: OpenStatement, key: Signer) -> None:
        """Publish the statement now, or discard it if there is no connection."""
        if self.ready:
            self._statements.append((statement, key))
            self._wake_thread()

    def send_status(self, status: TableStatus) -> None:
        """Publish the table's status, now and after each reconnection."""
        self._status, self._status_is_new = status, True
        self._wake_thread()

    def show(self, board: bytes) -> None:
        """Publish the table's board, now and after each reconnection."""
        self._board, self._board_is_new = board, True
        self._wake_thread()

    def stop(self, timeout_s: float) -> bool:
        """Disconnect from the broker; return False if the thread did not end in time."""
        self._stopping = True
        self._wake_thread()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _wake_thread(self) -> None:
        # A full socket wakes the thread anyway. A closed socket has no thread to wake.
        with suppress(OSError):
            self._wake.send(b"\0")

    # --- the sink's thread ---

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.turn(WAIT_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 - the thread must survive bugs in the library
                found = f"{type(error).__name__}: {error}"
                self._alarm.report(PublishFault("sink_failed", self._where, found))
                self._drop_link()
        self.leave()

    def turn(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` for messages and process them; reconnect if a reconnection is due."""
        if self._link is None:
            if self._now_us() >= self._phase_ends_us:
                self._connect()
            else:
                self._wait(timeout_s)
                self._offered.clear()
            return
        self._wait(timeout_s)
        self._follow(self._link)

    def leave(self) -> None:
        """Publish the status `offline`, and end the connection."""
        link = self._link
        if link is not None and self.ready:
            link.publish(self._status_message(self._offline("stopped")))
            self._await_answers(link)
            link.close()
            link.turn()
        self._drop_link()
        self._woken.close()
        self._wake.close()

    def _await_answers(self, link: MqttLink) -> None:
        """Wait for the broker's answers.

        Closing the socket with unread answers would reset the connection. The broker would then publish the
        will, which would replace the status `stopped`.
        """
        until_us = self._now_us() + LEAVE_TIMEOUT_US
        while link.unanswered and link.fileno() >= 0 and self._now_us() < until_us:
            writers = [link] if link.wants_to_write else []
            select.select([link], writers, [], LEAVE_WAIT_S)
            link.turn()

    def _wait(self, timeout_s: float) -> None:
        readers: list[MqttLink | socket.socket] = [self._woken]
        writers: list[MqttLink] = []
        link = self._link
        if link is not None and link.fileno() >= 0:
            readers.append(link)
            if link.wants_to_write:
                writers.append(link)
        if link is None or not (self._offered and link.room):
            select.select(readers, writers, [], timeout_s)
        with suppress(BlockingIOError):
            self._woken.recv(4096)

    def _follow(self, link: MqttLink) -> None:
        if self.ready:
            self._publish_what_is_due(link)
        for event in link.turn():
            self._handle_event(link, event)
        if self._link is not link:
            return
        now_us = self._now_us()
        if self._phase != "ready" and now_us > self._phase_ends_us:
            self._drop_connection(
                "broker_unreachable", f"no answer within {self._settings.timeout_s:g} s while {self._phase}"
            )
        elif self._oldest_unconfirmed_us() + self._timeout_us < now_us:
            self._drop_connection(
                "broker_unreachable", f"no answer to a message within {self._settings.timeout_s:g} s"
            )
        elif self.ready:
            self._clear_old_faults(now_us)
            self._publish_what_is_due(link)

    # --- connecting ---

    def _connect(self) -> None:
        files = self._settings.tls
        try:
            tls = None if files is None else tls_context(files)
        except OSError as error:
            assert files is not None
            paths = f"{files.ca}, {files.certificate} or {files.key}"
            self._drop_connection("broker_files_bad", f"{error.strerror or error}: {paths}")
            return
        will = self._status_message(self._offline("connection lost"))
        link = MqttLink(self._settings, self._table, tls, will)
        try:
            link.open()
        except ssl.SSLError as error:
            self._drop_connection("broker_refused", f"{error.reason or error}")
            return
        except OSError as error:
            self._drop_connection("broker_unreachable", error.strerror or str(error))
            return
        self._link = link
        self._enter("connecting")

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._phase_ends_us = self._now_us() + self._timeout_us

    def _drop_connection(self, code: str, found: str) -> None:
        for other in _CONNECTION - {code}:
            self._alarm.clear(other)
        self._alarm.report(PublishFault(code, self._where, found))
        self._drop_link()

    def _drop_link(self) -> None:
        """Discard the connection and all messages queued for it."""
        if self._link is not None:
            self._link.drop()
        now_us = self._now_us()
        if self._phase == "ready" and now_us - self._ready_us > STEADY_US:
            self._backoff.reset()
        self._link = None
        self._phase = "away"
        self._phase_ends_us = now_us + self._backoff.next_us()
        self._unconfirmed.clear()
        self._in_transit.clear()
        self._due.clear()
        self._offered.clear()

    def _handle_event(self, link: MqttLink, event: LinkEvent) -> None:
        match event:
            case Connected(code=code, reason=reason) if code >= REFUSED:
                self._drop_connection("broker_refused", reason)
            case Connected(session=session):
                self.session_present = session
                link.subscribe(self._topics.answer, self._topics.status)
                self._enter("subscribing")
            case Subscribed(code=code, reason=reason) if code >= REFUSED:
                self._drop_connection("broker_refused", f"subscription to {self._topics.answer}: {reason}")
            case Subscribed():
                self._become_ready()
            case Published():
                self._confirm(event)
            case Received(topic=self._topics.status, payload=payload, retained=retained):
                self._duplicates.check(payload, self._now_us(), retained=retained)
            case Received(payload=payload):
                self._handle_answer(payload)
            case ConnectionLost():
                self._handle_lost_connection(event)

    def _become_ready(self) -> None:
        self._phase = "ready"
        self._ready_us = self._now_us()
        self._duplicates.connected(self._ready_us)
        self._status_is_new = True
        self._board_is_new = True
        for code in _CONNECTION:
            self._alarm.clear(code)
        self._offered.clear()  # The pump offers all unacknowledged outcomes again after `Ready`.
        self._statements.clear()
        self._post(Ready())

    def _handle_lost_connection(self, lost: ConnectionLost) -> None:
        if lost.code == SESSION_TAKEN_OVER:
            self._duplicates.report(f"the broker reported: {lost.reason}", self._now_us())
            self._drop_connection("broker_unreachable", f"connection lost: {lost.reason}")
        elif lost.code >= REFUSED:
            self._drop_connection("broker_refused", lost.reason)
        elif self._phase == "connecting" and self._settings.tls is not None:
            self._drop_connection(
                "broker_refused", "the broker closed the connection before it accepted the table"
            )
        elif self._link is not None:
            self._drop_connection("broker_unreachable", f"connection lost: {lost.reason}")

    # --- publishing ---

    def _publish_what_is_due(self, link: MqttLink) -> None:
        while self._statements:
            statement, key = self._statements.popleft()
            link.publish(
                Outgoing(
                    self._topics.open, statement_bytes(statement, key), content_type=JSON, at_most_once=True
                )
            )
        if self._status_is_new and self._status is not None and link.room:
            self._status_is_new = False
            status = self._status_message(self._status)
            self._duplicates.receive(status.payload)
            self._send(link, status)
        if self._board_is_new and self._board and link.room:
            self._board_is_new = False
            self._send(link, Outgoing(self._topics.board, self._board, retain=True, content_type=JSON))
        while link.room and (self._due or self._offered):
            if not self._due:
                self._due.extend(self._outgoing(self._offered.popleft()))
            else:
                self._send(link, self._due.popleft())

    def _outgoing(self, message: Message) -> Iterator[Outgoing]:
        if message.event in self._in_transit:
            return  # The message was published on this connection, and the broker has not answered yet.
        self._in_transit.add(message.event)
        yield self._outcome(message)
        if message.players is not None and message.seq > self._players_seq:
            self._players_seq = message.seq
            yield Outgoing(self._topics.players, message.players, content_type=CONTENT_TYPE)

    def _outcome(self, message: Message) -> Outgoing:
        return Outgoing(
            self._topics.outcome,
            message.event,
            content_type=CONTENT_TYPE,
            answer_topic=self._topics.answer,
        )

    def _send(self, link: MqttLink, message: Outgoing) -> None:
        mid = link.publish(message)
        if mid is None:
            self._refuse(message.topic, "the message is too large or could not be sent")
        else:
            self._unconfirmed[mid] = (message, self._now_us())

    def _confirm(self, published: Published) -> None:
        message, _ = self._unconfirmed.pop(published.mid, (None, 0))
        if message is None:
            return
        self._in_transit.discard(message.payload)
        if published.code >= REFUSED:
            self._refuse(message.topic, published.reason)
            return
        self._refused.discard(message.topic)
        if not self._refused:
            self._alarm.clear("publish_refused")
        if message.topic != self._topics.outcome:
            return
        if published.code == NO_SUBSCRIBER:
            self._alarm.report(PublishFault("settlement_absent", self._where, published.reason))
        else:
            self._alarm.clear("settlement_absent")

    def _refuse(self, topic: str, reason: str) -> None:
        self._refused.add(topic)
        self._alarm.report(PublishFault("publish_refused", self._where, f"{topic}: {reason}"))

    def _oldest_unconfirmed_us(self) -> int:
        _, since_us = next(iter(self._unconfirmed.values()), (None, self._now_us()))
        return since_us

    # --- answers and status ---

    def _handle_answer(self, payload: bytes) -> None:
        try:
            answer = read_answer(payload)
        except UnreadableMessage as error:
            where = self._topics.answer
            self._unreadable_us = self._now_us()
            self._alarm.report(PublishFault("answer_unreadable", where, f"{error}: {payload[:80]!r}"))
            return
        found = self._pin.authenticate(payload, answer) if self._is_ours(answer) else "forged"
        if found == "genuine":
            self._alarm.clear("answer_unsigned")
            self._post(self._proven(payload, answer))
        elif found == "unsigned":
            found_text = (
                f"{type(answer).__name__} from {excerpt(answer.by)}; no engine has reported its key yet"
            )
            self._alarm.report(PublishFault("answer_unsigned", self._topics.answer, found_text))
        elif found == "forged":
            self._forged += 1
            self._forged_us = self._now_us()
            found_text = (
                f"{type(answer).__name__} claiming to be from {excerpt(answer.by)}; {self._forged} so far"
            )
            self._alarm.report(PublishFault("answer_forged", self._topics.answer, found_text))

    def _proven(self, payload: bytes, answer: Answer) -> Report:
        if isinstance(answer, Acknowledgement) and self._pin.key is not None:
            return Acknowledged(answer, AckProof(words=payload.decode(), key=self._pin.key))
        return answer

    def _is_ours(self, answer: Answer) -> bool:
        """Return whether an answer is for this table. Another table's answer might be replayed here."""
        match answer:
            case ResendRequest(table=None):
                return True  # from release 0.1.0, which does not sign
            case (
                ResendRequest()
                | LateWagersQuery()
                | PlayQuery()
                | ProgressReport()
                | LineBet()
                | PairPlus()
                | PlayPlaced()
            ):
                return answer.table == self._table
        return True

    def _clear_old_faults(self, now_us: int) -> None:
        if self._unreadable_us is not None and now_us - self._unreadable_us > ANSWER_FAULT_CLEARS_US:
            self._unreadable_us = None
            self._alarm.clear("answer_unreadable")
        self._duplicates.clear_if_over(now_us)
        if self._forged_us is not None and now_us - self._forged_us > ANSWER_FAULT_CLEARS_US:
            self._forged_us = None
            self._alarm.clear("answer_forged")

    def _status_message(self, status: TableStatus) -> Outgoing:
        return Outgoing(self._topics.status, _encode(status), retain=True, content_type=JSON)

    def _offline(self, headline: str) -> TableStatus:
        return TableStatus(table=self._table, state="offline", headline=headline)


def _discard(_report: object) -> None:
    """Discard a report. No report is expected before `start`."""
