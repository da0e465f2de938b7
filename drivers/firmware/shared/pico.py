"""The pins, clock and port of a Raspberry Pi Pico or Pico 2. Only this module and `falls` need the chip."""

import os
import select
import sys
import time

import machine
import micropython
import rp2

from drivers.firmware.shared.falls import COUNTS_HZ, falls

EDGES = 256
"""Size of the ring buffer of edges. Edges that do not fit are counted as lost."""
READ_BYTES = 256
WATCHDOG_MS = 5000
"""Time without a pass of the loop after which the watchdog resets the board. A pass takes a few
milliseconds; a port that accepts no bytes delays it by at most half a second."""
RP2040_CHIP_RESET = 0x40064008
RP2350_CHIP_RESET = 0x4010002C
RP2040_WATCHDOG = 0x40058000
RP2350_WATCHDOG = 0x400D8000
CLEAR = 0x3000
"""Offset of a register's clearing alias: a 1 written to the alias clears that bit of the register."""
ENABLE = 1 << 30
PIO0_CTRL = 0x50200000
PIO0_START = 0xF0F
"""The value that starts all four state machines simultaneously, with synchronized clock dividers."""
COUNT_WRAP = 1 << 32
DISCHARGE_US = 200
"""Time for which the peak detector is discharged: six time constants of 100 nF and 330 ohms."""


def is_rp2350() -> bool:
    """Return whether the chip is an RP2350 (Pico 2)."""
    return "RP2350" in sys.implementation._machine


def reset_cause() -> str:
    """Return the cause of the board's start. An RP2040 does not distinguish a brown-out from a power-on."""
    if machine.reset_cause() == machine.WDT_RESET:
        return "watchdog"
    if is_rp2350():
        bits = machine.mem32[RP2350_CHIP_RESET]
        if bits & 1 << 17:
            return "brownout"
        if bits & 1 << 16:
            return "power"
        return "run_pin" if bits & 1 << 18 else "soft"
    bits = machine.mem32[RP2040_CHIP_RESET]
    if bits & 1 << 8:
        return "power_or_brownout"
    return "run_pin" if bits & 1 << 16 else "soft"


class Pico:
    """The board's hardware. The PIO, or interrupt handlers that allocate no memory, timestamp the edges."""

    def __init__(self) -> None:
        """Start the clock and the port. The watchdog starts with the first `feed`."""
        self.reset = reset_cause()
        self.raw = time.ticks_us()
        self.whole = 0
        self.pins = {}
        self.numbers = [-1] * EDGES
        self.levels = [0] * EDGES
        self.stamps = [0] * EDGES
        self.put = 0
        self.taken = 0
        self.missed = 0
        self.watchdog = None
        self.machines = []
        self.armed_us = 0
        self.adc = None
        self.discharge = None
        self.poller = select.poll()
        self.poller.register(sys.stdin, select.POLLIN)

    def clock(self) -> int:
        """Return the time since the start in microseconds. Unlike ticks_us, it does not wrap."""
        raw = time.ticks_us()
        self.whole += time.ticks_diff(raw, self.raw)
        self.raw = raw
        return self.whole

    def random(self, count: int) -> bytes:
        """Return random bytes from the ring oscillator."""
        return os.urandom(count)

    def feed(self) -> None:
        """Feed the watchdog, and start it on the first call."""
        if self.watchdog is None:
            self.watchdog = machine.WDT(timeout=WATCHDOG_MS)
        self.watchdog.feed()

    def release(self) -> None:
        """Stop the watchdog, so that a person can work at the prompt."""
        base = RP2350_WATCHDOG if is_rp2350() else RP2040_WATCHDOG
        machine.mem32[base + CLEAR] = ENABLE

    def set_interruptible(self, enabled: bool) -> None:
        """Set whether Ctrl-C stops the program.

        Disable Ctrl-C while a table is connected; otherwise, noise on the line could stop the program.
        """
        micropython.kbd_intr(3 if enabled else -1)

    def read(self) -> bytes:
        """Return the bytes received from the table; empty if none have arrived."""
        data = bytearray()
        while len(data) < READ_BYTES and self.poller.poll(0):
            byte = sys.stdin.buffer.read(1)
            if not byte:
                break
            data += byte
        return bytes(data)

    def write(self, line: bytes) -> None:
        """Send bytes to the table."""
        sys.stdout.buffer.write(line)

    def watch(self, number: int) -> None:
        """Enable a pin's pull-up and timestamp its edges."""
        pin = machine.Pin(number, machine.Pin.IN, machine.Pin.PULL_UP)
        self.pins[number] = pin

        def edge(source) -> None:
            put = self.put
            after = (put + 1) % EDGES
            if after == self.taken:
                self.missed += 1
                return
            self.stamps[put] = time.ticks_us()
            self.levels[put] = source.value()
            self.numbers[put] = number
            self.put = after

        pin.irq(edge, machine.Pin.IRQ_FALLING | machine.Pin.IRQ_RISING, hard=True)

    def level(self, number: int) -> bool:
        """Return the level of a watched pin."""
        return bool(self.pins[number].value())

    def edges(self) -> list:
        """Return (pin, level, clock in microseconds) for every edge since the last call."""
        now = self.clock()
        raw = self.raw
        found = self.take_stamped_edges(now)
        while self.taken != self.put:
            at = self.taken
            stamp = now - time.ticks_diff(raw, self.stamps[at])
            found.append((self.numbers[at], bool(self.levels[at]), stamp))
            self.taken = (at + 1) % EDGES
        return found

    def stamp_falling_edges(self, numbers: list) -> None:
        """Enable the pull-ups of up to four pins, and timestamp the pins' falling edges in the PIO.

        The timestamps of different pins agree to within 1 us.
        """
        for number in numbers:
            pin = machine.Pin(number, machine.Pin.IN, machine.Pin.PULL_UP)
            one = rp2.StateMachine(len(self.machines), falls, freq=COUNTS_HZ, jmp_pin=pin)
            one.exec("mov(x, invert(null))")
            self.pins[number] = pin
            self.machines.append((number, one))
        self.armed_us = self.clock()
        machine.mem32[PIO0_CTRL] = PIO0_START

    def take_stamped_edges(self, now: int) -> list:
        """Return the falling edges timestamped by the PIO since the last call, in chronological order.

        The PIO buffers at most 8 edges per pin.
        """
        found = []
        for number, one in self.machines:
            while one.rx_fifo():
                at = self.armed_us + COUNT_WRAP - 1 - one.get()
                found.append((number, False, at + (now - at) // COUNT_WRAP * COUNT_WRAP))
        found.sort(key=lambda edge: edge[2])
        return found

    def set_up_peak_detector(self, peak: int, discharge: int) -> None:
        """Set up a peak detector on an ADC pin, and the pin that discharges it."""
        self.adc = machine.ADC(machine.Pin(peak))
        self.discharge = machine.Pin(discharge, machine.Pin.OUT, value=0)

    def peak(self) -> int:
        """Return the peak since the last call, in 12-bit ADC counts, and discharge the detector."""
        found = self.adc.read_u16() >> 4
        self.discharge.value(1)
        time.sleep_us(DISCHARGE_US)
        self.discharge.value(0)
        return found

    def lost_edges(self) -> int:
        """Return the number of edges lost since the start because the buffer was full."""
        return self.missed

    def output(self, number: int, on: bool) -> None:
        """Set an output pin high or low."""
        if number not in self.pins:
            self.pins[number] = machine.Pin(number, machine.Pin.OUT, value=0)
        self.pins[number].value(1 if on else 0)
