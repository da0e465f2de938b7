"""What settlement needs to know of High Roller: what outcomes ask of the book, and whose money it is."""

from collections.abc import Iterator, Sequence

from controller.games.high_roller.wagers.book import HighRollerBook
from controller.games.high_roller.wagers.paytable import HighRollerPayTable, report
from controller.model.outcomes import (
    BonusPaid,
    GameStarted,
    GameVoid,
    Outcome,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
)
from controller.model.rulesets import HighRollerRules, RuleSet
from controller.rules.high_roller.rolls import policy_of
from controller.settlement.book import PotRecorded, PotShared, Refusal
from controller.settlement.wagers import Differing, Ended, LoadPayTable, PayTableDiffers, Wagers
from controller.settlement.wire import Asked, because

SHARED_FIGURES = (
    "card_cents",
    "cards_per_player",
    "decks",
    "rake_percent",
    "bonus_most_cents",
    "bonus_take_cents",
    "rake_above_bonus_cents",
    "wins_for_bonus",
)
"""The figures that its rule set and its pay table both hold, by the same names."""


def asked_by(outcome: Outcome) -> list[Asked]:
    """Return what an outcome asks of the book, in order."""
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
            return [{"do": "illegal", "reason": because(reasons)}]
        case RollDeclined() as declined:
            return [{"do": "decline", "player": str(declined.player)}]
        case GameVoid(reasons=reasons):
            return [{"do": "void", "reason": because(reasons)}]
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


def _open(rules: RuleSet, load: LoadPayTable) -> HighRollerBook:
    assert rules.high_roller is not None
    table = load(HighRollerPayTable)
    if differing := tuple(_differing(rules.high_roller, table)):
        raise PayTableDiffers(differing)
    return HighRollerBook(table, policy_of(rules.high_roller))


def _differing(rules: HighRollerRules, table: HighRollerPayTable) -> Iterator[Differing]:
    for key in SHARED_FIGURES:
        played, paid = getattr(rules, key), getattr(table.settings, key).value
        if played != paid:
            yield Differing("high_roller", key, played, paid)


def _settled_at(ended: Ended) -> Sequence[Asked] | None:
    """Each end at which Bonus Pot and row of wins are nothing again (H-BONUS-1, H-CLOSE-1, H-CLOSE-2)."""
    emptied = any(
        isinstance(line, PotRecorded) or (isinstance(line, PotShared) and line.bonus_paid > 0)
        for line in ended.lines
    )
    return () if emptied else None


WAGERS = Wagers(
    pay_table=HighRollerPayTable,
    open=_open,
    report=lambda _, load: report(load(HighRollerPayTable)),
    asked_by=asked_by,
    closed=Refusal("H-REBUY-1", "the dice are rolling; cards are bought again before the next game"),
    settled_at=_settled_at,
    bought_at_table=Refusal(
        "H-BET-1", "cards are bought at the table, which reports them; do not enter purchases here"
    ),
    begins_anew=False,
)
