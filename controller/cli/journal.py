"""`tablectl journal` and `recall`: verify, show and export a journal, and recall one of its outcomes."""

import argparse
import sys
from pathlib import Path

import msgspec

from controller.app.clock import iso
from controller.app.options import JOURNAL, default_head
from controller.cli.attempts import (
    add_pictures,
    extract_pictures,
    find_pictures,
    pictures_json,
    pictures_line,
)
from controller.cli.journal_source import UNREADABLE, journal_file, open_journal, report_unreadable
from controller.cli.link import add_journal_options
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    MAX_ROW,
    OK,
    Command,
    add_subcommand,
    say,
    whole_number,
)
from controller.cli.words import counted, effect_lines, wall_date, wall_stamp
from controller.evidence.pictures import Folder
from controller.journal.chain import Row
from controller.journal.contents import CLOSED, EVENTS
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation, check_journal_exists, read_head
from controller.journal.keys import PublicKey
from controller.journal.opening import ACCEPTABLE
from controller.journal.reading import Reader
from controller.journal.recall import RecalledOutcome, recall
from controller.journal.shifts import NOBODY
from controller.journal.verify import Keyring
from controller.model.outcomes import OUTCOME_TYPES
from controller.model.printable import printable
from controller.publish.identity import check_acknowledgements

_JOURNAL_EXAMPLES = (
    "tablectl journal verify",
    "tablectl journal show --journal VIRTUAL/journal --type roll.called",
    "tablectl journal export --from 100 > rows.jsonl",
)


def add_journal_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `journal`."""
    what = parser.add_subparsers(metavar="verify|show|export", required=True)
    verify = add_subcommand(
        what,
        "verify",
        "check every page, row, digest and signature, and the presence of the last rows; list the contents"
        " that no signature authenticates; exit 1: a fault was found",
    )
    verify.set_defaults(handler=_verify)
    head = verify.add_mutually_exclusive_group()
    head.add_argument(
        "--head",
        type=Path,
        metavar="FILE",
        help="the head file, which records the last row (default: beside the journal, else in the folder"
        " DIR-head beside DIR)",
    )
    head.add_argument(
        "--no-head",
        action="store_true",
        help="verify the rows without a head file; missing rows at the end are not detected",
    )
    verify.add_argument(
        "--key",
        type=_public_key,
        metavar="HEX",
        help="the table's public key, which `tablectl keys show table` prints; verify that it is the"
        " journal's current key",
    )
    show = add_subcommand(what, "show", "print rows, one per line")
    show.set_defaults(handler=_show)
    export = add_subcommand(what, "export", "write rows with their evidence as JSON lines")
    export.set_defaults(handler=_export)
    for subparser in (show, export):
        subparser.add_argument(
            "--from",
            type=whole_number(1, MAX_ROW),
            default=1,
            metavar="ROW",
            dest="from_n",
            help="the first row (default: 1)",
        )
        subparser.add_argument(
            "--to",
            type=whole_number(1, MAX_ROW),
            metavar="ROW",
            dest="to_n",
            help="the last row (default: the end)",
        )
        subparser.add_argument(
            "--type",
            action="append",
            default=[],
            metavar="NAME",
            help="only rows of this type; may be repeated",
        )
    for subparser in (verify, export):
        subparser.add_argument(
            "--journal",
            type=Path,
            default=Path(JOURNAL),
            metavar="DIR",
            help=f"the journal's folder or file (default: {JOURNAL})",
        )
    add_journal_options(show)
    for subparser in (verify, show, export):
        subparser.add_argument("--json", action="store_true", help="print JSON")


def _public_key(text: str) -> PublicKey:
    try:
        return PublicKey(bytes.fromhex(text))
    except ValueError:
        expected = "a public key, 64 hexadecimal digits"
        raise argparse.ArgumentTypeError(f"found {text!r}, expected {expected}") from None


def run_journal(arguments: argparse.Namespace) -> int:
    """Run the command.

    Return 1 for a faulty journal or a refusal, 2 for bad input or a missing or inaccessible journal, and 3 if
    no controller responds. `verify` returns 1 for a missing journal that the head file records.
    """
    try:
        code: int = arguments.handler(arguments)
    except UNREADABLE as error:
        return report_unreadable(error)
    return code


def _other_key(key: PublicKey, keyring: Keyring) -> str:
    """Return the reason why the expected key is not the journal's last key."""
    replaced_at = dict(zip((one.raw for one in keyring.keys), keyring.handovers, strict=False)).get(key.raw)
    if replaced_at is None:
        return "this is another table's journal"
    # A replaced key authenticates nothing, because anyone who has it could have written such a journal.
    return (
        f"the expected key was replaced in row {replaced_at}; ask the person who replaced it for the new key"
    )


