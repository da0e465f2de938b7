"""A journal and its recordings: in their folder, or as a running controller tells them to a technician."""

import argparse
import atexit
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from controller.app.options import JOURNAL, JOURNAL_FILE
from controller.cli.link import SOCKET, Json, OutOfReachError, RefusedError, conversation
from controller.cli.shell import say
from controller.journal.chain import Row, WallTime
from controller.journal.contents import Identity
from controller.journal.faults import JournalFault
from controller.journal.keys import PublicKey
from controller.journal.reading import Reader
from controller.journal.store import Origin
from controller.model.conversion import Converter, converter_of

T = TypeVar("T")
_number_of = converter_of(int)
_text_of = converter_of(str)
_bytes_of = converter_of(bytes)
_row_of = converter_of(Row)
_identity_of = converter_of(Identity)


class ToldJournal:
    """A running controller's journal, asked for over its control socket."""

    def __init__(self, socket: str) -> None:
        """Ask whose it is; raises OutOfReachError if nothing answers, RefusedError if it is refused."""
        self.path = Path(socket)
        first, *_ = self._asked({"do": "rows", "from_n": 1, "to_n": 0})
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
        """Print why a row may be missing; no connection is open between two requests."""
        if isinstance(error, JournalFault) and self._held_back:
            say("rows since bets opened can be read once bets are closed and hands are decided")

    def rows(
        self, from_n: int = 1, to_n: int | None = None, types: Collection[str] = (), *, evidence: bool = False
    ) -> Iterator[Row]:
        """Yield rows in order, `to_n` included, of all types or of these; with evidence if asked."""
        wanted: Json = {"do": "rows", "from_n": from_n, "types": sorted(types), "evidence": evidence}
        for told in self._asked(wanted if to_n is None else {**wanted, "to_n": to_n}):
            if "row" in told:
                yield _part(told, "row", _row_of)

    def find(self, told_id: str) -> Row:
        """Return an outcome's row by its id, with its evidence."""
        (told,) = self._asked({"do": "row", "id": told_id}, ends=False)
        return _part(told, "row", _row_of)

    def identity_at(self, n: int) -> Identity | None:
        """Return the session that wrote this row; None before the first."""
        (told,) = self._asked({"do": "identity", "at": n}, ends=False)
        return None if told["identity"] is None else _part(told, "identity", _identity_of)

    def key_at(self, n: int) -> PublicKey:
        """Return the key that signs this row."""
        (told,) = self._asked({"do": "identity", "at": n}, ends=False)
        return PublicKey(_part(told, "key", _bytes_of))

    def last_n(self) -> int:
        """Return the number of the last row that may be read."""
        return self._last_n

    def recording(self, name: str) -> Path:
        """Write what is told of a recording into a file that lasts as long as this process."""
        folder = Path(tempfile.mkdtemp(prefix="tablectl-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as log:
            for told in self._asked({"do": "recording", "name": name}):
                log.write(str(told.get("lines", "")))
        return path

    def _asked(self, request: Json, *, ends: bool = True) -> Iterator[Json]:
        for told in conversation(str(self.path), request):
            if told.get("ok") is False:
                if told.get("code") == "no_journal":
                    raise OutOfReachError(f"{self.path}: {told['says']}")
                raise RefusedError(f"{self.path}: {told['says']}")
            yield told
            if not ends or told.get("end"):
                return


def _part(told: Json, name: str, made_of: Converter[T]) -> T:
    return made_of(told[name], builtin_types=())


Kept = Reader | ToldJournal
"""Where what was told is read from."""


def open_journal(arguments: argparse.Namespace) -> Kept:
    """Open the journal that the arguments name; the installed one where they name none.

    A journal that this user may not read is asked for at the controller's socket.

    Raises:
        JournalFault: there is no journal.
        OutOfReachError: no controller answers.
        RefusedError: the one that answers does not tell this user.
    """
    journal: Path | None = arguments.journal
    socket: str | None = arguments.socket
    if journal is not None:
        return Reader(journal_file(journal))
    if socket is not None:
        return ToldJournal(socket)
    try:
        return Reader(journal_file(Path(JOURNAL)))
    except JournalFault as fault:
        if fault.code != "journal_no_access":
            raise
    return ToldJournal(SOCKET)


def journal_file(path: Path) -> Path:
    """Return the journal's file in this folder, or the file itself."""
    return path / JOURNAL_FILE if path.is_dir() else path
