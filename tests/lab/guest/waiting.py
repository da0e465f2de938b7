"""Time in the guest, and waiting for conditions."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

VIRTUAL = "time-travel=" in Path("/proc/cmdline").read_text()
"""Whether time is virtual and sleeping is free. Waiting for the disk still takes real time."""
FACT_S = 600 if VIRTUAL else 300
"""Time limit of a condition: long enough for a busy host, and shorter than the host's own limit."""
HOST_S = 240
"""Time limit, in the host's time, of a condition in virtual time.

Ten minutes of the guest's time can pass in ten seconds of the host's while programs wait for a slow disk.
"""
HOST_CLOCK = Path("/lab/out/clock")


def now_us() -> int:
    """Return the table's time, which is the monotonic clock that also timestamps edges."""
    return time.monotonic_ns() // 1000


def wait_until(t_us: int) -> None:
    """Sleep until `t_us`."""
    while (left_us := t_us - now_us()) > 0:
        time.sleep(left_us / 1e6)


def host_s() -> float:
    """Return the host's time, taken from the modification time of a file on the host."""
    HOST_CLOCK.unlink(missing_ok=True)
    HOST_CLOCK.touch()
    return HOST_CLOCK.stat().st_mtime


def until(fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> bool:
    """Wait for a condition within the host's and the guest's limits; return whether it became true."""
    end_us = now_us() + int(seconds * 1e6)
    host_end_s = host_s() + HOST_S if VIRTUAL and seconds >= FACT_S else 0.0
    while not fact():
        if now_us() > end_us and (not host_end_s or host_s() > host_end_s):
            return False
        time.sleep(every_s)
    return True


def must(what: str, fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> int:
    """Wait for a condition that must become true; return the duration in us."""
    began_us = now_us()
    if not until(fact, seconds, every_s):
        raise TimeoutError(f"{what}: not within {seconds:g} s")
    return now_us() - began_us


def udev_done() -> None:
    """Wait until udev has handled its events, even beyond udev's limit of 120 s."""

    def settled() -> bool:
        return subprocess.run(["udevadm", "settle"], check=False).returncode == 0

    must("udev has handled its events", settled)
