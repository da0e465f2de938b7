"""The `Game` instance for Three Card Poker."""

from controller.games.game import Game
from controller.games.three_card.machine import (
    THREE_CARD_TABLE,
    ThreeCard,
    as_three_card_state,
)
from controller.machines.agenda import Agenda
from controller.machines.health import Health
from controller.machines.lifecycle import DEAL
from controller.machines.setup import Setup, SetupError, read_memory
from controller.settlement.wagers import Wagers


def _machine(setup: Setup, agenda: Agenda, health: Health) -> ThreeCard:
    rules, state = setup.ruleset, setup.state
    if rules.deal is None:
        raise SetupError(f"rule set {rules.name} is for Three Card Poker, but has no `deal` section; add one")
    return ThreeCard(
        rules.deal,
        agenda,
        health,
        calls=state.calls or setup.calls,
        state=read_memory(state.three_card, as_three_card_state),
        standing_call=state.call,
        last_deal=setup.first.deal - 1,
        betting_round=setup.first.round,
        bets_opened_us=0 if state.standing is None else state.standing.bets_opened_us,
    )


def _wagers() -> Wagers:
    from controller.games.three_card.wagers.book import WAGERS  # noqa: PLC0415 - needed only for settlement

    return WAGERS


THREE_CARD = Game(
    name="three_card",
    sections=("deal",),
    geometry=None,
    attempt=DEAL,
    table=THREE_CARD_TABLE,
    machine=_machine,
    wagers=_wagers,
    dealt_face_down=True,
    hides_results=True,
)
