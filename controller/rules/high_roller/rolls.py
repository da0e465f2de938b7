"""Whose turn it is to roll, who has won (the elimination throw, the roll-off and its ties), and how money is
split."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from controller.model.rulesets import HighRollerRules


class Split(NamedTuple):
    """A game's money in cents: `gross` is the sum of the rake, the Bonus Pot's share and the prize."""

    gross: int
    rake: int
    bonus: int
    prize: int


def split(
    gross: int, bonus_take: int, *, rake_percent: int, rake_above_bonus_cents: int | None = None
) -> Split:
    """Split a game's money (H-MONEY-1): first the rake, then the Bonus Pot's share, at most the remainder
    (!H-7) and, with `rake_above_bonus_cents`, at most that much less than the rake (!H-6)."""
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
        """Add a game's share; return the resulting pot, and the amount that the game's winner receives from
        it.

        The pot, including this share unless the house decides otherwise (!H-12), goes to a player who wins
        `wins_needed` games in a row (H-BONUS-1) or the final game (H-CLOSE-1). The pot and the count of wins
        then start again.
        """
        cents = self.cents + share
        in_a_row = self.in_a_row + 1 if winner == self.winner else 1
        if final or in_a_row >= wins_needed:
            return (BonusPot(), cents) if share_first else (BonusPot(cents=share), self.cents)
        return BonusPot(cents=cents, winner=winner, in_a_row=in_a_row), 0


_RANKS = {str(rank): rank for rank in range(2, 13)} | {"T": 10, "J": 11, "Q": 12}

CARDS_PER_RANK = 4
"""Cards of one rank in a deck (H-EQ-1)."""
CARDS_PER_DECK = 11 * CARDS_PER_RANK
"""Four of each rank from 2 to Queen (H-EQ-1)."""


def rank_of(text: str) -> int | None:
    """Return the total that a card matches: 2 to 10, Jack 11, Queen 12 (H-MATCH-1); None for any other
    card."""
    return _RANKS.get(text)


class BoughtCard(NamedTuple):
    """A card in front of a player; `rank` is the total that it matches (H-MATCH-1)."""

    id: str
    player: str
    rank: int


class CardRoll(NamedTuple):
    """A roll in the roll-off, for one matching card."""

    total: int
    card: BoughtCard


def clockwise_from(button: str, seats: Sequence[str]) -> list[str]:
    """Return the seats from the button on: the order in which seats buy (H-BTN-2) and tied players roll
    (H-ORDER-1)."""
    start = seats.index(button)
    return [*seats[start:], *seats[:start]]


class RollPolicy(NamedTuple):
    """How a house interprets what the rules leave open; the defaults are the recommended interpretation."""

    lone_match_rolls: bool = False
    button_first: bool = False
    ties_per_card: bool = False
    button_needs_cards: bool = False
    share_joins_after: bool = False


def build_policy(rules: HighRollerRules) -> RollPolicy:
    """Return the interpretation chosen in a rule set's settings (!H-2, !H-4, !H-3, !H-16, !H-12)."""
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

    Each player has one roll for each matching card, and the highest roll wins. `turns` are the rolls to come.
    If players tie for the highest roll, they roll again in the same order: once each, for the card of the
    best roll, or with `per_card` once for each card that they rolled for. Equal best rolls of one player are
    not a tie (!H-3). `tied` is set if the rolls to come break a tie.
    """

    turns: tuple[BoughtCard, ...]
    done: tuple[CardRoll, ...] = ()
    tied: bool = False
    per_card: bool = False

    @property
    def next(self) -> BoughtCard:
        """Return the card whose roll is next."""
        return self.turns[0]

    @property
    def players(self) -> tuple[str, ...]:
        """Return the players who are still in, in the order of their rolls."""
        cards = (*(roll_made.card for roll_made in self.done), *self.turns)
        return tuple(dict.fromkeys(card.player for card in cards))

    def may_decline(self) -> bool:
        """Return whether the next roll may be declined: every remaining player rolls at least once
        (H-WIN-1)."""
        player = self.next.player
        left = sum(card.player == player for card in self.turns)
        return left > 1 or any(roll_made.card.player == player for roll_made in self.done)

    def decline(self) -> "RollOff | CardRoll":
        """Skip the next roll (!H-17); return how the roll-off continues, or the roll that won."""
        return _next_state(self, self.done)

    def roll(self, total: int) -> "RollOff | CardRoll":
        """Handle the next roll; return how the roll-off continues, or the roll that won."""
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
    """Return which players the elimination throw leaves in the game (H-MATCH-1).

    `order` lists the seats clockwise from the button. The result is None if nobody matches, so the dice are
    thrown again (!H-1), the winning card if only one player matches (!H-2), and otherwise the roll-off: most
    matching cards first, tied players in order from the button, each player's rolls in a row (H-ORDER-1,
    !H-4). `policy` may choose another interpretation.
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
