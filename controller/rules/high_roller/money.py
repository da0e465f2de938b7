"""The money of a game, and the Bonus Pot that games feed and three wins in a row, or the last game, empty."""

from typing import NamedTuple

import msgspec


class Split(NamedTuple):
    """A game's money in cents: `gross` is rake, Bonus Pot's share and prize together."""

    gross: int
    rake: int
    bonus: int
    prize: int


def split(
    gross: int, bonus_take: int, *, rake_percent: int, rake_above_bonus_cents: int | None = None
) -> Split:
    """Part a game's money (H-MONEY-1): the rake of the gross, then at most what it leaves (!H-7)."""
    rake = gross * rake_percent // 100
    bonus = min(bonus_take, gross - rake)
    if rake_above_bonus_cents is not None:
        bonus = min(bonus, max(0, rake - rake_above_bonus_cents))
    return Split(gross, rake, bonus, gross - rake - bonus)


class BonusPot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The Bonus Pot in cents, and who is on his way to it."""

    cents: int = 0
    winner: str | None = None
    in_a_row: int = 0

    def won(
        self, winner: str, share: int, *, final: bool, wins_needed: int, share_first: bool = True
    ) -> tuple["BonusPot", int]:
        """Put a game's share in; give the pot as it is then, and what the game's winner gets out.

        The pot goes, this share included unless the house says otherwise (!H-12), to the winner of so many
        games in a row (H-BONUS-1) and of the final game (H-CLOSE-1); pot and row then start again.
        """
        cents = self.cents + share
        in_a_row = self.in_a_row + 1 if winner == self.winner else 1
        if final or in_a_row >= wins_needed:
            return (BonusPot(), cents) if share_first else (BonusPot(cents=share), self.cents)
        return BonusPot(cents=cents, winner=winner, in_a_row=in_a_row), 0
