"""The signing key, which no other user can read and without which nobody can sign."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from controller.journal.faults import JournalFault
from controller.journal.keys import CREDENTIAL, PublicKey, load_key, new_key, service_key

LINK = bytes(range(32))


def code_of(path: Path) -> str:
    with pytest.raises(JournalFault) as raised:
        load_key(path)
    return raised.value.code


def test_a_new_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert load_key(tmp_path / "key").public.raw == public.raw


def test_a_key_is_made_in_a_folder_given_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tablectl run VIRTUAL/table.yaml --journal VIRTUAL/journal` is an example."""
    (tmp_path / "journal").mkdir()
    monkeypatch.chdir(tmp_path)
    public = new_key(Path("journal/table.key"))
    assert load_key(tmp_path / "journal" / "table.key").public.raw == public.raw


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    new_key(tmp_path / "key")
    with pytest.raises(FileExistsError):
        new_key(tmp_path / "key")


def test_a_signature_verifies_only_with_its_own_key(tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    other = new_key(tmp_path / "other")
    signature = load_key(tmp_path / "key").sign(LINK)
    assert PublicKey(public.raw).verify(LINK, signature)
    assert not PublicKey(other.raw).verify(LINK, signature)
    assert not public.verify(LINK[::-1], signature)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_signing_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    new_key(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(JournalFault, match=f"mode {mode:04o}.*chmod 600") as raised:
        load_key(tmp_path / "key")
    assert raised.value.code == "journal_key_exposed"


def test_a_missing_key_says_how_to_make_one(tmp_path: Path) -> None:
    assert code_of(tmp_path / "key") == "journal_key_missing"


def test_a_file_that_is_not_an_ed25519_key_is_refused(tmp_path: Path) -> None:
    rsa = generate_private_key(public_exponent=65537, key_size=2048)
    pem = rsa.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content in (b"", b"no key", pem):
        (tmp_path / "key").write_bytes(content)
        (tmp_path / "key").chmod(0o600)
        assert code_of(tmp_path / "key") == "journal_key_unreadable"
    (tmp_path / "folder").mkdir(mode=0o700)
    assert code_of(tmp_path / "folder") == "journal_key_unreadable"


def test_a_service_takes_the_key_from_its_credentials(tmp_path: Path) -> None:
    """systemd grants the service access by an ACL, which appears as a read permission of the group."""
    own = new_key(tmp_path / "key")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    given = new_key(credentials / CREDENTIAL)
    (credentials / CREDENTIAL).chmod(0o440)
    environ = {"CREDENTIALS_DIRECTORY": str(credentials)}
    assert service_key(environ, tmp_path / "key").public.raw == given.raw
    assert service_key({}, tmp_path / "key").public.raw == own.raw
    (credentials / CREDENTIAL).chmod(0o444)
    with pytest.raises(JournalFault, match="journal_key_exposed"):
        service_key(environ, tmp_path / "key")


def test_a_service_without_the_credential_uses_the_file(tmp_path: Path) -> None:
    own = new_key(tmp_path / "key")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert service_key(environ, tmp_path / "key").public.raw == own.raw
