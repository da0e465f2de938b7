"""`tablectl rules` and `settle`: show rule sets, check their pay tables, and settle wagers with them."""

import argparse
import io
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import BinaryIO, TextIO

import msgspec

from controller.cli.screen import Row, aligned, rows_of
from controller.cli.shell import BAD_INPUT, FAILED, OK, Command, add_subcommand, say
from controller.model.rulesets import RuleSet
from controller.replay.source import LogError, input_name, open_input
from controller.rulebook.catalogue import rules
from controller.settings.mistakes import SettingsError, did_you_mean, dotted
from controller.settings.paytables import (
    AcceptedFinding,
    accepted_file,
    check,
    open_book,
    read_accepted,
    write_accepted,
)
from controller.settings.places import config_file, config_names
from controller.settings.rulesets import load_ruleset
from controller.settings.yaml_text import parse_document
from controller.settlement.book import MalformedLine
from controller.settlement.paytable import Chance, Edge, Report, decimal
from controller.settlement.run import settle

EXAMPLES = (
    "tablectl rules show craps-12-034",
    "tablectl rules explain C34-INV-2ii",
    "tablectl rules check roulette",
    "tablectl rules accept roulette 'steep:*' --who 'Ann Lee' --reason 'as the document prints them'",
)

_NAMES = frozenset({"name", "title", "game"})
_UNITS = {"ms": "ms", "s": "s", "mm": "mm", "deg": "degrees", "cents": "cents", "percent": "per cent"}
"""Units in words, by the suffix of a setting's name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_subparsers(metavar="show|explain|check|accept", required=True)
    show = add_subcommand(
        what, "show", "print a rule set's settings, with units and rules, and its pay table"
    )
    show.set_defaults(handler=_show)
    explain = add_subcommand(what, "explain", "print a rule's meaning and its place in the document")
    explain.set_defaults(handler=_explain)
    explain.add_argument("name", metavar="ID", help="the rule's id, such as C34-INV-2ii or !34-15")
    verify = add_subcommand(
        what,
        "check",
        "compare the pay table's exact house edges with the document's; exit 1: a finding is not accepted",
    )
    verify.set_defaults(handler=_check)
    accept = add_subcommand(what, "accept", "accept findings of `check`, with a person's name and a reason")
    accept.set_defaults(handler=_accept)
    for subparser in (show, verify, accept):
        subparser.add_argument("name", metavar="NAME", help="the rule set's name")
    accept.add_argument(
        "findings",
        nargs="+",
        metavar="FINDING",
        help="a finding as `check` names it, or a pattern such as 'steep:*'",
    )
    accept.add_argument("--who", required=True, metavar="PERSON", help="the person who accepts the findings")
    accept.add_argument(
        "--reason", required=True, metavar="WHY", help="the reason for accepting the findings"
    )
    for subparser in (show, explain, verify, accept):
        subparser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 for findings that are not accepted, 2 for bad input."""
    try:
        code: int = arguments.handler(arguments)
    except SettingsError as error:
        say(error)
        return BAD_INPUT
    return code


def _show(arguments: argparse.Namespace) -> int:
    ruleset = load_ruleset(arguments.name)
    paytable = _paytable(ruleset)
    if arguments.json:
        print(msgspec.json.encode({"ruleset": asdict(ruleset), "paytable": paytable}).decode())
        return OK
    print(f"{ruleset.name}: {ruleset.title} ({ruleset.game.replace('_', ' ')})")
    settings = {key: part for key, part in asdict(ruleset).items() if key not in _NAMES and part is not None}
    rules = _rules_by_key(arguments.name)
    rows = ((key, _with_unit_and_rule(key, text, rules)) for key, text in rows_of(settings))
    print("\nrules", *aligned(rows), sep="\n")
    figures = {key: part for key, part in paytable.items() if key not in _NAMES}
    print("\npay table", *aligned(rows_of(figures)), sep="\n")
    return OK


def _rules_by_key(name: str) -> Mapping[str, str]:
    """Return the rule or reason in the comment after each key of a rule set's file."""
    path = config_file("rulesets", name)
    lines = path.read_text(encoding="utf-8").splitlines()
    positions = parse_document(path).positions
    return {
        dotted(key): comment.strip()
        for key, position in positions.items()
        if (comment := lines[position.line - 1].partition(" # ")[2])
    }


