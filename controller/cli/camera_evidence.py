"""`tablectl camera evidence`: list, prune, delete and hold the pictures that a camera has stored."""

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from controller.app.clock import system_wall
from controller.cli.camera_input import CameraInputError, load_rig_file
from controller.cli.link import (
    SOCKET,
    SOCKET_VARIABLE,
    OutOfReachError,
    RefusedError,
    ask,
    report_out_of_reach,
)
from controller.cli.shell import FAILED, OK, caller, say, whole_number
from controller.cli.words import counted
from controller.evidence.pictures import (
    FOLDER,
    MB,
    Folder,
    HeldError,
    Hold,
    Limits,
    MissingError,
    StorageThread,
    StoredFile,
    WallTime,
)
from controller.model.printable import printable
from drivers.vision.rig import EvidenceSettings

EXAMPLES = (
    "tablectl camera evidence list",
    "tablectl camera evidence prune --days 30 --max-mb 500",
    "tablectl camera evidence hold 5f0c... --who ann --reason 'dispute over roll 24'",
    "tablectl camera evidence delete 5f0c... --reason 'a guest asked'",
)
SHOWN_DIGITS = 12
"""Number of digits of a digest shown in messages, enough to distinguish files."""


def open_keeper(wanted: EvidenceSettings | None) -> StorageThread | None:
    """Return the thread that stores a rig's pictures, or None if the rig has no `evidence` section.

    Raises CameraInputError if the folder can't be written to.
    """
    if wanted is None:
        return None
    folder = Folder(Path(wanted.folder))
    try:
        return StorageThread(folder, Limits(wanted.days, wanted.max_mb), _wall, say)
    except OSError as error:
        raise CameraInputError(
            f"evidence: cannot write to {folder.path} ({error.strerror}); use a folder that this user owns"
        ) from error


