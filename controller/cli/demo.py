"""`tablectl demo`: an evening at virtual tables, played through the same engine as at real ones."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from controller.cli.screen import Screen, Style
from controller.cli.shell import BAD_INPUT, FAILED, MANY, OK, SEEDS, say, whole
from controller.cli.words import call_in_words, in_words, puck_in_words
from controller.engine.session import Session
from controller.machines.setup import Setup
from controller.model.outcomes import (
    Bets,
    Data,
    Happening,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
)
from controller.model.rulesets import RuleSet
from controller.model.verdicts import Notice, Reason
from controller.replay.compare import as_json, compare
from controller.settings.mistakes import SettingsError
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, high_roller, three_card, wheel
from drivers.sim.referee import Disagreement, disagreements
from drivers.sim.scenes import Feed, Header, Scene

EXAMPLES = (
    "tablectl demo",
    "tablectl demo --throws 4 --spins 2 --games 0 --deals 0 --fast",
)

SHOW_S = 20.0
"""How long the whole show takes on a terminal."""
_FRAMES = 5
_ENDS = frozenset(("game.won", "game.void", "deal.called", "deal.void", "deal.review"))
"""What the audience of a card game waits for."""
_NEEDLESS = frozenset(("unknown_input", "no_change"))
"""Refusals not worth a line."""

_DICE_MIX = {dice.THROWN: 22.0} | dict.fromkeys(
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
        "--seed", type=whole(0, SEEDS), default=292, metavar="N", help="which evening (default: 292)"
    )
    parser.add_argument(
        "--throws", type=whole(0, MANY), default=16, metavar="N", help="throws of the dice (default: 16)"
    )
    parser.add_argument(
        "--spins", type=whole(0, MANY), default=6, metavar="N", help="spins of the wheel (default: 6)"
    )
    parser.add_argument(
        "--games", type=whole(0, MANY), default=1, metavar="N", help="games of High Roller (default: 1)"
    )
    parser.add_argument(
        "--deals", type=whole(0, MANY), default=4, metavar="N", help="deals of Three Card Poker (default: 4)"
    )
    parser.add_argument("--fast", action="store_true", help="do not pause between the calls")


def run(arguments: argparse.Namespace) -> int:
    """Play the evening on standard output; 0 when every call agreed with what happened, else 1."""
    return play(arguments, Screen(sys.stdout), time.sleep)


def play(arguments: argparse.Namespace, screen: Screen, sleep: Callable[[float], None]) -> int:
    """Play the evening on a screen, pausing by `sleep` where the screen is a terminal."""
    attempts = arguments.throws + arguments.spins + arguments.games + arguments.deals
    paced = screen.terminal and not arguments.fast and attempts
    show = _Show(screen, sleep, SHOW_S / attempts if paced else 0.0)
    wrong: list[Disagreement] = []
    try:
        if arguments.throws:
            evening = dice.evening(arguments.seed, _DICE_MIX, arguments.throws)
            wrong += show.evening(*evening)
        if arguments.spins:
            evening = wheel.evening(arguments.seed, _WHEEL_MIX, arguments.spins, wheel=wheel.AMERICAN)
            wrong += show.evening(*evening)
        if arguments.games:
            show.cards(*high_roller.evening(arguments.seed, arguments.games))
        if arguments.deals:
            show.cards(*three_card.evening(arguments.seed, n=arguments.deals))
    except SettingsError as error:
        say(error)
        return BAD_INPUT
    show.summary(attempts, wrong)
    return FAILED if wrong or show.differences else OK


class _Show:
    """Tells what a session publishes, line by line."""

    def __init__(self, screen: Screen, sleep: Callable[[float], None], pause_s: float) -> None:
        self._screen = screen
        self._sleep = sleep
        self._pause_s = pause_s
        self._closed_us = 0
        self._scenes: Sequence[Scene] = ()
        self._readings = 0
        self.differences: list[str] = []
        """Where a card game's outcomes and the simulator's truth part."""

    def cards(self, header: Header, feed: Feed, truth: list[dict[str, object]]) -> None:
        """Play a card table's evening."""
        rules = load_ruleset(header.ruleset)
        self._screen.line(self._screen.styled(rules.title, "bold"))
        self._screen.line()
        told: list[Outcome] = []
        for outcome in _outcomes(header, rules, feed):
            told.append(outcome)
            if outcome.type in _ENDS and self._pause_s:
                self._sleep(self._pause_s)
            if not outcome.type.startswith("bets."):
                self._screen.line(f"  {_plain(outcome.type):<17} {in_words(outcome)}")
        self._readings += len(feed)
        self._screen.line()
        difference = compare([as_json(outcome) for outcome in told], truth)
        if difference is not None:
            self.differences.append(f"{rules.title}: {difference}")

    def evening(self, header: Header, feed: Feed, scenes: Sequence[Scene]) -> list[Disagreement]:
        """Play one table's evening; return where its outcomes and the simulator's truth part."""
        rules = load_ruleset(header.ruleset)
        self._screen.line(self._screen.styled(rules.title, "bold"))
        self._screen.line()
        self._scenes = scenes
        told: list[Outcome] = []
        for outcome in _outcomes(header, rules, feed):
            told.append(outcome)
            self._tell(outcome)
        self._readings += len(feed)
        self._screen.line()
        return disagreements(scenes, told)

    def summary(self, attempts: int, wrong: Sequence[Disagreement]) -> None:
        """Print a summary of the evening."""
        agreed = attempts - len({(each.scene.kind, each.attempt) for each in wrong}) - len(self.differences)
        style: Style = "green" if agreed == attempts else "red"
        line = f"{agreed} of {attempts} calls agree with what happened on the tables"
        self._screen.line(self._screen.styled(line, style) + f" — from {self._readings:,} sensor readings")
        for each in wrong:
            self._screen.line(f"  #{each.attempt} {each.scene.kind}: {each.fault}, {each.told}")
        for difference in self.differences:
            self._screen.line(f"  {difference}")

    def _tell(self, outcome: Outcome) -> None:
        match outcome.data:
            case RollCalled() as roll:
                self._roll_dice(roll.roll)
                self._call(
                    roll.roll, self._pair(roll.dice), call_in_words(roll), puck_in_words(roll.point_after)
                )
                self._aside(*(notice.seen for notice in roll.notices))
                if roll.grade == "person":
                    self._aside(f"set by the {roll.by}")
            case RollNoRoll() as roll:
                self._void("No Roll", roll.roll, roll.reasons)
            case RollReview() as roll:
                self._roll_dice(roll.roll)
                self._call(roll.roll, "", self._screen.styled("Review: the boxperson rules", "yellow"), "")
                self._reasons(roll.reasons)
            case RollCorrected() as roll:
                words = call_in_words(roll) if roll.dice else "No Roll"
                self._call(
                    roll.roll,
                    self._pair(roll.dice) if roll.dice else "",
                    self._screen.styled(f"Corrected by the {roll.by}: {words}", "yellow"),
                    puck_in_words(roll.point_after) if roll.dice else "",
                )
            case SpinCalled() | SpinNoSpin() | SpinReview() | SpinCorrected() as spin:
                self._tell_spin(spin)
            case other:
                self._tell_between(outcome, other)

    def _tell_spin(self, spin: SpinCalled | SpinNoSpin | SpinReview | SpinCorrected) -> None:
        match spin:
            case SpinCalled():
                self._wait()
                style: Style = "bold" if spin.colour == "black" else spin.colour
                shown = self._screen.styled(f"{spin.number:>2} {spin.colour:<5}", style)
                self._call(spin.spin, shown, ", ".join(self._run_of(spin)), "")
                self._aside(*(notice.seen for notice in spin.notices))
            case SpinNoSpin():
                self._void("No Spin", spin.spin, spin.reasons)
            case SpinReview():
                self._wait()
                self._call(spin.spin, "", self._screen.styled("Review: the dealer rules", "yellow"), "")
                self._reasons(spin.reasons)
            case SpinCorrected():
                words = f"{spin.number} {spin.colour}" if spin.number else "No Spin"
                self._call(spin.spin, "", self._screen.styled(f"Corrected: {words}", "yellow"), "")

    def _tell_between(self, outcome: Outcome, data: Data) -> None:
        match data:
            case Bets() if outcome.type == "bets.closed":
                self._closed_us = outcome.t
            case ShooterChanged():
                seat = "the next shooter" if data.shooter is None else f"seat {data.shooter}"
                self._aside(f"the dice go to {seat}")
            case Happening() if data.cause not in _NEEDLESS:
                why = f": {data.says}" if data.says else ""
                self._aside(f"{_plain(outcome.type)}, {_plain(data.what or 'the table')}{why}")
            case _:
                pass

    def _run_of(self, spin: SpinCalled) -> Iterator[str]:
        if spin.revolutions is not None:
            yield f"{spin.revolutions:.1f} revolutions"
        drop_us = self._scenes[spin.spin - 1].truth.drop_us
        if drop_us is not None:
            yield f"No More Bets {(drop_us - self._closed_us) / 1e6:.1f} s before the drop"

    def _void(self, word: str, attempt: int, reasons: Sequence[Reason]) -> None:
        self._roll_dice(attempt) if word == "No Roll" else self._wait()
        causes = ", ".join(dict.fromkeys(_plain(reason.code) for reason in reasons))
        self._call(attempt, "", self._screen.styled(f"{word}: {causes}", "red"), "")
        self._reasons(reasons)

    def _call(self, attempt: int, shown: str, words: str, puck: str) -> None:
        where = self._screen.styled(f"puck {puck}", "dim") if puck else ""
        padding = " " * max(1, 46 - len(words)) if puck else ""
        self._screen.line(f"  {attempt:>3}  {shown:<7}  {words}{padding}{where}".rstrip())

    def _reasons(self, reasons: Sequence[Reason | Notice]) -> None:
        for reason in reasons:
            rule = f" ({reason.rule})" if reason.rule else ""
            self._aside(f"{reason.seen}{rule}")

    def _aside(self, *sentences: str) -> None:
        for sentence in sentences:
            self._screen.line(" " * 16 + self._screen.styled(sentence, "dim"))

    def _pair(self, faces: tuple[int, int]) -> str:
        pair = " ".join(self._screen.die(face) for face in faces)
        return f"{pair:<7}"

    def _roll_dice(self, attempt: int) -> None:
        """Animate the dice on the screen for a moment before the call."""
        if not self._pause_s:
            return
        for frame in range(_FRAMES):
            faces = ((attempt + 2 * frame) % 6 + 1, (attempt * 3 + frame) % 6 + 1)
            self._screen.draft(f"  {attempt:>3}  {self._pair(faces)}")
            self._sleep(self._pause_s / _FRAMES)

    def _wait(self) -> None:
        if self._pause_s:
            self._screen.draft("       the ball circles…")
            self._sleep(self._pause_s)


def _outcomes(header: Header, rules: RuleSet, feed: Feed) -> Iterator[Outcome]:
    """Run the readings through a session."""
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


def _plain(word: str) -> str:
    return word.replace("_", " ").replace(".", " ") if " " not in word else word
