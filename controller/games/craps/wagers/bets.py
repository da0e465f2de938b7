"""The wager book: the bets that are up, in the order they were made."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.games.craps.wagers.decisions import CRAPS, NATURALS, Dice, Endings

Spot = tuple[str, str, int | None, str | None, Dice | None]
"""The spot of a player's chips: player, wager, number, flat bet that odds are behind, faces of a Hop."""


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
    faces: Dice | None = None
    """The faces of a Hop, the lower first."""
    original_cents: int = 0
    """The largest amount ever wagered on it, which limits lay odds (!34-27)."""
    called_on: bool | None = None
    """Called on or off by the player; None leaves it to the rules."""
    call_lapses: bool = False
    """Whether that call ends when the next point is set."""
    off_on_come_out: bool = False
    stays_up: bool = False
    rides: bool = False

    @property
    def spot(self) -> Spot:
        """Where it lies."""
        return self.player, self.wager, self.number, self.base, self.faces

    def works(self, come_out: bool) -> bool:
        """Return whether a roll counts for it."""
        if self.called_on is None:
            return not (come_out and self.off_on_come_out)
        return self.called_on


@dataclass(slots=True)
class Lowered:
    """A Don't bet that was lowered: none is made or raised in its place until it is decided (C34-MK-4)."""

    player: str
    wager: str
    number: int | None
    """The number that it waits for; None if it has none yet."""

    def decided_by(self, total: int) -> bool:
        """Follow the bet as it would stand after a roll; return whether the roll decides it."""
        if self.number is not None:
            return total in (self.number, 7)
        if total in NATURALS or total in CRAPS:
            return True
        self.number = total
        return False


class Bets:
    """Bets by id. An id is never accepted twice, so that a repeated request can't bet twice."""

    def __init__(self) -> None:
        self.bets: dict[str, Bet] = {}
        self._taken: set[str] = set()
        self._made_this_roll: set[tuple[str, str]] = set()
        self._taken_down_this_roll: set[tuple[str, str]] = set()
        self._lowered: list[Lowered] = []

    def takes(self, id: str) -> bool:  # noqa: A002 - the contract's own word
        """Return whether a bet may have this id."""
        return id not in self._taken

    def put_up(self, bet: Bet) -> None:
        """Enter a bet."""
        self.bets[bet.id] = bet
        self._taken.add(bet.id)
        self._made_this_roll.add((bet.player, bet.wager))

    def take_down(self, bet: Bet) -> None:
        """Remove a bet that is decided or returned."""
        del self.bets[bet.id]

    def note_handed_back(self, bet: Bet) -> None:
        """Remember until the next roll that a player had this kind of bet returned."""
        self._taken_down_this_roll.add((bet.player, bet.wager))

    def made_this_roll(self, player: str, wager: str) -> bool:
        """Return whether a player made such a bet since the last roll."""
        return (player, wager) in self._made_this_roll

    def handed_back_this_roll(self, player: str, wager: str) -> bool:
        """Return whether a player had such a bet returned since the last roll."""
        return (player, wager) in self._taken_down_this_roll

    def lower(self, bet: Bet) -> None:
        """Remember that a Don't bet was reduced or removed."""
        self._lowered.append(Lowered(bet.player, bet.wager, bet.number))

    def has_lowered(self, player: str, wager: str) -> bool:
        """Return whether a player has lowered such a bet that is not decided yet."""
        return any(one.player == player and one.wager == wager for one in self._lowered)

    @property
    def remembers(self) -> bool:
        """Whether the book contains more than its bets, so that a fresh one would not be equivalent."""
        return bool(self._lowered)

    def next_roll(self, total: int) -> None:
        """Forget who made what since the last roll, and the lowered bets that this one decides."""
        self._made_this_roll.clear()
        self._taken_down_this_roll.clear()
        if self._lowered:
            self._lowered = [one for one in self._lowered if not one.decided_by(total)]

    def on_spot(self, bet: Bet) -> int:
        """Return the cents that a bet's player has on its spot in addition to it."""
        spot, wager = bet.spot, bet.wager
        return sum(
            other.stake_cents
            for other in self.bets.values()
            if other.wager == wager and other.spot == spot and other.id != bet.id
        )

    def behind(self, base: str) -> list[Bet]:
        """Return the odds behind a flat bet."""
        return [bet for bet in self.bets.values() if bet.base == base]

    def any_of(self, *wagers: str) -> bool:
        """Return whether any bet of these kinds is up."""
        return any(bet.wager in wagers for bet in self.bets.values())

    def __iter__(self) -> Iterator[Bet]:
        """Iterate over the bets in the order they were made, as they stand now."""
        return iter(tuple(self.bets.values()))
