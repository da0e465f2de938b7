"""`tablectl people`: the register's contents, and the messages when it is empty."""

import io
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.people.register import REGISTER_FILE


def people(*words: str) -> int:
    try:
        return main(["people", *words])
    except SystemExit as ended:
        return int(ended.code or 0)


def test_an_added_person_is_listed_with_the_roles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
    assert people("add", "ann", "--role", "boxperson", "--people", str(tmp_path)) == 0
    assert "ann may sign in by PIN as boxperson" in capsys.readouterr().out
    assert people("list", "--people", str(tmp_path)) == 0
    assert capsys.readouterr().out.split() == ["ann", "boxperson"]


def test_an_empty_register_says_how_a_person_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert people("list", "--people", str(tmp_path)) == 0
    printed = capsys.readouterr()
    assert not printed.out
    assert "the register is empty" in printed.err
    assert "tablectl people add NAME --role ROLE" in printed.err


def test_a_registered_person_keeps_the_pin_until_a_new_one_is_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(pin: str, *words: str) -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{pin}\n"))
        return people("add", "ann", "--people", str(tmp_path), *words)

    add("4711", "--role", "boxperson")
    before = (tmp_path / REGISTER_FILE).read_bytes()
    assert add("0815", "--role", "dealer") == 2
    assert "ann is already in the register, as boxperson; --replace sets" in capsys.readouterr().err
    assert (tmp_path / REGISTER_FILE).read_bytes() == before
    assert add("0815", "--role", "dealer", "--replace") == 0
    assert "ann may sign in by PIN as dealer, replacing the previous entry" in capsys.readouterr().out
    assert (tmp_path / REGISTER_FILE).read_bytes() != before


def test_no_pin_is_requested_if_the_role_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.StringIO("4711\n")
    monkeypatch.setattr("sys.stdin", typed)
    assert people("add", "ann", "--people", str(tmp_path)) == 2
    assert "use it with one or more of" in capsys.readouterr().err
    assert typed.tell() == 0


def test_the_removed_person_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
    people("add", "ann", "--role", "dealer", "--people", str(tmp_path))
    assert people("remove", "ann", "--people", str(tmp_path)) == 0
    assert "ann may no longer sign in" in capsys.readouterr().out


def test_an_unknown_person_cannot_be_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert people("remove", "ann", "--people", str(tmp_path)) == 1
    assert "people remove: there is no person named 'ann'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [("list",), ("add", "ann", "--role", "dealer"), ("remove", "ann")], ids=lambda words: words[0]
)
def test_an_invalid_register_is_bad_input_for_every_action(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / REGISTER_FILE
    file.write_text("no register")
    file.chmod(0o600)
    assert people(*words, "--people", str(tmp_path)) == 2
    assert f"people {words[0]}: {file} is not a register" in capsys.readouterr().err


def test_a_folder_not_yet_made_by_the_sign_in_process_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
    assert people("add", "ann", "--role", "dealer", "--people", str(tmp_path / "none")) == 2
    assert "start `tablectl sign_in`, which creates it" in capsys.readouterr().err
