"""Find the attempt that a person asked about in a journal; apart, since it needs the journal's libraries."""

import msgspec

from controller.app.options import RECORDINGS
from controller.app.recording import ENDING
from controller.cli.exhibits import Asked
from controller.cli.journal_source import Kept, ToldJournal
from controller.journal.chain import Row
from controller.journal.contents import After, Recording, outcome_of, unpack
from controller.journal.faults import JournalFault
from controller.journal.reading import Rows
from controller.journal.recall import find_attempt, judged_of
from controller.replay.source import LogError
from controller.technician.sheet import Exhibit

_decode_after = msgspec.json.Decoder(After).decode


def from_journal(reader: Rows, which: Asked) -> Exhibit:
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
    return Exhibit(identity.setup, found.number, told, closed, judged, found.rows[-1].wall.us)


def recording_of(reader: Kept, which: Asked) -> Asked:
    """Find the recording that holds the readings of an attempt in a journal.

    Raises:
        JournalFault: there is no such attempt, or it names no recording.
        LogError: the recording is not there any more.
        RefusedError: the controller that was asked does not tell it.
    """
    near = None if which.id is None else reader.find(which.id)
    found = find_attempt(reader, which.number, near)
    recording = _recording_behind(reader, found.rows[0])
    if recording is None:
        said = f"row {found.rows[0].n}, which names no recording"
        raise JournalFault("journal_no_such_outcome", reader.path, said, "an attempt that was recorded")
    if isinstance(reader, ToldJournal):
        return Asked(str(reader.recording(recording.name)), found.number)
    path = reader.path.parent / RECORDINGS / (recording.name + ENDING)
    if not path.exists():
        advice = "name the log itself with LOG#n, wherever it was copied to"
        raise LogError(
            str(path), "no such recording: it was deleted to make room, or moved", "it there", advice
        )
    return Asked(str(path), found.number)


def _recording_behind(reader: Rows, row: Row) -> Recording | None:
    # What is told at once is one batch of rows, and only its last one says where the readings are.
    for later in reader.rows(row.n):
        if later.after is not None:
            return _decode_after(later.after).recording
    return None
