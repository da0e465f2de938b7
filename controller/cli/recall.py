"""`tablectl recall`: one past outcome, all that stands behind it, and whether the judge still says so."""

import argparse

import msgspec

from controller.app.clock import iso
from controller.cli.exits import BAD_INPUT, FAILED, OK, printable, say
from controller.cli.link import OutOfReachError, RefusedError, add_kept, out_of_reach
from controller.cli.past import open_journal
from controller.cli.words import lines_of
from controller.journal.faults import JournalFault
from controller.journal.recall import Recalled, recall

EXAMPLES = (
    "tablectl recall craps/1/18",
    "tablectl recall craps/1/18 --journal VIRTUAL/journal --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("id", metavar="ID", help="the outcome's id: table/session/seq")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_kept(parser)


def run(arguments: argparse.Namespace) -> int:
    """Recall it; 2 without a journal, 1 where it has none, a wrong signature or a judge of another mind."""
    try:
        with open_journal(arguments) as journal:
            recalled = recall(journal, arguments.id)
    except OutOfReachError as error:
        return out_of_reach(error)
    except RefusedError as error:
        say(error)
        return FAILED
    except JournalFault as fault:
        say(fault)
        return BAD_INPUT if fault.code == "journal_absent" else FAILED
    if arguments.json:
        print(msgspec.json.encode(_told(recalled)).decode())
    else:
        _show(recalled)
    again = recalled.judged_again
    return OK if recalled.signed and (again is None or not again.differences) else FAILED


def _told(recalled: Recalled) -> dict[str, object]:
    row, evidence, again = recalled.row, recalled.evidence, recalled.judged_again
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
        "judged_again": None if again is None else {"differences": again.differences},
    }


def _show(recalled: Recalled) -> None:
    row, again = recalled.row, recalled.judged_again
    for line in lines_of(recalled.outcome, explain=True):
        print(line)
    if recalled.judged is not None:
        for line in lines_of(recalled.judged, explain=True):
            print(line)
    for correction in recalled.corrections:
        for line in lines_of(correction, explain=True):
            print(line)
    if recalled.ruled_by:
        print(printable(f"ruled by {recalled.ruled_by}"))
    signed = "signed by the table" if recalled.signed else "NOT signed by the table's key"
    quality = "" if row.wall.synced else ", clock not synchronized"
    print(f"row {row.n} of {iso(row.wall.us)}{quality}, {signed}, chain {row.link.hex()}")
    if recalled.identity is not None:
        print(f"by {recalled.identity.software}")
    if again is None:
        print("not judged again: no evidence that a judge takes")
    elif again.differences:
        print("judged again, DIFFERENT:", *again.differences, sep="\n  ")
    else:
        print("judged again from its evidence: the same")
