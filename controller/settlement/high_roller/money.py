"""The money of a game, and the Bonus Pot that games feed and three wins in a row, or the last game, empty."""

from typing import NamedTuple

from controller.settlement.high_roller.paytable import HighRollerSettings


class Split(NamedTuple):
    """A game's money in cents: `gross` is rake, Bonus Pot's share and prize together."""

    gross: int
    rake: int
    bonus: int
    prize: int


def split(gross: int, bonus_take: int, settings: HighRollerSettings) -> Split:
    """Part a game's money (H-MONEY-1): the rake of the gross, then at most what it leaves."""
    rake = gross * settings.rake_percent.value // 100
    bonus = min(bonus_take, gross - rake)
    margin = settings.rake_above_bonus_cents.value
    if margin is not None:
        bonus = min(bonus, max(0, rake - margin))
    return Split(gross, rake, bonus, gross - rake - bonus)


class BonusPot:
    """The Bonus Pot, and who is on his way to it."""

    def __init__(self, wins_needed: int) -> None:
        self._wins_needed = wins_needed
        self._cents = 0
        self._winner: str | None = None
        self._in_a_row = 0

    def won(self, winner: str, share: int, *, final: bool) -> int:
        """Put a game's share in, and give what its winner gets out.

        The pot goes, this share included (!H-12), to the winner of so many games in a row (H-BONUS-1) and
        to the winner of the final game (H-CLOSE-1); pot and streak are then at nothing again.
        """
        self._cents += share
        self._in_a_row = self._in_a_row + 1 if winner == self._winner else 1
        self._winner = winner
        return self.empty() if final or self._in_a_row >= self._wins_needed else 0

    def empty(self) -> int:
        """Take everything out, and forget the streak."""
        taken, self._cents = self._cents, 0
        self._winner, self._in_a_row = None, 0
        return taken
