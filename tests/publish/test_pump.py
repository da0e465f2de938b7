"""The pump over a real journal: only an acknowledgement closes an outcome, and faults are reported."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from controller.journal.chain import Row
from controller.journal.contents import AckProof
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.model.tables import PublishSettings
from controller.publish.betting import OpenStatement
from controller.publish.events import (
    Acknowledgement,
    LineBet,
    Message,
    PairPlus,
    PlayPlaced,
    ProgressReport,
    ResendRequest,
    TableStatus,
    read_event,
)
from controller.publish.pump import MAX_REPORTS
from controller.publish.sink import NewestReport, Post, Ready
from controller.publish.wire import Signer
from tests.journal.rig import NAME, durable
from tests.publish.house import ENGINE, Books, House, until


class Slate:
    """A sink that records the offered messages."""

    def __init__(self) -> None:
        self.ready = True
        self.offered: list[Message] = []
        self.statuses: list[TableStatus] = []
        self.boards: list[bytes] = []

    def start(self, post: Post) -> None:
        post(Ready())

    def offer(self, messages: Sequence[Message]) -> None:
        self.offered += messages

    def send_open_statement(self, word: OpenStatement, key: Signer) -> None:
        raise AssertionError(f"{word} of {key}: only the core sends this, and there is no core here")

    def send_status(self, status: TableStatus) -> None:
        self.statuses.append(status)

    def show(self, board: bytes) -> None:
        self.boards.append(board)

    def stop(self, timeout_s: float) -> bool:
        return timeout_s > 0

    @property
    def seqs(self) -> list[int]:
        """Return the numbers of the outcomes offered since the last call."""
        seqs = [message.seq for message in self.offered]
        self.offered.clear()
        return seqs


@pytest.fixture
def slate() -> Slate:
    return Slate()


@pytest.fixture
def house(tmp_path: Path, slate: Slate) -> Iterator[House]:
    house = House(tmp_path, lambda _: slate, PublishSettings(max_in_flight=4))
    yield house
    house.close()


def acknowledge(house: House, *messages: Message) -> None:
    for message in messages:
        house.pump.post(Acknowledgement(id=message.id, chain=message.chain, by=ENGINE))
    house.turn()


def test_an_outcome_is_closed_only_by_an_acknowledgement(house: House, slate: Slate) -> None:
    count = house.play(10)
    for _ in range(5):
        house.turn()
    first = list(slate.offered)
    assert slate.seqs == [1, 2, 3, 4]
    assert len(house.waiting) == count
    acknowledge(house, first[0], first[1])
    assert slate.seqs == [5, 6]
    durable(house.journal.note("fence", {}))
    assert len(house.waiting) == count - 2


def test_new_outcomes_follow_those_in_the_journal_before_the_start(tmp_path: Path, slate: Slate) -> None:
    house = House(tmp_path, lambda _: slate)
    count = house.play(4)
    house.close()
    again = House(tmp_path, lambda _: slate, rig=house.rig)
    again.turn()
    assert slate.seqs == list(range(1, count + 1))
    assert again.pump.unacknowledged == count
    again.close()


def test_nothing_is_offered_to_a_sink_that_is_not_ready_but_silence_is_counted(
    house: House, slate: Slate
) -> None:
    slate.ready = False
    house.play(3)
    house.turn()
    house.clock.forward(121)
    house.turn()
    assert slate.seqs == []
    assert "settlement_silent" in house.alarms.holding
    slate.ready = True
    house.pump.post(Ready())
    house.turn()
    assert slate.seqs == [1, 2, 3, 4]


def test_too_many_unacknowledged_lock_play_until_settlement_has_caught_up(
    tmp_path: Path, slate: Slate
) -> None:
    house = House(tmp_path, lambda _: slate, PublishSettings(max_in_flight=4, max_unacknowledged=8))
    count = house.play(9)
    house.turn()
    fault = house.alarms.holding["settlement_behind"]
    assert fault.kind.locks
    assert fault.found == f"{count} unacknowledged; the oldest is table-7/1/1"
    left = count
    while left > 4:
        assert "settlement_behind" in house.alarms.holding
        message = slate.offered.pop(0)
        acknowledge(house, message)
        left -= 1
    assert not house.alarms.holding
    house.close()


def test_outcomes_lost_with_a_connection_are_offered_at_once_in_order(house: House, slate: Slate) -> None:
    house.play(5)
    house.turn()
    second = slate.offered[1]
    assert slate.seqs == [1, 2, 3, 4]
    acknowledge(house, second)
    house.pump.post(Ready())
    house.turn()
    assert slate.seqs == [1, 3, 4]


def test_a_request_to_resend_an_outcome_in_transit_repeats_it_once(house: House, slate: Slate) -> None:
    house.play(5)
    house.turn()
    assert slate.seqs == [1, 2, 3, 4]
    for _ in range(20):
        house.pump.post(ResendRequest(from_seq=2, by=ENGINE))
    house.turn()
    assert slate.seqs == [1, 2, 3, 4]


def test_closed_outcomes_are_resent_on_request_before_new_ones(house: House, slate: Slate) -> None:
    books = Books(key=house.rig.key.public)
    count = house.play(10)

    def settle() -> None:
        house.turn()
        while slate.offered:
            for answer in books.enter(slate.offered.pop(0).event):
                house.pump.post(answer)
            house.turn()

    settle()
    assert books.seqs == list(range(1, count + 1))
    del books.applied[2:]
    house.clock.forward(10)
    house.pump.post(ResendRequest(from_seq=3, told=count, by=ENGINE))
    settle()
    assert books.seqs == list(range(1, count + 1))
    total = house.play_on()
    settle()
    assert books.seqs == list(range(1, total + 1))
    assert not books.holes
    assert not house.alarms.ever


def test_resent_outcomes_keep_their_order_with_those_in_transit(house: House, slate: Slate) -> None:
    house.play(5)
    house.turn()
    acknowledge(house, *slate.offered)
    assert slate.seqs == [1, 2, 3, 4, 5, 6, 7, 8]
    house.pump.post(ResendRequest(from_seq=3, told=8, by=ENGINE))
    house.turn()
    house.clock.forward(60)
    house.turn()
    assert slate.seqs == [3, 4, 5, 6, 3, 4, 5, 6]


@pytest.mark.parametrize("from_seq", [10_000, 9])
def test_a_request_for_unpublished_outcomes_changes_nothing(
    house: House, slate: Slate, from_seq: int
) -> None:
    house.play(5)
    house.turn()
    slate.offered.clear()
    house.pump.post(ResendRequest(from_seq=from_seq, by=ENGINE))
    house.turn()
    assert slate.seqs in ([], [1, 2, 3, 4])


def test_a_request_for_pruned_outcomes_reports_what_is_gone(house: House, slate: Slate) -> None:
    house.play(4)
    house.turn()
    while slate.offered:
        acknowledge(house, slate.offered.pop(0))
    durable(house.journal.note("fence", {}))
    house.journal.close()
    house.journal = house.rig.open()
    house.pump._journal = house.journal
    latest = 2**62
    durable(house.journal.prune(evidence_before_us=latest, bodies_before_us=latest, by="technician"))
    house.pump.post(ResendRequest(from_seq=1, told=house.pump._last_seq, by=ENGINE))
    house.turn()
    assert slate.seqs == []
    assert "outcomes 1 to 4 were pruned" in house.alarms.holding["replay_impossible"].found


@pytest.mark.parametrize("room", [0, 2])
def test_the_fault_about_pruned_outcomes_lasts_until_a_replay_is_complete(
    house: House, slate: Slate, room: int
) -> None:
    """The last batch of the complete replay is full, or has room for `room` more outcomes."""
    count = house.play(6)
    house.turn()
    while slate.offered:
        acknowledge(house, slate.offered.pop(0))
    durable(house.journal.note("fence", {}))
    house.journal.close()
    house.journal = house.rig.open()
    house.pump._journal = house.journal
    seventh_us = house.rig.published[6].wall.us
    durable(house.journal.prune(evidence_before_us=0, bodies_before_us=seventh_us, by="technician"))

    def replay(from_seq: int) -> str:
        """Replay the outcomes, four at a time; return the fault at the end, or an empty string."""
        house.clock.forward(60)
        house.pump.post(ResendRequest(from_seq=from_seq, told=count, by=ENGINE))
        house.turn()
        for _ in range(count):
            acknowledge(house, *slate.offered)
        assert slate.seqs[-1] == count
        fault = house.alarms.holding.get("replay_impossible")
        return "" if fault is None else fault.found

    assert replay(1) == "outcomes 1 to 6 were pruned"
    assert replay(count - 3 + room) == ""


def test_outcomes_no_longer_in_memory_are_read_from_the_disk(house: House, slate: Slate) -> None:
    count = house.play(10)
    for forgotten in ([0], [2, 3], list(range(8))):
        for place in reversed(forgotten):
            if place < len(house.pump._fresh):
                del house.pump._fresh[place]
        house.turn()
        acknowledge(house, *slate.offered[-4:])
    for _ in range(count):
        acknowledge(house, *slate.offered[-4:])
    assert slate.seqs == list(range(1, count + 1))


def test_an_outbox_that_cannot_be_read_is_a_fault_and_read_again(house: House, slate: Slate) -> None:
    opens = house.pump._open_outbox

    def broken() -> object:
        raise JournalFault("journal_io_error", "journal.db", "an error of the disk", "a sound disk")

    house.pump._open_outbox = broken  # type: ignore[assignment]  # it never gives anything
    house.play(3)
    house.turn()
    assert "outbox_unreadable" in house.alarms.holding
    house.pump._open_outbox = opens
    house.turn()
    assert slate.seqs == [1, 2, 3, 4]
    assert not house.alarms.holding


def test_a_row_that_was_changed_on_the_disk_is_never_published(house: House, slate: Slate) -> None:
    house.play(3)
    house.pump._fresh.clear()
    opens = house.pump._open_outbox

    class Changed(Reader):
        def outbox(self, limit: int = 100, after_n: int = 0) -> list[Row]:
            rows = super().outbox(limit, after_n)
            assert rows[2].body is not None
            return [*rows[:2], msgspec.structs.replace(rows[2], body=rows[2].body + b" "), *rows[3:]]

    house.pump._open_outbox = lambda: Changed(house.rig.place.journal)
    house.turn()
    assert slate.seqs == [1, 2]
    assert "journal_row_changed" in house.alarms.holding["outbox_unreadable"].found
    house.pump._open_outbox = opens
    house.turn()
    assert slate.seqs == [3, 4]
    assert not house.alarms.holding


def test_an_acknowledgement_that_the_journal_refuses_leaves_the_outcome_waiting(
    house: House, slate: Slate, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.play(3)
    house.turn()

    def full(*_: object) -> object:
        raise JournalFault("journal_disk_full", "journal.db", "no space", "a disk with space")

    with monkeypatch.context() as patch:
        patch.setattr(house.journal, "acknowledge", full)
        acknowledge(house, slate.offered[0])
    slate.offered.clear()
    house.clock.forward(60)
    house.turn()
    assert slate.seqs == [1, 2, 3, 4]


def test_more_answers_than_can_wait_are_a_fault_and_nothing_is_lost(house: House, slate: Slate) -> None:
    count = house.play(3)
    house.turn()
    for _ in range(MAX_REPORTS + 1):
        house.pump.post(Ready())
    acknowledge(house, *slate.offered)
    assert "answers_overflow" in house.alarms.holding
    slate.offered.clear()
    house.clock.forward(60)
    house.turn()
    assert not house.alarms.holding
    acknowledge(house, *slate.offered)
    acknowledge(house, *slate.offered[4:])
    assert house.pump.unacknowledged == max(0, count - 8)


def test_the_status_shows_settlements_progress_and_is_sent_only_when_it_changes(
    house: House, slate: Slate
) -> None:
    house.turn()
    count = house.play(3)
    house.clock.forward(2)
    house.turn()
    house.clock.forward(2)
    house.turn()
    assert [status.unacknowledged for status in slate.statuses] == [0, count]
    newest = slate.statuses[-1]
    assert newest.sequence == count
    assert newest.chain == house.rig.published[-1].link.hex()


def test_messages_match_the_journal(house: House, slate: Slate) -> None:
    house.play(3)
    house.turn()
    for message, row in zip(slate.offered, house.rig.published, strict=False):
        event = read_event(message.event)
        assert (event.seq, event.chain) == (row.seq, row.link.hex())


def meets(
    house: House, sequence: int, chain: str | None, known: int | None = None, by: str = ENGINE
) -> set[str]:
    """Post a progress report made when the engine knew `known` outcomes; return the active faults."""
    newest = max(sequence, house.pump._last_seq) if known is None else known
    house.pump.post(
        ProgressReport(table=NAME, told=newest, sequence=sequence, chain=chain, key="0" * 64, by=by)
    )
    house.turn()
    return set(house.alarms.holding)


def test_a_progress_report_that_agrees_raises_no_fault(house: House, slate: Slate) -> None:
    house.play(3)
    house.turn()
    assert meets(house, 0, None) == set()
    first = slate.offered[0]
    acknowledge(house, first)
    assert meets(house, 1, first.chain) == set()


def test_a_repeated_old_progress_report_neither_raises_nor_clears_a_fault(house: House, slate: Slate) -> None:
    """An old report could show a loss that did not happen, or clear a fault that is still present."""
    count = house.play(5)
    house.turn()
    first = slate.offered[0]
    acknowledge(house, *slate.offered[:3])
    durable(house.journal.note("fence", {}))
    slate.offered.clear()
    assert meets(house, 1, first.chain, known=1) == set()
    assert slate.seqs == [], "the report must not cause a resend"
    assert meets(house, count, "ab" * 32) == {"settlement_differs"}
    for _ in range(3):
        house.clock.forward(6)
        assert "settlement_differs" in meets(house, 1, first.chain, known=1)
    assert "settlement_lost" not in house.alarms.ever


def test_an_engine_that_really_lost_what_it_acknowledged_is_reported(house: House, slate: Slate) -> None:
    house.play(5)
    house.turn()
    first = slate.offered[0]
    acknowledge(house, *slate.offered[:3])
    durable(house.journal.note("fence", {}))
    assert meets(house, 1, first.chain, known=3) == {"settlement_lost"}


def test_repeated_requests_for_the_past_do_not_delay_new_outcomes(house: House, slate: Slate) -> None:
    """If each request restarted the replay, new outcomes would never be sent and no bet accepted."""
    count = house.play(10)

    def settle() -> None:
        house.turn()
        while slate.offered:
            acknowledge(house, slate.offered.pop(0))
            house.turn()

    settle()
    wish = ResendRequest(table=NAME, from_seq=1, told=count, by=ENGINE)
    house.clock.forward(60)
    house.pump.post(wish)
    house.turn()
    assert slate.seqs[:1] == [1], "a request in time must be served"
    for _ in range(count):
        house.clock.forward(60)
        house.pump.post(wish)
        if slate.offered:
            acknowledge(house, slate.offered.pop(0))
        house.turn()
    settle()
    total = house.play_on()
    settle()
    durable(house.journal.note("fence", {}))
    assert house.pump.unacknowledged == 0
    for _ in range(3):
        house.clock.forward(60)
        house.pump.post(wish)
        house.turn()
    assert slate.seqs == [], f"a request from when {count} were known, with {total} settled"


def test_an_engine_that_is_ahead_of_the_journal_locks_play(house: House) -> None:
    count = house.play(3)
    house.turn()
    assert meets(house, count + 1, "0" * 64) == {"settlement_ahead"}
    assert meets(house, 0, None) == set()


def test_an_engines_name_is_shown_in_printable_form(house: House) -> None:
    count = house.play(3)
    house.turn()
    assert meets(house, count + 1, "0" * 64, by="\x1b[2J\n" + "x" * 190) == {"settlement_ahead"}
    where = house.alarms.holding["settlement_ahead"].where
    assert where.startswith(r"settlement engine \x1b[2J\nxxx")
    assert where.isprintable()
    assert len(where) < 130


def test_a_journal_that_lost_its_last_commit_and_plays_on_is_found_at_the_next_progress_report(
    house: House, slate: Slate
) -> None:
    """The restored head file matches the journal, and the new outcomes repeat the lost numbers."""
    count = house.play(3)
    house.turn()
    lost = "ab" * 32
    assert house.rig.published[-1].link.hex() != lost
    assert meets(house, count, lost) == {"settlement_differs"}
    assert house.alarms.holding["settlement_differs"].kind.locks


def test_an_engine_with_another_outcome_under_a_number_locks_play(house: House, slate: Slate) -> None:
    house.play(3)
    house.turn()
    acknowledge(house, slate.offered[0])
    assert meets(house, 1, "0" * 64) == {"settlement_differs"}


def test_what_an_engine_has_lost_is_reported_and_sent_again(house: House, slate: Slate) -> None:
    """The acknowledgement is in the journal, but the restored database has lost the booking."""
    house.play(3)
    house.turn()
    acknowledge(house, *slate.offered[:3])
    until(lambda: len(house.waiting) == len(house.rig.published) - 3)
    slate.offered.clear()
    assert meets(house, 1, house.rig.published[0].link.hex()) == {"settlement_lost"}
    house.turn()
    assert slate.seqs[:3] == [2, 3, 4]


def test_endless_reports_of_a_line_bet_reach_the_core_only_now_and_then(house: House) -> None:
    """Two genuine reports alternate, and a row for each would fill the journal's queue."""
    entered: list[tuple[str, bool]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.pump, "_line_bet", lambda seat, has: entered.append((seat, has)))
        for _ in range(400):
            for has in (True, False, True):
                house.pump.post(
                    LineBet(table=NAME, session=0, sequence=4, step=9, seat="3", has=has, by=ENGINE)
                )
            house.turn()
        assert entered == [("3", True)]
        house.pump.post(LineBet(table=NAME, session=0, sequence=4, step=9, seat="3", has=False, by=ENGINE))
        house.turn()
        house.clock.forward(1)
        house.turn()
        assert entered == [("3", True), ("3", False)]


