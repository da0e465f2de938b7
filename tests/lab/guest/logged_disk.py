"""A table on a disk that logs every write, with a mark for each published outcome."""

import json
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.lab.guest.cut_table import feed, start, unlocked_by_a_person
from tests.lab.guest.table import JOURNAL, SOCKET
from tests.lab.guest.waiting import must

NAME = "journal"


def play(seed: int, outcomes: int) -> list[dict[str, Any]]:
    """Play until this many outcomes have been published; return them. The log marks each as `told-N`."""
    sectors = int(Path("/sys/block/ubdb/size").read_text())
    table = f"0 {sectors} log-writes /dev/ubdb /dev/ubdc"
    subprocess.run(["dmsetup", "--noudevsync", "create", NAME, "--table", table], check=True)
    must("the logged disk is there", Path(f"/dev/mapper/{NAME}").exists)
    running = start({JOURNAL: f"/dev/mapper/{NAME}"})
    published: list[dict[str, Any]] = []
    ready, done = threading.Event(), threading.Event()

    def watch() -> None:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(SOCKET)
            line.sendall(b'{"do":"watch","topics":["outcomes"]}\n')
            ready.set()
            for text in line.makefile():
                message = json.loads(text)
                if "outcome" in message:
                    published.append(message)
                    mark = f"told-{len(published)}"
                    subprocess.run(["dmsetup", "message", NAME, "0", "mark", mark], check=True)
                if len(published) >= outcomes:
                    done.set()
                    return

    threading.Thread(target=watch, daemon=True).start()
    must("the watcher listens", ready.is_set)
    threading.Thread(target=feed, args=(seed,), daemon=True).start()
    assert unlocked_by_a_person()
    must(f"{outcomes} outcomes are published", done.is_set)
    running.kill()
    must(
        "nobody uses the disk", lambda: subprocess.run(["umount", str(JOURNAL)], check=False).returncode == 0
    )
    subprocess.run(["dmsetup", "--noudevsync", "remove", NAME], check=True)
    return published
