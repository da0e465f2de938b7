"""The register: people who may sign in, scrypt hashes of PINs and cards, and locks after failed attempts.

The register is a JSON file that only the sign-in process's user can read. It contains hashes of PINs. A
six-digit PIN can be found by trying every combination, so the file is private and scrypt makes each try slow.
Failed attempts are stored too, so that a restart does not reset the counts.

A screen is a browser with a secret that it received at a successful sign-in. Wrong PINs are counted
separately for each screen at which the person has signed in, so that attempts elsewhere can't lock the person
out at that screen. A screen has separate counts only for the people who have signed in at it, so that nobody
gains additional tries at another person's PIN.
"""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from controller.model.conversion import converter_of

FOLDER = "/var/lib/table-sign-in"
"""The folder of an installed sign-in process, with the files below."""
SOCKET = "/run/table-sign-in/sign-in.sock"
KEY_FILE = "sign-in.key"
PUBLIC_FILE = "sign-in.pub"
HISTORY_FILE = "sign-in.key.history.jsonl"
REGISTER_FILE = "people.json"
TRIES_FILE = "tries.json"
SCREENS_FILE = "screens.json"


ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician")
"""The roles of people at a staff screen, as named in the rule sets."""
MIN_PIN = 4
MAX_PIN = 64
"""Minimum and maximum number of characters in a PIN, or in a card's number as the reader sends it."""
_N, _R, _P = 2**14, 8, 1
"""Parameters of scrypt: 16 MiB and about 50 ms on a table's computer."""
_MODE = 0o600
Name = Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]


class RegisterError(Exception):
    """An unusable register, or invalid details of a person."""


