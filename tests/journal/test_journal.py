"""Entries of the journal are reported only when durable, in order, without waiting, and never dropped."""

import os

import apsw
import pytest

from controller.journal.chain import Row
from controller.journal.contents import canonical
from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.store import open_reader
from controller.journal.writer import Limits, Ticket
from controller.model.effects import LateReading
from controller.model.readings import BallDrop
from tests.journal.disks import Disk, RefusingDisk, StallingDisk, mounted
from tests.journal.rig import LIMITS, NAME, PATIENCE_S, Rig, append, begin, durable, play_throws


def late(t: int) -> LateReading:
    return LateReading(reading=BallDrop(t=t, dev="wheel"), behind_us=5)


def names(rig: Rig) -> list[str]:
    with Reader(rig.place.journal) as reader:
        return [row.name for row in reader.rows()]


def test_every_outcome_is_reported_in_order_as_the_bytes_that_are_published(rig: Rig) -> None:
    steps = rig.played(6)
    published = [canonical(outcome) for step in steps for outcome in step.outcomes]
    assert [row.body for row in rig.published] == published
    assert [row.seq for row in rig.published] == list(range(1, len(published) + 1))
    assert rig.alarms == []


def test_a_reported_outcome_is_already_on_the_disk(rig: Rig) -> None:
    """A second reader finds the row, its evidence and its entry in the outbox at the moment of the report."""
    seen: list[bool] = []

    def look(ticket: Ticket) -> None:
        connection = open_reader(rig.place.journal)
        for row in ticket.outcomes:
            link = connection.execute("SELECT link FROM rows JOIN outbox USING (n) WHERE n = ?", (row.n,)).get
            proof = connection.execute("SELECT count(*) FROM evidence WHERE n = ?", (row.n,)).get
            seen.append(link == row.link and (proof == 1) == (row.evidence is not None))
        connection.close()

    with Journal.open(
        rig.place, rig.key, table=NAME, wall=rig.wall, on_durable=look, alarm=lambda _: None
    ) as journal:
        begin(journal)
        for step in play_throws(3):
            append(journal, step)
    assert len(seen) == sum(len(step.outcomes) for step in play_throws(3))
    assert all(seen)


def test_a_stalled_disk_delays_no_caller_and_loses_nothing(rig: Rig) -> None:
    disk = StallingDisk()
    steps = play_throws(6)
    with mounted(disk) as vfs:
        journal = rig.open(vfs=vfs)
        durable(begin(journal))
        disk.stall()
        tickets = [append(journal, step) for step in steps]
        assert disk.stalled.wait(PATIENCE_S)
        assert not any(ticket.durable for ticket in tickets)
        assert journal.waiting == len(tickets)
        assert rig.published == []
        disk.go_on()
        for ticket in tickets:
            durable(ticket)
        journal.close()
        assert journal.waiting == 0
    assert [row.seq for row in rig.published] == [o.seq for step in steps for o in step.outcomes]


def test_rows_handed_over_together_share_a_commit(rig: Rig) -> None:
    commits: list[str] = []

    class Counting(StallingDisk):
        def synced(self, name: str) -> None:
            commits.append(name)

    disk = Counting()
    with mounted(disk) as vfs:
        journal = rig.open(vfs=vfs)
        durable(begin(journal))
        disk.stall()
        tickets = [append(journal, play_throws(6)[0])]
        assert disk.stalled.wait(PATIENCE_S)
        tickets += [append(journal, step) for step in play_throws(6)[1:]]
        commits.clear()
        disk.go_on()
        for ticket in tickets:
            durable(ticket)
        synced = commits.count("journal.db-wal")
        journal.close()
    assert len(tickets) > 10
    assert synced == 2


