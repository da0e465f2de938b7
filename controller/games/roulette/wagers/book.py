"""The roulette wager book, which accepts, changes and decides bets."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from msgspec import Meta

from controller.games.roulette.wagers.layout import RULES, Layout, NoSuchSpot, Spot
from controller.games.roulette.wagers.paytable import RoulettePayTable, report
from controller.model.outcomes import Outcome, SpinCalled, SpinCorrected, SpinNoSpin
from controller.model.pockets import colour_of
from controller.settlement.book import (
    BOOK_AMOUNT,
    BOOK_ID,
    AnswerLine,
    Book,
    Cents,
    Decided,
    Increase,
    RawRequest,
    Reduce,
    Reduced,
    Refusal,
    RefusedLine,
    Remove,
    Request,
    format_reasons,
    pending,
)
from controller.settlement.paytable import BreakageLedger, Ratio, payout
from controller.settlement.wagers import Wagers, decided_by

_SINGLE_ZERO = r"^(?:0|[1-9]|[12][0-9]|3[0-6])\Z"
_DOUBLE_ZERO = r"^(?:00?|[1-9]|[12][0-9]|3[0-6])\Z"


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A bet on one spot. `numbers` lists its numbers in any order; `which` is its column or dozen, 1 to 3."""

    id: str
    player: str
    wager: str
    amount: Cents
    numbers: tuple[str, ...] = ()
    which: int | None = None


class Close(Request, frozen=True, kw_only=True, tag="close"):
    """Close betting when No More Bets is called."""


class Spin(Request, frozen=True, kw_only=True, tag="spin"):
    """A valid spin of a double-zero wheel, with the pocket in which the ball rests."""

    number: Annotated[str, Meta(pattern=_DOUBLE_ZERO)]


class SingleZeroSpin(Request, frozen=True, kw_only=True, tag="spin"):
    """A valid spin of a single-zero wheel, with the pocket in which the ball rests."""

    number: Annotated[str, Meta(pattern=_SINGLE_ZERO)]


class NoSpin(Request, frozen=True, kw_only=True, tag="no_spin"):
    """A spin that does not count, with its cause."""

    reason: str = ""


_LATE = Refusal("R-IRR-4", "No More Bets was called; bet again once this spin is decided")
_FROZEN = Refusal("R-IRR-4", "No More Bets was called and the layout is frozen until this spin is decided")
_UNKNOWN = Refusal(
    BOOK_ID, "no bet with this id is on the layout; name an accepted bet that is still undecided"
)
_DUPLICATE_ID = Refusal(BOOK_ID, "a bet with this id has already been accepted; give each bet its own id")


@dataclass(slots=True)
class _Chips:
    player: str
    spot: Spot
    cents: int


