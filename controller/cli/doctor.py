"""`tablectl doctor`: check the machine, the table and the controller, and print findings and remedies."""

import argparse
import grp
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from controller.app.clock import iso, system_wall
from controller.app.options import JOURNAL, JOURNAL_FILE, Options, default_head
from controller.app.release import TRUSTED_FILE
from controller.cli.link import SOCKET, SOCKET_VARIABLE, Json, OutOfReachError, ask
from controller.cli.screen import Entry, Screen, Style
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    atomic_file,
    caller,
    say,
    unwritable_message,
)
from controller.cli.words import counted
from controller.model.printable import printable
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file
from controller.technician import bundle, machine_checks, table_checks
from controller.technician.bundle import known_log_lines
from controller.technician.machine_checks import Finding, Machine, State

EXAMPLES = (
    "tablectl doctor",
    "tablectl doctor roulette --json",
    "tablectl doctor craps --bundle support.tar.gz",
)
TABLE = "/etc/table/table.yaml"
LOG_LINES = 500
BUNDLED_ROWS = 50
_CALL_S = 10.0
_MARKS: Mapping[State, tuple[str, Style]] = {
    "ok": ("ok", "green"),
    "warning": ("warning", "yellow"),
    "fault": ("FAULT", "red"),
    "unchecked": ("-", "dim"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "table",
        nargs="?",
        metavar="TABLE",
        help=f"the table's name or file (default: the running controller's, else {TABLE} if it exists)",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help=f"the folder of the journal and the recordings (default: the controller's, else {JOURNAL})",
    )
    parser.add_argument("--head", type=Path, metavar="FILE", help="the journal's head file")
    parser.add_argument(
        "--socket",
        default=os.environ.get(SOCKET_VARIABLE, SOCKET),
        metavar="PATH",
        help=f"the controller's control socket (default: ${SOCKET_VARIABLE}, else {SOCKET})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="FILE.tar.gz",
        help="write an archive for support: this report, versions, settings without secrets, status, the"
        " newest rows of the journal without contents, and the services' logs",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run all checks; return 1 for a fault or a warning, 2 if the archive can't be written."""
    machine = Machine(Path("/"), _call)
    status, why = status_at(arguments.socket)
    running: Json = status or {}
    installed = TABLE if Path(TABLE).exists() else ""
    name = str(arguments.table or running.get("file", installed)) or None
    if arguments.journal is None:
        arguments.journal = Path(str(running.get("journal_folder", JOURNAL)))
    findings = list(_findings(arguments, machine, name, status, why))
    if arguments.bundle is not None:
        try:
            with atomic_file(arguments.bundle, mode=0o600) as stream:
                members = _members(arguments, machine, name, status, findings)
                bundle.pack(stream, members)
        except OSError as error:
            say(unwritable_message(arguments.bundle, error))
            return BAD_INPUT
    if arguments.json:
        for finding in findings:
            print(msgspec.json.encode(finding).decode())
    else:
        _show(findings)
    if arguments.bundle is not None:
        say(f"{arguments.bundle}: packed {', '.join(members)}; keys, passwords and tokens are left out")
    return FAILED if any(found.state in {"fault", "warning"} for found in findings) else OK


def _findings(
    arguments: argparse.Namespace, machine: Machine, name: str | None, status: Json | None, why: str
) -> Iterator[Finding]:
    options = Options(
        table=name or "",
        journal=arguments.journal,
        socket=Path(arguments.socket),
        head=arguments.head or default_head(arguments.journal / JOURNAL_FILE),
    )
    settings, loaded = (None, []) if name is None else table_checks.load(name)
    yield machine_checks.python()
    yield machine_checks.sqlite()
    yield machine_checks.release(Path(TRUSTED_FILE))
    yield from machine_checks.extras(table_checks.extras_of(settings))
    yield machine_checks.clock(synchronized=system_wall().synced)
    yield machine_checks.power(machine)
    yield machine_checks.watchdog(machine)
    yield from machine_checks.disk(arguments.journal)
    if name is None:
        yield Finding(
            "unchecked",
            table_checks.TABLE_FILE,
            f"not found at {TABLE}; name the table: tablectl doctor TABLE",
        )
    yield from loaded
    yield from table_checks.same_file(name, status)
    if settings is not None:
        yield from table_checks.ports(settings, machine.root)
        yield from table_checks.broker(settings.publish)
    yield from table_checks.journal_folder(options, os.environ)
    yield machine_checks.caller(caller(), os.geteuid(), {os.getegid(), *os.getgroups()}, grp.getgrall())
    yield from machine_checks.controller(status, why)
    yield from machine_checks.units(machine)
    yield from machine_checks.screens(machine)
    yield from machine_checks.pictures(machine, system_wall().us / 1e6)


def status_at(path: str) -> tuple[Json | None, str]:
    """Return the running controller's status, or None and the reason."""
    try:
        answer = ask(path, {"do": "status"}).get("status")
    except (OutOfReachError, OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        return None, str(error)
    return (
        (answer, "")
        if isinstance(answer, dict)
        else (None, f"{path}: found an answer without a status, expected a controller's status")
    )


def _call(words: Sequence[str]) -> str | None:
    try:
        ended = subprocess.run(  # noqa: S603 - the commands are constants of this program
            words, capture_output=True, text=True, errors="replace", timeout=_CALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None


def _show(findings: Sequence[Finding]) -> None:
    screen = Screen(sys.stdout)
    width = max(len(found.about) for found in findings)
    for found in findings:
        mark, style = _MARKS[found.state]
        lead = f"{mark:<7}  {printable(found.about):<{width}}  "
        first, *others = screen.entry(Entry(lead, found.says))
        screen.line(first.replace(mark, screen.styled(mark, style), 1))
        screen.lines(others)
        if found.remedy and found.state != "ok":
            screen.lines(screen.entry(Entry(" " * len(lead), f"-> {found.remedy}", "bold")))
    counts = {state: sum(found.state == state for found in findings) for state in _MARKS}
    screen.line()
    style = "red" if counts["fault"] else "yellow" if counts["warning"] else "green"
    summary = (
        f"{counts['ok']} ok, {counted(counts['fault'], 'fault')}, {counted(counts['warning'], 'warning')},"
        f" {counts['unchecked']} not checked"
    )
    screen.line(screen.styled(summary, style))


def _members(
    arguments: argparse.Namespace,
    machine: Machine,
    name: str | None,
    status: Json | None,
    findings: Sequence[Finding],
) -> dict[str, str]:
    """Return the archive's files by name.

    If the table's file or the journal can't be read, the reason takes the place of its contents. If the
    status or a log is unavailable, its file is omitted.
    """
    quiet = None if status is None else bundle.status_without_free_text(status)
    assert quiet is None or isinstance(quiet, dict)
    members = {
        "doctor.jsonl": "".join(
            f"{_as_clean_json(found)}\n" for found in _without_free_text(findings, status, quiet)
        ),
        "versions.txt": "".join(f"{one}\n" for one in bundle.versions()),
    }
    if name is not None:
        members["table.yaml"] = _settings(name)
    if status is not None:
        members["status.json"] = msgspec.json.encode(quiet).decode() + "\n"
    members["journal.jsonl"] = _newest_rows(arguments.journal)
    names = set() if name is None else table_checks.names_in(name)
    for unit in machine_checks.UNITS:
        output = machine.call(
            ("journalctl", "-u", unit, "-n", str(LOG_LINES), "--no-pager", "-o", "short-iso")
        )
        if output and not output.startswith("-- No entries"):
            members[f"{unit}.log"] = known_log_lines(output, names)
    return members


def _without_free_text(
    findings: Sequence[Finding], status: Json | None, quiet: Json | None
) -> Iterator[Finding]:
    """Yield the findings without the status's free text or values from the table's file.

    Either might contain a secret.
    """
    of_status = set() if status is None else set(machine_checks.controller(status, ""))
    for found in findings:
        if found.about == table_checks.TABLE_FILE:
            yield replace(found, says=bundle.without_found_value(found.says))
        elif found not in of_status:
            yield found
    if quiet is not None:
        yield from machine_checks.controller(quiet, "")


def _as_clean_json(found: Finding) -> str:
    return msgspec.json.encode(bundle.without_secrets(msgspec.to_builtins(found))).decode()


def _settings(name: str) -> str:
    from controller.app.schemas import schemas  # noqa: PLC0415 - slow to import, and only an archive needs it

    try:
        words = bundle.SettingsKeys.of(schemas()["table.schema.json"])
        text = config_file("tables", name).read_text(encoding="utf-8")
        return bundle.settings_without_secrets(text, words, table_checks.mistaken_in(name))
    except (OSError, ValueError, SettingsError) as error:
        return f"{bundle.LEFT_OUT}: {error}\n"


def _newest_rows(folder: Path) -> str:
    """Return the newest rows of the journal as JSON lines, without their contents."""
    try:
        from controller.journal.faults import JournalFault  # noqa: PLC0415 - optional dependency
        from controller.journal.reading import Reader  # noqa: PLC0415 - as above
    except ImportError:
        return f"{bundle.LEFT_OUT}: needs the `journal` extra\n"
    try:
        with Reader(folder / "journal.db") as reader:
            rows = deque(reader.rows(), maxlen=BUNDLED_ROWS)
    except (JournalFault, OSError) as fault:
        return f"{bundle.LEFT_OUT}: {fault}\n"
    newest = (
        {"n": r.n, "name": r.name, "seq": r.seq, "wall": iso(r.wall.us), "link": r.link.hex()} for r in rows
    )
    return "".join(f"{msgspec.json.encode(one).decode()}\n" for one in newest)
