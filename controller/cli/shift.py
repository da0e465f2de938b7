"""`tablectl shift` and `shadow`: summarize a shift; compare a shadow's calls with the dealers' entries."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

import msgspec

from controller.app.clock import iso
from controller.cli.journal_source import UNREADABLE, journal_file, open_journal, report_unreadable
from controller.cli.link import RefusedError, add_journal_options
from controller.cli.screen import Entry, Screen, Style
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    Command,
    atomic_file,
    say,
    unwritable_message,
    whole_number,
)
from controller.cli.words import counted, describe, plain, wall_clock, wall_date
from controller.journal.shifts import (
    NOBODY,
    Agreement,
    Review,
    ShadowComparison,
    Shift,
    Span,
    compare_attempts,
    find_shift_starts,
    summarize,
)
from controller.model.printable import printable

EXAMPLES = (
    "tablectl shift",
    "tablectl shift --back 1 --page shift.html",
    "tablectl shift --journal VIRTUAL/journal --json",
)

_INDENT = 12
"""Indent of a wrapped line, aligned with the text after the time."""
_MAX_SHIFTS = 100_000
_MAX_LISTED = 10
"""Maximum number of results in the text; the page and the JSON contain all results."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--back",
        type=whole_number(0, _MAX_SHIFTS),
        default=0,
        metavar="N",
        help="the Nth shift before the last (default: 0, the last shift, open or closed)",
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="also write the shift as an HTML page for printing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_journal_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the shift.

    Return 1 if the journal is faulty or the controller refuses to send it, 2 if the journal or the shift does
    not exist or the page can't be written, and 3 if no controller responds.
    """
    try:
        with open_journal(arguments) as journal:
            starts = find_shift_starts(journal)
            shift = None if arguments.back >= len(starts) else summarize(journal, starts[-1 - arguments.back])
    except UNREADABLE as error:
        return report_unreadable(error)
    if shift is None:
        found = counted(len(starts), "shift")
        advice = "use a smaller --back" if starts else "a shift begins when the table opens"
        say(f"shift: found {found}, expected at least {arguments.back + 1}; {advice}")
        return BAD_INPUT
    if arguments.page is not None:
        try:
            with atomic_file(arguments.page) as stream:
                stream.write(page_of(shift).encode())
        except OSError as error:
            say(unwritable_message(arguments.page, error))
            return BAD_INPUT
    if arguments.json:
        print(msgspec.json.encode(_json(shift)).decode())
    else:
        screen = Screen(sys.stdout)
        for line in shift_lines(shift):
            style: Style = "bold" if line[:1].strip() else "plain"
            screen.lines(screen.wrapped(printable(line), _INDENT, style))
    return OK


def _json(shift: Shift) -> dict[str, object]:
    fields: dict[str, object] = msgspec.structs.asdict(shift)
    del fields["outcomes"]
    fields["told"] = [{"wall": iso(wall_us), "outcome": outcome} for wall_us, outcome in shift.outcomes]
    return {**fields, "rulings_by": shift.rulings_by()}


def shift_lines(shift: Shift) -> Iterator[str]:
    """Yield the shift as lines of text."""
    yield f"{shift.table}: {_when(shift)}"
    if not shift.synced:
        yield "  the clock was not always synchronized, so times might be inaccurate"
    for title, lines in _sections(shift):
        yield ""
        yield title
        yield from (f"  {line}" for line in lines)
    yield ""
    yield f"last results ({min(_MAX_LISTED, len(shift.outcomes))} of {len(shift.outcomes)})"
    for wall_us, outcome in shift.outcomes[-_MAX_LISTED:]:
        yield f"  {wall_clock(wall_us)}  {outcome.type:<14} {describe(outcome.data)}"


def _sections(shift: Shift) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of each section; device outages have a section of their own."""
    voids = sum(shift.voids.values())
    yield f"{counted(shift.results, 'result')}, {counted(voids, 'void')}", _by_count(shift.voids)
    open_now = sum(review.ended_us is None for review in shift.reviews)
    title = f"{counted(len(shift.reviews), 'review')}{f', {open_now} open' if open_now else ''}"
    yield title, [_review(review) for review in shift.reviews]
    yield (
        counted(len(shift.rulings), "ruling"),
        [f"{who}: {_counts_line(made)}" for who, made in shift.rulings_by().items()],
    )
    others = [span for span in shift.faults if span.cause != "device_down"]
    yield counted(len(others), "fault"), [_span(span) for span in others]
    yield (
        counted(len(shift.devices), "device outage"),
        [_span(span) for span in shift.devices],
    )
    yield counted(len(shift.locks), "lock"), [_span(span) for span in shift.locks]
    refused = sum(shift.refused.values())
    yield f"{counted(refused, 'entry', 'entries')} refused", _by_count(shift.refused)


