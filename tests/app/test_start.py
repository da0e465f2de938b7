"""A start that cannot succeed is refused before any file is made. A start that is stopped ends in order."""

import grp
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from controller.app import service
from controller.cli.main import main
from controller.journal.keys import new_key
from tests.app.rig import PATIENCE_S

Tree = dict[str, tuple[int, str]]
NOBODY = "no-such-group"
HEAD, KEY = "elsewhere/table.head", "journal/table.key"


def tree_of(folder: Path) -> Tree:
    """Return everything below a folder with its mode and the digest of its contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        inside = sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(known.st_mode) else ""
        found[str(path.relative_to(folder))] = known.st_mode, inside
    return found


def command(folder: Path, *arguments: str) -> list[str]:
    """Return the arguments of a start in this folder; a later option of the same name wins."""
    return [
        *("run", "craps", "--readings", str(folder / "in"), "--no-self-test-devices"),
        *("--journal", str(folder / "journal"), "--socket", str(folder / "control"), *arguments),
    ]


def ended(words: list[str], *, at: str = "") -> subprocess.CompletedProcess[str]:
    """Run until the process ends; send SIGTERM at the first action that matches `at`."""
    return subprocess.run(
        [sys.executable, "-c", STOPS_ITSELF, at, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )


READS = "open /in'"
"""The moment when a controller begins to read, after all files of the start are made."""
STOPS_ITSELF = """
import os, signal, sys
name, _, part = sys.argv.pop(1).partition(" ")
def heard(event, arguments, sent=[]):
    if name and event == name and part in str(arguments) and not sent:
        sent.append(event)
        sys.stderr.write(f"SIGTERM at {event}\\n")
        os.kill(os.getpid(), signal.SIGTERM)
from controller.cli.main import main
sys.addaudithook(heard)
sys.exit(main())
"""
"""The program with an audit hook, which sends SIGTERM at an action of the program."""


@pytest.fixture(scope="module")
def once_played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a played table's journal and a separate head file."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "elsewhere").mkdir()
    words = command(folder, "--head", str(folder / HEAD))
    assert ended(words, at=READS).returncode == service.STOPPED
    assert (folder / KEY).exists()
    return folder


@pytest.fixture
def played(once_played: Path, tmp_path: Path) -> Path:
    return shutil.copytree(once_played, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("in"))


WRONG = {
    "a group that is not there": (["--staff-group", NOBODY], [f"--staff-group: found no group '{NOBODY}'"]),
    "every group that is not there": (
        [f"--{role}-group={NOBODY}-{role}" for role in ("staff", "technician", "settlement", "socket")],
        [f"'{NOBODY}-{role}'" for role in ("staff", "technician", "settlement", "socket")],
    ),
    "a journal among the kernel's own files": (
        ["--journal", "/proc/table"],
        ["--journal /proc/table: found /proc, on a file system (proc) that stores no files"],
    ),
    "a journal in a mistyped folder": (["--journal", "{0}/vra/table"], ["found no folder {0}/vra"]),
    "a head in a mistyped folder": (["--head", "{0}/boto/head"], ["found no folder {0}/boto"]),
    "a socket in a mistyped folder": (["--socket", "{0}/rnu/control"], ["found no folder {0}/rnu"]),
    "a socket at a file's place": (
        ["--socket", "{0}/file"],
        ["--socket {0}/file: found a file that is not a s"],
    ),
    "a socket of a longer path than may be": (["--socket", "/tmp/" + "x" * 200], ["a path of 205 bytes"]),
    "readings in a mistyped folder": (["--readings", "{0}/rnu/in"], ["found no folder {0}/rnu"]),
    "readings of a folder": (["--readings", "{0}/elsewhere"], ["--readings {0}/elsewhere: found a folder"]),
    "a journal without its head": (
        [],
        ["no journal.head next to it, expected --head FILE", "approve journal"],
    ),
    "a key that is not there": (["--key", "{0}/nokey"], ["{0}/nokey: found no readable file"]),
    "no such table": (["--head", "{0}/no/head"], ["found no folder {0}/no"]),
    "all at once": (
        ["--staff-group", NOBODY, "--socket", "{0}/rnu/c", "--key", "{0}/nokey", "--head", "{0}/boto/head"],
        [NOBODY, "{0}/rnu", "{0}/nokey", "{0}/boto"],
    ),
}
"""Mistakes in a start: the options that cause each, and the words of the message."""


@pytest.mark.parametrize("what", WRONG)
def test_a_start_that_cannot_succeed_is_refused_and_nothing_is_made(
    what: str, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, message = WRONG[what]
    (played / "file").write_text("not a socket", encoding="ascii")
    before = tree_of(played)
    head = [] if what == "a journal without its head" else ["--head", str(played / HEAD)]
    code = main(command(played, *head, *(word.format(played) for word in options)))
    said = capsys.readouterr().err
    assert code == service.BAD_SETTINGS
    for words in message:
        assert words.format(played) in said
    assert tree_of(played) == before


def test_a_signing_key_that_others_can_read_is_refused(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (played / KEY).chmod(0o644)
    before = tree_of(played)
    assert main(command(played, "--head", str(played / HEAD))) == service.BAD_SETTINGS
    said = capsys.readouterr().err
    assert f"{played / KEY}: found mode 0644" in said
    assert "chmod 600" in said
    assert tree_of(played) == before


def test_a_service_without_its_credential_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert main(command(tmp_path)) == service.BAD_SETTINGS
    assert "LoadCredentialEncrypted=table-key" in capsys.readouterr().err
    assert tree_of(tmp_path) == {}


def test_the_first_start_in_an_empty_folder_succeeds(tmp_path: Path) -> None:
    done = ended(command(tmp_path), at=READS)
    assert done.returncode == service.STOPPED, done.stderr


def test_a_first_start_that_was_cut_off_before_its_first_row_needs_no_head(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    new_key(tmp_path / KEY)
    (tmp_path / "journal/journal.db").touch()
    done = ended(command(tmp_path), at=READS)
    assert done.returncode == service.STOPPED, done.stderr


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """Yield a socket with a listening process."""
    path = tmp_path / "control"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        yield path


def test_a_socket_that_another_process_answers_is_refused(
    listening: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree_of(tmp_path)
    assert main(command(tmp_path)) == service.IN_USE
    assert f"{listening}: found another controller, which listens on this socket" in capsys.readouterr().err
    assert main(command(tmp_path, "--staff-group", NOBODY)) == service.BAD_SETTINGS
    said = capsys.readouterr().err
    assert NOBODY in said
    assert "which listens on this socket" in said
    assert tree_of(tmp_path) == before


LOOKS = """
import encodings.idna, os, sys
from pathlib import Path
from controller.app.options import Options
from controller.app.options import mistakes_in
os.setgroups([]); os.setgid(65534); os.setuid(65534)
options = Options(table="craps", journal=Path("/etc"), socket=Path("/etc/control"), socket_group=sys.argv[1])
print(*mistakes_in(options, {}), sep="\\n")
"""
"""The check before a start, run by a user without rights after the interpreter has read its files."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_may_not_write_to_the_folder_is_refused() -> None:
    mine = grp.getgrgid(os.getgid()).gr_name
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, mine], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert "--journal /etc: found /etc, which this user may not write to" in done.stdout, done.stderr
    assert "--socket /etc: found /etc, which this user may not write to" in done.stdout
    assert f"--socket-group: found group {mine!r}, which this user does not belong to" in done.stdout