def add_arguments(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the commands and their arguments."""
    evidence = commands.add_parser(
        "evidence",
        help="list and delete the stored pictures of throws",
        description="list and delete stored pictures of throws; `tablectl explain` shows those of one throw",
    )
    actions = evidence.add_subparsers(metavar="WHAT", required=True, dest="action")
    listed = actions.add_parser(
        "list",
        help="list the files, oldest first",
        description="list the files, oldest first",
    )
    listed.add_argument("--verify", action="store_true", help="also read each file and verify its SHA-256")
    listed.set_defaults(handler=_list)
    prune = actions.add_parser(
        "prune",
        help="delete the oldest files, by age and total size",
        description="delete the oldest files, by age and total size",
    )
    prune.add_argument(
        "--rig", type=Path, metavar="RIG.yaml", help="use the limits and the folder in this rig's file"
    )
    prune.add_argument(
        "--days", type=whole_number(1, 3650), metavar="N", help="delete files older than N days"
    )
    prune.add_argument(
        "--max-mb", type=whole_number(0, 10_000_000), metavar="N", help="keep at most N megabytes in all"
    )
    prune.set_defaults(handler=_prune)
    delete = actions.add_parser("delete", help="delete files", description="delete files")
    delete.add_argument("names", nargs="+", metavar="SHA256", help="a file's digest, or its first digits")
    delete.add_argument(
        "--reason", required=True, metavar="WHY", help="the reason, recorded with the deletion"
    )
    delete.set_defaults(handler=_delete)
    hold = actions.add_parser(
        "hold",
        help="protect files from deletion during a dispute",
        description="protect files from deletion during a dispute",
    )
    release = actions.add_parser(
        "release",
        help="release held files, so that they can be deleted",
        description="release held files, so that they can be deleted",
    )
    for action, held in ((hold, True), (release, False)):
        action.add_argument("names", nargs="+", metavar="SHA256", help="a file's digest, or its first digits")
        action.add_argument("--who", required=True, metavar="NAME", help="the person who makes the decision")
        action.add_argument("--reason", required=True, metavar="WHY", help="the reason, for the journal")
        action.add_argument(
            "--socket",
            default=os.environ.get(SOCKET_VARIABLE, SOCKET),
            metavar="PATH",
            help=f"the control socket of the controller that journals the change (default:"
            f" ${SOCKET_VARIABLE}, else {SOCKET})",
        )
        action.set_defaults(handler=_hold, held=held)
    for action in (listed, prune, delete, hold, release):
        action.add_argument(
            "--folder",
            type=Path,
            default=Path(FOLDER),
            metavar="DIR",
            help=f"the pictures' folder (default: {FOLDER})",
        )


def _list(arguments: argparse.Namespace) -> int:
    """Print a line per file; with `--verify`, return 1 if a file does not match its digest."""
    folder = Folder(arguments.folder)
    bad = 0
    files = _stored(folder)
    holds = folder.holds()
    for one in files:
        hold = holds.get(one.sha256)
        note = f"  held by {hold.by}: {hold.why}" if hold else ""
        if arguments.verify:
            try:
                folder.pictures(one.sha256)
            except MissingError as missing:
                note, bad = f"  {missing}", bad + 1
        taken = datetime.fromtimestamp(one.wall_s, UTC).isoformat(" ", "seconds")
        print(printable(f"{one.sha256}  {taken}  {one.size / MB:6.2f} MB{note}"))
    say(f"{folder.path}: {counted(len(files), 'file')}, {sum(one.size for one in files) / MB:.1f} MB")
    return FAILED if bad else OK


def _prune(arguments: argparse.Namespace) -> int:
    folder = Folder(arguments.folder)
    days, max_mb = arguments.days, arguments.max_mb
    if arguments.rig is not None:
        wanted = load_rig_file(arguments.rig).evidence or EvidenceSettings()
        folder = Folder(Path(wanted.folder))
        days, max_mb = days or wanted.days, wanted.max_mb if max_mb is None else max_mb
    if days is None and max_mb is None:
        raise CameraInputError("no limit was given; use --rig, --days or --max-mb")
    limits = Limits(days or 10**6, 10**9 if max_mb is None else max_mb)
    wall = _wall()
    if days is not None and not wall.synced:
        say("the clock is not synchronized, so no files are deleted by age")
    _stored(folder)
    try:
        deleted = folder.prune(limits, wall.s, by=caller(), aged=wall.synced)
    except OSError as error:
        raise _unwritable_error(folder, error) from error
    say(f"{folder.path}: deleted {counted(deleted, 'file')}")
    return OK


def _delete(arguments: argparse.Namespace) -> int:
    """Delete files; return 1 if a file does not exist or is held."""
    folder = Folder(arguments.folder)
    files = _stored(folder)
    chosen = [_chosen(name, files) for name in arguments.names]
    if not all(chosen):
        return FAILED
    for one in filter(None, chosen):
        try:
            folder.delete(one.sha256, time.time(), by=caller(), why=arguments.reason)
        except HeldError as held:
            say(
                printable(
                    f"{one.sha256[:SHOWN_DIGITS]}: {held}; run `tablectl camera evidence release` first"
                )
            )
            return FAILED
        except OSError as error:
            raise _unwritable_error(folder, error) from error
        say(f"{one.sha256[:SHOWN_DIGITS]}: deleted; the journal still names it and can be verified")
    return OK


def _hold(arguments: argparse.Namespace) -> int:
    """Hold or release files; return 1 for a missing file or a refusal, 3 if no controller responds."""
    folder = Folder(arguments.folder)
    files = _stored(folder)
    chosen = [_chosen(name, files) for name in arguments.names]
    if not all(chosen):
        return FAILED
    for one in filter(None, chosen):
        hold = Hold(
            sha256=one.sha256,
            wall_s=time.time(),
            by=arguments.who,
            why=arguments.reason,
            held=arguments.held,
        )
        try:
            folder.hold(hold)
        except OSError as error:
            raise _unwritable_error(folder, error) from error
        say(f"{one.sha256[:SHOWN_DIGITS]}: {'held' if hold.held else 'released'}")
    try:
        for one in filter(None, chosen):
            request = {"sha256": one.sha256, "held": arguments.held, "who": arguments.who}
            ask(arguments.socket, {"do": "hold_pictures", **request, "reason": arguments.reason})
    except OutOfReachError as error:
        say("the change is not in the journal yet; repeat the command when the controller is running")
        return report_out_of_reach(error)
    except RefusedError as error:
        say(f"the change is not in the journal: {error}")
        return FAILED
    return OK


def _chosen(name: str, files: list[StoredFile]) -> StoredFile | None:
    found = [one for one in files if one.sha256.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    say(printable(f"{name}: found {len(found)} matching files, expected one; nothing was changed"))
    return None


def _stored(folder: Folder) -> list[StoredFile]:
    try:
        return folder.kept()
    except OSError as error:
        raise CameraInputError(
            f"{folder.path}: cannot read this picture folder ({error.strerror});"
            " choose a different one with --folder"
        ) from error


def _unwritable_error(folder: Folder, error: OSError) -> CameraInputError:
    return CameraInputError(
        f"{folder.path}: cannot write to this folder ({error.strerror}); run the command as the owner or root"
    )


def _wall() -> WallTime:
    wall = system_wall()
    return WallTime(wall.us / 1e6, wall.synced)