def _when(shift: Shift) -> str:
    opened = f"opened {wall_date(shift.opened_us)}{f' by {shift.opened_by}' if shift.opened_by else ''}"
    if shift.closed_us is None:
        return f"{opened}, not closed; last row {shift.last_n} at {wall_clock(shift.last_us)}"
    closed = f"closed {wall_date(shift.closed_us)}{f' by {shift.closed_by}' if shift.closed_by else ''}"
    return f"{opened}, {closed} ({_duration_text(shift.closed_us - shift.opened_us)})"


def _review(review: Review) -> str:
    causes = ", ".join(_cause(cause) for cause in dict.fromkeys(review.causes))
    began = f"{wall_clock(review.wall_us)}  #{review.attempt} {causes}"
    if review.ended_us is None:
        return f"{began}: open"
    by = "no ruling; the next attempt closed it" if review.by == NOBODY else f"by {review.by}"
    return f"{began}: {review.ended_as} after {_duration_text(review.ended_us - review.wall_us)}, {by}"


def _span(span: Span) -> str:
    what = (
        f"{span.what}: {_cause(span.cause)}" if span.what not in ("table", span.cause) else _cause(span.cause)
    )
    ended = "ongoing" if span.ended_us is None else f"for {_duration_text(span.ended_us - span.began_us)}"
    return f"{wall_clock(span.began_us)}  {what}{f', by {span.by}' if span.by else ''}, {ended}"


def _counts_line(made: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in made.items() if count)


def _by_count(counts: dict[str, int]) -> list[str]:
    return [
        f"{count:>4}  {_cause(cause)}" for cause, count in sorted(counts.items(), key=lambda each: -each[1])
    ]


def _cause(code: str) -> str:
    return "called off by a person" if code == "called" else plain(code)


def _duration_text(us: int) -> str:
    seconds = us // 1_000_000
    if seconds < 60:
        return f"{us / 1e6:.1f} s"
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds % 60:02} s"


_STYLE = """
body { font: 11pt/1.4 sans-serif; color: #111; background: #fff; margin: 2em auto; max-width: 48em; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.1em; margin: 1.4em 0 .3em; }
p { margin: .2em 0; } table { border-collapse: collapse; width: 100%; font-size: .9em; }
td { border-top: 1px solid #bbb; padding: .2em .6em .2em 0; vertical-align: top; }
td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; }
.sign { display: flex; gap: 3em; margin-top: 3em; } .sign span { flex: 1; border-top: 1px solid #111; }
@media print { body { margin: 0; max-width: none; } tr, h2 { break-inside: avoid; break-after: avoid-page; } }
"""


