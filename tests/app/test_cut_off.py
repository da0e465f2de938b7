"""A command that stops reading, or loses its terminal, does not stop the daemon or other clients."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from controller.app.control import Control
from controller.app.messages import MAX_WAIT_S
from controller.app.peers import Groups
from controller.cli.link import ask
from controller.model.readings import DieReleased
from drivers.sim import dice
from tests.app.house import HouseMaker
from tests.app.rig import PATIENCE_S, Table, lines_of, tick, until
from tests.scenes import SECOND_US

PATIENT = f"""
import sys
from controller.cli import input, link, main
input.WAIT_S, link.TIMEOUT_S = {MAX_WAIT_S}, {PATIENCE_S}
sys.exit(main.main())
"""
"""A program that runs a command with the maximum waiting time."""
MANY = 30_000
"""More lines than the pipe, the socket and the daemon's backlog can hold together."""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Collect processes, and kill those still running at the end."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def tablectl(started: list[subprocess.Popen[str]], *words: str) -> subprocess.Popen[str]:
    """Start a command whose output nobody reads yet."""
    command = [sys.executable, "-c", PATIENT, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.append(process)
    return process


def has_printed(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0)[0])


def test_a_watch_whose_reader_stops_delays_nobody_and_reports_that_lines_were_missed(
    table: Table, started: list[subprocess.Popen[str]]
) -> None:
    table.start()
    table.unlock()
    blocked = tablectl(started, "watch", "readings", "--json", "--socket", table.socket)
    ticks = count(SECOND_US, 1000)

    def watches() -> bool:
        table.feed([tick(next(ticks))])
        return has_printed(blocked)

    until(watches, "the first reading watched")
    over_us = next(ticks) + MANY * 1000
    table.feed(tick(next(ticks)) for _ in range(MANY))
    _, feed, _ = dice.simulate(5, {"valid": 1.0}, 3)
    table.feed(lines_of(feed, over_us))
    table.feed([tick(over_us + 200 * SECOND_US)])
    until(
        lambda: table.status()["table_time_us"] == over_us + 200 * SECOND_US, "the core to take all readings"
    )
    until(lambda: sum("roll.called" in str(line) for line in table.published) >= 3, "the calls")
    assert json.dumps(table.status()["faults"]) == "[]"
    printed, said = blocked.communicate(timeout=PATIENCE_S)
    assert (blocked.returncode, "lines were missed" in said) == (1, True), said
    readings = [json.loads(line) for line in printed.splitlines()]
    assert 0 < len(readings) < MANY


@pytest.mark.usefixtures("hears_signals")
def test_a_hang_up_ends_a_watch_and_frees_its_connection(
    house: HouseMaker, started: list[subprocess.Popen[str]]
) -> None:
    one = house()
    daemon = one.open()
    control = Control(daemon, one.options.socket, Groups())
    control.start()
    path = str(one.options.socket)
    watch = tablectl(started, "watch", "outcomes", "--json", "--socket", path)
    until(lambda: daemon.hub.wants("outcomes"), "the watcher")
    watch.send_signal(signal.SIGHUP)
    assert watch.wait(PATIENCE_S) == 128 + signal.SIGHUP
    until(lambda: not daemon.hub.wants("outcomes"), "the watcher's connection to be free")
    assert ask(path, {"do": "faults"})["ok"] is True
    control.stop()


@pytest.mark.usefixtures("hears_signals")
def test_a_hang_up_during_an_input_command_leaves_the_input_entered_once_and_complete(
    table: Table, started: list[subprocess.Popen[str]]
) -> None:
    table.start()
    table.unlock()
    ticks = count(SECOND_US, 1000)

    def unlocked() -> bool:
        table.feed([tick(next(ticks))])
        return table.status()["lock"] == "unlocked"

    until(unlocked, "the table to be unlocked")
    # While dice are in flight, an input waits for earlier readings.
    released_us = next(ticks)
    table.feed(lines_of([(released_us, DieReleased(t=released_us, dev="cam", die=1, x=500.0, y=500.0))]))
    words = ("input", "lock", "the felt is torn", "--by", "supervisor", "--who", "ann")
    locking = tablectl(started, *words, "--socket", table.socket)
    until(lambda: any(b"input lock" in (row.body or b"") for row in table.rows()), "the input handed over")
    locking.send_signal(signal.SIGHUP)
    printed, _ = locking.communicate(timeout=PATIENCE_S)
    assert (locking.returncode, printed) == (128 + signal.SIGHUP, "")
    assert table.status()["lock"] == "unlocked"
    table.feed([tick(20 * SECOND_US)])
    until(lambda: table.status()["lock"] == "locked", "the lock")

    def locks() -> list[bytes]:
        return [
            body
            for row in table.rows()
            if row.name == "table.locked" and b"felt" in (body := row.body or b"")
        ]

    until(lambda: bool(locks()), "the lock on the disk")
    table.feed([tick(40 * SECOND_US)])
    until(lambda: table.status()["table_time_us"] == 40 * SECOND_US, "the core to take all readings")
    assert [b'"who":"ann"' in body for body in locks()] == [True]
