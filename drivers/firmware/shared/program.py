"""A board's program, which connects the board's sensors and outputs to the link."""

from drivers.firmware.shared.node import NO_SESSION, Node, to_hex

VERSION = "1.0"
SILENT_US = 3000000
"""Time without a sentence after which the board treats the table as disconnected and puts its outputs into a
safe state. This is about three times the interval between the table's clock queries (984 ms).
"""
FIRST_PINGS = 8
"""Number of clock queries after which the table accepts readings and the board sends its initial readings."""


class Board:
    """The base class of the boards, with the functions that differ between them."""

    NAME = ""
    READS = ""
    DOES = "selftest"

    def __init__(self, hardware, settings) -> None:  # type: ignore[no-untyped-def]  # a Pico or a test's hardware
        """Store the hardware and the settings, which name the pins."""
        self.hardware = hardware
        self.settings = settings

    def reads(self) -> str:
        """Return the kinds of reading that the board can send, as a field of its hello."""
        return self.READS

    def measured_errors(self) -> list[tuple[str, str]]:
        """Return the hello's fields for the measured errors; empty if no error has been measured."""
        return []

    def initial_readings(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return the readings to send when a table has connected, such as the states of switches."""
        return []

    def poll(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return the readings since the last call, each as kind, fields, and clock in microseconds."""
        return []

    def command(self, verb: str, fields: dict[str, str], now_us: int) -> tuple[bool, str]:
        """Execute a command from the table; return whether it succeeded, and a short message."""
        if verb == "selftest":
            return self.selftest()
        return False, "unknown command " + verb

    def selftest(self) -> tuple[bool, str]:
        """Run the automatic self-test; return whether it passed, and a short message."""
        return True, "nothing to test"

    def make_safe(self) -> None:
        """Put all outputs into a safe state."""


class Program(Node):
    """A board's end of the link, with the loop that runs the board."""

    def __init__(self, hardware, board: Board, settings, firmware: str) -> None:  # type: ignore[no-untyped-def]
        """Set up the node with the name and key from the settings, and put the outputs into a safe state."""
        super().__init__(
            str(settings["name"]),
            board.reads(),
            boot=to_hex(hardware.random(8)),
            salt=to_hex(hardware.random(8)),
            does=board.DOES,
            firmware=firmware,
            key=bytes.fromhex(str(settings.get("key", ""))),
        )
        self.hello.append(("reset", hardware.reset))
        self.introduction = self.hello
        self.hardware = hardware
        self.board = board
        self.pings = 0
        board.make_safe()

    def clock(self) -> int:
        """Return the board's clock in microseconds."""
        return int(self.hardware.clock())

    def write(self, line: bytes) -> None:
        """Send bytes to the table."""
        self.hardware.write(line)

    def command(self, verb: str, fields: dict[str, str]) -> tuple[bool, str]:
        """Pass a command to the board."""
        return self.board.command(verb, fields, self.clock())

    def handle_hello(self, words: list[str], fields: dict[str, str], body: bytes, seal: str) -> None:
        """Handle the table's hello. The answer includes the errors measured so far."""
        before = self.nonce
        self.hello = self.introduction + self.board.measured_errors()
        super().handle_hello(words, fields, body, seal)
        if self.nonce != before:
            self.pings = 0

    def handle_sentence(self, verb: str, fields: dict[str, str], got_us: int) -> None:
        """Handle a sentence of the session, and count the clock queries."""
        super().handle_sentence(verb, fields, got_us)
        if verb == "ping" and self.pings < FIRST_PINGS:
            self.pings += 1

    def run_once(self) -> None:
        """Run one pass of the loop. Handle the table's input first, because clock queries must not wait."""
        self.hardware.feed()
        data = self.hardware.read()
        if data:
            self.receive(data)
        now_us = self.clock()
        if self.session != NO_SESSION and now_us - self.received_us > SILENT_US:
            self.board.make_safe()
            self.end_session()
        if self.pings == FIRST_PINGS:
            self.pings += 1
            self.send(self.board.initial_readings(now_us))
        self.send(self.board.poll(now_us))
        self.tick()

    def send(self, seen: list[tuple[str, list[tuple[str, str]], int]]) -> None:
        """Send readings."""
        for kind, fields, at_us in seen:
            self.reading(kind, fields, at_us)
