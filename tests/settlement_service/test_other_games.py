"""High Roller's pots and Three Card Poker's positions, from outcomes to balances."""

from controller.journal.keys import Key
from controller.model.outcomes import (
    Bets,
    DealCalled,
    DealCorrected,
    GameStarted,
    HighRollerCall,
    RollCalled,
    RollCorrected,
)
from tests.settlement_service.rig import House, SealedTable


def started(table: SealedTable, game: int = 1) -> bytes:
    """Buy 4, 5 and 3 cards for three players, at a dollar each; seat 1 has the button."""
    cards: dict[str, tuple[int, ...]] = {"1": (7, 7, 8, 6), "2": (7, 8, 9, 10, 11), "3": (2, 3, 12)}
    return table.publish_outcome(
        "game.started",
        GameStarted(
            game=game,
            button="1",
            seats=("1", "2", "3"),
            cards=cards,
            card_cents=100,
            bonus_take=100,
            final=False,
        ),
    )


def threw(table: SealedTable, player: str, dice: tuple[int, int], call: HighRollerCall) -> bytes:
    """Publish a legal roll of High Roller."""
    published = table.publish_outcome(
        "roll.called",
        RollCalled(
            roll=table.attempt,
            dice=dice,
            total=sum(dice),
            phase=None,
            point=None,
            call=call,
            point_after=None,
            shooter=player,
            grade="sensors",
            notices=(),
            by=None,
            who=None,
            game=1,
            player=player,
        ),
    )
    table.attempt += 1
    return published


def test_a_high_roller_game_divides_its_pot(house: House, key: Key) -> None:
    """12 cards are 1,200 cents: 120 rake (H-MONEY-1), 100 for the Bonus Pot, and the rest is the prize."""
    table = SealedTable("rollers", key)
    house.enrol(table, "high-roller-12-005")
    house.player("cat", 500)
    house.desk.seat(house.new_identity(), "rollers", "3", "cat")
    house.takes(started(table))
    assert house.balance("at_risk:rollers") == 1_200
    house.takes(threw(table, "1", (1, 1), "elimination"))
    assert house.balance("player:cat") == 500 + 980
    assert house.balance("rake:rollers") == 120
    assert house.balance("bonus_pot:rollers") == 100
    assert house.balance("at_risk:rollers") == 0
    proof = house.proof()
    assert proof.faults == ()
    assert sum(proof.accounts.values()) == 0


def test_a_corrected_throw_gives_the_pot_to_another_player(house: House, key: Key) -> None:
    table = SealedTable("rollers", key)
    house.enrol(table, "high-roller-12-005")
    house.takes(started(table), threw(table, "1", (1, 1), "elimination"))
    assert house.balance("player:rollers seat 3") == 980
    ruled = RollCorrected(
        roll=1,
        corrects="rollers/1/2",
        ruling="set_dice",
        by="boxperson",
        who="bob",
        dice=(4, 5),
        total=9,
        call="elimination",
        game=1,
        player="1",
    )
    house.takes(table.publish_outcome("roll.corrected", ruled))
    assert house.balance("player:rollers seat 3") == 0
    assert house.balance("player:rollers seat 2") == 980
    house.reopen()
    house.takes(started(table, game=2))
    assert house.proof().faults == ()


HANDS: dict[str, tuple[str, ...]] = {"3": ("Qh", "Jd", "Tc")}
DEALER = ("Kc", "8d", "3s")


def dealt(table: SealedTable) -> list[bytes]:
    """Deal a straight at position 3 against a dealer who plays with a King."""
    closed = table.publish_outcome("bets.closed", Bets(round=1, cause="first_card"))
    called = DealCalled(
        deal=1,
        hands=HANDS,
        dealer=DEALER,
        folds=(),
        qualifies=True,
        announcement="King high",
        results=(),
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    return [closed, table.publish_outcome("deal.called", called)]


def test_a_three_card_position_is_paid_with_its_bonus(house: House, key: Key) -> None:
    """Ante and Play win even money, and a straight earns the Ante Bonus with any dealer's hand."""
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    house.player("ann", 1_000)
    house.bets(table, "ann", "a1", "ante", 200, seat="3")
    events = dealt(table)
    house.takes(events[0])
    house.bets(table, "ann", "p1", "play", 200, seat="3")
    assert house.balance("player:ann") == 600
    house.takes(events[1])
    assert house.balance("player:ann") == 1_000 + 200 + 200 + 200
    assert house.proof().faults == ()


def test_only_a_wager_on_a_position_that_was_not_dealt_in_is_returned(house: House, key: Key) -> None:
    """A bet on another position must not affect the positions that were dealt in."""
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    house.player("ann", 1_000)
    house.player("bob", 1_000)
    house.bets(table, "ann", "a1", "ante", 200, seat="3")
    house.bets(table, "bob", "b1", "ante", 300, seat="5")
    house.bets(table, "bob", "b2", "pair_plus", 100, seat="5")
    events = dealt(table)
    house.takes(events[0])
    house.bets(table, "ann", "p1", "play", 200, seat="3")
    house.takes(events[1])
    assert house.balance("player:ann") == 1_000 + 200 + 200 + 200
    assert house.balance("player:bob") == 1_000
    assert house.proof().faults == ()


def test_a_deal_corrected_to_void_returns_all_stakes(house: House, key: Key) -> None:
    table = SealedTable("cards", key)
    house.enrol(table, "three-card-poker-12-014")
    house.player("ann", 1_000)
    house.bets(table, "ann", "a1", "ante", 200, seat="3")
    events = dealt(table)
    house.takes(events[0])
    house.bets(table, "ann", "p1", "play", 200, seat="3")
    house.takes(events[1])
    void = DealCorrected(deal=1, corrects="cards/1/2", ruling="misdeal", by="dealer", who="dot")
    house.takes(table.publish_outcome("deal.corrected", void))
    assert house.balance("player:ann") == 1_000
    assert house.proof().faults == ()
