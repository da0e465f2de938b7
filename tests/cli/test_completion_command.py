"""Completion of a command, an option and a file in a real bash."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
spec=$(complete -p tablectl); function=${spec##*-F }; function=${function%% *}
$function tablectl "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
compgen -f -- "${COMP_WORDS[-1]}" | sed 's/^/file /'
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "tablectl.bash"
    done = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", "completion", "bash"], capture_output=True, check=True
    )
    path.write_bytes(done.stdout)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("tablectl", "expl"), "explain"),
        (("tablectl", "replay", "--che"), "--check"),
        (("tablectl", "completion", "z"), "zsh"),
        (("tablectl", "journal", "ver"), "verify"),
    ],
)
def test_bash_offers_what_comes_next(script: Path, typed: tuple[str, ...], offered: str) -> None:
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", str(script), *typed], capture_output=True, text=True, check=False
    )
    assert offered in done.stdout.splitlines(), done.stderr


def test_the_arguments_that_are_files_are_completed_as_files(script: Path) -> None:
    text = script.read_text()
    assert "_replay_pos_0_COMPGEN=_shtab_compgen_files" in text
    assert "_doctor___bundle_COMPGEN=_shtab_compgen_files" in text
    assert "_doctor___journal_COMPGEN=_shtab_compgen_dirs" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_every_shell_gets_its_own_script(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", "completion", shell],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "tablectl" in done.stdout
