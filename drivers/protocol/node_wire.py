"""One end of the node link: lines, sentences, session and seal, the same at the table and the node.

The table's end speaks `>` and hears `$`, the node's end the other way round; nothing else differs here.
"""

import hmac
from collections import deque
from collections.abc import Mapping

from drivers.protocol.node_counters import Counters
from drivers.protocol.node_lines import Lines
from drivers.protocol.node_sentences import (
    CLOCK_US,
    MAX_SENTENCE,
    MAX_SEQ,
    NO_SESSION,
    Flaw,
    FlawError,
    Heard,
    Sentence,
    Speaker,
    decode,
    encode,
    finish,
)

SEAL_BYTES = 8
"""HMAC-SHA-256 cut to its first 8 bytes: a forger's chance is 1 in 2^64 a try."""
RECENT = 64


class Wire:
    """Bytes to checked sentences of the other end, and sentences to bytes."""

    def __init__(self, speaker: Speaker, node: str, key: bytes | None = None) -> None:
        """Speak as this end of the link to `node`; with a key every sentence is sealed and must be."""
        self.node = node
        self.counters = Counters()
        self.session = NO_SESSION
        self.recent: deque[bytes] = deque(maxlen=RECENT)
        """The last lines heard and said, as they were."""
        self._speaker = speaker
        self._key = key
        self._nonces = b""
        self._lines = Lines(MAX_SENTENCE)
        self._seq = 0
        self._output: list[bytes] = []

    def disconnect(self) -> None:
        """Forget what belonged to the connection that ended."""
        self.counters.noise_bytes += self._lines.clear()
        self._output.clear()
        self.begin(NO_SESSION)

    def begin(self, session: str, nonces: bytes = b"") -> None:
        """Start a session: our numbers begin at 0."""
        self.session = session
        self._nonces = nonces
        self._seq = 0

    def agree(self, nonces: bytes) -> None:
        """Go on under both ends' nonces, from which both now make their seals."""
        self._nonces = nonces

    def say(self, clock_us: int, verb: str, fields: Mapping[str, str] | None = None) -> bytes:
        """Put the next sentence into the output and give its bytes."""
        sentence = Sentence(
            self._speaker, self.node, self.session, self._seq, clock_us % CLOCK_US, verb, fields or {}
        )
        body = encode(sentence)
        line = finish(body, self._seal(body) if self._key is not None else b"")
        self._seq += 1
        self._output.append(line)
        self.recent.append(line.rstrip())
        return line

    def check(self, verb: str, fields: Mapping[str, str]) -> None:
        """Raise ValueError where this could not be said, whatever the numbers and the seal."""
        longest = Sentence(self._speaker, self.node, self.session, MAX_SEQ, CLOCK_US - 1, verb, fields)
        finish(encode(longest), b"0" * SEAL_BYTES * 2)

    def repeat(self, line: bytes) -> None:
        """Put a sentence said before into the output again, as it was."""
        self._output.append(line)

    def take_output(self) -> bytes:
        """Give what is to be sent; it is handed out once."""
        if not self._output:
            return b""
        output = b"".join(self._output)
        self._output.clear()
        return output

    def lines(self, data: bytes) -> list[bytes]:
        """Cut bytes into lines that may be sentences."""
        self.counters.bytes += len(data)
        lines = []
        for line, dropped in self._lines.feed(data):
            self.counters.noise_bytes += dropped
            lines.append(line)
        return lines

    def read(self, line: bytes) -> Heard | None:
        """Read the sentence at a line's end; None, counted, where there is none of the other end."""
        counters = self.counters
        self.recent.append(line)
        start = max(line.rfind(Speaker.NODE.encode()), line.rfind(Speaker.TABLE.encode()))
        if start < 0:
            if line:
                counters.noise += 1
                counters.noise_bytes += len(line)
            return None
        counters.noise_bytes += start
        try:
            heard = decode(line[start:])
        except FlawError as error:
            self._count(error.flaw)
            return None
        if heard.sentence.speaker == self._speaker:
            counters.echoes += 1
            return None
        counters.sentences += 1
        return heard

    def genuine(self, heard: Heard, nonces: bytes | None = None) -> bool:
        """Tell whether the seal is right under these nonces (the session's where not given)."""
        if self._key is None or hmac.compare_digest(self._seal(heard.body, nonces), heard.seal):
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
