"""The wager book of Three Card Poker, which accepts and decides the wagers on each position."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta

from controller.games.three_card.wagers.edges import report
from controller.games.three_card.wagers.paytable import (
    Card,
    EqualHands,
    LimitedWager,
    Showdown,
    Stake,
    ThreeCardPayTable,
    card,
)
from controller.model.outcomes import DealCalled, DealCorrected, DealVoid, Outcome
from controller.model.rulesets import RuleSet
from controller.settlement.book import (
    BOOK_ID,
    AnswerLine,
    Bonus,
    Book,
    Cents,
    Increase,
    RawRequest,
    Reduce,
    Refusal,
    Remove,
    Request,
    format_reasons,
    pending,
)
from controller.settlement.paytable import BreakageLedger, Report
from controller.settlement.wagers import LoadPayTable, Wagers, decided_by

Seat = str | int
CardText = Annotated[str, Meta(pattern=r"^[2-9TJQKA][cdhs]\Z")]


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A wager on a position: ante, pair_plus, side or, once the cards have been seen, play."""

    id: str
    seat: Seat
    wager: str
    amount: Cents
    player: str = ""


class Close(Request, frozen=True, kw_only=True, tag="close"):
    """Close betting, after the dealer's call or the first card. Only Play is accepted afterwards."""


class Deal(Request, frozen=True, kw_only=True, tag="deal"):
    """The cards of a complete deal by position, and the folded positions.

    `undealt` says how to treat a wager on a position without a hand. With `irregular`, cards are missing and
    the deal is void for all positions (T-IRR-1). With `void`, the position was not dealt in and only the
    wagers on it are returned.
    """

    hands: dict[str, tuple[CardText, ...]]
    dealer: tuple[CardText, ...]
    folds: tuple[Seat, ...] = ()
    undealt: Literal["irregular", "void"] = "irregular"


class Void(Request, frozen=True, kw_only=True, tag="void"):
    """Void the deal and return all stakes."""

    reason: str = ""


CARDS_EACH = 3

_BEFORE_THE_CARDS: tuple[LimitedWager, ...] = ("ante", "pair_plus", "side")
_STANDS = Refusal(
    "T-DEAL-4", "a wager stays up until the deal is decided; only a fold forfeits it before then"
)
_UNKNOWN = Refusal(BOOK_ID, "no wager with this id is up; name an accepted wager that is still undecided")
_DUPLICATE_ID = Refusal(BOOK_ID, "a wager with this id has already been accepted; give each wager its own id")
_BONUS_ID = Refusal(BOOK_ID, f"ids that end in {Bonus.ENDING} are for Ante Bonuses; use a different id")
_LATE = Refusal("T-DEAL-2", "betting has closed for this deal; bet again before the next deal")
_NO_ANTE = Refusal("T-DEAL-8", "the Ante is mandatory; bet the ante on this position first")
_NO_PAIR_PLUS = Refusal(
    "T-SIDE-1", "the side bet goes on top of Pair Plus; bet pair_plus on this position first"
)
_NOTHING_TO_PLAY = Refusal("T-ANTE-2", "Play needs an Ante, and there is none on this position")


