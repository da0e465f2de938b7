"""Terminal output: a terminal's capabilities, and the layout of lines, tables and live pages."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Literal, NamedTuple, TextIO

from controller.cli.shell import UNLIMITED
from controller.model.printable import printable

Style = Literal["plain", "bold", "dim", "red", "green", "yellow"]

_CODES: Mapping[Style, str] = {
    "plain": "0",
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "green": "1;32",
    "yellow": "33",
}
_PIPS = "⚀⚁⚂⚃⚄⚅"
_SUITS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
_TO_ASCII = str.maketrans({"—": "-", "…": "...", "°": " deg"})
_MIN_TEXT_WIDTH = 24
"""Minimum width for the text beside a lead, in columns; if less is left, the text is put below the lead."""
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class Entry(NamedTuple):
    """A lead and the text beside it; long text wraps within its column."""

    lead: str
    text: str
    style: Style = "plain"
    lead_style: Style = "plain"


class Screen:
    """A text stream, typically a terminal, with output laid out for people."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
        """Detect the stream's capabilities.

        NO_COLOR switches colour off; TERM=dumb switches colour and cursor movements off.
        """
        self._stream = stream
        self.terminal = stream.isatty()
        self.cursor = self.terminal and environment.get("TERM") != "dumb"
        self.colour = self.cursor and not environment.get("NO_COLOR")
        self.unicode = _is_utf8(environment) and "utf" in (stream.encoding or "").lower()
        self._has_draft = False

    @property
    def width(self) -> int:
        """Return the current width in columns; a window can be resized at any time."""
        return shutil.get_terminal_size().columns if self.terminal else UNLIMITED

    @property
    def height(self) -> int:
        """Return the current height in rows."""
        return shutil.get_terminal_size().lines if self.terminal else UNLIMITED

    def line(self, text: str = "") -> None:
        """Write one line and flush it."""
        clear = f"\r{_CLEAR_LINE}" if self._has_draft else ""
        self._has_draft = False
        print(clear + self._encodable(text), file=self._stream, flush=True)

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines and flush them."""
        for line in lines:
            self.line(line)

    def draft(self, text: str) -> None:
        """Show text that the next line replaces; do nothing if the cursor can't be moved."""
        if self.cursor:
            self._has_draft = True
            shown = self._encodable(text)[: self.width - 1]  # a wrapped line could not be replaced
            print(f"\r{_CLEAR_LINE}{shown}", end="", file=self._stream, flush=True)

    def clear(self) -> None:
        """Clear the window before a page."""
        if self.cursor:
            print(f"{_HOME}{_CLEAR_BELOW}", end="", file=self._stream, flush=True)

    def page(self, lines: Sequence[str], *, first: bool) -> None:
        """Replace the previous page with these lines, cut to the window's height."""
        if not self.cursor:
            self.lines(lines if first else ["", *lines])
            return
        room = max(self.height - 2, 1)
        shown = list(lines[:room])
        if len(lines) > room:
            shown[-1] = self.styled(f"... {len(lines) - room + 1} more lines: make the window taller", "dim")
        text = "".join(f"{self._encodable(line)}{_CLEAR_LINE}\n" for line in shown)
        print(f"{_HOME}{text}{_CLEAR_BELOW}", end="", file=self._stream, flush=True)

    def styled(self, text: str, style: Style) -> str:
        """Return the text in a style, or unchanged if colour is off."""
        if not self.colour or style == "plain":
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def entry(self, entry: Entry) -> list[str]:
        """Return an entry's lines, wrapped to the window; control characters are escaped."""
        lead, text = printable(entry.lead), printable(entry.text)
        text_width = self.width - len(lead)
        below = text_width < _MIN_TEXT_WIDTH and len(lead.rstrip()) > 0
        indent = " " * (4 if below else len(lead))
        parts = wrap(text, max(self.width - len(indent), 8)) or [""]
        first = self.styled(lead.rstrip() if below or not text else lead, entry.lead_style)
        styled = [self.styled(part, entry.style) for part in parts]
        if below:
            return [first, *(f"{indent}{part}" for part in styled if part)]
        return [f"{first}{styled[0]}", *(f"{indent}{part}" for part in styled[1:])]

    def wrapped(self, line: str, indent: int, style: Style = "plain") -> list[str]:
        """Return a line wrapped to the window, with its continuation lines indented."""
        if len(line) <= self.width:
            return [self.styled(line, style)]
        begins = len(line) - len(line.lstrip())
        parts = wrap(
            line.lstrip(),
            max(self.width, indent + _MIN_TEXT_WIDTH),
            initial_indent=" " * begins,
            subsequent_indent=" " * indent,
            drop_whitespace=True,
        )
        return [self.styled(part, style) for part in parts]

    def table(self, entries: Iterable[Entry], indent: str = "  ") -> list[str]:
        """Return the lines of entries, with the text aligned in a column."""
        rows = list(entries)
        width = max((len(row.lead) for row in rows), default=0)
        leads = [f"{indent}{row.lead:<{width}}  " for row in rows]
        return [
            line
            for row, lead in zip(rows, leads, strict=True)
            for line in self.entry(row._replace(lead=lead))
        ]

    def die(self, face: int) -> str:
        """Return a die's face as a character or, if the stream has no Unicode, in the form [5]."""
        return _PIPS[face - 1] if self.unicode else f"[{face}]"

    def card(self, code: str) -> str:
        """Return a card such as Kd with its suit as a symbol, or unchanged if the stream has no Unicode."""
        suit = _SUITS.get(code[-1:])
        return f"{code[:-1]}{suit}" if suit and self.unicode else code

    def _encodable(self, text: str) -> str:
        if self.unicode:
            return text
        return text.translate(_TO_ASCII).encode("ascii", "replace").decode()


def _is_utf8(environment: Mapping[str, str]) -> bool:
    """Return whether the locale is UTF-8.

    The stream's encoding does not show this, because Python writes UTF-8 even in the C locale.
    """
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return "utf" in locale.lower()


Value = object
Row = tuple[str, str]


def aligned(rows: Iterable[Row], indent: str = "  ") -> Iterator[str]:
    """Return the lines of two-column rows, with the second column aligned."""
    table = list(rows)
    width = max((len(key) for key, _ in table), default=0)
    return (f"{indent}{key:<{width}}  {text}".rstrip() for key, text in table)


def rows_of(value: Mapping[str, Value], path: str = "") -> Iterator[Row]:
    """Yield the dotted key and the value of each entry in a nested document; a figure includes its rule."""
    for name, part in value.items():
        key = f"{path}.{name}" if path else name
        if isinstance(part, Mapping) and not _is_figure(part):
            yield from rows_of(part, key)
        else:
            yield key, _text(part)


def _is_figure(value: Mapping[str, Value]) -> bool:
    return "rule" in value and ("pays" in value or "value" in value)


def _text(value: Value) -> str:
    match value:
        case Mapping() if _is_figure(value):
            return _figure(value)
        case Mapping():
            return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_text, value))
        case bool():
            return "yes" if value else "no"
        case None:
            return "-"
        case float():
            return f"{value:g}"
    return str(value)


def _figure(figure: Mapping[str, Value]) -> str:
    match figure.get("pays"):
        case [int() as won, int() as staked]:
            shown = f"{won} to {staked}"
        case None:
            shown = _text(figure["value"])
        case pays:
            shown = _text(pays)
    reason = f"  {figure['reason']}" if "reason" in figure else ""
    return f"{shown}  [{figure['rule']}]{reason}"
