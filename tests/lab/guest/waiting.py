"""Time in the guest, and waiting for conditions."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

VIRTUAL = "time-travel=" in Path("/proc/cmdline").read_text()
"""Whether sleeping is free. The guest's clock runs on while it waits for the disk, which takes real time."""
FACT_S = 600 if VIRTUAL else 300
"""Long enough for a busy host, and shorter than the host's own timeout, so that the condition is reported."""
HOST_S = 240
"""The limit in the host's time for a condition in virtual time.

While its programs wait for a slow disk, ten minutes of the guest's time may pass in ten seconds of the
host's.
"""
HOST_CLOCK = Path("/lab/out/clock")


def now_us() -> int:
    """Return the table's time, which is the monotonic clock with which the kernel timestamps edges."""
    return time.monotonic_ns() // 1000


def wait_until(t_us: int) -> None:
    """Sleep until `t_us`."""
    while (left_us := t_us - now_us()) > 0:
        time.sleep(left_us / 1e6)


def host_s() -> float:
    """Return the host's time, which is the modification time of a file on the host, whatever the guest's
    clock shows."""
    HOST_CLOCK.unlink(missing_ok=True)
    HOST_CLOCK.touch()
    return HOST_CLOCK.stat().st_mtime


def until(fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> bool:
    """Wait for a condition; return whether it became true. Both the host's and the guest's limit must
    pass."""
    end_us = now_us() + int(seconds * 1e6)
    host_end_s = host_s() + HOST_S if VIRTUAL and seconds >= FACT_S else 0.0
    while not fact():
        if now_us() > end_us and (not host_end_s or host_s() > host_end_s):
            return False
        time.sleep(every_s)
    return True


def must(what: str, fact: Callable[[], bool], seconds: float = FACT_S, every_s: float = 0.05) -> int:
    """Wait for a condition that must become true; return how long it took in us."""
    began_us = now_us()
    if not until(fact, seconds, every_s):
        raise TimeoutError(f"{what}: not within {seconds:g} s")
    return now_us() - began_us


def udev_done() -> None:
    """Wait until udev has handled its events, which on a busy host takes longer than udev's own limit of 120
    s."""

    def settled() -> bool:
        return subprocess.run(["udevadm", "settle"], check=False).returncode == 0

    must("udev has handled its events", settled)
