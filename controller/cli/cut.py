"""`tablectl cut` and `record`: write recorded or upcoming attempts as regression test cases."""

import argparse
import sys
import time
from pathlib import Path

import msgspec

from controller.cli.attempts import ATTEMPT_HELP, AttemptRef, add_attempt_options, parse_attempt
from controller.cli.link import Json, OutOfReachError, RefusedError, add_socket, ask, report_out_of_reach
from controller.cli.replay import log_stamp, ruleset_of
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    MAX_ATTEMPTS,
    OK,
    Command,
    atomic_file,
    say,
    unwritable_message,
    unwritable_reason,
    whole_number,
)
from controller.cli.words import counted, effect_lines
from controller.machines.setup import SetupError
from controller.replay.cutting import Piece, cut_attempt, cut_attempts
from controller.replay.log import LogWriter
from controller.replay.run import EXPECTED, LOG_ENDINGS
from controller.replay.source import LogError
from controller.settings.mistakes import SettingsError

_CUT_EXAMPLES = (
    "tablectl cut LOG#12 tests/logs/short.jsonl.gz    # and the expected outcomes: short.expected.jsonl",
    "tablectl cut craps/1/18 short.jsonl              # from the journal's recording",
    "tablectl replay short.jsonl --check short.expected.jsonl",
)


def add_cut_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `cut`."""
    parser.add_argument("which", metavar="ID|LOG[#n]", help=ATTEMPT_HELP)
    parser.add_argument("out", type=Path, metavar="OUT", help="the log to write: NAME.jsonl or NAME.jsonl.gz")
    parser.add_argument(
        "--expect",
        type=Path,
        metavar="FILE",
        help=f"the file for the expected outcomes (default: NAME{EXPECTED} next to OUT)",
    )
    add_attempt_options(parser)


def run_cut(arguments: argparse.Namespace) -> int:
    """Write the case; return 1 for a missing attempt, 2 for bad input, 3 if no controller responds."""
    out: Path = arguments.out
    expect = expectation_path(out, arguments.expect)
    if expect is None:
        return BAD_INPUT
    rules: str | None = arguments.rules
    try:
        which = recorded(parse_attempt(arguments.which), arguments)
        if which is None:
            return FAILED
        assert which.log is not None
        clash = next((made for made in (out, expect) if same_file(Path(which.log), made)), None)
        if clash is not None:
            say(f"{clash}: this is the log to cut from; choose a different output file")
            return BAD_INPUT
        piece = cut_attempt(which.log, which.number, lambda log: ruleset_of(log, rules))
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    except OutOfReachError as error:
        return report_out_of_reach(error)
    try:
        write_case(piece, out, expect)
    except OSError as error:
        say(unwritable_message(Path(error.filename or out), error))
        return BAD_INPUT
    for outcome in piece.outcomes:
        for line in effect_lines(outcome, explain=False, stamp=log_stamp(piece.header)):
            print(line)
    readings, outcomes = counted(len(piece.readings), "reading"), counted(len(piece.outcomes), "outcome")
    say(f"{out}: {readings}; {expect}: {outcomes}")
    say(f"to check the case, run: tablectl replay {out} --check {expect}")
    return OK


def same_file(one: Path, other: Path) -> bool:
    """Return whether both paths name the same existing file."""
    return one.exists() and other.exists() and one.samefile(other)


def recorded(which: AttemptRef, arguments: argparse.Namespace) -> AttemptRef | None:
    """Return a reference to the attempt in its recording; if there is none, print a message and return None.

    Raises LogError if the recording is missing, OutOfReachError if no controller responds.
    """
    if which.log is not None:
        return which
    # Reading a journal needs the `journal` extra; cutting a log does not.
    from controller.cli.journal_source import open_journal, recording_of  # noqa: PLC0415 - optional dependency
    from controller.journal.faults import JournalFault  # noqa: PLC0415 - optional dependency

    try:
        with open_journal(arguments) as reader:
            return recording_of(reader, which)
    except (JournalFault, RefusedError) as fault:
        say(fault)
        return None


def expectation_path(out: Path, given: Path | None = None) -> Path | None:
    """Return the path of the file for the expected outcomes.

    If `out` has an unsupported extension, print a message and return None.
    """
    ending = next((ending for ending in LOG_ENDINGS if out.name.endswith(ending)), None)
    if ending is None or out.name.endswith(EXPECTED):
        say(f"{out}: found an unsupported file extension, expected NAME.jsonl or NAME.jsonl.gz")
        return None
    return given or out.with_name(out.name.removesuffix(ending) + EXPECTED)


def write_case(piece: Piece, out: Path, expect: Path) -> None:
    """Write a log and its expected outcomes, both or neither; raises OSError."""
    with atomic_file(out) as case, atomic_file(expect) as outcomes:
        with LogWriter(case, piece.header, compress=out.name.endswith(".gz")) as writer:
            for reading in piece.readings:
                writer.write(reading)
        for outcome in piece.outcomes:
            outcomes.write(msgspec.json.encode(outcome) + b"\n")


_RECORD_EXAMPLES = (
    "tablectl record --attempts 1 throw.jsonl.gz      # the next throw, and throw.expected.jsonl",
    "tablectl record --seconds 600 game.jsonl.gz",
    "tablectl replay throw.jsonl.gz --check throw.expected.jsonl",
)
POLL_S = 0.25
RECORDER_TIMEOUT_S = 10.0
"""Maximum wait for the recording; the recorder writes in batches, and syncs every two seconds."""
_ATTEMPTS = ("roll", "spin", "deal")


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `record`."""
    parser.description = (
        "Wait for the running table's next throws, spins or deals, and write them as a log, with the\n"
        "expected outcomes next to it. Ctrl-C stops after the current attempt. Only technicians\n"
        "may use this command. Wheel readings are withheld while bets are open, and card readings\n"
        "until the hand is decided."
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--attempts",
        type=whole_number(1, MAX_ATTEMPTS),
        metavar="N",
        help="stop after N attempts (default: until Ctrl-C)",
    )
    limit.add_argument("--seconds", type=whole_number(1, 86_400), metavar="N", help="stop after N seconds")
    parser.add_argument("out", type=Path, metavar="OUT", help="the log to write: NAME.jsonl or NAME.jsonl.gz")
    add_socket(parser)


