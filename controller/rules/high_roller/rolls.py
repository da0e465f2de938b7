"""The order of rolls, the elimination throw, the roll-off with its ties, and the split of a game's money."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from controller.model.rulesets import HighRollerRules


class Split(NamedTuple):
    """A game's money in cents. `gross` is the sum of the rake, the Bonus Pot's share and the prize."""

    gross: int
    rake: int
    bonus: int
    prize: int


def split(
    gross: int, bonus_take: int, *, rake_percent: int, rake_above_bonus_cents: int | None = None
) -> Split:
    """Split a game's money into the rake, the Bonus Pot's share and the prize (H-MONEY-1).

    The share is limited to the money that remains after the rake (!H-7). With `rake_above_bonus_cents`, it is
    also limited to the rake minus that amount (!H-6).
    """
    rake = gross * rake_percent // 100
    bonus = min(bonus_take, gross - rake)
    if rake_above_bonus_cents is not None:
        bonus = min(bonus, max(0, rake - rake_above_bonus_cents))
    return Split(gross, rake, bonus, gross - rake - bonus)


class BonusPot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The Bonus Pot in cents, and the player whose consecutive wins count towards it."""

    cents: int = 0
    winner: str | None = None
    in_a_row: int = 0

    def won(
        self, winner: str, share: int, *, final: bool, wins_needed: int, share_first: bool = True
    ) -> tuple["BonusPot", int]:
        """Add a game's share. Return the new pot, and the amount that the game's winner receives.

        The pot goes to a player who wins `wins_needed` games in a row (H-BONUS-1) or the final game
        (H-CLOSE-1). The pot and the count of wins then start again. By default, this game's share is part of
        the pot that is paid. Without `share_first`, it starts the next pot (!H-12).
        """
        cents = self.cents + share
        in_a_row = self.in_a_row + 1 if winner == self.winner else 1
        if final or in_a_row >= wins_needed:
            return (BonusPot(), cents) if share_first else (BonusPot(cents=share), self.cents)
        return BonusPot(cents=cents, winner=winner, in_a_row=in_a_row), 0


_RANKS = {str(rank): rank for rank in range(2, 13)} | {"T": 10, "J": 11, "Q": 12}

CARDS_PER_RANK = 4
"""The number of cards of one rank in a deck (H-EQ-1)."""
CARDS_PER_DECK = 11 * CARDS_PER_RANK
"""The number of cards in a deck, with four of each rank from 2 to Queen (H-EQ-1)."""


def rank_of(text: str) -> int | None:
    """Return the total that matches a card: 2 to 10, Jack 11, Queen 12 (H-MATCH-1); None for other text."""
    return _RANKS.get(text)


class BoughtCard(NamedTuple):
    """A card in front of a player. `rank` is the total that matches it (H-MATCH-1)."""

    id: str
    player: str
    rank: int


class CardRoll(NamedTuple):
    """A roll in the roll-off, for one matching card."""

    total: int
    card: BoughtCard


def clockwise_from(button: str, seats: Sequence[str]) -> list[str]:
    """Return the seats clockwise from the button.

    Players buy cards (H-BTN-2), and tied players roll (H-ORDER-1), in this order.
    """
    start = seats.index(button)
    return [*seats[start:], *seats[:start]]


class RollPolicy(NamedTuple):
    """A house's decisions where the rules leave a choice. The defaults are the recommended decisions."""

    lone_match_rolls: bool = False
    button_first: bool = False
    ties_per_card: bool = False
    button_needs_cards: bool = False
    share_joins_after: bool = False


def build_policy(rules: HighRollerRules) -> RollPolicy:
    """Return the decisions in a rule set's settings (!H-2, !H-4, !H-3, !H-16, !H-12)."""
    return RollPolicy(
        lone_match_rolls=rules.lone_match == "rolls",
        button_first=rules.roll_order == "button",
        ties_per_card=rules.ties_roll == "per_card",
        button_needs_cards=rules.button_without_cards == "passes",
        share_joins_after=rules.bonus_share_joins == "after",
    )


RECOMMENDED = RollPolicy()


class RollOff(msgspec.Struct, frozen=True):
    """The roll-off of the players who matched.

    Each player has one roll for each matching card, and the highest roll wins. `turns` are the cards of the
    remaining rolls. Players who tie for the highest total roll again in the same order: once each, for the
    card of the best roll, or with `per_card`, once for each of their cards. Equal best rolls of one player
    are not a tie (!H-3). `tied` is true if the remaining rolls are to break a tie.
    """

    turns: tuple[BoughtCard, ...]
    done: tuple[CardRoll, ...] = ()
    tied: bool = False
    per_card: bool = False

    @property
    def next(self) -> BoughtCard:
        """The card of the next roll."""
        return self.turns[0]

    @property
    def players(self) -> tuple[str, ...]:
        """The remaining players, in rolling order."""
        cards = (*(roll_made.card for roll_made in self.done), *self.turns)
        return tuple(dict.fromkeys(card.player for card in cards))

    def may_decline(self) -> bool:
        """Return whether the next roll may be declined. Each player must roll at least once (H-WIN-1)."""
        player = self.next.player
        left = sum(card.player == player for card in self.turns)
        return left > 1 or any(roll_made.card.player == player for roll_made in self.done)

    def decline(self) -> "RollOff | CardRoll":
        """Skip the next roll (!H-17). Return the new state of the roll-off, or the winning roll."""
        return _next_state(self, self.done)

    def roll(self, total: int) -> "RollOff | CardRoll":
        """Handle the next roll. Return the new state of the roll-off, or the winning roll."""
        done = (*self.done, CardRoll(total, self.next))
        return _next_state(self, done)


def _next_state(roll_off: RollOff, done: tuple[CardRoll, ...]) -> RollOff | CardRoll:
    turns = roll_off.turns[1:]
    if turns:
        return RollOff(turns, done, roll_off.tied, roll_off.per_card)
    highest = max(rolled.total for rolled in done)
    best: dict[str, CardRoll] = {}
    for rolled in done:
        if rolled.total == highest:
            best.setdefault(rolled.card.player, rolled)
    if len(best) == 1:
        return next(iter(best.values()))
    if roll_off.per_card:
        return RollOff(tuple(r.card for r in done if r.card.player in best), tied=True, per_card=True)
    return RollOff(tuple(rolled.card for rolled in best.values()), tied=True)


def eliminate(
    cards: Sequence[BoughtCard], total: int, order: Sequence[str], policy: RollPolicy = RECOMMENDED
) -> RollOff | BoughtCard | None:
    """Return the result of the elimination throw (H-MATCH-1).

    `order` lists the seats clockwise from the button. The result is None if nobody matches (the dice are
    then thrown again, !H-1), the winning card if only one player matches (!H-2), and otherwise the roll-off.
    In the roll-off, the player with the most matching cards rolls first, and tied players roll in order from
    the button. Each player makes all of their rolls in a row (H-ORDER-1, !H-4). `policy` can change these
    defaults.
    """
    matching: dict[str, list[BoughtCard]] = {}
    for card in cards:
        if card.rank == total:
            matching.setdefault(card.player, []).append(card)
    if not matching:
        return None
    players = sorted(matching, key=order.index)
    if not policy.button_first:
        players.sort(key=lambda player: -len(matching[player]))
    if len(players) == 1 and not policy.lone_match_rolls:
        return matching[players[0]][0]
    turns = tuple(card for player in players for card in matching[player])
    return RollOff(turns, per_card=policy.ties_per_card)
