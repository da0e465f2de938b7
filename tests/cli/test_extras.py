"""A command without its optional packages names the missing extra and its installation."""

import subprocess
import sys
from pathlib import Path

import pytest

MISSING = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from controller.cli.main import main
sys.exit(main({words!r}))
"""
JOURNAL = {"apsw", "cryptography"}
HARDWARE = {"serial", "gpiozero", "gpiod"}
SETTLEMENT = {"fastapi", "psycopg", "sqlalchemy", "uvicorn", "cryptography"}
EXTRAS = JOURNAL | HARDWARE | SETTLEMENT | {"paho", "shtab", "cv2", "numpy"}


def without(missing: set[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run tablectl as if these packages were not installed."""
    code = MISSING.format(missing=missing, words=list(words))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("missing", "words", "install"),
    [
        (EXTRAS, ("run", "craps"), ".[journal,hardware,mqtt]"),
        (HARDWARE, ("run", "craps", "--journal", "HERE", "--socket", "HERE/s"), ".[journal,hardware,mqtt]"),
        (EXTRAS, ("journal", "verify", "--journal", "here"), ".[journal]"),
        (EXTRAS, ("recall", "craps/1/1", "--journal", "here"), ".[journal]"),
        (EXTRAS, ("settlement", "prove"), ".[settlement]"),
        ({"cv2", "numpy"}, ("camera", "read", "a.jpg", "--die-px", "70"), ".[vision]"),
        (
            {"PIL"},
            ("explain", "tests/logs/craps-12-034-voids.jsonl.gz#3", "--picture", "HERE/a.png"),
            ".[pictures]",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_missing_extra_is_named_with_how_to_install_it(
    missing: set[str], words: tuple[str, ...], install: str, tmp_path: Path
) -> None:
    ended = without(missing, *(word.replace("HERE", str(tmp_path)) for word in words))
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    (said,) = ended.stderr.splitlines()
    assert said.startswith(f"tablectl: {words[0]}: the package ")
    assert "`make tools`" in said
    assert install in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("replay", "tests/logs/sim-craps-12-034-a.jsonl.gz"), 0),
        (("settle", "--rules", "roulette", "/dev/null"), 0),
        (("rules", "show", "roulette"), 0),
        (("demo", "--throws", "1", "--spins", "0", "--games", "0", "--deals", "0"), 0),
        (("simulate", "--list-faults"), 0),
        *(
            ((name, "--socket", "/nowhere/s"), 3)
            for name in ("status", "devices", "faults", "watch", "outbox")
        ),
        (("input", "no_roll", "--socket", "/nowhere/s"), 3),
        (("approve", "clock", "--socket", "/nowhere/s"), 3),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_that_need_no_extra_run_without_it(words: tuple[str, ...], code: int) -> None:
    ended = without(EXTRAS, *words)
    assert ended.returncode == code, ended.stderr
