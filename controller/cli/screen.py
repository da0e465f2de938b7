"""A terminal's abilities, and rows of key and value for it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TextIO

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
_IN_ASCII = str.maketrans({"—": "-", "…": "...", "°": " deg"})


class Screen:
    """Writes lines for people to a stream."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
        """Find out what the stream can show; NO_COLOR and TERM=dumb switch colour off."""
        self._stream = stream
        self.terminal = stream.isatty()
        self.colour = self.terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self.unicode = _speaks_utf8(environment) and "utf" in (stream.encoding or "").lower()

    def line(self, text: str = "") -> None:
        """Write one line, at once."""
        clear = "\r\x1b[K" if self.colour else ""
        print(clear + self._shown(text), file=self._stream, flush=True)

    def draft(self, text: str) -> None:
        """Show text that the next line replaces; only a colour terminal can."""
        if self.colour:
            print("\r\x1b[K" + self._shown(text), end="", file=self._stream, flush=True)

    def styled(self, text: str, style: Style) -> str:
        """Return the text in a style, if the terminal has colour."""
        if not self.colour or style == "plain":
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def die(self, face: int) -> str:
        """Draw a die."""
        return _PIPS[face - 1] if self.unicode else f"[{face}]"

    def _shown(self, text: str) -> str:
        if self.unicode:
            return text
        return text.translate(_IN_ASCII).encode("ascii", "replace").decode()


def _speaks_utf8(environment: Mapping[str, str]) -> bool:
    """Return whether the locale is UTF-8; Python itself writes UTF-8 even in the C locale."""
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return "utf" in locale.lower()


Value = object
Row = tuple[str, str]


def aligned(rows: Iterable[Row], indent: str = "  ") -> Iterator[str]:
    """Write rows of two columns, the second aligned."""
    table = list(rows)
    width = max((len(key) for key, _ in table), default=0)
    return (f"{indent}{key:<{width}}  {text}".rstrip() for key, text in table)


def rows_of(value: Mapping[str, Value], path: str = "") -> Iterator[Row]:
    """Yield every value of a nested document with its dotted key; a figure keeps its rule beside it."""
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
