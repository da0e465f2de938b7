"""The `Game` instance for roulette."""

from controller.games.game import Game
from controller.games.roulette.machine import ROULETTE_TABLE, Roulette
from controller.machines.agenda import Agenda
from controller.machines.health import Health
from controller.machines.lifecycle import SPIN
from controller.machines.setup import Setup, SetupError
from controller.rules.wheel import Learned
from controller.settlement.wagers import Wagers


def _machine(setup: Setup, agenda: Agenda, health: Health) -> Roulette:
    rules, state = setup.ruleset, setup.state
    if setup.wheel is None or rules.spin is None:
        raise SetupError(
            f"rule set {rules.name} is for roulette, but the header has no wheel; add the wheel's geometry"
        )
    return Roulette(
        rules.spin,
        setup.wheel,
        agenda,
        health,
        calls=state.calls or setup.calls,
        learned=Learned.from_figures(state.learned),
        wheel_state=None if state.standing is None else state.standing.wheel,
        standing_call=state.call,
        last_spin=setup.first.spin - 1,
        betting_round=setup.first.round,
        chips=state.chips,
    )


def _wagers() -> Wagers:
    from controller.games.roulette.wagers.book import WAGERS  # noqa: PLC0415 - needed only for settlement

    return WAGERS


ROULETTE = Game(
    name="roulette",
    sections=("spin",),
    geometry="wheel",
    attempt=SPIN,
    table=ROULETTE_TABLE,
    machine=_machine,
    wagers=_wagers,
    hides_results=True,
)
