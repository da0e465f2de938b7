"""What can be wrong with a journal: a stable code, its likely cause, what to do next and when it clears."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple


class JournalFaultKind(NamedTuple):
    """One entry of the catalogue of journal faults."""

    cause: str
    """The most likely cause."""
    next_step: str
    """What to do now."""
    clears: str
    """When it clears."""


_REOPEN = "when the journal is opened again and verifies"
_ITSELF = "automatically, as soon as a write succeeds"
_KEEP = "keep the files as they are and copy them away"
_GO_ON = "`tablectl approve journal --reason WHY`"
_ANOTHER_TABLE = "in an empty folder and under another table name (docs/replacing.md)"
_REPORT = "restart the controller and send the message with `tablectl doctor --bundle FILE`"

CROWDED = "journal_crowded"
"""The only write fault that affects nobody else."""
FAULTS: Mapping[str, JournalFaultKind] = {
    "journal_in_use": JournalFaultKind(
        "another controller runs on this journal",
        "talk to that one (`tablectl status`), or stop it; `systemctl stop table` if it is the service",
        "when that process ends",
    ),
    "journal_sqlite_too_old": JournalFaultKind(
        "a SQLite with the WAL-reset fault, which loses commits",
        "install the release again: `make install` on a table, `make tools` in a checkout",
        _REOPEN,
    ),
    "journal_pragma_refused": JournalFaultKind(
        "a file system that can't hold a WAL journal, such as a network share",
        "put the journal on a local ext4 partition and name its folder with --journal",
        _REOPEN,
    ),
    "journal_key_missing": JournalFaultKind(
        "the journal's key was moved or lost, or the service got no credential",
        f"put the key back from its copy (docs/installing.md); or begin again without one {_ANOTHER_TABLE}",
        _REOPEN,
    ),
    "journal_key_exposed": JournalFaultKind(
        "the key file was copied or edited with an open umask",
        f"chmod 600 it; if others could have read it, start a new journal {_ANOTHER_TABLE}",
        _REOPEN,
    ),
    "journal_key_unreadable": JournalFaultKind(
        "the file is not the Ed25519 private key in PEM form that the table's first start made",
        "put the key back from its copy (docs/installing.md)",
        _REOPEN,
    ),
    "journal_key_differs": JournalFaultKind(
        "the journal was created with another key: it is another table's, or the key was replaced",
        f"put the journal's own key back from its copy; if there is none, begin again {_ANOTHER_TABLE}",
        _REOPEN,
    ),
    "journal_not_one": JournalFaultKind(
        "another program's file under the journal's name, or --journal names the wrong folder",
        "name the journal's own folder with --journal, or move that file away and copy the journal back",
        _REOPEN,
    ),
    "journal_empty": JournalFaultKind(
        "a first start that was cut off, or the -wal file that held the first rows was lost",
        "copy the -wal file back next to it; if the table never played, `tablectl run` begins it",
        _REOPEN,
    ),
    "journal_no_access": JournalFaultKind(
        "the file is another user's: copied back by root, or this command runs as somebody else",
        "run the command as root; for the table's own service: chown --recursive table: FOLDER",
        _REOPEN,
    ),
    "journal_newer": JournalFaultKind(
        "a newer version of the controller wrote this journal",
        "`make install` in the newer version's checkout, or `make rollback` if an install was rolled back",
        _REOPEN,
    ),
    "journal_other_table": JournalFaultKind(
        "an SD card or a backup of another table",
        "name this table's own journal with --journal, and its own head file with --head",
        _REOPEN,
    ),
    "journal_absent": JournalFaultKind(
        "the journal's file was deleted, or its partition is not mounted",
        "name its folder with --journal, mount its partition, or copy it back; if the journal of a table"
        f" is lost, go on with an empty one: {_GO_ON}",
        _REOPEN,
    ),
    "journal_damaged": JournalFaultKind(
        "the storage lost or changed pages of the file",
        f"{_KEEP}; put the last sound copy in its place, on a sound disk, and go on with it: {_GO_ON}",
        _REOPEN,
    ),
    "journal_row_missing": JournalFaultKind(
        "a row was deleted from the file",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_row_changed": JournalFaultKind(
        "a row was edited in the file",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_row_moved": JournalFaultKind(
        "rows were put in another order, or one was replaced together with its digest",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_bad_signature": JournalFaultKind(
        "the chain was recomputed by someone without the table's key",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_outbox_differs": JournalFaultKind(
        "the list of outcomes not yet acknowledged was edited",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_cut_short": JournalFaultKind(
        "rows at the end are gone: the WAL file was deleted, the file truncated, or an older copy restored",
        "copy the newer files back; if they are lost, go on with these: " + _GO_ON,
        _REOPEN,
    ),
    "journal_restored": JournalFaultKind(
        "an older copy of the journal was put in its place",
        "copy the newer files back; if they are lost, go on with these: " + _GO_ON,
        _REOPEN,
    ),
    "journal_forked": JournalFaultKind(
        "an older copy of the journal was written on, here or at another table",
        "copy the true files back; if they are lost, go on with these: " + _GO_ON,
        _REOPEN,
    ),
    "journal_head_missing": JournalFaultKind(
        "the head file was deleted, or its partition is not mounted",
        "mount the partition or copy the file back; if it is lost, go on without: " + _GO_ON,
        _REOPEN,
    ),
    "journal_head_damaged": JournalFaultKind(
        "the storage lost both copies in the head file",
        "copy the file back; if it is lost, go on without: " + _GO_ON,
        _REOPEN,
    ),
    "journal_head_forged": JournalFaultKind(
        "somebody without the table's key wrote the head file, or it is older than the key",
        f"{_KEEP}; copy the true head file back; if it is lost, call the regulator's contact, then {_GO_ON}",
        _REOPEN,
    ),
    "journal_head_unsigned": JournalFaultKind(
        "a release before 0.2 wrote the head file, or somebody without the table's key did",
        "if this is not the first start after an upgrade, keep the files and call the regulator's contact;"
        " else a person who knows the table vouches for it: " + _GO_ON,
        _REOPEN,
    ),
    "journal_old_layout": JournalFaultKind(
        "the first start after an upgrade from 0.1, which left rows and the head file without signature",
        "a person who knows the table vouches for its rows, once: " + _GO_ON + "; the old release can't open"
        " the journal from then on. If somebody did so before at this table, an older copy was put in its"
        " place: keep the files and call the regulator's contact",
        _REOPEN,
    ),
    "journal_downgraded": JournalFaultKind(
        "the file's header was changed so that rows without a signature would be accepted",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_end_unsigned": JournalFaultKind(
        "rows were added at the end by someone without the table's key",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_schema_changed": JournalFaultKind(
        "a trigger, index, table or view was added to the file, changed or dropped",
        f"{_KEEP}; call the regulator's contact",
        _REOPEN,
    ),
    "journal_disk_full": JournalFaultKind(
        "the data partition is full",
        "free space on it; older recordings may go, outcomes keep evidence of their own",
        _ITSELF,
    ),
    "journal_read_only": JournalFaultKind(
        "the file system was remounted read-only after an error, or by an overlay",
        "see `dmesg` for why, then mount the data partition read-write: mount -o remount,rw",
        _ITSELF,
    ),
    "journal_io_error": JournalFaultKind(
        "the storage fails to write", "check cable, power and wear of the disk; replace it", _ITSELF
    ),
    "journal_write_failed": JournalFaultKind(
        "another program holds or has changed the journal's file",
        "find it with `fuser --verbose FILE`, and end it",
        _ITSELF,
    ),
    CROWDED: JournalFaultKind(
        "acknowledgements or requests arrive faster than the disk writes them",
        "nothing: they are counted or sent again; if it lasts, find who sends them",
        "as soon as fewer rows wait for the disk",
    ),
    "journal_overflow": JournalFaultKind(
        "the disk has stalled or been full for long, so that the waiting rows reached their limit",
        "fix the disk and restart the controller; unpublished outcomes are lost, published ones are not",
        _REOPEN,
    ),
    "journal_wal_grows": JournalFaultKind(
        "a program reads the journal without end, so that the WAL can't be written back and grows",
        "end the process that is named; `tablectl` itself never reads for long",
        "automatically, once the WAL is written back",
    ),
    "journal_stopped": JournalFaultKind(
        "a defect of the controller in the journal's own thread",
        _REPORT,
        _REOPEN,
    ),
    "journal_closed": JournalFaultKind("the controller is shutting down", "start it again", _REOPEN),
    "journal_not_flushed": JournalFaultKind(
        "the disk does not accept the last rows", "fix the disk before power is cut", _ITSELF
    ),
    "journal_out_of_sequence": JournalFaultKind(
        "a defect of the controller: an outcome was left out or handed over twice",
        _REPORT,
        _REOPEN,
    ),
    "journal_taken_away": JournalFaultKind(
        "a person or program deleted, renamed or replaced the file while the controller had it open",
        "put the same file back under its name; one that was deleted can be copied from /proc/PID/fd while"
        f" the controller runs; then restart it. If it is lost: {_GO_ON}",
        "automatically, once the file that was opened is back under its name",
    ),
    "journal_teller_failed": JournalFaultKind(
        "a defect of the controller in a listener for durable rows",
        f"{_REPORT}; the rows are safe",
        "once the next row is announced",
    ),
    "journal_no_such_outcome": JournalFaultKind(
        "a mistyped id, another table's, or one whose contents were pruned",
        "copy the id from the outcome as it was published",
        "at once",
    ),
    "journal_ack_unknown": JournalFaultKind(
        "an older copy of this journal was put back, or the engine answers the wrong table",
        "`tablectl journal verify` shows whether an older journal was put back; otherwise check that the"
        " engine's answers go to the right table",
        "at the next acknowledgement that fits",
    ),
    "journal_ack_differs": JournalFaultKind(
        "the settlement engine got another outcome under this id: a forged message or a restored journal",
        "compare its chain hash in `tablectl recall` with the engine's, and find who sent the other",
        "at the next acknowledgement that fits",
    ),
}
"""Every fault of the journal by its code."""


class JournalFault(Exception):
    """A fault with its code: where, what was found, what was expected, what to do next."""

    def __init__(self, code: str, where: object, found: str, expected: str) -> None:
        self.code = code
        self.where = str(where)
        self.found = found
        self.expected = expected
        self.kind = FAULTS[code]
        super().__init__(f"{where}: found {found}, expected {expected}; {self.kind.next_step} [{code}]")


WHAT: Mapping[str, str] = {
    "journal_absent": "the journal's file is not there",
    "journal_ack_differs": "settlement acknowledged an outcome with another chain hash than this journal's",
    "journal_ack_unknown": "settlement acknowledged an outcome that is not in this journal",
    "journal_bad_signature": "a row's signature is not that of the table's key",
    "journal_closed": "the journal is closed and accepts no rows",
    "journal_crowded": "a request or acknowledgement was put off: the disk is behind with earlier rows",
    "journal_cut_short": "the journal ends before the last row that the head file remembers",
    "journal_damaged": "the journal's file can't be read to its end",
    "journal_disk_full": "the disk has no room for the next row",
    "journal_downgraded": "the journal says that its rows need no signatures, though they have them",
    "journal_empty": "the journal's file holds no rows",
    "journal_end_unsigned": "the journal's last rows are not signed by the table's key",
    "journal_forked": "the journal's last row is not the one that the head file remembers under its number",
    "journal_head_damaged": "the head file can't be read",
    "journal_head_forged": "the head file is not signed by the table's key",
    "journal_head_missing": "the journal has rows, and its head file is not there",
    "journal_head_unsigned": "the head file carries no signature",
    "journal_in_use": "another process holds the journal",
    "journal_io_error": "the disk failed to read or write the journal",
    "journal_key_differs": "the key supplied is not the one this journal was created with",
    "journal_key_exposed": "others than the service's user may read the key file",
    "journal_key_missing": "the journal's key is not there",
    "journal_key_unreadable": "the key file does not contain a usable key",
    "journal_newer": "the journal's layout is newer than this release knows",
    "journal_no_access": "this user may not read or write the journal",
    "journal_no_such_outcome": "no outcome of this id is in the journal",
    "journal_not_flushed": "rows had not reached the disk when the controller stopped",
    "journal_not_one": "the file under the journal's name is not a journal",
    "journal_old_layout": "the journal and its head file are of a release that signed neither rows nor head",
    "journal_other_table": "the journal is another table's",
    "journal_out_of_sequence": "an outcome's number does not follow on from the last",
    "journal_outbox_differs": "the outbox does not match the unacknowledged outcomes in the journal",
    "journal_overflow": "more rows wait for the disk than can be kept, so no more are accepted",
    "journal_pragma_refused": "the file system does not let SQLite write the journal as safely as it must",
    "journal_read_only": "the disk of the journal can't be written",
    "journal_restored": "the journal is older than its head file: published rows are missing",
    "journal_row_changed": "a row's contents do not fit its hash",
    "journal_row_missing": "a row's number is missing between its neighbours",
    "journal_row_moved": "a row does not follow on from the one before it in the chain",
    "journal_schema_changed": "the file's tables, indexes or triggers are not those of a journal",
    "journal_sqlite_too_old": "the SQLite library that was found loses commits",
    "journal_stopped": "the journal's thread has stopped",
    "journal_taken_away": "one of the journal's files is no longer the one that the controller opened",
    "journal_teller_failed": "rows are on disk, but not every listener was notified",
    "journal_wal_grows": "the WAL of the journal is not written back and grows",
    "journal_write_failed": "the journal's file can't be written",
}
"""What each of the journal's faults is, by its code."""


