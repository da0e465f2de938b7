"""The effect of a roll on a High Roller game, and the data of the resulting outcomes."""

from collections.abc import Iterable
from typing import NamedTuple

from controller.games.high_roller.buying import next_game
from controller.games.high_roller.table import ROLLING, HighRollerState
from controller.machines.flat import InputRefused
from controller.machines.lifecycle import Result
from controller.machines.throws import Dice
from controller.model.outcomes import (
    BonusPaid,
    Data,
    GameStarted,
    GameVoid,
    GameWon,
    HighRollerCall,
    PlayerEliminated,
    Pot,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    Seat,
)
from controller.model.rulesets import HighRollerRules
from controller.model.verdicts import Notice, Reason
from controller.rules.high_roller.rolls import BoughtCard, CardRoll, RollOff, build_policy, eliminate, split

Publication = tuple[str, Data]
"""The type and data of an outcome to publish."""


class RollEffect(NamedTuple):
    """The effect of a roll or of a skipped roll: the call, the trigger, the new state and the outcomes."""

    call: HighRollerCall
    trigger: str
    state: HighRollerState
    outcomes: tuple[Publication, ...] = ()


def started(state: HighRollerState, bonus_take: int, rules: HighRollerRules) -> HighRollerState:
    """Return the state after buying. The policy decides whether a button without cards throws (!H-16)."""
    thrower = state.holders[0] if build_policy(rules).button_needs_cards else None
    return state.replace(stage="elimination", bonus_take=bonus_take, thrower=thrower)


def start_of(state: HighRollerState, rules: HighRollerRules) -> GameStarted:
    """Return the data of the game's start: the players, their cards and the money."""
    clockwise = state.clockwise
    return GameStarted(
        game=state.game,
        button=state.seat(state.button or clockwise[0]),
        seats=tuple(map(state.seat, clockwise)),
        cards={name: state.cards[name] for name in state.holders},
        card_cents=rules.card_cents,
        bonus_take=state.bonus_take,
        final=state.final,
    )


def roller(state: HighRollerState) -> str:
    """Return the player whose turn it is to roll (H-ROLL-1, H-ORDER-1)."""
    if state.roll_off is not None:
        return state.roll_off.next.player
    return state.thrower or state.clockwise[0]


def dealer_rolls(state: HighRollerState, name: str) -> tuple[Notice, ...]:
    """Return a notice if the player has left and the dealer rolls for that seat (!H-19)."""
    if name not in state.gone:
        return ()
    seen = f"seat {name} has left; the dealer rolls for that seat"
    return (Notice(code="dealer_rolls", seen=seen, rule="!H-19"),)


def remaining(state: HighRollerState) -> tuple[str, ...]:
    """Return the remaining players, in rolling order; before the roll-off, clockwise from the button."""
    if state.roll_off is not None:
        return state.roll_off.players
    return tuple(state.holders)


def effect_of(state: HighRollerState, total: int, rules: HighRollerRules) -> RollEffect:
    """Return the effect of a legal roll with this total."""
    if state.roll_off is not None:
        return _roll_off_effect(state, state.roll_off.roll(total), rules)
    found = eliminate(state.pitched_cards, total, state.clockwise, build_policy(rules))
    match found:
        case None if rules.no_match == "void_game":
            seen = f"nobody has a card that matches {total}"
            void = game_void(state, Reason(code="no_match", rule="!H-1", seen=seen), by="sensors", who=None)
            return RollEffect("no_match", "abandon", next_game(state, button_moves=False), (void,))
        case None:
            return RollEffect("no_match", "no_match", state)
        case RollOff():
            after = state.replace(roll_off=found)
            return RollEffect("elimination", "survivors", after, _out(state, found.players))
        case BoughtCard():
            out = _out(state, (found.player,))
            won = _won(state, found.player, total, rules)
            return RollEffect("elimination", "win", won.state, (*out, *won.outcomes))


def decline(state: HighRollerState, rules: HighRollerRules) -> RollEffect:
    """Return the effect of skipping the next roll (!H-17). Raise InputRefused if it can't be skipped."""
    roll_off = state.roll_off
    if roll_off is None:
        raise InputRefused("no_roll_off")
    if not rules.rolls_may_be_left_out:
        raise InputRefused("not_offered")
    if not roll_off.may_decline():
        raise InputRefused("must_roll")
    effect = _roll_off_effect(state, roll_off.decline(), rules)
    return effect._replace(trigger="decline") if effect.trigger == "roll" else effect


