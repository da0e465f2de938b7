"""What the dice have done: the point, the shooter, and the hand that a Sharp Shooter bet counts."""

from dataclasses import dataclass
from typing import NamedTuple

from controller.games.craps.wagers.decisions import CRAPS, Ending
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
        """Give the dice to a player, or to one who is not named yet (None); the point is kept.

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
