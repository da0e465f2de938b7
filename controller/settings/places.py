"""Where configuration lives."""

import os
from pathlib import Path
from typing import Literal

from controller.settings.mistakes import Mistake, SettingsError, did_you_mean, one_of, shown_path

Folder = Literal["rulesets", "paytables", "tables"]

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_config", _PACKAGE.parent / "config")  # an installed wheel's, a checkout's


def config_home(directory: Path | None = None) -> Path:
    """Return the configuration directory: `directory`, else that of TABLE_CONFIG, else the shipped one.

    Raises SettingsError if the directory asked for is not there.
    """
    named = os.environ.get("TABLE_CONFIG", "")
    if directory is None and not named:
        return next((home for home in _SHIPPED if home.is_dir()), _SHIPPED[-1])
    home = directory or Path(named)
    if not home.is_dir():
        source = "the directory given" if directory else "TABLE_CONFIG"
        raise SettingsError(
            [
                Mistake(
                    file=shown_path(home),
                    found=f"no directory (named by {source})",
                    expected="a directory with rulesets, paytables and tables in it",
                    hint="correct the name, or leave it out to use the shipped configuration",
                )
            ]
        )
    return home


def config_file(folder: Folder, name: str, directory: Path | None = None) -> Path:
    """Find a configuration file by its name (`craps-v1`) or its path (`./my-table.yaml`).

    Raises SettingsError if there is no such file; it lists those that there are.
    """
    if is_path(name):
        return Path(name)
    place = config_home(directory) / folder
    there = config_names(folder, directory)
    if name in there:
        return place / f"{name}.yaml"
    hint = did_you_mean(name, there) or "or the path of a .yaml file"
    raise SettingsError(
        [Mistake(file=shown_path(place), found=f"no '{name}'", expected=one_of(there), hint=hint)]
    )


def config_names(folder: Folder, directory: Path | None = None) -> tuple[str, ...]:
    """List the names that a folder of the configuration knows, sorted."""
    return tuple(sorted(file.stem for file in (config_home(directory) / folder).glob("*.yaml")))


def is_path(name: str) -> bool:
    """Return whether a name is a file's path rather than a word of the configuration."""
    return "/" in name or name.endswith((".yaml", ".yml"))