class ThreeCardBook(Book):
    """The wager book of one Three Card Poker table. Betting is open at the start and after each deal."""

    def __init__(self, table: ThreeCardPayTable, equal: EqualHands = "push") -> None:
        """Settle with this pay table. `equal` is the rule set's policy for equal hands (!T-3)."""
        self._settings = table.settings
        self._limits = dict(table.settings.limits_cents)
        self._positions: dict[str, dict[str, Stake]] = {}
        self._players: dict[str, str] = {}
        """The known players, by position."""
        self._order: list[Stake] = []
        self._ids: set[str] = set()
        self._closed = False
        self._breakage = BreakageLedger()
        self._showdown = Showdown(table, self._breakage, equal)

    @property
    def vocabulary(self) -> Sequence[type[Request]]:
        """The requests of a Three Card Poker table."""
        return (Bet, Increase, Reduce, Remove, Close, Deal, Void)

    @property
    def breakage_cents(self) -> Fraction:
        """The exact amount, in cents, that the house has kept by rounding winnings down."""
        return self._breakage.total_cents

    @property
    def without_pair_plus(self) -> tuple[str, ...]:
        """The positions with an Ante but without Pair Plus. The dealer names them (T-DEAL-2b)."""
        lacking = (
            seat for seat, wagers in self._positions.items() if "ante" in wagers and "pair_plus" not in wagers
        )
        return tuple(sorted(lacking, key=_left_to_right))

    @property
    def played(self) -> tuple[str, ...]:
        """The positions with Play. They can no longer fold (T-DEAL-4)."""
        playing = (seat for seat, wagers in self._positions.items() if "play" in wagers)
        return tuple(sorted(playing, key=_left_to_right))

    def apply(self, request: Request) -> list[AnswerLine]:
        """Handle a request and return its answer."""
        match request:
            case Bet():
                return self._bet(request)
            case Increase() | Reduce() | Remove():
                return [self._refuse_change(request)]
            case Close():
                self._closed = True
            case Deal():
                return self._deal(request)
            case Void():
                return self._void(f"T-IRR-1: {request.reason or 'the deal is void'}")
            case _:
                raise TypeError(f"{type(request).__name__} is not a request of a Three Card Poker table")
        return []

    def finish(self) -> list[AnswerLine]:
        """Return a line for each undecided wager, oldest first."""
        return [pending(stake.id, stake.wager, stake.cents) for stake in self._order]

    def _bet(self, bet: Bet) -> list[AnswerLine]:
        if bet.id in self._ids:
            return [_DUPLICATE_ID.reject(bet.id, bet.wager, bet.amount)]
        if bet.id.endswith(Bonus.ENDING):
            return [_BONUS_ID.reject(bet.id, bet.wager, bet.amount)]
        seat = str(bet.seat)
        position = self._positions.get(seat, {})
        refusal = self._refusal(bet, seat, position)
        if refusal:
            return [refusal.reject(bet.id, bet.wager, bet.amount)]
        stake = Stake(bet.id, bet.wager, bet.amount)
        self._ids.add(bet.id)
        self._order.append(stake)
        self._positions.setdefault(seat, {})[bet.wager] = stake
        if bet.player:
            self._players[seat] = bet.player
        if bet.wager == "play":
            # A player makes Play after seeing the cards, so betting on the deal is over.
            self._closed = True
        return []

    def _refusal(self, bet: Bet, seat: str, position: dict[str, Stake]) -> Refusal | None:
        if refusal := self._not_own(bet.player, seat):
            return refusal
        if bet.wager in position:
            existing = position[bet.wager]
            return Refusal(
                "T-DEAL-1",
                f"position {seat} already has its {bet.wager} ({existing.id}, {existing.cents} cents)",
            )
        if bet.wager == "play":
            return _play_refusal(bet, position.get("ante"))
        limits = next((self._limits[wager] for wager in _BEFORE_THE_CARDS if wager == bet.wager), None)
        if limits is None:
            known = ", ".join(_BEFORE_THE_CARDS)
            return Refusal(
                "T-DEAL-1", f"there is no wager {bet.wager!r} at this table; choose one of {known} and play"
            )
        if self._closed:
            return _LATE
        if bet.wager != "ante" and "ante" not in position and self._settings.ante_required.value:
            return _NO_ANTE
        if bet.wager == "side" and "pair_plus" not in position and self._settings.side_needs_pair_plus.value:
            return _NO_PAIR_PLUS
        if not limits.includes(bet.amount):
            return Refusal(limits.rule, f"{bet.wager} must be {limits}; found {bet.amount} cents")
        return None

    def _not_own(self, player: str, seat: str) -> Refusal | None:
        """Return a refusal if the player is not allowed to bet on this position (T-DEAL-1d).

        Another player might have the position, the player might already have as many positions as allowed,
        or the player's two positions might not be adjacent.
        """
        if not player:
            return None
        if (owner := self._players.get(seat, player)) != player:
            return Refusal("T-DEAL-1", f"position {seat} belongs to {owner}; bet on your own position")
        others = [other for other, owner in self._players.items() if owner == player and other != seat]
        policy = self._settings.two_positions
        if not others or (policy.value and len(others) == 1 and _adjacent(seat, others[0])):
            return None
        may = "two adjacent positions" if policy.value else "one position"
        positions = f"position{'s' if len(others) > 1 else ''} {', '.join(others)}"
        return Refusal(
            policy.rule,
            f"a player may bet on {may}; {player} has {positions} and can't add {seat}",
        )

    def _refuse_change(self, request: Increase | Reduce | Remove) -> AnswerLine:
        up = any(stake.id == request.id for stake in self._order)
        return (_STANDS if up else _UNKNOWN).refuse(request.id, str(request.__struct_config__.tag))

    def _deal(self, deal: Deal) -> list[AnswerLine]:
        irregular = self._irregular(deal)
        if irregular:
            return self._void(irregular)
        contradictions = list(self._folded_and_played(deal))
        if contradictions:
            return contradictions
        hands = {seat: _cards(hand) for seat, hand in deal.hands.items()}
        return self._settle(hands, _cards(deal.dealer))

    def _irregular(self, deal: Deal) -> str:
        """Return why the deal is void: a wrong card count or a repeated card (T-IRR-1, T-DECK-1); else ""."""
        counts = {f"position {seat}": len(hand) for seat, hand in deal.hands.items()}
        if deal.undealt == "irregular":
            for seat in self._positions:
                counts.setdefault(f"position {seat}", 0)
        counts["the dealer"] = len(deal.dealer)
        wrong = [
            f"{who} has {count} card{'' if count == 1 else 's'}"
            for who, count in counts.items()
            if count != CARDS_EACH
        ]
        if wrong:
            return f"T-IRR-1: {', '.join(wrong)}, not {CARDS_EACH}"
        seen = Counter(text for hand in (*deal.hands.values(), deal.dealer) for text in hand)
        repeated = [text for text, times in seen.items() if times > 1]
        return f"T-DECK-1: {', '.join(repeated)} appeared twice in one deck" if repeated else ""

    def _folded_and_played(self, deal: Deal) -> Iterator[AnswerLine]:
        """Yield a refusal for each folded position with Play, because either report might be incorrect."""
        for seat in map(str, deal.folds):
            play = self._positions.get(seat, {}).get("play")
            if play:
                reason = (
                    f"position {seat} has Play but is reported as folded; correct the folds or void the deal"
                )
                yield Refusal("T-DEAL-4", reason).refuse(play.id, "deal")

    def _settle(self, hands: dict[str, tuple[Card, ...]], dealer: tuple[Card, ...]) -> list[AnswerLine]:
        """Collect wagers lost by folding, then settle hands from the dealer's right (T-DEAL-5, T-DEAL-7)."""
        lines = self._undealt(hands)
        from_left = sorted(self._positions, key=_left_to_right)
        for seat in from_left:
            lines += self._showdown.forfeits(self._positions[seat])
        for seat in reversed(from_left):
            lines += self._showdown.reconcile(self._positions[seat], hands[seat], dealer)
        self._next_deal()
        return lines

    def _undealt(self, dealt: Container[str]) -> list[AnswerLine]:
        outside = [seat for seat in self._positions if seat not in dealt]
        gone = [stake for seat in outside for stake in self._positions.pop(seat).values()]
        self._order = [stake for stake in self._order if stake not in gone]
        return [stake.back("void", "T-IRR-1: this position was not dealt in") for stake in gone]

    def _void(self, reason: str) -> list[AnswerLine]:
        lines: list[AnswerLine] = [stake.back("void", reason) for stake in self._order]
        self._next_deal()
        return lines

    def _next_deal(self) -> None:
        self._positions.clear()
        self._players.clear()
        self._order.clear()
        self._closed = False


