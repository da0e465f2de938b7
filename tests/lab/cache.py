"""Where the lab keeps what takes long to build, and how it is built once."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BUILD_S = 3600
"""What one step of a build may take before it counts as hung: the kernel takes 12 minutes of a free core."""


class CannotBuild(Exception):
    """Raised where this machine cannot build a part of the lab; its words say what is missing."""


def cache() -> Path:
    """Return the folder that LAB_CACHE names, else `table-controller-lab` in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("LAB_CACHE") or Path(home) / "table-controller-lab")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def once(wanted: Path, build: Callable[[Path], None]) -> Path:
    """Return `wanted`, built by `build` where it is not there yet.

    `build` writes the path that it is given, which gets its name only when it is whole. Processes that want
    the same wait for the one that builds it.
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
    """Hold what cannot be shared: processes that want it at the same time wait for each other."""
    with (with_it.parent / f"{with_it.name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def require_tools(packages: dict[str, str]) -> None:
    """Raise `CannotBuild` with the packages to install unless every program is there."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin:/sbin"
    missing = sorted(
        {package for program, package in packages.items() if not shutil.which(program, path=path)}
    )
    if missing:
        raise CannotBuild(f"missing: apt-get install {' '.join(missing)}")
