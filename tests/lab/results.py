"""Results of the lab's long tests, which remain valid until a tested file changes."""

import hashlib
import subprocess
from datetime import UTC, datetime
from functools import cache as once_computed

import msgspec

from tests.lab.cache import cache
from tests.lab.root import CHECKOUT

TESTED = ("controller", "drivers", "config", "systemd", "tests", "pyproject.toml", "Makefile", "*.lock")


class Result(msgspec.Struct, frozen=True):
    """A test that passed: the digest of the tested files, the time (UTC), and the figures."""

    sources: str
    passed_at: str
    notes: list[str]


@once_computed
def sources() -> str:
    """Return the digest of every file that a test of the lab can depend on."""
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run([*listed, "--", *TESTED], capture_output=True, check=True).stdout.decode()
    digest = hashlib.sha256()
    for name in sorted(set(names.split("\0")) - {""}):
        path = CHECKOUT / name
        if path.is_file():
            digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def keep(test: str, notes: list[str]) -> None:
    """Keep the result of a test that passed."""
    folder = cache() / "passed"
    folder.mkdir(exist_ok=True)
    result = Result(sources(), datetime.now(UTC).isoformat(timespec="minutes"), notes)
    (folder / f"{test}.json").write_bytes(msgspec.json.encode(result))


def kept(test: str) -> Result | None:
    """Return the result of a test that passed with the current files; None if it has not passed with them."""
    try:
        result = msgspec.json.decode((cache() / "passed" / f"{test}.json").read_bytes(), type=Result)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return result if result.sources == sources() else None
