"""`tablectl replay`: every outcome that a recorded sensor log gives."""

import argparse
import sys
from dataclasses import dataclass, field

import msgspec

from controller.cli.exits import BAD_INPUT, FAILED, OK, say
from controller.cli.words import lines_of
from controller.engine.games import SetupError
from controller.model.effects import Late
from controller.model.outcomes import Outcome
from controller.replay.compare import Json, as_json, compare, read_expected
from controller.replay.errors import LogError
from controller.replay.log import Log, open_log
from controller.replay.run import replay, setup_of
from controller.settings.mistakes import SettingsError
from controller.settings.places import is_path
from controller.settings.rulesets import load_ruleset

_NAMED = 10
"""Of the unknown kinds and fields so many are named, the most frequent ones."""
_CLEAR_LINE = "\r\x1b[K"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("log", metavar="LOG", help="a recorded log, plain or gzip; - for standard input")
    parser.add_argument("--rules", metavar="NAME", help="judge by this rule set instead of the log's own")
    parser.add_argument(
        "--calls", choices=("automatic", "confirm"), help="who calls, instead of the log's word"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object an outcome")
    form.add_argument("--explain", action="store_true", help="print the reasons and readings behind each")
    parser.add_argument("--check", metavar="EXPECTED", help="compare with these outcomes (JSON Lines)")
    parser.add_argument("--lenient", action="store_true", help="skip and count lines that are no readings")


def run(arguments: argparse.Namespace) -> int:
    """Replay the log, print its outcomes and compare them where asked; a bad log prints none."""
    try:
        expected = read_expected(arguments.check) if arguments.check else None
        with open_log(arguments.log, lenient=arguments.lenient) as log:
            told = _replay(log, arguments)
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    # Bytes, so that the same log gives the same output under any locale.
    sys.stdout.buffer.write("".join(line + "\n" for line in told.lines).encode())
    sys.stdout.buffer.flush()
    _report(log, told.late)
    return OK if expected is None else _check(told.outcomes, expected, arguments.check)


@dataclass(slots=True)
class _Told:
    """What a replay gave: lines to print, outcomes to compare."""

    lines: list[str] = field(default_factory=list)
    outcomes: list[Json] = field(default_factory=list)
    late: int = 0


def _replay(log: Log, arguments: argparse.Namespace) -> _Told:
    setup = setup_of(log.header, load_ruleset(_ruleset(log, arguments.rules)), log.name, arguments.calls)
    told = _Told()
    watched = sys.stderr.isatty()
    for effect in replay(log, setup, _progress if watched else None):
        told.late += isinstance(effect, Late)
        if not arguments.json:
            told.lines += lines_of(effect, explain=arguments.explain)
        if isinstance(effect, Outcome):
            if arguments.json:
                told.lines.append(msgspec.json.encode(effect).decode())
            if arguments.check:
                told.outcomes.append(as_json(effect))
    if watched:
        print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)
    return told


def _ruleset(log: Log, override: str | None) -> str:
    """Choose the rule set's name; a log may name only a shipped or configured one, never a file."""
    if override:
        return override
    name = log.header.ruleset
    if not name or is_path(name):
        found = f"`ruleset` {name!r} in the header" if name else "a header without `ruleset`"
        raise LogError(log.name, found, "a rule set's name", "name one with --rules", line=1)
    return name


def _progress(lines: int) -> None:
    print(f"\r{lines:,} lines read", end="", file=sys.stderr, flush=True)


def _report(log: Log, late: int) -> None:
    if log.truncated:
        say(f"{log.name}: truncated, the log is cut off after line {log.lines}; replayed up to the cut")
    if log.unknown:
        named = ", ".join(f"{name} x{count}" for name, count in log.unknown.most_common(_NAMED))
        more = f" and {len(log.unknown) - _NAMED} more" if len(log.unknown) > _NAMED else ""
        say(f"{log.name}: ignored {sum(log.unknown.values())} unknown: {named}{more}")
    if log.skipped:
        say(f"{log.name}: skipped {log.skipped} bad lines, the first: {log.first_skipped}")
    if late:
        say(f"{log.name}: {late} readings came too late to count; --explain shows them")


def _check(outcomes: list[Json], expected: list[Json], name: str) -> int:
    difference = compare(outcomes, expected)
    if difference is not None:
        say(f"{name}: {difference}")
        return FAILED
    say(f"{name}: all {len(expected)} expected outcomes match")
    return OK