def run_record(arguments: argparse.Namespace) -> int:
    """Record; return 1 if nothing was played, 2 if a file can't be used, 3 if no controller responds."""
    expect = expectation_path(arguments.out)
    if expect is None:
        return BAD_INPUT
    if (wrong := unwritable_reason(arguments.out)) is not None:
        say(wrong)
        return BAD_INPUT
    try:
        first, last = _wait_for_attempts(arguments)
        if last < first:
            say("nothing was played, so nothing was written")
            return FAILED
        piece = _piece(arguments.socket, first, last)
        write_case(piece, arguments.out, expect)
    except OutOfReachError as error:
        return report_out_of_reach(error)
    except RefusedError as error:
        say(error)
        return FAILED
    except KeyboardInterrupt:
        say("interrupted; nothing was written")
        return INTERRUPTED
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    except OSError as error:
        say(unwritable_message(Path(error.filename or arguments.out), error))
        return BAD_INPUT
    readings = counted(len(piece.readings), "reading")
    say(f"{arguments.out}: #{first} to #{last}, {readings}; {expect}: the outcomes")
    say(f"to see how #{last} was judged, run: tablectl explain {arguments.out}#{last}")
    say(f"to check the case, run: tablectl replay {arguments.out} --check {expect}")
    return OK


def _wait_for_attempts(arguments: argparse.Namespace) -> tuple[int, int]:
    """Wait for attempts; return the numbers of the first and the last attempt played."""
    begun_s = time.monotonic()
    first = _next(_status(arguments.socket))
    say(f"recording from #{first}; Ctrl-C stops after the current attempt")
    over = False
    while True:
        try:
            status = _status(arguments.socket)
            done = _next(status) - first
            _progress(done, status)
            over = over or _enough(arguments, done, time.monotonic() - begun_s)
            if over and not status.get("attempt_open"):
                return first, first + done - 1
            time.sleep(POLL_S)
        except KeyboardInterrupt:
            if over:
                raise
            over = True
            say("stopping after the current attempt; Ctrl-C again to abort")


def _enough(arguments: argparse.Namespace, done: int, for_s: float) -> bool:
    if arguments.attempts is not None:
        return done >= int(arguments.attempts)
    return arguments.seconds is not None and for_s >= int(arguments.seconds)


def _status(path: str) -> Json:
    answer = ask(path, {"do": "status"}).get("status")
    if not isinstance(answer, dict):
        raise OutOfReachError(f"{path}: found an answer without a status, expected a controller's status")
    return answer


def _next(status: Json) -> int:
    """Return the number of the current attempt or, between attempts, of the next attempt."""
    following = status.get("next")
    numbers = following if isinstance(following, dict) else {}
    number = next((int(numbers[name]) for name in _ATTEMPTS if name in numbers), 1)
    return number - bool(status.get("attempt_open"))


def _progress(done: int, status: Json) -> None:
    if sys.stderr.isatty():
        now = ", one in progress" if status.get("attempt_open") else ""
        print(f"\r\x1b[K{done} recorded{now}", end="", file=sys.stderr, flush=True)


def _piece(socket: str, first: int, last: int) -> Piece:
    """Cut these attempts from the recording once the recorder has written them."""
    # `--help` must work without the `journal` extra.
    from controller.cli.journal_source import RemoteJournal, recording_of  # noqa: PLC0415 - optional dependency
    from controller.journal.faults import JournalFault  # noqa: PLC0415 - optional dependency

    until_s = time.monotonic() + RECORDER_TIMEOUT_S
    while True:
        try:
            with RemoteJournal(socket) as reader:
                log = str(recording_of(reader, AttemptRef(None, first)).log)
            return cut_attempts(log, first, last, lambda log: ruleset_of(log, None))
        except (JournalFault, LogError) as error:
            if time.monotonic() >= until_s:
                if isinstance(error, LogError):
                    raise
                raise LogError(error.where, error.found, error.expected, error.kind.next_step) from error
            time.sleep(POLL_S)


COMMANDS = {
    "cut": Command(add_cut_arguments, run_cut, _CUT_EXAMPLES),
    "record": Command(add_record_arguments, run_record, _RECORD_EXAMPLES),
}
