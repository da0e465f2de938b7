"""Mistakes in a configuration file, and their messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from controller.model.tables import KeyPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake: its place, what was found, what was expected, and what to do next.

    `line` and `column` count from 1. A `line` of 0 means the whole file. `key` is the dotted key path.
    """

    file: str
    line: int = 0
    column: int = 0
    key: str = ""
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        subject = f"{place}: {self.key}" if self.key else place
        advice = f"; {self.hint}" if self.hint else ""
        return f"{subject}: found {self.found}, expected {self.expected}{advice}"


class SettingsError(Exception):
    """An unusable configuration. The message lists all mistakes, one per line."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        each_once = dict.fromkeys(mistakes)
        self.mistakes = tuple(sorted(each_once, key=lambda wrong: (wrong.file, wrong.line, wrong.column)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def shown_path(path: Path) -> str:
    """Return a path as text. A path below the working directory is shown relative to that directory."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def dotted(path: KeyPath) -> str:
    """Return a key path as text, such as `dice_table.zones[0].kind`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def did_you_mean(found: object, known: Iterable[str]) -> str:
    """Return a hint that names the most similar known word; empty if no word is similar."""
    nearest = get_close_matches(str(found), list(known), n=1)
    return f"did you mean '{nearest[0]}'?" if nearest else ""


def one_of(words: Iterable[object]) -> str:
    """Return alternatives as text, such as `one of 'end', 'far' or 'any'`."""
    quoted = [f"'{word}'" if isinstance(word, str) else str(word) for word in words]
    if len(quoted) < 2:
        return "".join(quoted) or "nothing"
    return f"one of {', '.join(quoted[:-1])} or {quoted[-1]}"
