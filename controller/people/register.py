"""The register: who may sign in, in which roles, and the scrypt hashes of PINs and cards.

One JSON file that only the sign-in process's own user can read. A PIN is never kept: six digits fall to
whoever can try them all, so the file is closed, and each try costs what scrypt costs.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from controller.model.conversion import converter_of

ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician")
"""In which roles a person can be at a staff screen, as the rule sets name them."""
MIN_PIN = 4
MAX_PIN = 64
"""Characters of a PIN, or of what a card reader types."""
_N, _R, _P = 2**14, 8, 1
"""scrypt's cost: 16 MiB and about 50 ms on a table's board."""
_MODE = 0o600
Name = Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]


class RegisterError(Exception):
    """The register can't be used, or what was asked of it makes no sense; the message says what to do."""


class Person(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person: `pin` is `salt:hash` in hex, `card` the hash of a card's number under the register's salt."""

    name: Name
    roles: Annotated[tuple[str, ...], Meta(min_length=1, max_length=len(ROLES))]
    pin: str
    card: str | None = None


class Register(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everybody who may sign in."""

    salt: str
    people: tuple[Person, ...] = ()

    def named(self, name: str) -> Person | None:
        """Return the person of this name."""
        return next((one for one in self.people if one.name == name), None)

    def with_card(self, typed: str) -> Person | None:
        """Return whose card this is."""
        if not any(one.card for one in self.people):
            return None
        digest = _hash(typed, self.salt)
        return next((one for one in self.people if one.card and hmac.compare_digest(one.card, digest)), None)

    def having(self, name: str, roles: tuple[str, ...], pin: str, card: str | None) -> "Register":
        """Return the register with this person, in place of one of the same name; raises RegisterError."""
        unknown = sorted(set(roles) - set(ROLES))
        if unknown or not roles:
            raise RegisterError(f"role: found {', '.join(unknown) or 'none'}, expected {', '.join(ROLES)}")
        for what, typed in (("PIN", pin), ("card", card)):
            if typed is not None and not MIN_PIN <= len(typed) <= MAX_PIN:
                raise RegisterError(f"{what}: found {len(typed)} characters, expected {MIN_PIN} to {MAX_PIN}")
        if not pin.isdecimal():
            raise RegisterError("PIN: found other characters than digits, expected digits only")
        salt = secrets.token_hex(16)
        held = None if card is None else _hash(card, self.salt)
        if held is not None and any(one.card == held and one.name != name for one in self.people):
            raise RegisterError("card: found it in another person's name, expected one of this person's own")
        person = Person(name=name, roles=roles, pin=f"{salt}:{_hash(pin, salt)}", card=held)
        try:
            _person_of(msgspec.to_builtins(person))
        except msgspec.ValidationError as error:
            raise RegisterError(f"name: found {name!r}, expected up to 32 letters and digits") from error
        others = tuple(one for one in self.people if one.name != name)
        return msgspec.structs.replace(self, people=(*others, person))

    def without(self, name: str) -> "Register":
        """Return the register without this person; raises RegisterError where there is none."""
        if self.named(name) is None:
            raise RegisterError(f"found no person named {name!r}, expected one of `tablectl people list`")
        return msgspec.structs.replace(self, people=tuple(one for one in self.people if one.name != name))


_person_of = converter_of(Person)
_register_of = msgspec.json.Decoder(Register).decode


def knows_pin(person: Person | None, typed: str) -> bool:
    """Return whether this is the person's PIN; it takes as long where there is no such person."""
    salt, _, digest = ("00" * 16, "", "") if person is None else person.pin.partition(":")
    return hmac.compare_digest(_hash(typed[:MAX_PIN], salt), digest)


def new_register() -> Register:
    """Return a register with nobody in it."""
    return Register(salt=secrets.token_hex(16))


def read_register(file: Path) -> Register:
    """Read the register, an empty one where there is no file.

    Raises:
        RegisterError: others than its owner can read it, or it is no register.
        OSError: it can't be read.
    """
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return new_register()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RegisterError(f"{file}: found mode {stat.S_IMODE(mode):04o}, expected 0600: chmod 600 {file}")
    try:
        return _register_of(file.read_bytes())
    except msgspec.MsgspecError as error:
        raise RegisterError(
            f"{file}: found no register ({error}), expected one of `tablectl people add`"
        ) from error


def write_register(file: Path, register: Register) -> None:
    """Write the register whole or not at all, for the owner of its folder alone; raises OSError."""
    write_private(file, msgspec.json.encode(register))


def write_private(file: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a file whole or not at all; where root writes it belongs to the owner of its folder."""
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
