"""Wrong tries in a row and the locks they lead to, kept in files so that no restart forgives them.

Each screen at which a person has signed in well has tries of its own, whatever strangers try elsewhere: a
screen is a browser with a secret that the desk gave it at a good sign-in. It counts for the people who signed
in there and for nobody else, so that no member of staff gets more tries at another's PIN by it.
"""

import hashlib
import secrets
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


_decode_tries = msgspec.json.Decoder(dict[str, Tries]).decode


class TriesFile:
    """The file of one desk. A lock in it is in time since boot, and is never shortened by a new boot."""

    def __init__(self, file: Path, tells: Callable[[str], None]) -> None:
        """Keep them in this file; `tells` is called where it can't be read or written, for the log."""
        self._file = file
        self._tells = tells

    def read(self, now_us: int) -> dict[str, Tries]:
        """Return what was kept; nothing where the file can't be used, so that staff can still sign in.

        After a new boot a lock may lie days ahead: from now on it lasts no longer than a new one would.
        """
        try:
            kept = _decode_tries(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._tells(
                f"{self._file}: found it unreadable ({error}), expected the wrong PINs;"
                " their counts start again at 0"
            )
            return {}
        for of, tries in kept.items():
            tries.locked_until_us = min(tries.locked_until_us, now_us + lock_of(of))
        return kept

    def write(self, tries: Mapping[str, Tries]) -> None:
        """Keep these; a disk that is full is told of and keeps nobody out."""
        try:
            write_private(self._file, msgspec.json.encode(tries))
        except OSError as error:
            self._tells(
                f"{self._file}: cannot be written ({error}); a restart will lose the counts of wrong PINs"
            )


def of_person(name: str, screen: str = "") -> str:
    """Return under what a person's wrong PINs are counted: at a screen that knows the person, by its digest,
    or at all unknown ones together.
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


SCREENS = 64
"""Screens that are remembered; one more forgets the one at which nobody has signed in for longest."""
ALONE = 8
"""Of these, where one person alone signed in: nobody drives out the others' by signing in anew."""
PEOPLE = 64
"""People remembered at a screen, as many as sign in at once."""

Known = dict[str, list[str]]
"""By a screen's digest, who signed in there, the last one last; the screen used last is last."""
_decode_known = msgspec.json.Decoder(Known).decode


def digest_of(screen: str | None) -> str:
    """Return what a screen's secret is kept as; empty for a stranger."""
    return "" if not screen else hashlib.sha256(screen.encode()).hexdigest()[:32]


class Screens:
    """The screens of one desk."""

    def __init__(
        self, known: Mapping[str, list[str]] | None = None, keeps: Callable[[Known], None] = lambda _: None
    ) -> None:
        """Know these from before a restart; `keeps` is called with all of them after each change."""
        self._known: Known = {digest: list(people) for digest, people in (known or {}).items()}
        self._keeps = keeps

    def knows(self, screen: str | None, person: str) -> bool:
        """Return whether this person has signed in at this screen."""
        return person in self._known.get(digest_of(screen), ())

    def last_at(self, screen: str | None) -> str | None:
        """Return who signed in at this screen last; None at a strange one."""
        people = self._known.get(digest_of(screen))
        return people[-1] if people else None

    def note(self, screen: str | None, person: str) -> str:
        """Note a good sign-in; return the screen's secret, a new one where it had none that is known."""
        known = screen if screen and digest_of(screen) in self._known else secrets.token_urlsafe(32)
        digest = digest_of(known)
        people = [one for one in self._known.pop(digest, []) if one != person]
        self._known[digest] = [*people, person][-PEOPLE:]
        alone = [digest for digest, people in self._known.items() if people == [person]]
        for digest in alone[:-ALONE]:
            del self._known[digest]
        while len(self._known) > SCREENS:
            del self._known[next(iter(self._known))]
        self._keeps(self._known)
        return known


class ScreensFile:
    """The file of one desk's screens."""

    def __init__(self, file: Path, tells: Callable[[str], None]) -> None:
        """Keep them in this file; `tells` is called where it can't be read or written, for the log."""
        self._file = file
        self._tells = tells

    def read(self) -> Known:
        """Return what was kept; nothing where the file can't be used: then every screen is unknown."""
        try:
            return _decode_known(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._tells(
                f"{self._file}: found it unreadable ({error}), expected the known screens;"
                " every screen counts as unknown"
            )
            return {}

    def write(self, known: Known) -> None:
        """Keep these; a disk that is full is told of and keeps nobody out."""
        try:
            write_private(self._file, msgspec.json.encode(known))
        except OSError as error:
            self._tells(
                f"{self._file}: found it closed to writing ({error}); a restart forgets known screens"
            )
