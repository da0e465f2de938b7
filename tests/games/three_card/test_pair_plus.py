"""The settlement engine's report on positions without Pair Plus, which only prompts the dealer."""

from controller.games.three_card.machine import as_three_card_state
from controller.machines.setup import read_memory
from controller.model.outcomes import Bets, DealCalled, DealVoid, TableEvent
from tests.engine.play import Played
from tests.games.three_card.deal import Table, seated

ACTED = {"p1": "play", "p2": "play"}


def prompts(played: Played) -> list[list[str]]:
    """Return the dealer's prompts at each close and opening of bets."""
    return [[notice.seen for notice in bets.notices] for bets in played.data(Bets)]


def without(*seats: str, by: str = "settlement") -> Table:
    return seated().enter("pair_plus", by=by, seats=list(seats))


def test_T_DEAL_2b_the_dealer_is_prompted_to_name_them_when_bets_close() -> None:
    played = without("2", "5").enter("no_more_bets").end()
    assert prompts(played) == [["name the positions without Pair Plus: 2, 5"]]
    assert [notice.rule for bets in played.data(Bets) for notice in bets.notices] == ["T-DEAL-2b"]


def test_T_DEAL_2b_the_first_card_prompts_the_dealer_if_no_more_bets_was_not_called() -> None:
    played = without("2").deals().act(**ACTED).end()
    assert prompts(played) == [["name the positions without Pair Plus: 2"], []]
    assert len(played.data(DealCalled)) == 1, "the deal must still count"


def test_T_DEAL_2b_without_a_report_or_with_pair_plus_everywhere_there_is_no_prompt() -> None:
    assert prompts(seated().enter("no_more_bets").end()) == [[]]
    has = without("2").enter("pair_plus", by="settlement", seats=[]).enter("no_more_bets").end()
    assert prompts(has) == [[]]


def test_T_DEAL_2b_bets_reopened_before_a_card_lead_to_another_prompt() -> None:
    played = without("2").enter("no_more_bets").enter("open_bets").enter("no_more_bets").end()
    assert prompts(played) == [["name the positions without Pair Plus: 2"], [], prompts(played)[0]]


def test_T_DEAL_2b_the_next_deal_begins_without_the_last_report() -> None:
    called = without("2").deals().act(**ACTED).enter("settled").enter("no_more_bets").end()
    assert prompts(called)[-1] == []
    void = without("2").deals().enter("misdeal").enter("no_more_bets").end()
    assert len(void.data(DealVoid)) == 1
    assert prompts(void)[-1] == []


def test_a_new_recording_keeps_the_engines_last_report_on_pair_plus() -> None:
    state = without("2").end().session.state()
    seated = read_memory(state.three_card, as_three_card_state)
    assert seated is not None
    assert seated.without_pair_plus == ("2",)
    played = Table(state=state).enter("no_more_bets").end()
    assert prompts(played) == [["name the positions without Pair Plus: 2"]]


def test_no_person_may_enter_a_report_on_pair_plus() -> None:
    played = without("2", by="dealer").enter("no_more_bets").end()
    assert prompts(played) == [[]]
    assert [published.what for published in played.data(TableEvent)] == ["pair_plus"]
