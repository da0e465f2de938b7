"""The units as shipped, under the guest's systemd."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.lab.guest.table import JOURNAL, SAMPLES, answers, ask, fault_codes, say, status
from tests.lab.guest.waiting import must, now_us, until

UNIT = "table.service"
PYTHON = "/opt/table-controller/current/bin/python"
TABLE_FILE = Path("/etc/table/table.yaml")
KEY = Path("/etc/table/credentials/table-key")
DAY_S = 86_400
STEP_S = 80 * DAY_S
CHUNK = 1 << 16


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the unit after the disturbances."""

    sessions: list[int]
    """The session's number before and after each restart."""
    active: str
    faults: list[list[str]] = []
    """The active fault codes after each step."""
    locks: list[str] = []
    ready_us: list[int] = []
    """The time from the disturbance until the controller responds."""
    verified: str = ""
    """The output of `tablectl journal verify` at the end."""
    words: list[str] = []
    """Lines from the system's journal."""


def said_by(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def _of(key: str) -> str:
    return said_by("systemctl", "show", UNIT, f"--property={key}", "--value")


def is_ready() -> bool:
    return _of("ActiveState") == "active" and answers()


def _session() -> int:
    must("the journal is open", lambda: status()["session"] is not None)
    return int(str(status()["session"]))


def begin(disk: str = "") -> None:
    """Install a craps table and its key as the installer does, and start the unit."""
    if disk:
        JOURNAL.mkdir(exist_ok=True)
        subprocess.run(["mount", "-o", "noatime", disk, str(JOURNAL)], check=True)
    subprocess.run(["systemd-tmpfiles", "--create", "table.conf"], check=False)
    KEY.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = subprocess.run([PYTHON, "-m", "controller.journal.keys"], capture_output=True, check=True).stdout
    subprocess.run(["systemd-creds", "encrypt", "--name=table-key", "-", str(KEY)], input=made, check=True)
    TABLE_FILE.write_text((SAMPLES / "craps.yaml").read_text() + "\npublish: {to: socket}\n")
    _systemctl("start")
    must("the unit is ready", is_ready)


def _systemctl(verb: str) -> None:
    done = subprocess.run(["systemctl", verb, UNIT], check=False)
    if done.returncode:
        raise AssertionError(f"systemctl {verb}: " + " / ".join(_log("")[-30:]))


def _restart() -> None:
    _systemctl("restart")
    must("the unit is ready", is_ready)


def verified() -> str:
    said_by("systemctl", "stop", UNIT)
    return said_by("tablectl", "journal", "verify", "--journal", str(JOURNAL))


def _log(*words: str) -> list[str]:
    lines = said_by("journalctl", "-u", UNIT, "-o", "cat", "--no-pager").splitlines()
    return [line for line in lines if any(word in line.lower() for word in words)]


def _felled(how: signal.Signals) -> int:
    """End the unit's process with this signal; return the time until the restarted one responds."""
    pid, began_us = int(_of("MainPID")), now_us()
    os.kill(pid, how)
    must("another process runs", lambda: _of("MainPID") not in {"0", str(pid)} and is_ready())
    return now_us() - began_us


def ended(kills: int) -> list[Found]:
    """Suspend the process, kill it repeatedly, and restart it with /etc read-only.

    The journal is verified once, at the end.
    """
    begin()
    *found, last = _hung(), _killed(kills), _read_only_etc()
    return [*found, msgspec.structs.replace(last, verified=verified())]


def _hung() -> Found:
    """Suspend the process, so that none of its threads runs until the watchdog ends it."""
    sessions = [_session()]
    ready_us = [_felled(signal.SIGSTOP)]
    sessions.append(_session())
    return Found(sessions=sessions, active=_of("ActiveState"), ready_us=ready_us, words=_log("watchdog"))


def _killed(times: int) -> Found:
    sessions, ready_us = [_session()], []
    for _ in range(times):
        ready_us.append(_felled(signal.SIGKILL))
        sessions.append(_session())
    return Found(sessions=sessions, active=_of("ActiveState"), ready_us=ready_us)


def _read_only_etc() -> Found:
    """Restart with /etc read-only, as on a table with a read-only root."""
    sessions = [_session()]
    subprocess.run(["mount", "--bind", "/etc", "/etc"], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", "/etc"], check=True)
    refused = said_by("touch", "/etc/written")
    _restart()
    sessions.append(_session())
    return Found(sessions=sessions, active=_of("ActiveState"), words=[refused])


def clock_back() -> Found:
    """Set the clock back by 80 days, restart, and set it forward again; then a person approves it."""
    begin()
    sessions, faults, locks = [_session()], [fault_codes()], []

    def note() -> None:
        faults.append(fault_codes())
        locks.append(str(status()["lock"]))

    with _clock_set(-STEP_S):
        until(lambda: "clock_stepped" in fault_codes(), 60)
        note()
        _restart()
        sessions.append(_session())
        note()
    forward = f"changed by +{STEP_S:,}"
    until(lambda: any(fault["found"].startswith(forward) for fault in status()["faults"]), 60)
    note()
    ask(do="approve", what="clock", who="ann", reason="set by hand")
    until(lambda: "clock_stepped" not in fault_codes(), 60)
    note()
    _restart()
    sessions.append(_session())
    note()
    return Found(
        sessions=sessions, active=_of("ActiveState"), faults=faults, locks=locks, verified=verified()
    )


def boot_in_1970() -> Found:
    """Start with a clock that has not been set; set it while the table runs."""
    true_s = time.time()
    time.clock_settime(time.CLOCK_REALTIME, DAY_S)
    begin()
    sessions, faults = [_session()], [fault_codes()]
    wall = [str(status()["wall"])]
    time.clock_settime(time.CLOCK_REALTIME, true_s)
    must("the clock's year is reported", lambda: str(status()["wall"]) != wall[0])
    faults.append(fault_codes())
    wall.append(str(status()["wall"]))
    _restart()
    sessions.append(_session())
    faults.append(fault_codes())
    return Found(sessions=sessions, active=_of("ActiveState"), faults=faults, words=wall, verified=verified())


def full_disk() -> Found:
    """Fill the journal's disk while the table runs, restart with the full disk, and free space again."""
    begin("/dev/ubdb")
    sessions, faults, locks = [_session()], [fault_codes()], []
    filler = JOURNAL / "filler"
    _fill(filler)

    def said_something() -> bool:
        answer: dict[str, Any] = say("lock")
        answer = say("unlock") if answer else answer
        return any(code.startswith("journal") for code in fault_codes())

    until(said_something, 120)
    faults.append(fault_codes())
    locks.append(str(status()["lock"]))
    _restart()
    must("the journal's state is reported", lambda: bool(fault_codes()))
    faults.append(fault_codes())
    locks.append(str(status()["lock"]))
    filler.unlink()
    until(lambda: not any(code.startswith("journal") for code in fault_codes()), 120)
    faults.append(fault_codes())
    sessions.append(_session())
    return Found(
        sessions=sessions, active=_of("ActiveState"), faults=faults, locks=locks, verified=verified()
    )


@contextmanager
def _clock_set(by_s: float) -> Iterator[None]:
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)
    yield
    time.clock_settime(time.CLOCK_REALTIME, time.time() - by_s)


def _fill(path: Path) -> None:
    """Write until the disk is completely full."""
    with path.open("wb", buffering=0) as filler:
        for size in (CHUNK, 4096, 512):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                continue
