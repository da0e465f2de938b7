"""The `Game` instance for craps."""

from controller.games.craps.machine import CRAPS_TABLE, Craps, CrapsState
from controller.games.game import Game
from controller.machines.agenda import Agenda
from controller.machines.health import Health
from controller.machines.lifecycle import THROW
from controller.machines.setup import Setup, SetupError
from controller.settlement.wagers import Wagers


def _machine(setup: Setup, agenda: Agenda, health: Health) -> Craps:
    rules, state = setup.ruleset, setup.state
    if setup.dice_table is None or rules.throw is None or rules.craps is None:
        raise SetupError(
            f"rule set {rules.name} is for craps, but the header has no dice_table; add the table's"
            " dimensions"
        )
    phase = "run_out" if state.run_out else "point" if state.point else "come_out"
    return Craps(
        rules.throw,
        rules.craps,
        setup.dice_table,
        agenda,
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
        learned=state.learned,
    )


def _wagers() -> Wagers:
    from controller.games.craps.wagers.book import WAGERS  # noqa: PLC0415 - needed only for settlement

    return WAGERS


CRAPS = Game(
    name="craps",
    sections=("throw", "craps"),
    geometry="dice_table",
    attempt=THROW,
    table=CRAPS_TABLE,
    machine=_machine,
    wagers=_wagers,
    has_puck=True,
)