def test_endless_reports_of_pair_plus_reach_the_core_only_now_and_then(house: House) -> None:
    entered: list[tuple[str, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.pump, "_pair_plus", entered.append)
        for _ in range(400):
            for without in (("2",), (), ("2",)):
                house.pump.post(
                    PairPlus(table=NAME, session=0, sequence=4, step=9, without=without, by=ENGINE)
                )
            house.turn()
        assert entered == [("2",)]
        house.pump.post(PairPlus(table=NAME, session=0, sequence=4, step=9, without=(), by=ENGINE))
        house.clock.forward(1)
        house.turn()
        assert entered == [("2",), ()]


def test_a_report_on_bets_older_than_one_already_received_is_ignored(house: House) -> None:
    """A client that may write to the broker sends the engine's signed messages again."""
    entered: list[tuple[str, bool]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.pump, "_line_bet", lambda seat, has: entered.append((seat, has)))
        for sequence, step, has in (
            (4, 9, False),
            (4, 10, True),
            (4, 9, False),
            (3, 11, False),
            (5, 9, True),
        ):
            word = LineBet(table=NAME, session=0, sequence=sequence, step=step, seat="3", has=has, by=ENGINE)
            house.pump.post(word)
            house.turn()
            house.clock.forward(1)
            house.turn()
        assert entered == [("3", False), ("3", True)]


def placed(session: int, *seats: str, step: int = 9) -> PlayPlaced:
    return PlayPlaced(table=NAME, session=session, sequence=9, step=step, round=3, seats=seats, by=ENGINE)


def test_positions_with_play_reach_the_core_and_an_older_report_is_ignored(house: House) -> None:
    entered: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.pump, "_played", lambda round_, seats: entered.append((round_, seats)))
        for word in (placed(0, "2"), placed(0, "2", "5", step=10), placed(0, "2")):
            house.pump.post(word)
            house.turn()
            house.clock.forward(1)
            house.turn()
    assert entered == [(3, ("2",)), (3, ("2", "5"))]


