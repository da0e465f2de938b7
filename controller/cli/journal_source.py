"""Read a journal and its recordings from a folder or a running controller, and find attempts in them."""

import argparse
import atexit
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from controller.app.options import JOURNAL, JOURNAL_FILE, RECORDINGS
from controller.app.recording import ENDING
from controller.cli.attempts import AttemptRef
from controller.cli.link import SOCKET, Json, OutOfReachError, RefusedError, conversation, report_out_of_reach
from controller.cli.shell import BAD_INPUT, FAILED, say
from controller.journal.chain import Row, WallTime
from controller.journal.contents import Identity, Recording, StateAfterRow, decode_outcome, unpack
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.reading import Reader, Rows
from controller.journal.recall import build_judged, find_attempt
from controller.journal.store import Origin
from controller.model.conversion import Converter, converter_of
from controller.replay.source import LogError
from controller.technician.drawing import Exhibit

T = TypeVar("T")
_number_of = converter_of(int)
_text_of = converter_of(str)
_bytes_of = converter_of(bytes)
_row_of = converter_of(Row)
_identity_of = converter_of(Identity)


UNREADABLE = (OutOfReachError, RefusedError, JournalFault)
"""Errors that prevent a journal from being read."""


_NOT_ACCESSIBLE = frozenset({"journal_absent", "journal_no_access"})
"""Codes of a journal that is missing or inaccessible, so that the command's input is at fault."""


def report_unreadable(error: Exception) -> int:
    """Print the error and return the exit code.

    The code is 2 for a missing or inaccessible journal, 3 if no controller responds, and otherwise 1.
    """
    if isinstance(error, OutOfReachError):
        return report_out_of_reach(error)
    say(error)
    return BAD_INPUT if isinstance(error, JournalFault) and error.code in _NOT_ACCESSIBLE else FAILED