def game_void(state: HighRollerState, reason: Reason, *, by: str, who: str | None) -> Publication:
    """Return the outcome that declares a game void. All stakes are returned (!H-19)."""
    return "game.void", GameVoid(game=state.game, reasons=(reason,), by=by, who=who)


def _roll_off_effect(state: HighRollerState, found: RollOff | CardRoll, rules: HighRollerRules) -> RollEffect:
    if isinstance(found, CardRoll):
        won = _won(state, found.card.player, found.total, rules)
        return RollEffect("roll_off", "win", won.state, won.outcomes)
    after = state.replace(roll_off=found)
    if found.done or not found.tied or not _round_over(state):
        return RollEffect("roll_off", "roll", after)
    return RollEffect("tie", "tie", after, _out(state, found.players))


def _round_over(state: HighRollerState) -> bool:
    return state.roll_off is not None and len(state.roll_off.turns) == 1


def _out(state: HighRollerState, stay: tuple[str, ...]) -> tuple[Publication, ...]:
    were_in = set(remaining(state))
    out = tuple(state.seat(name) for name in state.clockwise if name in were_in and name not in stay)
    return (("player.eliminated", PlayerEliminated(game=state.game, players=out)),) if out else ()


class _WonGame(NamedTuple):
    state: HighRollerState
    outcomes: tuple[Publication, ...]


def _won(state: HighRollerState, winner: str, total: int, rules: HighRollerRules) -> _WonGame:
    money = split(
        state.sold * rules.card_cents,
        state.bonus_take,
        rake_percent=rules.rake_percent,
        rake_above_bonus_cents=rules.rake_above_bonus_cents,
    )
    pot, paid = state.pot.won(
        winner,
        money.bonus,
        final=state.final,
        wins_needed=rules.wins_for_bonus,
        share_first=rules.bonus_share_joins == "before",
    )
    outcomes: list[Publication] = [
        (
            "game.won",
            GameWon(
                game=state.game,
                player=state.seat(winner),
                total=total,
                pot=Pot(gross=money.gross, rake=money.rake, bonus=money.bonus, prize=money.prize),
                bonus_paid=paid,
            ),
        )
    ]
    if paid:
        won_before = state.pot.in_a_row if state.pot.winner == winner else 0
        in_a_row = won_before + 1 >= rules.wins_for_bonus
        bonus = BonusPaid(
            player=state.seat(winner), amount=paid, cause="in_a_row" if in_a_row else "final_game"
        )
        outcomes.append(("bonus.paid", bonus))
    after = state.replace(roll_off=None, pot=pot, over=state.over or state.final)
    return _WonGame(after, tuple(outcomes))


def called(
    result: Result[Dice],
    before: HighRollerState,
    after: HighRollerState,
    call: HighRollerCall,
    outcomes: Iterable[Publication],
) -> RollCalled:
    """Return the data of a valid roll: its thrower, the remaining players and the next player.

    `outcomes` are the outcomes that follow the roll.
    """
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
        remaining=_remaining(after, outcomes),
        next_player=_next_player(after),
    )


def illegal(result: Result[Dice]) -> RollNoRoll:
    """Return the data of an illegal roll. The same player rolls again (H-LEGAL-4)."""
    return RollNoRoll(
        roll=result.number,
        reasons=result.reasons,
        by=result.by or "sensors",
        who=result.who,
        notices=result.notices,
    )


def under_review(result: Result[Dice]) -> RollReview:
    """Return the data of a roll that needs a person's ruling."""
    return RollReview(roll=result.number, reasons=result.reasons, dice=result.value, notices=result.notices)


def corrected(
    result: Result[Dice],
    before: HighRollerState,
    after: HighRollerState,
    call: HighRollerCall | None,
    *,
    corrects: str,
    ruling: str,
    outcomes: Iterable[Publication],
) -> RollCorrected:
    """Return the data of a corrected roll. `outcomes` are the outcomes that follow it."""
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
        remaining=_remaining(after, outcomes),
        next_player=_next_player(after),
    )


def _remaining(state: HighRollerState, outcomes: Iterable[Publication]) -> tuple[Seat, ...]:
    winner = next((data.player for _, data in outcomes if isinstance(data, GameWon)), None)
    return tuple(map(state.seat, remaining(state))) if winner is None else (winner,)


def _next_player(state: HighRollerState) -> Seat | None:
    return state.seat(roller(state)) if state.stage in ROLLING else None
