"""Pay tables: `config/paytables/*.yaml` as the typed tables that the settlement games are built on."""

from pathlib import Path
from typing import TypeVar

from controller.settings.document import read_document
from controller.settings.places import config_file

T = TypeVar("T")


def load_paytable(name: str, shape: type[T], directory: Path | None = None) -> T:
    """Read the pay table of a rule set by its name, or by its file's path, as `shape`.

    Raises SettingsError with every mistake in the file, or with the names there are.
    """
    return read_document(config_file("paytables", name, directory), shape)
