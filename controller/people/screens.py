"""The screens at which each person has signed in well: each has tries of its own, whatever strangers try.

A screen is a browser with a secret that the desk gave it at a good sign-in. It counts for the people who
signed in there and for nobody else, so that no member of staff gets more tries at another's PIN by it.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from controller.people.register import write_private

SCREENS = 64
"""Screens that are remembered; one more forgets the one at which nobody has signed in for longest."""
ALONE = 8
"""Of these, where one person alone signed in: nobody drives out the others' by signing in anew."""
PEOPLE = 64
"""People remembered at a screen, as many as sign in at once."""

Known = dict[str, list[str]]
"""By a screen's digest, who signed in there, the last one last; the screen used last is last."""
_decode = msgspec.json.Decoder(Known).decode


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
        """Keep them in this file; `tells` hears where it can't be read or written, for the log."""
        self._file = file
        self._tells = tells

    def read(self) -> Known:
        """Return what was kept; nothing where the file can't be used: then every screen is strange."""
        try:
            return _decode(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._tells(
                f"{self._file}: found it unusable ({error}), expected the known screens; none are known"
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
