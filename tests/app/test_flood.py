"""A client floods the control socket. Play continues, and the flood adds only a few journal rows."""

import grp
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from controller.app import control as control_module
from controller.app.control import Control
from controller.app.faults import MAX_PENDING_CHANGES, Fault
from controller.app.peers import (
    ACTIONS_PER_USER,
    CONNECTIONS_PER_USER,
    MAX_OWN_ROWS,
    WINDOW_US,
    Bucket,
    Groups,
    Note,
    Peer,
    Rate,
    RateLimiter,
    RefusalKind,
    RefusalTally,
)
from controller.app.publishing import FaultAlarm
from controller.cli.link import ask
from controller.model.tables import MqttSettings
from controller.publish.mqtt import MqttSink
from tests.app.house import House, HouseMaker, drain, live_of, play, unlocked
from tests.app.rig import PATIENCE_S, Json, Table, tick, until
from tests.publish.house import pinned
from tests.scenes import SECOND_US, throw

AT_ONCE = Rate(1e9, 1e9)
"""A rate that no test reaches, so that the other limits are tested alone."""
FLOOD = 8_000
OUTSIDER = Peer(4711, 4711, "guest", frozenset())
STAFF = Peer(4712, 4712, "dealer", frozenset({"staff"}))
SETTLEMENT = Peer(4713, 4713, "engine", frozenset({"settlement"}))


@pytest.fixture
def at(house: HouseMaker, monkeypatch: pytest.MonkeyPatch) -> Iterator["At"]:
    """Yield a table with its socket, without rate limits."""
    for name in ("LINES_PER_CONNECTION", "LINES_PER_USER", "ACTIONS_PER_USER"):
        monkeypatch.setattr(control_module, name, AT_ONCE)
    monkeypatch.setattr(control_module, "SEND_TIMEOUT_S", PATIENCE_S)
    one = At(house(), monkeypatch)
    yield one
    one.control.stop()


