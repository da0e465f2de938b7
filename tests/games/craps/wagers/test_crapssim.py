"""Craps Version 1 compared with crapssim, a public simulator with conventional odds.

Scenes avoid the cases where the two differ by design:
- crapssim also settles hardways on the come-out; here they are off unless called on (!V1-23), so scenes call
  them on.
- crapssim adds up a player's bets of one kind; here each keeps its id, so every bet has its own player.
- crapssim counts in floating-point dollars and never rounds; stakes of $6 pay whole cents on every row.
- crapssim has no Hi-Lo, Sharp Shooter or Place to Lose, and this document no Buy, Lay, Put, Fire or All.
- crapssim allows a fresh Come bet to be taken down; the document (CV1-COME-4) and the scenes do not.
"""

from collections.abc import Callable, Mapping
from functools import partial

from crapssim.bet import (
    Any7,
    AnyCraps,
    Big6,
    Big8,
    Boxcars,
    CAndE,
    Come,
    DontCome,
    DontPass,
    Field,
    HardWay,
    Hop,
    Horn,
    Odds,
    PassLine,
    Place,
    Three,
    Two,
    World,
    Yo,
)
from crapssim.bet import Bet as TheirBet
from crapssim.strategy.tools import NullStrategy
from crapssim.table import Player, Table, TableUpdate
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.games.craps.wagers.book import CrapsBook
from controller.games.craps.wagers.gates import BetRequest, Roll
from controller.settlement.book import Decided
from tests.games.craps.wagers.scene import CV1, paytable

STAKE_CENTS, STAKE_DOLLARS = 600, 6.0
Dice = tuple[int, int]

FLAT: Mapping[str, type[PassLine | DontPass | Come | DontCome]] = {
    "pass": PassLine,
    "dont_pass": DontPass,
    "come": Come,
    "dont_come": DontCome,
}
OTHERS: Mapping[str, Callable[[float], TheirBet]] = {
    **FLAT,
    "field": Field,
    "any7": Any7,
    "any_craps": AnyCraps,
    "craps2": Two,
    "craps3": Three,
    "craps12": Boxcars,
    "yo": Yo,
    "c_and_e": CAndE,
    "horn": Horn,
    "whirl": World,
    "big6": Big6,
    "big8": Big8,
    **{f"place {number}": partial(Place, number) for number in (4, 5, 6, 8, 9, 10)},
    **{f"hard {number}": partial(HardWay, number) for number in (4, 6, 8, 10)},
    "hop 2-5": partial(Hop, (2, 5)),
    "hop 3-3": partial(Hop, (3, 3)),
}


class BothTables:
    """One table, played both here and in crapssim."""

    def __init__(self) -> None:
        self.ours = CrapsBook(paytable(CV1))
        self.theirs = Table()
        self.players: dict[str, Player] = {}
        self.net_cents: dict[str, int] = {}
        self.flat_up: dict[str, str] = {}

    def bet(self, kind: str) -> None:
        name = f"p{len(self.players)}"
        wager, _, on = kind.partition(" ")
        results = self.ours.apply(
            BetRequest(
                id=name,
                player=name,
                wager=wager,
                amount=STAKE_CENTS,
                number=int(on) if on.isdigit() else None,
                dice=(int(on[0]), int(on[2])) if "-" in on else None,
                working="on" if wager == "hard" else None,
            )
        )
        player = self.theirs.add_player(bankroll=10 * STAKE_DOLLARS, strategy=NullStrategy(), name=name)
        player.add_bet(OTHERS[kind](STAKE_DOLLARS))
        assert bool(player.bets) == (not results)
        self.players[name] = player
        self.net_cents[name] = 0 if results else -STAKE_CENTS
        if player.bets and wager in FLAT:
            self.flat_up[name] = wager

    def odds(self, name: str) -> None:
        wager, player = self.flat_up[name], self.players[name]
        results = self.ours.apply(
            BetRequest(id=f"{name} odds", player=name, wager=f"{wager}_odds", base=name, amount=STAKE_CENTS)
        )
        flat = player.bets[0]
        number = flat.number if isinstance(flat, Come | DontCome) else self.theirs.point.number
        assert (number is None) == bool(results)
        if number is not None:
            player.add_bet(Odds(FLAT[wager], number, STAKE_DOLLARS))
            assert len(player.bets) == 2
            self.net_cents[name] -= STAKE_CENTS
            del self.flat_up[name]

    def roll(self, dice: Dice) -> None:
        for line in self.ours.apply(Roll(dice=dice)):
            assert isinstance(line, Decided)
            self.net_cents[line.id.removesuffix(" odds")] += line.returned
            self.flat_up.pop(line.id, None)
        TableUpdate().run(self.theirs, dice)

    def same_money(self) -> bool:
        return all(
            round(100 * (player.bankroll - 10 * STAKE_DOLLARS)) == self.net_cents[name]
            for name, player in self.players.items()
        )

    def same_bets_up(self) -> bool:
        left = [line.id.removesuffix(" odds") for line in self.ours.finish() if isinstance(line, Decided)]
        return sorted(left) == sorted(name for name, player in self.players.items() for _ in player.bets)


FACES = st.integers(1, 6)
ROUNDS = st.tuples(
    st.lists(st.sampled_from(sorted(OTHERS)), max_size=5), st.booleans(), st.tuples(FACES, FACES)
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rounds=st.lists(ROUNDS, min_size=1, max_size=25))
def test_the_same_rounds_leave_every_player_with_the_same_money(
    rounds: list[tuple[list[str], bool, Dice]],
) -> None:
    table = BothTables()
    for kinds, take_odds, dice in rounds:
        for kind in kinds:
            table.bet(kind)
        for name in list(table.flat_up) if take_odds else ():
            table.odds(name)
        table.roll(dice)
        assert table.same_money()
        assert table.same_bets_up()