def _play_refusal(bet: Bet, ante: Stake | None) -> Refusal | None:
    if ante is None:
        return _NOTHING_TO_PLAY
    if bet.amount != ante.cents:
        return Refusal("T-BOTH-1", f"Play must equal the Ante; bet {ante.cents} cents or fold")
    return None


def _cards(texts: Sequence[str]) -> tuple[Card, ...]:
    return tuple(found for text in texts if (found := card(text)))


def _adjacent(one: str, other: str) -> bool:
    return one.isdecimal() and other.isdecimal() and abs(int(one) - int(other)) == 1


def _left_to_right(seat: str) -> tuple[bool, int, str]:
    """Return a sort key that puts numbered positions in order, before named positions."""
    return (not seat.isdecimal(), len(seat), seat)


def requests_of(outcome: Outcome) -> list[RawRequest]:
    """Return the book requests that an outcome requires, in order."""
    match outcome.data:
        case DealCalled() as deal:
            return [_dealt(deal.hands, deal.dealer, deal.folds)]
        case DealCorrected(hands=dict() as hands, dealer=tuple() as dealer) as deal:
            return [_dealt(hands, dealer, deal.folds)]
        case DealVoid(reasons=reasons) | DealCorrected(reasons=reasons):
            return [{"do": "void", "reason": format_reasons(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _:
            return []


def _dealt(hands: dict[str, tuple[str, ...]], dealer: tuple[str, ...], folds: tuple[str, ...]) -> RawRequest:
    """Return the request for a deal. The table has counted the cards, so no position lacks any."""
    return {"do": "deal", "hands": hands, "dealer": dealer, "folds": folds, "undealt": "void"}


def _open(rules: RuleSet, load: LoadPayTable) -> ThreeCardBook:
    assert rules.deal is not None
    return ThreeCardBook(load(ThreeCardPayTable), rules.deal.equal_hands)


def _report(rules: RuleSet, load: LoadPayTable) -> Report:
    assert rules.deal is not None
    return report(load(ThreeCardPayTable), rules.deal.equal_hands)


def _is_play(raw: RawRequest) -> bool:
    """Return whether a request is Play, which is accepted while betting is closed (T-DEAL-4)."""
    return raw.get("wager") == "play"


WAGERS = Wagers(
    pay_table=ThreeCardPayTable,
    open=_open,
    report=_report,
    requests_of=requests_of,
    closed=Refusal("T-DEAL-2", "betting has closed; bet again once this deal is decided"),
    settled_at=decided_by("deal"),
    accepted_while_closed=_is_play,
    bets_reports=frozenset({"pair_plus", "played"}),
)
