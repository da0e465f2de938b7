"""Kill a command at each of its writes in turn: `python -m tests.cli.cut_off`.

Arguments: the template folder with all files, the folder for its copies, and `tablectl`'s arguments. The
command is killed at its Nth opening for writing, rename, link, deletion or sync in copy N. It runs to its end
in the last copy. The arguments name files relative to the copy, which is the working directory.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from controller.cli.main import main

WRITES = frozenset({"os.rename", "os.link", "os.remove", "os.truncate", "os.chmod", "os.chown", "os.mkdir"})
FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def killed_at(nth: int, folder: Path, words: list[str]) -> int:
    """Run the command in a process that is killed at its nth write; return the exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chdir(folder)
    left = nth

    def note() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, given: tuple[object, ...]) -> None:
        opens = event == "open" and isinstance(given[2], int) and bool(given[2] & FOR_WRITING)
        if event in WRITES or (opens and not str(given[0]).startswith("/dev/")):
            note()

    def synced(sync: Callable[[int], None]) -> Callable[[int], None]:
        def and_noted(descriptor: int) -> None:
            note()
            sync(descriptor)

        return and_noted

    os.fsync = synced(os.fsync)  # type: ignore[assignment]  # only descriptors are synced here
    sys.addaudithook(audit)
    os._exit(main(words))


def run(template: Path, copies: Path, words: list[str]) -> int:
    """Kill the command at each of its writes; return the exit status of the complete run."""
    shutil.copytree(template, copies / "0")
    os.chdir(copies / "0")
    main(words)  # Import the modules beforehand, so that no killed process writes compiled copies.
    for nth in count(1):
        copy = copies / str(nth)
        shutil.copytree(template, copy)
        ended = killed_at(nth, copy, words)
        if ended != -signal.SIGKILL:
            return ended
    return 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
