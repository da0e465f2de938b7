"""Follow a script's clock by the arrival of its lines alone: one way, so that the quickest way is unknown.

A line can only arrive after its time. The smallest difference between arrival and time in the last seconds
is taken for the difference of the clocks. Times are then late by the quickest way, and early by no more than
the clocks drift apart meanwhile: 1 ms at 100 ppm.
"""

from collections import deque

WINDOW_US = 10_000_000
SLICE_US = 1_000_000
MAX_OFF_US = 2_000_000
ODD_ONES = 3
"""So many times in a row that can't be right are a clock that was set anew."""


class BadClockError(ValueError):
    """A time that can't be right."""


class ScriptClock:
    """The difference of two clocks, as the smallest delay of each second shows it."""

    def __init__(self) -> None:
        self._least: deque[tuple[int, int]] = deque()
        self._odd = 0

    def to_table(self, t_us: int, arrived_us: int) -> int:
        """Give the table's time of the script's time `t_us` on a line that arrived now.

        Raises BadClockError where it lies seconds beside that of the lines before.
        """
        delay = arrived_us - t_us
        self._check(delay)
        least = self._least
        if not least or arrived_us - least[-1][0] >= SLICE_US:
            least.append((arrived_us, delay))
        elif delay < least[-1][1]:
            least[-1] = (least[-1][0], delay)
        while arrived_us - least[0][0] > WINDOW_US:
            least.popleft()
        return max(0, t_us + self._quickest())

    def _quickest(self) -> int:
        return min(delay for _, delay in self._least)

    def _check(self, delay: int) -> None:
        if not self._least or abs(delay - self._quickest()) <= MAX_OFF_US:
            self._odd = 0
            return
        seconds = (self._quickest() - delay) / 1e6
        self._odd += 1
        if self._odd >= ODD_ONES:
            self._least.clear()
            self._odd = 0
        raise BadClockError(f"`t` is {seconds:+.1f} s off the lines before")
