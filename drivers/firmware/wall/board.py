"""The wall board, which computes an impact's position and time from the edges of four piezo sensors.

The board's settings are `sensors` (pins, in the order of `at_mm`), `at_mm` (the sensors' positions along the
wall, in table coordinates), `length_mm`, `speed_m_s` (of the wave in this wall), `peak` and `discharge`
(the peak detector's pins), and `pulse` (the pin that drives the first sensor for the self-test).

Positions are computed in integers because a Pico's floats have only 24 significant bits, too few to count the
microseconds in an hour. Lengths are in micrometres and times in microseconds, so speeds in m/s need no
conversion.
"""

from drivers.firmware.shared.program import Board

WEIGHTS = (4, 4, 2, 1)
"""Weights of the arrivals, the earliest first. A wave's front becomes flatter with distance, which delays the
comparator's edge.
"""
MISFIT_UM = 60000
"""Maximum deviation of an arrival time, expressed as the distance that the wave travels in that time."""
MIN_SENSORS = 2
END_UM = 14000
"""Distance from the first or last sensor within which an impact is reported at the sensor. If a die strikes
above or below a sensor, the wave takes longer to reach the sensor, as it would from a position farther along
the wall.
"""


class Place:
    """The position and time of an impact."""

    def __init__(self, pos_um: int, at_us: int, misfit_um: int, count: int) -> None:
        """Store a located impact.

        Args:
            pos_um: The impact's position along the wall.
            at_us: The impact's time.
            misfit_um: The maximum deviation of an arrival, as for MISFIT_UM.
            count: The number of arrivals.
        """
        self.pos_um = pos_um
        self.at_us = at_us
        self.misfit_um = misfit_um
        self.count = count


