"""The state of a craps table that its wagers depend on: the bets, the point, the shooter, and the hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from controller.games.craps.wagers.decisions import CRAPS, NATURALS, Ending, Endings, Faces
from controller.games.craps.wagers.paytable import BOX_NUMBERS, CrapsPayTable
from controller.settlement.paytable import Ratio


class EvaluatedRoll(NamedTuple):
    """A roll, evaluated against the current point."""

    total: int
    come_out: bool
    point_made: bool
    seven_out: bool


@dataclass(slots=True)
class Dice:
    """The table's dice and the current hand. `point` is None on a come-out roll (C34-DEF-2)."""

    point: int | None = None
    shooter: str | None = None
    rolls: int = 0
    """The number of rolls in this hand. A hand ends with a seven-out or when the dice are passed."""
    points_made: int = 0
    run_out: bool = False

    def throw(self, total: int) -> EvaluatedRoll:
        """Count a roll in the hand and evaluate it against the current point."""
        thrown = EvaluatedRoll(
            total,
            come_out=self.point is None,
            point_made=total == self.point,
            seven_out=total == 7 and self.point is not None,
        )
        self.rolls += 1
        self.points_made += thrown.point_made
        return thrown

    def move_point(self, thrown: EvaluatedRoll) -> None:
        """Set or clear the point. A seven-out also ends the hand. A run-out has no point (!34-16)."""
        if thrown.seven_out:
            self.new_hand(shooter=None)
        if thrown.point_made or thrown.seven_out:
            self.point = None
        elif thrown.come_out and thrown.total in BOX_NUMBERS and not self.run_out:
            self.point = thrown.total

    def is_same_shooter(self, player: str | None) -> bool:
        """Return whether this player is the current hand's shooter, who might not have been named yet."""
        if player is None:
            return False
        return player == self.shooter or (self.shooter is None and self.rolls > 0)

    def pass_to(self, player: str | None) -> None:
        """Pass the dice to a player, or to a shooter who has not been named yet (None). The point remains.

        The hand continues if its shooter is named only after the first roll, or is named again
        (CV1-SHARP-2). A new shooter ends a run-out (C34-CONT-4).
        """
        if not self.is_same_shooter(player):
            self.new_hand(player)
        elif player != self.shooter:
            self.shooter, self.run_out = player, False

    def new_hand(self, shooter: str | None) -> None:
        """Begin a hand. The point remains."""
        self.shooter, self.rolls, self.points_made, self.run_out = shooter, 0, 0, False


class SharpShooterEndings:
    """The endings of a Sharp Shooter bet, by the number of points made in the hand."""

    def __init__(self, table: CrapsPayTable) -> None:
        self._settings = table.settings
        self._bet = table.sharp_shooter

    def after(self, thrown: EvaluatedRoll, points: int) -> Ending | None:
        """Return the ending after a roll in a hand with `points` points; None if the bet stays up."""
        if thrown.seven_out:
            return self.by_points(points, "before the seven-out")
        crapped_out = thrown.come_out and thrown.total in CRAPS
        if crapped_out and self._settings.sharp_shooter_ends.value == "crapping_out":
            return self.by_points(points, "before crapping out")
        paid_early = self._settings.sharp_shooter_top.value == "at_once"
        if paid_early and thrown.point_made and self._bet and points == max(self._bet.pays):
            return self.by_points(points, "in the hand so far")
        return None

    def by_points(self, points: int, when: str) -> Ending | None:
        """Return the ending after a hand with `points` points; None if the table has no Sharp Shooter.

        `when` completes the reason's text.
        """
        if self._bet is None:
            return None
        counted = f"{points} {'point' if points == 1 else 'points'} made {when}"
        pay = self._bet.pays.get(min(points, max(self._bet.pays)))
        if pay is None:
            return Ending("lose", f"{self._bet.result}: {counted}")
        ratio = pay.ratio
        if self._settings.sharp_shooter_pays.value == "for_one":
            ratio = Ratio(ratio.pays - ratio.to, ratio.to)
        return Ending("win", f"{pay.rule}: {counted}, paid at {ratio}", ratio)


Spot = tuple[str, str, int | None, str | None, Faces | None]
"""A player's spot for chips: player, wager, number, the flat bet's id for odds, and the faces of a Hop."""


