"""What a craps game's dice stand at, and the requests that bring a fresh game with an empty book there."""

from collections.abc import Sequence

from controller.games.craps.wagers.dice import Dice
from controller.games.craps.wagers.requests import NewShooter, Roll, RunOut
from controller.settlement.wire import Request
from controller.settlement_service.asking import Asked

_PAIRS = {4: (1, 3), 5: (1, 4), 6: (1, 5), 8: (2, 6), 9: (3, 6), 10: (4, 6)}
_NATURAL = (3, 4)


def follow(dice: Dice, request: Request) -> None:
    """Take a granted request."""
    match request:
        case Roll(dice=faces):
            dice.move_point(dice.throw(sum(faces)))
        case NewShooter(player=player):
            dice.take(player)
        case RunOut(on=on):
            dice.run_out = on
        case _:
            pass


def is_no_news(dice: Dice, request: Request) -> bool:
    """Return whether the table only repeats who has the dice (that must not end a hand), or no run-out."""
    match request:
        case NewShooter(player=None):
            return not dice.rolls and dice.shooter is None
        case NewShooter(player=player):
            return player == dice.shooter
        case RunOut(on=on):
            return not on and not dice.run_out
        case _:
            return False


def prelude_of(dice: Dice) -> Sequence[Asked]:
    """Give the requests that bring a fresh game without bets to this state of the dice.

    Points that the hand has made are left out: they count for Sharp Shooter bets alone, which are taken only
    before a hand's first roll.
    """
    shooter: list[Asked] = [{"do": "new_shooter", "player": dice.shooter}] if dice.shooter is not None else []
    point: list[Asked] = [{"do": "roll", "dice": _PAIRS[dice.point]}] if dice.point is not None else []
    if not dice.rolls:
        passed: list[Asked] = [{"do": "new_shooter"}] if point else []
        return [*point, *passed, *shooter]
    return [*shooter, *(point or [{"do": "roll", "dice": _NATURAL}])]
