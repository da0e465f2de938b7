"""`tablectl journal` reports missing last rows and empty results."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import controller
from controller.cli.main import main
from controller.engine.session import Session
from controller.journal import contents
from controller.journal.keys import load_key
from controller.machines.setup import NextNumbers, State
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, rig_in, session_steps, setup_at
from tests.journal.tamper import sql, tamper
from tests.scenes import SECOND_US, throw

AS_ANOTHER_USER = """
import os, sys
from controller.cli.main import main
main(sys.argv[1:])  # as root, so that everything is imported
print(flush=True)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return the folder of a journal of a few throws, with its head file."""
    return played(tmp_path)


def played(folder: Path) -> Path:
    rig = rig_in(folder)
    rig.played(3)
    shutil.copy(rig.place.head, folder / "journal.head")
    return rig.place.journal


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["journal", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def verify(capsys: pytest.CaptureFixture[str], journal: Path, *words: str) -> tuple[int, str, str]:
    return run(capsys, "verify", "--journal", str(journal), *words)


def cut_short(journal: Path) -> None:
    """Remove the last row to simulate a lost end of the WAL."""
    tamper(journal, sql("DELETE FROM rows WHERE n = (SELECT max(n) FROM rows)"))


def older_copy(journal: Path) -> None:
    """Play another session, then restore the earlier journal."""
    rig = Rig(journal.parent, load_key(journal.parent / "key"))
    old = shutil.copy(journal, journal.parent / "old")
    with rig.open() as opened:
        durable(begin(opened))
    shutil.copy(rig.place.head, journal.parent / "journal.head")
    shutil.copy(old, journal)


def emptied(journal: Path) -> None:
    """Leave the journal file whose rows were all in a deleted WAL."""
    journal.write_bytes(b"")


# --- verify: the end is there, or the missing rows are reported ---


def test_a_complete_journal_is_sound_and_its_head_is_named(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = verify(capsys, journal)
    assert (code, err) == (0, "")
    assert out.startswith(f"{NAME}: sound: ")
    code, out, _ = verify(capsys, journal.parent, "--json")
    assert code == 0
    fields = json.loads(out)
    assert fields["head"] == str(journal.parent / "journal.head")
    (words,) = fields["unvouched"]
    assert "pass the table's key with --key" in words
    assert "unauthenticated" not in fields


@pytest.mark.parametrize(
    ("lose", "says"),
    [
        (cut_short, "1 or more rows are missing, including 0 outcomes"),
        (older_copy, "rows are missing, including 0 outcomes"),
        (emptied, "a journal without rows"),
        (Path.unlink, "no file"),
    ],
)
def test_a_journal_that_lost_its_end_is_not_reported_sound(
    journal: Path, capsys: pytest.CaptureFixture[str], lose: Callable[[Path], None], says: str
) -> None:
    lose(journal)
    code, out, err = verify(capsys, journal)
    assert (code, out) == (1, "")
    assert says in err
    assert f"as recorded in {journal.parent / 'journal.head'}" in err


def test_rows_and_outcomes_that_are_missing_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_in(tmp_path)
    opened = rig.open()
    begin(opened)
    for step in play_throws(2):
        durable(append(opened, step))
    opened.close()
    old = tmp_path / "old.db"
    shutil.copy(rig.place.journal, old)
    tamper(old, sql("DELETE FROM rows WHERE n > 4"))
    tamper(old, sql("DELETE FROM outbox WHERE n > 4"))
    tamper(old, sql("DELETE FROM evidence WHERE n > 4"))
    connection = apsw.Connection(str(old))
    left = connection.execute("SELECT max(seq) FROM rows").get
    last = len(rig.published) if isinstance(left, int) else 0
    connection.close()
    code, _, err = verify(capsys, old, "--head", str(rig.place.head))
    assert code == 1
    assert isinstance(left, int)
    assert re.search(
        rf"row 4 as the last row \(\d+ or more rows are missing, including {last - left} outcomes", err
    )
    assert "the existing rows are valid" in err


def test_a_head_file_elsewhere_can_be_named_or_left_out(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = shutil.move(journal.parent / "journal.head", journal.parent / "on-another-medium")
    code, out, err = verify(capsys, journal)
    assert (code, out) == (1, "")
    assert "--head" in err
    assert "--no-head" in err
    assert verify(capsys, journal, "--head", str(elsewhere))[0] == 0
    code, out, _ = verify(capsys, journal, "--no-head")
    assert code == 0
    assert "without a head file, rows might be missing there" in out


def test_the_head_is_found_where_the_systemd_units_keep_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The head is in `table-head` beside `table`, in /var/lib or in a copy of it."""
    (tmp_path / "table").mkdir()
    (tmp_path / "table-head").mkdir()
    journal = played(tmp_path / "table")
    shutil.move(journal.with_suffix(".head"), tmp_path / "table-head" / "journal.head")
    assert verify(capsys, tmp_path / "table")[0] == 0
    cut_short(journal)
    assert verify(capsys, tmp_path / "table")[0] == 1


