"""What High Roller answers besides decided cards: a game's money, and a Bonus Pot that becomes rake."""

from typing import Literal

from controller.settlement.game import Line


class GameMoney(Line, frozen=True, kw_only=True):
    """Where a game's money went, in cents: gross = rake + bonus + prize; the Bonus Pot gave `bonus_paid`."""

    id: str
    wager: Literal["pot"] = "pot"
    gross: int
    rake: int
    bonus: int
    prize: int
    bonus_paid: int
    winner: str


class PotRecorded(Line, frozen=True, kw_only=True):
    """The Bonus Pot, in cents, recorded as rake at the end of the hours of operation (H-CLOSE-2)."""

    id: str
    do: Literal["end"] = "end"
    status: Literal["recorded"] = "recorded"
    rake: int
    rule: Literal["H-CLOSE-2"] = "H-CLOSE-2"
