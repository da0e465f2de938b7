"""Runs a board with simulated pins under CPython or MicroPython's unix port.

The program's arguments are PORT ROOT START_US PPM. The program prints changes of outputs to standard output,
and reads these lines from standard input:

`PIN LEVEL`
    Set a pin. The edge is timestamped when the line is read.
`PIN LEVEL AFTER_US`
    Set a pin AFTER_US after the first line with a delay was read. The edge has exactly this timestamp, even
    if the program handles the line late.
`peak COUNTS AFTER_US`
    Set the level that the peak detector holds.
`say KIND STAMP_AFTER_US AFTER_US NAME=VALUE...`
    Send a camera's reading at AFTER_US, from a board of the kind `cam`.
`hold`
    Store the following lines instead of executing them.
`ready`
    Print `ready`, which shows that all previous lines have been read.
`zero US`
    Execute the stored lines. Their delays start at US on the host's monotonic clock, which is common to
    CPython and MicroPython.

Lines with AFTER_US must be in order of time. A simulated wire connects the pins `LOOP_OUT` and `LOOP_IN`. If
`board.json` has `echo`, a list of pins and microseconds, a rising edge on the pin `PULSE` pulls each of these
pins low after the given time.
"""

import os
import select
import sys
import time

from drivers.firmware.shared.identity import SETTINGS, load
from drivers.firmware.shared.program import Board
from drivers.firmware.shared.start import BOARDS, build_program

PULSE = 19
ECHO_US = 500
"""Duration for which an echo pulls its pin low."""
LOOP_OUT, LOOP_IN = 20, 21
ORDERS = sys.stdin
if sys.implementation.name == "cpython":
    ORDERS = open(0, "rb", buffering=0)  # noqa: SIM115 - poll would not see a line that was read ahead


def monotonic_us():
    """Return the monotonic clock in microseconds, under CPython and MicroPython."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us()
    return time.monotonic_ns() // 1000


class Camera(Board):
    """A simulated dice camera that sends the readings requested by the test."""

    NAME = "cam"

    def reads(self):
        return ",".join(self.settings["reads"])

    def poll(self, _now_us):
        self.hardware.edges()
        said, self.hardware.said = self.hardware.said, []
        return said


class Hosted:
    """The simulated hardware of a board."""

    reset = "power"

    def __init__(self, port, start_us, ppm, echo):
        self.zero_us, self.start_us, self.ppm = monotonic_us(), start_us, ppm
        self.port = open(port, "r+b", buffering=0)  # noqa: SIM115
        self.poller = select.poll()
        self.poller.register(self.port, select.POLLIN)
        self.poller.register(ORDERS, select.POLLIN)
        self.line = select.poll()
        self.line.register(self.port, select.POLLIN)
        self.levels = {}
        self.seen = []
        self.due = []
        self.said = []
        self.held = 0
        self.echo = echo
        self.first_us = None
        self.kept = None
        self.ended = False

    def clock(self):
        return self.stands_at(monotonic_us())

    def stands_at(self, moment_us):
        past = moment_us - self.zero_us
        return self.start_us + past + past * self.ppm // 1000000

    def random(self, count):
        return os.urandom(count)

    def feed(self):
        pass

    def read(self):
        data = b""
        for one in self.poller.poll(2):
            if one[0] in (ORDERS, 0):
                line = ORDERS.readline()
                self.drive(line if isinstance(line, str) else line.decode())
            else:
                data += self.port.read(1) or b""  # MicroPython would wait for as many bytes as were requested
        while data and len(data) < 256 and self.line.poll(0):
            data += self.port.read(1) or b""
        return data

    def drive(self, line):
        words = line.split()
        if not words:
            self.ended = True
            return
        if words[0] == "hold":
            self.kept = []
        elif words[0] == "ready":
            say("ready")
        elif words[0] == "zero":
            self.first_us = self.stands_at(int(words[1]))
            kept, self.kept = self.kept, None
            for one in kept:
                self.drive(one)
        elif self.kept is not None:
            self.kept.append(line)
        elif len(words) == 2:
            self.set(int(words[0]), words[1] == "1", self.clock())
        elif words[0] == "say":
            self.due.append((self.moment(words[3]), "say", (words[1], self.moment(words[2]), words[4:])))
        else:
            what = words[0] if words[0] == "peak" else int(words[0])
            self.due.append((self.moment(words[2]), what, int(words[1])))

    def moment(self, after_us):
        """Return the clock's value `after_us` after the first line with a delay."""
        if self.first_us is None:
            self.first_us = self.clock()
        return self.first_us + int(after_us) + int(after_us) * self.ppm // 1000000

    def happen(self, at_us, what, value):
        if what == "peak":
            self.held = max(self.held, value)
        elif what == "say":
            kind, stamp_us, fields = value
            self.said.append((kind, [tuple(field.split("=")) for field in fields], stamp_us))
        else:
            self.set(what, bool(value), at_us)

    def set(self, pin, level, at_us):
        if self.levels.get(pin) != level:
            self.levels[pin] = level
            self.seen.append((pin, level, at_us))

    def write(self, line):
        self.port.write(line)

    def watch(self, pin):
        self.levels.setdefault(pin, True)

    def stamp_falling_edges(self, pins):
        for pin in pins:
            self.watch(pin)

    def set_up_peak_detector(self, peak, discharge):
        pass

    def peak(self):
        found, self.held = self.held, 0
        return found

    def level(self, pin):
        return self.levels[pin]

    def edges(self):
        while self.due and self.due[0][0] <= self.clock():
            self.happen(*self.due.pop(0))
        seen, self.seen = self.seen, []
        return seen

    def lost_edges(self):
        return 0

    def output(self, pin, on):
        if pin == LOOP_OUT:
            self.set(LOOP_IN, on, self.clock())
        if pin == PULSE and on:
            now_us = self.clock()
            echoes = [(now_us + us, at, 0) for at, us in self.echo]
            echoes += [(now_us + us + ECHO_US, at, 1) for at, us in self.echo]
            self.due = sorted(echoes + self.due, key=lambda one: one[0])
        say(f"out {pin} {1 if on else 0}")


def say(line):
    """Print a line for the test, under CPython and MicroPython."""
    sys.stdout.write(line + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


def main(words):
    BOARDS["cam"] = Camera
    echo = load(words[1] + SETTINGS).get("echo", [])
    hardware = Hosted(words[0], int(words[2]), int(words[3]), echo)
    program = build_program(hardware, words[1])
    program.announce()
    while not hardware.ended:
        program.run_once()


main(sys.argv[1:])