def page_of(shift: Shift) -> str:
    """Return the shift as a self-contained HTML page for printing."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><meta charset="utf-8"><title>Shift at {escape(shift.table)}</title>',
        f"<style>{_STYLE}</style>",
        f"<h1>Shift at {escape(shift.table)}</h1>",
        f"<p>{escape(_when(shift))}</p>",
    ]
    if not shift.synced:
        parts.append("<p>The clock was not always synchronized, so times might be inaccurate.</p>")
    for title, lines in _sections(shift):
        parts.append(f"<h2>{escape(title.capitalize())}</h2>")
        parts.extend(f"<p>{escape(printable(line))}</p>" for line in lines)
    parts.append("<h2>All results</h2><table>")
    parts.extend(_table_rows(shift))
    parts.append('</table><div class="sign"><span>Boxperson</span><span>Pit manager</span></div></html>')
    return "\n".join(parts) + "\n"


def _table_rows(shift: Shift) -> Iterable[str]:
    for wall_us, outcome in shift.outcomes:
        cells = (wall_clock(wall_us), outcome.type, describe(outcome.data))
        yield f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in cells)}</tr>"


_SHADOW_EXAMPLES = (
    "tablectl shadow --journal SHADOW/journal",
    "tablectl shadow --journal SHADOW/journal --pictures differences",
    "tablectl shadow --json",
)
_WORDS: dict[Agreement, tuple[str, Style]] = {
    "agrees": ("agree", "green"),
    "differs": ("differ", "red"),
    "review": ("went to review, so the dealer's entry counts", "yellow"),
    "entered_first": ("were entered before the controller's call", "plain"),
    "not_entered": ("were not entered by anyone", "dim"),
}


def _add_shadow_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pictures",
        type=Path,
        metavar="DIR",
        help="save a drawing of each difference and each review in this folder (SVG)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one attempt per line")
    add_journal_options(parser)


def _run_shadow(arguments: argparse.Namespace) -> int:
    """Print the comparison.

    Return 1 if a call differs from the dealer's entry, the journal is faulty or the request is refused, 2 if
    there is no journal or a drawing can't be written, and 3 if no controller responds.
    """
    try:
        with open_journal(arguments) as journal:
            attempts = compare_attempts(journal)
            table = journal.origin.table
        if arguments.pictures is not None:
            _draw(arguments, attempts)
    except UNREADABLE as error:
        return report_unreadable(error)
    except OSError as error:
        say(unwritable_message(arguments.pictures, error))
        return BAD_INPUT
    if arguments.json:
        for attempt in attempts:
            fields = {**msgspec.structs.asdict(attempt), "agreement": attempt.agreement}
            print(msgspec.json.encode(fields).decode())
    else:
        screen = Screen(sys.stdout)
        screen.lines(_comparison_lines(screen, table, attempts))
    return FAILED if any(attempt.agreement == "differs" for attempt in attempts) else OK


def _comparison_lines(screen: Screen, table: str, attempts: Sequence[ShadowComparison]) -> Iterator[str]:
    """Yield the number of attempts for each kind of agreement, then each difference and each review."""
    counts = Counter(attempt.agreement for attempt in attempts)
    yield screen.styled(f"{table}: {counted(len(attempts), 'attempt')}", "bold")
    for agreement, (words, style) in _WORDS.items():
        if counts[agreement]:
            yield f"  {counts[agreement]:>5}  {screen.styled(words, style)}"
    for agreement in ("differs", "review"):
        listed = [attempt for attempt in attempts if attempt.agreement == agreement]
        if listed:
            yield ""
            yield screen.styled("differences" if agreement == "differs" else "reviews", "bold")
            yield from screen.table(_row(attempt) for attempt in listed)


def _row(attempt: ShadowComparison) -> Entry:
    causes = ", ".join(plain(code) for code in attempt.why)
    called = "review" if attempt.called is None else f"called {attempt.called}"
    because = f" ({causes})" if causes else ""
    entered = f"entered {attempt.entered} by {attempt.by}" if attempt.entered else "nothing was entered"
    when = wall_clock(attempt.wall_us)
    style: Style = "red" if attempt.agreement == "differs" else "yellow"
    return Entry(f"{when}  #{attempt.attempt}", f"{called}{because}; {entered}", style)


def _draw(arguments: argparse.Namespace, attempts: Sequence[ShadowComparison]) -> None:
    from controller.technician.pictures import picture_of  # noqa: PLC0415 - only for --pictures

    if arguments.journal is None:
        raise RefusedError("--pictures also needs --journal with the journal's folder on this machine")
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    for attempt in attempts:
        if attempt.agreement not in ("differs", "review"):
            continue
        svg = picture_of(journal_file(arguments.journal), attempt.attempt).svg
        if svg is not None:
            with atomic_file(arguments.pictures / f"{attempt.attempt}.svg") as stream:
                stream.write(svg.encode())


COMMANDS = {
    "shadow": Command(_add_shadow_arguments, _run_shadow, _SHADOW_EXAMPLES),
}
