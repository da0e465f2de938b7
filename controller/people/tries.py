"""Wrong tries in a row and the locks they lead to, kept in a file so that no restart forgives them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from controller.people.register import write_private

TRIES = 5
"""Wrong PINs or cards in a row before nothing more is tried."""
LOCKED_US = 15 * 60 * 1_000_000
"""How long a person is locked out: at 20 tries an hour six digits last for years."""
CARD_LOCKED_US = 60 * 1_000_000
"""How long a screen takes no card after so many that nobody has."""


class Tries(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Wrong tries in a row, and until when (time since boot) nothing more is tried."""

    wrong: int = 0
    locked_until_us: int = 0


_decode = msgspec.json.Decoder(dict[str, Tries]).decode


class TriesFile:
    """The file of one desk. A lock in it is in time since boot, and is never shortened by a new boot."""

    def __init__(self, file: Path, tells: Callable[[str], None]) -> None:
        """Keep them in this file; `tells` hears where it can't be read or written, for the log."""
        self._file = file
        self._tells = tells

    def read(self, now_us: int) -> dict[str, Tries]:
        """Return what was kept; nothing where the file can't be used, so that staff can still sign in.

        After a new boot a lock may lie days ahead: from now on it lasts no longer than a new one would.
        """
        try:
            kept = _decode(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._tells(f"{self._file}: found it unusable ({error}), expected the wrong tries; none are kept")
            return {}
        for of, tries in kept.items():
            tries.locked_until_us = min(tries.locked_until_us, now_us + lock_of(of))
        return kept

    def write(self, tries: Mapping[str, Tries]) -> None:
        """Keep these; a disk that is full is told of and keeps nobody out."""
        try:
            write_private(self._file, msgspec.json.encode(tries))
        except OSError as error:
            self._tells(f"{self._file}: found it closed to writing ({error}); a restart forgives wrong tries")


def of_person(name: str, screen: str = "") -> str:
    """Return under what a person's wrong PINs are counted: at a screen that knows the person, by its digest,
    or at all strange ones together.
    """
    return f"person {name}, screen {screen}" if screen else f"person {name}"


def is_of_person(of: str, name: str) -> bool:
    """Return whether tries are a person's, at whatever screen."""
    return of == of_person(name) or of.startswith(f"person {name}, screen ")


def of_cards(console: str, after: str | None = None) -> str:
    """Return under what unknown cards are counted: at a screen where `after` signed in last, or at strange
    ones of a console.
    """
    return f"cards at {console}" if after is None else f"cards at {console}, after {after}"


def lock_of(of: str) -> int:
    """Return for how long (microseconds) tries under this key are locked."""
    return LOCKED_US if of.startswith("person ") else CARD_LOCKED_US
