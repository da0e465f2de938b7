"""Measure the daemon's start with a year's journal, its memory and idle CPU, and the command line's help.

`python -m tests.benchmarks.daemon [--outcomes N] [--idle SECONDS]` prints a row for each figure with its goal
and the floor (a bare `python -c pass`) of the same run. The exit status is 1 if a goal is missed.
`--start-only` ends after the measurement of the start, because verifying the whole journal takes long on a
busy machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from controller.app.running import build_setup
from controller.engine.resume import StoppedState
from controller.journal.chain import WallTime
from controller.journal.contents import Identity
from controller.journal.head import JournalLocation
from controller.journal.journal import Journal
from controller.journal.keys import load_key, new_key
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import Outcome, TableEvent
from controller.settings.tables import load_table
from tests.app.rig import Table
from tests.benchmarks.figures import Figure, hand_over

READY_S, RESIDENT_MB, IDLE_SHARE, HELP_S = 1.5, 80.0, 0.02, 0.3
A_YEAR = 250_000
"""Number of outcomes of a busy table in a year, some 700 a day."""
BATCH = 4000
VERIFIED_WITHIN_S = 1200
RUNS = 5


def a_years_journal(folder: Path, outcomes: int) -> None:
    folder.mkdir()
    new_key(folder / "table.key")
    place = JournalLocation(folder / "journal.db", folder / "journal.head")
    journal = Journal.open(
        place,
        load_key(folder / "table.key"),
        table="craps",
        wall=lambda: WallTime(1_700_000_000_000_000, True),
        on_durable=lambda _: None,
        alarm=lambda _: None,
    )
    resumed = StoppedState(State(), NextNumbers(), (), held=False, bets_closed=False)
    setup = build_setup(load_table("craps"), resumed, 1)
    journal.start(Identity(session=1, software="a year ago", config="", boot="", setup=setup))
    data = TableEvent(
        cause="no_change", what="set_dice", by="boxperson", who="ann", says="as it stands " * 20
    )
    for seq in range(1, outcomes + 1):
        published = Outcome(type="input.refused", t=seq, id=f"craps/1/{seq}", seq=seq, data=data)
        ticket = journal.append([published], State(lock="locked"), NextNumbers(seq=seq + 1))
        if seq % BATCH == 0:
            ticket.wait()
    journal.close(600)


def seconds_of(command: list[str]) -> float:
    """Return the duration of the shortest run of a command, in seconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def row(name: str, value: float, unit: str, goal: float, beside: str = "") -> bool:
    """Print a row; return whether its goal is met."""
    met = value <= goal
    word = "met" if met else "MISSED"
    sys.stdout.write(f"{name:<34} {value:8.3f} {unit:<8} goal {goal:g} {unit} {word}  {beside}\n")
    return met


def daemon_rows(folder: Path, outcomes: int, idle_s: float, *, start_only: bool) -> list[bool]:
    start = time.perf_counter()
    a_years_journal(folder / "journal", outcomes)
    size = (folder / "journal" / "journal.db").stat().st_size / 1e6
    sys.stdout.write(
        f"journal of {outcomes:,} outcomes, {size:.0f} MB, in {time.perf_counter() - start:.0f} s\n"
    )
    table = Table(folder, arguments=("--no-self-test-devices", "--unlock", "person"), anew=True)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        table.start(watch=False)
        times.append(time.perf_counter() - start)
        if len(times) < RUNS:
            table.kill()
    floor = seconds_of([sys.executable, "-c", "pass"])
    hand_over(Figure("daemon, start to ready", min(times), floor, "s", "a bare interpreter"))
    met = [row("start to ready", min(times), "s", READY_S, f"{min(times) / floor:.0f} x a bare interpreter")]
    if start_only:
        table.kill()
        return met
    assert table.process is not None
    pid = table.process.pid
    start = time.perf_counter()
    pause = threading.Event()
    while ": sound: " not in table.log:
        assert time.perf_counter() - start < VERIFIED_WITHIN_S, table.log
        pause.wait(0.5)
    sys.stdout.write(f"whole journal verified in the background after {time.perf_counter() - start:.0f} s\n")
    busy = cpu_s(pid)
    pause.wait(idle_s)
    share = (cpu_s(pid) - busy) / idle_s
    met.append(row("idle CPU", share, "cores", IDLE_SHARE, f"over {idle_s:g} s"))
    met.append(
        row("resident memory", resident_mb(pid), "MB", RESIDENT_MB, "after the whole journal was read")
    )
    table.terminate()
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=A_YEAR, help="outcomes in the journal")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds to measure the idle CPU")
    parser.add_argument("--start-only", action="store_true", help="measure only the start")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        met = daemon_rows(Path(folder), arguments.outcomes, arguments.idle, start_only=arguments.start_only)
    floor = seconds_of([sys.executable, "-c", "pass"])
    shown = seconds_of([sys.executable, "-m", "controller.cli.main", "--help"])
    hand_over(Figure("tablectl --help", shown, floor, "s", "a bare interpreter"))
    met.append(row("tablectl --help", shown, "s", HELP_S, f"{shown / floor:.1f} x a bare interpreter"))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
