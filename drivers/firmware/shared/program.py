"""One board's program: its node on the link, its sensors, and what it does when the table falls silent."""

from drivers.firmware.shared.node import NO_SESSION, Node, hex_of

VERSION = "1.0"
SILENT_US = 3000000
"""The table asks for the clock every 984 ms; after three missed questions it counts as gone, and the
outputs go to a safe state.
"""
FIRST_PINGS = 8
"""The table asks this often before readings count; the states of switches are sent after that."""


class Board:
    """What differs between boards. `hardware` has the pins; a board reads no clock and opens no port."""

    NAME = ""
    READS = ""
    DOES = "selftest"

    def __init__(self, hardware, settings) -> None:  # type: ignore[no-untyped-def]  # any hardware of these names
        """Store the hardware and the settings, which name the pins."""
        self.hardware = hardware
        self.settings = settings

    def reads(self) -> str:
        """Return the kinds that it can send, as in its hello."""
        return self.READS

    def claims(self) -> list[tuple[str, str]]:
        """Return what it has measured of its own errors, for its hello; empty before that."""
        return []

    def greeted(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return what the table must know when it connects: the states of switches."""
        return []

    def poll(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return what was seen since the last call: kind, fields, and the clock at that time."""
        return []

    def command(self, verb: str, fields: dict[str, str], now_us: int) -> tuple[bool, str]:
        """Carry out a request of the table; return whether it was done, and a short message."""
        if verb == "selftest":
            return self.selftest()
        return False, "no " + verb

    def selftest(self) -> tuple[bool, str]:
        """Test what can be tested without a person."""
        return True, "nothing to test"

    def safe(self) -> None:
        """Put every output into a safe state: the table has fallen silent."""


class Program(Node):
    """A board and its port."""

    def __init__(self, hardware, board: Board, settings, firmware: str) -> None:  # type: ignore[no-untyped-def]
        """Set up the board that its settings name, with its outputs in a safe state."""
        super().__init__(
            str(settings["name"]),
            board.reads(),
            boot=hex_of(hardware.random(8)),
            salt=hex_of(hardware.random(8)),
            does=board.DOES,
            firmware=firmware,
            key=bytes.fromhex(str(settings.get("key", ""))),
        )
        self.hello.append(("reset", hardware.reset))
        self.introduction = self.hello
        self.hardware = hardware
        self.board = board
        self.pings = 0
        board.safe()

    def clock(self) -> int:
        """Return microseconds of the board's crystal."""
        return int(self.hardware.clock())

    def write(self, line: bytes) -> None:
        """Send bytes to the table."""
        self.hardware.write(line)

    def command(self, verb: str, fields: dict[str, str]) -> tuple[bool, str]:
        """Let the board carry out a command."""
        return self.board.command(verb, fields, self.clock())

    def greeted(self, words: list[str], said: dict[str, str], body: bytes, seal: str) -> None:
        """Start a session, or repeat the hello in it."""
        before = self.nonce
        self.hello = self.introduction + self.board.claims()
        super().greeted(words, said, body, seal)
        if self.nonce != before:
            self.pings = 0

    def obey(self, verb: str, fields: dict[str, str], got_us: int) -> None:
        """Handle what the table asks, and count its questions for the clock."""
        super().obey(verb, fields, got_us)
        if verb == "ping" and self.pings < FIRST_PINGS:
            self.pings += 1

    def turn(self) -> None:
        """Handle all that is due: the table first, because its questions for the clock must not wait."""
        self.hardware.feed()
        data = self.hardware.read()
        if data:
            self.receive(data)
        now_us = self.clock()
        if self.session != NO_SESSION and now_us - self.heard_us > SILENT_US:
            self.board.safe()
            self.leave()
        if self.pings == FIRST_PINGS:
            self.pings += 1
            self.send(self.board.greeted(now_us))
        self.send(self.board.poll(now_us))
        self.tick()

    def send(self, seen: list[tuple[str, list[tuple[str, str]], int]]) -> None:
        """Report what sensors saw."""
        for kind, fields, at_us in seen:
            self.reading(kind, fields, at_us)