@pytest.mark.parametrize("at", ["write", "sync"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (apsw.FullError, "journal_disk_full"),
        (apsw.IOError, "journal_io_error"),
        (apsw.ReadOnlyError, "journal_read_only"),
        (apsw.BusyError, "journal_write_failed"),
    ],
)
def test_a_disk_that_refuses_writes_is_a_named_fault_that_clears(
    rig: Rig, error: type[apsw.Error], code: str, at: str
) -> None:
    disk = RefusingDisk(error, at="write" if at == "write" else "sync")
    steps = play_throws(4)
    with mounted(disk) as vfs:
        journal = rig.open(vfs=vfs)
        durable(begin(journal))
        disk.refuses = True
        tickets = [append(journal, step) for step in steps]
        assert disk.refused.wait(PATIENCE_S)
        assert rig.published == []
        assert rig.alarms == [code]
        assert journal.fault is not None
        assert journal.fault.code == code
        disk.refuses = False
        for ticket in tickets:
            durable(ticket)
        journal.close()
    assert rig.alarms == [code, None]
    assert [row.seq for row in rig.published] == [o.seq for step in steps for o in step.outcomes]
    assert "journal.healed" in names(rig)
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().outcomes == len(rig.published)


def test_rows_beyond_the_queues_limit_are_a_fault_and_leave_no_gap(rig: Rig) -> None:
    disk = StallingDisk()
    with mounted(disk) as vfs:
        journal = rig.open(Limits(max_waiting=3), vfs=vfs)
        durable(begin(journal))
        disk.stall()
        taken = [append(journal, play_throws(6)[0])]
        assert disk.stalled.wait(PATIENCE_S)
        taken += [append(journal, step) for step in play_throws(6)[1:4]]
        for step in play_throws(6)[4:6]:
            with pytest.raises(JournalFault, match="3 entries waiting") as raised:
                append(journal, step)
            assert raised.value.code == "journal_overflow"
        disk.go_on()
        for ticket in taken:
            durable(ticket)
        with pytest.raises(JournalFault, match="journal_overflow"):
            append(journal, play_throws(6)[4])
        journal.close()
    assert rig.alarms == ["journal_overflow"]
    assert [row.seq for row in rig.published] == [o.seq for step in play_throws(6)[:4] for o in step.outcomes]


def test_closing_on_a_disk_that_refuses_writes_reports_what_is_lost(rig: Rig) -> None:
    disk = RefusingDisk(apsw.FullError, at="write")
    with mounted(disk) as vfs:
        journal = rig.open(vfs=vfs)
        durable(begin(journal))
        disk.refuses = True
        append(journal, play_throws(2)[0])
        assert disk.refused.wait(PATIENCE_S)
        with pytest.raises(JournalFault, match="journal_not_flushed"):
            journal.close(timeout_s=0.01)
        disk.refuses = False
    with rig.open() as again:
        assert again.recovered.first.seq == 1


def test_a_closed_journal_accepts_nothing(rig: Rig) -> None:
    journal = rig.open()
    journal.close()
    with pytest.raises(JournalFault, match="journal_closed"):
        begin(journal)


def test_a_gap_in_the_outcome_numbers_is_refused(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal))
        steps = [step for step in play_throws(3) if step.outcomes]
        durable(append(journal, steps[0]))
        with pytest.raises(JournalFault, match="journal_out_of_sequence"):
            append(journal, steps[2])
        durable(append(journal, steps[1]))


def test_an_exception_in_a_listener_does_not_stop_the_journal(rig: Rig) -> None:
    alarms: list[str | None] = []
    heard: list[int] = []

    def fail_once(ticket: Ticket) -> None:
        heard.append(len(ticket.rows))
        if len(heard) == 1:
            raise ValueError("a defect")

    with Journal.open(
        rig.place,
        rig.key,
        table=NAME,
        wall=rig.wall,
        on_durable=fail_once,
        alarm=lambda fault: alarms.append(None if fault is None else fault.code),
    ) as journal:
        durable(begin(journal))
        durable(append(journal, play_throws(1)[0]))
    assert len(heard) == 2
    assert alarms == ["journal_teller_failed", None]


