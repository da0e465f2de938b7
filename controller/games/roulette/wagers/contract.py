"""What settlement needs to know of roulette: what outcomes ask of the book."""

from controller.games.roulette.wagers.book import RouletteBook
from controller.games.roulette.wagers.paytable import RoulettePayTable, report
from controller.model.outcomes import Outcome, SpinCalled, SpinCorrected, SpinNoSpin
from controller.settlement.book import Refusal
from controller.settlement.wagers import Wagers, decided_by
from controller.settlement.wire import Asked, because


def asked_by(outcome: Outcome) -> list[Asked]:
    """Return what an outcome asks of the book, in order."""
    match outcome.data:
        case SpinCalled(number=number) | SpinCorrected(number=str() as number):
            return [{"do": "spin", "number": number}]
        case SpinNoSpin(reasons=reasons) | SpinCorrected(reasons=reasons):
            return [{"do": "no_spin", "reason": because(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _ if outcome.type == "bets.opened":
            # After a spin they are open again already; a dealer's own opening has no line but this one.
            return [{"do": "no_spin", "reason": "bets opened"}]
        case _:
            return []


WAGERS = Wagers(
    pay_table=RoulettePayTable,
    open=lambda _, load: RouletteBook(load(RoulettePayTable)),
    report=lambda _, load: report(load(RoulettePayTable)),
    asked_by=asked_by,
    closed=Refusal("R-IRR-4", "No More Bets was called; bet again when this spin is decided"),
    settled_at=decided_by("spin"),
)
