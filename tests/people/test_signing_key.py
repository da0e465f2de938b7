"""The key of the sign-in process is private, reported if unusable, and effective immediately when changed."""

import errno
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.app import keys
from controller.people.register import HISTORY_FILE, KEY_FILE, PUBLIC_FILE
from controller.people.signing_key import SigningKey
from controller.people.tokens import Claims, TokenError, Verifier, issue

CLAIMS = Claims(person="ann", role="dealer", console="pit 1", until_us=5_000_000)


def verifier(folder: Path) -> Verifier:
    return Verifier(folder / PUBLIC_FILE, lambda: 1_000_000)


def believed(folder: Path, token: str) -> bool:
    try:
        return verifier(folder).verify(token) == CLAIMS
    except TokenError:
        return False


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_signing_key_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    """Anyone who has the key can sign inputs in any person's name."""
    SigningKey(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(ValueError, match=f"{KEY_FILE}: found mode {mode:04o}, expected 0600"):
        SigningKey(tmp_path)


@pytest.mark.parametrize("found", [b"", b"\n", b"no key", b"\xff\xfe", b"ab" * 31, b"zz" * 32])
def test_a_file_that_is_not_a_key_is_reported_with_what_to_do(found: bytes, tmp_path: Path) -> None:
    SigningKey(tmp_path)
    (tmp_path / KEY_FILE).write_bytes(found)
    with pytest.raises(ValueError, match=rf"{KEY_FILE}: found \d+ bytes .*: tablectl keys replace console"):
        SigningKey(tmp_path)


@pytest.mark.parametrize("kind", ["release"])
def test_a_key_of_another_kind_is_refused(kind: keys.Kind, tmp_path: Path) -> None:
    keys.make(kind, tmp_path / KEY_FILE)
    with pytest.raises(ValueError, match="that are not a key"):
        SigningKey(tmp_path)


def test_a_key_file_of_an_earlier_release_still_works_and_is_known_to_the_commands(tmp_path: Path) -> None:
    """The key file of an earlier release contains only hexadecimal digits."""
    old = Ed25519PrivateKey.generate()
    (tmp_path / KEY_FILE).write_bytes(old.private_bytes_raw().hex().encode())
    (tmp_path / KEY_FILE).chmod(0o600)
    held = SigningKey(tmp_path)
    assert believed(tmp_path, issue(held.key, CLAIMS))
    assert held.key.private_bytes_raw() == old.private_bytes_raw()
    assert keys.public_of("console", tmp_path / KEY_FILE) == old.public_key().public_bytes_raw().hex()


def test_a_start_on_a_full_disk_signs_people_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is locked then, and the person who unlocks it must be able to sign in."""
    SigningKey(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("controller.people.signing_key.write_private", full)
    assert believed(tmp_path, issue(SigningKey(tmp_path).key, CLAIMS))
    (tmp_path / PUBLIC_FILE).unlink()
    with pytest.raises(OSError, match="No space left"):
        SigningKey(tmp_path)


def test_a_rotated_key_signs_at_once_and_a_token_of_the_key_before_is_refused(tmp_path: Path) -> None:
    held = SigningKey(tmp_path)
    one = verifier(tmp_path)
    stolen = issue(held.key, CLAIMS)
    assert one.verify(stolen) == CLAIMS
    keys.rotate("console", tmp_path / KEY_FILE, who="ann", reason="yearly")
    with pytest.raises(TokenError, match="the sign-in process did not sign this"):
        one.verify(stolen)
    assert one.verify(issue(held.key, CLAIMS)) == CLAIMS
    assert believed(tmp_path, issue(SigningKey(tmp_path).key, CLAIMS))


def test_a_revoked_key_signs_nothing_and_no_start_makes_a_new_one(tmp_path: Path) -> None:
    held = SigningKey(tmp_path)
    stolen = issue(held.key, CLAIMS)
    key = (tmp_path / KEY_FILE).read_bytes()
    keys.revoke("console", tmp_path / KEY_FILE, who="ann", reason="yearly")
    assert not believed(tmp_path, stolen)
    with pytest.raises(ValueError, match=r"ann revoked it: yearly.*tablectl keys replace console"):
        _ = held.key
    with pytest.raises(ValueError, match="ann revoked it: yearly"):
        SigningKey(tmp_path)
    (tmp_path / KEY_FILE).write_bytes(key)
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(ValueError, match="expected a different one: the key was revoked"):
        SigningKey(tmp_path)
    assert not believed(tmp_path, stolen), "a restored revoked key must not be published again"
    (tmp_path / KEY_FILE).unlink()
    keys.rotate("console", tmp_path / KEY_FILE, lost=True, who="ann", reason="yearly")
    assert believed(tmp_path, issue(held.key, CLAIMS)), "the running process must continue with the new key"


def test_a_restored_old_key_is_reported(tmp_path: Path) -> None:
    SigningKey(tmp_path)
    old = (tmp_path / KEY_FILE).read_bytes()
    keys.rotate("console", tmp_path / KEY_FILE, who="ann", reason="yearly")
    (tmp_path / KEY_FILE).write_bytes(old)
    with pytest.raises(ValueError, match="replaced it"):
        SigningKey(tmp_path)


@pytest.mark.parametrize("left", ["not published", "published"])
def test_a_start_finishes_a_rotation_that_was_cut_off(left: str, tmp_path: Path) -> None:
    SigningKey(tmp_path)
    old, old_public = (tmp_path / KEY_FILE).read_bytes(), (tmp_path / PUBLIC_FILE).read_bytes()
    step = keys.rotate("console", tmp_path / KEY_FILE, who="ann", reason="yearly")
    new = (tmp_path / KEY_FILE).read_bytes()
    for name, data in ((f"{KEY_FILE}.new", new), (KEY_FILE, old)):
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o600)
    if left == "not published":
        (tmp_path / PUBLIC_FILE).write_bytes(old_public)
    held = SigningKey(tmp_path)
    assert held.key.public_key().public_bytes_raw().hex() == step.new
    assert believed(tmp_path, issue(held.key, CLAIMS))
    assert not (tmp_path / f"{KEY_FILE}.new").exists()


def test_a_partial_line_of_its_history_is_dropped(tmp_path: Path) -> None:
    SigningKey(tmp_path)
    (tmp_path / HISTORY_FILE).write_bytes(b'{"kind":"console","old":"')
    SigningKey(tmp_path)
    (tmp_path / HISTORY_FILE).write_bytes(b"what?\n")
    with pytest.raises(ValueError, match=r"history.jsonl: found an unreadable last line"):
        SigningKey(tmp_path)
