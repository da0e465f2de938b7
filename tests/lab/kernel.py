"""Build the lab's kernel: User-Mode Linux from Debian's source package, kept in the cache."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import BUILD_S, CannotBuild, cache, once, require_tools

HERE = Path(__file__).parent
CONFIG = HERE / "kernel.config"
REGISTERS = HERE / "registers.c"
SOURCES = Path("/usr/src")
UNPACKED = "unpacked"
"""A file in the build's folder that marks the source beside it as complete and patched."""
TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
NEEDED = (
    "BLK_DEV_DM",
    "DM_LOG_WRITES",
    "EXT4_FS",
    "GPIO_SIM",
    "HOSTFS",
    "UML_TIME_TRAVEL_SUPPORT",
    "USB_ACM",
    "USB_CONFIGFS_ACM",
    "USB_DUMMY_HCD",
)


@dataclass(frozen=True)
class Patch:
    """A passage of the kernel's source, its replacement, and the reason."""

    file: str
    found: str
    becomes: str
    why: str


PATCHES = (
    Patch(
        "kernel/irq/irq_sim.c",
        r"\n(\s*)irq_work_queue\(&irq_ctx->work_ctx->work\);",
        r"\n\1do {\n\1\tunsigned long flags;\n\1\tirq_work_queue(&irq_ctx->work_ctx->work);"
        r"\n\1\tlocal_irq_save(flags);\n\1\tirq_work_run();\n\1\tlocal_irq_restore(flags);\n\1} while (0);",
        "User-Mode Linux has no interrupt for irq_work: edges would wait for the next tick of 10 ms, and "
        "several in one tick would be one.",
    ),
)


def newest_source() -> Path:
    """Return the archive of the newest installed `linux-source-*` package."""
    found = sorted(SOURCES.glob("linux-source-*.tar.xz"), key=lambda path: _version(path.name))
    if not found:
        raise CannotBuild(f"found no linux-source-*.tar.xz in {SOURCES}; run: apt-get install linux-source")
    return found[-1]


def kernel() -> Path:
    """Return the kernel's program. If the cache has none from this source, build it.

    With LAB_BUILD=no, the kernel is not built, because a CI run has only a few minutes.
    """
    source = newest_source()
    recipe = hashlib.sha256()
    recipe.update(f"{source.name} {source.stat().st_size}".encode())
    recipe.update(CONFIG.read_bytes() + repr(PATCHES).encode())
    wanted = cache() / f"linux-{recipe.hexdigest()[:12]}"
    if os.environ.get("LAB_BUILD") == "no" and not wanted.exists():
        raise CannotBuild(f"found no kernel at {wanted}; `make lab` builds it (12 minutes on one core)")
    return once(wanted, lambda made: _build(source, made))


def registers() -> Path:
    """Return the library that runs this kernel on a CPU with more registers than the kernel supports."""
    recipe = hashlib.sha256(REGISTERS.read_bytes()).hexdigest()[:12]
    return once(cache() / f"registers-{recipe}.so", _build_registers)


def _build_registers(made: Path) -> None:
    require_tools({"gcc": "gcc"})
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", str(made), str(REGISTERS)], check=True)


def _build(source: Path, made: Path) -> None:
    """Build the kernel, or continue an interrupted build. A busy host may need several runs."""
    require_tools(TOOLS)
    work = made.parent / f"{made.name}.build"
    if not (work / UNPACKED).exists():
        _unpack(source, work)
    tree = next(path for path in work.iterdir() if path.name.startswith("linux-source"))
    make = ["nice", "-n", "19", "make", "-C", str(tree), "ARCH=um", f"O={work / 'out'}"]
    jobs = os.environ.get("LAB_JOBS") or os.cpu_count() or 1
    log = made.parent / f"{made.name}.log"
    with log.open("wb") as words:

        def run(*command: str) -> None:
            subprocess.run(command, check=True, stdout=words, stderr=words, cwd=work / "out", timeout=BUILD_S)

        try:
            run(*make, "defconfig")
            run(str(tree / "scripts/kconfig/merge_config.sh"), "-m", "-O", ".", ".config", str(CONFIG))
            run(*make, "olddefconfig")
            _check((work / "out/.config").read_text())
            run(*make, f"-j{jobs}", "linux")
            run("strip", "-o", str(made), "linux")
        except subprocess.TimeoutExpired as error:
            raise CannotBuild(
                f"the kernel was not built within {BUILD_S} s ({log}); the next run continues the build"
            ) from error
        except subprocess.CalledProcessError as error:
            last = log.read_text(errors="replace").splitlines()[-5:]
            raise CannotBuild(f"the kernel's build failed ({log}): " + " / ".join(last)) from error
    shutil.rmtree(work)


def _unpack(source: Path, work: Path) -> None:
    """Unpack the source into an empty folder, patch it, and mark the folder as complete."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "out").mkdir(parents=True)
    with tarfile.open(source) as archive:
        archive.extractall(work, filter="tar")
    tree = next(path for path in work.iterdir() if path.name.startswith("linux-source"))
    for patch in PATCHES:
        _apply(patch, tree)
    (work / UNPACKED).touch()


def _apply(patch: Patch, tree: Path) -> None:
    path = tree / patch.file
    text, count = re.subn(patch.found, patch.becomes, path.read_text(), count=1)
    if count != 1:
        raise CannotBuild(f"found no {patch.found!r} in {patch.file} of the kernel's source: {patch.why}")
    path.write_text(text)


def _check(configuration: str) -> None:
    missing = [key for key in NEEDED if f"CONFIG_{key}=y\n" not in configuration]
    if missing:
        raise CannotBuild(f"the kernel's configuration lacks {', '.join(missing)}: see {CONFIG.name}")


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))
