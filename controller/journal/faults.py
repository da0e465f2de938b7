"""The catalogue of journal faults: stable codes, likely causes, remedies, and when each fault clears."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple


class JournalFaultKind(NamedTuple):
    """One entry of the catalogue of journal faults."""

    cause: str
    next_step: str
    clears: str


_AFTER_REOPENING = "when the journal is reopened and passes verification"
_AFTER_WRITING = "automatically, as soon as a write succeeds"
_KEEP = "leave the files unchanged and make a copy of them"
_ACCEPT = "`tablectl approve journal --reason WHY`"
_ANOTHER_TABLE = "in an empty folder and under another table name (docs/replacing.md)"
_REPORT = (
    "restart the controller, and send support this message and the file written by"
    " `tablectl doctor --bundle FILE`"
)

CROWDED = "journal_crowded"
"""The only queueing fault that affects a single entry. Other entries are still accepted."""
FAULTS: Mapping[str, JournalFaultKind] = {
    "journal_in_use": JournalFaultKind(
        "another controller is using this journal",
        "use that controller (`tablectl status`), or stop it (`systemctl stop table` if it is the service)",
        "when that process ends",
    ),
    "journal_sqlite_too_old": JournalFaultKind(
        "an SQLite release with the WAL-reset bug, which can lose commits",
        "install the controller again: `make install` on a table, `make tools` in a checkout",
        _AFTER_REOPENING,
    ),
    "journal_pragma_refused": JournalFaultKind(
        "a file system that does not support SQLite's WAL mode, such as a network share",
        "put the journal on a local ext4 partition and specify its folder with --journal",
        _AFTER_REOPENING,
    ),
    "journal_key_missing": JournalFaultKind(
        "the journal's key was moved or lost, or the service did not receive its credential",
        f"restore the key from its copy (docs/installing.md), or start a new journal {_ANOTHER_TABLE}",
        _AFTER_REOPENING,
    ),
    "journal_key_exposed": JournalFaultKind(
        "the key file was copied or edited with a permissive umask",
        f"run `chmod 600 FILE`; if others might have read the key, start a new journal {_ANOTHER_TABLE}",
        _AFTER_REOPENING,
    ),
    "journal_key_unreadable": JournalFaultKind(
        "the file is not the Ed25519 private key (PEM) created at the table's first start",
        "restore the key from its copy (docs/installing.md)",
        _AFTER_REOPENING,
    ),
    "journal_key_differs": JournalFaultKind(
        "the journal belongs to another table, or its key was replaced",
        f"restore the journal's key from its copy; without a copy, start a new journal {_ANOTHER_TABLE}",
        _AFTER_REOPENING,
    ),
    "journal_not_one": JournalFaultKind(
        "another program's file has the journal's name, or --journal names the wrong folder",
        "specify the journal's folder with --journal, or move the other file elsewhere and restore the"
        " journal",
        _AFTER_REOPENING,
    ),
    "journal_empty": JournalFaultKind(
        "the first start was interrupted, or the -wal file with the first rows was lost",
        "restore the -wal file next to the journal; if nothing has been played at the table yet, start it"
        " with `tablectl run`",
        _AFTER_REOPENING,
    ),
    "journal_no_access": JournalFaultKind(
        "root restored the file, or this command is not running as the controller's user",
        "run the command as root; if the table's service reports this fault, run"
        " `chown --recursive table: FOLDER`",
        _AFTER_REOPENING,
    ),
    "journal_newer": JournalFaultKind(
        "a newer version of the controller wrote this journal",
        "install the newer version again: `make install` in its checkout, or `make rollback`",
        _AFTER_REOPENING,
    ),
    "journal_other_table": JournalFaultKind(
        "an SD card or a backup from another table",
        "specify this table's journal with --journal, and its head file with --head",
        _AFTER_REOPENING,
    ),
    "journal_absent": JournalFaultKind(
        "the journal's file was deleted, or its partition is not mounted",
        "specify the journal's folder with --journal, mount the partition, or restore the file; if the file"
        f" is lost, continue with an empty journal: {_ACCEPT}",
        _AFTER_REOPENING,
    ),
    "journal_damaged": JournalFaultKind(
        "the storage lost or changed pages of the file",
        f"{_KEEP}; restore the last intact copy to a working disk, and continue with that copy: {_ACCEPT}",
        _AFTER_REOPENING,
    ),
    "journal_row_missing": JournalFaultKind(
        "a row was deleted from the file",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_row_changed": JournalFaultKind(
        "a row was edited in the file",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_row_moved": JournalFaultKind(
        "rows were reordered, or a row was replaced together with its digest",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_bad_signature": JournalFaultKind(
        "the chain was recomputed by somebody without the table's key",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_outbox_differs": JournalFaultKind(
        "the list of outcomes not yet acknowledged was edited",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_cut_short": JournalFaultKind(
        "the last rows are gone: the WAL file was deleted, the file truncated, or an older copy restored",
        "restore the newer files; if they are lost, continue with the files that you have: " + _ACCEPT,
        _AFTER_REOPENING,
    ),
    "journal_restored": JournalFaultKind(
        "an older copy of the journal was restored",
        "restore the newer files; if they are lost, continue with the files that you have: " + _ACCEPT,
        _AFTER_REOPENING,
    ),
    "journal_forked": JournalFaultKind(
        "this table or another one continued from an older copy of the journal",
        "restore the original files; if they are lost, continue with the files that you have: " + _ACCEPT,
        _AFTER_REOPENING,
    ),
    "journal_head_missing": JournalFaultKind(
        "the head file was deleted, or its partition is not mounted",
        "mount the partition or restore the file; if the file is lost, continue without it: " + _ACCEPT,
        _AFTER_REOPENING,
    ),
    "journal_head_damaged": JournalFaultKind(
        "the storage lost both records in the head file",
        "restore the file; if the file is lost, continue without it: " + _ACCEPT,
        _AFTER_REOPENING,
    ),
    "journal_head_forged": JournalFaultKind(
        "somebody without the table's key wrote the head file, or the file is older than the key",
        f"{_KEEP}; restore the original head file; if it is lost, call your contact at the regulator, and"
        f" then run {_ACCEPT}",
        _AFTER_REOPENING,
    ),
    "journal_head_unsigned": JournalFaultKind(
        "a release before 0.2 wrote the head file, or somebody without the table's key did",
        "after an upgrade, have a person who knows the table accept the head file once: "
        + _ACCEPT
        + "; otherwise keep the files and call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_old_layout": JournalFaultKind(
        "the first start after an upgrade from 0.1, which signed neither the head file nor all rows",
        "have a person who knows the table accept the unsigned rows, once: " + _ACCEPT + "; the old release"
        " can then no longer open the journal. If a person has accepted this table's journal before, an older"
        " copy was restored; keep the files and call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_downgraded": JournalFaultKind(
        "the file's header was changed to make the controller accept unsigned rows",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_end_unsigned": JournalFaultKind(
        "rows were added at the end by somebody without the table's key",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_schema_changed": JournalFaultKind(
        "a trigger, index, table or view was added, changed or dropped",
        f"{_KEEP}; call your contact at the regulator",
        _AFTER_REOPENING,
    ),
    "journal_disk_full": JournalFaultKind(
        "the data partition is full",
        "free space on the partition; you may delete old recordings, because the journal contains the"
        " evidence of each outcome",
        _AFTER_WRITING,
    ),
    "journal_read_only": JournalFaultKind(
        "the file system was remounted read-only after an error, or by an overlay",
        "find the reason with `dmesg`, then mount the data partition with `mount -o remount,rw`",
        _AFTER_WRITING,
    ),
    "journal_io_error": JournalFaultKind(
        "the storage failed", "check the disk's cable, power and wear; replace a worn disk", _AFTER_WRITING
    ),
    "journal_write_failed": JournalFaultKind(
        "another program has locked or changed the journal's file",
        "find that program with `fuser --verbose FILE`, and stop it",
        _AFTER_WRITING,
    ),
    CROWDED: JournalFaultKind(
        "acknowledgements or requests arrive faster than the disk writes them",
        "no action is needed, because refused acknowledgements are sent again and refused requests are"
        " counted; if the fault persists, find the sender",
        "as soon as fewer rows are waiting for the disk",
    ),
    "journal_overflow": JournalFaultKind(
        "the disk stalled or was full, and the queue of waiting rows filled up",
        "repair the disk and restart the controller; only unpublished outcomes are lost",
        _AFTER_REOPENING,
    ),
    "journal_wal_grows": JournalFaultKind(
        "a program keeps the journal open for reading, so the WAL can't be written back",
        "stop the process named in the message; `tablectl` itself reads only for short periods",
        "automatically, once the WAL is written back",
    ),
    "journal_stopped": JournalFaultKind(
        "a bug in the controller's journal thread",
        _REPORT,
        _AFTER_REOPENING,
    ),
    "journal_closed": JournalFaultKind(
        "the controller is shutting down", "start the controller again", _AFTER_REOPENING
    ),
    "journal_not_flushed": JournalFaultKind(
        "the disk did not accept the last rows in time",
        "repair or replace the disk, then start the controller; the rows that were not written are lost, and"
        " their outcomes were never published",
        _AFTER_REOPENING,
    ),
    "journal_out_of_sequence": JournalFaultKind(
        "a bug in the controller: an outcome was skipped or queued twice",
        _REPORT,
        _AFTER_REOPENING,
    ),
    "journal_taken_away": JournalFaultKind(
        "a person or program deleted, renamed or replaced the file while the controller had it open",
        "rename the original file back, or copy a deleted file from /proc/PID/fd while the controller runs,"
        f" and then restart the controller. If the file is lost: {_ACCEPT}",
        "automatically, once the original file has its name back",
    ),
    "journal_teller_failed": JournalFaultKind(
        "a bug in a part of the controller that is notified of durable rows",
        f"{_REPORT}; no rows are lost",
        "once the next row is reported",
    ),
    "journal_no_such_outcome": JournalFaultKind(
        "the id is mistyped or belongs to another table, or the outcome's contents were pruned",
        "copy the id from the published outcome; the contents of a pruned outcome can't be restored",
        "immediately",
    ),
    "journal_ack_unknown": JournalFaultKind(
        "an older copy of this journal was restored, or the engine's answers go to a different table",
        "use `tablectl journal verify` to find out whether an older journal was restored; if not, check that"
        " the engine's answers go to the correct table",
        "at the next acknowledgement that matches",
    ),
    "journal_ack_differs": JournalFaultKind(
        "the settlement engine received a different outcome with this id, from a forged message or a restored"
        " journal",
        "compare the chain hash in `tablectl recall` with the engine's, and find the sender of the other"
        " outcome",
        "at the next acknowledgement that matches",
    ),
}
"""The catalogue entry of each fault, by code."""


class JournalFault(Exception):
    """A fault of the journal. The message says what was found and expected, and what to do next."""

    def __init__(self, code: str, where: object, found: str, expected: str) -> None:
        self.code = code
        self.where = str(where)
        self.found = found
        self.expected = expected
        self.kind = FAULTS[code]
        super().__init__(f"{where}: found {found}, expected {expected}; {self.kind.next_step} [{code}]")


DESCRIPTIONS: Mapping[str, str] = {
    "journal_absent": "the journal's file is missing",
    "journal_ack_differs": "settlement acknowledged an outcome with a different chain hash",
    "journal_ack_unknown": "settlement acknowledged an outcome that is not in this journal",
    "journal_bad_signature": "a row is not signed by the table's key",
    "journal_closed": "the journal is closed and accepts no rows",
    "journal_crowded": "a request or acknowledgement was refused because too many rows are waiting for"
    " the disk",
    "journal_cut_short": "the journal ends before the last row that the head file records",
    "journal_damaged": "the journal's database is damaged",
    "journal_disk_full": "the disk has no space for the next row",
    "journal_downgraded": "the journal's header allows unsigned rows, but a signed checkpoint does not",
    "journal_empty": "the journal's file contains no rows",
    "journal_end_unsigned": "the journal's last rows are not signed by the table's key",
    "journal_forked": "a row of the journal differs from the row recorded in the head file",
    "journal_head_damaged": "the head file can't be read",
    "journal_head_forged": "the head file is not signed by the table's key",
    "journal_head_missing": "the journal has rows, but its head file is missing",
    "journal_head_unsigned": "the head file has no signature",
    "journal_in_use": "another process has the journal open",
    "journal_io_error": "the disk failed to read or write the journal",
    "journal_key_differs": "the journal is signed with a different key",
    "journal_key_exposed": "users other than the service's user can read the key file",
    "journal_key_missing": "the journal's key is missing",
    "journal_key_unreadable": "the key file does not contain a usable key",
    "journal_newer": "the journal's layout is newer than this release supports",
    "journal_no_access": "this user is not allowed to read or write the journal",
    "journal_no_such_outcome": "no outcome with this id is in the journal",
    "journal_not_flushed": "rows were not yet on the disk when the controller stopped",
    "journal_not_one": "the file with the journal's name is not a journal",
    "journal_old_layout": "the journal is from a release that signed neither the head file nor all rows",
    "journal_other_table": "the journal belongs to another table",
    "journal_out_of_sequence": "an outcome's number does not follow the last one",
    "journal_outbox_differs": "the outbox does not match the unacknowledged outcomes in the journal",
    "journal_overflow": "too many rows are waiting for the disk, and no further rows are accepted",
    "journal_pragma_refused": "the file system does not support SQLite's safe write mode",
    "journal_read_only": "the journal's disk can't be written to",
    "journal_restored": "the journal is older than its head file, and published rows are missing",
    "journal_row_changed": "a row's contents do not match its digest",
    "journal_row_missing": "the numbers of rows or outcomes are not consecutive",
    "journal_row_moved": "a row's hash does not continue the chain",
    "journal_schema_changed": "the file's tables, indexes or triggers are not those of a journal",
    "journal_sqlite_too_old": "the installed SQLite library can lose commits",
    "journal_stopped": "the journal's thread has stopped",
    "journal_taken_away": "one of the journal's files was deleted, renamed or replaced",
    "journal_teller_failed": "rows are on the disk, but a part of the controller was not notified",
    "journal_wal_grows": "the journal's WAL keeps growing because it can't be written back",
    "journal_write_failed": "the journal's file can't be written to",
}
"""A description of each fault, by code."""


Alarm = Callable[[JournalFault | None], None]
"""Called with each fault that begins, and with None when the last fault is over. Must return immediately."""


ACKNOWLEDGEMENTS = "ack"
"""The task of matching acknowledgements. A fault here is the sender's; the journal itself is intact."""
WAL = "wal"
"""The task of writing the WAL back. If it fails, rows are still written."""


class Alarms:
    """The active faults of the writer's tasks, such as writing rows or the head file."""

    def __init__(self, alarm: Alarm) -> None:
        """Start without faults; `alarm` is called when a fault begins and when the last one is over."""
        self._alarm = alarm
        self._active: dict[str, JournalFault] = {}
        self._lock = Lock()

    @property
    def current(self) -> JournalFault | None:
        """The active fault that began first, ignoring those of `ACKNOWLEDGEMENTS` and `WAL`."""
        with self._lock:
            return next(
                (fault for task, fault in self._active.items() if task not in (ACKNOWLEDGEMENTS, WAL)), None
            )

    def begin(self, task: str, fault: JournalFault) -> None:
        """Record that this task failed."""
        with self._lock:
            previous = self._active.get(task)
            self._active[task] = fault
        if previous is None or previous.code != fault.code:
            self._alarm(fault)

    def end(self, task: str) -> None:
        """Record that this task succeeded."""
        with self._lock:
            none_left = self._active.pop(task, None) is not None and not self._active
        if none_left:
            self._alarm(None)