class RouletteBook(Book):
    """The wager book of one roulette table. Betting is open at the start and after each spin or No Spin."""

    def __init__(self, table: RoulettePayTable) -> None:
        settings = table.settings
        self._limits = settings.limits_cents
        self._pay_unit_cents = settings.pay_unit_cents.value
        self._wheel = settings.wheel.value
        self._layout = Layout(self._wheel, zero_splits=settings.zero_splits.value)
        self._odds: dict[str, Ratio] = {wager: pays.ratio for wager, pays in table.pays.items()}
        self._paid_by: dict[str, str] = {
            wager: f"{pays.rule}: {table.name} pays {pays.ratio}" for wager, pays in table.pays.items()
        }
        self._layout_chips: dict[str, _Chips] = {}
        self._on_spot: dict[tuple[str, Spot], int] = {}
        self._ids: set[str] = set()
        self._closed = False
        self._breakage = BreakageLedger()

    @property
    def vocabulary(self) -> Sequence[type[Request]]:
        """The requests of a roulette table."""
        spin = Spin if self._wheel == "double_zero" else SingleZeroSpin
        return (Bet, Increase, Reduce, Remove, Close, spin, NoSpin)

    @property
    def breakage_cents(self) -> Fraction:
        """The exact amount, in cents, that the house has kept by rounding winnings down."""
        return self._breakage.total_cents

    def apply(self, request: Request) -> list[AnswerLine]:
        """Handle a request and return its answer."""
        match request:
            case Bet():
                return self._bet(request)
            case Increase() | Reduce() | Remove():
                return self._change(request)
            case Close():
                self._closed = True
            case Spin() | SingleZeroSpin():
                return self._spin(request.number)
            case NoSpin():
                # The bets stay up for the next spin, but the players may take them back (!R-7).
                self._closed = False
            case _:
                raise TypeError(f"{type(request).__name__} is not a request of a roulette table")
        return []

    def finish(self) -> list[AnswerLine]:
        """Return a line for each undecided bet, oldest first."""
        return [pending(id_, chips.spot.wager, chips.cents) for id_, chips in self._layout_chips.items()]

    def _bet(self, bet: Bet) -> list[AnswerLine]:
        if bet.id in self._ids:
            return [_DUPLICATE_ID.reject(bet.id, bet.wager, bet.amount)]
        refusal = _LATE if self._closed else None
        try:
            spot = self._layout.find(bet.wager, bet.numbers, bet.which)
        except NoSuchSpot as error:
            return [(refusal or Refusal(error.rule, error.reason)).reject(bet.id, bet.wager, bet.amount)]
        refusal = refusal or self._over_limit(bet.player, spot, bet.amount, bet.amount)
        if refusal:
            return [refusal.reject(bet.id, bet.wager, bet.amount)]
        self._ids.add(bet.id)
        self._layout_chips[bet.id] = _Chips(bet.player, spot, 0)
        self._move(self._layout_chips[bet.id], bet.amount)
        return []

    def _change(self, request: Increase | Reduce | Remove) -> list[AnswerLine]:
        chips = self._layout_chips.get(request.id)
        do = str(request.__struct_config__.tag)
        if chips is None:
            return [_UNKNOWN.refuse(request.id, do)]
        if self._closed:
            return [_FROZEN.refuse(request.id, do)]
        match request:
            case Remove():
                return [self._remove(request.id, chips)]
            case Reduce():
                return [self._reduce(request, chips)]
            case Increase():
                refused = self._increase(request, chips)
                return [refused] if refused else []

    def _remove(self, id_: str, chips: _Chips) -> Decided:
        stake = chips.cents
        self._move(chips, -stake)
        del self._layout_chips[id_]
        return Decided(
            id_, chips.spot.wager, "removed", stake, 0, stake, "R-PLACE-4: taken back before No More Bets"
        )

    def _reduce(self, request: Reduce, chips: _Chips) -> Reduced | RefusedLine:
        if request.to >= chips.cents:
            accepted = f"the stake is {chips.cents} cents; a reduction needs a smaller amount"
            return Refusal(BOOK_AMOUNT, accepted).refuse(request.id, "reduce")
        if request.to < self._limits.min_cents:
            accepted = (
                f"a reduced bet must be at least {self._limits.min_cents} cents; use remove to take it back"
            )
            return Refusal(self._limits.rule, accepted).refuse(request.id, "reduce")
        handed_back = chips.cents - request.to
        self._move(chips, -handed_back)
        return Reduced(id=request.id, returned=handed_back)

    def _increase(self, request: Increase, chips: _Chips) -> RefusedLine | None:
        more = request.to - chips.cents
        if more <= 0:
            accepted = f"the stake is {chips.cents} cents; an increase needs a larger amount"
            return Refusal(BOOK_AMOUNT, accepted).refuse(request.id, "increase")
        refusal = self._over_limit(chips.player, chips.spot, request.to, more)
        if refusal:
            return refusal.refuse(request.id, "increase")
        self._move(chips, more)
        return None

    def _over_limit(self, player: str, spot: Spot, stake: int, more: int) -> Refusal | None:
        """Return a refusal if the stake or the player's total on the spot is outside the limits (!R-11)."""
        limits = self._limits
        already_bet = self._on_spot.get((player, spot), 0)
        if limits.includes(stake) and already_bet + more <= limits.max_cents:
            return None
        already = f"{already_bet} cents are there already, and " if already_bet else ""
        return Refusal(
            limits.rule, f"a player may have {limits} on a spot; {already}this bet would add {more} cents"
        )

    def _move(self, chips: _Chips, cents: int) -> None:
        chips.cents += cents
        key = (chips.player, chips.spot)
        left = self._on_spot.get(key, 0) + cents
        if left:
            self._on_spot[key] = left
        else:
            del self._on_spot[key]

    def _spin(self, number: str) -> list[AnswerLine]:
        """Return the decision on every bet, first the losers and then the winners (R-SPIN-5)."""
        losers: list[AnswerLine] = []
        winners: list[AnswerLine] = []
        result = f"{number} {colour_of(number)}"
        for id_, chips in self._layout_chips.items():
            wager = chips.spot.wager
            if number in chips.spot.covers:
                winners.append(self._win(id_, chips, result))
            else:
                losers.append(Decided(id_, wager, "lose", chips.cents, 0, 0, f"{RULES[wager]}: {result}"))
        self._layout_chips.clear()
        self._on_spot.clear()
        self._closed = False
        return losers + winners

    def _win(self, id_: str, chips: _Chips, result: str) -> Decided:
        wager, stake = chips.spot.wager, chips.cents
        won = payout(stake, self._odds[wager], self._pay_unit_cents)
        self._breakage.keep(won)
        reason = f"{RULES[wager]}: {result}; {self._paid_by[wager]}"
        return Decided(id_, wager, "win", stake, won.paid_cents, stake + won.paid_cents, reason)


def requests_of(outcome: Outcome) -> list[RawRequest]:
    """Return the book requests that an outcome requires, in order."""
    match outcome.data:
        case SpinCalled(number=number) | SpinCorrected(number=str() as number):
            return [{"do": "spin", "number": number}]
        case SpinNoSpin(reasons=reasons) | SpinCorrected(reasons=reasons):
            return [{"do": "no_spin", "reason": format_reasons(reasons)}]
        case _ if outcome.type == "bets.closed":
            return [{"do": "close"}]
        case _ if outcome.type == "bets.opened":
            # After a spin, betting is already open in the book. The request is needed when bets open without
            # a spin, for example when the dealer reopens them.
            return [{"do": "no_spin", "reason": "bets opened"}]
        case _:
            return []


WAGERS = Wagers(
    pay_table=RoulettePayTable,
    open=lambda _, load: RouletteBook(load(RoulettePayTable)),
    report=lambda _, load: report(load(RoulettePayTable)),
    requests_of=requests_of,
    closed=Refusal("R-IRR-4", "No More Bets was called; bet again once this spin is decided"),
    settled_at=decided_by("spin"),
)
