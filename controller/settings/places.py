"""The locations of configuration files."""

import os
from pathlib import Path
from typing import Literal

from controller.settings.mistakes import Mistake, SettingsError, did_you_mean, one_of, shown_path

Folder = Literal["rulesets", "paytables", "tables"]

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_config", _PACKAGE.parent / "config")  # in an installed wheel, in a checkout


def config_home(directory: Path | None = None) -> Path:
    """Return the configuration directory: `directory`, else TABLE_CONFIG, else the shipped directory.

    Raises SettingsError if `directory` or TABLE_CONFIG does not name a directory.
    """
    named = os.environ.get("TABLE_CONFIG", "")
    if directory is None and not named:
        return next((home for home in _SHIPPED if home.is_dir()), _SHIPPED[-1])
    home = directory or Path(named)
    if not home.is_dir():
        source = "an argument" if directory else "TABLE_CONFIG"
        raise SettingsError(
            [
                Mistake(
                    file=shown_path(home),
                    found=f"no directory (named by {source})",
                    expected="a directory that contains rulesets, paytables and tables",
                    hint="correct the name, or leave it out to use the shipped configuration",
                )
            ]
        )
    return home


def config_file(folder: Folder, name: str, directory: Path | None = None) -> Path:
    """Return the path of a configuration file, given by name (`craps-v1`) or path (`./my-table.yaml`).

    Raises SettingsError, which lists the known names, if there is no file with that name.
    """
    if is_path(name):
        return Path(name)
    place = config_home(directory) / folder
    known = config_names(folder, directory)
    if name in known:
        return place / f"{name}.yaml"
    hint = did_you_mean(name, known) or "use one of these names, or the path of a .yaml file"
    raise SettingsError(
        [Mistake(file=shown_path(place), found=f"no '{name}'", expected=one_of(known), hint=hint)]
    )


def config_names(folder: Folder, directory: Path | None = None) -> tuple[str, ...]:
    """Return the names of the files in a configuration folder, sorted."""
    return tuple(sorted(file.stem for file in (config_home(directory) / folder).glob("*.yaml")))


def is_path(name: str) -> bool:
    """Return whether `name` is a path and not the name of a configuration file."""
    return "/" in name or name.endswith((".yaml", ".yml"))
