"""A failing disk or journal locks the table, which reports the reason and recovers where it can."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.app.faults import WAITS
from controller.journal import opening
from controller.model.readings import AnyReading, Input
from tests.app.house import House, HouseMaker, drain, live_of, play, unlocked
from tests.app.rig import until
from tests.journal.tamper import sql, tamper
from tests.scenes import SECOND_US, input_at, throw


def codes(one: House) -> list[str]:
    return [fault.code for fault in one.daemons[-1].faults.locking if fault.code != WAITS]


def test_a_damaged_page_locks_the_table_and_the_daemon_stays_up(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    play(daemon, throw(5 * SECOND_US))
    daemon.close()
    file = one.options.place.journal
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"\xa5" * (size // 2))
    daemon = one.open()
    assert daemon.live is None
    assert set(codes(one)) & {"journal_damaged", "journal_row_changed", "journal_not_one"}
    assert "copy" in daemon.headline() or "keep" in daemon.headline()


def test_an_older_copy_of_the_journal_locks_the_table_and_the_newer_one_unlocks_it(
    house: HouseMaker, tmp_path: Path
) -> None:
    one = house(head=tmp_path / "elsewhere" / "head")
    daemon = one.open()
    unlocked(daemon)
    daemon.close()
    file = one.options.place.journal
    shutil.copy(file, tmp_path / "older")
    daemon = one.open()
    unlocked(daemon)
    play(daemon, throw(5 * SECOND_US))
    daemon.close()
    shutil.copy(file, tmp_path / "newer")
    shutil.copy(tmp_path / "older", file)
    daemon = one.open()
    assert daemon.live is None
    assert codes(one) == ["journal_restored"]
    shutil.copy(tmp_path / "newer", file)
    daemon.open()
    assert codes(one) == []
    unlocked(daemon)


def test_a_person_may_accept_an_older_journal_and_no_number_is_used_twice(
    house: HouseMaker, tmp_path: Path
) -> None:
    one = house(head=tmp_path / "elsewhere" / "head")
    one.open().close()
    shutil.copy(one.options.place.journal, tmp_path / "older")
    daemon = one.open()
    unlocked(daemon)
    play(daemon, throw(5 * SECOND_US))
    used = {outcome.seq for outcome in one.outcomes()}
    daemon.close()
    shutil.copy(tmp_path / "older", one.options.place.journal)
    daemon = one.open()
    assert codes(one) == ["journal_restored"]
    daemon.accept_journal("root", "ann", "the newer card is lost")
    daemon.run_periodic_tasks()
    assert codes(one) == []
    unlocked(daemon)
    daemon.close()
    accepted = next(row for row in one.rows() if row.name == "journal.accepted")
    assert accepted.body is not None
    assert b'"who":"ann"' in accepted.body
    after = [row for row in one.rows() if row.n > accepted.n and row.seq is not None]
    assert not used & {row.seq for row in after}


def test_a_journal_without_its_key_locks_the_table_and_the_restored_key_unlocks_it(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    daemon.close()
    hidden = one.options.key_file.rename(one.folder / "hidden")
    daemon = one.open()
    assert codes(one) == ["journal_key_missing"]
    hidden.rename(one.options.key_file)
    daemon.open()
    assert codes(one) == []


def test_a_changed_configuration_locks_until_a_person_approves_it(house: HouseMaker, tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "config" / "tables" / "craps.yaml"
    mine = tmp_path / "mine.yaml"
    shutil.copy(shipped, mine)
    one = house(table=str(mine))
    daemon = one.open()
    unlocked(daemon)
    daemon.close()
    mine.write_text(shipped.read_text(encoding="utf-8") + "\n# a word more\n", encoding="utf-8")
    for _ in range(2):
        daemon = one.open()
        assert codes(one) == ["identity_changed"], "an unapproved start must not count as an approved one"
        daemon.close()
    daemon = one.open()
    assert daemon.why_locked() is not None
    daemon.approve_identity("root", "ann")
    unlocked(daemon)
    daemon = one.restart(daemon)
    assert codes(one) == []


def arrive(daemon: Daemon, readings: list[AnyReading]) -> None:
    """Post readings as they happen."""
    for reading in readings:
        daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
        live_of(daemon).core.turn(0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 1.5 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() != 0:
        pytest.skip("only root may mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not allow mounting a small file system")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_read_only_disk_locks_the_table_from_the_start_and_a_writable_one_unlocks_it(
    small_disk: Path, house: HouseMaker, tmp_path: Path
) -> None:
    one = house()
    one.options = replace(one.options, journal=small_disk / "journal", head=tmp_path / "head")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    daemon = one.open()
    assert daemon.live is None
    assert codes(one) == ["journal_read_only"]
    assert "remount,rw" in daemon.headline()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    daemon.open()
    assert codes(one) == []
    unlocked(daemon)


def fill(disk: Path) -> Path:
    """Fill the disk completely."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        for size in (65536, 4096, 512):
            try:
                while True:
                    stream.write(b"\0" * size)
            except OSError:
                continue
    return ballast


