"""The parts common to both ends of the node link: lines, sequence numbers, session and seal."""

import hmac
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

from drivers.framing import LineSplitter
from drivers.node.sentences import (
    CLOCK_US,
    GIVE_UP_US,
    MAX_SENTENCE,
    MAX_SEQ,
    NO_SESSION,
    RESEND_RETRY_US,
    Flaw,
    FlawError,
    ReceivedSentence,
    Sentence,
    Speaker,
    decode,
    encode,
    finish,
)


@dataclass(slots=True)
class Counters:
    """Counters of one link since it was created."""

    bytes: int = 0
    sentences: int = 0
    noise_bytes: int = 0
    """Bytes outside any sentence."""
    noise: int = 0
    """Lines in which no sentence begins."""
    half: int = 0
    """Truncated lines, which do not end with a CRC."""
    bad_crc: int = 0
    bad_form: int = 0
    """Lines with a valid CRC that do not have the form of a sentence."""
    echoes: int = 0
    """Sentences from this end that were echoed back."""
    strangers: int = 0
    """Sentences from another node."""
    stale: int = 0
    """Sentences from another session, or received before a session began."""
    forged: int = 0
    """Sentences with a missing or invalid seal."""
    gaps: int = 0
    """Gaps in the sequence numbers."""
    lost: int = 0
    """Sentences that did not arrive in time."""
    recovered: int = 0
    """Missing sentences that arrived later, typically on request."""
    repeated: int = 0
    """Sentences received again."""
    reordered: int = 0
    """Sentences that arrived after they had been counted as lost."""
    babble: int = 0
    """Lines discarded without being read because too many arrived."""
    refused: int = 0
    """Readings and answers that arrived too early or were invalid."""

    @property
    def flawed(self) -> int:
        """Number of damaged lines."""
        return self.noise + self.half + self.bad_crc + self.bad_form

    def snapshot(self) -> dict[str, int]:
        """Return the counters by name."""
        return asdict(self)


MAX_MISSING = 64
"""Maximum number of missing sentences tracked. If more are missing, the oldest are given up at once."""

RESTART_GAP = 256
"""The number of a repeated sentence is at most this far below the latest number. A lower number shows that
the other end has restarted its numbering."""

Placement = Literal["next", "recovered", "repeated", "reordered", "restarted"]


class Loss(NamedTuple):
    """The number of lost sentences, and the earliest time at which one of them might have been sent."""

    sentences: int
    since_us: int


class _Missing(NamedTuple):
    since_us: int
    noticed_us: int


