"""Foreign text can neither control a terminal nor forge a line of a log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.model.printable import MAX_EXCERPT, excerpt, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("settlement", "settlement"),
        ("Jörg's table: 東京", "Jörg's table: 東京"),
        ("a\nb\r\0", r"a\nb\r\x00"),
        ("\x1b[2J\x9b1m", r"\x1b[2J\x9b1m"),
        ("\u202egnihton\u2028", r"\u202egnihton\u2028"),
    ],
)
def test_what_could_control_a_terminal_or_break_a_line_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_every_text_is_printable_after_one_pass(text: str) -> None:
    once = printable(text)
    assert once.isprintable()
    assert printable(once) == once


@given(st.text(max_size=300))
def test_an_excerpt_is_printable_and_short(text: str) -> None:
    shown = excerpt(text)
    assert shown.isprintable()
    assert len(shown) <= MAX_EXCERPT
    assert shown == printable(text) or shown.endswith("...")


def test_the_excerpt_of_a_huge_text_escapes_only_what_it_shows() -> None:
    assert excerpt("\x1b" * 10_000_000, 12) == r"\x1b\x1b\..."
