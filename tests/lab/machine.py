"""The host's side of the lab's machine, which boots the machine, runs a job on it, and cuts its power."""

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar, get_type_hints

import msgspec

from tests.lab.guest.job import Job, Word
from tests.lab.kernel import registers

P = ParamSpec("P")
R = TypeVar("R")

HERE = Path(__file__).parent
MEMORY_MIB = 384
READ_BYTES = 1 << 16
VIRTUAL_TIME = "time-travel=inf-cpu"
"""A kernel argument for virtual time, in which programs take no time and sleeping is free.

The host's load then has no effect. A program that polls without a pause hangs. lgpio is such a program, so
the table has no panel.
"""
PATIENCE_S = 420
"""Time after which a guest is treated as hung. It is long enough for a busy host."""


class Hung(AssertionError):
    """Raised if the guest does not finish. The message ends with the last lines of the guest's console."""


@dataclass
class Machine:
    """A machine with a copy-on-write copy of the disk and a folder that it shares with the host.

    `disks` are further block devices (/dev/ubdb and on); `arguments` are passed to the kernel unchanged.
    """

    kernel: Path
    disk: Path
    folder: Path
    disks: Sequence[Path] = ()
    arguments: Sequence[str] = ()
    systemd: bool = False
    patience_s: float = PATIENCE_S
    tells: bool = False
    """Whether the guest's second console is a pipe to the host, whose lines `heard` returns."""
    keeps_disk: bool = False
    """Whether the guest's writes are kept for its next start."""
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _ear: int = field(default=-1, init=False)
    _rest: bytes = field(default=b"", init=False)

    def call(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Boot, run `work`, a function of one of the guest's modules, and return the result."""
        self.start(work, *args, **kwargs)
        self.wait()
        said = self.folder / "word.json"
        if not said.exists():
            raise Hung(f"the guest did not finish:\n{self.console()}")
        word = msgspec.json.decode(said.read_bytes(), type=Word)
        assert word.raised is None, f"in the guest: {word.raised}\n{self.console()}"
        result: R = msgspec.convert(word.returned, get_type_hints(work)["return"])
        return result

    def start(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> None:
        """Boot and return immediately; the guest runs `work`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        job = Job(f"{work.__module__}:{work.__qualname__}", list(args), dict(kwargs), systemd=self.systemd)
        (self.folder / "job.json").write_bytes(msgspec.json.encode(job))
        (self.folder / "word.json").unlink(missing_ok=True)
        command = self._command()
        mouths: tuple[int, ...] = ()
        if self.tells:
            self._ear, mouth = os.pipe()
            command, mouths = [*command, f"con1=null,fd:{mouth}"], (mouth,)
        with (self.folder / "console.txt").open("ab") as console:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env={**os.environ, **self._environment()},
                process_group=0,  # no new session, which would lose the priority of this run
                pass_fds=mouths,
            )
        for mouth in mouths:
            os.close(mouth)

    def heard(self, wait_s: float) -> list[bytes]:
        """Return the complete lines that the guest has sent; wait at most this long for the first."""
        ready, _, _ = select.select([self._ear], [], [], wait_s)
        got = os.read(self._ear, READ_BYTES) if ready else b""
        *lines, self._rest = (self._rest + got).split(b"\n")
        return lines

    def last_words(self) -> list[bytes]:
        """Return the lines that were in transit when the power was cut."""
        lines: list[bytes] = []
        while got := os.read(self._ear, READ_BYTES):
            self._rest += got
        *lines, self._rest = self._rest.split(b"\n")
        os.close(self._ear)
        return lines

    def wait(self) -> None:
        """Wait until the machine is off; cut its power if it takes longer than `patience_s`."""
        assert self._process
        try:
            self._process.wait(self.patience_s)
        except subprocess.TimeoutExpired:
            self.cut()
            raise Hung(f"the guest did not finish within {self.patience_s:g} s:\n{self.console()}") from None
        self._forget()

    def cut(self) -> None:
        """Cut the power; all data that the guest's kernel has not written are lost."""
        assert self._process
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._forget()

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def console(self, lines: int = 40) -> str:
        text = (self.folder / "console.txt").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _command(self) -> list[str]:
        disks = [f"ubd{n}={path}" for n, path in enumerate(self.disks, start=1)]
        return [
            str(self.kernel),
            f"mem={MEMORY_MIB}M",
            f"ubd0={self.folder / 'disk.cow'},{self.disk}",
            *disks,
            *(
                "root=/dev/ubda",
                "rw",
                "rootfstype=ext4",
                "init=/lab-init",
                f"lab={HERE}",
                f"out={self.folder}",
            ),
            *("con=null", "con0=null,fd:1", "quiet", *self.arguments),
        ]

    def _environment(self) -> Mapping[str, str]:
        """Return the environment: the folders of memory file and socket, and the library to preload."""
        return {"TMPDIR": "/dev/shm", "HOME": str(self.folder), "LD_PRELOAD": str(registers())}

    def _forget(self) -> None:
        if not self.keeps_disk:
            (self.folder / "disk.cow").unlink(missing_ok=True)
        shutil.rmtree(self.folder / ".uml", ignore_errors=True)


def empty_disk(path: Path, mib: int) -> Path:
    path.unlink(missing_ok=True)
    with path.open("wb") as image:
        image.truncate(mib << 20)
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", str(path)], check=True, env=environment)
    return path
