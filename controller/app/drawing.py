"""The picture of a throw or a spin that a person must rule on, drawn from the evidence in the journal."""

from pathlib import Path

from controller.journal.attempts import find_attempt
from controller.journal.contents import outcome_of
from controller.journal.evidence import unpack
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.recall import judged_of
from controller.pictures.draw import draw, see
from controller.pictures.exhibit import Exhibit
from controller.pictures.svg import as_svg


def picture_of(journal: Path, number: int) -> str | None:
    """Draw attempt `number` as SVG; None where nothing can be drawn to scale.

    Raises:
        JournalFault: the journal has no such attempt, or can't be read.
    """
    with Reader(journal) as reader:
        found = find_attempt(reader, number)
        identity = reader.identity_at(found.rows[0].n)
    if identity is None:
        raise JournalFault("journal_not_one", journal, "an outcome before any session", "a session before it")
    told = tuple(outcome_of(row.body) for row in found.rows if row.body is not None)
    proved = [(told[i], row.evidence) for i, row in enumerate(found.rows) if row.evidence is not None]
    if not proved:
        return None
    closed = None if found.closed is None or found.closed.body is None else outcome_of(found.closed.body)
    judged = judged_of(proved[-1][0], unpack(proved[-1][1]))
    exhibit = Exhibit(identity.setup, found.number, told, closed, judged)
    seen = see(exhibit)
    if seen is None:
        return None
    when = f"at {exhibit.last.t / 1e6:.1f} s"
    return as_svg(draw(exhibit, seen, judged.verdict.sentence, when, []))
