"""Time in the guest, and waiting for conditions."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

VIRTUAL = "time-travel=" in Path("/proc/cmdline").read_text()
"""Whether sleeping is free. Time runs on while waiting for the disk, which takes the host's own time."""
FACT_S = 600 if VIRTUAL else 300
"""Generous for a busy host, and shorter than the host's own timeout, so the condition is reported."""
HOST_S = 240
"""The limit in the host's time for a condition in virtual time.

A guest whose programs wait for a slow disk sleeps through ten of its own minutes in ten
seconds of the host's.
"""
HOST_CLOCK = Path("/lab/out/clock")


def now_us() -> int:
    """Return the table's time: that of the monotonic clock, which also stamps the kernel's edges."""
    return time.monotonic_ns() // 1000


def wait_until(t_us: int) -> None:
    """Sleep until `t_us`."""
    while (left_us := t_us - now_us()) > 0:
        time.sleep(left_us / 1e6)


def host_s() -> float:
    """Return the host's time: a file that it creates carries it, whatever the guest's clock shows."""
    HOST_CLOCK.unlink(missing_ok=True)
    HOST_CLOCK.touch()
    return HOST_CLOCK.stat().st_mtime


def until(fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> bool:
    """Wait for a condition; return whether it became true. The host's and the guest's time limit apply."""
    end_us = now_us() + int(seconds * 1e6)
    host_end_s = host_s() + HOST_S if VIRTUAL and seconds >= FACT_S else 0.0
    while not fact():
        if now_us() > end_us and (not host_end_s or host_s() > host_end_s):
            return False
        time.sleep(every_s)
    return True


def must(what: str, fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> int:
    """Wait for a condition that is required to continue; return how long it took in us."""
    began_us = now_us()
    if not until(fact, seconds, every_s):
        raise TimeoutError(f"{what}: not within {seconds:g} s")
    return now_us() - began_us


def udev_done() -> None:
    """Wait until udev has handled its events: a busy host takes longer than udev's own limit of 120 s."""

    def settled() -> bool:
        return subprocess.run(["udevadm", "settle"], check=False).returncode == 0

    must("udev has handled its events", settled)