def test_an_exception_in_the_writer_is_reported_as_a_fault(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Row]:
        raise ValueError("a defect")

    journal = rig.open()
    durable(begin(journal))
    monkeypatch.setattr("controller.journal.writer.seal", fail)
    ticket = append(journal, play_throws(1)[0])
    journal.close()
    assert not ticket.durable
    assert rig.alarms == ["journal_stopped"]
    with pytest.raises(JournalFault, match=r"journal_(stopped|closed)"):
        begin(journal)


def test_late_readings_wait_for_a_row_to_be_stored_with(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal))
        first = journal.append([late(1)], play_throws(1)[0].state, play_throws(1)[0].first)
        second = journal.append([late(2)], play_throws(1)[0].state, play_throws(1)[0].first)
        durable(append(journal, play_throws(1)[0]))
        assert durable(first).rows == durable(second).rows
    assert names(rig).count("readings.late") == 1


def test_late_readings_get_their_own_row_after_a_time(rig: Rig) -> None:
    with rig.open(Limits(max_late=3)) as journal:
        tickets = [
            journal.append([late(t)], play_throws(1)[0].state, play_throws(1)[0].first) for t in range(3)
        ]
        for ticket in tickets:
            durable(ticket)
        last = journal.append([late(4)], play_throws(1)[0].state, play_throws(1)[0].first)
    assert last.durable


def test_events_are_journaled_beside_outcomes(rig: Rig) -> None:
    with rig.open() as journal:
        durable(journal.note("control.used", {"command": "restart", "uid": 1000, "who": "ann"}))
        durable(journal.note("clock.noted", {"t": 5, "epoch": "2026-01-01T20:00:00Z"}))
    assert names(rig) == ["control.used", "clock.noted", "journal.checkpoint"]


def test_the_wal_is_checkpointed_when_nothing_waits(rig: Rig) -> None:
    with rig.open(Limits(wal_pages=1)) as journal:
        begin(journal)
        for step in play_throws(3):
            append(journal, step)
        durable(journal.note("clock.noted", {}))
        durable(journal.note("clock.noted", {}))
    assert not rig.place.journal.with_name("journal.db-wal").exists()
    assert rig.alarms == []


def test_a_wal_that_cannot_be_checkpointed_is_a_fault_that_clears(rig: Rig) -> None:
    class Full(Disk):
        full = True

        def before_write(self, name: str) -> None:
            if self.full and name == "journal.db":
                raise apsw.FullError("raised by the test")

    disk = Full()
    with mounted(disk) as vfs:
        disk.full = False
        journal = rig.open(Limits(wal_pages=1), vfs=vfs)
        disk.full = True
        durable(begin(journal))
        durable(journal.note("clock.noted", {}))
        assert rig.alarms == ["journal_disk_full"]
        disk.full = False
        durable(journal.note("clock.noted", {}))
        journal.close()
    assert rig.alarms == ["journal_disk_full", None]


def test_a_head_file_that_cannot_be_written_is_a_fault_and_delays_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _data: bytes, _offset: int) -> int:
        raise OSError(28, "No space left on device")

    with rig.open() as journal:
        durable(begin(journal))
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", refuse)
            durable(append(journal, play_throws(2)[0]))
            durable(append(journal, play_throws(2)[1]))
        durable(append(journal, play_throws(2)[2]))
    assert rig.alarms == ["journal_disk_full", None]
    assert len(rig.published) == sum(len(step.outcomes) for step in play_throws(2)[:3])


def test_the_default_limits_are_those_of_a_table(rig: Rig) -> None:
    assert LIMITS.rows_between_checkpoints == Limits().rows_between_checkpoints
    with rig.open(Limits(rows_between_checkpoints=5)) as journal:
        for _ in range(12):
            durable(journal.note("clock.noted", {}))
    assert names(rig).count("journal.checkpoint") == 3
