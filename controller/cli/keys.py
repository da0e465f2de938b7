"""`tablectl keys`: show, make, rotate, replace and revoke the product's keys."""

import argparse
import os
from pathlib import Path

from controller.app import keys
from controller.app.clock import system_wall
from controller.app.keys import KeyFault, KeyPlace, Kind, replace_table_key
from controller.app.options import JOURNAL, default_head
from controller.cli.journal_source import journal_file
from controller.cli.shell import BAD_INPUT, FAILED, OK, caller, inaccessible_message, say
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation
from controller.journal.keys import load_key, new_key
from controller.journal.opening import Authorization
from controller.journal.reading import Reader

EXAMPLES = (
    "tablectl keys show table --journal /var/lib/table",
    "tablectl keys make node cam.key",
    "tablectl keys rotate table /etc/table/credentials/table-key --sealed --reason 'yearly'",
    "tablectl keys replace table journal/table.key --journal journal --reason 'the old Pi was stolen'",
    "tablectl keys revoke console screen-2.key --reason 'sold'",
)
KINDS = ("table", "engine", "node", "console", "release")
_NOT_REVOCABLE = {
    "table": "a table's key can't be revoked; to rotate it, run: tablectl keys rotate table FILE",
    "engine": "an engine's key can't be revoked; to replace it, run: tablectl keys replace engine FILE",
}
_HELP = {
    "show": "print public keys and the history of their replacement",
    "make": "create a key in a new file that only its owner can read",
    "rotate": "replace a key with a new key, signed with the old key",
    "replace": "replace a lost key with a new key, on a named person's authority",
    "revoke": "revoke a key without a replacement, and record the revocation in the key's history",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(metavar="|".join(_HELP), required=True, dest="action")
    for name, summary in _HELP.items():
        one = actions.add_parser(name, help=summary, description=summary)
        one.add_argument("kind", choices=KINDS, help="the kind of key")
        one.add_argument(
            "file", type=Path, nargs="?" if name == "show" else None, metavar="FILE", help="the key's file"
        )
        if name in ("show", "rotate", "replace"):
            one.add_argument(
                "--journal",
                type=Path,
                default=Path(JOURNAL),
                metavar="DIR",
                help=f"the journal's folder, for a table's key (default: {JOURNAL})",
            )
        if name in ("rotate", "replace"):
            one.add_argument(
                "--head",
                type=Path,
                metavar="FILE",
                help="the journal's head file (default: beside the journal, else in the folder DIR-head "
                "beside DIR)",
            )
            one.add_argument(
                "--sealed", action="store_true", help="FILE is sealed to this machine by systemd-creds"
            )
        if name in ("rotate", "replace", "revoke"):
            one.add_argument(
                "--who", default=caller(), metavar="NAME", help="the person's name (default: the Unix user)"
            )
            one.add_argument("--reason", required=True, metavar="WORDS", help="the reason, for the history")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 if a key or the journal is faulty, 2 for bad usage or a file error."""
    try:
        if arguments.kind == "table":
            return _of_table(arguments)
        return _of_engine(arguments) if arguments.kind == "engine" else _of_file(arguments)
    except (KeyFault, JournalFault) as fault:
        say(fault)
        return FAILED
    except FileExistsError:
        say(f"{arguments.file} already exists; choose a different name, or rotate the key")
    except OSError as error:
        say(inaccessible_message(error.filename or arguments.file, error))
    return BAD_INPUT


def _of_table(arguments: argparse.Namespace) -> int:
    match arguments.action:
        case "show":
            return _show_tables(arguments)
        case "make":
            print(new_key(arguments.file).raw.hex())
            return OK
        case "revoke":
            say(_NOT_REVOCABLE["table"])
            return BAD_INPUT
    journal = journal_file(arguments.journal)
    replaced, public = replace_table_key(
        JournalLocation(journal, arguments.head or default_head(journal)),
        KeyPlace(file=arguments.file, sealed=arguments.sealed),
        Authorization(by=caller(), who=arguments.who, reason=arguments.reason),
        lost=arguments.action == "replace",
        wall=system_wall,
    )
    print(public)
    say(
        f"{replaced.table}: the new key signs all rows from row {replaced.row + 1} on;"
        " store a copy of the key in a safe"
    )
    say(
        "to enrol the key with the settlement engine, run:"
        f" tablectl settlement enrol {replaced.table} --rules NAME --key {public} --anew"
    )
    return OK


def _show_tables(arguments: argparse.Namespace) -> int:
    if arguments.file is not None:
        print(load_key(arguments.file).public.raw.hex())
        return OK
    with Reader(journal_file(arguments.journal)) as reader:
        keyring = reader.keyring()
    firsts = (1, *(n + 1 for n in keyring.handovers))
    for key, first in zip(keyring.keys, firsts, strict=True):
        print(f"{key.raw.hex()} from row {first}")
    for words in keyring.unsigned_handovers:
        print(f"not authenticated: {words}")
    return OK


def _of_engine(arguments: argparse.Namespace) -> int:
    from controller.settlement_service import key  # noqa: PLC0415 - needs the `settlement` extra
    from controller.settlement_service.faults import SettlementFault  # noqa: PLC0415 - as above

    path: Path | None = arguments.file
    if arguments.action == "revoke" or path is None:
        say(_NOT_REVOCABLE["engine"] if path is not None else "FILE is missing; name the engine key's file")
        return BAD_INPUT
    if arguments.action == "replace" and path.exists():
        raise KeyFault(
            f"{path}: the key exists, but `replace` is for a lost key; move the file elsewhere, or use"
            " `rotate`"
        )
    if arguments.action in ("show", "rotate") and not path.exists():
        raise KeyFault(f"{path}: there is no engine key; run: tablectl keys make engine {path}")
    if arguments.action == "make" and path.exists():
        raise FileExistsError
    try:
        held = key.rotate(path) if arguments.action == "rotate" else key.engine_key(path, {})
    except SettlementFault as fault:
        say(fault)
        return FAILED
    print(held.public)
    if arguments.action == "replace":
        say("set `engine_key` to this key in the tables' files; the tables then accept the key")
    return OK


def _of_file(arguments: argparse.Namespace) -> int:
    kind: Kind = arguments.kind
    path: Path | None = arguments.file
    if path is None:
        say(f"FILE is missing; name the {kind} key's file")
        return BAD_INPUT
    match arguments.action:
        case "make":
            print(keys.make(kind, path))
        case "rotate" | "replace":
            lost = arguments.action == "replace"
            step = keys.rotate(kind, path, who=arguments.who, reason=arguments.reason, lost=lost)
            print(step.new)
        case "revoke":
            step = keys.revoke(kind, path, who=arguments.who, reason=arguments.reason)
            print(f"{step.old} is revoked")
        case _:
            return _show_history(kind, path)
    return OK


def _show_history(kind: Kind, path: Path) -> int:
    for step in keys.history(kind, path):
        change = f"replaced by {step.new}" if step.new else "revoked"
        lost = ", because the old key was lost" if step.lost else ""
        print(f"{step.old or 'an unknown key'} {change}{lost}: {step.who}, {step.reason}")
    if os.path.exists(path):
        print(keys.public_of(kind, path))
    return OK
