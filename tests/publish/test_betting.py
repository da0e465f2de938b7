"""The table's statement that bets are open: its contents, its frequency, and when it is not sent."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import MsgspecError

from controller.journal.keys import Key, load_key, new_key
from controller.publish.betting import (
    MAX_QUERIES,
    STATEMENT_PERIOD_US,
    Announcer,
    Betting,
    OpenStatement,
    read_statement,
    statement_bytes,
    statement_signed_by,
)
from tests.publish.house import ENGINE_KEY, Clock

LATENESS_US = 120_000
N1, N2 = "1" * 32, "2" * 32


class Table:
    """A table whose watermark lags behind the test's clock."""

    def __init__(self) -> None:
        self.clock = Clock(1_000_000)
        self.announcer = Announcer("wheel-1", "7", self.clock)
        self.words: list[OpenStatement] = []
        self.announcer.say = self.words.append
        self.round = 1

    def turns(self, *, closed: bool = False) -> list[OpenStatement]:
        """Run one turn of the core; return the statements that it sent."""
        before = len(self.words)
        until_us = self.clock.now - LATENESS_US
        betting = Betting(None if closed else "wagers", self.round, 5, until_us)
        self.announcer.note(betting, self.clock.now)
        return self.words[before:]

    def due(self) -> None:
        """Advance the clock to the next due turn."""
        due_us = self.announcer.due_us(LATENESS_US)
        assert due_us is not None
        self.clock.now = max(self.clock.now, due_us)

    def later(self, us: int, *, closed: bool = False) -> list[OpenStatement]:
        """Advance the clock, and run one turn of the core."""
        self.clock.now += us
        return self.turns(closed=closed)


@pytest.fixture
def table() -> Table:
    return Table()


def test_the_statement_is_sent_at_least_twice_a_second_while_bets_are_open(table: Table) -> None:
    said = [word.t for _ in range(200) for word in table.later(50_000)]
    assert all(later - earlier <= 500_000 for earlier, later in pairwise(said))
    assert len(said) >= 20


def test_a_turn_is_due_when_the_next_statement_is(table: Table) -> None:
    assert table.turns()
    for _ in range(20):
        table.due()
        assert table.turns()
    assert table.words[-1].t - table.words[0].t == 20 * STATEMENT_PERIOD_US


def test_a_query_wakes_the_core_and_is_answered_when_the_next_turn_is_due(table: Table) -> None:
    table.turns()
    woken: list[int] = []
    table.announcer.wake = lambda: woken.append(table.clock.now)
    table.clock.now += 10_000
    table.announcer.note_query(N1)
    assert woken == [table.clock.now]
    assert table.turns() == [], "a reading from before the query can still arrive"
    table.due()
    [statement] = table.turns()
    assert statement.heard == {N1: woken[0]}
    assert statement.t == woken[0] + LATENESS_US


def test_no_turn_is_due_for_bets_while_they_are_closed(table: Table) -> None:
    table.turns()
    table.later(1000, closed=True)
    table.announcer.note_query(N1)
    assert table.announcer.due_us(LATENESS_US) is None


def test_an_idle_turn_sends_no_statement(table: Table) -> None:
    table.turns()
    assert table.later(2_000) == []


def test_no_statement_is_sent_while_bets_are_closed(table: Table) -> None:
    table.announcer.note_query(N1)
    assert all(table.later(50_000, closed=True) == [] for _ in range(100))


def test_a_query_is_answered_only_once_everything_before_it_is_judged(table: Table) -> None:
    """A drop 100 ms ago may not have been reported yet."""
    table.turns()
    table.announcer.note_query(N1)
    heard_us = table.clock.now
    assert table.later(LATENESS_US - 1) == []
    (word,) = table.later(1)
    assert word.heard == {N1: heard_us}
    assert word.until == heard_us


def test_a_query_overtaken_by_the_close_of_bets_is_never_answered(table: Table) -> None:
    table.turns()
    table.announcer.note_query(N1)
    table.later(50_000, closed=True)
    table.round = 2
    assert all(word.heard == {} for _ in range(20) for word in table.later(100_000))


def test_a_repeated_query_keeps_its_first_time_and_is_answered_once(table: Table) -> None:
    table.turns()
    table.announcer.note_query(N1)
    heard_us = table.clock.now
    table.clock.now += 1_000
    table.announcer.note_query(N1)
    table.announcer.note_query(N2)
    (word,) = table.later(LATENESS_US)
    assert word.heard == {N1: heard_us, N2: heard_us + 1_000}
    assert table.later(STATEMENT_PERIOD_US)[0].heard == {}


def test_a_flood_of_queries_is_limited(table: Table) -> None:
    for number in range(10 * MAX_QUERIES):
        table.announcer.note_query(f"{number:032x}")
    (word,) = table.later(LATENESS_US)
    assert len(word.heard) == MAX_QUERIES
    assert f"{10 * MAX_QUERIES - 1:032x}" in word.heard


def test_where_readings_set_the_time_a_query_gets_the_time_of_the_last_reading() -> None:
    announcer = Announcer("wheel-1", "7")
    words: list[OpenStatement] = []
    announcer.say = words.append
    announcer.note(Betting("wagers", 1, 5, 900), 1_000)
    announcer.note_query(N1)
    announcer.note(Betting("wagers", 1, 5, 900), 1_000)
    assert words[-1].heard == {N1: 900}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    path: Path = tmp_path_factory.mktemp("key") / "key"
    new_key(path)
    return load_key(path)


def test_a_statement_is_signed_by_its_table_and_a_change_of_any_bit_is_found(table: Table, key: Key) -> None:
    (word,) = table.turns()
    written = statement_bytes(word, key)
    assert read_statement(written).until == word.until
    assert statement_signed_by(written, key.public)
    assert not statement_signed_by(written, ENGINE_KEY.public)
    for at in range(0, len(written), 7):
        changed = bytes([*written[:at], written[at] ^ 1, *written[at + 1 :]])
        assert not statement_signed_by(changed, key.public)


def test_a_message_that_is_not_a_statement_is_ignored() -> None:
    for payload in (b"", b"{}", b"[" * 40_000, b'{"table":"t"}', b"\xff"):
        with pytest.raises((MsgspecError, RecursionError)):
            read_statement(payload)
