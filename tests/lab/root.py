"""Build the guest's disk: Debian with the controller, installed by its installer."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.lab.cache import BUILD_S, CannotBuild, cache, once, require_tools

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
INIT = HERE / "guest" / "init.sh"
PACKAGES = (
    *("systemd", "systemd-sysv", "udev", "dbus", "kmod", "procps", "iproute2", "e2fsprogs", "dmsetup"),
    *("python3", "python3-venv", "gpiod", "usbutils"),
)
EXTRAS = "journal,hardware,vision"
TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "make": "make"}
DISK_MIB = 1600
PYTHON = "/usr/bin/python3"
"""The guest has the host's version of Python, so that an environment made on the host runs there."""

KEPT = 2
"""Number of disks and roots that stay in the cache."""


def disk() -> Path:
    """Return the disk with this checkout's controller, and build it if the cache has none."""
    suite, base = _suite(), _base()
    recipe = hashlib.sha256(f"{base.name} {EXTRAS} {DISK_MIB}".encode() + INIT.read_bytes() + product())
    wanted = cache() / f"root-{suite}-{recipe.hexdigest()[:12]}.ext4"
    if not wanted.exists():
        once(wanted, lambda made: _build(base, made))
        forget_old_ones("root-*.ext4")
    return wanted


def wheelhouse() -> Path:
    """Return the libraries of the lock file, fetched with `make wheelhouse` once for each lock file."""
    locks = [(CHECKOUT / name).read_bytes() for name in ("requirements-table.lock", "requirements.lock")]
    wanted = cache() / f"wheels-{hashlib.sha256(b''.join(locks)).hexdigest()[:12]}"

    def fetch(made: Path) -> None:
        fetched = ["make", "-C", str(CHECKOUT), "wheelhouse", f"WHEELHOUSE={made}", f"PYTHON={PYTHON}"]
        run_logged(fetched, made.parent / "wheels.log")

    if not wanted.exists():
        once(wanted, fetch)
        forget_old_ones("wheels-*")
    return wanted


def product() -> bytes:
    """Return the digest of everything that the installer installs: code, settings, units and documents."""
    found = {CHECKOUT / name for name in ("pyproject.toml", "requirements-table.lock", "CHANGELOG.md")}
    for folder in ("controller", "drivers", "config", "systemd"):
        found |= {path for path in (CHECKOUT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"}
    recipe = hashlib.sha256()
    for path in sorted(found):
        recipe.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return recipe.digest()


def _suite() -> str:
    """Return the host's release of Debian, which is also the guest's, so that both have the same Python."""
    release = Path("/etc/os-release")
    words = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line)
    if words.get("ID") != "debian" or not Path(PYTHON).exists():
        raise CannotBuild(
            f"found {words.get('PRETTY_NAME')} in {release}; the lab is built on Debian 12 or 13"
        )
    return words["VERSION_CODENAME"]


def _base() -> Path:
    suite = _suite()
    recipe = hashlib.sha256(repr(PACKAGES).encode()).hexdigest()[:12]
    return once(cache() / f"debian-{suite}-{recipe}.tar", lambda made: _debian(suite, made))


def _debian(suite: str, made: Path) -> None:
    require_tools(TOOLS)
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "--format=tar"]
    run_logged([*command, suite, str(made)], made.parent / "debian.log")


def _build(base: Path, made: Path) -> None:
    require_tools(TOOLS)
    if os.geteuid() != 0:
        raise CannotBuild("run `make lab` as root here: the guest's files belong to several users")
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        root = Path(folder) / "root"
        with tarfile.open(base) as archive:
            archive.extractall(root, filter="fully_trusted")
        install = ["make", "-C", str(CHECKOUT), "install", f"DESTDIR={root}", "TABLE=roulette-gpio"]
        run_logged([*install, f"EXTRAS={EXTRAS}", f"PYTHON={PYTHON}"], made.parent / "install.log")
        shutil.copy(INIT, root / "lab-init")
        (root / "etc/machine-id").write_text("")
        (root / "etc/hostname").write_text("lab\n")
        with made.open("wb") as image:
            image.truncate(DISK_MIB << 20)
        run_logged(
            ["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(root), str(made)], made.parent / "mke2fs.log"
        )


def forget_old_ones(pattern: str) -> None:
    """Remove all but the newest entries of the cache with names like this."""
    found = [path for path in cache().glob(pattern) if path.suffix not in {".lock", ".log", ".new"}]
    for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def run_logged(command: list[str], log: Path) -> None:
    """Run a step of a build; raise `CannotBuild` with its last output if it fails."""
    environment = dict(os.environ)
    environment["PATH"] += os.pathsep + "/usr/sbin:/sbin"
    environment.pop("VIRTUAL_ENV", None)
    with log.open("wb") as words:
        try:
            done = subprocess.run(
                command, stdout=words, stderr=words, env=environment, check=False, timeout=BUILD_S
            )
        except subprocess.TimeoutExpired as error:
            raise CannotBuild(f"{command[0]} did not end within {BUILD_S} s ({log})") from error
    if done.returncode:
        last = log.read_text(errors="replace").splitlines()[-5:]
        raise CannotBuild(f"{command[0]} failed ({log}): " + " / ".join(last))


if __name__ == "__main__":
    sys.stdout.write(f"{disk()}\n")
