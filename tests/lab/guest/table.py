"""The installed controller in the guest, started with its unit's settings, and its control socket."""

import json
import os
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.guest.waiting import must, now_us, until

SOCKET = "/run/table/control.sock"
JOURNAL = Path("/var/lib/table")
SAMPLES = Path("/etc/table/samples")
TABLE_FILE = Path("/run/table/table.yaml")
LOG = Path("/lab/out/table.log")


@dataclass(frozen=True)
class ReceivedMessage:
    """A message that a watcher received, and its time of arrival."""

    at_us: int
    what: dict[str, Any]


def ask(**request: object) -> dict[str, Any]:
    """Send a request to the control socket."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        line.connect(SOCKET)
        line.sendall(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(line.makefile().readline())
        return answer


def say(name: str, by: str = "boxperson", **more: object) -> dict[str, Any]:
    """Enter a person's input and return the result."""
    return ask(do="input", name=name, by=by, who="ann", wait_s=20, **more)


class Watch:
    """All messages that a watcher of these topics receives."""

    def __init__(self, *topics: str) -> None:
        self.outcomes: list[ReceivedMessage] = []
        self.faults: list[ReceivedMessage] = []
        self.readings: list[ReceivedMessage] = []
        self.lamps: list[ReceivedMessage] = []
        self._kinds = {
            "outcome": self.outcomes,
            "fault": self.faults,
            "reading": self.readings,
            "lamp": self.lamps,
        }
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(SOCKET)
        self._line.sendall(json.dumps({"do": "watch", "topics": topics}).encode() + b"\n")
        self._file = self._line.makefile()
        self._file.readline()
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        for line in self._file:
            message = json.loads(line)
            for kind, kept in self._kinds.items():
                if kind in message:
                    kept.append(ReceivedMessage(now_us(), message[kind]))

    def faults_begun(self, since: int = 0) -> list[tuple[str, str]]:
        """Return the code and location of each fault that began, from the watcher's `since`-th message on."""
        return [(one.what["code"], one.what["where"]) for one in self.faults[since:] if one.what.get("began")]


@dataclass
class Table:
    """`tablectl run` with the table's file, as the user `table` in /run/table, as in the unit."""

    text: str
    arguments: tuple[str, ...] = ()
    program: tuple[str, ...] = ("tablectl",)
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self) -> int:
        """Start the controller and wait until it responds; return the duration in us."""
        for folder in (TABLE_FILE.parent, JOURNAL):
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["chown", "table:table", str(folder)], check=True)
        TABLE_FILE.write_text(self.text)
        identity = ["setpriv", "--reuid", "table", "--regid", "table", "--init-groups"]
        run = [*self.program, "run", str(TABLE_FILE), "--journal", str(JOURNAL), "--socket", SOCKET]
        with LOG.open("ab") as log:
            self.process = subprocess.Popen(
                [*identity, *run, *self.arguments], cwd=TABLE_FILE.parent, stderr=log, stdout=log
            )
        try:
            return must("the controller responds", answers)
        except TimeoutError as error:
            words = LOG.read_text(errors="replace").splitlines()[-8:]
            raise TimeoutError(f"{error}; exit {self.process.poll()}: " + " / ".join(words)) from error

    def stop(self) -> int:
        """Stop the controller cleanly and return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        assert self.process
        self.process.send_signal(how)
        return self.process.wait(120)

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid


def answers() -> bool:
    """Return whether a controller responds on the socket."""
    try:
        return bool(ask(do="status")["ok"])
    except (OSError, ValueError):
        return False


def status() -> dict[str, Any]:
    found: dict[str, Any] = ask(do="status")["status"]
    return found


def fault_codes() -> list[str]:
    return [fault["code"] for fault in status()["faults"]]


def unlocked() -> bool:
    """Return whether play may continue."""
    return bool(status()["lock"] == "unlocked")


def rule_pending() -> None:
    """Void the attempt that is waiting for a person, and unlock the table, as a boxperson would."""

    def ruled() -> bool:
        if status()["awaited"]:
            say("void")
        if not unlocked():
            say("unlock")
        now = status()
        return now["awaited"] is None and now["lock"] == "unlocked"

    until(ruled)


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def serial_ports(pid: int) -> list[str]:
    """Return the USB serial ports that a process holds open, including those whose device is gone."""
    held = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            held.append(os.readlink(descriptor))
    return [path for path in held if path.startswith("/dev/ttyACM")]
