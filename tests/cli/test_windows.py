"""Commands in narrow windows, plain terminals and the C locale: every line fits, and no text is lost."""

from pathlib import Path

import pytest

from tests.cli.controller_at import Terminal

LOGS = Path(__file__).parents[1] / "logs"
DEMO = ("demo", "--fast", "--throws", "3", "--spins", "1", "--games", "1", "--deals", "1")
PLAIN = {"LC_ALL": "C", "LANG": "C", "TERM": "dumb", "NO_COLOR": "1"}
COMMAND = "    "
"""The indentation of a command to paste into a shell, which stays on one line at any length."""


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("environ", [{}, PLAIN], ids=["colours", "plain"])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (DEMO, "Three Card Poker 12 014"),
        (("explain", str(LOGS / "craps-12-034-voids.jsonl.gz#3")), "both must hit an end"),
        (("explain", str(LOGS / "roulette-american.jsonl.gz#2")), "too_few_revolutions"),
        (("explain", str(LOGS / "sim-three-card-directed.jsonl.gz#1")), "Deal 1"),
    ],
    ids=["demo", "throw", "spin", "deal"],
)
def test_every_line_fits_the_window(
    words: tuple[str, ...], says: str, environ: dict[str, str], columns: int
) -> None:
    terminal = Terminal(words, columns, 24, **environ)
    text = terminal.whole()
    assert terminal.end() == 0
    assert says in " ".join(text.split())
    lines = [line.rpartition("\r")[2] for line in text.split("\n")]
    assert [line for line in lines if len(line) > columns and not line.startswith(COMMAND)] == []
    if environ:
        assert text.isascii()
        assert "\x1b" not in terminal.raw
