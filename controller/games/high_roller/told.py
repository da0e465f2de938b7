"""What is told of a High Roller roll: called, illegal, under review or corrected. All of it pure."""

from controller.games.high_roller.rolls import dealer_rolls, remaining, roller
from controller.games.high_roller.table import ROLLING, HighRollerState
from controller.machines.results import Result
from controller.machines.throws import Dice
from controller.model.outcomes import (
    HighRollerCall,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    Seat,
)


def called(
    result: Result[Dice], before: HighRollerState, after: HighRollerState, call: HighRollerCall
) -> RollCalled:
    """Return what is published of a roll that counts: who threw it, who is still in, and who rolls next."""
    assert result.value is not None
    thrower = roller(before)
    return RollCalled(
        roll=result.number,
        dice=result.value,
        total=sum(result.value),
        phase=None,
        point=None,
        call=call,
        point_after=None,
        shooter=None,
        grade=result.grade,
        notices=(*result.notices, *dealer_rolls(before, thrower)),
        by=result.by,
        who=result.who,
        game=before.game,
        player=before.seat(thrower),
        remaining=_remaining(after),
        next_player=_next_player(after),
    )


def illegal(result: Result[Dice]) -> RollNoRoll:
    """Return what is published of a roll that the same player throws again (H-LEGAL-4)."""
    return RollNoRoll(
        roll=result.number,
        reasons=result.reasons,
        by=result.by or "sensors",
        who=result.who,
        notices=result.notices,
    )


def under_review(result: Result[Dice]) -> RollReview:
    """Return what is published of a roll that a person must rule on."""
    return RollReview(roll=result.number, reasons=result.reasons, dice=result.value, notices=result.notices)


def corrected(
    result: Result[Dice],
    before: HighRollerState,
    after: HighRollerState,
    call: HighRollerCall | None,
    *,
    corrects: str,
    ruling: str,
) -> RollCorrected:
    """Return what is published of a roll in place of the one just undone, and of all that follows."""
    return RollCorrected(
        roll=result.number,
        corrects=corrects,
        ruling=ruling,
        by=result.by or "",
        who=result.who,
        dice=result.value,
        total=sum(result.value) if result.value else None,
        call=call,
        reasons=result.reasons,
        game=before.game,
        player=before.seat(roller(before)),
        remaining=_remaining(after),
        next_player=_next_player(after),
    )


def _remaining(state: HighRollerState) -> tuple[Seat, ...]:
    return tuple(map(state.seat, remaining(state)))


def _next_player(state: HighRollerState) -> Seat | None:
    return state.seat(roller(state)) if state.stage in ROLLING else None