def _with_unit_and_rule(key: str, text: str, rules_by_key: Mapping[str, str]) -> str:
    unit = _UNITS.get(key.rpartition("_")[2], "")
    value = f"{text} {unit}".rstrip() if text != "-" else text
    if ".causes." in key:
        return value
    own = "chosen for this product; no rule requires it"
    return f"{value}  [{rules_by_key.get(key, own)}]"


def _explain(arguments: argparse.Namespace) -> int:
    rule = rules().get(arguments.name)
    if rule is None:
        hint = did_you_mean(arguments.name, list(rules()))
        say(f"rules explain: found {arguments.name!r}, expected a rule's id, such as C34-INV-2ii; {hint}")
        return BAD_INPUT
    settings = list(_settings_of(rule.id))
    if arguments.json:
        fields = rule._asdict()
        fields["sense"] = fields.pop("meaning")
        print(msgspec.json.encode({**fields, "settings": settings}).decode())
        return OK
    print(f"{rule.id}: {rule.meaning}")
    print(*aligned([("stated in", rule.place), *settings]), sep="\n")
    return OK


def _settings_of(id_: str) -> Iterator[Row]:
    """Yield the settings and pay table rows that cite a rule, each with its file's name."""
    cites = re.compile(re.escape(id_) + r"(?![0-9a-z])")
    for folder in ("rulesets", "paytables"):
        for name in config_names(folder):
            for line in config_file(folder, name).read_text(encoding="utf-8").splitlines():
                if cites.search(line) and not line.lstrip().startswith("#"):
                    yield name, " ".join(line.partition(" # ")[0].split())


def _check(arguments: argparse.Namespace) -> int:
    report = check(arguments.name)
    found = findings_of(report)
    accepted = {one.finding: one for one in read_accepted(accepted_file(report.ruleset))}
    valid = {id_ for id_, text in found.items() if id_ in accepted and accepted[id_].text == text}
    open_ones = {id_: text for id_, text in found.items() if id_ not in valid}
    if arguments.json:
        fields = {
            **_report_of(report),
            "open": open_ones,
            "accepted": [accepted[id_] for id_ in sorted(valid)],
        }
        print(msgspec.json.encode(fields).decode())
        return FAILED if open_ones else OK
    print(f"{report.ruleset}: {report.title}")
    for heading, rows in (
        ("exact house edges", [(edge.wager, _edge(edge)) for edge in report.edges]),
        ("exact chances", [(chance.event, _chance(chance)) for chance in report.chances]),
        ("findings", list(open_ones.items())),
        ("accepted", [(id_, _acceptance(accepted[id_])) for id_ in sorted(valid)]),
    ):
        if rows:
            print(f"\n{heading}", *aligned(rows), sep="\n")
    if not open_ones:
        print("\nno findings" if not valid else "\nall findings are accepted")
    return FAILED if open_ones else OK


def findings_of(report: Report) -> Mapping[str, str]:
    """Return the text of each finding and misprint, keyed by the name that `accept` expects."""
    wrong = [
        (f"misprint:{_word(row.wager)}", f"exactly {row.per_cent} %, but printed {row.printed}")
        for row in report.edges
        if row.agrees is False
    ]
    wrong += [
        (f"misprint:{_word(row.event)}", f"exactly {row.chance}, but printed {row.printed}")
        for row in report.chances
        if row.agrees is False
    ]
    of_table = [
        (f"{found.code}:{_word(found.wager)}", f"{found.text}  [{found.rule}]") for found in report.findings
    ]
    return dict((*of_table, *wrong))


def _word(wager: str) -> str:
    return wager.replace(", ", ",").replace(" ", "_")


def _acceptance(accepted: AcceptedFinding) -> str:
    return f"{accepted.text}; accepted by {accepted.who} on {accepted.on}: {accepted.reason}"


