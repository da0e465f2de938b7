"""The settlement engine's report on Pair Plus, from its message to the dealer's prompt."""

from io import StringIO

from controller.cli.screen import Screen
from controller.cli.status import status_lines
from controller.cli.words import describe
from controller.games.three_card.machine import as_three_card_state
from controller.machines.setup import read_memory
from controller.model.outcomes import Bets
from tests.app.house import HouseMaker, drain, live_of, play, unlocked
from tests.app.test_awaited import status_seen
from tests.scenes import SECOND_US, input_at


def test_T_DEAL_2b_positions_without_pair_plus_are_journaled_and_prompted_for_when_bets_close(
    house: HouseMaker,
) -> None:
    one = house(table="three-card")
    daemon = one.open()
    unlocked(daemon)
    play(daemon, [input_at(10 * SECOND_US, "seats", "dealer", seats=["2", "5"])])
    live_of(daemon)._enter_without_pair_plus(("2", "5"))
    drain(daemon)
    assert "settlement.said" in [row.name for row in one.rows()]
    daemon.clock.reach(daemon.clock.now_us() + SECOND_US)
    drain(daemon)
    shown = "\n".join(status_lines(Screen(StringIO(), {}), status_seen(daemon), everything=False))
    assert "2, 5: announce them before dealing (T-DEAL-2b)" in shown
    play(daemon, [input_at(daemon.clock.now_us() + SECOND_US, "no_more_bets", "dealer")])
    (closed,) = (outcome.data for outcome in one.outcomes() if outcome.type == "bets.closed")
    assert isinstance(closed, Bets)
    assert describe(closed).endswith("name the positions without Pair Plus: 2, 5")
    daemon = one.restart(daemon)
    drain(daemon)
    seated = read_memory(live_of(daemon).core.view.state.three_card, as_three_card_state)
    assert seated is not None
    assert seated.without_pair_plus == ("2", "5"), "a restart must keep it"
