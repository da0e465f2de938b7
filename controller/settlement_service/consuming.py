"""The engine's MQTT client. It receives outcomes and statements, and sends answers and queries."""

import select
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event as Signal
from typing import NamedTuple

from controller.model.printable import excerpt
from controller.model.tables import MqttSettings
from controller.publish.events import (
    LateWagersQuery,
    LineBet,
    OpenQuery,
    PairPlus,
    PlayPlaced,
    PlayQuery,
    ProgressReport,
    ResendRequest,
    answer_bytes,
    read_status,
)
from controller.publish.mqtt_link import (
    Connected,
    ConnectionLost,
    LinkEvent,
    MqttLink,
    Outgoing,
    Received,
    Subscribed,
    tls_context,
)
from controller.publish.wire import UnreadableMessage, topics_of
from controller.settlement_service import deliveries
from controller.settlement_service.deliveries import RejectedDelivery
from controller.settlement_service.engine import BookPosition, Engine
from controller.settlement_service.faults import DatabaseUnavailable
from controller.settlement_service.gate import LateWager, MissingStatement, PlayAt
from controller.settlement_service.key import EngineKey

REFUSED = 0x80
"""The lowest MQTT reason code that indicates a refusal."""
TURN_S = 0.5
BATCH = 200
"""Maximum number of outcomes settled in one transaction."""
RESEND_INTERVAL_US = 5_000_000
"""Minimum interval between requests for the same missing outcomes."""
Clock = Callable[[], int]
Say = Callable[[str], None]
TransientMessage = OpenQuery | LateWagersQuery | PlayQuery | LineBet | PairPlus | PlayPlaced
"""Messages to a table that are of no use once delayed."""


REPORT_PROGRESS_US = 10_000_000
"""Minimum interval between progress reports to a table. A table that connects or closes is
sent one immediately."""
MAX_QUERIES = 1000
"""Maximum number of messages queued for the broker's thread. A further message displaces the oldest one; if
that is a query, its bet is refused."""
_BROKER_OFFLINE = MissingStatement(
    "TABLE-WORD", "the broker is offline, so no table can be reached; nothing was accepted"
)
_TABLE_OFFLINE = MissingStatement(
    "TABLE-WORD", "the table is not connected to the broker; nothing was accepted"
)
_TOO_OLD = "the table's controller is too old to state that bets are open"
_TABLE_TOO_OLD = MissingStatement("TABLE-WORD", f"{_TOO_OLD}; nothing was accepted; update the controller")

_MAX_LINE = 500
"""Maximum number of characters in a log line."""


class _LastResend(NamedTuple):
    from_seq: int
    at_us: int


class _LastStatus(NamedTuple):
    """A table's latest status. `at_us` is the time of the last progress report to the table."""

    session: int | None
    online: bool
    says_open: bool
    at_us: int
    newest_seq: int
    """The number of the newest outcome that the status names."""


