"""The settlement engine as systemd runs it: a process with an HTTP port that reports its state."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import Forked
from tests.publish.broker import free_port

PATIENCE_S = 300.0


@dataclass
class Service:
    """An engine's process, which can be killed and restarted on the same port and database."""

    folder: Path
    url: str
    broker: int | None = None
    """A broker's port on this machine."""
    arguments: tuple[str, ...] = ()
    signs: bool = True
    """Whether the engine signs its answers; an engine of 0.1.0 has no key."""
    port: int = field(default_factory=free_port)
    anew: bool = True
    """Whether each run is a new interpreter, which runs the release that it finds first."""
    process: "subprocess.Popen[bytes] | Forked | None" = None
    systemd: socket.socket | None = None

    def start(self, *, ready: bool = True) -> None:
        """Start the process; with `ready`, wait until it reports that it is ready."""
        assert self.process is None, "the engine is already running"
        address = self.folder / "settlement.notify"
        address.unlink(missing_ok=True)
        self.systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.systemd.bind(str(address))
        self.systemd.settimeout(PATIENCE_S)
        key = ("--key-file", str(self.folder / "settlement.key")) if self.signs else ()
        words = ["settlement", "--database", self.url, *key, "run", "--listen", f"127.0.0.1:{self.port}"]
        words += [] if self.broker is None else ["--broker", f"127.0.0.1:{self.broker}"]
        self.process = self._process([*words, *self.arguments], {**os.environ, "NOTIFY_SOCKET": str(address)})
        if ready:
            self.hear("READY=1")

    def _process(self, words: list[str], environ: dict[str, str]) -> "subprocess.Popen[bytes] | Forked":
        path = self.folder / "settlement.log"
        if not self.anew:
            return Forked(words, log=path, environ=environ)
        with path.open("ab") as log:
            command = [sys.executable, "-m", "controller.cli.main", *words]
            return subprocess.Popen(command, env=environ, stdout=log, stderr=log)

    def hear(self, word: str) -> str:
        """Wait for a message to systemd with this line; return the whole message."""
        assert self.systemd is not None
        while word not in (reported := self.systemd.recv(4096).decode()).splitlines():
            assert self.process is not None
            assert self.process.poll() is None, self.log
        return reported

    def hear_any(self) -> str:
        assert self.systemd is not None
        return self.systemd.recv(4096).decode()

    def health(self) -> object:
        return self.ask("GET", "/health")[1]

    def ask(
        self, method: str, path: str, body: object = None, *, token: str = "", key: str = ""
    ) -> tuple[int, object]:
        """Send an HTTP request; return the status code and the answer."""
        return ask(self.port, method, path, body, token=token, key=key)

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self._over()

    def terminate(self) -> int:
        """Stop the process cleanly, as systemd does; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self._over()

    def _over(self) -> int:
        assert self.process is not None
        assert self.systemd is not None
        code = self.process.wait(PATIENCE_S)
        self.systemd.close()
        self.process = self.systemd = None
        return code

    def close(self) -> None:
        if self.process is not None:
            self.kill()

    @property
    def log(self) -> str:
        return (self.folder / "settlement.log").read_text(encoding="utf-8", errors="replace")


def ask(
    port: int, method: str, path: str, body: object = None, *, token: str = "", key: str = ""
) -> tuple[int, object]:
    """Send a request to a settlement API on this machine; return the status code and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or f"{method} {path}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