def test_a_report_on_bets_for_an_earlier_session_is_ignored(house: House) -> None:
    """After a restart between two outcomes only the session differs; the newest number is unchanged."""
    entered: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.pump, "_session", 12)
        patch.setattr(house.pump, "_line_bet", lambda seat, has: entered.append((seat, has)))
        patch.setattr(house.pump, "_pair_plus", entered.append)
        patch.setattr(house.pump, "_played", lambda round_, seats: entered.append((round_, seats)))
        for session in (11, 13, 0):
            house.pump.post(
                LineBet(table=NAME, session=session, sequence=9, step=9, seat="3", has=False, by=ENGINE)
            )
            house.pump.post(
                PairPlus(table=NAME, session=session, sequence=9, step=9, without=("2",), by=ENGINE)
            )
            house.pump.post(placed(session, "2"))
            house.turn()
            house.clock.forward(1)
        assert entered == []
        house.pump.post(LineBet(table=NAME, session=12, sequence=9, step=9, seat="3", has=True, by=ENGINE))
        house.turn()
        assert entered == [("3", True)]


def test_a_report_older_than_the_acknowledged_outcomes_is_ignored() -> None:
    newest: NewestReport[str] = NewestReport(7)
    newest.put("of last week", (6, 100))
    assert newest.due(10**9) is None
    newest.put("now", (7, 0))
    assert newest.due(10**9) == "now"


def test_a_flood_of_acknowledgements_takes_none_of_the_journals_room(house: House) -> None:
    """Eight thousand unknown ids would fill the journal's queue, which outcomes need."""
    house.play(3)
    house.turn()
    asked: list[str] = []
    takes = house.journal.acknowledge

    def counted(outcome_id: str, chain: str, by: str, proof: AckProof | None) -> object:
        asked.append(outcome_id)
        return takes(outcome_id, chain, by, proof)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house.journal, "acknowledge", counted)
        for number in range(8_000):
            house.pump.post(Acknowledgement(id=f"{NAME}/9/{number}", chain="0" * 64, by=ENGINE))
            if number % 1_000 == 0:
                house.turn()
        house.turn()
    assert len(asked) <= 1
    assert house.pump.unmatched > 3_000