class ReorderBuffer:
    """Tracks the received and missing sequence numbers of one session."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._missing: dict[int, _Missing] = {}
        self._given_up: deque[int] = deque(maxlen=MAX_MISSING)
        self._last: int | None = None
        self._last_us = 0
        self._request_us = 0
        self._forgotten_loss: Loss | None = None

    def begin(self) -> None:
        """Reset the buffer. The next sentence may have any number."""
        self._missing.clear()
        self._given_up.clear()
        self._last = None
        self._forgotten_loss = None

    def place(self, seq: int, now_us: int) -> Placement:
        """Record a sequence number and return its placement; record skipped numbers as missing."""
        place = self._place(seq, now_us)
        self._last_us = now_us
        return place

    def next_deadline(self) -> int | None:
        """Return when to request missing sentences or give them up; None if none are missing."""
        if not self._missing:
            return None
        return min(
            self._request_us, min(missing.noticed_us for missing in self._missing.values()) + GIVE_UP_US
        )

    def to_request(self, now_us: int) -> tuple[int, int] | None:
        """Return the first and last missing numbers if a request is due; otherwise None."""
        if not self._missing or now_us < self._request_us:
            return None
        self._request_us = now_us + RESEND_RETRY_US
        return min(self._missing), max(self._missing)

    def losses(self, now_us: int, *, give_up_all: bool = False) -> Loss | None:
        """Stop waiting for overdue sentences and return the loss; None if nothing was lost.

        If `give_up_all` is true, stop waiting for all missing sentences.
        """
        overdue = [n for n, m in self._missing.items() if give_up_all or now_us >= m.noticed_us + GIVE_UP_US]
        lost = [Loss(1, self._missing.pop(number).since_us) for number in overdue]
        self._given_up.extend(overdue)
        if self._forgotten_loss is not None:
            lost.append(self._forgotten_loss)
            self._forgotten_loss = None
        if not lost:
            return None
        loss = Loss(sum(one.sentences for one in lost), min(one.since_us for one in lost))
        self._counters.lost += loss.sentences
        return loss

    def _place(self, seq: int, now_us: int) -> Placement:
        if self._last is None or seq == self._last + 1:
            self._last = seq
            return "next"
        if seq > self._last:
            self._record_missing(seq, now_us)
            self._last = seq
            return "next"
        if self._missing.pop(seq, None) is not None:
            self._counters.recovered += 1
            return "recovered"
        if seq in self._given_up:
            self._counters.reordered += 1
            return "reordered"
        self._counters.repeated += 1
        return "restarted" if seq < self._last - RESTART_GAP else "repeated"

    def _record_missing(self, seq: int, now_us: int) -> None:
        assert self._last is not None
        if not self._missing:
            self._request_us = now_us
        self._counters.gaps += 1
        first = max(self._last + 1, seq - MAX_MISSING)
        for number in range(first, seq):
            self._missing[number] = _Missing(self._last_us, now_us)
        if first > self._last + 1:
            self._forget(first - self._last - 1, self._last_us)
        while len(self._missing) > MAX_MISSING:
            self._forget(1, self._missing.pop(next(iter(self._missing))).since_us)

    def _forget(self, sentences: int, since_us: int) -> None:
        before = self._forgotten_loss or Loss(0, since_us)
        self._forgotten_loss = Loss(before.sentences + sentences, min(before.since_us, since_us))


SEAL_BYTES = 8
"""Length of a seal, a truncated HMAC-SHA-256. A random seal is valid with a probability of 1 in 2^64."""


class Wire:
    """Converts received bytes into checked sentences, and sentences into bytes to send."""

    def __init__(self, speaker: Speaker, node: str, key: bytes | None = None) -> None:
        """Create `speaker`'s end of the link with `node`. If a key is given, all sentences are sealed."""
        self.node = node
        self.counters = Counters()
        self.session = NO_SESSION

        self._speaker = speaker
        self._key = key
        self._nonces = b""
        self._lines = LineSplitter(MAX_SENTENCE)
        self._seq = 0
        self._output: list[bytes] = []

    def rekey(self, key: bytes) -> None:
        """Change the key for both directions and discard unsent output."""
        self._key = key
        self._output.clear()

    def disconnect(self) -> None:
        """Discard the state of the connection that has ended."""
        self.counters.noise_bytes += self._lines.clear()
        self._output.clear()
        self.begin(NO_SESSION)

    def begin(self, session: str, nonces: bytes = b"") -> None:
        """Start a session. Outgoing sentences are numbered from 0."""
        self.session = session
        self._nonces = nonces
        self._seq = 0

    def set_nonces(self, nonces: bytes) -> None:
        """Set the nonces that the session's seals cover."""
        self._nonces = nonces

    def send(self, clock_us: int, verb: str, fields: Mapping[str, str] | None = None) -> bytes:
        """Append the next sentence to the output and return its bytes."""
        sentence = Sentence(
            self._speaker, self.node, self.session, self._seq, clock_us % CLOCK_US, verb, fields or {}
        )
        body = encode(sentence)
        line = finish(body, self._seal(body) if self._key is not None else b"")
        self._seq += 1
        self._output.append(line)
        return line

    def check(self, verb: str, fields: Mapping[str, str]) -> None:
        """Raise ValueError if this sentence, with the longest numbers and a seal, is invalid or too long."""
        longest = Sentence(self._speaker, self.node, self.session, MAX_SEQ, CLOCK_US - 1, verb, fields)
        finish(encode(longest), b"0" * SEAL_BYTES * 2)

    def repeat(self, line: bytes) -> None:
        """Append a previously sent line to the output."""
        self._output.append(line)

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output."""
        if not self._output:
            return b""
        output = b"".join(self._output)
        self._output.clear()
        return output

    def lines(self, data: bytes) -> list[bytes]:
        """Add received bytes and return the completed lines."""
        self.counters.bytes += len(data)
        lines = []
        for line in self._lines.feed(data):
            self.counters.noise_bytes += line.dropped
            lines.append(line.text)
        return lines

    def read(self, line: bytes) -> ReceivedSentence | None:
        """Return the sentence at the end of a line.

        If there is no valid sentence from the other end, count the line and return None.
        """
        counters = self.counters
        start = max(line.rfind(Speaker.NODE.encode()), line.rfind(Speaker.TABLE.encode()))
        if start < 0:
            if line:
                counters.noise += 1
                counters.noise_bytes += len(line)
            return None
        counters.noise_bytes += start
        try:
            received = decode(line[start:])
        except FlawError as error:
            self._count(error.flaw)
            return None
        if received.sentence.speaker == self._speaker:
            counters.echoes += 1
            return None
        counters.sentences += 1
        return received

    def seal_is_valid(self, received: ReceivedSentence, nonces: bytes | None = None) -> bool:
        """Return whether the seal is valid for these nonces (default: the session's); count invalid seals.

        Without a key, every seal is accepted.
        """
        if self._key is None or hmac.compare_digest(self._seal(received.body, nonces), received.seal):
            return True
        self.counters.forged += 1
        return False

    def _seal(self, body: bytes, nonces: bytes | None = None) -> bytes:
        assert self._key is not None
        covered = (self._nonces if nonces is None else nonces) + body
        return hmac.digest(self._key, covered, "sha256")[:SEAL_BYTES].hex().upper().encode()

    def _count(self, flaw: Flaw) -> None:
        counters = self.counters
        match flaw:
            case Flaw.HALF:
                counters.half += 1
            case Flaw.BAD_CRC:
                counters.bad_crc += 1
            case Flaw.BAD_FORM:
                counters.bad_form += 1
