"""The game a table plays, built from its rule set."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from controller.engine.setup import Setup
from controller.games.craps.machine import Craps
from controller.games.high_roller.machine import HighRoller
from controller.games.roulette.machine import Roulette
from controller.games.three_card.machine import ThreeCard
from controller.machines.craps_state import CrapsState
from controller.machines.desk import Desk
from controller.machines.health import Health
from controller.model.attempts import Awaited, DiceOut
from controller.model.readings import AnyReading, Input
from controller.rules.wheel import Learned
from controller.rules.wheel.wheel_word import WheelHeard


class SetupError(Exception):
    """The setup lacks what its game needs; the message says what and where to give it."""


class TableGame(Protocol):
    """What the session asks of a game."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""

    @property
    def attempt_under_way(self) -> bool:
        """Whether an attempt goes on and is not called, or something else whose next reading is awaited."""

    def see(self, reading: AnyReading) -> None:
        """Take a reading, in time order."""

    def begins_attempt(self, reading: AnyReading) -> bool:
        """Tell whether this reading would begin an attempt."""

    def turned_away(self, reading: AnyReading) -> None:
        """Take that this reading began an attempt while the table did not play: no rest of it counts."""

    def enter(self, entered: Input) -> bool:
        """Take a person's input; False when this game has no such input. Raises Refused."""

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""

    def allowed(self, t: int) -> Iterator[str]:
        """Name the inputs that make sense at t."""

    def late(self, reading: AnyReading) -> None:
        """Take a reading that came too late to count."""

    def doubt(self, seen: str) -> None:
        """Take that the times of what is under way can't be believed, and why."""

    def timer(self, name: str, t: int) -> None:
        """Take a timer that is due at t."""

    def reset(self, t: int) -> None:
        """Begin anew: the table opens, and bets that were closed open with it."""

    def remembers(self) -> Mapping[str, object]:
        """Give what the game remembers between attempts, in the words of State."""

    def next_numbers(self) -> Mapping[str, int]:
        """Give the game's next numbers, in the words of First."""

    def stop_judging(self) -> None:
        """Judge no more: the recording is cut off here."""

    def cut_short(self, t: int) -> None:
        """Put what is in flight under review: the recording ends at t."""


def heard_by(game: TableGame) -> WheelHeard | None:
    """Give what a smart wheel said to this game; None where it has none, or that said nothing yet."""
    return game.spins.games.heard if isinstance(game, Roulette) else None


def awaits_play(game: TableGame) -> bool:
    """Return whether this game takes Play wagers now, though its bets are closed (T-DEAL-4)."""
    return isinstance(game, ThreeCard) and game.awaits_play


def dice_out(game: TableGame) -> DiceOut | None:
    """Return what wagers made with the dice out depend on; None where no craps throw is open (C34-MK-1b)."""
    return game.dice_out if isinstance(game, Craps) else None


def game_for(setup: Setup, desk: Desk, health: Health) -> TableGame:
    """Build the game of the setup's rule set.

    Raises:
        SetupError: the rule set lacks a section of its game, or the geometry is missing.
    """
    match setup.ruleset.game:
        case "craps":
            return _craps(setup, desk, health)
        case "roulette":
            return _roulette(setup, desk, health)
        case "high_roller":
            return _high_roller(setup, desk, health)
        case "three_card":
            return _three_card(setup, desk, health)


def _craps(setup: Setup, desk: Desk, health: Health) -> Craps:
    rules, state = setup.ruleset, setup.state
    if setup.dice_table is None or rules.throw is None or rules.craps is None:
        raise SetupError(f"rule set {rules.name} plays craps: give the dice_table's measures in the header")
    phase = "run_out" if state.run_out else "point" if state.point else "come_out"
    return Craps(
        rules.throw,
        rules.craps,
        setup.dice_table,
        desk,
        health,
        calls=state.calls or setup.calls,
        state=CrapsState(
            phase=phase,
            point=state.point,
            shooter=state.shooter,
            warnings=state.warnings,
            invalid_rolls=state.invalid_rolls,
        ),
        standing_call=state.call,
        last_roll=setup.first.roll - 1,
        betting_round=setup.first.round,
        line_bet=state.line_bet,
    )


def _roulette(setup: Setup, desk: Desk, health: Health) -> Roulette:
    rules, state = setup.ruleset, setup.state
    if setup.wheel is None or rules.spin is None:
        raise SetupError(f"rule set {rules.name} plays roulette: give the wheel's geometry in the header")
    return Roulette(
        rules.spin,
        setup.wheel,
        desk,
        health,
        calls=state.calls or setup.calls,
        learned=Learned.from_figures(state.learned),
        heard=None if state.standing is None else state.standing.wheel,
        standing_call=state.call,
        last_spin=setup.first.spin - 1,
        betting_round=setup.first.round,
        chips=state.chips,
    )


def _high_roller(setup: Setup, desk: Desk, health: Health) -> HighRoller:
    rules, state = setup.ruleset, setup.state
    if setup.dice_table is None or rules.throw is None or rules.high_roller is None:
        raise SetupError(
            f"rule set {rules.name} plays High Roller: give the dice_table's measures in the header"
        )
    return HighRoller(
        rules.throw,
        rules.high_roller,
        setup.dice_table,
        desk,
        health,
        calls=state.calls or setup.calls,
        state=state.high_roller,
        standing_call=state.call,
        last_roll=setup.first.roll - 1,
        betting_round=setup.first.round,
    )


def _three_card(setup: Setup, desk: Desk, health: Health) -> ThreeCard:
    rules, state = setup.ruleset, setup.state
    if rules.deal is None:
        raise SetupError(f"rule set {rules.name} plays Three Card Poker: give it a section `deal`")
    return ThreeCard(
        rules.deal,
        desk,
        health,
        calls=state.calls or setup.calls,
        state=state.three_card,
        standing_call=state.call,
        last_deal=setup.first.deal - 1,
        betting_round=setup.first.round,
    )
