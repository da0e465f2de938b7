"""`tablectl camera evidence`: the pictures that a camera kept: list them, delete them."""

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from controller.app.clock import system_wall
from controller.cli.camera_input import CameraInputError, rig_file_of
from controller.cli.link import SOCKET, SOCKET_VARIABLE, OutOfReachError, RefusedError, ask, out_of_reach
from controller.cli.shell import FAILED, OK, caller, printable, say, whole_number
from controller.evidence.pictures import (
    FOLDER,
    MB,
    Folder,
    HeldError,
    Hold,
    Keeper,
    Limits,
    MissingError,
    StoredFile,
    WallTime,
)
from drivers.vision.rig import EvidenceFile

EXAMPLES = (
    "tablectl camera evidence list",
    "tablectl camera evidence prune --days 30 --max-mb 500",
    "tablectl camera evidence hold 5f0c... --who ann --reason 'dispute over roll 24'",
    "tablectl camera evidence delete 5f0c... --reason 'a guest asked'",
)
SHOWN = 12
"""The digits of a digest that are enough to tell two files apart."""


def keeper_of(wanted: EvidenceFile | None) -> Keeper | None:
    """Return what keeps a rig's pictures; None where the rig keeps none. Raises CameraInputError."""
    if wanted is None:
        return None
    folder = Folder(Path(wanted.folder))
    try:
        return Keeper(folder, Limits(wanted.days, wanted.max_mb), _wall, say)
    except OSError as error:
        raise CameraInputError(
            f"evidence: found {folder.path} not writable ({error.strerror}), expected a folder of"
            " this user's own"
        ) from error


