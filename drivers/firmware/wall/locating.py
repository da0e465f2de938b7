"""Where along a wall an impact was, and when, from the moments at which it reached sensors.

Whole numbers throughout: a Pico's floats have 24 bits, too few for microseconds of an hour. Lengths are in
micrometres, times in microseconds, and a speed in metres a second is micrometres in a microsecond.
"""

WEIGHTS = (4, 4, 2, 1)
"""By order of arrival: the farther a wave has run, the flatter its front and the later it is noticed."""
MISFIT_UM = 60000
"""The most by which an arrival may miss the place found, as the way that the wave runs meanwhile."""
LEAST = 2
END_UM = 14000
"""What is found so near the first or last sensor is told as at it: dice strike above and below a sensor, and
that way to it looks like a place farther in."""


class Place:
    """One place that explains the arrivals."""

    def __init__(self, pos_um: int, at_us: int, misfit_um: int, heard: int) -> None:
        """`misfit_um` is the worst arrival's, as a way; `heard` counts the sensors that it rests on."""
        self.pos_um = pos_um
        self.at_us = at_us
        self.misfit_um = misfit_um
        self.heard = heard


class Line:
    """Sensors in a row along a wall."""

    def __init__(self, at_um: list[int], length_um: int, speed: int) -> None:
        """`at_um` in rising order, each with the first and last near the wall's ends; `speed` in m/s."""
        self.at_um = at_um
        self.length_um = length_um
        self.speed = speed

    def window_us(self) -> int:
        """How long after the first sensor the last one may hear it."""
        return self.length_um // self.speed * 5 // 4 + 400

    def place(self, arrivals: list[tuple[int, int]]):  # type: ignore[no-untyped-def]  # Place or None
        """Return the place of an impact that sensors heard; None where no place explains them.

        `arrivals` are sensor and clock, one of each sensor, the first one first. The front of a weak wave is
        lost in the noise far from the impact, so that the last ones may be late; none can be early.
        """
        found = self.fit(arrivals)
        while found is not None and found.misfit_um > MISFIT_UM and len(arrivals) > LEAST:
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
        """Return the place between two neighbours that fits best; what is beyond the last sensor is at it."""
        if len(arrivals) < LEAST:
            return None
        if len(arrivals) == LEAST and abs(arrivals[0][0] - arrivals[1][0]) != 1:
            return None  # a knock that the sensors between them do not hear is none
        zero_us = arrivals[0][1]
        ways = []
        for order in range(len(arrivals)):
            sensor, at_us = arrivals[order]
            ways.append((self.at_um[sensor], (at_us - zero_us) * self.speed, WEIGHTS[order]))
        best = None  # type: tuple[int, int, int, int] | None
        for part in range(len(self.at_um) - 1):
            low, high = self.at_um[part], self.at_um[part + 1]
            pos, start = self.between(ways, low, high)
            cost = worst = 0
            for at, way, weight in ways:
                off = abs(way - start - abs(pos - at)) // 100
                cost += weight * off * off
                worst = max(worst, off * 100)
            if best is None or cost < best[0]:
                best = (cost, pos, start, worst)
        if best is None or (len(arrivals) == LEAST and best[3] > MISFIT_UM // 4):
            return None
        return Place(best[1], zero_us + best[2] // self.speed, best[3], len(arrivals))

    def between(self, ways: list[tuple[int, int, int]], low: int, high: int) -> tuple[int, int]:
        """Return the least squares' place from `low` to `high`, and the wave's way before the first arrival.

        There each way is `start` plus the distance on one of two sides, so that each side's mean tells it.
        """
        below = above = 0
        below_way = above_way = 0
        for at, way, weight in ways:
            if at <= low:
                below += weight
                below_way += weight * (way + at)
            else:
                above += weight
                above_way += weight * (way - at)
        if below and above:
            pos = min(max((below_way // below - above_way // above) // 2, low), high)
        else:
            pos = low if above else high
        total = below_way - below * pos + above_way + above * pos
        return pos, total // (below + above)
