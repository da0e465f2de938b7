"""The ledger's accounts, and movements between them that always sum to nothing."""

from collections.abc import Iterator, Mapping

CAGE = "cage"
"""Where chips come from and go to: it stands for the money outside."""


class Unbalanced(Exception):
    """A movement that would make or lose money; a defect, never booked."""


def player_account(player: str) -> str:
    """Name a player's account."""
    return f"player:{player}"


def house(table: str) -> str:
    """Name the account from which a table pays winnings and to which lost stakes go."""
    return f"house:{table}"


def at_risk(table: str) -> str:
    """Name the account of the stakes that are up."""
    return f"at_risk:{table}"


def breakage(table: str) -> str:
    """Name the account of what rounding down left with the house (rules.md 9.3)."""
    return f"breakage:{table}"


def rake(table: str) -> str:
    """Name the account of a High Roller table's rake."""
    return f"rake:{table}"


def bonus_pot(table: str) -> str:
    """Name the account of a High Roller table's Bonus Pot."""
    return f"bonus_pot:{table}"


class Movement:
    """Cents by account. What one account gets another gives."""

    def __init__(self, legs: Mapping[str, int] | None = None) -> None:
        """Begin with these legs, or none."""
        self._legs: dict[str, int] = dict(legs or {})

    def move(self, cents: int, source: str, to: str) -> None:
        """Move cents from one account to another; a negative amount goes the other way."""
        self._add(source, -cents)
        self._add(to, cents)

    def add(self, other: "Movement", sign: int = 1) -> None:
        """Add another movement to this one, or (sign -1) subtract it."""
        for account, cents in other.legs():
            self._add(account, sign * cents)

    def legs(self) -> Iterator[tuple[str, int]]:
        """Yield the accounts that change, and by how much."""
        return ((account, cents) for account, cents in self._legs.items() if cents)

    def balanced(self) -> dict[str, int]:
        """Return the legs to book; raises Unbalanced where they do not sum to nothing."""
        legs = dict(self.legs())
        if sum(legs.values()):
            raise Unbalanced(f"a movement of {legs} is not balanced")
        return legs

    def _add(self, account: str, cents: int) -> None:
        self._legs[account] = self._legs.get(account, 0) + cents