def _accept(arguments: argparse.Namespace) -> int:
    report = check(arguments.name)
    found = findings_of(report)
    chosen = [id_ for id_ in found if any(fnmatchcase(id_, pattern) for pattern in arguments.findings)]
    missing = [one for one in arguments.findings if not any(fnmatchcase(id_, one) for id_ in found)]
    if missing:
        expected = ", ".join(found) or "(there are none)"
        unknown = ", ".join(map(repr, missing))
        say(f"rules accept: found {unknown}, expected findings of this rule set: {expected}")
        return BAD_INPUT
    path = accepted_file(report.ruleset)
    today = datetime.now(UTC).date().isoformat()
    new = {
        id_: AcceptedFinding(
            finding=id_, text=found[id_], who=arguments.who, reason=arguments.reason, on=today
        )
        for id_ in chosen
    }
    kept = {one.finding: one for one in read_accepted(path)}
    write_accepted(path, tuple({**kept, **new}.values()))
    if arguments.json:
        print(msgspec.json.encode({"accepted": chosen, "file": str(path)}).decode())
    else:
        print(*(f"{id_}: accepted" for id_ in chosen), f"saved in {path}", sep="\n")
    return OK


def _edge(edge: Edge) -> str:
    decided = "" if edge.decided is None else f", {decimal(edge.decided * 100, 4)} % of bets decided"
    return f"{edge.per_cent:>9} %  {edge.edge}{decided}{_printed(edge.printed, agrees=edge.agrees)}"


def _chance(chance: Chance) -> str:
    per_cent = decimal(chance.chance * 100, 4)
    return f"{per_cent:>9} %  {chance.chance}{_printed(chance.printed, agrees=chance.agrees)}"


def _printed(printed: str | None, *, agrees: bool | None) -> str:
    if printed is None:
        return ""
    return f", as printed ({printed})" if agrees else f", but printed {printed}"


def _report_of(report: Report) -> dict[str, object]:
    """Return a report as values for `--json`, with exact figures as text fractions."""
    return {
        "ruleset": report.ruleset,
        "title": report.title,
        "agrees": report.agrees,
        "edges": [
            {
                "wager": edge.wager,
                "edge": str(edge.edge),
                "per_cent": edge.per_cent,
                "decided": None if edge.decided is None else str(edge.decided),
                "printed": edge.printed,
                "agrees": edge.agrees,
            }
            for edge in report.edges
        ],
        "chances": [
            {
                "event": chance.event,
                "chance": str(chance.chance),
                "per_cent": decimal(chance.chance * 100, 4),
                "printed": chance.printed,
                "agrees": chance.agrees,
            }
            for chance in report.chances
        ],
        "findings": [asdict(finding) for finding in report.findings],
    }


def _paytable(ruleset: RuleSet) -> dict[str, object]:
    """Return the contents of a rule set's pay table file; {} if there is none. Raises SettingsError."""
    if ruleset.name not in config_names("paytables"):
        return {}
    document = parse_document(config_file("paytables", ruleset.name))
    if document.mistakes:
        raise SettingsError(document.mistakes)
    return dict(document.value) if isinstance(document.value, dict) else {}


_SETTLE_EXAMPLES = (
    "tablectl settle --rules craps-12-034 WAGERS",
    "tablectl settle --rules roulette < WAGERS > RESULTS",
)


def _add_settle_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rules", required=True, metavar="NAME", help="the rule set to settle with")
    parser.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="wagers and results as JSON Lines (default: standard input)",
    )


def _run_settle(arguments: argparse.Namespace) -> int:
    try:
        source = open_input(arguments.file, "wagers and results as JSON Lines")
    except LogError as error:
        say(error)
        return BAD_INPUT
    wrong = io.StringIO()
    with source as lines:
        code = settle_stream(lines, sys.stdout.buffer, wrong, arguments.rules, input_name(arguments.file))
    if wrong.tell():
        say(wrong.getvalue().rstrip("\n"))
    return code


def settle_stream(source: BinaryIO, out: BinaryIO, err: TextIO, ruleset: str, name: str = "-") -> int:
    """Settle a stream with a named rule set; return the exit code. Messages call the source `name`."""
    try:
        game, answered = open_book(ruleset), False
        for answer in settle(source, game):
            out.write(answer)
            out.flush()
            answered = True
        if not answered:
            err.write(f"{name}: found no bets, so nothing was settled\n")
    except SettingsError as error:
        err.write(f"{error}\n")
        return BAD_INPUT
    except MalformedLine as error:
        err.write(f"{name}: {error}; correct the line and settle the file again from its start\n")
        return BAD_INPUT
    return OK


COMMANDS = {
    "settle": Command(_add_settle_arguments, _run_settle, _SETTLE_EXAMPLES),
}
