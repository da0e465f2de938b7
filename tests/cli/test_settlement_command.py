"""`tablectl settlement`: enrol, token, release, prove."""

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the `settlement` extra is not installed")

from controller.cli.main import main

KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/settlement.db"


def settlement(database: str, *words: str) -> int:
    return main(["settlement", "--database", database, *words])


def test_a_table_is_enrolled_once(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    enrol = ("enrol", "wheel-1", "--rules", "roulette", "--key", KEY)
    assert settlement(database, *enrol) == 0
    assert capsys.readouterr().out == "wheel-1: enrolled with roulette\n"
    assert settlement(database, "token", "list") == 0
    assert capsys.readouterr().out == "no tokens\n"
    assert settlement(database, *enrol) == 1
    assert "--anew" in capsys.readouterr().err
    assert settlement(database, *enrol, "--anew") == 0


def test_a_token_is_shown_once(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert settlement(database, "token", "make", "till", "--role", "staff") == 0
    secret = capsys.readouterr().out.strip()
    assert len(secret) >= 40
    assert settlement(database, "token", "list") == 0
    assert capsys.readouterr().out == "till: staff\n"
    assert settlement(database, "token", "revoke", "till") == 0
    assert capsys.readouterr().out == "till: revoked\n"
    settlement(database, "token", "list")
    assert capsys.readouterr().out == "till: staff, revoked\n"


def test_a_new_database_is_proved(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    settlement(database, "token", "make", "till", "--role", "staff")
    capsys.readouterr()
    assert settlement(database, "prove") == 0
    assert '"faults": []' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("enrol", "wheel-1", "--rules", "nothing", "--key", KEY), "nothing"),
        (("enrol", "wheel-1", "--rules", "roulette", "--key", "abc"), "64 hexadecimal digits"),
        (
            ("enrol", "wheel-1", "--rules", "roulette", "--key", KEY, "--anew"),
            "there is no settlement database",
        ),
        (("prove",), "there is no settlement database"),
        (("release", "wheel-1", "--who", "ann"), "there is no settlement database"),
        (("token", "list"), "there is no settlement database"),
        (("token", "revoke", "till"), "there is no settlement database"),
        (("token", "make", "bob", "--role", "player", "--player", "bob"), "there is no settlement database"),
        (("run", "--listen", "0.0.0.0:8440"), "--certificate"),
        (("run", "--broker", "10.0.0.1:8883"), "--broker-tls"),
        (("run", "--listen", "here"), "HOST:PORT"),
        (
            ("run", "--certificate", "/no/pem", "/no/key"),
            "--certificate: the PEM file /no/pem does not exist",
        ),
        (("run", "--certificate", __file__, __file__), "can't use"),
        (("run", "--broker", "10.0.0.1:8883", "--broker-tls", "/no/ca", "/no/pem", "/no/key"), "/no/ca"),
    ],
)
def test_bad_input_says_what_was_expected(
    database: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert settlement(database, *words) == 2
    assert says in capsys.readouterr().err
    assert list(Path(database.removeprefix("sqlite:///")).parent.iterdir()) == [], "no file may be left"


def test_a_database_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert settlement("postgresql://nobody@127.0.0.1:1/none", "prove") == 3
    assert "127.0.0.1" in capsys.readouterr().err


def test_a_refused_release(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    settlement(database, "enrol", "wheel-1", "--rules", "roulette", "--key", KEY)
    assert settlement(database, "release", "wheel-1", "--who", "ann") == 1
    assert "not halted" in capsys.readouterr().err
