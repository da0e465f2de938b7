"""Signing in: PIN and card, five tries and a reported lock, roles, idle sign-out, and tokens."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.people.register import (
    LOCKED_US,
    MAX_TRIES,
    Register,
    RegisterError,
    TriesFile,
    new_register,
    read_register,
    write_register,
)
from controller.people.service import IDLE_US, SignInRefused, SignInSessions
from controller.people.tokens import TOKEN_LIFE_US, TokenError, verify

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def people() -> Register:
    register = new_register().with_person("ann", ("boxperson", "supervisor"), "1234", None)
    return register.with_person("bob", ("dealer",), "2345", "0049300117")


class Clock:
    def __init__(self) -> None:
        self.us = 1_000_000

    def __call__(self) -> int:
        return self.us


class Door:
    """Sessions with their clock, their log messages, and their register."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.logged: list[str] = []
        self.register = people()
        self.sessions = SignInSessions(lambda: self.register, lambda: KEY, self.clock, log=self.logged.append)

    def restarted(self, file: Path) -> SignInSessions:
        """Restart the sessions, with their tries kept in this file."""
        kept = TriesFile(file, self.logged.append)
        self.sessions = SignInSessions(
            lambda: self.register,
            lambda: KEY,
            self.clock,
            log=self.logged.append,
            tries=kept.read(self.clock.us),
            save_tries=kept.write,
        )
        return self.sessions

    def refused(self, person: str | None, typed: str) -> SignInRefused:
        with pytest.raises(SignInRefused) as refused:
            self.sessions.sign_in("pit 1", person, typed)
        return refused.value


@pytest.fixture
def door() -> Door:
    return Door()


def test_a_pin_signs_its_person_in_and_a_token_names_person_role_and_console(door: Door) -> None:
    secret, person, _ = door.sessions.sign_in("pit 1", "ann", "1234")
    assert person.roles == ("boxperson", "supervisor")
    claims = verify(door.sessions.token(secret, "supervisor"), KEY.public_key(), door.clock.us)
    assert (claims.person, claims.role, claims.console) == ("ann", "supervisor", "pit 1")


def test_a_card_signs_its_person_in(door: Door) -> None:
    _, person, _ = door.sessions.sign_in("pit 1", None, "0049300117")
    assert person.name == "bob"
    assert door.refused(None, "0049300118").code == "wrong"


def test_five_wrong_pins_lock_the_person_out_and_are_logged(door: Door) -> None:
    for left in range(MAX_TRIES - 1, 0, -1):
        refused = door.refused("ann", "9999")
        assert (refused.code, f"{left} tr" in refused.message) == ("wrong", True)
    locked = door.refused("ann", "9999")
    assert locked.code == "locked_out"
    assert "wait 15 min" in locked.message
    assert door.refused("ann", "1234").code == "locked_out"
    assert door.logged == ["locked: person ann, after 5 wrong tries"]
    door.sessions.sign_in("pit 1", "bob", "2345")


def test_a_lock_after_unknown_cards_names_only_the_wait_because_unlocking_a_person_does_not_end_it(
    door: Door,
) -> None:
    for _ in range(MAX_TRIES):
        locked = door.refused(None, "0049300118")
    assert (locked.code, "wait 1 min" in locked.message) == ("locked_out", True)
    assert "unlock" not in locked.message


def test_the_lock_ends_after_its_time_or_when_a_person_unlocks(door: Door) -> None:
    for _ in range(MAX_TRIES):
        door.refused("ann", "9999")
    door.sessions.unlock("ann")
    door.sessions.sign_in("pit 1", "ann", "1234")
    for _ in range(MAX_TRIES):
        door.refused("ann", "9999")
    door.clock.us += LOCKED_US
    door.sessions.sign_in("pit 1", "ann", "1234")


def test_a_right_pin_resets_the_wrong_ones_before_it(door: Door) -> None:
    for _ in range(3):
        for _ in range(MAX_TRIES - 1):
            door.refused("ann", "9999")
        door.sessions.sign_in("pit 1", "ann", "1234")


def test_a_restart_keeps_the_wrong_tries(door: Door, tmp_path: Path) -> None:
    file = tmp_path / "tries.json"
    for left in range(MAX_TRIES - 1, 0, -1):
        door.restarted(file)
        assert f"{left} tr" in door.refused("ann", "9999").message
    door.restarted(file)
    assert door.refused("ann", "9999").code == "locked_out"
    assert file.stat().st_mode & 0o777 == 0o600
    door.restarted(file)
    door.clock.us += LOCKED_US - 1
    assert door.refused("ann", "1234").code == "locked_out"
    door.clock.us += 1
    door.sessions.sign_in("pit 1", "ann", "1234")
    door.restarted(file)
    assert "4 tries" in door.refused("ann", "9999").message


