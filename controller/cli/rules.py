"""`tablectl rules`: what a rule set says, and whether its pay table is what the document prints."""

import argparse
from dataclasses import asdict

import msgspec

from controller.cli.exits import BAD_INPUT, FAILED, OK, say
from controller.cli.tables import aligned, rows_of
from controller.model.rulesets import RuleSet
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file, config_names
from controller.settings.rulesets import load_ruleset
from controller.settings.yaml_text import parse_document
from controller.settlement.edges import Chance, Edge, Report, decimal
from controller.settlement.run import check

EXAMPLES = (
    "tablectl rules show craps-12-034",
    "tablectl rules check roulette",
)

_NAMES = frozenset({"name", "title", "game"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_subparsers(metavar="show|check", required=True)
    show = what.add_parser("show", help="print the rule set's settings and its pay table")
    show.set_defaults(of_rules=_show)
    verify = what.add_parser(
        "check", help="compare the pay table's exact edges with the document's; exit 1 on findings"
    )
    verify.set_defaults(of_rules=_check)
    for subparser in (show, verify):
        subparser.add_argument("name", metavar="NAME", help="the rule set")
        subparser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Show or check the rule set."""
    try:
        code: int = arguments.of_rules(arguments.name, as_json=arguments.json)
    except SettingsError as error:
        say(error)
        return BAD_INPUT
    return code


def _show(name: str, *, as_json: bool) -> int:
    ruleset = load_ruleset(name)
    paytable = _paytable(ruleset)
    if as_json:
        print(msgspec.json.encode({"ruleset": asdict(ruleset), "paytable": paytable}).decode())
        return OK
    print(f"{ruleset.name}: {ruleset.title} ({ruleset.game.replace('_', ' ')})")
    settings = {key: part for key, part in asdict(ruleset).items() if key not in _NAMES and part is not None}
    print("\nrules", *aligned(rows_of(settings)), sep="\n")
    figures = {key: part for key, part in paytable.items() if key not in _NAMES}
    print("\npay table", *aligned(rows_of(figures)), sep="\n")
    return OK


def _check(name: str, *, as_json: bool) -> int:
    report = check(name)
    if as_json:
        print(msgspec.json.encode(_report_of(report)).decode())
    else:
        print(f"{report.ruleset}: {report.title}")
        for heading, rows in (
            ("exact house edges", [(edge.wager, _edge(edge)) for edge in report.edges]),
            ("exact chances", [(chance.event, _chance(chance)) for chance in report.chances]),
            ("findings", [(found.wager, f"{found.text}  [{found.rule}]") for found in report.findings]),
        ):
            if rows:
                print(f"\n{heading}", *aligned(rows), sep="\n")
        if not report.findings:
            print("\nno findings")
    return OK if report.agrees and not report.findings else FAILED


def _edge(edge: Edge) -> str:
    decided = "" if edge.decided is None else f", {decimal(edge.decided * 100, 4)} % of bets decided"
    return f"{edge.per_cent:>9} %  {edge.edge}{decided}{_printed(edge.printed, agrees=edge.agrees)}"


def _chance(chance: Chance) -> str:
    return f"{chance.chance}{_printed(chance.printed, agrees=chance.agrees)}"


def _printed(printed: str | None, *, agrees: bool | None) -> str:
    if printed is None:
        return ""
    return f", as printed ({printed})" if agrees else f", but printed {printed}"


def _report_of(report: Report) -> dict[str, object]:
    """Give a report as JSON values; exact figures are fractions written as text."""
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
                "printed": chance.printed,
                "agrees": chance.agrees,
            }
            for chance in report.chances
        ],
        "findings": [asdict(finding) for finding in report.findings],
    }


def _paytable(ruleset: RuleSet) -> dict[str, object]:
    """Read the pay table as it is written, {} for a rule set without one."""
    if ruleset.name not in config_names("paytables"):
        return {}
    document = parse_document(config_file("paytables", ruleset.name))
    if document.mistakes:
        raise SettingsError(document.mistakes)
    return dict(document.value) if isinstance(document.value, dict) else {}
