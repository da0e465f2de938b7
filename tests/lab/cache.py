"""The lab's cache of files that take a long time to build."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BUILD_S = 3600
"""Time limit of a build step, in seconds; the kernel takes 12 minutes on an idle core."""


class CannotBuild(Exception):
    """Raised if this machine cannot build a part of the lab. The message states what is missing."""


def cache() -> Path:
    """Return the folder `LAB_CACHE`, or `table-controller-lab` in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("LAB_CACHE") or Path(home) / "table-controller-lab")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def once(wanted: Path, build: Callable[[Path], None]) -> Path:
    """Return the path `wanted`. If it does not exist, build it with `build`.

    `build` writes to its argument, a temporary path that is renamed when complete. Processes that want the
    same file wait for the one that builds it.
    """
    with alone(wanted):
        if not wanted.exists():
            made = wanted.parent / f"{wanted.name}.new"
            if made.is_dir():
                shutil.rmtree(made)
            made.unlink(missing_ok=True)
            build(made)
            made.rename(wanted)
    return wanted


@contextmanager
def alone(with_it: Path) -> Iterator[None]:
    """Lock a resource that cannot be shared; other processes that need it wait."""
    with (with_it.parent / f"{with_it.name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def require_tools(packages: dict[str, str]) -> None:
    """Raise `CannotBuild` with the packages to install unless every program is installed."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin:/sbin"
    missing = sorted(
        {package for program, package in packages.items() if not shutil.which(program, path=path)}
    )
    if missing:
        raise CannotBuild(f"some tools are missing; run: apt-get install {' '.join(missing)}")
