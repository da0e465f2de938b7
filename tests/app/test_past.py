"""A technician without root rights reads the journal and recordings, but no data that is still secret."""

import grp
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from controller.app.history import HistoryLimit
from controller.app.requests import history_limit
from controller.app.view import View
from controller.cli.main import main
from controller.machines.setup import NextNumbers, State
from tests.app.rig import PATIENCE_S, Table, lines_of, tick
from tests.scenes import SECOND_US, throw

NOBODY = 65534
STRANGERS = 65533
Output = pytest.CaptureFixture[str]

AS_ANOTHER = """
import os, sys
import controller.cli.main, controller.cli.journal_source, controller.cli.attempts
from importlib import import_module
for command in ("explain", "cut", "journal", "status", "replay"):
    import_module(f"controller.cli.{command}")
import controller.settings.rulesets
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(65534)
sys.argv[:2] = []
sys.exit(controller.cli.main.main(sys.argv))
"""
"""Imports as root, because other users may not read a checkout, and then becomes another user."""


@pytest.fixture
def group() -> str:
    """Return a group other than root's."""
    return next(one.gr_name for one in grp.getgrall() if one.gr_gid not in (0, NOBODY))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="past-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def table(tmp_path: Path, open_folder: Path, group: str) -> Iterator[Table]:
    """Yield a craps table after two throws, with a journal closed to other users."""
    arguments = ("--data-time", "--no-self-test-devices", "--unlock", "person")
    groups = ("--technician-group", group, "--socket-group", group)
    one = Table(tmp_path / "table", arguments=(*arguments, *groups), control=open_folder / "control")
    one.folder.mkdir(mode=0o700)
    one.start()
    one.unlock()
    for start_s in (10, 30):
        one.feed(lines_of((reading.t, reading) for reading in throw(start_s * SECOND_US)))
        one.feed([tick((start_s + 15) * SECOND_US)])
    yield one
    one.kill()


def another(gid: int, folder: Path, *words: str) -> tuple[int, str, str]:
    """Run tablectl as a user, neither root nor the controller, whose only group is this one."""
    command = [sys.executable, "-c", AS_ANOTHER, str(gid), *words]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TABLE_SOCKET": str(folder / "control")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_technician_who_is_not_root_explains_recalls_cuts_and_reads_the_journal(
    table: Table, open_folder: Path, group: str, capsys: Output
) -> None:
    gid = grp.getgrnam(group).gr_gid
    code, out, err = another(gid, open_folder, "explain", "2", "--no-plot")
    assert (code, err) == (0, "")
    assert out.startswith("Roll 2")
    published = next(row for row in table.rows() if row.name == "roll.called")
    outcome_id = json.loads(published.body or b"{}")["id"]
    code, out, err = another(gid, open_folder, "recall", outcome_id)
    assert (code, err) == (0, "")
    assert "signed by the table" in out
    assert "judged again from its evidence: same result" in out
    code, out, err = another(gid, open_folder, "journal", "show", "--type", "roll.called", "--json")
    assert (code, [json.loads(line)["body"]["data"]["roll"] for line in out.splitlines()]) == (0, [1, 2])
    code, out, err = another(gid, open_folder, "cut", "2", "case.jsonl.gz")
    assert code == 0, err
    case = open_folder / "case.jsonl.gz"
    assert case.stat().st_uid == NOBODY
    assert main(["replay", str(case), "--check", str(open_folder / "case.expected.jsonl")]) == 0
    capsys.readouterr()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_is_not_a_technician_may_not_read_past_records(table: Table, open_folder: Path) -> None:
    Path(table.socket).chmod(0o666)
    for words in (("explain", "2"), ("recall", "craps/1/2"), ("journal", "show"), ("cut", "2", "case.jsonl")):
        code, out, err = another(STRANGERS, open_folder, *words)
        assert (code, out) == (1, "")
        assert "may not read past records" in err
    assert list(open_folder.glob("case*")) == []
    assert another(STRANGERS, open_folder, "status")[0] == 0


# --- readings that are still secret ---

OPENED = HistoryLimit(7, 700)


def view(*, lock: str = "unlocked", bets_closed: bool = False, attempt_open: bool = False) -> View:
    """Return a view of an open table at time 900."""
    state = msgspec.convert({"table": "open", "lock": lock}, State)
    return View(
        now_us=900,
        state=state,
        first=NextNumbers(),
        attempt_open=attempt_open,
        in_flight=attempt_open,
        held=False,
        hold_ends_us=None,
        bets_closed=bets_closed,
        testing=False,
        halted=False,
        allowed=(),
        acted={},
        pending=(),
        awaited=None,
        locked_by=None,
        lock_changes=0,
        recording="r-000001-001",
        readings=0,
        late=0,
    )


@pytest.mark.parametrize(
    ("game", "now", "limit"),
    [
        ("craps", view(), HistoryLimit(9, 900)),
        ("roulette", view(), OPENED),
        ("roulette", view(bets_closed=True, attempt_open=True), HistoryLimit(9, 900)),
        ("roulette", view(lock="locked"), HistoryLimit(9, 900)),
        ("three_card", view(), OPENED),
        ("three_card", view(bets_closed=True, attempt_open=True), OPENED),
        ("three_card", view(lock="locked", attempt_open=True), OPENED),
        ("three_card", view(bets_closed=True), HistoryLimit(9, 900)),
    ],
)
def test_R_SPIN_3_T_DEAL_3_past_readings_end_where_bets_opened_on_a_result_not_yet_public(
    game: str, now: View, limit: HistoryLimit
) -> None:
    assert history_limit(now, game, 9, OPENED) == limit
