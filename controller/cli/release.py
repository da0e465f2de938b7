"""`tablectl release`: sign the list of a release's files, and check an installation against it."""

import argparse
from pathlib import Path

from controller.app.keys import KeyFault
from controller.app.release import (
    LIST_FILE,
    TRUSTED_FILE,
    ReleaseFault,
    place_of,
    sign,
    trusted_keys,
    verify,
)
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    add_subcommand,
    atomic_file,
    inaccessible_message,
    say,
    unwritable_message,
)
from controller.journal.faults import JournalFault

EXAMPLES = (
    "tablectl release sign --key release.key",
    "tablectl release verify",
    "tablectl release verify --key release.pub --of /opt/table-controller/current",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(metavar="sign|verify", required=True, dest="action")
    signs = add_subcommand(actions, "sign", f"write the signed list of a release's files, {LIST_FILE}")
    signs.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="FILE",
        help="the release key, created by `tablectl keys make release`",
    )
    verifies = add_subcommand(actions, "verify", "list the files that were changed, added or removed")
    verifies.add_argument(
        "--key",
        type=Path,
        default=Path(TRUSTED_FILE),
        metavar="FILE",
        help=f"the trusted public release keys, one per line (default: {TRUSTED_FILE})",
    )
    for one in (signs, verifies):
        one.add_argument(
            "--of",
            type=Path,
            metavar="DIR",
            help="a checkout, or a release's folder (default: the running program's folder)",
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 if files differ or no trusted key signed the list, 2 for bad input."""
    try:
        place = place_of(arguments.of)
        if arguments.action == "sign":
            return _write(place.list_file, sign(place, arguments.key))
        trusted = trusted_keys(arguments.key)
    except (KeyFault, JournalFault, ReleaseFault) as fault:
        say(fault)
        return BAD_INPUT
    except OSError as error:
        say(f"{error.filename or arguments.key}: {error.strerror}; name a key's file with --key")
        return BAD_INPUT
    try:
        release = verify(place, trusted)
    except ReleaseFault as fault:
        say(f"{fault}; install a signed release again (docs/installing.md)")
        return FAILED
    except OSError as error:
        say(inaccessible_message(error.filename or place.home, error))
        return BAD_INPUT
    print(
        f"release {release.release}: {len(release.files)} files match the list signed with key"
        f" {release.key[:16]}"
    )
    return OK


def _write(file: Path, listed: bytes) -> int:
    """Write a signed list; print the file's path, or the reason why it can't be written."""
    try:
        with atomic_file(file) as stream:
            stream.write(listed)
    except OSError as error:
        say(unwritable_message(file, error))
        return BAD_INPUT
    print(file)
    return OK