@dataclass(slots=True, kw_only=True)
class Bet:
    """A bet that is up. `stake_cents` is the current stake."""

    id: str
    player: str
    wager: str
    stake_cents: int
    endings: Endings
    """The effect of each roll on the bet. Empty for a Sharp Shooter, which is decided by the whole hand."""
    number: int | None = None
    """The bet's number. A line bet has none until a roll sets it."""
    base: str | None = None
    faces: Faces | None = None
    """The faces of a Hop, lower first."""
    original_cents: int = 0
    """The largest stake that the bet has had. It limits lay odds (!34-27)."""
    called_on: bool | None = None
    """True if the player called the bet on, False if off, None for the default."""
    call_lapses: bool = False
    """Whether the call ends when the next point is set."""
    off_on_come_out: bool = False
    stays_up: bool = False
    rides: bool = False

    @property
    def spot(self) -> Spot:
        """The spot where the bet's chips are placed."""
        return self.player, self.wager, self.number, self.base, self.faces

    def works(self, come_out: bool) -> bool:
        """Return whether the bet is on for a roll."""
        if self.called_on is None:
            return not (come_out and self.off_on_come_out)
        return self.called_on


@dataclass(slots=True)
class LoweredBet:
    """A Don't bet that was reduced or removed.

    The player may neither make nor raise a bet of this kind until a roll decides this bet (C34-MK-4).
    """

    player: str
    wager: str
    number: int | None
    """The bet's number; None before a roll sets it."""

    def decided_by(self, total: int) -> bool:
        """Apply a roll and return whether it decides the bet."""
        if self.number is not None:
            return total in (self.number, 7)
        if total in NATURALS or total in CRAPS:
            return True
        self.number = total
        return False


class Bets:
    """The bets that are up, by id. Each id is accepted only once, so a repeated request adds no bet."""

    def __init__(self) -> None:
        self.bets: dict[str, Bet] = {}
        self._taken: set[str] = set()
        self._made_this_roll: set[tuple[str, str]] = set()
        self._handed_back_this_roll: set[tuple[str, str]] = set()
        self._lowered: list[LoweredBet] = []

    def accepts_id(self, id: str) -> bool:  # noqa: A002 - the name in the contract
        """Return whether a new bet may have this id."""
        return id not in self._taken

    def put_up(self, bet: Bet) -> None:
        """Add a new bet."""
        self.bets[bet.id] = bet
        self._taken.add(bet.id)
        self._made_this_roll.add((bet.player, bet.wager))

    def take_down(self, bet: Bet) -> None:
        """Remove a bet that is decided or returned."""
        del self.bets[bet.id]

    def note_handed_back(self, bet: Bet) -> None:
        """Record that a bet of this kind has been handed back since the last roll."""
        self._handed_back_this_roll.add((bet.player, bet.wager))

    def made_this_roll(self, player: str, wager: str) -> bool:
        """Return whether a player has made a bet of this kind since the last roll."""
        return (player, wager) in self._made_this_roll

    def handed_back_this_roll(self, player: str, wager: str) -> bool:
        """Return whether a player has had a bet of this kind handed back since the last roll."""
        return (player, wager) in self._handed_back_this_roll

    def lower(self, bet: Bet) -> None:
        """Record that a Don't bet was reduced or removed."""
        self._lowered.append(LoweredBet(bet.player, bet.wager, bet.number))

    def has_lowered(self, player: str, wager: str) -> bool:
        """Return whether a player has lowered a bet of this kind that is still undecided."""
        return any(bet.player == player and bet.wager == wager for bet in self._lowered)

    @property
    def remembers(self) -> bool:
        """Whether there are undecided lowered bets, which a new book would not know about."""
        return bool(self._lowered)

    def next_roll(self, total: int) -> None:
        """Forget bets made or handed back since the last roll, and lowered bets that `total` decides."""
        self._made_this_roll.clear()
        self._handed_back_this_roll.clear()
        if self._lowered:
            self._lowered = [bet for bet in self._lowered if not bet.decided_by(total)]

    def on_spot(self, bet: Bet) -> int:
        """Return the total, in cents, of the player's other bets on the same spot."""
        spot, wager = bet.spot, bet.wager
        return sum(
            other.stake_cents
            for other in self.bets.values()
            if other.wager == wager and other.spot == spot and other.id != bet.id
        )

    def behind(self, base: str) -> list[Bet]:
        """Return the odds behind a flat bet, oldest first."""
        return [bet for bet in self.bets.values() if bet.base == base]

    def any_of(self, *wagers: str) -> bool:
        """Return whether any bet of these kinds is up."""
        return any(bet.wager in wagers for bet in self.bets.values())

    def __iter__(self) -> Iterator[Bet]:
        """Iterate over a snapshot of the bets, oldest first."""
        return iter(tuple(self.bets.values()))