def add_arguments(ways: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    evidence = ways.add_parser(
        "evidence",
        help="pictures of throws that were kept",
        description="pictures of throws that were kept; `tablectl explain` shows those of a roll",
        allow_abbrev=False,
    )
    deeds = evidence.add_subparsers(metavar="DEED", required=True, dest="deed")
    listed = deeds.add_parser("list", help="files, the oldest first", allow_abbrev=False)
    listed.add_argument("--verify", action="store_true", help="read each file and compare its SHA-256")
    listed.set_defaults(way=_list)
    prune = deeds.add_parser("prune", help="delete the oldest, by age and size", allow_abbrev=False)
    prune.add_argument("--rig", type=Path, metavar="RIG.yaml", help="its own limits, and its folder")
    prune.add_argument("--days", type=whole_number(1, 3650), metavar="N", help="delete what is older")
    prune.add_argument(
        "--max-mb", type=whole_number(0, 10_000_000), metavar="N", help="keep at most N megabytes"
    )
    prune.set_defaults(way=_prune)
    delete = deeds.add_parser("delete", help="delete these files", allow_abbrev=False)
    delete.add_argument("names", nargs="+", metavar="SHA256", help="a file's digest, or its first digits")
    delete.add_argument("--reason", required=True, metavar="WHY", help="kept with the deletion")
    delete.set_defaults(way=_delete)
    hold = deeds.add_parser(
        "hold", help="keep these files whatever their age, for a dispute", allow_abbrev=False
    )
    release = deeds.add_parser("release", help="let these files be deleted again", allow_abbrev=False)
    for deed, held in ((hold, True), (release, False)):
        deed.add_argument("names", nargs="+", metavar="SHA256", help="a file's digest, or its first digits")
        deed.add_argument("--who", required=True, metavar="NAME", help="the person who says so")
        deed.add_argument("--reason", required=True, metavar="WHY", help="journaled with it")
        deed.add_argument(
            "--socket",
            default=os.environ.get(SOCKET_VARIABLE, SOCKET),
            metavar="PATH",
            help=f"of the controller that journals it (default: ${SOCKET_VARIABLE}, else {SOCKET})",
        )
        deed.set_defaults(way=_hold, held=held)
    for deed in (listed, prune, delete, hold, release):
        deed.add_argument(
            "--folder", type=Path, default=Path(FOLDER), metavar="DIR", help=f"default: {FOLDER}"
        )


def _list(arguments: argparse.Namespace) -> int:
    """Print a line each; 1 if a file is not what its name says."""
    folder = Folder(arguments.folder)
    unsound = 0
    files = _kept(folder)
    holds = folder.holds()
    for one in files:
        hold = holds.get(one.sha256)
        says = f"  held by {hold.by}: {hold.why}" if hold else ""
        if arguments.verify:
            try:
                folder.pictures(one.sha256)
            except MissingError as missing:
                says, unsound = f"  {missing}", unsound + 1
        taken = datetime.fromtimestamp(one.wall_s, UTC).isoformat(" ", "seconds")
        print(printable(f"{one.sha256}  {taken}  {one.size / MB:6.2f} MB{says}"))
    say(f"{folder.path}: {len(files)} files, {sum(one.size for one in files) / MB:.1f} MB")
    return FAILED if unsound else OK


def _prune(arguments: argparse.Namespace) -> int:
    folder = Folder(arguments.folder)
    days, max_mb = arguments.days, arguments.max_mb
    if arguments.rig is not None:
        wanted = rig_file_of(arguments.rig).evidence or EvidenceFile()
        folder = Folder(Path(wanted.folder))
        days, max_mb = days or wanted.days, wanted.max_mb if max_mb is None else max_mb
    if days is None and max_mb is None:
        raise CameraInputError("found no limit, expected --rig, --days or --max-mb")
    limits = Limits(days or 10**6, 10**9 if max_mb is None else max_mb)
    wall = _wall()
    if days is not None and not wall.synced:
        say("the clock is not synchronized: nothing is deleted because of its age")
    _kept(folder)
    try:
        deleted = folder.prune(limits, wall.s, by=caller(), aged=wall.synced)
    except OSError as error:
        raise _unwritable(folder, error) from error
    say(f"{folder.path}: {deleted} files deleted")
    return OK


def _delete(arguments: argparse.Namespace) -> int:
    """Delete them; 1 if one is not there."""
    folder = Folder(arguments.folder)
    files = _kept(folder)
    chosen = [_chosen(name, files) for name in arguments.names]
    if not all(chosen):
        return FAILED
    for one in filter(None, chosen):
        try:
            folder.delete(one.sha256, time.time(), by=caller(), why=arguments.reason)
        except HeldError as held:
            say(printable(f"{one.sha256[:SHOWN]}: {held}; `tablectl camera evidence release` comes first"))
            return FAILED
        except OSError as error:
            raise _unwritable(folder, error) from error
        say(f"{one.sha256[:SHOWN]}: deleted; the journal still names it, and its chain stays sound")
    return OK


def _hold(arguments: argparse.Namespace) -> int:
    """Hold or release them; 1 if one is missing or the journal refused, 3 where no controller answers."""
    folder = Folder(arguments.folder)
    files = _kept(folder)
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
            raise _unwritable(folder, error) from error
        say(f"{one.sha256[:SHOWN]}: {'held' if hold.held else 'released'}")
    try:
        for one in filter(None, chosen):
            request = {"sha256": one.sha256, "held": arguments.held, "who": arguments.who}
            ask(arguments.socket, {"do": "hold_pictures", **request, "reason": arguments.reason})
    except OutOfReachError as error:
        say("not in the journal yet: repeat the command when the controller is running")
        return out_of_reach(error)
    except RefusedError as error:
        say(f"not in the journal: {error}")
        return FAILED
    return OK


def _chosen(name: str, files: list[StoredFile]) -> StoredFile | None:
    found = [one for one in files if one.sha256.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    say(printable(f"{name}: found {len(found)} such files, expected one; nothing is deleted"))
    return None


def _kept(folder: Folder) -> list[StoredFile]:
    try:
        return folder.kept()
    except OSError as error:
        raise CameraInputError(
            f"{folder.path}: found no readable folder ({error.strerror}), expected a camera's;"
            " name it with --folder"
        ) from error


def _unwritable(folder: Folder, error: OSError) -> CameraInputError:
    return CameraInputError(
        f"{folder.path}: found it not writable ({error.strerror}); its own user or root may delete"
    )


def _wall() -> WallTime:
    wall = system_wall()
    return WallTime(wall.us / 1e6, wall.synced)
