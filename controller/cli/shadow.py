"""`tablectl shadow`: what a shadow called, held against what the dealers entered."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from controller.cli.journal_source import journal_file, open_journal
from controller.cli.link import OutOfReachError, RefusedError, add_kept, out_of_reach
from controller.cli.screen import Entry, Screen, Style
from controller.cli.shell import BAD_INPUT, FAILED, OK, say, unwritable, whole_file
from controller.cli.words import wall_clock
from controller.journal.faults import JournalFault
from controller.journal.shifts import Agreement, Compared, compared

EXAMPLES = (
    "tablectl shadow --journal SHADOW/journal",
    "tablectl shadow --journal SHADOW/journal --pictures differences",
    "tablectl shadow --json",
)
_WORDS: dict[Agreement, tuple[str, Style]] = {
    "agrees": ("agree", "green"),
    "differs": ("differ", "red"),
    "review": ("were a review here, where the dealer's input counts", "yellow"),
    "entered_first": ("were entered before the controller had called", "plain"),
    "not_entered": ("were not entered by anybody", "dim"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--pictures", type=Path, metavar="DIR", help="draw each difference and each review there (SVG)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, an attempt a line")
    add_kept(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison; 1 where an attempt differs, 2 without a journal."""
    try:
        with open_journal(arguments) as journal:
            attempts = compared(journal)
            table = journal.origin.table
        if arguments.pictures is not None:
            _draw(arguments, attempts)
    except OutOfReachError as error:
        return out_of_reach(error)
    except RefusedError as error:
        say(error)
        return FAILED
    except JournalFault as fault:
        say(fault)
        return BAD_INPUT if fault.code == "journal_absent" else FAILED
    except OSError as error:
        say(unwritable(arguments.pictures, error))
        return BAD_INPUT
    if arguments.json:
        for attempt in attempts:
            told = {**msgspec.structs.asdict(attempt), "agreement": attempt.agreement}
            print(msgspec.json.encode(told).decode())
    else:
        screen = Screen(sys.stdout)
        screen.lines(lines_of(screen, table, attempts))
    return FAILED if any(attempt.agreement == "differs" for attempt in attempts) else OK


def lines_of(screen: Screen, table: str, attempts: Sequence[Compared]) -> Iterator[str]:
    """Yield the comparison: how many agree, and each attempt that does not."""
    counts = Counter(attempt.agreement for attempt in attempts)
    yield screen.styled(f"{table}: {len(attempts)} attempts", "bold")
    for agreement, (words, style) in _WORDS.items():
        if counts[agreement]:
            yield f"  {counts[agreement]:>5}  {screen.styled(words, style)}"
    for agreement in ("differs", "review"):
        listed = [attempt for attempt in attempts if attempt.agreement == agreement]
        if listed:
            yield ""
            yield screen.styled("differences" if agreement == "differs" else "reviews", "bold")
            yield from screen.table(_row(attempt) for attempt in listed)


def _row(attempt: Compared) -> Entry:
    causes = ", ".join(code.replace("_", " ") for code in attempt.why)
    called = "review" if attempt.called is None else f"called {attempt.called}"
    because = f" ({causes})" if causes else ""
    entered = f"entered {attempt.entered} by {attempt.by}" if attempt.entered else "nothing was entered"
    when = wall_clock(attempt.wall_us)
    style: Style = "red" if attempt.agreement == "differs" else "yellow"
    return Entry(f"{when}  #{attempt.attempt}", f"{called}{because}; {entered}", style)


def _draw(arguments: argparse.Namespace, attempts: Sequence[Compared]) -> None:
    from controller.technician.pictures import picture_of  # noqa: PLC0415 - few ask for pictures

    if arguments.journal is None:
        raise RefusedError("--pictures: found no --journal, expected the journal's folder on this machine")
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    for attempt in attempts:
        if attempt.agreement not in ("differs", "review"):
            continue
        svg = picture_of(journal_file(arguments.journal), attempt.attempt).svg
        if svg is not None:
            with whole_file(arguments.pictures / f"{attempt.attempt}.svg") as stream:
                stream.write(svg.encode())
