"""Pay tables (`config/paytables/*.yaml`), the wager books that use them, and their exact house edges.

The findings that a named person has accepted are kept with the table owner's files, because each release
replaces the shipped configuration.
"""

import os
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from controller.games.registry import game_of
from controller.model.rulesets import RuleSet
from controller.settings.document import read_document
from controller.settings.mistakes import Mistake, SettingsError, shown_path
from controller.settings.places import config_file, config_home
from controller.settings.rulesets import load_ruleset
from controller.settlement.book import Book
from controller.settlement.paytable import Report
from controller.settlement.wagers import LoadPayTable, PayTableDiffers

T = TypeVar("T")


def load_paytable(name: str, shape: type[T], directory: Path | None = None) -> T:
    """Read a pay table as `shape`, by its rule set's name or its file's path.

    Raises:
        SettingsError: the file has mistakes, or there is no such file. The error lists the mistakes or the
            known names.
    """
    return read_document(config_file("paytables", name, directory), shape)


def open_book(ruleset: str) -> Book:
    """Return an empty wager book for a rule set, with its pay table.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    try:
        return game_of(rules.game).wagers().open(rules, _load(rules))
    except PayTableDiffers as error:
        raise SettingsError(_differing(rules, error)) from error


def check(ruleset: str) -> Report:
    """Return the exact house edges of a rule set's pay table, and the findings on it.

    Raises SettingsError for an unknown rule set or a pay table with mistakes.
    """
    rules = load_ruleset(ruleset)
    return game_of(rules.game).wagers().report(rules, _load(rules))


def _load(rules: RuleSet) -> LoadPayTable:
    def load(shape: type[T], /) -> T:
        return load_paytable(rules.name, shape)

    return load


def _differing(rules: RuleSet, error: PayTableDiffers) -> list[Mistake]:
    paytable_file, ruleset_file = (
        shown_path(config_file(kind, rules.name)) for kind in ("paytables", "rulesets")
    )
    return [
        Mistake(
            file=paytable_file,
            key=f"settings.{figure.key}",
            found=str(figure.paid),
            expected=f"{figure.played}, as in `{figure.section}.{figure.key}` of {ruleset_file}",
            hint="correct one of them; the table and settlement must use the same value",
        )
        for figure in error.figures
    ]


Words = Annotated[str, Meta(min_length=1, max_length=500)]


class AcceptedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that a person has accepted. If its text changes, it must be accepted again."""

    finding: Words
    text: Words
    who: Words
    reason: Words
    on: Words
    """The date in ISO 8601."""


_decode = msgspec.json.Decoder(tuple[AcceptedFinding, ...]).decode


INSTALLED = Path("/etc/table")
"""The folder with the table file of an installed table."""


def accepted_file(ruleset: str) -> Path:
    """Return the path of a rule set's accepted findings. The file need not exist.

    It is `accepted/RULESET.json` in the directory named by TABLE_CONFIG. Without TABLE_CONFIG, the directory
    is that of the table file of an installed table or, if there is none, `table-controller` in
    XDG_CONFIG_HOME (by default ~/.config).
    """
    return _owners_home() / "accepted" / f"{ruleset}.json"


def _owners_home() -> Path:
    if os.environ.get("TABLE_CONFIG"):
        return config_home()
    if INSTALLED.is_dir():
        return INSTALLED
    users = os.environ.get("XDG_CONFIG_HOME")
    return (Path(users) if users else Path.home() / ".config") / "table-controller"


def read_accepted(path: Path) -> tuple[AcceptedFinding, ...]:
    """Return the accepted findings; none if there is no file. Raises SettingsError for an invalid file."""
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError) as error:
        found = getattr(error, "strerror", None) or str(error)
        expected = "the accepted findings as `tablectl rules accept` writes them"
        hint = "correct the file, or delete it and accept the findings again"
        raise SettingsError(
            [Mistake(file=shown_path(path), found=found, expected=expected, hint=hint)]
        ) from error


def write_accepted(path: Path, accepted: tuple[AcceptedFinding, ...]) -> None:
    """Replace the file of accepted findings atomically. Raises SettingsError if it can't be written."""
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(msgspec.json.format(msgspec.json.encode(accepted), indent=2) + b"\n")
        os.replace(part, path)
    except OSError as error:
        expected = "a writable folder"
        hint = "set TABLE_CONFIG to your own configuration, or run the command as the folder's owner"
        raise SettingsError(
            [Mistake(file=shown_path(path), found=str(error.strerror), expected=expected, hint=hint)]
        ) from error
