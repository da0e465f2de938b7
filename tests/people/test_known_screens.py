"""Strangers who try PINs can't lock a person out of a screen where the person has signed in."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.people.register import (
    MAX_SCREENS,
    MAX_SCREENS_PER_PERSON,
    MAX_TRIES,
    Register,
    Screens,
    ScreensFile,
    Tries,
    new_register,
)
from controller.people.service import SignInRefused, SignInSessions

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
CARD = "0049300117"


def people() -> Register:
    register = new_register().with_person("ann", ("boxperson",), "1234", None)
    return register.with_person("bob", ("dealer",), "2345", CARD)


def sessions_of(screens: Screens | None = None, tries: dict[str, Tries] | None = None) -> SignInSessions:
    register = people()
    return SignInSessions(lambda: register, lambda: KEY, lambda: 1_000_000, screens=screens, tries=tries)


def tried(sessions: SignInSessions, person: str | None, typed: str, screen: str | None = None) -> str:
    """Try to sign in; return the refusal's code, or an empty string."""
    try:
        sessions.sign_in("pit 1", person, typed, screen)
    except SignInRefused as refused:
        return refused.code
    return ""


def test_strangers_who_lock_a_pin_do_not_lock_its_owner_out_at_her_own_screens() -> None:
    sessions = sessions_of()
    _, _, screen = sessions.sign_in("pit 1", "ann", "1234")
    assert [tried(sessions, "ann", "9999") for _ in range(MAX_TRIES)][-1] == "locked_out"
    assert tried(sessions, "ann", "1234") == "locked_out"
    assert tried(sessions, "ann", "1234", "made up") == "locked_out"
    assert tried(sessions, "ann", "1234", screen) == ""


def test_her_own_screen_locks_after_the_same_number_of_tries_and_only_that_one() -> None:
    sessions = sessions_of()
    _, _, screen = sessions.sign_in("pit 1", "ann", "1234")
    assert [tried(sessions, "ann", "9999", screen) for _ in range(MAX_TRIES)][-1] == "locked_out"
    assert tried(sessions, "ann", "1234", screen) == "locked_out"
    assert tried(sessions, "ann", "1234") == ""
    sessions.unlock("ann")
    assert tried(sessions, "ann", "1234", screen) == ""


def test_repeated_sign_ins_give_no_more_tries_at_another_persons_pin() -> None:
    sessions = sessions_of()
    codes = []
    for _ in range(MAX_TRIES):
        _, _, screen = sessions.sign_in("pit 1", "bob", "2345")
        codes.append(tried(sessions, "ann", "9999", screen))
    assert codes == ["wrong"] * (MAX_TRIES - 1) + ["locked_out"]


def test_a_screen_is_known_for_everyone_who_signed_in_there_and_keeps_its_secret() -> None:
    sessions = sessions_of()
    _, _, screen = sessions.sign_in("pit 1", "ann", "1234")
    _, _, again = sessions.sign_in("pit 1", "bob", "2345", screen)
    assert again == screen
    for person in ("ann", "bob"):
        for _ in range(MAX_TRIES):
            tried(sessions, person, "9999")
    assert [tried(sessions, "ann", "1234", screen), tried(sessions, "bob", "2345", screen)] == ["", ""]


def test_strangers_cards_do_not_lock_the_reader_of_a_known_screen() -> None:
    sessions = sessions_of()
    _, _, screen = sessions.sign_in("pit 1", "bob", "2345")
    for _ in range(MAX_TRIES):
        tried(sessions, None, "0000000000")
    assert tried(sessions, None, CARD) == "locked_out"
    assert tried(sessions, None, CARD, screen) == ""


def test_known_screens_survive_a_restart_and_are_stored_as_digests_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ScreensFile(tmp_path / "screens.json", print)
    _, _, screen = sessions_of(Screens(file.read(), file.write)).sign_in("pit 1", "ann", "1234")
    kept = (tmp_path / "screens.json").read_text(encoding="utf-8")
    assert screen not in kept
    assert (tmp_path / "screens.json").stat().st_mode & 0o777 == 0o600
    sessions = sessions_of(Screens(file.read(), file.write))
    for _ in range(MAX_TRIES):
        tried(sessions, "ann", "9999")
    assert tried(sessions, "ann", "1234", screen) == ""
    (tmp_path / "screens.json").write_text("[", encoding="utf-8")
    assert file.read() == {}
    assert "is treated as unknown" in capsys.readouterr().out


def test_no_more_screens_are_remembered_than_a_house_has() -> None:
    kept: list[int] = []
    screens = Screens(save=lambda known: kept.append(len(known)))
    first = screens.note(None, "ann")
    for _ in range(MAX_SCREENS):
        screens.note(None, "bob")
    assert screens.knows(first, "ann")
    assert kept[-1] == 1 + MAX_SCREENS_PER_PERSON
    for number in range(MAX_SCREENS):
        screens.note(None, f"guest {number}")
    assert max(kept) == MAX_SCREENS
    assert not screens.knows(first, "ann")
