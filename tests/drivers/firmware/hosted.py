"""A board without its pins, under CPython or MicroPython's unix port: PORT ROOT START_US PPM.

Its pins are driven on standard input, `PIN LEVEL` a line, and stamped as it is read; what it drives is said
on standard output. `PIN LEVEL AFTER_US` drives a pin so long after the first such line was read, stamped with
that moment however late the program comes to it, as an interrupt stamps; such lines come in the order of
their time. A pair of pins named `LOOP_OUT` and `LOOP_IN` are joined by a wire.
"""

import os
import select
import sys
import time

from drivers.firmware.shared.start import program_on

LOOP_OUT, LOOP_IN = 20, 21
ORDERS = sys.stdin
if sys.implementation.name == "cpython":
    ORDERS = open(0, "rb", buffering=0)  # noqa: SIM115 - a line that is read ahead would be seen by no poll


def monotonic_us():
    """Microseconds that never go back, on either Python."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us()
    return time.monotonic_ns() // 1000


class Hosted:
    """Pins of a board, driven by its test."""

    reset = "power"

    def __init__(self, port, start_us, ppm):
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
        self.first_us = None
        self.ended = False

    def clock(self):
        past = monotonic_us() - self.zero_us
        return self.start_us + past + past * self.ppm // 1000000

    def random(self, count):
        return os.urandom(count)

    def feed(self):
        pass

    def read(self):
        data = b""
        for one in self.poller.poll(2):
            if one[0] in (ORDERS, 0):
                self.drive(ORDERS.readline())
            else:
                data += self.port.read(1) or b""  # MicroPython would wait for as many as it is asked for
        while data and len(data) < 256 and self.line.poll(0):
            data += self.port.read(1) or b""
        return data

    def drive(self, line):
        words = line.split()
        if not words:
            self.ended = True
            return
        pin, level = int(words[0]), int(words[1]) == 1
        if len(words) == 2:
            self.set(pin, level, self.clock())
            return
        if self.first_us is None:
            self.first_us = self.clock()
        after_us = int(words[2])
        self.due.append((self.first_us + after_us + after_us * self.ppm // 1000000, pin, level))

    def set(self, pin, level, at_us):
        if self.levels.get(pin) != level:
            self.levels[pin] = level
            self.seen.append((pin, level, at_us))

    def write(self, line):
        self.port.write(line)

    def watch(self, pin):
        self.levels.setdefault(pin, True)

    def level(self, pin):
        return self.levels[pin]

    def edges(self):
        while self.due and self.due[0][0] <= self.clock():
            at_us, pin, level = self.due.pop(0)
            self.set(pin, level, at_us)
        seen, self.seen = self.seen, []
        return seen

    def lost(self):
        return 0

    def output(self, pin, on):
        if pin == LOOP_OUT:
            self.set(LOOP_IN, on, self.clock())
        sys.stdout.write(f"out {pin} {1 if on else 0}\n")
        if hasattr(sys.stdout, "flush"):
            sys.stdout.flush()


def main(words):
    hardware = Hosted(words[0], int(words[2]), int(words[3]))
    program = program_on(hardware, words[1])
    program.announce()
    while not hardware.ended:
        program.turn()


main(sys.argv[1:])
