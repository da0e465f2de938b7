"""Show what a calibration would change in a table's file, and write it: at once, the old file kept."""

import argparse
import difflib
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from controller.app.device_types import Kinds
from controller.cli.exits import printable
from controller.cli.guide import Guide
from controller.settings.editing import changed, replace_file
from controller.settings.tables import load_table
from controller.technician.calibration import Calibrated

NEXT = "tablectl run reads the file when it starts: restart it, then `tablectl approve identity`"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a calibration, for `--json`."""

    file: str
    figures: dict[str, object]
    report: tuple[str, ...]
    diff: str
    written: bool
    kept: str | None = None
    """The old file."""
    next: str = ""


def offer(path: Path, found: Calibrated, arguments: argparse.Namespace, guide: Guide | None) -> Outcome:
    """Show report and difference; write where `--write` says so or a person does.

    Raises:
        EditError, SettingsError: the file can't be changed so; nothing is written.
        OSError: the disk does not take it.
    """
    before = path.read_bytes()
    text = before.decode("utf-8")
    after = changed(text, found.values)
    names = (str(path), f"{path} (calibrated)")
    diff = "".join(
        difflib.unified_diff(text.splitlines(keepends=True), after.splitlines(keepends=True), *names, n=2)
    )
    if not arguments.json:
        for line in (*found.report, "", *(diff.splitlines() or ["nothing changes"])):
            print(printable(line))
        sys.stdout.flush()
    plain = Outcome(
        file=str(path), figures=dict(found.figures), report=found.report, diff=diff, written=False
    )
    if not diff or not (arguments.write or _agreed(path, guide)):
        if diff and not arguments.json:
            print("not written (--write writes it)")
        return plain
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    done = replace_file(path, before, after.encode("utf-8"), stamp, _check)
    if not arguments.json:
        print(f"written: {done.path}; the old one is {done.kept}")
        print(f"It is another table now: {NEXT}.")
    return msgspec.structs.replace(plain, written=True, kept=str(done.kept), next=NEXT)


def _agreed(path: Path, guide: Guide | None) -> bool:
    question = f"write this to {path}? (yes, no)"
    if guide is not None:
        return guide.answer(question).lower() in ("y", "yes")
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    print(question, end=" ", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _check(path: Path) -> None:
    load_table(str(path), kinds=Kinds())
