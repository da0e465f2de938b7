"""Runs the reference node on a port: `python -m drivers.reference_node PORT NAME [options]`.

The node sends the readings typed on standard input, one per line, in the form `kind field=value ...`.
"""

import argparse
import os
import select
import sys
import time
import tty

from drivers.firmware.shared.node import Node


class Board(Node):
    """A board on a port. It prints each command to standard output."""

    def __init__(self, port: int, start_us: int, name: str, reads: str, key: bytes) -> None:
        """Create the board on an open port. Its clock starts at `start_us`."""
        super().__init__(
            name,
            reads,
            boot=os.urandom(8).hex().upper(),
            salt=os.urandom(8).hex().upper(),
            does="lamp,buzzer,selftest",
            key=key,
        )
        self.port = port
        self.zero_us = time.monotonic_ns() // 1000 - start_us

    def clock(self) -> int:
        """Return the board's clock in microseconds."""
        return time.monotonic_ns() // 1000 - self.zero_us

    def write(self, line: bytes) -> None:
        """Send bytes to the table."""
        os.write(self.port, line)

    def command(self, verb: str, fields: dict[str, str]) -> tuple[bool, str]:
        """Print a command; return whether the board supports the command, and the board's answer."""
        sys.stdout.write(f"{verb} {' '.join(f'{name}={value}' for name, value in sorted(fields.items()))}\n")
        sys.stdout.flush()
        return verb in ("lamp", "buzzer", "selftest"), "done" if verb == "selftest" else ""


def main() -> int:
    """Run until the port or standard input closes, or an empty line is entered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", help="the port's path")
    parser.add_argument("name", help="the node's name in the table's file")
    parser.add_argument(
        "--reads", default="wall_impact", help="the kinds of reading that the node sends, comma-separated"
    )
    parser.add_argument("--key", default="", help="the node's key, in hexadecimal digits")
    parser.add_argument("--clock-us", type=int, default=0, help="the initial value of the board's clock")
    given = parser.parse_args()
    port = os.open(given.port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(port)
    board = Board(port, given.clock_us, given.name, given.reads, bytes.fromhex(given.key))
    board.announce()
    while True:
        wait_s = max(0, board.next_us - board.clock()) / 1e6
        ready, _, _ = select.select([port, sys.stdin], [], [], wait_s)
        try:
            if port in ready:
                board.receive(os.read(port, 4096))
            board.tick()
        except OSError:
            return 0
        if sys.stdin in ready:
            words = sys.stdin.readline().split()
            if not words:
                return 0
            fields = [(field.split("=", 1)[0], field.split("=", 1)[1]) for field in words[1:]]
            board.reading(words[0], fields, board.clock())


if __name__ == "__main__":
    sys.exit(main())