Alarm = Callable[[JournalFault | None], None]
"""Called with each fault as it begins, and with None when there is none. It must return at once."""


FROM_OUTSIDE = "ack"
"""The duty whose faults are caused by what settlement, or somebody in its name, sent: the journal is
sound."""
WAL = "wal"
"""The duty of keeping the WAL small: a reader that prevents it is a fault, and rows are still written."""


class Alarms:
    """The faults of the writer's several duties."""

    def __init__(self, alarm: Alarm) -> None:
        """Notify this listener."""
        self._alarm = alarm
        self._holding: dict[str, JournalFault] = {}
        self._lock = Lock()

    @property
    def present(self) -> JournalFault | None:
        """The active fault of writing, the first that began; what others send never counts as one."""
        with self._lock:
            return next(
                (fault for duty, fault in self._holding.items() if duty not in (FROM_OUTSIDE, WAL)), None
            )

    def began(self, duty: str, fault: JournalFault) -> None:
        """This duty fails."""
        with self._lock:
            before = self._holding.get(duty)
            self._holding[duty] = fault
        if before is None or before.code != fault.code:
            self._alarm(fault)

    def over(self, duty: str) -> None:
        """This duty succeeded."""
        with self._lock:
            all_well = self._holding.pop(duty, None) is not None and not self._holding
        if all_well:
            self._alarm(None)