def test_a_journal_verifies_as_sound_while_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_in(tmp_path)
    with rig.open() as opened:
        begin(opened)
        for step in play_throws(2):
            durable(append(opened, step))
        assert verify(capsys, rig.place.journal, "--head", str(rig.place.head))[0] == 0


# --- as another user ---


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user may enter, unlike pytest's folders."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_a_stranger(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", AS_ANOTHER_USER, "journal", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("closed", ["journal.db", "journal.head", "."])
def test_a_journal_closed_to_this_user_is_not_reported_as_a_disk_fault(
    open_folder: Path, closed: str
) -> None:
    folder = open_folder / "table"
    folder.mkdir()
    played(folder)
    (folder / "journal.head").chmod(0o644)
    assert as_a_stranger("verify", "--journal", str(folder / "journal.db")) == (0, "")
    (folder / closed).chmod(0o600)
    code, said = as_a_stranger("verify", "--journal", str(folder / "journal.db"))
    assert code == 2
    assert "as root" in said
    assert "mount" not in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_journal_that_another_user_writes_is_reported_with_its_owner(open_folder: Path) -> None:
    """The WAL belongs to the writer, and SQLite may not create an index for it."""
    folder = open_folder / "table"
    folder.mkdir()
    rig = rig_in(folder)
    with rig.open() as opened:
        begin(opened)
        durable(append(opened, play_throws(1)[0]))
        (folder / "journal.db-shm").chmod(0o600)
        code, said = as_a_stranger("verify", "--journal", str(folder / "journal.db"), "--no-head")
    assert code == 2
    assert "[journal_no_access]" in said


# --- show and export ---


@pytest.mark.parametrize("what", ["show", "export"])
def test_an_unknown_type_is_refused_with_the_known_ones(
    journal: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    code, out, err = run(capsys, what, "--type", "nope", "--journal", str(journal))
    assert (code, out) == (2, "")
    assert "--type: found 'nope', expected one of " in err
    assert "roll.called" in err
    assert "session.started" in err


@pytest.mark.parametrize("what", ["show", "export"])
@pytest.mark.parametrize(
    "words", [("--type", "spin.called"), ("--from", "900"), ("--from", "3", "--to", "2")]
)
def test_an_empty_result_is_reported(
    journal: Path, capsys: pytest.CaptureFixture[str], what: str, words: tuple[str, ...]
) -> None:
    code, _, err = run(capsys, what, *words, "--journal", str(journal))
    assert code == 0
    assert "no rows" in err
    assert run(capsys, "show", "--json", *words, "--journal", str(journal))[1] == ""


def test_every_journaled_event_can_be_selected_by_type() -> None:
    root = Path(controller.__path__[0])
    texts = [
        path.read_text(encoding="utf-8") for room in ("app", "journal") for path in (root / room).glob("*.py")
    ]
    noted = {name for text in texts for name in re.findall(r'\bnote\("([a-z_.]+)"', text)}
    named = re.findall(
        r'^[A-Z_]+ = "([a-z_]+\.[a-z_]+)"$', Path(contents.__file__).read_text("utf-8"), re.MULTILINE
    )
    assert "identity.checked" in noted
    assert "control.used" in named
    assert noted | set(named) | {"fault.began", "fault.over"} == set(contents.EVENTS)


def test_recall_says_that_nobody_ruled_on_a_review_that_the_next_throw_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_in(tmp_path)
    session = Session(setup_at(NextNumbers(), State()))
    with rig.open() as journal:
        begin(journal)
        for step in session_steps(session, [*throw(SECOND_US, confidence=0.3), *throw(20 * SECOND_US)]):
            durable(append(journal, step))
    (void,) = (row for row in rig.published if row.name == "roll.no_roll")
    main(["recall", f"{NAME}/1/{void.seq}", "--journal", str(rig.place.journal)])
    printed = capsys.readouterr().out.splitlines()
    assert "no ruling; the next attempt closed it" in printed
