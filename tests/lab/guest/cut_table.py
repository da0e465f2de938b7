"""A table that plays as fast as it can until its power is cut, and sends each outcome to the host.

The guest's second console is a pipe to the host, whose contents survive a power cut.
"""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from tests.lab.guest.table import JOURNAL, SOCKET, Table, ask, say, status
from tests.lab.guest.waiting import must, until

OUT = Path("/lab/out")
HEAD = Path("/var/lib/table-head")
FIFO = Path("/run/table/readings")
MOMENT = Path("/run/table/moment")
"""The FIFO to which the controller, if it is run through `moments`, writes when the moment has come."""
MOMENTS_MODULE = "tests.lab.guest.moments"
PAUSE_US = 900_000
"""Minimum gap in the feed that separates two attempts. A run can begin after such a gap."""
GAP_US = 30_000_000
"""Time from the feed's last reading to the first reading of the feed's next repetition."""


class Host:
    """The connection to the host, which receives every message as a complete line."""

    def __init__(self) -> None:
        self._line = os.open("/dev/tty1", os.O_WRONLY | os.O_NOCTTY)
        tty.setraw(self._line)
        self._turn = threading.Lock()

    def send(self, kind: str, what: object) -> None:
        data = json.dumps({"kind": kind, "what": what}).encode() + b"\n"
        with self._turn:
            while data:
                data = data[os.write(self._line, data) :]


def play(seed: int, moment: str = "", nth: int = 0) -> None:
    """Play the host's feed, beginning after one of its pauses, until the power is cut.

    If a `moment` of the journal is given, notify the host of the moment's `nth` occurrence.
    """
    host = Host()
    program = (sys.executable, "-B", "-m", MOMENTS_MODULE, moment, str(nth)) if moment else ("tablectl",)
    if moment:
        MOMENT.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(MOMENT)
        threading.Thread(target=_await_moment, args=(host,), daemon=True).start()
    start({JOURNAL: "/dev/ubdb", HEAD: "/dev/ubdc"}, program)
    now = status()
    board = ask(do="board")["board"]
    host.send("start", {"session": now["session"], "faults": now["faults"], "board": board})
    threading.Thread(target=_watch, args=(host,), daemon=True).start()
    # The arrival times in the feed set the table's clock.
    threading.Thread(target=feed, args=(seed,), daemon=True).start()
    _unlock(host)
    while True:
        _settle(host)


def _await_moment(host: Host) -> None:
    with MOMENT.open("rb") as fifo:
        host.send("moment", fifo.readline().decode().strip())


def start(disks: Mapping[Path, str], program: tuple[str, ...] = ("tablectl",)) -> Table:
    """Mount these disks, of the journal and the head file, and start the table that the host has set up."""
    for place, disk in disks.items():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-o", "noatime", disk, str(place)], check=True)
        subprocess.run(["chown", "table:table", str(place)], check=True)
    FIFO.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(FIFO)
    subprocess.run(["chown", "-R", "table:table", str(FIFO.parent)], check=True)
    head = (HEAD if HEAD in disks else JOURNAL) / "journal.head"
    readings = ("--readings", str(FIFO), "--data-time", "--no-self-test-devices")
    table = Table((OUT / "table.yaml").read_text(), ("--head", str(head), *readings), program)
    table.start()
    must("the journal is open", lambda: status()["session"] is not None and status()["lock"] is not None)
    return table


def unlocked_by_a_person() -> bool:
    """Unlock the table; return whether that was possible."""

    def may_play() -> bool:
        now = status()
        if now["awaited"]:
            say("void")
        elif now["lock"] != "unlocked":
            say("unlock")
        return bool(now["lock"] == "unlocked")

    return until(may_play)


def _unlock(host: Host) -> None:
    if unlocked_by_a_person():
        host.send("unlocked", None)
    else:
        host.send("locked", status()["faults"])


def _watch(host: Host) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(SOCKET)
        line.sendall(b'{"do":"watch","topics":["outcomes","faults"]}\n')
        for published in line.makefile():
            message = json.loads(published)
            if "outcome" in message:
                host.send("told", message)
            elif message.get("fault", {}).get("began"):
                host.send("fault", message["fault"])
    host.send("ended", "the watch")


def _settle(host: Host) -> None:
    box = ask(do="outbox", limit=20, after=0).get("outbox") or []
    for one in box:
        outcome_id = one.get("outcome", one)["id"]
        if ask(do="settled", id=outcome_id, chain=one["chain"]).get("ok"):
            host.send("acknowledged", {"id": outcome_id, "chain": one["chain"]})
    time.sleep(0.05 if box else 0.15)  # leaves some outcomes unacknowledged at a cut


def feed(seed: int) -> None:
    """Send the host's readings repeatedly, beginning after one of the pauses between them."""
    readings = [json.loads(line) for line in (OUT / "feed.jsonl").read_text().splitlines()]
    gaps = enumerate(pairwise(readings), start=1)
    starts = [n for n, (before, after) in gaps if after["arrived"] - before["arrived"] > PAUSE_US]
    at = random.Random(seed).choice([0, *starts])
    shift_us = 5_000_000 - readings[at]["arrived"]
    with FIFO.open("wb", buffering=0) as fifo:
        while True:
            reading = dict(readings[at])
            reading["t"] += shift_us
            reading["arrived"] += shift_us
            fifo.write(json.dumps(reading).encode() + b"\n")
            at += 1
            if at == len(readings):
                at, shift_us = 0, reading["arrived"] + GAP_US - readings[0]["arrived"]
