"""`tablectl rules`: what a rule set says, and whether its pay table is what the document prints."""

import argparse
from dataclasses import asdict

import msgspec

from controller.cli.exits import BAD_INPUT, OK, say
from controller.cli.tables import aligned, rows_of
from controller.model.rulesets import RuleSet
from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file, config_names
from controller.settings.rulesets import load_ruleset
from controller.settings.yaml_text import parse_document

_NAMES = frozenset({"name", "title", "game"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_subparsers(metavar="show|check", required=True)
    show = what.add_parser("show", help="print the rule set's settings and its pay table")
    show.set_defaults(of_rules=_show)
    for subparser in (show,):
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


def _paytable(ruleset: RuleSet) -> dict[str, object]:
    """Read the pay table as it is written, {} for a rule set without one."""
    if ruleset.name not in config_names("paytables"):
        return {}
    document = parse_document(config_file("paytables", ruleset.name))
    if document.mistakes:
        raise SettingsError(document.mistakes)
    return dict(document.value) if isinstance(document.value, dict) else {}
