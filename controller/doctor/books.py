"""What the table keeps: its journal, keys, head file and recordings."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller.app.options import Options
from controller.doctor.finding import Finding

SEALED = Path("/etc/table/credentials/table-key")
"""Where the installed unit has its key from: systemd opens it for the service alone."""


def books(options: Options, environ: Mapping[str, str], sealed: Path = SEALED) -> Iterator[Finding]:
    """Look at the journal's folder and all in it; a controller that runs is not disturbed."""
    if not options.journal.exists() and not options.place.head.exists():
        yield Finding("unchecked", "journal", f"{options.journal}: not there yet; the first start makes it")
        return
    if options.journal.exists() and not os.access(options.journal, os.R_OK | os.X_OK):
        yield Finding("unchecked", "journal", f"{options.journal}: closed to this user; run as root")
        return
    yield from _start(options, environ, sealed)
    yield from _journal(options)
    yield _recordings(options)


def _start(options: Options, environ: Mapping[str, str], sealed: Path) -> Iterator[Finding]:
    if not os.access(options.journal, os.W_OK):
        yield Finding("unchecked", "files and groups", "only the table's own user or root can tell")
        return
    try:
        from controller.app.preflight import mistakes_in  # noqa: PLC0415 - needs the extra journal
    except ImportError:
        yield Finding("unchecked", "files and groups", "needs the extra `journal`")
        return
    wrong = list(mistakes_in(options, environ))
    if options.key is None and not options.key_file.exists() and sealed.exists():
        wrong = [mistake for mistake in wrong if mistake.file != str(options.key_file)]
        yield Finding("ok", "signing key", f"{sealed}: sealed to this machine; the service alone reads it")
    for mistake in wrong:
        yield Finding("fault", "files and groups", str(mistake), mistake.hint)
    if not wrong:
        yield Finding("ok", "files and groups", "folders, keys, head file and groups are as they should be")


def _journal(options: Options) -> Iterator[Finding]:
    try:
        from controller.journal.ending import check_begun  # noqa: PLC0415 - needs the extra journal
        from controller.journal.faults import JournalFault  # noqa: PLC0415 - as above
        from controller.journal.head import read_head  # noqa: PLC0415 - as above
        from controller.journal.reading import Reader  # noqa: PLC0415 - as above
    except ImportError:
        yield Finding("unchecked", "journal", "needs the extra `journal`")
        return
    path, head = options.place
    try:
        check_begun(options.place, read_head(head))
        if not path.exists():
            yield Finding("unchecked", "journal", f"{path}: not there yet; the first start makes it")
            return
        with Reader(path) as reader:
            found = reader.verify_all(every_signature=False, head=head)
    except JournalFault as fault:
        yield Finding("fault", "journal", str(fault), fault.kind.next_step)
        return
    says = (
        f"{path}: sound as a whole: {found.rows:,} rows, {found.outcomes:,} outcomes, the signatures of"
        f" sessions and checkpoints, ends at row {found.last_n}; `tablectl journal verify` checks them all"
    )
    if found.unvouched:
        yield Finding("warning", "journal", f"{says}. Nobody vouches for {'; '.join(found.unvouched)}")
    else:
        yield Finding("ok", "journal", says)


def _recordings(options: Options) -> Finding:
    files = [path for path in options.recordings.glob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    says = f"{len(files)} recordings, {size / 1e6:.1f} MB of at most {options.keep_bytes / 1e6:.0f}"
    if size > options.keep_bytes:
        return Finding("warning", "recordings", says, "they are pruned while a controller runs; start it")
    return Finding("ok", "recordings", says)
