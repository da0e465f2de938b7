"""Each file of a table's folder is emptied, cut, overwritten, replaced or removed, and a fault names it.

The fault clears when the file is restored. Damage to an unimportant file is ignored. No outcome and no money
is lost.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from controller.app.options import Options
from controller.app.service import Watchdog
from controller.model.outcomes import Outcome
from controller.model.tables import EmbeddedSettings, PublishSettings
from controller.settlement_service.account_requests import AccountRequests, Caller, RequestIdentity
from controller.settlement_service.embedded import EmbeddedEngine
from tests.app.house import House, live_of, play, unlocked
from tests.app.rig import until
from tests.scenes import SECOND_US, input_at, throw

STAFF = Caller(name="cage", role="staff")
CHIPS = 10_000
DAMAGES = ("empty", "half", "overwritten", "a folder", "gone")
HARMLESS = {
    "journal.db.lock": {"empty", "half", "overwritten", "gone"},
    "journal.head": {"half"},
}
"""Harmless damage: to the lock file's number, or to the older of two records."""
RECORDING = "recordings"
"""No published outcome depends on a recording, because the journal holds each outcome's evidence."""


def table_in(folder: Path) -> House:
    """Return a table with its files in this folder and its engine in its own process."""
    one = House(folder, Options(journal=folder / "journal", socket=folder / "control", table="craps"))
    one.options = replace(one.options, self_test_devices=False)
    one.engine = lambda asked: EmbeddedEngine(asked, lambda: 0, lambda: "0" * 32)
    one.publish = PublishSettings(embedded=EmbeddedSettings(api_port=None))
    return one


class FinishedSession:
    """The outcomes and payments at the end of the session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        one = table_in(folder)
        daemon = one.open()
        live = live_of(daemon)
        unlocked(daemon)
        live.recorder.start()
        live.publish(Watchdog(daemon.faults))
        within = engine_of(one)
        until(lambda: within._consumer is not None, "the engine")
        taker = within._consumer
        assert taker is not None
        desk = AccountRequests(taker._engine)
        desk.open_account(RequestIdentity(STAFF, "account"), "ann")
        desk.pay(RequestIdentity(STAFF, "chips"), "ann", CHIPS)
        play(daemon, [input_at(3 * SECOND_US, "new_shooter", seat="1"), *throw(5 * SECOND_US, (4, 4))])
        until(lambda: taker._engine.newest_settled("craps") is not None, "the settled roll")
        daemon.close()
        self.published: list[Outcome] = one.outcomes()
        for extra in (*(folder / "journal").glob("*-wal"), *(folder / "journal").glob("*-shm")):
            assert not extra.stat().st_size or extra.name.endswith("-shm"), "an orderly stop leaves no log"
            extra.unlink()

    @property
    def files(self) -> list[Path]:
        """Return the files by their paths in the folder, except those that SQLite recreates."""
        left = (
            path
            for path in (self.folder / "journal").rglob("*")
            if path.is_file() and not path.name.endswith(("-shm", "-wal"))
        )
        return sorted(path.relative_to(self.folder) for path in left)


def engine_of(one: House) -> EmbeddedEngine:
    sink = live_of(one.daemons[-1])._publishing._sink
    consumer = sink._consumer  # type: ignore[union-attr]  # the embedded engine
    assert isinstance(consumer, EmbeddedEngine)
    return consumer


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> FinishedSession:
    return FinishedSession(tmp_path_factory.mktemp("session"))


def damage(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how in ("a folder", "gone"):
        file.unlink()
        if how == "a folder":
            file.mkdir()
    else:
        left = {
            "empty": b"",
            "half": content[: len(content) // 2],
            "overwritten": b"\xa5" * max(64, len(content)),
        }
        file.write_bytes(left[how])


def started(folder: Path) -> tuple[House, list[str]]:
    """Start a table as far as its files allow; return the faults."""
    one = table_in(folder)
    daemon = one.open()
    if daemon.live is not None:
        live_of(daemon).publish(Watchdog(daemon.faults))
        within = engine_of(one)
        until(lambda: within._consumer is not None or troubled(one), "the engine or its fault")
    return one, [f"{fault.code}: {fault.where}: {fault.found}" for fault in daemon.faults.present]


def troubled(one: House) -> bool:
    return any(fault.code.startswith("settlement") for fault in one.daemons[-1].faults.present)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_named_and_with_the_file_restored_nothing_is_lost(
    how: str, session: FinishedSession, tmp_path: Path
) -> None:
    assert {"journal.db", "journal.head", "table.key", "settlement.db", "identity.json"} <= {
        file.name for file in session.files
    }
    for number, file in enumerate(session.files):
        folder = shutil.copytree(session.folder, tmp_path / str(number))
        damage(folder / file, how)
        one, wrong = started(folder)
        named = [each for each in wrong if str(folder / file) in each]
        harmless = RECORDING in file.parts or how in HARMLESS.get(file.name, ())
        assert harmless or named, (str(file), how, wrong)
        assert one.daemons[-1].headline(), (str(file), how)
        one.daemons[-1].close()
        if (folder / file).is_dir():
            (folder / file).rmdir()
        for other in session.files:
            shutil.copy2(session.folder / other, folder / other)
        for extra in (*(folder / "journal").glob("*-wal"), *(folder / "journal").glob("*-shm")):
            extra.unlink()
        again, _ = started(folder)
        taker = engine_of(again)._consumer
        assert taker is not None, (str(file), how)
        with taker._engine.work() as work:
            assert work.balance("player:ann") == CHIPS, (str(file), how)
        published = again.outcomes()[: len(session.published)]
        assert published == session.published, (str(file), how)
        again.daemons[-1].close()
        shutil.rmtree(folder)
