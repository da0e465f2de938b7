"""What stands on a craps table: the bets that are up, and the dice with their point and shooter.

Bets are kept in the order they were made. The dice also keep the hand that a Sharp Shooter bet counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from controller.games.craps.wagers.decisions import CRAPS, NATURALS, Ending, Endings, Faces
from controller.games.craps.wagers.paytable import BOX_NUMBERS, CrapsPayTable
from controller.settlement.paytable import Ratio


class Thrown(NamedTuple):
    """What one roll is to the table, before it moves the point."""

    total: int
    come_out: bool
    point_made: bool
    seven_out: bool


@dataclass(slots=True)
class Dice:
    """The table's dice. `point` is None on a come-out roll (C34-DEF-2)."""

    point: int | None = None
    shooter: str | None = None
    rolls: int = 0
    """The rolls of this hand: one shooter's turn, from taking the dice to the seven-out."""
    points_made: int = 0
    run_out: bool = False

    def throw(self, total: int) -> Thrown:
        """Return what a roll means for the point, and count it in the hand."""
        thrown = Thrown(
            total,
            come_out=self.point is None,
            point_made=total == self.point,
            seven_out=total == 7 and self.point is not None,
        )
        self.rolls += 1
        self.points_made += thrown.point_made
        return thrown

    def move_point(self, thrown: Thrown) -> None:
        """Set or clear the point; a seven-out also ends the hand. A run-out sets no point (!34-16)."""
        if thrown.seven_out:
            self.new_hand(shooter=None)
        if thrown.point_made or thrown.seven_out:
            self.point = None
        elif thrown.come_out and thrown.total in BOX_NUMBERS and not self.run_out:
            self.point = thrown.total

    def is_same_shooter(self, player: str | None) -> bool:
        """Return whether this names the shooter of the hand under way, late or again."""
        if player is None:
            return False
        return player == self.shooter or (self.shooter is None and self.rolls > 0)

    def pass_to(self, player: str | None) -> None:
        """Pass the dice to a player, or to one who has not been named yet (None); the point stands.

        A hand begins with the first roll after a seven-out or a pass of the dice, so a name that arrives late
        or twice does not start one (CV1-SHARP-2). A new shooter ends a run-out (C34-CONT-4).
        """
        if not self.is_same_shooter(player):
            self.new_hand(player)
        elif player != self.shooter:
            self.shooter, self.run_out = player, False

    def new_hand(self, shooter: str | None) -> None:
        """Begin a hand; the point is kept."""
        self.shooter, self.rolls, self.points_made, self.run_out = shooter, 0, 0, False


class SharpShooterEndings:
    """When a Sharp Shooter bet ends, and how, by the points of the hand."""

    def __init__(self, table: CrapsPayTable) -> None:
        self._settings = table.settings
        self._bet = table.sharp_shooter

    def after(self, thrown: Thrown, points: int) -> Ending | None:
        """Return the ending after a roll, with the points the hand has made; None while the bet goes on."""
        if thrown.seven_out:
            return self.by_points(points, "the seven-out")
        crapped_out = thrown.come_out and thrown.total in CRAPS
        if crapped_out and self._settings.sharp_shooter_ends.value == "crapping_out":
            return self.by_points(points, "crapping out")
        at_once = self._settings.sharp_shooter_top.value == "at_once"
        if at_once and thrown.point_made and self._bet and points == max(self._bet.pays):
            return self.by_points(points, "the last row's point")
        return None

    def by_points(self, points: int, end: str) -> Ending | None:
        """Return the ending for a hand that is over with this many points made."""
        if self._bet is None:
            return None
        counted = f"{points} {'point' if points == 1 else 'points'} made before {end}"
        pay = self._bet.pays.get(min(points, max(self._bet.pays)))
        if pay is None:
            return Ending("lose", f"{self._bet.result}: {counted}")
        ratio = pay.ratio
        if self._settings.sharp_shooter_pays.value == "for_one":
            ratio = Ratio(ratio.pays - ratio.to, ratio.to)
        return Ending("win", f"{pay.rule}: {counted} pay {ratio}", ratio)


Spot = tuple[str, str, int | None, str | None, Faces | None]
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
    faces: Faces | None = None
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