class Line:
    """Sensors in a row along a wall."""

    def __init__(self, at_um: list[int], length_um: int, speed: int) -> None:
        """Create the row. `at_um` lists the sensors' positions in ascending order; `speed` is in m/s."""
        self.at_um = at_um
        self.length_um = length_um
        self.speed = speed

    def window_us(self) -> int:
        """Return the maximum time between the first and last arrivals of an impact's wave at the sensors."""
        return self.length_um // self.speed * 5 // 4 + 400

    def place(self, arrivals: list[tuple[int, int]]):  # type: ignore[no-untyped-def]  # Place or None
        """Return the position and time of an impact; None if no position agrees with the arrivals.

        `arrivals` lists one pair (sensor, clock) per sensor, earliest first. Far from the impact, noise can
        hide the front of a weak wave. The last arrivals can therefore be too late, but never too early.
        """
        found = self.fit(arrivals)
        while found is not None and found.misfit_um > MISFIT_UM and len(arrivals) > MIN_SENSORS:
            last, at_us = arrivals[-1]
            arrivals = arrivals[:-1]
            found = self.fit(arrivals)
            if found is not None and at_us < found.at_us + abs(found.pos_um - self.at_um[last]) // self.speed:
                return None
        if found is None or found.misfit_um > MISFIT_UM:
            return None
        for end in (self.at_um[0], self.at_um[-1]):
            if abs(found.pos_um - end) < END_UM:
                found.pos_um = end
        return found

    def fit(self, arrivals: list[tuple[int, int]]):  # type: ignore[no-untyped-def]  # Place or None
        """Return the best position between the first and last sensors, and the time of the impact.

        Returns None if there are too few arrivals, or if there are only two and they disagree or are not from
        adjacent sensors.
        """
        if len(arrivals) < MIN_SENSORS:
            return None
        if len(arrivals) == MIN_SENSORS and abs(arrivals[0][0] - arrivals[1][0]) != 1:
            return None  # sensors in between would also have detected an impact
        zero_us = arrivals[0][1]
        runs = []
        for order in range(len(arrivals)):
            sensor, at_us = arrivals[order]
            runs.append((self.at_um[sensor], (at_us - zero_us) * self.speed, WEIGHTS[order]))
        best = None  # type: tuple[int, int, int, int] | None
        for part in range(len(self.at_um) - 1):
            low, high = self.at_um[part], self.at_um[part + 1]
            pos, start = self.between(runs, low, high)
            cost = worst = 0
            for at, run, weight in runs:
                off = abs(run - start - abs(pos - at)) // 100
                cost += weight * off * off
                worst = max(worst, off * 100)
            if best is None or cost < best[0]:
                best = (cost, pos, start, worst)
        if best is None or (len(arrivals) == MIN_SENSORS and best[3] > MISFIT_UM // 4):
            return None
        return Place(best[1], zero_us + best[2] // self.speed, best[3], len(arrivals))

    def between(self, runs: list[tuple[int, int, int]], low: int, high: int) -> tuple[int, int]:
        """Return the least-squares position between `low` and `high`, and the time of the impact.

        The time is relative to the first arrival, and is expressed as the distance that the wave travels in
        that time. The solution follows from the weighted means of the sensors below and above the position.
        """
        below = above = 0
        below_um = above_um = 0
        for at, run, weight in runs:
            if at <= low:
                below += weight
                below_um += weight * (run + at)
            else:
                above += weight
                above_um += weight * (run - at)
        if below and above:
            pos = min(max((below_um // below - above_um // above) // 2, low), high)
        else:
            pos = low if above else high
        total = below_um - below * pos + above_um + above * pos
        return pos, total // (below + above)


RINGS_US = 12000
"""Time after an impact during which all edges are treated as ringing (the table's `ringing_ms`)."""
QUIET_US = 3000
"""Time without an edge after which ringing is over: three periods of the slowest panel's vibration."""
MAX_RINGING_US = 40000
"""Maximum duration of ringing on a suitable panel. Later edges are due to another impact or a fault."""
PULSE_US = 200
PULSE_DETECT_US = 20000
SPEED_TOLERANCE = 20
"""Reciprocal of the maximum relative error of the speed. An error of 5 % shifts an impact between two sensors
350 mm apart by up to 9 mm."""
MAX_ERROR_MM = 25
"""Largest error in an impact's position that the table allows for (`impact_position_mm`)."""


class Wall(Board):
    """The board of a wall."""

    NAME = "wall"
    READS = "wall_impact"
    DOES = "selftest"

    def __init__(self, hardware, settings) -> None:  # type: ignore[no-untyped-def]
        """Set up the pins, and run the self-test if the settings name a `pulse` pin."""
        super().__init__(hardware, settings)
        self.sensors = settings["sensors"]
        self.at_um = [at_mm * 1000 for at_mm in settings["at_mm"]]
        self.speed = settings["speed_m_s"]
        self.line = Line(self.at_um, settings["length_mm"] * 1000, self.speed)
        self.arrivals = []  # type: list[tuple[int, int]]
        self.blanked_until_us = 0
        self.last_us = 0
        self.ringing = False
        self.error_mm = -1
        hardware.stamp_falling_edges(self.sensors)
        if "peak" in settings:
            hardware.set_up_peak_detector(settings["peak"], settings["discharge"])
        if "pulse" in settings:
            hardware.output(settings["pulse"], False)
            self.selftest()

    def measured_errors(self) -> list[tuple[str, str]]:
        """Return the largest measured position error; empty if no error has been measured."""
        return [] if self.error_mm < 0 else [("error_mm", str(self.error_mm))]

    def poll(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return an impact once every sensor has had time to detect it."""
        for pin, level, at_us in self.hardware.edges():
            if pin in self.sensors:
                self.edge(self.sensors.index(pin), bool(level), at_us)
        if self.ringing and now_us - self.last_us >= QUIET_US and now_us >= self.blanked_until_us:
            self.ringing = False
        if not self.arrivals or now_us - self.arrivals[0][1] < self.line.window_us():
            return []
        arrivals, self.arrivals = self.arrivals, []
        self.ringing = True
        self.last_us = max(self.last_us, arrivals[-1][1])
        self.blanked_until_us = arrivals[0][1] + RINGS_US
        return self.impact(arrivals, now_us)

    def edge(self, sensor: int, level: bool, at_us: int) -> None:
        """Handle an edge of a comparator, which pulls its pin low while the signal exceeds the threshold."""
        if self.ringing:
            started_us = self.blanked_until_us - RINGS_US
            ringing_over = at_us >= self.blanked_until_us and at_us - self.last_us >= QUIET_US
            if not ringing_over and at_us - started_us < MAX_RINGING_US:
                self.last_us = max(self.last_us, at_us)
                return
            self.ringing = False
        if level:
            return
        if all(sensor != other for other, _ in self.arrivals):
            self.arrivals.append((sensor, at_us))
            self.arrivals.sort(key=lambda one: one[1])

    def impact(
        self, arrivals: list[tuple[int, int]], now_us: int
    ) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return an impact, or a fault if the impact cannot be located.

        A signal that only one sensor detects is not treated as an impact. It was too weak to reach the next
        sensor, 350 mm away, and so was probably a knock on the felt or a spark.
        """
        peak = self.hardware.peak() if "peak" in self.settings else 0
        if len(arrivals) == 1:
            return []
        place = self.line.place(arrivals)
        if place is None:
            seen = "an impact detected by " + str(len(arrivals)) + " sensors could not be located"
            fields = [("code", "unplaced"), ("reason", seen)]
            return [("device_down", fields, now_us), ("device_up", [("code", "up")], now_us)]
        return [("wall_impact", self.fields(place, peak), place.at_us)]

    def fields(self, place: Place, peak: int) -> list[tuple[str, str]]:
        """Return the fields of an impact's reading."""
        return [("pos_mm", str((place.pos_um + 500) // 1000)), ("peak", str(peak))]

    def selftest(self) -> tuple[bool, str]:
        """Send a pulse through the first sensor and measure the speed at which it reaches the others."""
        pulse = self.settings.get("pulse")
        if pulse is None:
            return False, "error not measured: no pulse pin in board.json"
        self.error_mm = -1
        self.hardware.edges()
        began_us = self.hardware.clock()
        self.hardware.output(pulse, True)
        while self.hardware.clock() - began_us < PULSE_US:
            pass
        self.hardware.output(pulse, False)
        first = {}  # type: dict[int, int]
        last_us = began_us
        done = False
        while not done:
            done = self.hardware.clock() - began_us >= PULSE_DETECT_US
            for pin, level, at_us in self.hardware.edges():
                last_us = max(last_us, at_us)
                if not level and pin in self.sensors[1:] and self.sensors.index(pin) not in first:
                    first[self.sensors.index(pin)] = at_us
        self.arrivals = []
        silent = [str(sensor) for sensor in range(1, len(self.sensors)) if sensor not in first]
        if silent:
            return False, "sensors that did not detect the pulse (numbered from 0): " + ",".join(silent)
        return self.evaluate_pulse(first, last_us - began_us)

    def evaluate_pulse(self, first: dict[int, int], ringing_us: int) -> tuple[bool, str]:
        """Evaluate the pulse's arrivals at all sensors except the first, which sent the pulse."""
        far = len(self.sensors) - 1
        distance_um, took_us = self.at_um[far] - self.at_um[1], max(1, first[far] - first[1])
        speed = distance_um // took_us
        off_um = 0
        for sensor in range(1, far):
            distance = self.at_um[sensor] - self.at_um[1]
            off_um = max(off_um, abs(distance - (first[sensor] - first[1]) * speed))
        spacing_um = max(self.at_um[n + 1] - self.at_um[n] for n in range(far))
        error_um = off_um // 2 + spacing_um // 2 * abs(speed - self.speed) // self.speed
        edge_um = max(self.at_um[0], self.settings["length_mm"] * 1000 - self.at_um[far])
        error_mm = (max(error_um, edge_um) + 999) // 1000
        message = "wave speed " + str(speed) + " m/s; position error up to " + str(error_mm) + " mm"
        if abs(speed - self.speed) * SPEED_TOLERANCE > self.speed:
            return False, message + "; speed_m_s is " + str(self.speed)
        if error_mm > MAX_ERROR_MM:
            return False, message + ", expected at most " + str(MAX_ERROR_MM)
        if ringing_us >= MAX_RINGING_US // 2:
            return False, message + "; the panel is still ringing after " + str(ringing_us // 1000) + " ms"
        self.error_mm = error_mm
        return True, message + "; ringing lasted " + str(ringing_us // 1000) + " ms"
