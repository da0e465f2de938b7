"""Findings on a pay table that a named person took as they are: kept with what belongs to the table's owner.

Never in the shipped configuration: that is the release's, and goes with it.
"""

import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from controller.settings.mistakes import Mistake, SettingsError, shown_path
from controller.settings.places import config_home

Words = Annotated[str, Meta(min_length=1, max_length=500)]


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """One finding by its id, with the text it had: another text is another finding."""

    finding: Words
    text: Words
    who: Words
    reason: Words
    on: Words
    """The day, as ISO writes it."""


_decode = msgspec.json.Decoder(tuple[Accepted, ...]).decode


INSTALLED = Path("/etc/table")
"""Where an installed table has its own file."""


def accepted_file(ruleset: str) -> Path:
    """Return the file of a rule set's accepted findings, whether it is there or not.

    It is in the configuration that TABLE_CONFIG names, else beside an installed table's own file, else in the
    user's own configuration (XDG_CONFIG_HOME, ~/.config where that is not set).
    """
    return _owners_home() / "accepted" / f"{ruleset}.json"


def _owners_home() -> Path:
    if os.environ.get("TABLE_CONFIG"):
        return config_home()
    if INSTALLED.is_dir():
        return INSTALLED
    users = os.environ.get("XDG_CONFIG_HOME")
    return (Path(users) if users else Path.home() / ".config") / "table-controller"


def read_accepted(path: Path) -> tuple[Accepted, ...]:
    """Return what was accepted; nothing where there is no file. Raises SettingsError for one that is none."""
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError) as error:
        found = getattr(error, "strerror", None) or str(error)
        expected = "the accepted findings, as `tablectl rules accept` writes them"
        hint = "correct it, or delete it and accept them again"
        raise SettingsError(
            [Mistake(file=shown_path(path), found=found, expected=expected, hint=hint)]
        ) from error


def write_accepted(path: Path, accepted: tuple[Accepted, ...]) -> None:
    """Keep them, the whole file or nothing of it. Raises SettingsError where the disk does not take it."""
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(msgspec.json.format(msgspec.json.encode(accepted), indent=2) + b"\n")
        os.replace(part, path)
    except OSError as error:
        expected = "a folder that can be written"
        hint = "set TABLE_CONFIG to a configuration of your own, or run it as its owner"
        raise SettingsError(
            [Mistake(file=shown_path(path), found=str(error.strerror), expected=expected, hint=hint)]
        ) from error
