"""The wager book: the bets that are up, in the order they were made."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.settlement.craps.decisions import Endings


@dataclass(slots=True, kw_only=True)
class Bet:
    """One bet that is up. `stake_cents` is what is at risk now."""

    id: str
    player: str
    wager: str
    stake_cents: int
    endings: Endings
    """What each roll does to it; empty for a Sharp Shooter, which the hand decides."""
    number: int | None = None
    """A line bet's own number once it has one, or the number that its odds or its place are on."""
    base: str | None = None
    called_on: bool | None = None
    """Called on or off by the player; None leaves it to the rules."""
    off_on_come_out: bool = False
    stays_up: bool = False
    rides: bool = False
    lowered: bool = False

    def works(self, come_out: bool) -> bool:
        """Say whether a roll counts for it; a call stands until it is changed (!34-18)."""
        if self.called_on is None:
            return not (come_out and self.off_on_come_out)
        return self.called_on


class Book:
    """Bets by id. An id is never taken twice, so that a repeated request can't bet twice."""

    def __init__(self) -> None:
        self.bets: dict[str, Bet] = {}
        self._taken: set[str] = set()
        self._made_this_roll: set[tuple[str, str]] = set()

    def takes(self, id: str) -> bool:  # noqa: A002 - the contract's own word
        """Say whether a bet may have this id."""
        return id not in self._taken

    def put_up(self, bet: Bet) -> None:
        """Enter a bet."""
        self.bets[bet.id] = bet
        self._taken.add(bet.id)
        self.note(bet)

    def take_down(self, bet: Bet) -> None:
        """Strike out a bet that is decided or handed back."""
        del self.bets[bet.id]

    def note(self, bet: Bet) -> None:
        """Remember until the next roll that a player made, or handed back, this kind of bet."""
        self._made_this_roll.add((bet.player, bet.wager))

    def made_this_roll(self, player: str, wager: str) -> bool:
        """Say whether a player made or handed back such a bet since the last roll."""
        return (player, wager) in self._made_this_roll

    def next_roll(self) -> None:
        """Forget who made what since the last roll."""
        self._made_this_roll.clear()

    def behind(self, base: str) -> list[Bet]:
        """Give the odds behind a flat bet."""
        return [bet for bet in self.bets.values() if bet.base == base]

    def any_of(self, *wagers: str) -> bool:
        """Say whether any bet of these kinds is up."""
        return any(bet.wager in wagers for bet in self.bets.values())

    def __iter__(self) -> Iterator[Bet]:
        """Go through the bets in the order they were made, as they stand now."""
        return iter(tuple(self.bets.values()))
