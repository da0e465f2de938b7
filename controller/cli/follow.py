"""A look at the running table, printed once, or followed until Ctrl-C."""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from controller.cli.link import OutOfReachError, out_of_reach
from controller.cli.screen import Entry, Screen
from controller.cli.shell import FAILED, say

EVERY_S = 1.0
"""How often a page is drawn anew: as often as its figures change."""


class NothingSeenError(Exception):
    """There is no such thing at this table; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: the exit code, the JSON lines, and the lines for people."""

    code: int
    told: Sequence[object]
    shown: Callable[[Screen], list[str]]


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Declare that a page can be followed."""
    parser.add_argument(
        "-f", "--follow", action="store_true", help=f"redraw every {EVERY_S:g} s, until Ctrl-C"
    )


def look(
    arguments: argparse.Namespace,
    screen: Screen,
    seen: Callable[[], Look],
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Print what is seen, again and again with --follow; return the exit code of the last look."""
    try:
        found = seen()
    except OutOfReachError as error:
        return out_of_reach(error)
    except NothingSeenError as error:
        say(error)
        return FAILED
    if not arguments.follow:
        _print(arguments, screen, found)
        return found.code
    return _follow(arguments, screen, seen, sleep)


def _follow(
    arguments: argparse.Namespace, screen: Screen, seen: Callable[[], Look], sleep: Callable[[float], None]
) -> int:
    """Draw pages until a signal ends it; a controller that is away for a while is told on the page."""
    before: list[str] = []
    if not arguments.json:
        screen.clear()
    while True:
        try:
            found = seen()
            lines = [] if arguments.json else found.shown(screen)
        except (OutOfReachError, NothingSeenError) as error:
            found, lines = Look(FAILED, (), lambda _: []), screen.entry(Entry("", str(error), "red"))
        if arguments.json:
            _print(arguments, screen, found)
        elif screen.cursor or lines != before:
            screen.page(lines, first=not before)
            before = lines
        sleep(EVERY_S)


def _print(arguments: argparse.Namespace, screen: Screen, found: Look) -> None:
    if not arguments.json:
        screen.lines(found.shown(screen))
        return
    for one in found.told:
        print(msgspec.json.encode(one).decode(), flush=arguments.follow)
