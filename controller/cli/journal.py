"""`tablectl journal`: verify, show and export a journal, without being in the controller's way."""

import argparse
import sys
from pathlib import Path

import msgspec

from controller.app.clock import iso
from controller.app.options import JOURNAL
from controller.cli.exits import BAD_INPUT, FAILED, OK, printable, say
from controller.cli.numbers import ROWS, whole
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader

EXAMPLES = (
    "tablectl journal verify",
    "tablectl journal show --journal VIRTUAL/journal --type roll.called",
    "tablectl journal export --from 100 > rows.jsonl",
)

FILE = "journal.db"


def add_journal(parser: argparse.ArgumentParser) -> None:
    """Declare where the journal is."""
    parser.add_argument(
        "--journal",
        type=Path,
        default=Path(JOURNAL),
        metavar="DIR",
        help=f"the journal's folder or file (default: {JOURNAL})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def journal_file(path: Path) -> Path:
    """Give the journal's file in this folder, or the file itself."""
    return path / FILE if path.is_dir() else path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_subparsers(metavar="verify|show|export", required=True)
    verify = what.add_parser("verify", help="check every page, row, digest and signature; exit 1 on a fault")
    verify.set_defaults(of_journal=_verify)
    show = what.add_parser("show", help="print rows in a line each")
    show.set_defaults(of_journal=_show)
    export = what.add_parser("export", help="write rows as JSON lines, with their evidence")
    export.set_defaults(of_journal=_export)
    for subparser in (show, export):
        subparser.add_argument(
            "--from", type=whole(1, ROWS), default=1, metavar="ROW", dest="from_n", help="from here"
        )
        subparser.add_argument(
            "--to", type=whole(1, ROWS), metavar="ROW", dest="to_n", help="to here, included"
        )
        subparser.add_argument("--type", action="append", default=[], metavar="NAME", help="only these rows")
    for subparser in (verify, show, export):
        add_journal(subparser)


def run(arguments: argparse.Namespace) -> int:
    """Do it; 1 where the journal is at fault, 2 where there is none."""
    try:
        with Reader(journal_file(arguments.journal)) as reader:
            code: int = arguments.of_journal(reader, arguments)
    except JournalFault as fault:
        say(fault)
        return BAD_INPUT if fault.code == "journal_absent" else FAILED
    return code


def _verify(reader: Reader, arguments: argparse.Namespace) -> int:
    found = reader.verify_all()
    told = {**found._asdict(), "last_link": found.last_link.hex(), "table": reader.origin.table}
    if arguments.json:
        print(msgspec.json.encode(told).decode())
    else:
        print(
            f"{reader.origin.table}: sound: {found.rows:,} rows, {found.outcomes:,} outcomes,"
            f" {found.signatures:,} signatures, ends at row {found.last_n} with {found.last_link.hex()}"
        )
    return OK


def _show(reader: Reader, arguments: argparse.Namespace) -> int:
    for row in reader.rows(arguments.from_n, arguments.to_n, arguments.type):
        body = None if row.body is None else msgspec.Raw(row.body)
        if arguments.json:
            told = {"n": row.n, "name": row.name, "seq": row.seq, "wall": iso(row.wall.us), "body": body}
            print(msgspec.json.encode(told).decode())
        else:
            quality = "" if row.wall.synced else "?"
            text = "(pruned)" if body is None else bytes(body).decode()
            print(printable(f"{row.n:>8}  {iso(row.wall.us)}{quality}  {row.name:<16} {text}"))
    return OK


def _export(reader: Reader, arguments: argparse.Namespace) -> int:
    reader.export(sys.stdout.buffer, arguments.from_n, arguments.to_n, arguments.type)
    sys.stdout.buffer.flush()
    return OK
