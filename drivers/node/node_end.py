"""The node's end of the link, for simulators and tests.

Times are in microseconds of the node's clock. They need not wrap, because they are truncated to 32 bits when
sent.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from drivers.node.sentences import (
    ANNOUNCE_US,
    BEAT_AFTER_READING_US,
    BEAT_US,
    NO_SESSION,
    NONCE,
    VERSION,
    Hello,
    ReceivedSentence,
    Sentence,
    Speaker,
    hello_fields,
)
from drivers.node.wire import ReorderBuffer, Wire


@dataclass(frozen=True, slots=True)
class Command:
    """A command from the table. Its acknowledgement has the same number."""

    number: int
    verb: str
    fields: Mapping[str, str]


class NodeEnd:
    """The node's end of its link to the table."""

    def __init__(self, hello: Hello, salt: str, *, key: bytes | None = None) -> None:
        """Create the node's end.

        `salt` is 16 digits 0-9 A-F. `salt` and `hello.boot` must be different at each start. Each session
        adds 1 to the salt, so that seals never recur.
        """
        if not NONCE.fullmatch(salt):
            raise ValueError(f"salt {salt!r}: expected 16 digits 0-9 A-F")
        self.hello = hello
        """The node's description in its next hello, with the errors measured so far."""
        self._salt = salt
        self._nonce = ""
        self._wire = Wire(Speaker.NODE, hello.node, key)
        self._reorder = ReorderBuffer(self._wire.counters)
        self._sent: deque[tuple[int, bytes]] = deque(maxlen=hello.resend or 1)
        self._seq = 0
        self._beat_us = 0
        self._answers: dict[int, tuple[bool, str] | None] = {}
        self.pings = 0
        """Number of the table's clock queries in this session. The table accepts readings only after
        enough of them."""

    @property
    def in_session(self) -> bool:
        """Whether a table has greeted this node."""
        return self._wire.session != NO_SESSION

    def start(self, now_us: int) -> None:
        """Announce this node."""
        self._send(now_us, "hello", hello_fields(self.hello))
        self._beat_us = now_us + ANNOUNCE_US

    def next_deadline(self) -> int:
        """Return when `tick` is due next."""
        return self._beat_us

    def tick(self, now_us: int) -> None:
        """Send a beat when it is due; outside a session, announce this node again."""
        if now_us < self._beat_us:
            return
        if self.in_session:
            self._send(now_us, "beat")
            self._beat_us = now_us + BEAT_US
        else:
            self.start(now_us)

    def take_output(self) -> bytes:
        """Return the bytes to send."""
        return self._wire.take_output()

    def reading(
        self,
        now_us: int,
        kind: str,
        fields: Mapping[str, str],
        *,
        channel: int = 0,
        seen_us: int | None = None,
    ) -> None:
        """Send a reading of an event at `seen_us` (default: now). Does nothing outside a session."""
        if not self.in_session:
            return
        channels = {"ch": str(channel)} if channel else {}
        self._send(now_us if seen_us is None else seen_us, kind, {**channels, **fields})
        self._beat_us = now_us + BEAT_AFTER_READING_US

    def receive(self, now_us: int, data: bytes) -> list[Command]:
        """Handle bytes from the table; return the new commands."""
        commands = []
        for line in self._wire.lines(data):
            received = self._wire.read(line)
            if received is not None:
                commands += self._handle(received, now_us)
        return commands

    def acknowledge(self, now_us: int, number: int, *, ok: bool = True, message: str = "") -> None:
        """Report the result of a command."""
        self._answers[number] = (ok, message)
        fields = {"id": str(number), "ok": "1" if ok else "0"}
        self._send(now_us, "ack", {**fields, "says": message} if message else fields)

    def _send(self, clock_us: int, verb: str, fields: Mapping[str, str] | None = None) -> None:
        self._sent.append((self._seq, self._wire.send(clock_us, verb, fields)))
        self._seq += 1

    def _handle(self, received: ReceivedSentence, now_us: int) -> list[Command]:
        sentence, counters = received.sentence, self._wire.counters
        if sentence.verb == "hello":
            self._handle_hello(received, now_us)
            return []
        if sentence.node != self.hello.node:
            counters.strangers += 1
            return []
        if sentence.session != self._wire.session:
            counters.stale += 1
            return []
        if not self._wire.seal_is_valid(received) or self._reorder.place(sentence.seq, now_us) != "next":
            return []
        self._reorder.losses(now_us, give_up_all=True)
        match sentence.verb:
            case "ping":
                self.pings += 1
                got = {"id": sentence.fields.get("id", ""), "got": str(now_us % (1 << 32))}
                self._send(now_us, "pong", got)
            case "resend":
                self._repeat(sentence)
            case _:
                return self._command(sentence, now_us)
        return []

    def _handle_hello(self, received: ReceivedSentence, now_us: int) -> None:
        sentence = received.sentence
        nonce = sentence.fields.get("nonce", "")
        known = NONCE.fullmatch(nonce) and nonce.startswith(sentence.session)
        if sentence.fields.get("version") != str(VERSION) or not known:
            self._wire.counters.refused += 1
            return
        if not self._wire.seal_is_valid(received, nonce.encode()):
            return
        if nonce != self._nonce:
            self._nonce = nonce
            self._salt = f"{(int(self._salt, 16) + 1) % (1 << 64):016X}"
            self._wire.begin(sentence.session, (nonce + self._salt).encode())
            self._reorder.begin()
            self._sent.clear()
            self._answers.clear()
            self._seq = 0
            self.pings = 0
        if self._reorder.place(sentence.seq, now_us) != "next":
            return
        self._send(now_us, "hello", {**hello_fields(self.hello), "nonce": nonce, "salt": self._salt})
        self._beat_us = now_us + BEAT_US

    def _repeat(self, sentence: Sentence) -> None:
        first, last = sentence.fields.get("first", ""), sentence.fields.get("last", "")
        if first.isdecimal() and last.isdecimal():
            for seq, line in self._sent:
                if int(first) <= seq <= int(last):
                    self._wire.repeat(line)

    def _command(self, sentence: Sentence, now_us: int) -> list[Command]:
        number = sentence.fields.get("id", "")
        if not number.isdecimal():
            self._wire.counters.refused += 1
            return []
        if int(number) in self._answers:
            previous = self._answers[int(number)]
            if previous is not None:
                self.acknowledge(now_us, int(number), ok=previous[0], message=previous[1])
            return []
        self._answers[int(number)] = None
        fields = {name: value for name, value in sentence.fields.items() if name != "id"}
        return [Command(int(number), sentence.verb, fields)]