def test_a_lock_from_before_a_new_boot_lasts_no_longer_than_a_new_one(door: Door, tmp_path: Path) -> None:
    file = tmp_path / "tries.json"
    door.clock.us = 10 * 24 * 3600 * 1_000_000
    door.restarted(file)
    for _ in range(MAX_TRIES):
        door.refused("ann", "9999")
    door.clock.us = 20_000_000
    door.restarted(file)
    assert "wait 15 min" in door.refused("ann", "1234").message
    door.clock.us += LOCKED_US
    door.sessions.sign_in("pit 1", "ann", "1234")


def test_an_unlock_survives_a_restart(door: Door, tmp_path: Path) -> None:
    file = tmp_path / "tries.json"
    door.restarted(file)
    for _ in range(MAX_TRIES):
        door.refused("ann", "9999")
    door.sessions.unlock("ann")
    door.restarted(file).sign_in("pit 1", "ann", "1234")


@pytest.mark.parametrize("found", [b"", b"[]", b'{"person ann":{"wrong":"x"}}'])
def test_a_broken_file_of_tries_locks_nobody_out(door: Door, tmp_path: Path, found: bytes) -> None:
    file = tmp_path / "tries.json"
    file.write_bytes(found)
    door.restarted(file).sign_in("pit 1", "ann", "1234")
    assert "tries.json: found an unreadable file" in door.logged[0]


def test_a_full_disk_locks_nobody_out_and_is_logged(door: Door, tmp_path: Path) -> None:
    door.restarted(tmp_path / "gone" / "tries.json")
    assert door.refused("ann", "9999").code == "wrong"
    assert "a restart will lose the counts" in door.logged[0]
    door.sessions.sign_in("pit 1", "ann", "1234")


def test_unknown_names_are_refused_and_not_stored(door: Door) -> None:
    for number in range(50):
        assert door.refused(f"nobody {number}", "1234").code == "wrong"
    assert door.sessions._tries == {}


def test_an_idle_person_is_signed_out(door: Door) -> None:
    secret, _, _ = door.sessions.sign_in("pit 1", "ann", "1234")
    door.clock.us += IDLE_US - 1
    door.sessions.token(secret, "boxperson")
    door.clock.us += IDLE_US - 1
    assert door.sessions.status(secret)[1] == 1
    door.clock.us += 1
    with pytest.raises(SignInRefused) as refused:
        door.sessions.token(secret, "boxperson")
    assert refused.value.code == "signed_out"


def test_a_role_that_the_person_does_not_have_gets_no_token(door: Door) -> None:
    secret, _, _ = door.sessions.sign_in("pit 1", "ann", "1234")
    with pytest.raises(SignInRefused) as refused:
        door.sessions.token(secret, "manager")
    assert refused.value.code == "not_your_role"


def test_a_person_removed_from_the_register_is_signed_out_at_once(door: Door) -> None:
    secret, _, _ = door.sessions.sign_in("pit 1", "ann", "1234")
    door.register = door.register.without_person("ann")
    with pytest.raises(SignInRefused) as refused:
        door.sessions.token(secret, "boxperson")
    assert refused.value.code == "signed_out"


def test_a_token_is_valid_for_ten_seconds_and_not_before_its_time(door: Door) -> None:
    secret, _, _ = door.sessions.sign_in("pit 1", "ann", "1234")
    token, issued_us = door.sessions.token(secret, "boxperson"), door.clock.us
    verify(token, KEY.public_key(), issued_us + TOKEN_LIFE_US - 1)
    for now_us in (issued_us + TOKEN_LIFE_US, issued_us - 1):
        with pytest.raises(TokenError) as error:
            verify(token, KEY.public_key(), now_us)
        assert error.value.code == "signed_out"


def test_the_register_stores_no_pin_and_no_card(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    write_register(file, people())
    # A digest may contain any four digits.
    written = re.sub(rb"[0-9a-f]{32,}", b"", file.read_bytes())
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any(secret in written for secret in (b"1234", b"2345", b"0049300117"))
    assert read_register(file) == read_register(file)


def test_a_register_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    write_register(file, people())
    file.chmod(0o640)
    with pytest.raises(RegisterError, match="chmod 600"):
        read_register(file)


@pytest.mark.parametrize(
    ("name", "roles", "pin", "card", "says"),
    [
        ("ann", (), "1234", None, "role: found none"),
        ("ann", ("king",), "1234", None, "role: found king"),
        ("ann", ("dealer",), "123", None, "PIN: found 3 characters"),
        ("ann", ("dealer",), "12a4", None, "PIN: found characters other than digits"),
        ("<b>", ("dealer",), "1234", None, "name: found '<b>'"),
        ("eve", ("dealer",), "1234", "0049300117", "card: this card is registered to another person"),
    ],
)
def test_a_mistake_in_the_register_is_reported(
    name: str, roles: tuple[str, ...], pin: str, card: str | None, says: str
) -> None:
    with pytest.raises(RegisterError) as error:
        people().with_person(name, roles, pin, card)
    assert says in str(error.value)
