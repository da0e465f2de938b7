"""`tablectl people`: who is in the register, and what is said where nobody is."""

import io
from pathlib import Path

import pytest

from controller.cli.main import main


def people(*words: str) -> int:
    try:
        return main(["people", *words])
    except SystemExit as ended:
        return int(ended.code or 0)


def test_who_was_added_is_listed_with_the_roles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
    assert people("add", "ann", "--role", "boxperson", "--people", str(tmp_path)) == 0
    assert people("list", "--people", str(tmp_path)) == 0
    assert capsys.readouterr().out.split() == ["ann", "boxperson"]


def test_an_empty_register_says_how_a_person_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert people("list", "--people", str(tmp_path)) == 0
    told = capsys.readouterr()
    assert not told.out
    assert "nobody is in the register" in told.err
    assert "tablectl people add NAME --role ROLE" in told.err
