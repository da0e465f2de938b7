"""Find the attempt that a person asked about in a journal; apart, since it needs the journal's libraries."""

from pathlib import Path

from controller.app.options import JOURNAL
from controller.cli.exhibits import Asked
from controller.cli.journal import journal_file
from controller.journal.attempts import find_attempt
from controller.journal.contents import outcome_of
from controller.journal.evidence import unpack
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.recall import judged_of
from controller.pictures.exhibit import Exhibit


def open_journal(path: Path | None) -> Reader:
    """Open the journal in this folder or file; raises JournalFault where there is none."""
    return Reader(journal_file(path or Path(JOURNAL)))


def from_journal(reader: Reader, which: Asked) -> Exhibit:
    """Find one attempt in a journal, with its evidence.

    Raises:
        JournalFault: there is no such attempt, or what it told was pruned.
    """
    near = None if which.id is None else reader.find(which.id)
    found = find_attempt(reader, which.number, near)
    identity = reader.identity_at(found.rows[0].n)
    if identity is None:
        raise JournalFault(
            "journal_not_one",
            reader.path,
            "an outcome before the first session",
            "a session's start before it",
        )
    told = tuple(outcome_of(row.body) for row in found.rows if row.body is not None)
    proved = [(told[i], row.evidence) for i, row in enumerate(found.rows) if row.evidence is not None]
    closed = None if found.closed is None or found.closed.body is None else outcome_of(found.closed.body)
    judged = None if not proved else judged_of(proved[-1][0], unpack(proved[-1][1]))
    return Exhibit(identity.setup, found.number, told, closed, judged)
