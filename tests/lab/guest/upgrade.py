"""Upgrades a table with the installer until the power is cut, and inspects the state at the next start."""

import base64
import csv
import hashlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tests.lab.guest.cut_table import Host
from tests.lab.guest.table import JOURNAL, SOCKET, say, status
from tests.lab.guest.units import KEY, UNIT, begin, is_ready, said_by, verified
from tests.lab.guest.waiting import must, until

HOME = Path("/opt/table-controller")
CHECKOUT = Path("/src")
WHEELS = Path("/wheels")
OUT = Path("/lab/out")
DISK = "/dev/ubdb"
EXTRAS = "journal,hardware"
"""Sufficient extras that differ from the installed ones, so that the release has a new name."""
PACE_S = 0.2


class StateAfterCut(msgspec.Struct, frozen=True, kw_only=True):
    """The state after the cut."""

    release: str
    broken: list[str]
    """Files of the running release that differ from its packages' lists."""
    empty: list[str]
    """Units, rules and settings that are empty."""
    ready: bool
    sessions: list[int]
    """The sessions after the cut and after the repeated upgrade, if there was one."""
    upgraded: str = ""
    """The release that runs after the repeated upgrade."""
    verified: str = ""
    words: list[str] = []


def upgrade(checkout: str, wheels: str) -> None:
    """Start the table, upgrade it, and send the host each step and outcome until the power is cut."""
    host = Host()
    _mount(checkout, wheels)
    with Path("/etc/fstab").open("a") as mounts:
        mounts.write(f"{DISK} {JOURNAL} ext4 noatime 0 0\n")
    begin(DISK)
    subprocess.run(["systemctl", "enable", "-q", UNIT], check=True)
    before = _release()
    os.sync()
    threading.Thread(target=_forward, args=(host,), daemon=True).start()
    threading.Thread(target=_speak, daemon=True).start()
    install = _install()
    host.send("begun", before)
    steps: Mapping[str, Callable[[], bool]] = {
        "whole": lambda: any(path.parent.name != before for path in HOME.glob("releases/*/complete")),
        "switched": lambda: _release() != before,
        "ended": lambda: install.poll() is not None,
    }
    for step, has_come in steps.items():
        must(step, lambda: has_come() or install.poll() is not None, every_s=0.005)  # noqa: B023 - called immediately
        host.send(step, install.poll())
    threading.Event().wait()


def inspect_after_cut(checkout: str, wheels: str, *, upgrade_again: bool) -> StateAfterCut:
    """Check the state after the cut, wait for the unit, and repeat the upgrade if requested."""
    release = _release()
    ready = until(is_ready, 120)
    broken, empty = _broken(HOME / "releases" / release), list(_empty())
    sessions = [int(str(status()["session"]))] if ready else []
    upgraded = ""
    if upgrade_again:
        _mount(checkout, wheels)
        install = _install()
        must("the upgrade has ended", lambda: install.poll() is not None, 900)
        ready = ready and install.returncode == 0 and is_ready()
        upgraded = _release()
        broken += _broken(HOME / "releases" / upgraded)
        sessions.append(int(str(status()["session"])))
    words = said_by("journalctl", "-u", UNIT, "-o", "cat", "--no-pager", "-n", "12").splitlines()
    said = verified()
    subprocess.run(["umount", str(JOURNAL)], check=True)
    return StateAfterCut(
        release=release,
        broken=broken,
        empty=empty,
        ready=ready,
        sessions=sessions,
        upgraded=upgraded,
        verified=said,
        words=words,
    )


def _mount(checkout: str, wheels: str) -> None:
    for place, of in ((CHECKOUT, checkout), (WHEELS, wheels)):
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-r", "-t", "hostfs", "-o", of, "none", str(place)], check=True)


def _install() -> "subprocess.Popen[bytes]":
    given = {"PYTHON": "/usr/bin/python3", "WHEELHOUSE": str(WHEELS), "EXTRAS": EXTRAS}
    with (OUT / "install.log").open("ab") as log:
        script = CHECKOUT / "systemd" / "install.sh"
        return subprocess.Popen([str(script), "install"], env={**os.environ, **given}, stdout=log, stderr=log)


def _speak() -> None:
    """Enter an input repeatedly to cause outcomes; a refusal is also an outcome."""
    while True:
        for name in ("lock", "unlock"):
            with suppress(OSError, ValueError):  # the controller is being stopped and started
                say(name)
            time.sleep(PACE_S)


def _forward(host: Host) -> None:
    """Forward the watched outcomes of successive controllers to the host."""
    while True:
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as line:
            line.connect(SOCKET)
            line.sendall(b'{"do":"watch","topics":["outcomes"]}\n')
            for published in line.makefile():
                if "outcome" in (message := json.loads(published)):
                    host.send("told", message)
        time.sleep(PACE_S)


def _release() -> str:
    return (HOME / "current").readlink().name


def _broken(release: Path) -> list[str]:
    """Return the files that are missing or differ from their packages' lists."""
    found = [] if (release / "complete").exists() else [str(release / "complete")]
    lists = sorted(release.glob("lib/python3*/site-packages/*.dist-info/RECORD"))
    assert lists, f"found no package in {release}"
    for listed in lists:
        lines = listed.read_text().splitlines()
        found += [str(listed)] * (not lines)
        for name, digest, _ in csv.reader(lines):
            path = listed.parents[1] / name
            if digest and not (path.is_file() and _is_as(digest, path, script=name.startswith(".."))):
                found.append(str(path))
    return found


def _is_as(digest: str, path: Path, *, script: bool) -> bool:
    """Return whether a file has the listed digest.

    Of a script, only the start and the end are checked, because the installer rewrites Python's path in it.
    """
    data = path.read_bytes()
    if script:
        return data.startswith(b"#!") and data.endswith(b"\n")
    raw = hashlib.sha256(data).digest()
    return digest == "sha256=" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _empty() -> Iterator[str]:
    laid = [
        *Path("/etc/systemd/system").glob("table*.service"),
        *Path("/etc/udev/rules.d").glob("60-table*.rules"),
        *Path("/etc/table").rglob("*.yaml"),
        KEY,
    ]
    return (str(path) for path in laid if not path.stat().st_size)
