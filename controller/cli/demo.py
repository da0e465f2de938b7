"""`tablectl demo`: play games at virtual tables, with a real table's engine and a commentary."""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from controller.cli.commentary import Commentary
from controller.cli.screen import Screen, Style
from controller.cli.shell import BAD_INPUT, FAILED, MAX_ATTEMPTS, MAX_SEED, OK, say, whole_number
from controller.engine.session import Session
from controller.machines.setup import Setup
from controller.model.outcomes import (
    Outcome,
    RollCalled,
    RollNoRoll,
    RollReview,
    SpinCalled,
    SpinNoSpin,
    SpinReview,
)
from controller.model.rulesets import RuleSet
from controller.replay.run import as_json, compare
from controller.settings.mistakes import SettingsError
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, high_roller, three_card, wheel
from drivers.sim.scenes import Disagreement, Feed, Header, Scene, disagreements

EXAMPLES = (
    "tablectl demo",
    "tablectl demo --throws 4 --spins 2 --games 0 --deals 0 --fast",
)

SHOW_S = 20.0
"""Duration of the demonstration on a terminal, in seconds."""
_FRAMES = 5
_ENDS = frozenset(("game.won", "game.void", "deal.called", "deal.void", "deal.review"))
"""Outcomes of card games before which the demonstration pauses."""

_DICE_MIX = {dice.RIGID_BODY: 22.0} | dict.fromkeys(
    (
        "bumped",
        "one_short",
        "bump_and_short",
        "double_hit",
        "off_table",
        "stacked",
        "in_cup",
        "on_bank",
        "staggered",
        "cocked_one_side",
        "cocked_two_sides",
        "unsure_face",
        "camera_down_ruled",
        "box_no_roll_in_hold",
        "box_sets_other_dice",
    ),
    1.0,
)
_WHEEL_MIX = {"valid": 8.0} | dict.fromkeys(
    ("missed_pulses", "hop", "short_spin", "same_direction", "foreign_object", "dealer_no_spin"), 1.0
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--seed",
        type=whole_number(0, MAX_SEED),
        default=41,
        metavar="N",
        help="the seed of the random numbers (default: 41)",
    )
    parser.add_argument(
        "--throws",
        type=whole_number(0, MAX_ATTEMPTS),
        default=16,
        metavar="N",
        help="throws of the dice (default: 16)",
    )
    parser.add_argument(
        "--spins",
        type=whole_number(0, MAX_ATTEMPTS),
        default=6,
        metavar="N",
        help="spins of the wheel (default: 6)",
    )
    parser.add_argument(
        "--games",
        type=whole_number(0, MAX_ATTEMPTS),
        default=1,
        metavar="N",
        help="games of High Roller (default: 1)",
    )
    parser.add_argument(
        "--deals",
        type=whole_number(0, MAX_ATTEMPTS),
        default=4,
        metavar="N",
        help="deals of Three Card Poker (default: 4)",
    )
    parser.add_argument("--fast", action="store_true", help="do not pause between the calls")


def run(arguments: argparse.Namespace) -> int:
    """Show the demonstration on standard output; return 1 if a call differs from the ground truth."""
    return play(arguments, Screen(sys.stdout), time.sleep)


def play(arguments: argparse.Namespace, screen: Screen, sleep: Callable[[float], None]) -> int:
    """Show the demonstration on a screen; `sleep` pauses between the calls on a terminal."""
    attempts = arguments.throws + arguments.spins + arguments.games + arguments.deals
    paced = screen.terminal and not arguments.fast and attempts
    show = _Show(screen, sleep, SHOW_S / attempts if paced else 0.0)
    wrong: list[Disagreement] = []
    try:
        if arguments.throws:
            wrong += show.dice_or_wheel(*dice.simulate(arguments.seed, _DICE_MIX, arguments.throws))
        if arguments.spins:
            spins = wheel.simulate(arguments.seed, _WHEEL_MIX, arguments.spins, wheel=wheel.AMERICAN)
            wrong += show.dice_or_wheel(*spins)
        if arguments.games:
            show.cards(*high_roller.simulate(arguments.seed, arguments.games))
        if arguments.deals:
            show.cards(*three_card.simulate(arguments.seed, n=arguments.deals))
    except SettingsError as error:
        say(error)
        return BAD_INPUT
    show.summary(attempts, wrong)
    if attempts:
        screen.lines(_next_steps(screen, Path.cwd()))
    return FAILED if wrong or show.differences else OK


