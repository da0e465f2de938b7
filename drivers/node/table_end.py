"""The table's end of a node link: greets the node, estimates its clock and requests missing sentences.

A node is up once the table has received its hello and enough clock answers. Readings from a node that is not
up are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from drivers.framing import NOISY_LINES, NoiseCounter, RateLimit
from drivers.health import LINK, Health, PortReopening
from drivers.node.requests import ClockQueries, ClockStepError, Commands, NodeClock, number_in
from drivers.node.sentences import (
    FIRST_PING_US,
    FIRST_PINGS,
    HELLO_EVERY_US,
    HELLO_WITHIN_US,
    MAX_AGE_US,
    MAX_AHEAD_US,
    NO_SESSION,
    NONCE,
    NOT_RECEIVING_US,
    PING_EVERY_US,
    PING_RETRY_US,
    SILENT_US,
    SLOW_US,
    SYNC_WITHIN_US,
    VERSION,
    Hello,
    HelloError,
    Message,
    NodeReading,
    ReceivedSentence,
    Sentence,
    Speaker,
    read_hello,
)
from drivers.node.wire import Counters, ReorderBuffer, Wire


class Phase(Enum):
    """The state of the link."""

    OFF = "the port is not open"
    GREETING = "waiting for the node's hello"
    SYNCING = "estimating the node's clock"
    UP = "readings are accepted"


class TableEnd:
    """The table's end of the link to one node."""

    def __init__(
        self,
        node: str,
        nonce: Callable[[], str],
        *,
        key: bytes | None = None,
        max_per_s: int = 1000,
    ) -> None:
        """Create the table's end for this node.

        `nonce` returns 16 fresh digits 0-9 A-F. `max_per_s` limits the sentences read per second.
        """
        self.node = node
        self.hello: Hello | None = None
        self.clock = NodeClock()
        self.health = Health()
        self.phase = Phase.OFF
        self.reopening = PortReopening()
        self._new_nonce = nonce
        self._sealed = key is not None
        self._key_change = ""
        """A description of a change of the key since the last tick; empty if the key has not changed."""
        self._key_fault = ""
        self._nonce = ""
        self._wire = Wire(Speaker.TABLE, node, key)
        self._reorder = ReorderBuffer(self._wire.counters)
        self._budget = RateLimit(max_per_s)
        self._noise = NoiseCounter()
        self._commands = Commands()
        self._received_us = 0
        self._answered_us = 0
        self._since_us = 0
        self._next_hello_us = 0
        self._next_ping_us = 0
        self._queries = ClockQueries()
        self._line_bytes = 0
        self._verbs: dict[str, Callable[[Sentence, int], Sequence[Message]]] = {
            "beat": lambda _sentence, _now_us: [],
            "pong": self._pong,
            "ack": self._ack,
        }

    @property
    def counters(self) -> Counters:
        """The link's counters."""
        return self._wire.counters

    def start(self, now_us: int) -> Sequence[Message]:
        """Start the link; the node is down until it responds."""
        return self.health.record(now_us, "starting", "nothing received yet", down=True)

    def on_open(self, now_us: int) -> Sequence[Message]:
        """Handle the opening of the port by greeting the node."""
        self._wire.disconnect()
        messages = self.health.record(now_us, "starting", "greeting the node", down=True)
        messages += self.health.clear(now_us, LINK, seen="the port is open")
        self._greet(now_us)
        return messages

    def on_close(self, now_us: int, code: str, seen: str) -> Sequence[Message]:
        """Handle the loss of the port. `code` and `seen` describe the fault."""
        self.phase = Phase.OFF
        self._wire.disconnect()
        return self.health.record_closed(now_us, code, seen)

    def on_overflow(self, now_us: int, lost_bytes: int) -> Sequence[Message]:
        """Handle bytes lost because the table was busy."""
        return self.health.record_loss(
            now_us, now_us, "sentences_lost", f"{lost_bytes} bytes discarded: the table was busy"
        )

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Queue a command and return its number. A CommandResult with that number always follows.

        Raises:
            ValueError: If the command cannot be encoded.
            OverflowError: If too many commands are waiting.
        """
        self._wire.check(verb, {"id": "4294967295", **fields})
        number = self._commands.add(now_us, verb, fields)
        if self.phase is Phase.UP:
            self._commands.send_due(now_us, self._wire)
        return number

    def rekey(self, key: bytes, flaw: str = "") -> None:
        """Change the key immediately; the next `tick` greets the node again.

        If the key file is unusable, `flaw` is the reason and `key` is a random key that no node has.
        """
        self._sealed = True
        self._key_fault = flaw
        self._key_change = flaw or "the table's key for this node was changed"
        self._wire.rekey(key)
        if self.phase is not Phase.OFF:
            # Refuse sentences sealed with the old key even before the next tick.
            self.phase = Phase.GREETING

    def take_output(self) -> bytes:
        """Return the bytes to send."""
        return self._wire.take_output()

    def receive(self, now_us: int, data: bytes) -> Sequence[Message]:
        """Handle bytes that arrived at `now_us`."""
        messages: list[Message] = []
        wire = self._wire
        if self.phase is Phase.OFF:
            return messages
        flawed = wire.counters.flawed
        for line in wire.lines(data):
            if not self._budget.spend(now_us):
                wire.counters.babble += 1
                messages += self.health.record_loss(
                    now_us,
                    self._received_us,
                    "babbling",
                    f"found more than {self._budget.per_s} sentences per second",
                )
                continue
            received = wire.read(line)
            if received is not None:
                self._line_bytes = len(line) + 1
                messages += self._handle(received, now_us)
        if wire.counters.flawed != flawed and self._noise.count(wire.counters.flawed - flawed, now_us):
            messages += self.health.record_minor(now_us, "noisy_line", f"{NOISY_LINES} or more damaged lines")
        return messages

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        if self._key_change:
            return 0
        due = [self.health.next_deadline()]
        if self.phase is Phase.GREETING:
            due += [self._next_hello_us, self.reopening.due_us, self._commands.next_expiry()]
            if not self._greeting_reported():
                due.append(self._since_us + HELLO_WITHIN_US)
        elif self.phase is not Phase.OFF:
            due += [self._received_us + SILENT_US, self._not_receiving_at_us()]
            due += [self._next_ping_us, self._reorder.next_deadline()]
            if self.phase is Phase.SYNCING:
                due += [self._since_us + SYNC_WITHIN_US, self._commands.next_expiry()]
            else:
                due.append(self._commands.next_deadline())
        return min((at for at in due if at is not None), default=None)

    def tick(self, now_us: int) -> Sequence[Message]:
        """Run the work that is due."""
        messages: list[Message] = [*self.health.tick(now_us)]
        if self._key_change:
            messages += self._restart_with_new_key(now_us)
        if self.phase is not Phase.UP:
            messages += self._commands.expire(now_us)
        if self.phase is Phase.GREETING:
            messages += self._greet_again(now_us)
        elif self.phase is not Phase.OFF:
            messages += self._tick_session(now_us)
        return messages

    def _restart_with_new_key(self, now_us: int) -> Sequence[Message]:
        change, self._key_change = self._key_change, ""
        if self.phase is Phase.OFF:
            return []
        return self._start_over(now_us, "wrong_key", change)

    def _greet_again(self, now_us: int) -> Sequence[Message]:
        if now_us >= self._next_hello_us:
            self._send_hello(now_us)
        self.reopening.request(now_us)
        if now_us < self._since_us + HELLO_WITHIN_US or self._greeting_reported():
            return []
        seconds = (now_us - self._since_us) / 1e6
        return self.health.record(
            now_us, "no_hello", f"no hello from node {self.node} for {seconds:.1f} s", down=True
        )

    def _greeting_reported(self) -> bool:
        return any(code in self.health for code in ("no_hello", "wrong_device", "wrong_version", "wrong_key"))

    def _tick_session(self, now_us: int) -> Sequence[Message]:
        if now_us >= self._received_us + SILENT_US:
            self.reopening.request_now()
            seconds = (now_us - self._received_us) / 1e6
            return self._start_over(now_us, "silent", f"no new sentence received for {seconds:.1f} s")
        not_receiving_at_us = self._not_receiving_at_us()
        if not_receiving_at_us is not None and now_us >= not_receiving_at_us:
            self.reopening.request_now()
            return self._start_over(
                now_us,
                "deaf",
                f"no answer to a query for {NOT_RECEIVING_US / 1e6:.1f} s, although the node is sending",
            )
        if self.phase is Phase.SYNCING and now_us >= self._since_us + SYNC_WITHIN_US:
            return self._start_over(
                now_us, "no_sync", f"{self.clock.answers} clock answers received, expected {FIRST_PINGS}"
            )
        messages: list[Message] = []
        if now_us >= self._next_ping_us:
            self._ping(now_us)
        messages += self._handle_missing(now_us)
        if self.phase is Phase.UP:
            unanswered = self._commands.send_due(now_us, self._wire)
            messages += unanswered
            if unanswered:
                messages += self.health.record_minor(
                    now_us, "unanswered", f"commands without an answer: {len(unanswered)}"
                )
        return messages

    def _not_receiving_at_us(self) -> int | None:
        """Return when a node that ignores queries will be reported as `deaf`; None if it answers."""
        if self.phase is not Phase.UP or not self._queries.ignored(self._received_us):
            return None
        return self._answered_us + NOT_RECEIVING_US

    def _greet(self, now_us: int) -> None:
        self._nonce = self._new_nonce()
        if not NONCE.fullmatch(self._nonce) or self._nonce.startswith(NO_SESSION):
            raise ValueError(
                f"found nonce {self._nonce!r}, expected 16 digits 0-9 A-F that do not begin with 0000"
            )
        self.phase = Phase.GREETING
        self.hello = None
        self._since_us = now_us
        self.reopening.postpone(now_us)
        self._wire.begin(self._nonce[:4], self._nonce.encode())
        self._reorder.begin()
        self._send_hello(now_us)

    def _send_hello(self, now_us: int) -> None:
        self._next_hello_us = now_us + HELLO_EVERY_US
        self._wire.send(now_us, "hello", {"version": str(VERSION), "nonce": self._nonce})

    def _start_over(self, now_us: int, code: str, seen: str) -> Sequence[Message]:
        messages = self.health.record(now_us, code, seen, down=True)
        self._greet(now_us)
        return messages

    def _handle(self, received: ReceivedSentence, now_us: int) -> Sequence[Message]:
        sentence = received.sentence
        if sentence.verb == "hello":
            return self._handle_hello(received, now_us)
        if sentence.node != self.node:
            self.counters.strangers += 1
            return []
        if sentence.session != self._wire.session or self.phase not in (Phase.SYNCING, Phase.UP):
            self.counters.stale += 1
            return []
        if not self._wire.seal_is_valid(received):
            return self.health.record_minor(now_us, "forged", "found a sentence without a valid seal")
        place = self._reorder.place(sentence.seq, now_us)
        if place == "restarted" and not self._sealed:
            return self._start_over(now_us, "restarted", "the node restarted its sequence numbers")
        if place not in ("next", "recovered"):
            return []
        self._received_us = now_us
        handle = self._verbs.get(sentence.verb, self._reading)
        return [*self._handle_missing(now_us), *handle(sentence, now_us)]

    def _handle_hello(self, received: ReceivedSentence, now_us: int) -> Sequence[Message]:
        sentence = received.sentence
        nonce = sentence.fields.get("nonce", "")
        if sentence.node != self.node:
            return self._reject(
                now_us, "wrong_device", f"found node {sentence.node}, expected node {self.node}"
            )
        if nonce != self._nonce or sentence.session != self._wire.session:
            return self._handle_announcement(sentence, now_us)
        nonces = (self._nonce + sentence.fields.get("salt", "")).encode()
        seal_is_valid = self._wire.seal_is_valid(received, nonces)
        if self.phase is not Phase.GREETING:
            if seal_is_valid:
                self._reorder.place(sentence.seq, now_us)
            return []
        if not seal_is_valid:
            seen = f"the hello of node {self.node} does not have a valid seal"
            return self._reject(now_us, "wrong_key", self._key_fault or seen)
        try:
            hello = read_hello(sentence)
        except HelloError as error:
            return self._reject(now_us, "wrong_version", str(error))
        self._wire.set_nonces(nonces)
        self._reorder.place(sentence.seq, now_us)
        self.hello = hello
        self.clock = NodeClock()
        self.phase = Phase.SYNCING
        self._since_us = self._received_us = self._answered_us = now_us
        self._queries.forget()
        self._ping(now_us)
        return [hello]

    def _handle_announcement(self, sentence: Sentence, now_us: int) -> Sequence[Message]:
        """Handle a hello that does not belong to the current session.

        The node has restarted, unless the hello is from an earlier session and has the same `boot`.
        """
        self.counters.stale += 1
        if self.phase is Phase.GREETING:
            if now_us >= self._next_hello_us - HELLO_EVERY_US // 2:
                self._send_hello(now_us)
            return []
        boot = sentence.fields.get("boot", "")
        if sentence.session != NO_SESSION and self.hello is not None and boot == self.hello.boot:
            return []
        return self._start_over(now_us, "restarted", "the node restarted")

    def _reject(self, now_us: int, code: str, seen: str) -> Sequence[Message]:
        messages = self.health.record(now_us, code, seen, down=True)
        if self.phase is not Phase.GREETING:
            self._greet(now_us)
        return messages

    def _ping(self, now_us: int) -> None:
        self._next_ping_us = now_us + (FIRST_PING_US if self.phase is Phase.SYNCING else PING_RETRY_US)
        self._queries.send(now_us, self._wire)

    def _pong(self, sentence: Sentence, now_us: int) -> Sequence[Message]:
        answer = self._queries.answer(sentence, self._line_bytes, now_us)
        if answer is None:
            self.counters.refused += 1
            return []
        try:
            self.clock.learn(answer)
        except ClockStepError as error:
            return self._start_over(now_us, "clock_step", str(error))
        self._answered_us = now_us
        if self.phase is Phase.SYNCING and self.clock.answers < FIRST_PINGS:
            return []
        self._next_ping_us = now_us + PING_EVERY_US
        messages: list[Message] = []
        if self.phase is Phase.SYNCING:
            self.phase = Phase.UP
            messages += self.health.clear(now_us, *self._session_faults(), seen=self._introduction())
            messages += self._commands.send_due(now_us, self._wire)
        return [*messages, *self._check_speed(now_us)]

    def _session_faults(self) -> tuple[str, ...]:
        kept = ("forged", "noisy_line", "slow_link", "unanswered")
        return tuple(code for code in self.health.codes if code not in kept)

    def _introduction(self) -> str:
        assert self.hello is not None
        error_ms = self.clock.error_us / 1000
        started = f", last reset: {self.hello.reset}" if self.hello.reset else ""
        return f"node {self.node}, firmware {self.hello.firmware}{started}, clock within {error_ms:.2f} ms"

    def _check_speed(self, now_us: int) -> Sequence[Message]:
        best_us = self.clock.best_us
        if best_us > SLOW_US:
            return self.health.record(
                now_us, "slow_link", f"{best_us / 1000:.1f} ms for the quickest answer", down=False
            )
        return self.health.clear(now_us, "slow_link", seen=f"answers within {best_us / 1000:.1f} ms again")

    def _ack(self, sentence: Sentence, _now_us: int) -> Sequence[Message]:
        result = self._commands.handle_acknowledgement(sentence.fields)
        if result is None:
            self.counters.repeated += 1
            return []
        return [result]

    def _reading(self, sentence: Sentence, now_us: int) -> Sequence[Message]:
        if self.phase is not Phase.UP:
            self.counters.refused += 1
            return []
        t_us = self.clock.to_table(sentence.clock_us, now_us)
        channel = number_in(sentence.fields, "ch", "0")
        if channel is None:
            return self.refuse(
                now_us,
                f"found {sentence.verb} from channel {sentence.fields['ch']!r}, expected a whole number of at"
                " most ten digits",
            )
        if not now_us - MAX_AGE_US <= t_us <= now_us + MAX_AHEAD_US:
            self.counters.refused += 1
            off = (t_us - now_us) / 1e6
            return self.health.record_loss(
                now_us, now_us, "bad_clock", f"{sentence.verb} timestamped {off:+.3f} s from its arrival"
            )
        fields = {name: value for name, value in sentence.fields.items() if name != "ch"}
        return [NodeReading(min(t_us, now_us), sentence.verb, fields, channel)]

    def refuse(self, now_us: int, seen: str) -> Sequence[Message]:
        """Discard an invalid reading and report the loss."""
        self.counters.refused += 1
        return self.health.record_loss(now_us, now_us, "bad_reading", seen)

    def _handle_missing(self, now_us: int) -> Sequence[Message]:
        """Request missing sentences; report sentences that are overdue or cannot be requested."""
        can_request = self.hello is not None and self.hello.resend > 0 and "babbling" not in self.health
        loss = self._reorder.losses(now_us, give_up_all=not can_request)
        missing = self._reorder.to_request(now_us)
        if missing is not None:
            self._wire.send(now_us, "resend", {"first": str(missing[0]), "last": str(missing[1])})
        if loss is None:
            return []
        return self.health.record_loss(
            now_us, loss.since_us, "sentences_lost", f"sentences lost: {loss.sentences}"
        )
