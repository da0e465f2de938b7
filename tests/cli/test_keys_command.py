"""`tablectl keys`: keys are made, rotated, revoked and replaced, and their history is checked."""

import os
import pwd
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.journal.faults import JournalFault
from controller.journal.keys import load_key
from tests.journal.rig import NAME, Rig, begin, durable, rig_in


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["keys", *words])
    heard = capsys.readouterr()
    return code, heard.out.strip(), heard.err


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    one = rig_in(tmp_path)
    one.played(2)
    return one


def of(rig: Rig) -> tuple[str, ...]:
    return ("--journal", str(rig.place.journal), "--head", str(rig.place.head))


def test_a_tables_key_is_rotated_and_its_history_shown(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    file, old = rig.folder / "key", rig.key.public.raw.hex()
    code, new, err = printed(
        capsys, "rotate", "table", str(file), *of(rig), "--reason", "yearly", "--who", "ann"
    )
    assert code == 0, err
    assert f"tablectl settlement enrol {NAME} --rules NAME --key {new} --anew" in err
    rig.key = load_key(file)
    assert rig.key.public.raw.hex() == new
    assert file.stat().st_mode & 0o777 == 0o600
    assert not (rig.folder / "key.new").exists()
    with rig.open() as journal:
        durable(begin(journal))
    code, out, _ = printed(capsys, "show", "table", "--journal", str(rig.place.journal))
    assert (code, [line.split()[0] for line in out.splitlines()]) == (0, [old, new])
    head = ("--head", str(rig.place.head))
    assert main(["journal", "verify", "--journal", str(rig.place.journal), *head, "--key", new]) == 0
    assert "not authenticated" not in capsys.readouterr().out
    assert main(["journal", "verify", "--journal", str(rig.place.journal), *head, "--key", old]) == 1
    assert "the expected key was replaced in row" in capsys.readouterr().err
    assert main(["journal", "verify", "--journal", str(rig.place.journal), *head, "--key", "0" * 64]) == 1
    assert "another table's journal" in capsys.readouterr().err


@pytest.mark.parametrize("cut_after", ["the new key", "the journal's row"])
def test_a_rotation_that_was_cut_off_is_completed_when_repeated(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cut_after: str
) -> None:
    file = rig.folder / "key"
    words = ("rotate", "table", str(file), *of(rig), "--reason", "yearly")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    where = "replace_key" if cut_after == "the new key" else "_sign_again"
    with monkeypatch.context() as power:
        power.setattr(f"controller.app.keys.{where}", cut)
        assert printed(capsys, *words)[0] == 130
    made = load_key(rig.folder / "key.new").public.raw.hex()
    code, new, _ = printed(capsys, *words)
    assert (code, new) == (0, made)
    rig.key = load_key(file)
    rig.open().close()


def test_a_lost_table_key_is_replaced(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    file = rig.folder / "key"
    file.unlink()
    code, new, err = printed(capsys, "replace", "table", str(file), *of(rig), "--reason", "the card died")
    assert code == 0, err
    rig.key = load_key(file)
    rig.open().close()
    _, out, _ = printed(capsys, "show", "table", "--journal", str(rig.place.journal))
    assert f"{new} from row" in out
    assert "not authenticated" in out


SEALS = """#!/bin/sh
case "$1" in
encrypt) tr A-Za-z N-ZA-Mn-za-m >"$4" ;;
decrypt) tr A-Za-z N-ZA-Mn-za-m <"$3" ;;
esac
"""
"""A replacement for systemd-creds with keys that are unreadable until they are unsealed."""


def test_a_sealed_key_is_rotated_without_a_plain_one_on_the_disk(
    rig: Rig, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = rig.folder / "bin"
    programs.mkdir()
    (programs / "systemd-creds").write_text(SEALS, encoding="ascii")
    (programs / "systemd-creds").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    sealed = rig.folder / "sealed"
    sealed.write_bytes((rig.folder / "key").read_bytes().translate(ROT13))
    (rig.folder / "key").unlink()
    words = ("rotate", "table", str(sealed), "--sealed", *of(rig), "--reason", "yearly")
    code, new, err = printed(capsys, *words)
    assert code == 0, err
    assert [path.name for path in rig.folder.rglob("*") if path.is_file() and _clear(path)] == []
    (rig.folder / "opened").write_bytes(sealed.read_bytes().translate(ROT13))
    (rig.folder / "opened").chmod(0o600)
    assert load_key(rig.folder / "opened").public.raw.hex() == new


NO_SEALS = (
    ('[ "$1" = encrypt ] && cat >"$4" || cat "$3"', "without encrypting it"),
    ('[ "$1" = encrypt ] && : >"$4"', "refused the key"),
    ('[ "$1" = decrypt ] && tr A-Za-z N-ZA-Mn-za-m <"$3"; exit 0', "does not decrypt to the original key"),
    ('tr A-Za-z N-ZA-Mn-za-m <"$3"; [ "$1" = decrypt ]', "refused the key"),
)
"""Programs that seal nothing, write an empty file or none, or fail, each with the message about it."""


@pytest.mark.parametrize(("creds", "message"), NO_SEALS, ids=["clear", "empty", "no file", "refused"])
def test_a_key_that_cannot_be_sealed_is_not_rotated(
    creds: str,
    message: str,
    rig: Rig,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = rig.folder / "bin"
    programs.mkdir()
    (programs / "systemd-creds").write_text(f"#!/bin/sh\n{creds}\n", encoding="ascii")
    (programs / "systemd-creds").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    sealed = rig.folder / "sealed"
    turned = (rig.folder / "key").read_bytes()
    sealed.write_bytes(turned if "cat" in creds else turned.translate(ROT13))
    (rig.folder / "key").unlink()
    before = everything_in(rig.folder)
    words = ("rotate", "table", str(sealed), "--sealed", *of(rig), "--reason", "yearly")
    code, out, err = printed(capsys, *words)
    assert (code, out) == (1, "")
    assert message in err
    assert not list(rig.folder.glob("sealed.*"))
    assert sealed.read_bytes() == before["sealed"]


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TURNED = "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
ROT13 = bytes.maketrans(LETTERS.encode(), TURNED.encode())


def _clear(path: Path) -> bool:
    return b"PRIVATE KEY" in path.read_bytes()


@pytest.mark.parametrize("kind", ["console", "release", "node", "engine"])
def test_every_other_key_is_made_rotated_and_shown(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    code, first, _ = printed(capsys, "make", kind, str(file))
    assert code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert printed(capsys, "make", kind, str(file))[0] == 2, "a key must never be overwritten"
    code, second, _ = printed(capsys, "rotate", kind, str(file), "--reason", "yearly")
    assert (code, first == second) == (0, False)
    code, out, _ = printed(capsys, "show", kind, str(file))
    assert (code, out.splitlines()[-1]) == (0, second)


@pytest.mark.parametrize("kind", ["console", "release", "node"])
def test_whatever_the_umask_no_other_user_may_write_a_key_or_its_history(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another user could damage a writable history, and the commands would then refuse the key."""
    before = os.umask(0)
    try:
        for does in ("make", "rotate", "rotate"):
            reason = () if does == "make" else ("--reason", "yearly")
            assert printed(capsys, does, kind, str(tmp_path / "a.key"), *reason)[0] == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    published = {} if kind == "node" else {"a.pub": 0o644}
    assert modes == {"a.key": 0o600, "a.key.history.jsonl": 0o644, **published}


@pytest.mark.parametrize("kind", ["console", "release"])
def test_a_key_that_others_trust_has_its_public_half_beside_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, public = tmp_path / "a.key", tmp_path / "a.pub"
    _, first, _ = printed(capsys, "make", kind, str(file))
    assert public.read_text(encoding="ascii") == first
    _, second, _ = printed(capsys, "rotate", kind, str(file), "--reason", "yearly")
    assert public.read_text(encoding="ascii") == second != first
    assert printed(capsys, "revoke", kind, str(file), "--reason", "sold")[0] == 0
    assert not public.exists()
    _, third, _ = printed(capsys, "replace", kind, str(file), "--reason", "lost")
    assert public.read_text(encoding="ascii") == third
    code, _, err = printed(capsys, "make", kind, str(tmp_path / "b.pub"))
    assert (code, (tmp_path / "b.pub").exists()) == (1, False)
    assert "choose a name that does not end with .pub" in err


PEM_KINDS = ("table", "engine", "console", "release")
ALL_KINDS = (*PEM_KINDS, "node")


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("does", ["rotate", "replace", "revoke", "show"])
@pytest.mark.parametrize(
    ("asked", "found"), [(a, f) for a in ALL_KINDS for f in ALL_KINDS if a != f], ids=str
)
def test_a_command_for_one_kind_of_key_leaves_the_others_unchanged(
    does: str, asked: str, found: str, rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rig.folder / "a.key"
    printed(capsys, "make", found, str(file))
    before = everything_in(rig.folder)
    reason = () if does == "show" else ("--reason", "yearly")
    place = of(rig) if asked == "table" and does in ("rotate", "replace") else ()
    code, out, err = printed(capsys, does, asked, str(file), *place, *reason)
    assert code in (1, 2), out
    assert any(reason in err for reason in ("found", "exists", "declared lost", "can't be revoked"))
    assert everything_in(rig.folder) == before


def test_a_key_of_another_owner_is_refused_with_both_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    printed(capsys, "make", "table", str(file))
    code, _, err = printed(capsys, "rotate", "engine", str(file), "--reason", "yearly")
    assert code == 1
    assert "found a table's key, expected the settlement engine's key" in err


def test_a_key_of_release_0_1_0_has_no_owner_and_counts_as_a_tables(rig: Rig) -> None:
    file = rig.folder / "key"
    label, pem = file.read_bytes().split(b"\n", 1)
    assert label == b"table key of the table controller"
    file.write_bytes(pem)
    assert load_key(file).public.raw == rig.key.public.raw
    with pytest.raises(JournalFault, match="found a table's key, expected a settlement engine's key"):
        load_key(file, "engine")


@pytest.mark.parametrize("does", ["rotate", "replace"])
def test_without_a_journal_no_key_is_made(
    does: str, rig: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, empty = rig.folder / "key", tmp_path / "empty"
    empty.mkdir()
    if does == "replace":
        file.unlink()
    before = everything_in(tmp_path)
    code, _, err = printed(capsys, does, "table", str(file), "--journal", str(empty), "--reason", "yearly")
    assert code == 1
    assert "specify its folder" in err
    assert everything_in(tmp_path) == before


def test_a_key_other_than_its_journals_is_reported_before_another_is_made(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rig.folder / "other"
    printed(capsys, "make", "table", str(file))
    code, _, _ = printed(capsys, "rotate", "table", str(file), *of(rig), "--reason", "yearly")
    assert (code, (rig.folder / "other.new").exists()) == (1, False)


def test_a_history_of_another_kind_of_key_is_reported_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    printed(capsys, "make", "console", str(file))
    printed(capsys, "revoke", "console", str(file), "--reason", "sold")
    code, _, err = printed(capsys, "replace", "release", str(file), "--reason", "lost")
    assert (code, list(tmp_path.iterdir())) == (1, [tmp_path / "a.key.history.jsonl"])
    assert "found the history of a console key, expected the history of a release key" in err


@pytest.mark.parametrize("kind", ["console", "release", "node"])
def test_a_revoked_key_is_gone_and_its_history_says_so(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    _, public, _ = printed(capsys, "make", kind, str(file))
    assert printed(capsys, "revoke", kind, str(file), "--reason", "sold", "--who", "ann")[0] == 0
    assert not file.exists()
    _, out, _ = printed(capsys, "show", kind, str(file))
    assert out == f"{public} revoked: ann, sold"


@pytest.mark.parametrize("kind", ["console", "release", "engine", "node"])
def test_a_lost_key_is_replaced_and_an_existing_one_is_not(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    printed(capsys, "make", kind, str(file))
    assert printed(capsys, "replace", kind, str(file), "--reason", "lost")[0] == 1
    file.unlink()
    code, new, _ = printed(capsys, "replace", kind, str(file), "--reason", "lost")
    assert code == 0
    assert printed(capsys, "show", kind, str(file))[1].splitlines()[-1] == new


def test_an_edited_history_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.key"
    printed(capsys, "make", "release", str(file))
    for _ in range(3):
        printed(capsys, "rotate", "release", str(file), "--reason", "yearly")
    history = tmp_path / "a.key.history.jsonl"
    whole = history.read_bytes()
    lines = whole.splitlines(keepends=True)
    for changed in (
        whole.replace(b"yearly", b"never!", 1),
        b"".join((lines[0], lines[2])),
        b"".join((*lines, lines[-1])),
        whole + b"{}\n",
    ):
        history.write_bytes(changed)
        code, out, err = printed(capsys, "show", "release", str(file))
        assert (code, out) == (1, ""), changed
        assert "line" in err
    history.write_bytes(whole)
    assert printed(capsys, "show", "release", str(file))[0] == 0


@pytest.mark.parametrize("kind", ["table", "engine"])
def test_a_key_that_signs_outcomes_is_revoked_only_by_replacing_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.key"
    printed(capsys, "make", kind, str(file))
    code, _, err = printed(capsys, "revoke", kind, str(file), "--reason", "stolen")
    assert (code, file.exists()) == (2, True)
    assert "can't be revoked; to " in err


@pytest.mark.parametrize("name", ["ann", "a\udcffb"])
def test_the_user_of_a_command_is_taken_from_the_kernel_and_not_from_the_environment(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone can set $LOGNAME to another person's name, or to bytes that a history cannot contain."""
    monkeypatch.setenv("LOGNAME", name)
    file = tmp_path / "a.key"
    assert printed(capsys, "make", "node", str(file))[0] == 0
    assert printed(capsys, "rotate", "node", str(file), "--reason", "yearly")[0] == 0
    _, out, _ = printed(capsys, "show", "node", str(file))
    assert f": {pwd.getpwuid(os.geteuid()).pw_name}, yearly" in out


def test_a_nodes_key_with_an_odd_number_of_digits_is_not_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "node.key"
    file.write_text("0" * 33)
    file.chmod(0o600)
    assert main(["keys", "show", "node", str(file)]) != 0
    assert "expected an even number of hexadecimal digits, 32 to 128" in capsys.readouterr().err