class Person(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person: `pin` is `salt:hash` in hex, `card` the hash of a card's number with the register's salt."""

    name: Name
    roles: Annotated[tuple[str, ...], Meta(min_length=1, max_length=len(ROLES))]
    pin: str
    card: str | None = None


class Register(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The people who may sign in."""

    salt: str
    people: tuple[Person, ...] = ()

    def named(self, name: str) -> Person | None:
        """Return the person with this name, or None."""
        return next((one for one in self.people if one.name == name), None)

    def with_card(self, typed: str) -> Person | None:
        """Return the owner of the card with this number, or None."""
        if not any(one.card for one in self.people):
            return None
        digest = _hash(typed, self.salt)
        return next((one for one in self.people if one.card and hmac.compare_digest(one.card, digest)), None)

    def with_person(self, name: str, roles: tuple[str, ...], pin: str, card: str | None) -> "Register":
        """Return the register with this person added or replaced; raises RegisterError."""
        unknown = sorted(set(roles) - set(ROLES))
        if unknown or not roles:
            found = ", ".join(unknown) or "none"
            raise RegisterError(f"role: found {found}, expected one or more of {', '.join(ROLES)}")
        for what, typed in (("PIN", pin), ("card", card)):
            if typed is not None and not MIN_PIN <= len(typed) <= MAX_PIN:
                raise RegisterError(f"{what}: found {len(typed)} characters, expected {MIN_PIN} to {MAX_PIN}")
        if not pin.isdecimal():
            raise RegisterError("PIN: found characters other than digits, expected digits only")
        salt = secrets.token_hex(16)
        held = None if card is None else _hash(card, self.salt)
        if held is not None and any(one.card == held and one.name != name for one in self.people):
            raise RegisterError("card: this card is registered to another person; use a different card")
        person = Person(name=name, roles=roles, pin=f"{salt}:{_hash(pin, salt)}", card=held)
        try:
            _person_of(msgspec.to_builtins(person))
        except msgspec.ValidationError as error:
            raise RegisterError(
                f"name: found {name!r}, expected 1 to 32 letters, digits, spaces, full stops, hyphens or"
                " underscores, the first a letter or digit"
            ) from error
        others = tuple(one for one in self.people if one.name != name)
        return msgspec.structs.replace(self, people=(*others, person))

    def without_person(self, name: str) -> "Register":
        """Return the register without this person; raises RegisterError for an unknown name."""
        if self.named(name) is None:
            raise RegisterError(f"there is no person named {name!r}; `tablectl people list` lists the names")
        return msgspec.structs.replace(self, people=tuple(one for one in self.people if one.name != name))


_person_of = converter_of(Person)
_register_of = msgspec.json.Decoder(Register).decode


def is_pin_of(person: Person | None, typed: str) -> bool:
    """Return whether this is the person's PIN; for None, return False after the same computing time."""
    salt, _, digest = ("00" * 16, "", "") if person is None else person.pin.partition(":")
    return hmac.compare_digest(_hash(typed[:MAX_PIN], salt), digest)


def new_register() -> Register:
    """Return a register without people."""
    return Register(salt=secrets.token_hex(16))


def read_register(file: Path) -> Register:
    """Return the register in this file; if there is no file, return an empty register.

    Raises:
        RegisterError: users other than its owner can read the file, or the file is not a register.
        OSError: the file can't be read.
    """
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return new_register()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        found = f"found mode {stat.S_IMODE(mode):04o}"
        raise RegisterError(f"{file}: {found}, expected 0600; run: chmod 600 {file}")
    try:
        return _register_of(file.read_bytes())
    except msgspec.MsgspecError as error:
        raise RegisterError(
            f"{file} is not a register ({error}); restore the file that `tablectl people add` wrote"
        ) from error


def write_register(file: Path, register: Register) -> None:
    """Write the register atomically, readable only by the owner of its folder; raises OSError."""
    write_private(file, msgspec.json.encode(register))


def write_private(file: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a file atomically. If run as root, make the folder's owner the owner of the file."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, mode)
        if os.geteuid() == 0:
            owner = file.parent.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
    draft.replace(file)


def _hash(typed: str, salt: str) -> str:
    return hashlib.scrypt(typed.encode(), salt=bytes.fromhex(salt), n=_N, r=_R, p=_P).hex()


MAX_TRIES = 5
"""Number of consecutive wrong PINs or cards that causes a lock."""
LOCKED_US = 15 * 60 * 1_000_000
"""Duration of a person's lock. At 20 tries an hour, trying all six-digit PINs takes years."""
CARD_LOCKED_US = 60 * 1_000_000
"""Time during which a screen accepts no card after `MAX_TRIES` unknown cards."""


class Tries(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The number of consecutive wrong tries, and the end of the lock as a time since boot."""

    wrong: int = 0
    locked_until_us: int = 0


_decode_tries = msgspec.json.Decoder(dict[str, Tries]).decode


class TriesFile:
    """The file of failed attempts; a lock's end is stored as a time since boot."""

    def __init__(self, file: Path, log: Callable[[str], None]) -> None:
        """Use this file; `log` receives a line if the file can't be read or written."""
        self._file = file
        self._log = log

    def read(self, now_us: int) -> dict[str, Tries]:
        """Return the stored tries; empty for an unusable file, so that staff can still sign in.

        After a reboot, a stored lock's end can be days ahead; the lock is then shortened to the duration of a
        new lock.
        """
        try:
            kept = _decode_tries(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._log(
                f"{self._file}: found an unreadable file ({error}), expected the counts of wrong PINs;"
                " all counts start again at 0"
            )
            return {}
        for key, tries in kept.items():
            tries.locked_until_us = min(tries.locked_until_us, now_us + lock_us(key))
        return kept

    def write(self, tries: Mapping[str, Tries]) -> None:
        """Store these tries; a failure, such as a full disk, is logged and does not prevent sign-ins."""
        try:
            write_private(self._file, msgspec.json.encode(tries))
        except OSError as error:
            self._log(
                f"{self._file} can't be written to ({error}); a restart will lose the counts of wrong PINs"
            )


def person_key(name: str, screen: str = "") -> str:
    """Return the key under which a person's wrong PINs are counted.

    `screen` is the digest of a screen at which the person has signed in; all other screens share a key.
    """
    return f"person {name}, screen {screen}" if screen else f"person {name}"


def is_person_key(key: str, name: str) -> bool:
    """Return whether a key belongs to this person, at any screen."""
    return key == person_key(name) or key.startswith(f"person {name}, screen ")


def cards_key(console: str, after: str | None = None) -> str:
    """Return the key under which unknown cards at a console are counted.

    `after` is the last person who signed in at the screen; all screens without a sign-in share a key.
    """
    return f"cards at {console}" if after is None else f"cards at {console}, after {after}"


def counts_cards(key: str) -> bool:
    """Return whether this key counts unknown cards, as opposed to a person's wrong PINs."""
    return key.startswith("cards at ")


def lock_us(key: str) -> int:
    """Return the duration of a lock under this key, in microseconds."""
    return CARD_LOCKED_US if counts_cards(key) else LOCKED_US


MAX_SCREENS = 64
"""Maximum number of known screens; a further screen replaces the screen with the oldest sign-in."""
MAX_SCREENS_PER_PERSON = 8
"""Maximum number of a person's screens at which nobody else has signed in. The limit prevents a person from
displacing all other screens."""
MAX_PEOPLE = 64
"""Maximum number of people known at a screen, equal to the maximum number of sessions."""

Known = dict[str, list[str]]
"""The people who signed in at each screen, by the screen's digest; the latest person and screen come last."""
_decode_known = msgspec.json.Decoder(Known).decode


def digest_of(screen: str | None) -> str:
    """Return the digest that is stored in place of a screen's secret; empty if there is no secret."""
    return "" if not screen else hashlib.sha256(screen.encode()).hexdigest()[:32]


class Screens:
    """The known screens of a sign-in process, with the people who signed in at each screen."""

    def __init__(
        self, known: Mapping[str, list[str]] | None = None, save: Callable[[Known], None] = lambda _: None
    ) -> None:
        """Start with the screens known before a restart; `save` receives all screens after each change."""
        self._known: Known = {digest: list(people) for digest, people in (known or {}).items()}
        self._save = save

    def knows(self, screen: str | None, person: str) -> bool:
        """Return whether this person has signed in at this screen."""
        return person in self._known.get(digest_of(screen), ())

    def last_person(self, screen: str | None) -> str | None:
        """Return the last person who signed in at this screen; None for an unknown screen."""
        people = self._known.get(digest_of(screen))
        return people[-1] if people else None

    def note(self, screen: str | None, person: str) -> str:
        """Record a sign-in; return the screen's secret, which is new for an unknown screen."""
        known = screen if screen and digest_of(screen) in self._known else secrets.token_urlsafe(32)
        digest = digest_of(known)
        people = [one for one in self._known.pop(digest, []) if one != person]
        self._known[digest] = [*people, person][-MAX_PEOPLE:]
        alone = [digest for digest, people in self._known.items() if people == [person]]
        for digest in alone[:-MAX_SCREENS_PER_PERSON]:
            del self._known[digest]
        while len(self._known) > MAX_SCREENS:
            del self._known[next(iter(self._known))]
        self._save(self._known)
        return known


class ScreensFile:
    """The file of a sign-in process's known screens."""

    def __init__(self, file: Path, log: Callable[[str], None]) -> None:
        """Use this file; `log` receives a line if the file can't be read or written."""
        self._file = file
        self._log = log

    def read(self) -> Known:
        """Return the stored screens; empty for an unusable file, which makes every screen unknown."""
        try:
            return _decode_known(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            self._log(
                f"{self._file}: found an unreadable file ({error}), expected a list of known screens;"
                " every screen is treated as unknown"
            )
            return {}

    def write(self, known: Known) -> None:
        """Store these screens; a failure, such as a full disk, is logged and does not prevent sign-ins."""
        try:
            write_private(self._file, msgspec.json.encode(known))
        except OSError as error:
            self._log(f"{self._file} can't be written to ({error}); a restart will lose the known screens")
