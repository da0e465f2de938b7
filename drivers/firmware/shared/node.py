"""A sensor node's end of the link, for CPython and MicroPython.

A subclass of `Node` implements `clock`, `write` and `command`.
"""

import hashlib

MAX_SENTENCE = 512
NO_SESSION = "0000"
WRAP_US = 1 << 32
ANNOUNCE_US = 1000000
BEAT_US = 500000
BEAT_AFTER_READING_US = 20000
MAX_KEPT = 16
PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:/+-"


def crc_of_byte(byte: int) -> int:
    """Return the CRC-16 register after one byte, starting from 0."""
    crc = byte << 8
    for _ in range(8):
        crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
    return crc & 0xFFFF


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def crc16(data: bytes) -> int:
    """Return the CRC-16/IBM-3740 (polynomial 0x1021, initial value 0xFFFF); 0x29B1 for b"123456789"."""
    crc = 0xFFFF
    table = CRC_TABLE
    for byte in data:
        crc = ((crc << 8) & 0xFF00) ^ table[(crc >> 8) ^ byte]
    return crc


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    """Compute an HMAC-SHA-256 (RFC 2104), which MicroPython does not provide."""
    if len(key) > 64:
        key = hashlib.sha256(key).digest()
    key = key + bytes(64 - len(key))
    inner = hashlib.sha256(bytes([b ^ 0x36 for b in key]) + data).digest()
    return hashlib.sha256(bytes([b ^ 0x5C for b in key]) + inner).digest()


def to_hex(data: bytes) -> str:
    """Return bytes as upper-case hexadecimal digits."""
    return "".join([f"{byte:02X}" for byte in data])


def percent_encode(value: str) -> str:
    """Percent-encode every byte that is not in PLAIN."""
    return "".join([chr(b) if chr(b) in PLAIN else f"%{b:02X}" for b in value.encode()])


def parse_number(text: str) -> int:
    """Return `text` as a whole number, or -1 if it is not a number."""
    try:
        return int(text)
    except ValueError:
        return -1