def _verify(arguments: argparse.Namespace) -> int:
    file = journal_file(arguments.journal)
    head: Path | None = None if arguments.no_head else arguments.head or default_head(file)
    if head is not None and not _journal_exists(JournalLocation(file, head)):
        return FAILED
    key: PublicKey | None = arguments.key
    with Reader(file) as reader:
        try:
            found = reader.verify_all(head=head)
            last_key = reader.key_at(found.last_n + 1)
            keyring = reader.keyring()
            acks = check_acknowledgements(reader.rows(types={CLOSED}))
        except JournalFault as fault:
            say(fault)
            if fault.code == "journal_head_missing":
                say("name the head file with --head, or verify the rows alone with --no-head")
            elif fault.code in ACCEPTABLE:
                say("the existing rows are valid")
            return FAILED
    if key is not None and key.raw != last_key.raw:
        say(f"{file}: found key {last_key.raw.hex()}, expected {key.raw.hex()}; {_other_key(key, keyring)}")
        return FAILED
    if acks.wrong:
        for words in acks.wrong:
            say(f"{file}: {words}")
        return FAILED
    unauthenticated = list(found.unauthenticated)
    if key is None:
        unauthenticated.append(
            f"the table's key {last_key.raw.hex()}, which only the journal itself names; pass the table's"
            " key with --key"
        )
    counts = found._asdict()
    del counts["unauthenticated"]
    fields = {
        **counts,
        "last_link": found.last_link.hex(),
        "unvouched": unauthenticated,
        "table": reader.origin.table,
        "key": last_key.raw.hex(),
        "acknowledgements": {"signed": acks.signed, "unsigned": acks.unsigned, "engine_keys": acks.keys},
    }
    if arguments.json:
        print(msgspec.json.encode({**fields, "head": None if head is None else str(head)}).decode())
    else:
        rows_unsigned = any(words.startswith("rows ") for words in found.unauthenticated)
        print(
            f"{reader.origin.table}: {'in order, but not all signed' if rows_unsigned else 'sound'}:"
            f" {counted(found.rows, 'row')}, {counted(found.outcomes, 'outcome')},"
            f" {counted(found.signatures, 'signature')}, ends at row {found.last_n} with"
            f" {fields['last_link']}"
        )
        if acks.signed:
            signed = counted(acks.signed, "acknowledgement")
            print(f"{signed} signed by the settlement engine: {', '.join(acks.keys)}")
        for words in unauthenticated:
            print(f"not authenticated: {words}")
    return OK


def _journal_exists(place: JournalLocation) -> bool:
    """Print the fault and return False if the head file records a journal that does not exist."""
    try:
        check_journal_exists(place, read_head(place.head))
    except JournalFault as fault:
        if fault.code != "journal_absent":
            raise
        say(fault)
        return False
    return True


def _show(arguments: argparse.Namespace) -> int:
    if _unknown(arguments.type):
        return BAD_INPUT
    with open_journal(arguments) as reader:
        count = 0
        for row in reader.rows(*_selected_rows(arguments)):
            _show_row(row, as_json=arguments.json)
            count += 1
    return _report_if_none(count, arguments)


def _show_row(row: Row, *, as_json: bool) -> None:
    body = None if row.body is None else msgspec.Raw(row.body)
    if as_json:
        fields = {"n": row.n, "name": row.name, "seq": row.seq, "wall": iso(row.wall.us), "body": body}
        print(msgspec.json.encode(fields).decode())
    else:
        quality = "" if row.wall.synced else "?"
        text = "(pruned)" if body is None else bytes(body).decode()
        print(printable(f"{row.n:>8}  {iso(row.wall.us)}{quality}  {row.name:<16} {text}"))


def _export(arguments: argparse.Namespace) -> int:
    if _unknown(arguments.type):
        return BAD_INPUT
    with Reader(journal_file(arguments.journal)) as reader:
        written = reader.export(sys.stdout.buffer, *_selected_rows(arguments))
    sys.stdout.buffer.flush()
    return _report_if_none(written, arguments)


def _selected_rows(arguments: argparse.Namespace) -> tuple[int, int | None, list[str]]:
    return arguments.from_n, arguments.to_n, arguments.type


