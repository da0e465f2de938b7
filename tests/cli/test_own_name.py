"""The commands that the program prints can be pasted: by its name where PATH has it, else by its path."""

from pathlib import Path

import pytest

from controller.cli.shell import own_name


@pytest.mark.parametrize(
    ("called", "on_path", "named"),
    [
        (".venv/bin/tablectl", False, ".venv/bin/tablectl"),
        (".venv/bin/tablectl", True, "tablectl"),
        ("a folder/tablectl", False, "'a folder/tablectl'"),
        ("controller/cli/main.py", False, "tablectl"),
    ],
)
def test_a_command_is_named_as_the_callers_shell_finds_it(
    called: str, on_path: bool, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if on_path:
        (tmp_path / "tablectl").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [called, "simulate"])
    assert own_name() == named