class _Show:
    """Plays at virtual tables, writes the commentary, and compares outcomes with the ground truth."""

    def __init__(self, screen: Screen, sleep: Callable[[float], None], pause_s: float) -> None:
        self._screen = screen
        self._commentary = Commentary(screen)
        self._sleep = sleep
        self._pause_s = pause_s
        self._readings = 0
        self.differences: list[str] = []
        """Differences between the card games' outcomes and the ground truth."""

    def cards(self, header: Header, feed: Feed, ground_truth: list[dict[str, object]]) -> None:
        outcomes = self._replay_outcomes(header, feed)
        difference = compare([as_json(outcome) for outcome in outcomes], ground_truth)
        if difference is not None:
            self.differences.append(f"{load_ruleset(header.ruleset).title}: {difference}")

    def dice_or_wheel(self, header: Header, feed: Feed, scenes: Sequence[Scene]) -> list[Disagreement]:
        """Play at a dice or roulette table; return the differences from the ground truth."""
        return disagreements(scenes, self._replay_outcomes(header, feed))

    def _replay_outcomes(self, header: Header, feed: Feed) -> list[Outcome]:
        rules = load_ruleset(header.ruleset)
        self._screen.line(self._screen.styled(rules.title, "bold"))
        self._screen.line()
        outcomes: list[Outcome] = []
        for outcome in _outcomes(header, rules, feed):
            outcomes.append(outcome)
            self._await(outcome)
            self._commentary.write(outcome)
        self._readings += len(feed)
        self._screen.line()
        return outcomes

    def summary(self, attempts: int, wrong: Sequence[Disagreement]) -> None:
        agreed = attempts - len({(each.scene.kind, each.attempt) for each in wrong}) - len(self.differences)
        style: Style = "green" if agreed == attempts else "red"
        agree = f"{agreed} of {attempts} calls are correct"
        line = f"{agree} ({self._readings:,} readings)"
        self._screen.lines(self._screen.wrapped(line, 0, style))
        for each in wrong:
            self._screen.line(f"  #{each.attempt} {each.scene.kind}: {each.fault}, {each.told}")
        for difference in self.differences:
            self._screen.line(f"  {difference}")

    def _await(self, outcome: Outcome) -> None:
        """Pause before a call, and show the dice or the ball in motion."""
        match outcome.data:
            case _ if not self._pause_s:
                pass
            case RollCalled(roll=attempt) | RollNoRoll(roll=attempt) | RollReview(roll=attempt):
                self._roll_dice(attempt)
            case SpinCalled() | SpinNoSpin() | SpinReview():
                self._screen.draft("       the ball circles…")
                self._sleep(self._pause_s)
            case _ if outcome.type in _ENDS:
                self._sleep(self._pause_s)

    def _roll_dice(self, attempt: int) -> None:
        for frame in range(_FRAMES):
            faces = ((attempt + 2 * frame) % 6 + 1, (attempt * 3 + frame) % 6 + 1)
            self._screen.draft(f"  {attempt:>3}  {self._commentary.dice(faces)}")
            self._sleep(self._pause_s / _FRAMES)


def _next_steps(screen: Screen, folder: Path) -> Iterator[str]:
    """Yield commands to try next; each can be pasted into a new shell."""
    checkout = (folder / "Makefile").exists() and (folder / ".venv").exists()
    change_folder = f"cd {shlex.quote(str(folder))} && " if checkout else ""
    tablectl = f"{change_folder}.venv/bin/tablectl" if checkout else "tablectl"
    steps = [
        *(
            [
                (
                    "install the libraries for the journal, the device links and the screens (once)",
                    f"{change_folder}make tools",
                )
            ]
            if checkout
            else []
        ),
        ("practise at a virtual table", f"{tablectl} simulate craps --staff me --dir {_VIRTUAL}"),
        (
            f"meanwhile, show the players' display at {_PAGE}",
            f"{tablectl} console --socket {_VIRTUAL}/control.sock",
        ),
        ("follow the table's state", f"{tablectl} status --follow --socket {_VIRTUAL}/control.sock"),
    ]
    if checkout:
        steps.append(("see how a No Roll was judged, with a drawing", f"{tablectl} explain '{_A_NO_ROLL}'"))
    yield ""
    yield screen.styled("Try next", "bold")
    for what, command in steps:
        yield from screen.wrapped(f"  {what}:", 4)
        yield f"    {command}"


_VIRTUAL = "/tmp/table"  # noqa: S108 - only a suggestion; a folder in use is refused
_PAGE = "http://127.0.0.1:8321/display"
_A_NO_ROLL = "tests/logs/craps-12-034-voids.jsonl.gz#3"


def _outcomes(header: Header, rules: RuleSet, feed: Feed) -> Iterator[Outcome]:
    session = Session(
        Setup(
            table=header.table,
            ruleset=rules,
            dice_table=header.dice_table or None,
            wheel=header.wheel or None,
        )
    )
    for arrived_us, reading in feed:
        for effect in session.feed(msgspec.structs.replace(reading, arrived=arrived_us)):
            if isinstance(effect, Outcome):
                yield effect
    for effect in session.finish():
        if isinstance(effect, Outcome):
            yield effect