class At:
    """A table inside the test, and a client on its socket."""

    def __init__(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = house
        self.daemon = house.open()
        self.patch = monkeypatch
        self.control = Control(self.daemon, house.options.socket, Groups())
        self.control.start()

    def flood(self, peer: Peer, line: bytes, count: int = FLOOD) -> list[Json]:
        """Send this line `count` times together, and return every answer."""
        self.patch.setattr(control_module, "peer_of", lambda *_: peer)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(PATIENCE_S)
            link.connect(str(self.house.options.socket))
            answers: list[Json] = []
            with link.makefile("rb") as heard:
                for _ in range(count // 100):
                    link.sendall(line * 100)
                    answers += [msgspec.json.decode(heard.readline(), type=Json) for _ in range(100)]
        return answers

    def used(self) -> list[Json]:
        """Return the rows that record uses of the control socket."""
        drain(self.daemon)
        rows = [row for row in self.house.rows() if row.name == "control.used"]
        return [msgspec.json.decode(row.body or b"", type=Json) for row in rows]

    def plays(self) -> None:
        """Throw the dice, and check that the throw is called."""
        before = self.house.types().count("roll.called")
        now = self.daemon.clock.now_us()
        play(self.daemon, throw(now + 5 * SECOND_US, (3, 4)))
        assert self.house.types().count("roll.called") == before + 1
        assert live_of(self.daemon).journal.fault is None


@pytest.mark.parametrize(
    ("line", "deed"),
    [
        (b'{"do":"input","name":"no_roll","by":"boxperson"}\n', "rule"),
        (b'{"do":"approve","what":"identity"}\n', "approve"),
        (b'{"do":"settled","id":"craps/1/1","chain":"00"}\n', "settle"),
        (b'{"do":"rows"}\n', "read past records"),
    ],
)
def test_refused_requests_leave_a_few_rows_that_count_every_one(at: At, line: bytes, deed: str) -> None:
    """A row for each of 8,000 requests would fill the journal's queue and halt the table."""
    unlocked(at.daemon)
    answers = at.flood(OUTSIDER, line)
    assert {answer["code"] for answer in answers} == {"not_allowed"}
    at.plays()
    at.control.stop()
    used = [row for row in at.used() if row["did"] == deed]
    assert len(used) <= MAX_OWN_ROWS + 1 + len(answers) // 1000
    assert sum(int(str(row.get("count", 1))) for row in used) == FLOOD
    assert {row["uid"] for row in used} == {OUTSIDER.uid}


def test_lines_that_are_not_requests_leave_no_row(at: At) -> None:
    unlocked(at.daemon)
    before = len(at.house.rows())
    assert {answer["code"] for answer in at.flood(OUTSIDER, b"no request\n")} == {"bad_request"}
    drain(at.daemon)
    assert len(at.house.rows()) <= before + 1, "only the test's row may be added"
    at.plays()


def test_acknowledgements_of_unpublished_outcomes_leave_a_few_rows(at: At) -> None:
    unlocked(at.daemon)
    answers = at.flood(SETTLEMENT, b'{"do":"settled","id":"craps/9/999","chain":"00"}\n', 2_000)
    assert {answer["code"] for answer in answers} == {"no_match"}
    drain(at.daemon)
    refused = [row for row in at.house.rows() if row.name == "outbox.refused"]
    assert 0 < len(refused) < 20
    at.plays()


def test_alternating_unreadable_and_forged_answers_leave_a_few_rows(at: At) -> None:
    """Each answer begins or ends a fault. A row for each of 8,000 would fill the journal's queue."""
    unlocked(at.daemon)
    settings = MqttSettings(host="127.0.0.1")
    alarm = FaultAlarm(at.daemon.faults)
    sink = MqttSink(
        "craps-1", settings, alarm, now_us=at.daemon.clock.now_us, random_fraction=lambda: 0.5, pin=pinned()
    )
    before = len(at.house.rows())
    for _ in range(FLOOD // 2):
        sink._handle_answer(b"no answer")
        sink._handle_answer(b'{"answer":"again","from_seq":1,"by":"nobody"}')
    sink.leave()
    drain(at.daemon)
    assert len(at.house.rows()) - before < 10
    at.plays()


def test_a_fault_that_begins_and_ends_many_times_between_two_core_turns_leaves_a_few_rows(at: At) -> None:
    unlocked(at.daemon)
    board, fault = at.daemon.faults, Fault("settlement_lost", "settlement", "an old word, repeated")
    before = len(at.house.rows())
    for _ in range(FLOOD // 2):
        board.report(fault)
        board.clear(fault.code)
    board.report(fault)
    drain(at.daemon)
    rows = [row.name for row in at.house.rows()[before:] if row.name.startswith("fault.")]
    assert rows[-1] == "fault.began"
    assert len(rows) <= MAX_PENDING_CHANGES
    at.plays()


def test_inputs_from_staff_leave_room_in_the_inlet_for_readings(at: At) -> None:
    """While the core is suspended, excess inputs are refused, and no reading is lost.

    Their rows fit into the journal's queue even with a slow disk. Only the rate limits protect against more
    inputs.
    """
    unlocked(at.daemon)
    answers = at.flood(STAFF, b'{"do":"input","name":"no_roll","by":"boxperson"}\n', 2_000)
    refused = [answer for answer in answers if not answer["ok"]]
    assert {answer["code"] for answer in refused} == {"overflow"}
    assert refused
    assert at.daemon.inlet.waiting < at.daemon.options.capacity // 8
    assert [fault.code for fault in at.daemon.faults.present if fault.code == "inlet_overflow"] == []
    at.plays()


# --- rate limits ---


class PauseRecorder:
    """A replacement for the control socket's pause that records the pauses without waiting."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []

    def wait(self, timeout_s: float) -> bool:
        self.waits_s.append(timeout_s)
        return False

    def is_set(self) -> bool:
        return False

    def set(self) -> None:
        return


class Still:
    """A clock that stands still, so that all lines arrive at the same time."""

    def now_us(self) -> int:
        return 1


HELD = b'{"do":"hold_pictures","sha256":"%s","held":true,"who":"ann","reason":"-"}\n' % (b"0" * 64)
LONG = (
    b'{"do":"input","name":"no_roll","by":"boxperson","seats":[' + b",".join([b'"\\u0041"'] * 6_000) + b"]}\n"
)


@pytest.mark.parametrize(
    ("line", "count", "at_least_s"),
    [
        (b'{"do":"faults"}\n', 400, 0.9),
        (b'{"do":"status"}\n', 100, 0.9),
        (LONG, 20, 4.0),
        (HELD, 80, 1.9),
    ],
    ids=["short lines", "whole statuses", "lines of 54,000 bytes", "pictures held, each a row"],
)
def test_a_request_is_charged_by_the_work_it_causes(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch, line: bytes, count: int, at_least_s: float
) -> None:
    """Two hundred lines a second of 64 KB each, full of escapes, could take the whole processor."""
    one = house()
    daemon = one.open()
    monkeypatch.setattr(daemon, "monotonic", Still())
    monkeypatch.setattr(control_module, "peer_of", lambda *_: OUTSIDER)
    monkeypatch.setattr(control_module, "SEND_TIMEOUT_S", PATIENCE_S)
    control, patience = Control(daemon, one.options.socket, Groups()), PauseRecorder()
    monkeypatch.setattr(control, "_pause", patience)
    control.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link, link.makefile("rb") as heard:
        link.settimeout(PATIENCE_S)
        link.connect(str(one.options.socket))
        for _ in range(count):
            link.sendall(line)
            assert heard.readline().endswith(b"}\n")
    control.stop()
    assert max(patience.waits_s, default=0) >= at_least_s


def test_a_user_who_connects_too_fast_is_refused_before_a_thread_is_started(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of connections a second could each cost a look-up and a thread."""
    one = house()
    daemon = one.open()
    looked_up: list[int] = []

    def looks(*_: object) -> Peer:
        looked_up.append(1)
        return OUTSIDER

    monkeypatch.setattr(daemon, "monotonic", Still())
    monkeypatch.setattr(control_module, "peer_of", looks)
    monkeypatch.setattr(control_module, "has_every_role", lambda _uid: False)
    control = Control(daemon, one.options.socket, Groups())
    control.start()
    answers = []
    for _ in range(int(CONNECTIONS_PER_USER.burst) + 50):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link, link.makefile("rb") as heard:
            link.settimeout(PATIENCE_S)
            link.connect(str(one.options.socket))
            link.shutdown(socket.SHUT_WR)
            answers.append(heard.readline())
    monkeypatch.setattr(control_module, "has_every_role", lambda _uid: True)
    assert ask(str(one.options.socket), {"do": "faults"})["ok"] is True, "root is never refused"
    control.stop()
    turned_away = [answer for answer in answers if b"opens connections too quickly" in answer]
    assert len(turned_away) == 50
    assert len(looked_up) == CONNECTIONS_PER_USER.burst + 1


def test_a_refused_connection_does_not_count_against_the_limit() -> None:
    pace = RateLimiter(Rate(burst=1, per_s=1))
    assert [pace.spend(1, 0) for _ in range(1_000)] == [True] + [False] * 999
    assert pace.spend(1, 1_000_000)
    assert pace.spend(2, 1_000_000)


def test_a_bucket_allows_a_burst_and_then_a_fixed_rate() -> None:
    bucket = Bucket(Rate(burst=3, per_s=10), 0)
    assert [bucket.wait_s(0) for _ in range(3)] == [0, 0, 0]
    assert [round(bucket.wait_s(0), 3) for _ in range(2)] == [0.1, 0.2]
    assert bucket.wait_s(1_000_000) == 0
    assert not bucket.full(1_000_000)
    assert bucket.full(2_000_000)


def test_all_connections_of_a_user_share_one_limit_and_other_users_have_their_own() -> None:
    pace = RateLimiter(ACTIONS_PER_USER)
    waits = [pace.wait_s(1, 0) for _ in range(6_000)]
    assert waits[59] == 0
    assert waits[-1] == pytest.approx((6_000 - 60) / ACTIONS_PER_USER.per_s)
    assert pace.wait_s(2, 0) == 0


def test_silent_users_are_forgotten_but_not_those_who_must_still_wait() -> None:
    pace = RateLimiter(Rate(burst=1, per_s=1))
    for uid in range(1000):
        pace.wait_s(uid, uid * 10_000_000)
    pace.wait_s(5000, 10_000_000_000)
    assert pace.wait_s(5000, 10_000_000_000) > 0
    assert len(pace._buckets) <= RateLimiter.MAX_USERS + 1


def keeping(rows: list[Mapping[str, object]]) -> Note:
    """Return a note function that keeps every row."""

    def kept(row: Mapping[str, object]) -> bool:
        rows.append(row)
        return True

    return kept


def test_a_sum_that_the_journal_refuses_is_written_later_and_nothing_is_counted_twice() -> None:
    tally, kind = RefusalTally(), RefusalKind(1, "guest", "rule")
    own_rows = sum(tally.gets_own_row(kind, 0) for _ in range(100))
    assert own_rows == MAX_OWN_ROWS
    rows: list[Mapping[str, object]] = []
    kept = keeping(rows)
    tally.sum_up(WINDOW_US - 1, kept)
    assert rows == []
    tally.sum_up(WINDOW_US, lambda _: False)
    tally.sum_up(2 * WINDOW_US + 1, kept)
    tally.sum_up(9 * WINDOW_US, kept)
    assert [row["count"] for row in rows] == [100 - MAX_OWN_ROWS]


def test_beyond_a_limit_refusals_are_summed_without_a_user_name() -> None:
    tally = RefusalTally()
    own_rows = sum(tally.gets_own_row(RefusalKind(uid, "guest", "rule"), 0) for uid in range(1000))
    assert own_rows == RefusalTally.MAX_KINDS
    rows: list[Mapping[str, object]] = []
    kept = keeping(rows)
    tally.sum_up(WINDOW_US, kept)
    assert [row["count"] for row in rows] == [1000 - RefusalTally.MAX_KINDS]


# --- with another user's process ---

SHOUTS = """
import os, socket, sys
os.setgroups([int(sys.argv[2])]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[3]))
links = []
for _ in range(40):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(sys.argv[1])
    links.append(link)
    try:
        link.setblocking(False)
        link.send(b'{"do":"input","name":"no_roll","by":"boxperson"}\\n' * 1000)
    except OSError:
        pass
print("said", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a process of another user, which only root can start")
def test_another_users_flood_delays_nobody(table: Table, request: pytest.FixtureRequest) -> None:
    group, user = grp.getgrnam("nogroup"), pwd.getpwnam("nobody")
    table.arguments = (*table.arguments, "--socket-group", group.gr_name)
    # Other users cannot enter pytest's folder.
    place = Path(tempfile.mkdtemp(prefix="table-"))
    place.chmod(0o711)
    request.addfinalizer(lambda: shutil.rmtree(place))
    table.control = place / "control"
    table.start()
    table.unlock()
    words = [sys.executable, "-c", SHOUTS, table.socket, str(group.gr_gid), str(user.pw_uid)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shouting:
        assert shouting.stdout is not None
        assert shouting.stdout.readline() == b"said\n"
        for _ in range(20):
            assert ask(table.socket, {"do": "faults"})["ok"] is True
        assert table.enter("lock")["ok"] is True
        table.feed([tick(SECOND_US), tick(2 * SECOND_US)])
        until(lambda: any(row.name == "table.unlocked" for row in table.rows()), "the input to take effect")
        shouting.communicate()
    assert table.terminate() == 0
    rows = table.rows()
    refused = [row for row in rows if row.name == "control.used" and b'"nobody"' in (row.body or b"")]
    assert 0 < len(refused) < 100
    assert not any(row.body and b"journal_overflow" in row.body for row in rows)