class RemoteJournal:
    """A running controller's journal, read over its control socket."""

    def __init__(self, socket: str) -> None:
        """Request the journal's origin; raises OutOfReachError or RefusedError."""
        self.path = Path(socket)
        first, *_ = self._answers({"do": "rows", "from_n": 1, "to_n": 0})
        self._held_back = first.get("held_back") is True
        self._last_n = _part(first, "last_n", _number_of)
        self.origin = Origin(
            _part(first, "table", _text_of), _part(first, "key", _bytes_of), WallTime(0, synced=False)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After a JournalFault, print why recent rows might be missing."""
        if isinstance(error, JournalFault) and self._held_back:
            say(
                "rows written since bets opened can be read only after bets have closed and, at a card table,"
                " the deal has been decided"
            )

    def rows(
        self, from_n: int = 1, to_n: int | None = None, types: Collection[str] = (), *, evidence: bool = False
    ) -> Iterator[Row]:
        """Yield the rows from `from_n` to `to_n`.

        With `types`, yield only rows of these types; with `evidence`, include the rows' evidence.
        """
        wanted: Json = {"do": "rows", "from_n": from_n, "types": sorted(types), "evidence": evidence}
        for answer in self._answers(wanted if to_n is None else {**wanted, "to_n": to_n}):
            if "row" in answer:
                yield _part(answer, "row", _row_of)

    def find(self, outcome_id: str) -> Row:
        """Return the row of the outcome with this id, including the evidence."""
        (answer,) = self._answers({"do": "row", "id": outcome_id}, many=False)
        return _part(answer, "row", _row_of)

    def identity_at(self, n: int) -> Identity | None:
        """Return the identity of the session that wrote this row; None before the first session."""
        (answer,) = self._answers({"do": "identity", "at": n}, many=False)
        return None if answer["identity"] is None else _part(answer, "identity", _identity_of)

    def key_at(self, n: int) -> PublicKey:
        """Return the key that signs this row."""
        (answer,) = self._answers({"do": "identity", "at": n}, many=False)
        return PublicKey(_part(answer, "key", _bytes_of))

    def last_n(self) -> int:
        """Return the number of the last row that may be read."""
        return self._last_n

    def recording(self, name: str) -> Path:
        """Save a recording in a temporary file, which this process deletes at exit; return its path."""
        folder = Path(tempfile.mkdtemp(prefix="tablectl-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as log:
            for answer in self._answers({"do": "recording", "name": name}):
                log.write(str(answer.get("lines", "")))
        return path

    def _answers(self, request: Json, *, many: bool = True) -> Iterator[Json]:
        for answer in conversation(str(self.path), request):
            if answer.get("ok") is False:
                if answer.get("code") == "no_journal":
                    raise OutOfReachError(f"{self.path}: {answer['says']}")
                raise RefusedError(f"{self.path}: {answer['says']}")
            yield answer
            if not many or answer.get("end"):
                return


def _part(answer: Json, name: str, convert: Converter[T]) -> T:
    return convert(answer[name], builtin_types=())


AnyJournal = Reader | RemoteJournal
"""A journal in a folder, or the journal of a running controller."""


def open_journal(arguments: argparse.Namespace) -> AnyJournal:
    """Open the journal that the arguments name, by default the installed journal.

    If this user may not read the installed journal's file, read the journal through the controller.

    Raises:
        JournalFault: the journal does not exist or can't be read.
        OutOfReachError: no controller responds.
        RefusedError: the controller refuses this user.
    """
    journal: Path | None = arguments.journal
    socket: str | None = arguments.socket
    if journal is not None:
        return Reader(journal_file(journal))
    if socket is not None:
        return RemoteJournal(socket)
    try:
        return Reader(journal_file(Path(JOURNAL)))
    except JournalFault as fault:
        if fault.code != "journal_no_access":
            raise
    return RemoteJournal(SOCKET)


def journal_file(path: Path) -> Path:
    """Return the path of the journal's file; `path` is that file or its folder."""
    return path / JOURNAL_FILE if path.is_dir() else path


_decode_after = msgspec.json.Decoder(StateAfterRow).decode


def exhibit_from_journal(reader: Rows, which: AttemptRef) -> Exhibit:
    """Return one attempt from a journal, with its evidence.

    Raises:
        JournalFault: the attempt does not exist, its contents were pruned, or no session precedes it.
        OutOfReachError, RefusedError: the controller does not respond or refuses the request.
    """
    near = None if which.id is None else reader.find(which.id)
    found = find_attempt(reader, which.number, near)
    identity = reader.identity_at(found.rows[0].n)
    if identity is None:
        raise JournalFault(
            "journal_not_one",
            reader.path,
            "an outcome before the first session",
            "the start of a session before the outcome",
        )
    outcomes = tuple(decode_outcome(row.body) for row in found.rows if row.body is not None)
    judged_rows = [
        (outcomes[i], row.evidence) for i, row in enumerate(found.rows) if row.evidence is not None
    ]
    closed = None if found.closed is None or found.closed.body is None else decode_outcome(found.closed.body)
    judged = None if not judged_rows else build_judged(judged_rows[-1][0], unpack(judged_rows[-1][1]))
    return Exhibit(identity.setup, found.number, outcomes, closed, judged, found.rows[-1].wall.us)


def recording_of(reader: AnyJournal, which: AttemptRef) -> AttemptRef:
    """Find the recording of an attempt in a journal; return a reference to the attempt in the recording.

    Raises:
        JournalFault: the attempt does not exist, or it has no recording.
        LogError: the recording no longer exists.
        OutOfReachError, RefusedError: the controller does not respond or refuses the request.
    """
    near = None if which.id is None else reader.find(which.id)
    found = find_attempt(reader, which.number, near)
    recording = _recording_for(reader, found.rows[0])
    if recording is None:
        row = f"row {found.rows[0].n}, which names no recording"
        raise JournalFault("journal_no_such_outcome", reader.path, row, "an attempt that was recorded")
    if isinstance(reader, RemoteJournal):
        return AttemptRef(str(reader.recording(recording.name)), found.number)
    path = reader.path.parent / RECORDINGS / (recording.name + ENDING)
    if not path.exists():
        advice = "name a copy of the log with LOG#n"
        raise LogError(
            str(path),
            "no such file: it was deleted to free space, or moved",
            "the attempt's recording",
            advice,
        )
    return AttemptRef(str(path), found.number)


def _recording_for(reader: Rows, row: Row) -> Recording | None:
    # Rows are written in batches, and only the last row of a batch names the recording of the readings.
    for later in reader.rows(row.n):
        if later.after is not None:
            return _decode_after(later.after).recording
    return None