def _unknown(types: list[str]) -> bool:
    """Print a message and return True if a requested type is unknown."""
    known = {*OUTCOME_TYPES, *EVENTS}
    unknown = next((name for name in types if name not in known), None)
    if unknown is not None:
        say(f"--type: found {unknown!r}, expected one of {', '.join(sorted(known))}")
    return unknown is not None


def _report_if_none(count: int, arguments: argparse.Namespace) -> int:
    """Print a message if no row was found; return OK."""
    if not count:
        upto = "the end" if arguments.to_n is None else f"row {arguments.to_n}"
        of = f" of type {' or '.join(arguments.type)}" if arguments.type else ""
        say(f"no rows{of} from row {arguments.from_n} to {upto}")
    return OK


_RECALL_EXAMPLES = (
    "tablectl recall craps/1/18",
    "tablectl recall craps/1/18 --journal VIRTUAL/journal --json",
)


def add_recall_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `recall`."""
    parser.add_argument("id", metavar="ID", help="the outcome's id: table/session/seq")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_journal_options(parser)
    add_pictures(parser)


def run_recall(arguments: argparse.Namespace) -> int:
    """Recall an outcome.

    Return 1 if the outcome is missing, not validly signed or now judged differently, or if the journal can't
    be read; 2 if there is no journal or the pictures can't be written; 3 if no controller responds.
    """
    try:
        with open_journal(arguments) as journal:
            recalled = recall(journal, arguments.id)
    except UNREADABLE as error:
        return report_unreadable(error)
    folder = Folder(arguments.evidence)
    found = [] if recalled.evidence is None else list(find_pictures(recalled.evidence.readings, folder))
    if arguments.extract is not None and not extract_pictures(found, arguments.extract):
        return BAD_INPUT
    if arguments.json:
        pictures = [pictures_json(one) for one in found]
        print(msgspec.json.encode({**_as_json(recalled), "pictures": pictures}).decode())
    else:
        _show_recalled(recalled)
        for one in found:
            print(printable(f"camera: {pictures_line(one, folder)}"))
    rejudged = recalled.judged_again
    return OK if recalled.signed and (rejudged is None or not rejudged.differences) else FAILED


def _as_json(recalled: RecalledOutcome) -> dict[str, object]:
    row, evidence, rejudged = recalled.row, recalled.evidence, recalled.judged_again
    return {
        "outcome": recalled.outcome,
        "row": row.n,
        "wall": iso(row.wall.us),
        "synchronized": row.wall.synced,
        "chain": row.link.hex(),
        "signed": recalled.signed,
        "after": None if row.after is None else msgspec.Raw(row.after),
        "software": None if recalled.identity is None else recalled.identity.software,
        "config": None if recalled.identity is None else recalled.identity.config,
        "verdict": None if evidence is None else evidence.verdict,
        "readings": () if evidence is None else evidence.readings,
        "ruled_by": recalled.ruled_by,
        "corrections": recalled.corrections,
        "judged_again": None if rejudged is None else {"differences": rejudged.differences},
    }


def _show_recalled(recalled: RecalledOutcome) -> None:
    row, rejudged = recalled.row, recalled.judged_again
    stamp = wall_stamp(row.wall.us, recalled.outcome.t)
    judged = () if recalled.judged is None else (recalled.judged,)
    for effect in (recalled.outcome, *judged, *recalled.corrections):
        for line in effect_lines(effect, explain=True, stamp=stamp):
            print(line)
    if recalled.ruled_by == NOBODY:
        print("no ruling; the next attempt closed it")
    elif recalled.ruled_by:
        print(printable(f"ruled by {recalled.ruled_by}"))
    signed = "signed by the table" if recalled.signed else "NOT signed by the table's key"
    quality = "" if row.wall.synced else ", clock not synchronized"
    print(f"row {row.n}, {wall_date(row.wall.us)}{quality}, {signed}, chain {row.link.hex()}")
    if recalled.identity is not None:
        print(f"recorded by software {recalled.identity.software}")
    if recalled.evidence is None:
        print("not judged again, because the outcome has no evidence of a throw, spin or deal")
    elif rejudged is None:
        print("not judged again, because this version has no judge for the evidence")
    elif rejudged.differences:
        print("judged again, DIFFERENT:", *rejudged.differences, sep="\n  ")
    else:
        print("judged again from its evidence: same result")


COMMANDS = {
    "journal": Command(add_journal_arguments, run_journal, _JOURNAL_EXAMPLES),
    "recall": Command(add_recall_arguments, run_recall, _RECALL_EXAMPLES),
}