MOMENTS = (
    "import controller.app.daemon",
    "import apsw",
    "import pydantic",
    "open craps.yaml",
    "os.listdir",
    "os.mkdir journal",
    "open table.key",
    "open journal.db.lock",
    "open journal.head",
    "open identity.json",
    "open identity.new",
    "socket.bind control",
    "os.chmod control",
    "open recordings",
    "os.mkdir recordings",
    "socket.sendto",
    READS,
)
"""The actions of a start, from its first import to its ready message."""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment, marks=[pytest.mark.slow] if number % 3 else [])
        for number, moment in enumerate(MOMENTS)
    ],
)
def test_a_stop_at_any_moment_of_the_start_is_in_order(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        done = ended(command(tmp_path), at=moment)
    assert "SIGTERM at" in done.stderr, "the start did not reach this action"
    assert done.returncode == service.STOPPED, done.stderr
    assert "stopped" in done.stderr.partition("SIGTERM at")[2]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "control").exists()
    if (tmp_path / "journal/journal.db").exists():
        assert main(["journal", "verify", "--journal", str(tmp_path / "journal")]) == 0
        assert "sound" in capsys.readouterr().out


def test_a_fault_found_again_on_each_retry_is_reported_once(tmp_path: Path) -> None:
    """A journal that cannot be opened is retried every 5 s, and the log must not fill with messages."""
    done = subprocess.run(
        [sys.executable, "-c", OPENED_THRICE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stderr.count("[journal_key_unreadable]") == 1, done.stderr
    assert "cleared: " not in done.stderr


OPENED_THRICE = """
import sys
from pathlib import Path
from controller.app.daemon import Daemon
from controller.app.options import Options
from controller.settings.tables import load_table
folder = Path(sys.argv[1])
(folder / "journal").mkdir()
(folder / "journal/journal.db").write_text("no database")
(folder / "journal/table.key").touch(0o600)
options = Options(table="craps", journal=folder / "journal", socket=folder / "control")
daemon = Daemon(options, load_table("craps"), environ={})
for _ in range(3):
    daemon.open()
"""
