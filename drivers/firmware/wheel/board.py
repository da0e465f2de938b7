"""The wheel board, which has ball beams, a drop sensor, a rotor index and a pocket reader.

The board's settings are `beams` (pins, in the order of the table's beams_deg), `index` and `index_b` (two
sensors, the second 5 mm clockwise of the first), `drop`, `pocket`, `loop_out`, `loop_in`, and `lamps` as on a
console. The order in which the index sensors detect the mark shows the direction. The edges of all sensors
are timestamped in interrupt handlers.
"""

from drivers.firmware.shared.lamps import Lamps
from drivers.firmware.shared.program import Board

FLICKER_US = 5000
"""Time within which another edge belongs to the same pass. A 20 mm ball at 3 m/s breaks a beam for 7 ms."""
PAIR_US = 60000
"""Maximum time that the mark may take to move from one index sensor to the other. At 0.2 rev/s, it takes
15 ms."""
LOOPS = 32
"""Number of edges in the loopback test."""
MAX_ERROR_US = 1000
"""Largest timestamp error that the table accepts."""


class Wheel(Board):
    """The sensors of a wheel. An interrupted beam pulls its pin low."""

    NAME = "wheel"
    DOES = "lamp,selftest"

    def __init__(self, hardware, settings) -> None:  # type: ignore[no-untyped-def]
        super().__init__(hardware, settings)
        self.beams = settings.get("beams", [])
        self.index = settings.get("index")
        self.index_b = settings.get("index_b")
        self.drop = settings.get("drop")
        self.pocket = settings.get("pocket")
        self.last_us = {}  # type: dict[int, int]
        self.pair = None  # type: tuple[int, int] | None
        self.lost = 0
        self.error_us = -1
        self.lamps = Lamps(hardware, settings.get("lamps", []))
        for pin in self.pins():
            hardware.watch(pin)

    def pins(self) -> list[int]:
        """Return the pins of all sensors."""
        return [
            pin
            for pin in list(self.beams) + [self.index, self.index_b, self.drop, self.pocket]
            if pin is not None
        ]

    def reads(self) -> str:
        """Return the kinds of reading that the pins can produce.

        A single index sensor produces no readings, because it cannot detect the direction.
        """
        kinds = ["ball_beam"] if self.beams else []
        if self.index is not None and self.index_b is not None:
            kinds.append("rotor_index")
        if self.drop is not None:
            kinds.append("ball_drop")
        if self.pocket is not None:
            kinds.append("pocket_ball")
        return ",".join(kinds)

    def poll(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return the readings since the last call."""
        seen = []
        for pin, level, at_us in self.hardware.edges():
            if level:
                continue
            before = self.last_us.get(pin)
            self.last_us[pin] = at_us
            if before is not None and at_us - before < FLICKER_US:
                continue
            if pin in self.beams:
                seen.append(("ball_beam", [("beam", str(self.beams.index(pin)))], at_us))
            elif pin == self.drop:
                seen.append(("ball_drop", [], at_us))
            elif pin == self.pocket:
                seen.append(("pocket_ball", [], at_us))
            else:
                seen += self.handle_mark(pin, at_us)
        return seen + self.report_lost_edges(now_us)

    def handle_mark(self, pin: int, at_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Handle the detection of the mark by one of the index sensors.

        Once both sensors have detected the mark, return a reading with the time at which `index` detected it.
        """
        if self.index_b is None or self.index is None:
            return []
        first = self.pair
        if first is None or first[0] == pin or at_us - first[1] > PAIR_US:
            self.pair = (pin, at_us)
            return []
        self.pair = None
        if pin == self.index_b:
            return [("rotor_index", [("direction", "cw")], first[1])]
        return [("rotor_index", [("direction", "ccw")], at_us)]

    def report_lost_edges(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Report lost edges by sending device_down, then device_up, so that no incorrect count is used."""
        lost = self.hardware.lost_edges()
        if lost == self.lost:
            return []
        count = lost - self.lost
        seen = str(count) + (" edge lost" if count == 1 else " edges lost")
        self.lost = lost
        fields = [("code", "sentences_lost"), ("reason", seen)]
        return [("device_down", fields, now_us), ("device_up", [("code", "up")], now_us)]

    def command(self, verb: str, fields: dict[str, str], now_us: int) -> tuple[bool, str]:
        """Switch a lamp, or run the self-test."""
        if verb == "lamp":
            self.lamps.show(fields)
            return True, ""
        return super().command(verb, fields, now_us)

    def measured_errors(self) -> list[tuple[str, str]]:
        """Return the largest measured timestamp error; empty if no error has been measured."""
        return [] if self.error_us < 0 else [("error_us", str(self.error_us))]

    def make_safe(self) -> None:
        """Switch the lamps off."""
        self.lamps.switch_off()

    def selftest(self) -> tuple[bool, str]:
        """Measure the timestamp error, using a wire from `loop_out` to `loop_in`."""
        out, back = self.settings.get("loop_out"), self.settings.get("loop_in")
        if out is None or back is None:
            return False, "timestamp error not measured: board.json must name both loop_out and loop_in"
        self.hardware.watch(back)
        self.hardware.output(out, True)
        self.hardware.edges()
        worst = 0
        for count in range(LOOPS):
            at_us = self.hardware.clock()
            self.hardware.output(out, count % 2 == 1)
            found = [edge for edge in self.hardware.edges() if edge[0] == back]
            if len(found) != 1:
                return False, "found " + str(len(found)) + " edges, expected 1; wire loop_out to loop_in"
            worst = max(worst, abs(found[0][2] - at_us))
        self.error_us = worst
        return worst <= MAX_ERROR_US, "timestamps within " + str(worst) + " us of the edge"
