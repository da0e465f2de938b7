"""Plots on a terminal fit their width and are readable without colour and in ASCII."""

import pytest

from controller.technician.terminal_plot import plot
from tests.technician.recorded import spin, throw


@pytest.mark.parametrize("columns", [20, 80, 133, 500])
@pytest.mark.parametrize("braille", [True, False])
def test_a_plot_fits_a_terminal_of_24_lines(columns: int, braille: bool) -> None:
    for seen in (throw("craps-12-034-voids", 3), spin("roulette-american", 1)):
        lines = plot(seen, columns, braille=braille)
        assert len(lines) <= 23
        assert max(map(len, lines)) <= max(min(columns, 160), 40) or columns < 82


def test_an_ascii_plot_contains_only_ascii() -> None:
    for seen in (throw("craps-12-034-voids", 3), spin("roulette-american", 2)):
        assert all(line.isascii() for line in plot(seen, 80, braille=False))


def test_a_throw_shows_rests_hits_misses_and_impacts() -> None:
    text = "\n".join(plot(throw("craps-12-034-voids", 4), 80, braille=False))
    assert "[1]" in text
    assert "[?]" in text
    assert "H" in text
    assert "|A" in text


def test_a_spin_shows_its_dead_beam() -> None:
    rows = plot(spin("sim-roulette-dead-beam", 3), 80, braille=True)
    assert [row.strip() for row in rows if row.startswith("beam 1")] == ["beam 1 |silent"]
