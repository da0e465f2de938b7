"""The key of the sign-in process: closed to others, named where it is none, and another counts at once."""

from pathlib import Path

import pytest

from controller.people.places import KEY_FILE, PUBLIC_FILE
from controller.people.service import load_or_make_key
from controller.people.tokens import Claims, TokenError, Verifier, issue

CLAIMS = Claims(person="ann", role="dealer", console="pit 1", until_us=5_000_000)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_key_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    """Whoever has it signs words in anybody's name."""
    load_or_make_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(ValueError, match=f"{KEY_FILE}: found mode {mode:04o}, expected 0600"):
        load_or_make_key(tmp_path)


@pytest.mark.parametrize("found", [b"", b"\n", b"no key", b"\xff\xfe", b"ab" * 31, b"zz" * 32])
def test_what_is_no_key_is_named_with_what_to_do(found: bytes, tmp_path: Path) -> None:
    load_or_make_key(tmp_path)
    (tmp_path / KEY_FILE).write_bytes(found)
    with pytest.raises(ValueError, match=rf"{KEY_FILE}: found \d+ bytes .* delete it, and another is made"):
        load_or_make_key(tmp_path)


def test_a_token_of_the_key_before_is_refused_as_soon_as_another_is_made(tmp_path: Path) -> None:
    old = load_or_make_key(tmp_path)
    verifier = Verifier(tmp_path / PUBLIC_FILE, lambda: 1_000_000)
    stolen = issue(old, CLAIMS)
    assert verifier.verify(stolen) == CLAIMS
    (tmp_path / KEY_FILE).unlink()
    new = load_or_make_key(tmp_path)
    with pytest.raises(TokenError, match="the sign-in process did not sign this"):
        verifier.verify(stolen)
    assert verifier.verify(issue(new, CLAIMS)) == CLAIMS
