"""Measure the memory and the CPU time of an idle table with four boards.

`python -m tests.benchmarks.footprint [--idle SECONDS]` runs a virtual craps table's camera, two walls and
console on pseudo-terminals, the daemon with its settlement engine, and the process that serves screens, with
a players' display open. Memory is the proportional set size, so that a page shared by several processes is
counted once. The floor is a bare interpreter. The exit status is 1 if a goal is missed.
"""

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from controller.cli.link import ask
from tests.app.rig import until
from tests.benchmarks.daemon import cpu_s
from tests.benchmarks.figures import Figure, hand_over
from tests.publish.broker import free_port

DAEMON_MB, SCREENS_MB, IDLE_SHARE = 60.0, 60.0, 0.01


def pss_mb(pid: int) -> float:
    """Return the proportional set size of a process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    found = re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)
    assert found is not None, rollup
    return int(found[1]) * 1024 / 1e6


@contextmanager
def process(command: Sequence[str], log: Path) -> Iterator[int]:
    """Run a command within the context; yield its process id."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as running:
        try:
            yield running.pid
        finally:
            running.terminate()


def row(name: str, value: float, unit: str, goal: float) -> bool:
    """Print a row; return whether its goal is met."""
    met = value <= goal
    sys.stdout.write(f"{name:<46} {value:8.3f} {unit:<6} goal {goal:g} {'met' if met else 'MISSED'}\n")
    return met


def unlocked(control: str) -> bool:
    """Return whether the table is unlocked."""
    try:
        status = ask(control, {"do": "status"})["status"]
    except Exception:  # noqa: BLE001 no answer yet
        return False
    return isinstance(status, dict) and status.get("lock") == "unlocked"


def serves(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def measure(folder: Path, idle_s: float) -> list[bool]:
    """Start the table, leave it idle and print the rows."""
    tablectl = [sys.executable, "-m", "controller.cli.main"]
    control, port = str(folder / "control.sock"), free_port()
    virtual = [*tablectl, "simulate", "craps", "--dir", str(folder), "--technician"]
    daemon = [*tablectl, "run", str(folder / "table.yaml"), "--journal", str(folder / "journal")]
    screens = [*tablectl, "console", "--socket", control, "--port", str(port)]
    with (
        process(virtual, folder / "virtual.log"),
        process([sys.executable, "-c", "import time; time.sleep(1e6)"], folder / "bare.log") as bare,
    ):
        until((folder / "faults").exists, "the virtual table")
        with process([*daemon, "--socket", control], folder / "daemon.log") as table:
            until(lambda: unlocked(control), "the table to be unlocked")
            with process(screens, folder / "screens.log") as console:
                until(lambda: serves(port), "the screens")
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/display/events", timeout=60) as display:
                    assert display.readline()
                    pause = threading.Event()
                    pause.wait(idle_s / 2)
                    before = cpu_s(table), cpu_s(console)
                    pause.wait(idle_s)
                    shares = [
                        (cpu_s(pid) - at) / idle_s for pid, at in zip((table, console), before, strict=True)
                    ]
                    memory = [pss_mb(pid) for pid in (table, console)]
                    floor = pss_mb(bare)
    hand_over(Figure("memory, daemon with its engine", memory[0], floor, "MB (PSS)", "a bare interpreter"))
    hand_over(Figure("memory, screens", memory[1], floor, "MB (PSS)", "a bare interpreter"))
    return [
        row("memory of the daemon with its engine (PSS)", memory[0], "MB", DAEMON_MB),
        row("memory of the screens' process (PSS)", memory[1], "MB", SCREENS_MB),
        row("memory of both", sum(memory), "MB", DAEMON_MB + SCREENS_MB),
        row("idle CPU of the daemon, four boards", shares[0], "cores", IDLE_SHARE),
        row("idle CPU of the screens' process", shares[1], "cores", IDLE_SHARE),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=float, default=20.0, help="seconds to measure the idle CPU")
    idle_s = parser.parse_args().idle
    with tempfile.TemporaryDirectory() as folder:
        met = measure(Path(folder), idle_s)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
