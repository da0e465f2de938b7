"""Release 0.1.0 and this one, each as table and as engine, with upgrade and rollback, over a real broker."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from controller.journal.keys import load_key
from tests.app.rig import Table, tick, until
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.settlement_service.service import Service

pytestmark = needs_mosquitto
ROOT = Path(__file__).parents[2]
THIS = ROOT
RELEASE = "c6665cd8df51a9e17015005d0d3231350ddd0e8d"
"""The last commit of 0.1.0, which did not sign rows, head and answers. The tests need it in the clone."""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkout of 0.1.0."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    packed = subprocess.run(
        [git, "-C", str(ROOT), "archive", RELEASE, "controller", "drivers", "config", "pyproject.toml"],
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        pytest.skip("the history of this clone does not reach 0.1.0")
    folder = tmp_path_factory.mktemp("release-0.1.0")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as one:
        yield one


def environment(release: Path) -> dict[str, str]:
    """Return the environment in which this Python runs that release's program, from any folder."""
    return {"PYTHONPATH": str(release), "PYTHONSAFEPATH": "1", "TABLE_CONFIG": str(release / "config")}


def run(release: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "controller.cli.main", *words],
        env={**os.environ, **environment(release)},
        capture_output=True,
        text=True,
        check=False,
    )


class Pair:
    """A table and an engine on one broker, each of which can be started with either release."""

    def __init__(self, folder: Path, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._broker = broker
        self._patch = monkeypatch
        self.url = f"sqlite:///{folder}/settlement.db"
        self.table = Table(folder, anew=True)
        self.engine = Service(folder, self.url, broker=broker.port, anew=True)

    def lay_table(self, release: Path) -> None:
        """Write the table's file in that release's format."""
        file = self._folder / "table.yaml"
        text = (release / "config/tables/craps.yaml").read_text(encoding="utf-8")
        file.write_text(
            f"{text}\npublish: {{to: mqtt, mqtt: {{host: localhost, port: {self._broker.port}}}}}\n"
        )
        self.table.name, self.table.environ = str(file), environment(release)

    def start_table(self, release: Path) -> None:
        self.lay_table(release)
        self.table.start(watch=False)

    def start_engine(self, release: Path) -> None:
        """Start the engine; only this release's engine has a signing key."""
        self.engine.signs = release == THIS
        with self._patch.context() as process:
            for name, value in environment(release).items():
                process.setenv(name, value)
            self.engine.start()

    def enrol(self, release: Path) -> None:
        """Enrol the table's key in the engine and make a staff token, with that release's commands."""
        key = load_key(self.table.journal / "table.key").public.raw.hex()
        enrolled = ("enrol", "craps", "--rules", "craps-12-034", "--key", key)
        for words in (enrolled, ("token", "make", "till", "--role", "staff")):
            done = run(release, "settlement", "--database", self.url, *words)
            assert done.returncode == 0, done.stderr
        self.token = done.stdout.strip().splitlines()[-1]

    def plays(self) -> None:
        """Unlock the table and feed it two ticks, so that it publishes outcomes."""
        self.table.unlock()
        self.table.feed([tick(1_000_000), tick(2_000_000)])

    def waiting(self) -> int:
        answer = self.table.ask(do="outbox")["outbox"]
        assert isinstance(answer, list)
        return len(answer)

    def faults(self) -> set[str]:
        reported = self.table.status()["faults"]
        assert isinstance(reported, list)
        return {str(fault["code"]) for fault in reported}

    def bets(self, key: str) -> tuple[int, str]:
        """Open ann's account as staff and bet on the field for her; return the answer's status and text."""
        for path, body in (("/players", {"player": "ann"}), ("/players/ann/deposits", {"cents": 1_000})):
            self.engine.ask("POST", path, body, token=self.token, key=f"{key}{len(path)}")
        bet = {"id": key, "player": "ann", "wager": "field", "amount": 100}
        status, answer = self.engine.ask("POST", "/tables/craps/wagers", bet, token=self.token, key=key)
        return status, str(answer)

    def close(self) -> None:
        self.engine.close()
        if self.table.process is not None:
            self.table.kill()


@pytest.fixture
def pair(tmp_path: Path, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    for module in ("tests.app.rig", "tests.settlement_service.service"):
        # A journal is verified at idle priority, which takes long on a busy machine.
        monkeypatch.setattr(f"{module}.PATIENCE_S", 300.0)
    one = Pair(tmp_path, broker, monkeypatch)
    yield one
    one.close()


def test_a_table_of_0_1_0_is_settled_by_this_engine_and_takes_no_bets(old: Path, pair: Pair) -> None:
    numbers = count(2)
    pair.start_table(old)
    pair.enrol(THIS)
    pair.start_engine(THIS)
    pair.plays()
    until(
        lambda: pair.waiting() == 0 and pair.table.status()["lock"] == "unlocked",
        "all outcomes to be settled",
    )
    status, says = pair.bets("b1")
    assert status == 409
    assert "too old" in says

    assert pair.table.terminate() == 0
    pair.start_table(THIS)
    until(lambda: "journal_old_layout" in pair.faults(), "the journal to wait for a person")
    assert pair.table.ask(do="approve", what="journal", who="ann", reason="upgraded")["ok"] is True
    pair.plays()
    until(
        lambda: pair.waiting() == 0 and pair.table.status()["lock"] == "unlocked",
        "all outcomes to be settled",
    )
    until(lambda: "too old" not in pair.bets(f"b{next(numbers)}")[1], "the engine to receive the update")
    assert pair.faults() <= {"settlement_absent"}

    assert pair.table.terminate() == 0
    pair.start_table(old)
    until(lambda: "journal_newer" in pair.faults(), "0.1.0 to refuse to continue")
    assert pair.table.status()["lock"] == "locked"
    assert pair.table.terminate() == 0
    pair.start_table(THIS)
    pair.plays()
    until(
        lambda: pair.waiting() == 0 and pair.table.status()["lock"] == "unlocked", "this release to continue"
    )


def test_this_table_stops_with_an_engine_of_0_1_0_and_continues_once_that_is_updated(
    old: Path, pair: Pair
) -> None:
    pair.start_table(THIS)
    pair.plays()  # before the old engine starts, because its first message locks this table
    pair.enrol(old)
    pair.start_engine(old)
    until(lambda: "answer_unsigned" in pair.faults(), "the old engine to be recognized")
    until(lambda: pair.table.status()["lock"] == "locked", "play to be locked")
    assert pair.waiting() > 0
    assert pair.table.enter("unlock")["code"] == "locked"

    copy = pair.engine.folder / "before.db"
    assert pair.engine.terminate() == 0
    shutil.copy(pair.engine.folder / "settlement.db", copy)
    pair.start_engine(THIS)
    until(lambda: pair.waiting() == 0, "the waiting outcomes to be acknowledged with a signature")
    until(lambda: "answer_unsigned" not in pair.faults(), "the fault to clear")
    pair.plays()

    assert pair.engine.terminate() == 0
    refused = run(old, "settlement", "--database", pair.url, "prove")
    assert refused.returncode != 0
    assert "settlement_newer" in refused.stderr