class BrokerClient:
    """Receives outcomes from an MQTT 5 broker and answers them. It runs in one thread."""

    def __init__(
        self, engine: Engine, settings: MqttSettings, name: str, now_us: Clock, say: Say, *, key: EngineKey
    ) -> None:
        """Prepare the client without connecting.

        `name` is the client id and the engine's name in its messages. `now_us` is a monotonic clock, and
        `key` signs the messages.
        """
        self._engine = engine
        self._settings = settings
        self._name = name
        self._now_us = now_us
        self._say = say
        self._link: MqttLink | None = None
        self._since_us = 0
        self._due: deque[Outgoing] = deque()
        self._waiting: deque[bytes] = deque()
        self._last_resend: dict[str, _LastResend] = {}
        self._closing: set[str] = set()
        """Tables that have closed and are waiting for a report that their outcomes are settled."""
        self._logged: set[str] = set()
        self._key = key
        self._statuses: dict[str, _LastStatus] = {}
        self._queries: deque[tuple[str, TransientMessage]] = deque(maxlen=MAX_QUERIES)
        engine.line_bet = self.send_line_bet
        engine.pair_plus = self.send_pair_plus
        engine.played = self.send_played
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        engine.gate.connect(self.ask, self.ask_late, self.ask_play)
        self.ready = False
        """Whether the broker has accepted the subscription."""
        self.turns = 0
        """Incremented while the thread is running."""

    def ask(self, table: str, nonce: str) -> MissingStatement | None:
        """Ask a table whether bets are open; return None, or the reason why the table can't be asked.

        Any thread may call this method and the other methods that send a message.
        """
        refusal = self._unreachable(table)
        if refusal is None:
            self._put(table, OpenQuery(nonce=nonce, by=self._name))
        return refusal

    def ask_late(self, table: str, nonce: str, wager: LateWager) -> MissingStatement | None:
        """Ask a table whether a wager made with the dice out is confirmed; see `ask`."""
        if (refusal := self._unreachable(table)) is not None:
            return refusal
        query = LateWagersQuery(
            table=table,
            round=wager.round,
            nonce=nonce,
            wager=wager.wager,
            digest=wager.digest,
            says=wager.description,
            by=self._name,
        )
        self._put(table, query)
        return None

    def ask_play(self, table: str, nonce: str, play: PlayAt) -> MissingStatement | None:
        """Ask a table whether it accepts Play at these positions; see `ask`."""
        if (refusal := self._unreachable(table)) is not None:
            return refusal
        query = PlayQuery(table=table, round=play.round, nonce=nonce, seats=play.seats, by=self._name)
        self._put(table, query)
        return None

    def _unreachable(self, table: str) -> MissingStatement | None:
        status = self._statuses.get(table)
        if not self.ready:
            return _BROKER_OFFLINE
        if status is None or not status.online:
            return _TABLE_OFFLINE
        return None if status.says_open else _TABLE_TOO_OLD

    def send_line_bet(self, table: str, seat: str, has: bool, at: BookPosition) -> None:
        """Report to a table whether the shooter at a seat has a line bet."""
        status = self._statuses.get(table)
        if status is not None and status.online and status.says_open:
            self._put(table, self._line_bet(table, seat, has, at))

    def send_pair_plus(self, table: str, without: tuple[str, ...], at: BookPosition) -> None:
        """Report to a table which positions have an Ante and no Pair Plus."""
        status = self._statuses.get(table)
        if status is not None and status.online and status.says_open:
            self._put(table, self._pair_plus(table, without, at))

    def send_played(self, table: str, play: PlayAt, at: BookPosition) -> None:
        """Report to a table which positions have a Play wager."""
        status = self._statuses.get(table)
        if status is not None and status.online and status.says_open:
            self._put(table, self._build_play_placed(table, play, at))

    def _put(self, table: str, message: TransientMessage) -> None:
        self._queries.append((table, message))
        with suppress(OSError):  # A full socket wakes the thread anyway; a closed socket has no reader.
            self._wake.send(b"\0")

    def run(self, stop: Signal) -> None:
        """Run until stopped; reconnect after a lost connection."""
        while not stop.is_set():
            self.turns += 1
            if self._link is None and not self._connect():
                stop.wait(1.0)
                continue
            try:
                self.turn(TURN_S)
            except Exception as error:  # noqa: BLE001 - if this thread ended, tables would get no answers
                self._drop_connection(f"{type(error).__name__}: {error}")
                stop.wait(1.0)
        self.close()

    def close(self) -> None:
        """Disconnect from the broker."""
        if self._link is not None:
            self._link.close()
            self._link.turn()
            self._link.drop()
            self._link = None
        self._woken.close()
        self._wake.close()

    def turn(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` for messages; settle and answer the outcomes received."""
        link = self._link
        if link is None or link.fileno() < 0:
            self._drop_connection("the connection is closed")
            return
        if not (self._waiting or self._queries):
            readers: list[MqttLink | socket.socket] = [link, self._woken]
            select.select(readers, [link] if link.wants_to_write else [], [], timeout_s)
        with suppress(BlockingIOError):
            self._woken.recv(4096)
        self._send_queries(link)
        for event in link.turn():
            self._handle_event(link, event)
        if not self.ready and self._now_us() - self._since_us > self._settings.timeout_s * 1e6:
            self._drop_connection(f"no answer within {self._settings.timeout_s:g} s")
        if self._link is link and self._waiting:
            self._settle()
        while self._link is link and self._due and link.room:
            link.publish(self._due.popleft())

    def _send_queries(self, link: MqttLink) -> None:
        while self._queries:
            table, message = self._queries.popleft()
            self._send_to(link, table, message)

    def _send_to(self, link: MqttLink, table: str, answer: TransientMessage | ProgressReport) -> None:
        """Send a message at most once; the broker does not store it for an offline table."""
        topic = topics_of(table, self._settings.prefix).answer
        link.publish(Outgoing(topic, answer_bytes(answer, self._key.key), at_most_once=True))

    def _connect(self) -> bool:
        settings = self._settings
        try:
            tls = None if settings.tls is None else tls_context(settings.tls)
            link = MqttLink(settings, self._name, tls)
            link.open()
        except OSError as error:
            self._log_once(f"broker {settings.host}:{settings.port}: {error}; trying again")
            return False
        self._link, self._since_us = link, self._now_us()
        return True

    def _handle_event(self, link: MqttLink, event: LinkEvent) -> None:
        match event:
            case Connected(code=code, reason=reason) | Subscribed(code=code, reason=reason) if (
                code >= REFUSED
            ):
                self._drop_connection(f"refused: {reason}")
            case Connected():
                topics = topics_of("x", self._settings.prefix)
                subscriptions = (topics.outcome, topics.status, topics.open)
                link.subscribe(*(topic.replace("/x/", "/+/") for topic in subscriptions))
            case Subscribed():
                self.ready = True
                self._logged.clear()
            case Received(topic=topic, payload=payload) if topic.endswith("/open"):
                self._on_statement(topic, payload)
            case Received(topic=topic, payload=payload) if topic.endswith("/status"):
                self._on_status(link, topic, payload)
            case Received(topic=topic, payload=payload):
                self._on_outcome(topic, payload)
            case ConnectionLost(reason=reason):
                self._drop_connection(reason)
            case _:
                pass

    def _on_outcome(self, topic: str, payload: bytes) -> None:
        with suppress(ValueError):
            # The broker's access list restricts who may write to a topic. In addition, the event must name
            # the topic's table.
            event = deliveries.read(payload).event
            if topics_of(event.table, self._settings.prefix).outcome == topic:
                self._waiting.append(payload)
                if event.type == "table.closed":
                    self._closing.add(event.table)
                return
        self._log_once(f"{topic}: ignored a message that is not an event from this topic's table")

    def _on_statement(self, topic: str, payload: bytes) -> None:
        try:
            self._engine.gate.receive(payload)
        except ValueError as error:
            self._log_once(f"{topic}: ignored a message: {error}")

    def _on_status(self, link: MqttLink, topic: str, payload: bytes) -> None:
        """Record a table's status; report progress if the table has just connected or a report is due."""
        table = topic.split("/")[-2]
        try:
            status = read_status(payload)
        except UnreadableMessage as error:
            self._log_once(f"{topic}: ignored a message that is not a table's status ({error})")
            return
        if status.table != table:
            return
        previous, now_us, online = self._statuses.get(table), self._now_us(), status.state == "online"
        connected = previous is None or not previous.online or previous.session != status.session
        due = previous is None or connected or now_us - previous.at_us >= REPORT_PROGRESS_US
        at_us = now_us if online and due else previous.at_us if previous else 0
        self._statuses[table] = _LastStatus(
            status.session, online, status.says_open, at_us, status.sequence or 0
        )
        if online and not status.says_open:
            self._log_once(
                f"table {table}: {_TOO_OLD}, so every bet at this table is refused; update the controller"
            )
        elif online and due:
            self._report_progress(link, table)

    def _report_progress(self, link: MqttLink, table: str) -> None:
        try:
            settled = self._engine.newest_settled(table)
        except DatabaseUnavailable as error:
            self._log_once(str(error))
            return
        if settled is not None:
            seq, chain = settled
            status = self._statuses.get(table)
            report = ProgressReport(
                table=table,
                told=max(seq, 0 if status is None else status.newest_seq),
                sequence=seq,
                chain=chain,
                key=self._key.public,
                endorsed=self._key.endorsed,
                earlier=self._key.earlier,
                by=self._name,
            )
            self._send_to(link, table, report)
            bets = self._engine.bets(table)
            if bets is not None and bets.line_bet is not None:
                self._send_to(link, table, self._line_bet(table, *bets.line_bet, bets.at))
            if bets is not None and bets.without_pair_plus is not None:
                self._send_to(link, table, self._pair_plus(table, bets.without_pair_plus, bets.at))
            if bets is not None and bets.played is not None:
                self._send_to(link, table, self._build_play_placed(table, bets.played, bets.at))

    def _line_bet(self, table: str, seat: str, has: bool, at: BookPosition) -> LineBet:
        return LineBet(
            table=table,
            session=self._session(table),
            sequence=at.sequence,
            step=at.step,
            seat=seat,
            has=has,
            by=self._name,
        )

    def _pair_plus(self, table: str, without: tuple[str, ...], at: BookPosition) -> PairPlus:
        return PairPlus(
            table=table,
            session=self._session(table),
            sequence=at.sequence,
            step=at.step,
            without=without,
            by=self._name,
        )

    def _build_play_placed(self, table: str, play: PlayAt, at: BookPosition) -> PlayPlaced:
        return PlayPlaced(
            table=table,
            session=self._session(table),
            sequence=at.sequence,
            step=at.step,
            round=play.round,
            seats=play.seats,
            by=self._name,
        )

    def _session(self, table: str) -> int:
        """Return the session in the table's status. The table accepts only reports for this session."""
        status = self._statuses.get(table)
        return 0 if status is None or status.session is None else status.session

    def _settle(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        try:
            answers = self._engine.deliver(batch)
        except DatabaseUnavailable as error:
            # Without an answer, the tables will send these outcomes again.
            self._waiting.clear()
            self._log_once(str(error))
            return
        for table, answer in deliveries.to_messages(answers, self._name):
            if isinstance(answer, ResendRequest) and self._recently_requested(table, answer.from_seq):
                continue
            topic = topics_of(table, self._settings.prefix).answer
            self._due.append(Outgoing(topic, answer_bytes(answer, self._key.key)))
        for name in {answer.table for answer in answers}:
            self._report_progress_if_due(name)
        for refused in answers:
            if isinstance(refused, RejectedDelivery):
                self._log_once(f"table {refused.table}: {refused.reason} [{refused.code}]")

    def _report_progress_if_due(self, table: str) -> None:
        """Report progress to a table at intervals, and once after it has closed."""
        status, now_us = self._statuses.get(table), self._now_us()
        if self._link is None or status is None or not (status.online and status.says_open):
            return
        closed = table in self._closing and not self._waiting
        if closed or now_us - status.at_us >= REPORT_PROGRESS_US:
            self._closing.discard(table)
            self._statuses[table] = status._replace(at_us=now_us)
            self._report_progress(self._link, table)

    def _recently_requested(self, table: str, from_seq: int) -> bool:
        previous, now_us = self._last_resend.get(table), self._now_us()
        if previous and previous.from_seq == from_seq and now_us - previous.at_us < RESEND_INTERVAL_US:
            return True
        self._last_resend[table] = _LastResend(from_seq, now_us)
        return False

    def _drop_connection(self, reason: str) -> None:
        """Drop the connection. Tables send unanswered outcomes again."""
        if self._link is not None:
            self._log_once(f"broker {self._settings.host}:{self._settings.port}: {reason}; reconnecting")
            self._link.drop()
        self._link, self.ready = None, False
        self._due.clear()
        self._waiting.clear()
        self._last_resend.clear()
        self._closing.clear()
        self._statuses.clear()

    def _log_once(self, text: str) -> None:
        line = excerpt(text, _MAX_LINE)  # The text can quote a message or a topic.
        if line not in self._logged and len(self._logged) < 1000:
            self._logged.add(line)
            self._say(line)
