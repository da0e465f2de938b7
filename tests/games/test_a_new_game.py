"""A game defined only in its own module is played, published, settled and checked like every other game."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.app import schemas
from controller.games.registry import GAMES
from controller.machines.setup import NextNumbers
from controller.model.outcomes import Bets, Outcome, RollCalled, RollNoRoll
from controller.publish.players import first_board
from controller.settings.mistakes import SettingsError
from controller.settings.paytables import check, open_book
from controller.settings.places import config_home
from controller.settings.rulesets import load_ruleset
from controller.settlement.run import settle
from controller.settlement_service.faults import RequestRefused
from tests.engine.play import Played
from tests.games.over_under import OVER_UNDER
from tests.scenes import SECOND_US, in_order, input_at, throw
from tests.settlement_service.rig import House, SealedTable, key_in

RULES = "over-under-seven"
CHIPS = 10_000
PAYS = {
    "under": {"pays": [1, 1], "rule": "OU-2"},
    "seven": {"pays": [4, 1], "rule": "OU-3"},
    "over": {"pays": [1, 1], "rule": "OU-2"},
}


@pytest.fixture(autouse=True)
def _configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the game with a rule set (High Roller's throws) and a pay table."""
    shipped = yaml.safe_load((config_home() / "rulesets" / "high-roller-12-005.yaml").read_text())
    named = {"name": RULES, "title": "Over and Under Seven"}
    written = {
        "rulesets": {**named, "game": "over_under", "throw": shipped["throw"]},
        "paytables": {**named, "pays": PAYS},
    }
    for folder, document in written.items():
        (tmp_path / "config" / folder).mkdir(parents=True)
        (tmp_path / "config" / folder / f"{RULES}.yaml").write_text(yaml.safe_dump(document))
    monkeypatch.setenv("TABLE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setitem(GAMES, OVER_UNDER.name, OVER_UNDER)


def two_rolls() -> Played:
    """Play a 6, and a throw on which a person calls No Roll."""
    said = input_at(11 * SECOND_US - 1, "no_roll")
    second = in_order([*throw(10 * SECOND_US, (5, 5)), said])
    return Played(RULES).feed(throw(SECOND_US, (3, 3)), second).finish()


class Bettor:
    """A table of this game at a settlement engine, and a player."""

    def __init__(self, folder: Path) -> None:
        self.house = House(f"sqlite:///{folder}/settlement.db")
        self.table = SealedTable("table-7", key_in(folder))
        self.house.enrol(self.table, RULES)
        self.house.player("ann", CHIPS)

    def bets(self, id_: str, side: str) -> None:
        """Bet 100 cents on a side."""
        self.house.bets(self.table, "ann", id_, side, 100)

    def deliver(self, outcomes: list[Outcome]) -> None:
        """Settle the table's outcomes, each delivered twice."""
        for outcome in outcomes:
            event = self.table.sealed(outcome)
            self.house.takes(event, event)

    @property
    def balance(self) -> int:
        assert self.house.proof().faults == ()
        return self.house.balance("player:ann")


@pytest.fixture
def bettor(tmp_path: Path) -> Iterator[Bettor]:
    bettor = Bettor(tmp_path)
    yield bettor
    bettor.house.store.close()


def test_a_new_game_is_played_and_published() -> None:
    played = two_rolls()
    assert played.types("bets") == ["bets.closed", "bets.opened"] * 2
    assert played.types("roll") == ["roll.called", "roll.no_roll"]
    assert (played.data(RollCalled)[0].roll, played.data(RollCalled)[0].dice) == (1, (3, 3))
    assert played.data(RollNoRoll)[0].reasons[0].code == "called"
    assert [bets.round for bets in played.data(Bets)] == [1, 2, 2, 3]


def test_a_wager_is_settled_by_the_tables_outcomes(bettor: Bettor) -> None:
    outcomes = two_rolls().outcomes
    bettor.bets("b1", "under")
    bettor.deliver(outcomes[:3])
    assert bettor.balance == CHIPS + 100
    bettor.bets("b2", "over")
    bettor.deliver(outcomes[3:])
    assert bettor.balance == CHIPS, "after a No Roll the bet must stay up"
    assert bettor.house.balance("at_risk:table-7") == 100


def test_no_bet_is_accepted_once_the_dice_are_out(bettor: Bettor) -> None:
    outcomes = two_rolls().outcomes
    bettor.deliver(outcomes[:1])
    with pytest.raises(RequestRefused, match="the dice are out"):
        bettor.bets("b1", "under")


def test_a_ruling_after_the_call_settles_the_bets_again(bettor: Bettor) -> None:
    ruled = input_at(5 * SECOND_US, "set_dice", dice=[3, 4])
    outcomes = Played(RULES).feed(throw(SECOND_US, (3, 3)), ruled).finish().outcomes
    bettor.bets("b1", "under")
    bettor.bets("b2", "seven")
    bettor.deliver(outcomes[:-1])
    assert (outcomes[-1].type, bettor.balance) == ("roll.corrected", CHIPS)
    bettor.deliver(outcomes[-1:])
    assert bettor.balance == CHIPS - 100 + 400


def test_a_recording_continues_where_it_was_and_a_call_can_still_be_corrected() -> None:
    before = Played(RULES).feed(throw(SECOND_US, (3, 3))).finish().session
    ruled = input_at(5 * SECOND_US, "set_dice", dice=[3, 4])
    played = Played(RULES, before.state(), before.first()).feed(ruled, throw(10 * SECOND_US, (1, 1))).finish()
    assert played.types("roll") == ["roll.corrected", "roll.called"]
    assert played.data(RollCalled)[0].roll == 2


def test_the_settle_command_the_board_and_the_pay_table_check_support_a_new_game() -> None:
    asked = [
        b'{"do":"bet","id":"b1","player":"ann","wager":"seven","amount":500}',
        b'{"do":"roll","dice":[3,4]}',
    ]
    (won,) = settle(asked, open_book(RULES))
    paid = {"status": "win", "stake": 500, "payout": 2000, "returned": 2500, "reason": "OU-3: seven"}
    assert json.loads(won) == {"id": "b1", "wager": "seven", **paid}
    assert {edge.wager: edge.per_cent for edge in check(RULES).edges} == {
        "under": "16.6667",
        "seven": "16.6667",
        "over": "16.6667",
    }
    assert (
        first_board("table-7", "1", "over_under", Played(RULES).session.state(), NextNumbers()).puck is None
    )
    assert "over-under-paytable.schema.json" in schemas.schemas()


def test_a_rule_set_of_an_unknown_game_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_ruleset(RULES).game == "over_under"
    monkeypatch.delitem(GAMES, OVER_UNDER.name)
    expected = r"game: found 'over_under', expected one of 'craps', 'high_roller', 'roulette' or 'three_card'"
    with pytest.raises(SettingsError, match=expected):
        load_ruleset(RULES)
