"""A sensor node's end of the link: heartbeat, clock answers, commands, retransmission.

It runs on CPython and MicroPython. A subclass implements `clock`, `write` and `command`.
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
    """Return the CRC-16/IBM-3740: polynomial 0x1021, initial value 0xFFFF; b"123456789" gives 0x29B1."""
    crc = 0xFFFF
    table = CRC_TABLE
    for byte in data:
        crc = ((crc << 8) & 0xFF00) ^ table[(crc >> 8) ^ byte]
    return crc


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    """Return the HMAC-SHA-256 of RFC 2104; MicroPython has no module for it."""
    if len(key) > 64:
        key = hashlib.sha256(key).digest()
    key = key + bytes(64 - len(key))
    inner = hashlib.sha256(bytes([b ^ 0x36 for b in key]) + data).digest()
    return hashlib.sha256(bytes([b ^ 0x5C for b in key]) + inner).digest()


def hex_of(data: bytes) -> str:
    """Return upper-case hexadecimal digits."""
    return "".join([f"{byte:02X}" for byte in data])


def escaped(value: str) -> str:
    """Percent-encode every byte that is not in PLAIN."""
    return "".join([chr(b) if chr(b) in PLAIN else f"%{b:02X}" for b in value.encode()])


def number(text: str) -> int:
    """Return a whole number, or -1 if the text is not one."""
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
        """Create the node; `boot` and `salt` are 16 hexadecimal digits each, fresh at every start."""
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
        self.done = {}  # type: dict[int, tuple[bool, str]]
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
        """Return the board's clock in microseconds; unlike ticks_us, it must count through all 32 bits."""
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

    def leave(self) -> None:
        """End the session because the table has been silent, and announce the board again."""
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
        """Send a reading of an event at `seen_us`. Outside a session nothing is sent."""
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
            self.greeted(words, fields, body, seal)
        elif words[0][1:] == self.name and words[1] == self.session and self.sealed(self.nonces, body, seal):
            seq = number(words[2])
            if seq > self.last_seq:
                self.last_seq = seq
                self.received_us = got_us
                self.obey(words[4], fields, got_us)

    def greeted(self, words: list[str], fields: dict[str, str], body: bytes, seal: str) -> None:
        """Handle the table's hello: start a session, or repeat the hello of the current one."""
        nonce = fields.get("nonce", "")
        if fields.get("version") != "1" or len(nonce) != 16 or nonce[:4] != words[1]:
            return
        if not self.sealed(nonce.encode(), body, seal):
            return
        if nonce != self.nonce:
            self.nonce = nonce
            self.session = nonce[:4]
            self.salt = f"{(int(self.salt, 16) + 1) % (1 << 64):016X}"
            self.nonces = (nonce + self.salt).encode()
            self.seq = 0
            self.last_seq = -1
            self.kept = []
            self.done = {}
        if number(words[2]) <= self.last_seq:
            return
        self.last_seq = number(words[2])
        self.received_us = self.clock()
        answer = list(self.hello)
        answer.append(("nonce", nonce))
        answer.append(("salt", self.salt))
        self.send_sentence("hello", answer, self.clock())
        self.next_us = self.clock() + BEAT_US

    def obey(self, verb: str, fields: dict[str, str], got_us: int) -> None:
        """Handle a sentence of the session."""
        if verb == "ping":
            got = str(got_us % WRAP_US)
            self.send_sentence("pong", [("id", fields.get("id", "")), ("got", got)], self.clock())
        elif verb == "resend":
            first, last = number(fields.get("first", "")), number(fields.get("last", ""))
            for seq, line in self.kept:
                if first <= seq <= last:
                    self.write(line)
        else:
            which = number(fields.get("id", ""))
            if which not in self.done:
                self.done[which] = self.command(verb, fields)
                if len(self.done) > MAX_KEPT:
                    del self.done[min(self.done)]
            ok, says = self.done[which]
            answer = [("id", str(which)), ("ok", "1" if ok else "0")]
            if says:
                answer.append(("says", says))
            self.send_sentence("ack", answer, self.clock())

    def send_sentence(self, verb: str, fields: list[tuple[str, str]], clock_us: int) -> None:
        """Send one sentence and keep it for retransmission."""
        body = f"${self.name} {self.session} {self.seq} {clock_us % WRAP_US} {verb}"
        for name, value in fields:
            body += f" {name}={escaped(value)}"
        line = body.encode()
        if self.key:
            line += b" ~" + hex_of(hmac_sha256(self.key, self.nonces + line)[:8]).encode()
        line += f"*{crc16(line):04X}\n".encode()
        self.kept = self.kept[1 - MAX_KEPT :]
        self.kept.append((self.seq, line))
        self.seq += 1
        self.write(line)

    def sealed(self, nonces: bytes, body: bytes, seal: str) -> bool:
        """Return whether the seal is right. The comparison takes constant time."""
        if not self.key:
            return True
        right = hex_of(hmac_sha256(self.key, nonces + body)[:8])
        wrong = len(right) ^ len(seal)
        for index in range(min(len(right), len(seal))):
            wrong |= ord(right[index]) ^ ord(seal[index])
        return wrong == 0
