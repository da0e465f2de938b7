"""The figures of a run of the lab, which its summary prints."""

from collections.abc import Sequence


class Report:
    """Figures by name, in the order of addition."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """One line per figure."""

    def note(self, name: str, words: str) -> None:
        """Add a figure as text."""
        self.notes.append(f"{name}: {words}")

    def times(self, name: str, times_us: Sequence[int]) -> None:
        """Add the median, the 99th percentile and the maximum of these times (us)."""
        if times_us:
            ordered = sorted(times_us)
            p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
            words = f"p50 {p50 / 1000:.1f} ms, p99 {p99 / 1000:.1f} ms, worst {ordered[-1] / 1000:.1f} ms"
            self.note(name, f"{words} of {len(ordered)}")

    def lines(self) -> list[str]:
        """Return the report with its heading, one line per figure; empty if there are no figures."""
        return ["", "The lab's figures", *(f"  {line}" for line in self.notes)] if self.notes else []
