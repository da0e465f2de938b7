"""What an outcome asks of a table's wager book at once: lines of the settle contract.

A correction gives the lines that hold in place of those of the outcome that it corrects. What decides nothing
(a review, a device's health) gives none.
"""

from collections.abc import Callable
from typing import Literal

from controller.model.outcomes import (
    BonusPaid,
    DealCalled,
    DealCorrected,
    DealVoid,
    GameStarted,
    GameVoid,
    Outcome,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
)
from controller.model.verdicts import Reason

GameName = Literal["craps", "roulette", "three_card", "high_roller"]
Asked = dict[str, object]
"""One request of the settle contract, as an object of its JSON line."""

CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
RESULTS = frozenset(
    {"roll.called", "roll.no_roll", "spin.called", "spin.no_spin", "deal.called", "deal.void"}
)
"""Outcomes that end an attempt: the attempt before can't be corrected after them."""


def asked_by(outcome: Outcome, game: GameName) -> list[Asked]:
    """Give the requests of an outcome to the table's game, in order."""
    return _GAMES[game](outcome)


def _craps(outcome: Outcome) -> list[Asked]:
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


def _roulette(outcome: Outcome) -> list[Asked]:
    match outcome.data:
        case SpinCalled(number=number) | SpinCorrected(number=str() as number):
            return [{"do": "spin", "number": number}]
        case SpinNoSpin(reasons=reasons) | SpinCorrected(reasons=reasons):
            return [{"do": "no_spin", "reason": _because(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _ if outcome.type == "bets.opened":
            # After a spin they are open again already; a dealer's own opening has no line but this one.
            return [{"do": "no_spin", "reason": "bets opened"}]
        case _:
            return []


def _three_card(outcome: Outcome) -> list[Asked]:
    match outcome.data:
        case DealCalled() as deal:
            return [_dealt(deal.hands, deal.dealer, deal.folds)]
        case DealCorrected(hands=dict() as hands, dealer=tuple() as dealer) as deal:
            return [_dealt(hands, dealer, deal.folds)]
        case DealVoid(reasons=reasons) | DealCorrected(reasons=reasons):
            return [{"do": "void", "reason": _because(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _:
            return []


def _dealt(hands: dict[str, tuple[str, ...]], dealer: tuple[str, ...], folds: tuple[str, ...]) -> Asked:
    """The table has counted the cards: a wager elsewhere was never dealt in, and fouls nobody's hand."""
    return {"do": "deal", "hands": hands, "dealer": dealer, "folds": folds, "undealt": "void"}


def _high_roller(outcome: Outcome) -> list[Asked]:
    match outcome.data:
        case GameStarted() as started:
            return [
                {
                    "do": "game",
                    "seats": started.seats,
                    "button": started.button,
                    "bonus_take": started.bonus_take,
                    "final": started.final,
                },
                *_bought(started),
            ]
        case RollCalled() as roll:
            return [_throw(roll.dice, roll.call, roll.player)]
        case RollCorrected(dice=(int(), int()) as dice) as roll:
            return [_throw(dice, roll.call, roll.player)]
        case RollNoRoll(reasons=reasons) | RollCorrected(reasons=reasons):
            return [{"do": "illegal", "reason": _because(reasons)}]
        case RollDeclined() as declined:
            return [{"do": "decline", "player": str(declined.player)}]
        case GameVoid(reasons=reasons):
            return [{"do": "void", "reason": _because(reasons)}]
        case BonusPaid(player=None):
            return [{"do": "end", "players": 0}]
        case _:
            return []


def _throw(dice: tuple[int, int], call: str | None, player: object) -> Asked:
    """The elimination roll is the button's, whoever throws it for him (!H-16)."""
    if call in ("elimination", "no_match") or not isinstance(player, str | int):
        return {"do": "throw", "dice": dice}
    return {"do": "throw", "dice": dice, "player": str(player)}


def _bought(started: GameStarted) -> list[Asked]:
    return [
        {
            "do": "bet",
            "id": f"{started.game}-{seat}-{place}",
            "player": seat,
            "card": total,
            "amount": started.card_cents,
        }
        for seat, totals in started.cards.items()
        for place, total in enumerate(totals, start=1)
    ]


def _because(reasons: tuple[Reason, ...]) -> str:
    return ", ".join(dict.fromkeys(reason.code for reason in reasons))


_GAMES: dict[GameName, Callable[[Outcome], list[Asked]]] = {
    "craps": _craps,
    "roulette": _roulette,
    "three_card": _three_card,
    "high_roller": _high_roller,
}
