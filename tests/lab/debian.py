"""Runs commands in a Debian of another release or architecture, without a separate machine.

Its programs run on the host's kernel; programs of another architecture run under qemu. The cache keeps the
release as built and, under other names, the root folders with installed software.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import BUILD_S, CannotBuild, cache, once, require_tools
from tests.lab.root import CHECKOUT, forget_old_ones, run_logged

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SOURCES = "/src"
"""The folder of the checkout inside the root."""
PASSED_ON = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy")
"""Prefixes of the environment variables that configure downloads. They are passed on to the commands."""
ENTER = """\
set -e
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
exec chroot "$root" /bin/sh -c "cd $folder && { $command; }"
"""
BINFMT = Path("/proc/sys/fs/binfmt_misc")
QEMU_ARM64 = "qemu-aarch64"
ARM64_ELF = (
    r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff",
)
"""Magic and mask of an arm64 program, in the format of binfmt_misc."""


class Failed(AssertionError):
    """Raised if a command inside the root fails. The message contains the command's last output."""


@dataclass(frozen=True)
class Debian:
    """A root folder of `suite` (bookworm, trixie) for `architecture` (amd64, arm64) with these packages."""

    suite: str
    architecture: str
    packages: Sequence[str]

    def root(self, name: str, install: Callable[["Debian", Path], None], recipe: bytes) -> Path:
        """Return a root with the result of `install`, which runs once for each recipe."""
        digest = hashlib.sha256(recipe + repr(self).encode()).hexdigest()[:12]
        wanted = cache() / f"{self.suite}-{self.architecture}-{name}-{digest}"

        def build(made: Path) -> None:
            shutil.rmtree(made, ignore_errors=True)
            with tarfile.open(self._base()) as archive:
                archive.extractall(made, filter="fully_trusted")
            self._reach_packages(made)
            install(self, made)

        if not wanted.exists():
            once(wanted, build)
            forget_old_ones(f"{self.suite}-{self.architecture}-{name}-*")
        return wanted

    def run(
        self,
        root: Path,
        command: str,
        *,
        folder: str = "/",
        timeout_s: float = BUILD_S,
        log: Path | None = None,
    ) -> str:
        """Run a shell command inside the root and return its output.

        Raises:
            Failed: The command did not exit with 0, or did not end in time.
        """
        environment = {name: text for name, text in os.environ.items() if name.startswith(PASSED_ON)}
        environment |= {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
        environment |= {"root": str(root), "folder": folder, "command": command}
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER]
        log = log or root.parent / f"{root.name}.log"
        with log.open("wb") as words:
            try:
                done = subprocess.run(
                    enter, stdout=words, stderr=words, env=environment, timeout=timeout_s, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise Failed(f"{command}: did not end within {timeout_s:g} s ({log})") from error
        said = log.read_text(errors="replace")
        if done.returncode:
            raise Failed(f"{command}: exit {done.returncode}:\n" + "\n".join(said.splitlines()[-40:]))
        return said

    def _base(self) -> Path:
        recipe = hashlib.sha256(repr(self.packages).encode()).hexdigest()[:12]
        return once(cache() / f"debian-{self.suite}-{self.architecture}-{recipe}.tar", self._debian)

    def _debian(self, made: Path) -> None:
        require_tools({"mmdebstrap": "mmdebstrap"})
        if self.architecture == "arm64":
            _can_run_arm64()
        command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(self.packages)}"]
        command += [f"--architectures={self.architecture}", "--format=tar", self.suite, str(made)]
        run_logged(command, made.parent / f"debian-{self.suite}-{self.architecture}.log")

    def _reach_packages(self, root: Path) -> None:
        """Configure pip in this root with the host's package index and certificates."""
        certificates = os.environ.get("PIP_CERT")
        for path in ("/etc/resolv.conf", "/etc/hosts", *([certificates] if certificates else [])):
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path[1:])


def copy_checkout(root: Path) -> None:
    """Copy the files of this checkout that git knows into the source folder of a root."""
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    sources = root / SOURCES[1:]
    kept = {".venv"}
    for old in sources.iterdir() if sources.exists() else ():
        if old.name not in kept:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name in filter(None, names):
        if (CHECKOUT / name).is_file():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, sources / name)


def _can_run_arm64() -> None:
    """Register qemu with the host's kernel, so that it runs arm64 programs."""
    if os.uname().machine == "aarch64":
        return
    require_tools({"qemu-aarch64-static": "qemu-user-static", "arch-test": "arch-test"})
    if not (BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)], check=False)
    if not (BINFMT / "register").exists():
        raise CannotBuild(
            f"found no {BINFMT}/register: this kernel can't run programs of other architectures"
        )
    if not (BINFMT / QEMU_ARM64).exists():
        magic, mask = ARM64_ELF
        emulator = shutil.which("qemu-aarch64-static")
        (BINFMT / "register").write_text(f":{QEMU_ARM64}:M::{magic}:{mask}:{emulator}:F")
