"""`tablectl cut`: one throw, spin or deal out of a log or a journal's recording, as a regression case."""

import argparse
from pathlib import Path

import msgspec

from controller.cli.exhibits import WHICH, Asked, add_attempt_options, asked
from controller.cli.exits import BAD_INPUT, FAILED, OK, say
from controller.cli.link import OutOfReachError, RefusedError, out_of_reach
from controller.cli.replay import ruleset_of
from controller.cli.whole_file import unwritable, whole_file
from controller.cli.words import lines_of
from controller.engine.games import SetupError
from controller.replay.cases import EXPECTED, LOG_ENDINGS
from controller.replay.cutting import Piece, cut_attempt
from controller.replay.errors import LogError
from controller.replay.writer import LogWriter
from controller.settings.mistakes import SettingsError

EXAMPLES = (
    "tablectl cut LOG#12 tests/logs/short.jsonl.gz    # and what it must give: short.expected.jsonl",
    "tablectl cut craps/1/18 short.jsonl              # out of the journal's recording",
    "tablectl replay short.jsonl --check short.expected.jsonl",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("which", metavar="ID|LOG[#n]", help=WHICH)
    parser.add_argument("out", type=Path, metavar="OUT", help="the case: NAME.jsonl or NAME.jsonl.gz")
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="FILE",
        help=f"the outcomes that it must give (default: NAME{EXPECTED} beside it)",
    )
    add_attempt_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Cut it; 1 where the journal has no such attempt, 2 at a bad log or name, 3 without a controller."""
    out: Path = arguments.out
    expect = expectation_beside(out, arguments.expect)
    if expect is None:
        return BAD_INPUT
    rules: str | None = arguments.rules
    try:
        which = recorded(asked(arguments.which), arguments)
        if which is None:
            return FAILED
        assert which.log is not None
        if any(same_file(Path(which.log), made) for made in (out, expect)):
            say(f"{out}: found the log that is cut from, expected another name; nothing was written")
            return BAD_INPUT
        piece = cut_attempt(which.log, which.number, lambda log: ruleset_of(log, rules))
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    except OutOfReachError as error:
        return out_of_reach(error)
    try:
        write_case(piece, out, expect)
    except OSError as error:
        say(unwritable(Path(error.filename or out), error))
        return BAD_INPUT
    for outcome in piece.outcomes:
        for line in lines_of(outcome, explain=False):
            print(line)
    say(f"{out}: {len(piece.readings)} readings; {expect}: {len(piece.outcomes)} outcomes")
    say(f"check it with: tablectl replay {out} --check {expect}")
    return OK


def same_file(one: Path, other: Path) -> bool:
    """Tell whether two names are of one file that is there."""
    return one.exists() and other.exists() and one.samefile(other)


def recorded(which: Asked, arguments: argparse.Namespace) -> Asked | None:
    """Turn what a person asked about into an attempt of a recording; None where that is not there.

    Raises LogError where its recording is gone, OutOfReachError where no controller tells it.
    """
    if which.log is not None:
        return which
    # What reads a journal comes with an extra; a log is cut without it.
    from controller.cli.exhibits_kept import recording_of  # noqa: PLC0415 - see above
    from controller.cli.past import open_journal  # noqa: PLC0415 - see above
    from controller.journal.faults import JournalFault  # noqa: PLC0415 - see above

    try:
        with open_journal(arguments) as reader:
            return recording_of(reader, which)
    except (JournalFault, RefusedError) as fault:
        say(fault)
        return None


def expectation_beside(out: Path, given: Path | None = None) -> Path | None:
    """Name the file of expected outcomes; None, and said, where the log's own name is of another kind."""
    ending = next((ending for ending in LOG_ENDINGS if out.name.endswith(ending)), None)
    if ending is None or out.name.endswith(EXPECTED):
        say(f"{out}: found a name of another kind, expected NAME.jsonl or NAME.jsonl.gz")
        return None
    return given or out.with_name(out.name.removesuffix(ending) + EXPECTED)


def write_case(piece: Piece, out: Path, expect: Path) -> None:
    """Write a log and its outcomes, both whole or neither; raises OSError."""
    with whole_file(out) as case, whole_file(expect) as outcomes:
        with LogWriter(case, piece.header, compress=out.name.endswith(".gz")) as writer:
            for reading in piece.readings:
                writer.write(reading)
        for outcome in piece.outcomes:
            outcomes.write(msgspec.json.encode(outcome) + b"\n")
