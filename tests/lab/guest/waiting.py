"""Time in the guest, and waiting for facts."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

VIRTUAL = "time-travel=" in Path("/proc/cmdline").read_text()
"""Whether sleeping is free. Time runs on while the disk is waited for, which takes the host's own time."""
FACT_S = 600 if VIRTUAL else 300
"""Generous for a busy host, and within the host's own patience, so that what was waited for is told."""


def now_us() -> int:
    """Return the table's time: the monotonic clock's, which the kernel's edges bear too."""
    return time.monotonic_ns() // 1000


def wait_until(t_us: int) -> None:
    """Sleep until `t_us`."""
    while (left_us := t_us - now_us()) > 0:
        time.sleep(left_us / 1e6)


def until(fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> bool:
    """Wait for a fact; return whether it came."""
    end_us = now_us() + int(seconds * 1e6)
    while not fact():
        if now_us() > end_us:
            return False
        time.sleep(every_s)
    return True


def must(what: str, fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> int:
    """Wait for a fact without which nothing goes on; return how long it took in us."""
    began_us = now_us()
    if not until(fact, seconds, every_s):
        raise TimeoutError(f"{what}: not within {seconds:g} s")
    return now_us() - began_us


def udev_done() -> None:
    """Wait until udev has handled its events: a busy host takes longer than its own limit of 120 s."""

    def settled() -> bool:
        return subprocess.run(["udevadm", "settle"], check=False).returncode == 0

    must("udev has handled its events", settled)