def test_a_full_disk_locks_the_table_publishes_nothing_and_recovers_without_a_lost_row(
    small_disk: Path, house: HouseMaker, tmp_path: Path
) -> None:
    one = house()
    one.options = replace(one.options, journal=small_disk, head=tmp_path / "head")
    daemon = one.open()
    unlocked(daemon)
    live = live_of(daemon)
    dice = throw(10 * SECOND_US)
    arrive(daemon, dice[:60])
    drain(daemon)
    heard = daemon.hub.watch(frozenset({"outcomes"}))
    ballast = fill(small_disk)
    ticket = live.journal.note("test.big", {"filler": "x" * 300_000})
    until(lambda: "journal_disk_full" in codes(one), "the full disk to be noticed")
    arrive(daemon, dice[60:])
    for _ in range(3):
        daemon.clock.reach(daemon.clock.now_us() + SECOND_US)
        while live.core.turn(0):
            pass
    assert not live.core.view.attempt_open
    assert heard.take(0) == [], "a result was published before it was on the disk"
    assert not ticket.durable
    assert live.core.lamps.shown["lock"] == "locked"
    assert live.core.lamps.shown["fault"] == "journal_disk_full"
    ballast.unlink()
    until(lambda: not codes(one), "the disk to recover")
    drain(daemon)
    assert b"roll.called" in b"".join(heard.take(0))
    assert live.core.view.state.lock == "locked"
    names = [row.name for row in one.rows()]
    assert {"journal.healed", "fault.began", "test.big"} <= set(names)
    assert [outcome.seq for outcome in one.outcomes()] == list(range(1, len(one.outcomes()) + 1))
    unlocked(daemon)


def test_damage_far_back_in_the_journal_is_found_in_the_background_and_locks_the_table(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    daemon.close()
    tamper(one.options.place.journal, sql("UPDATE rows SET body = x'7b7d' WHERE n = 2"))
    monkeypatch.setattr(opening, "MIN_VERIFIED_ROWS", 1)
    daemon = one.open()
    live = live_of(daemon)
    assert codes(one) == []
    live.verifier.start()
    until(lambda: codes(one) == ["journal_row_changed"], "the verifier to find the damage")


def test_a_table_unlocked_at_the_console_during_a_fault_is_locked_again(
    house: HouseMaker,
) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    one.wall.us += 10 * 3_600_000_000
    daemon.run_periodic_tasks()
    play(daemon, [input_at(10 * SECOND_US, "inspected", what="nothing")])
    play(daemon, [input_at(20 * SECOND_US, "unlock")])
    play(daemon, [Input(t=30 * SECOND_US, dev="console", name="inspected", by="dealer")])
    locks = [kind for kind in one.types() if kind.startswith("table.")]
    assert locks[-3:] == ["table.locked", "table.unlocked", "table.locked"]
    assert live_of(daemon).core.view.state.lock == "locked"
