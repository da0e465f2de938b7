"""The daemon as a process: start, queries, inputs and stop, with the commands that people use."""

import grp
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from controller.cli.main import main
from controller.evidence.pictures import Folder, PictureDescription, Writer
from controller.journal.contents import CONTROL, decode_outcome
from drivers.sim import dice
from tests.app.rig import PATIENCE_S, Json, Table, lines_of, tick, until
from tests.scenes import SECOND_US, throw

MAKE_STRANGER = (
    "import json, os, socket, sys;"  # while the interpreter's files can still be read
    "os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(65534); exec(sys.argv[1])"
)
STRANGER_ASKS = """
link = socket.socket(socket.AF_UNIX)
link.connect(%r)
link.sendall(json.dumps(%r).encode() + b"\\n")
print(link.makefile().readline())
"""


def play_a_throw(table: Table) -> None:
    """Unlock, throw the dice once, and wait until the call is published."""
    table.unlock()
    readings = throw(5 * SECOND_US, (4, 6))
    table.feed([*lines_of([(reading.t, reading) for reading in readings]), tick(20 * SECOND_US)])
    until(lambda: "roll.called" in kinds(table), "the call")


def kinds(table: Table) -> list[str]:
    """Return the types of the published outcomes."""
    outcomes = [line["outcome"] for line in table.published]
    return [str(outcome["type"]) for outcome in outcomes if isinstance(outcome, dict)]


def tablectl(
    capsys: pytest.CaptureFixture[str], table: Table, command: str, *arguments: str
) -> tuple[int, str]:
    """Run a command against the table; return its exit code and its output."""
    where = (
        ("--journal", str(table.journal)) if command in ("journal", "recall") else ("--socket", table.socket)
    )
    capsys.readouterr()
    code = main([command, *arguments, *where])
    said = capsys.readouterr()
    return code, said.out + said.err


def feed_once_entered(table: Table, name: str) -> None:
    """Advance time once this input has been handed over."""
    entered = f"input {name}".encode()
    until(
        lambda: any(row.body is not None and entered in row.body for row in table.rows()), f"{name} entered"
    )
    table.feed([tick(40 * SECOND_US)])


