"""What settlement needs to know of craps: what outcomes ask of the book, and where the dice stand."""

from collections.abc import Mapping, Sequence
from typing import Literal

from controller.games.craps.wagers.book import CrapsBook
from controller.games.craps.wagers.dice import Dice
from controller.games.craps.wagers.edges import report
from controller.games.craps.wagers.paytable import CrapsPayTable
from controller.games.craps.wagers.requests import NewShooter, Roll, RunOut
from controller.model.outcomes import Outcome, RollCalled, RollCorrected, RollNoRoll, ShooterChanged
from controller.settlement.book import Refusal
from controller.settlement.wagers import Ended, Wagers
from controller.settlement.wire import Asked, Request

_PAIRS = {4: (1, 3), 5: (1, 4), 6: (1, 5), 8: (2, 6), 9: (3, 6), 10: (4, 6)}
"""A throw that sets each point."""
_NATURAL = (3, 4)


def asked_by(outcome: Outcome) -> list[Asked]:
    """Return what an outcome asks of the book, in order."""
    match outcome.data:
        case RollCalled(dice=dice, run_out=run_out):
            return [*_run_out(run_out), {"do": "roll", "dice": dice}]
        case RollCorrected(dice=(int(), int()) as dice, run_out=run_out):
            return [*_run_out(run_out), {"do": "roll", "dice": dice}]
        case RollNoRoll() | RollCorrected():
            return [{"do": "no_roll"}]
        case ShooterChanged(shooter=str() | int() as shooter):
            return [{"do": "new_shooter", "player": str(shooter)}]
        case ShooterChanged(shooter=None, cause="pass_dice" | "craps"):
            return [{"do": "new_shooter"}]
        case _:
            return []


def _run_out(told: object) -> list[Asked]:
    """The table says of each roll whether it was thrown in a run-out, which sets no point (!34-16)."""
    return [{"do": "run_out", "on": told, "by_table": True}] if isinstance(told, bool) else []


class DiceCourse:
    """What the dice stand at: the point, who has them, and how far his hand has come."""

    def __init__(self, dice: Dice | None = None) -> None:
        """Begin with these dice, or at a come-out roll of nobody."""
        self.dice = dice or Dice()

    @property
    def point(self) -> int | None:
        """The point that is on."""
        return self.dice.point

    @property
    def shooter(self) -> str | None:
        """The player who has the dice."""
        return self.dice.shooter

    def follow(self, request: Request) -> None:
        """Note a request that was granted."""
        match request:
            case Roll(dice=faces):
                self.dice.move_point(self.dice.throw(sum(faces)))
            case NewShooter(player=player):
                self.dice.take(player)
            case RunOut(on=on):
                self.dice.run_out = on
            case _:
                pass

    def is_no_news(self, request: Request) -> bool:
        """Return whether the table only repeats who has the dice (which ends no hand), or no run-out."""
        match request:
            case NewShooter(player=None):
                return not self.dice.rolls and self.dice.shooter is None
            case NewShooter(player=player):
                return player == self.dice.shooter
            case RunOut(on=on):
                return not on and not self.dice.run_out
            case _:
                return False

    def names_shooter(self, request: Request) -> bool:
        """Return whether this says who has the dice."""
        return isinstance(request, NewShooter)

    def prelude(self) -> Sequence[Asked]:
        """Return the requests that bring a fresh game without bets to these dice.

        Points that the hand has made are left out: they count for Sharp Shooter bets alone, which are taken
        only before a hand's first roll.
        """
        dice = self.dice
        named = dice.shooter is not None
        shooter: list[Asked] = [{"do": "new_shooter", "player": dice.shooter}] if named else []
        point: list[Asked] = [{"do": "roll", "dice": _PAIRS[dice.point]}] if dice.point is not None else []
        if not dice.rolls:
            passed: list[Asked] = [{"do": "new_shooter"}] if point else []
            return [*point, *passed, *shooter]
        return [*shooter, *(point or [{"do": "roll", "dice": _NATURAL}])]


def _settled_at(ended: Ended) -> Sequence[Asked] | None:
    """Each roll that leaves neither a bet nor a Sharp Shooter's points behind, but in a run-out."""
    rolled = any(asked["do"] == Roll.__struct_config__.tag for asked in ended.asked)
    in_run_out = isinstance(ended.course, DiceCourse) and ended.course.dice.run_out
    return ended.course.prelude() if rolled and not (in_run_out or ended.remembers) else None


def _course_after(outcome: Outcome, players: Mapping[str, str]) -> Sequence[Asked]:
    """Return what brings a fresh game to where the table says it is after this outcome."""
    dice = Dice()
    if isinstance(roll := outcome.data, RollCalled) and roll.phase is not None:
        goes_on = roll.call != "seven_out" and roll.shooter is not None
        shooter = players[str(roll.shooter)] if goes_on else None
        dice = Dice(point=roll.point_after, shooter=shooter, rolls=int(goes_on))
    return tuple(DiceCourse(dice).prelude())


def _point_after(outcome: Outcome) -> int | Literal["off"] | None:
    match outcome.data:
        case RollCalled(point_after=point) | RollCorrected(dice=(_, _), point_after=point):
            return "off" if point is None else point
        case _:
            return None


WAGERS = Wagers(
    pay_table=CrapsPayTable,
    open=lambda _, load: CrapsBook(load(CrapsPayTable)),
    report=lambda _, load: report(load(CrapsPayTable)),
    asked_by=asked_by,
    closed=Refusal("C34-MK-1a", "the dice are out; bet and change bets once they open again"),
    settled_at=_settled_at,
    course=DiceCourse,
    course_after=_course_after,
    point_after=_point_after,
    takes_late=True,
    tells=frozenset({"line_bet"}),
)
