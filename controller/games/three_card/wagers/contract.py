"""What settlement needs to know of Three Card Poker: what outcomes ask of the book."""

from controller.games.three_card.wagers.book import ThreeCardBook
from controller.games.three_card.wagers.edges import report
from controller.games.three_card.wagers.paytable import ThreeCardPayTable
from controller.model.outcomes import DealCalled, DealCorrected, DealVoid, Outcome
from controller.model.rulesets import RuleSet
from controller.settlement.book import Refusal
from controller.settlement.edges import Report
from controller.settlement.wagers import LoadPayTable, Wagers, decided_by
from controller.settlement.wire import Asked, because


def asked_by(outcome: Outcome) -> list[Asked]:
    """Return what an outcome asks of the book, in order."""
    match outcome.data:
        case DealCalled() as deal:
            return [_dealt(deal.hands, deal.dealer, deal.folds)]
        case DealCorrected(hands=dict() as hands, dealer=tuple() as dealer) as deal:
            return [_dealt(hands, dealer, deal.folds)]
        case DealVoid(reasons=reasons) | DealCorrected(reasons=reasons):
            return [{"do": "void", "reason": because(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _:
            return []


def _dealt(hands: dict[str, tuple[str, ...]], dealer: tuple[str, ...], folds: tuple[str, ...]) -> Asked:
    """The table has counted the cards: a wager elsewhere was never dealt in, and fouls nobody's hand."""
    return {"do": "deal", "hands": hands, "dealer": dealer, "folds": folds, "undealt": "void"}


def _open(rules: RuleSet, load: LoadPayTable) -> ThreeCardBook:
    assert rules.deal is not None
    return ThreeCardBook(load(ThreeCardPayTable), rules.deal.equal_hands)


def _report(rules: RuleSet, load: LoadPayTable) -> Report:
    assert rules.deal is not None
    return report(load(ThreeCardPayTable), rules.deal.equal_hands)


def _is_play(asked: Asked) -> bool:
    """Play is wagered on cards that are out (T-DEAL-4)."""
    return asked.get("wager") == "play"


WAGERS = Wagers(
    pay_table=ThreeCardPayTable,
    open=_open,
    report=_report,
    asked_by=asked_by,
    closed=Refusal("T-DEAL-2", "cards are out; bet again when this deal is decided"),
    settled_at=decided_by("deal"),
    taken_while_closed=_is_play,
    tells=frozenset({"pair_plus", "played"}),
)