def test_the_commands_query_a_running_table(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    table.start()
    play_a_throw(table)
    code, said = tablectl(capsys, table, "status", "--json")
    assert code == 0
    assert json.loads(said)["state"]["point"] == 10
    assert tablectl(capsys, table, "status")[1].startswith("craps (craps-12-034): table open, unlocked")
    assert tablectl(capsys, table, "faults") == (0, "no faults\n")
    assert tablectl(capsys, table, "input", "no_roll", "do=settled")[0] == 2
    assert tablectl(capsys, table, "input", "set_dice", "three")[0] == 2
    with ThreadPoolExecutor() as meanwhile:
        # The table's time follows the readings, and an input is decided once time has passed it.
        fed = meanwhile.submit(feed_once_entered, table, "set_dice")
        code, said = tablectl(capsys, table, "input", "set_dice", "5", "5", "--who", "ann")
        assert (code, said.partition(",")[0]) == (0, "Roll 1: 5-5")
        fed.result()
    until(lambda: "roll.corrected" in kinds(table), "the correction")
    called = next(line["outcome"] for line in table.published if "roll.called" in str(line))
    assert isinstance(called, dict)
    code, said = tablectl(capsys, table, "recall", called["id"])
    assert code == 0
    assert "judged again from its evidence: same result" in said
    assert "roll.corrected" in said
    assert tablectl(capsys, table, "recall", "craps/1/999")[0] == 1
    code, said = tablectl(capsys, table, "journal", "verify", "--json")
    assert code == 0
    assert json.loads(said)["outcomes"] >= len(table.published)
    code, said = tablectl(capsys, table, "journal", "show", "--type", CONTROL)
    assert code == 0
    assert '"user":"root"' in said or f'"uid":{os.getuid()}' in said
    assert '"who":"ann"' in said


def test_pictures_held_for_a_dispute_are_journaled_with_the_person_who_held_them(
    table: Table, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table.start()
    play_a_throw(table)
    writer = Writer()
    writer.add("die", 1, b"a picture")
    closed = writer.close(PictureDescription(camera="cam", die=1, kind="die_rest", t_us=1))
    Folder(tmp_path).keep(closed, 1.0)
    said = ["--who", "ann", "--reason", "dispute", "--folder", str(tmp_path)]
    assert tablectl(capsys, table, "camera", "evidence", "hold", closed.sha256[:12], *said)[0] == 0
    assert tablectl(capsys, table, "camera", "evidence", "release", closed.sha256[:12], *said)[0] == 0
    assert Folder(tmp_path).holds() == {}

    def rows() -> list[str]:
        _, printed = tablectl(capsys, table, "journal", "show", "--type", CONTROL)
        return [line for line in printed.splitlines() if closed.sha256 in line]

    until(lambda: len(rows()) == 2, "both requests to be in the journal")
    lines = rows()
    assert ["hold pictures" in lines[0], "release pictures" in lines[1]] == [True, True]
    assert all('"who":"ann"' in line and '"reason":"dispute"' in line for line in lines)


def settled(capsys: pytest.CaptureFixture[str], table: Table, outcome_id: str, chain: str) -> tuple[int, str]:
    """Acknowledge an outcome; repeat the command while a slow disk delays the controller."""
    said = [tablectl(capsys, table, "outbox", "--settled", outcome_id, chain)]

    def taken() -> bool:
        if "not_durable" in said[-1][1]:
            said.append(tablectl(capsys, table, "outbox", "--settled", outcome_id, chain))
        return "not_durable" not in said[-1][1]

    until(taken, "the acknowledgement to be on the disk")
    return said[-1]


def test_settlement_closes_an_outcome_with_its_id_and_chain_hash(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    table.start()
    play_a_throw(table)
    code, said = tablectl(capsys, table, "outbox", "--json")
    assert code == 0
    first, *others = [json.loads(line) for line in said.splitlines()]
    outcome_id = first["outcome"]["id"]
    code, said = settled(capsys, table, outcome_id, "00" * 32)
    assert code == 1
    assert "no_match" in said
    code, said = tablectl(capsys, table, "faults", "--json")
    assert code == 1
    assert [json.loads(line)["code"] for line in said.splitlines()] == ["journal_ack_differs"]
    assert settled(capsys, table, outcome_id, first["chain"])[0] == 0
    until(lambda: tablectl(capsys, table, "faults")[0] == 0, "the fault to clear")
    code, said = tablectl(capsys, table, "outbox", "--json")
    assert [json.loads(line) for line in said.splitlines()][: len(others)] == others


def test_a_command_with_nothing_to_do_says_so(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    table.publish = "{}"
    table.start()
    table.unlock()
    empty = "settlement has acknowledged every outcome\n"
    until(lambda: tablectl(capsys, table, "outbox") == (0, empty), "the engine to settle")
    assert tablectl(capsys, table, "outbox", "--json") == (0, "")
    assert "after row 7" in tablectl(capsys, table, "outbox", "--after", "7")[1]
    assert tablectl(capsys, table, "devices", "no-such-device")[0] == 1
    for what in ("identity", "clock", "device"):
        code, said = tablectl(capsys, table, "approve", what)
        assert code == 1
        assert f"{what}: no active fault needs this approval" in said
    code, said = tablectl(capsys, table, "journal", "show", "--type", CONTROL)
    assert '"did":"approve' not in said


def test_a_socket_that_nothing_answers_is_exit_code_3(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("status", "faults", "outbox", "watch"):
        code, said = tablectl(capsys, table, command)
        assert code == 3
        assert "tablectl run TABLE" in said
    assert tablectl(capsys, table, "input", "no_roll")[0] == 3
    assert tablectl(capsys, table, "approve", "clock")[0] == 3


def test_a_second_process_is_refused_with_the_holders_pid(table: Table) -> None:
    table.start(watch=False)
    assert table.process is not None
    second = subprocess.run(table.command(), capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert second.returncode == 4
    assert f"process {table.process.pid}" in second.stderr
    assert "control socket" in second.stderr


def test_a_socket_that_another_controller_answers_is_left_to_it(table: Table, tmp_path: Path) -> None:
    table.start(watch=False)
    other = [word if word != str(table.journal) else str(tmp_path / "other") for word in table.command()]
    second = subprocess.run(other, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert second.returncode == 4
    assert table.socket in second.stderr
    assert table.status()["table"] == "craps"


@pytest.mark.parametrize("table_name", ["no-such-table"])
def test_an_unknown_table_is_exit_code_2(table: Table, table_name: str) -> None:
    table.name = table_name
    done = subprocess.run(table.command(), capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert table_name in done.stderr


def test_at_the_end_of_standard_input_the_table_stops_once_the_throw_is_decided(table: Table) -> None:
    """The input is a finished file of readings or a script, so the table waits for no further reading."""
    table.arguments = ("--data-time", "--no-self-test-devices")
    words = ["-" if word == str(table.folder / "in") else word for word in table.command()]
    with (
        (table.folder / "log").open("wb") as log,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log, stderr=log) as process,
    ):
        assert process.stdin is not None
        until(table.answers, "the daemon to answer")
        now_us = SECOND_US

        def unlocked() -> bool:
            nonlocal now_us
            now_us += 1000  # the table's request to unlock waits for time to pass it
            assert process.poll() is None, table.log
            assert process.stdin is not None
            process.stdin.write(tick(now_us))
            process.stdin.flush()
            return table.status()["lock"] == "unlocked"

        until(unlocked, "the table to unlock itself")
        readings = throw(now_us + SECOND_US)
        process.stdin.writelines(lines_of([(reading.t, reading) for reading in readings]))
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0, table.log
    assert "standard input has ended" in table.log
    assert "roll.called" in [row.name for row in table.rows()]


def test_a_stop_during_a_throw_is_orderly_and_the_throw_is_reviewed_at_the_next_start(table: Table) -> None:
    table.start()
    table.unlock()
    readings = throw(5 * SECOND_US)[:80]
    table.feed(lines_of([(reading.t, reading) for reading in readings]))
    until(lambda: "bets.closed" in kinds(table), "the dice to leave the hand")
    assert table.terminate() == 0
    assert not Path(table.socket).exists()
    table.start()
    until(lambda: "roll.review" in [row.name for row in table.rows()], "the review")
    review = next(row for row in table.rows() if row.name == "roll.review")
    assert review.body is not None
    assert b"power_lost" in review.body
    assert decode_outcome(review.body).id.startswith("craps/2/")
    assert table.status()["pending"] == [{"attempt": "roll", "number": 1}]


def test_systemd_is_notified_that_all_threads_run_and_of_the_stop(table: Table) -> None:
    table.start(watch=False)
    address = table.folder / "notify"
    address.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(address))
        systemd.settimeout(PATIENCE_S)
        assert systemd.recv(4096).startswith(b"WATCHDOG=1\nSTATUS=table open, locked")
        assert table.terminate() == 0
        while (said := systemd.recv(4096)).startswith(b"WATCHDOG=1"):
            pass
        assert said == b"STOPPING=1"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user can enter, unlike pytest's folders."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def stranger_asks(table: Table, request: Json, group: int = 65534) -> Json:
    """Send a request as a user of this group, by default a group unknown to the table."""
    asks = STRANGER_ASKS % (table.socket, request)
    done = subprocess.run(
        [sys.executable, "-c", MAKE_STRANGER, asks, str(group)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    answer: Json = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
def test_a_user_in_no_group_may_read_the_status_and_nothing_else(table: Table, open_folder: Path) -> None:
    path = table.control = open_folder / "control"
    table.start()
    assert path.stat().st_mode & 0o777 == 0o660
    path.chmod(0o666)
    assert stranger_asks(table, {"do": "status"})["ok"] is True
    assert stranger_asks(table, {"do": "faults"})["ok"] is True
    requests: tuple[Json, ...] = (
        {"do": "input", "name": "no_roll", "by": "boxperson"},
        {"do": "input", "name": "lock", "by": "boxperson"},
        {"do": "input", "name": "unlock", "by": "boxperson"},
        {"do": "input", "name": "test_mode", "by": "technician"},
        {"do": "approve", "what": "identity"},
        {"do": "watch"},
        {"do": "outbox"},
        {"do": "settled", "id": "craps/1/1", "chain": "00"},
    )
    for request in requests:
        refused = stranger_asks(table, request)
        assert (refused["ok"], refused["code"]) == (False, "not_allowed"), request
    until(lambda: sum(row.name == CONTROL for row in table.rows()) == 8, "every attempt to be journaled")


def groups_named(*names: str) -> bool:
    known = {entry.gr_name for entry in grp.getgrall()}
    return known.issuperset(names)


@pytest.mark.skipif(
    os.getuid() != 0 or not groups_named("games", "staff"),
    reason="needs root, and the groups games and staff to stand for technicians and staff",
)
def test_staff_may_rule_and_a_technician_may_test_but_not_the_reverse(
    table: Table, open_folder: Path
) -> None:
    path = table.control = open_folder / "control"
    groups = ("--staff-group", "staff", "--technician-group", "games")
    table.arguments = (*table.arguments, *groups)
    table.start(watch=False)
    path.chmod(0o666)
    ruling: Json = {"do": "input", "name": "no_roll", "by": "boxperson"}
    locking: Json = {"do": "input", "name": "lock", "by": "technician"}
    testing: Json = {"do": "input", "name": "test_mode", "by": "technician", "on": True}
    for group, may, may_not in (("staff", (ruling, locking), testing), ("games", (locking, testing), ruling)):
        number = grp.getgrnam(group).gr_gid
        assert all(stranger_asks(table, request, number)["ok"] is True for request in may)
        assert stranger_asks(table, may_not, number)["code"] == "not_allowed"


def test_an_invalid_request_is_refused_with_its_mistake(table: Table) -> None:
    table.start(watch=False)
    for request in (
        b"not json\n",
        b"{}\n",
        b'{"do":"dance"}\n',
        b'{"do":"input","name":"","by":"boxperson"}\n',
        b'{"do":"input","name":"no_roll","by":"controller"}\n',
        b'{"do":"status","and":"more"}\n',
        b'{"do":"outbox","after":9223372036854775808}\n',
        b'{"do":"outbox","limit":1,"limit":2}\n',
        b'{"do":"input","name":"no_roll","by":"boxperson","by":"supervisor"}\n',
        b'{"do":"input","name":"no_roll","by":"boxperson","who":"ann\\u0000"}\n',
        b'{"do":"input","name":"no_roll","by":"boxperson","who":"\\ud800"}\n',
        b'{"do":"input","name":"no_roll","by":"boxperson","wait_s":NaN}\n',
        b'{"do":"input","name":"no_roll","by":"boxperson","wait_s":1E400}\n',
        b"\xff\xfe\n",
        b"[" * 5000 + b"\n",
    ):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(table.socket)
            link.sendall(request)
            answer = json.loads(link.makefile().readline())
        assert answer["code"] == "bad_request", request
    assert table.ask(do="input", name="no_roll", by="nobody")["code"] == "unknown_role"
    assert table.status()["table"] == "craps"


def test_a_watcher_that_never_reads_is_dropped_and_play_continues(table: Table) -> None:
    table.start()
    table.unlock()
    _, feed, _ = dice.simulate(5, {"valid": 1.0}, 10)
    with socket.socket(socket.AF_UNIX) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        lazy.connect(table.socket)
        lazy.sendall(b'{"do":"watch","topics":["readings"]}\n')
        for repeat in range(3):
            table.feed(lines_of(feed, repeat * 200 * SECOND_US))
        table.feed([tick(3 * 200 * SECOND_US)])
        until(lambda: table.status()["table_time_us"] == 3 * 200 * SECOND_US, "the core to take all readings")
        until(lambda: kinds(table).count("roll.called") >= 25, "the calls")
    assert json.loads(msgspec.json.encode(table.status()["faults"])) == []
