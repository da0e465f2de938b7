"""Whose turn it is to roll, and who has won: the elimination throw, the roll-off and its ties."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class BoughtCard(NamedTuple):
    """A card in front of a player; `rank` is the total that it matches (H-MATCH-1)."""

    id: str
    player: str
    rank: int


class Rolled(NamedTuple):
    """A roll of the roll-off, for one matching card."""

    total: int
    card: BoughtCard


def clockwise_from(button: str, seats: Sequence[str]) -> list[str]:
    """Give the seats from the button on: the order of buying (H-BTN-2) and of equals (H-ORDER-1)."""
    start = seats.index(button)
    return [*seats[start:], *seats[:start]]


@dataclass(slots=True)
class RollOff:
    """The players who matched, one roll for each matching card, until one of them has the highest.

    `turns` are the rolls to come. A tied player rolls once more, in the same order, for the card of his best
    roll; equal best rolls of one player are no tie (!H-3).
    """

    turns: list[BoughtCard]
    done: list[Rolled] = field(default_factory=list)

    @property
    def next(self) -> BoughtCard:
        """Give the card whose roll is next."""
        return self.turns[0]

    def may_decline(self) -> bool:
        """Tell whether the next roll may be left out: everybody who remains rolls at least once (H-WIN-1)."""
        player = self.next.player
        left = sum(card.player == player for card in self.turns)
        return left > 1 or any(rolled.card.player == player for rolled in self.done)

    def decline(self) -> BoughtCard | None:
        """Leave out the next roll (!H-17); give the winning card once there is one."""
        self.turns.pop(0)
        return self._winner()

    def roll(self, total: int) -> BoughtCard | None:
        """Take the next roll; give the winning card once there is one."""
        self.done.append(Rolled(total, self.turns.pop(0)))
        return self._winner()

    def _winner(self) -> BoughtCard | None:
        if self.turns:
            return None
        highest = max(rolled.total for rolled in self.done)
        best: dict[str, BoughtCard] = {}
        for rolled in self.done:
            if rolled.total == highest:
                best.setdefault(rolled.card.player, rolled.card)
        if len(best) == 1:
            return next(iter(best.values()))
        self.turns, self.done = list(best.values()), []
        return None


def eliminate(cards: Sequence[BoughtCard], total: int, order: Sequence[str]) -> RollOff | BoughtCard | None:
    """Let the elimination throw decide who stays in (H-MATCH-1).

    `order` are the seats clockwise from the button. None where nobody matches and it is thrown again (!H-1);
    the winning card where one player alone matches (!H-2); else the roll-off, most matching cards first,
    equals from the button on, each player's rolls in a row (H-ORDER-1, !H-4).
    """
    matching: dict[str, list[BoughtCard]] = {}
    for card in cards:
        if card.rank == total:
            matching.setdefault(card.player, []).append(card)
    if not matching:
        return None
    players = sorted(matching, key=lambda player: (-len(matching[player]), order.index(player)))
    if len(players) == 1:
        return matching[players[0]][0]
    return RollOff([card for player in players for card in matching[player]])
