"""The `Game` instance for High Roller."""

import msgspec

from controller.games.game import Game
from controller.games.high_roller.buying import miss_cards
from controller.games.high_roller.machine import HighRoller
from controller.games.high_roller.table import (
    HIGH_ROLLER_TABLE,
    ROLLING,
    as_high_roller_state,
)
from controller.machines.agenda import Agenda
from controller.machines.health import Health
from controller.machines.lifecycle import THROW
from controller.machines.setup import Setup, SetupError, State, read_memory, to_json_values
from controller.settlement.wagers import Wagers


def _machine(setup: Setup, agenda: Agenda, health: Health) -> HighRoller:
    rules, state = setup.ruleset, setup.state
    if setup.dice_table is None or rules.throw is None or rules.high_roller is None:
        raise SetupError(
            f"rule set {rules.name} is for High Roller, but the header has no dice_table; add the table's"
            " dimensions"
        )
    return HighRoller(
        rules.throw,
        rules.high_roller,
        setup.dice_table,
        agenda,
        health,
        calls=state.calls or setup.calls,
        state=read_memory(state.high_roller, as_high_roller_state),
        standing_call=state.call,
        last_roll=setup.first.roll - 1,
        betting_round=setup.first.round,
        learned=state.learned,
    )


def _after_stop(state: State) -> State:
    """Treat all owed cards as missed. They might have been pitched while the controller was stopped."""
    game = read_memory(state.high_roller, as_high_roller_state)
    if game is None or not game.owed:
        return state
    return msgspec.structs.replace(state, high_roller=to_json_values(miss_cards(game, game.sold)))


def _bets_stay_closed(state: State) -> bool:
    """Return whether buying for this game is over: the players are rolling, or the winner is unpaid."""
    game = read_memory(state.high_roller, as_high_roller_state)
    return game is not None and game.stage in (*ROLLING, "won")


def _wagers() -> Wagers:
    from controller.games.high_roller.wagers.book import WAGERS  # noqa: PLC0415 - needed only for settlement

    return WAGERS


HIGH_ROLLER = Game(
    name="high_roller",
    sections=("throw", "high_roller"),
    geometry="dice_table",
    attempt=THROW,
    table=HIGH_ROLLER_TABLE,
    machine=_machine,
    wagers=_wagers,
    after_stop=_after_stop,
    bets_stay_closed=_bets_stay_closed,
)