class Node:
    """One board's end of the link.

    Call `receive` with received bytes, `reading` for each reading, and `tick` often.
    """

    def __init__(
        self,
        name: str,
        reads: str,
        *,
        boot: str,
        salt: str,
        does: str,
        firmware: str = "reference-1",
        key: bytes = b"",
    ) -> None:
        """Create the node. `boot` and `salt` are 16 hexadecimal digits each, random at every start."""
        self.name = name
        self.key = key
        self.salt = salt
        self.session = NO_SESSION
        self.nonces = b""
        self.nonce = ""
        self.seq = 0
        self.last_seq = -1
        self.rest = b""
        self.kept = []  # type: list[tuple[int, bytes]]
        self.results = {}  # type: dict[int, tuple[bool, str]]
        self.next_us = 0
        self.received_us = 0
        self.hello = [
            ("version", "1"),
            ("fw", firmware),
            ("boot", boot),
            ("reads", reads),
            ("does", does),
            ("resend", str(MAX_KEPT)),
        ]

    def clock(self) -> int:
        """Return the board's clock in microseconds. Unlike ticks_us, it must use all 32 bits."""
        raise NotImplementedError

    def write(self, line: bytes) -> None:
        """Send bytes to the table."""
        raise NotImplementedError

    def command(self, verb: str, fields: dict[str, str]) -> tuple[bool, str]:
        """Execute a command from the table; return whether it succeeded, and a short message."""
        raise NotImplementedError

    def announce(self) -> None:
        """Announce the board with a hello outside a session."""
        self.send_sentence("hello", self.hello, self.clock())
        self.next_us = self.clock() + ANNOUNCE_US

    def end_session(self) -> None:
        """End the session because the table has gone silent, and announce the board again."""
        self.session = NO_SESSION
        self.nonces = b""
        self.nonce = ""
        self.seq = 0
        self.last_seq = -1
        self.announce()

    def tick(self) -> None:
        """Send a heartbeat or an announcement when it is due."""
        if self.clock() < self.next_us:
            return
        if self.session == NO_SESSION:
            self.announce()
        else:
            self.send_sentence("beat", [], self.clock())
            self.next_us = self.clock() + BEAT_US

    def reading(self, kind: str, fields: list[tuple[str, str]], seen_us: int) -> None:
        """Send a reading of an event at `seen_us`. Does nothing outside a session."""
        if self.session != NO_SESSION:
            self.send_sentence(kind, fields, seen_us)
            self.next_us = self.clock() + BEAT_AFTER_READING_US

    def receive(self, data: bytes) -> None:
        """Handle bytes from the table."""
        got_us = self.clock()
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()[-MAX_SENTENCE:]
        for line in lines:
            start = line.rfind(b">")
            if start >= 0 and line.rfind(b"$") < start:
                self.receive_line(line[start:].strip(b"\r"), got_us)

    def receive_line(self, line: bytes, got_us: int) -> None:
        """Handle one line, if it is a valid sentence."""
        body = line[:-5]
        if line[-5:-4] != b"*" or f"{crc16(body):04X}".encode() != line[-4:]:
            return
        try:
            words = body.decode().split(" ")
        except ValueError:
            return
        seal = words.pop()[1:] if words[-1].startswith("~") else ""
        if seal:
            body = body[: -len(seal) - 2]
        if len(words) < 5:
            return
        fields = {word.split("=", 1)[0]: word.split("=", 1)[1] for word in words[5:] if "=" in word}
        if words[4] == "hello":
            self.handle_hello(words, fields, body, seal)
        elif (
            words[0][1:] == self.name
            and words[1] == self.session
            and self.has_valid_seal(self.nonces, body, seal)
        ):
            seq = parse_number(words[2])
            if seq > self.last_seq:
                self.last_seq = seq
                self.received_us = got_us
                self.handle_sentence(words[4], fields, got_us)

    def handle_hello(self, words: list[str], fields: dict[str, str], body: bytes, seal: str) -> None:
        """Handle the table's hello by starting a session or repeating the hello of the current session."""
        nonce = fields.get("nonce", "")
        if fields.get("version") != "1" or len(nonce) != 16 or nonce[:4] != words[1]:
            return
        if not self.has_valid_seal(nonce.encode(), body, seal):
            return
        if nonce != self.nonce:
            self.nonce = nonce
            self.session = nonce[:4]
            self.salt = f"{(int(self.salt, 16) + 1) % (1 << 64):016X}"
            self.nonces = (nonce + self.salt).encode()
            self.seq = 0
            self.last_seq = -1
            self.kept = []
            self.results = {}
        if parse_number(words[2]) <= self.last_seq:
            return
        self.last_seq = parse_number(words[2])
        self.received_us = self.clock()
        answer = list(self.hello)
        answer.append(("nonce", nonce))
        answer.append(("salt", self.salt))
        self.send_sentence("hello", answer, self.clock())
        self.next_us = self.clock() + BEAT_US

    def handle_sentence(self, verb: str, fields: dict[str, str], got_us: int) -> None:
        """Handle a sentence of the session."""
        if verb == "ping":
            got = str(got_us % WRAP_US)
            self.send_sentence("pong", [("id", fields.get("id", "")), ("got", got)], self.clock())
        elif verb == "resend":
            first, last = parse_number(fields.get("first", "")), parse_number(fields.get("last", ""))
            for seq, line in self.kept:
                if first <= seq <= last:
                    self.write(line)
        else:
            which = parse_number(fields.get("id", ""))
            if which not in self.results:
                self.results[which] = self.command(verb, fields)
                if len(self.results) > MAX_KEPT:
                    del self.results[min(self.results)]
            ok, message = self.results[which]
            answer = [("id", str(which)), ("ok", "1" if ok else "0")]
            if message:
                answer.append(("says", message))
            self.send_sentence("ack", answer, self.clock())

    def send_sentence(self, verb: str, fields: list[tuple[str, str]], clock_us: int) -> None:
        """Send a sentence and store it for retransmission."""
        body = f"${self.name} {self.session} {self.seq} {clock_us % WRAP_US} {verb}"
        for name, value in fields:
            body += f" {name}={percent_encode(value)}"
        line = body.encode()
        if self.key:
            line += b" ~" + to_hex(hmac_sha256(self.key, self.nonces + line)[:8]).encode()
        line += f"*{crc16(line):04X}\n".encode()
        self.kept = self.kept[1 - MAX_KEPT :]
        self.kept.append((self.seq, line))
        self.seq += 1
        self.write(line)

    def has_valid_seal(self, nonces: bytes, body: bytes, seal: str) -> bool:
        """Return whether the seal is valid. The comparison takes constant time."""
        if not self.key:
            return True
        expected = to_hex(hmac_sha256(self.key, nonces + body)[:8])
        difference = len(expected) ^ len(seal)
        for index in range(min(len(expected), len(seal))):
            difference |= ord(expected[index]) ^ ord(seal[index])
        return difference == 0
