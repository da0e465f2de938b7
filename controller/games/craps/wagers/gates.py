"""The requests of a craps table, and the gates that accept or refuse them.

The settle contract (docs/settle.md) defines the requests. Each refusal names its rule.
"""

from typing import Annotated, Literal

from msgspec import Meta

from controller.games.craps.wagers.decisions import Decisions, Endings
from controller.games.craps.wagers.paytable import FLAT_OF, LAY_ODDS, CrapsPayTable, by_name, rules_of
from controller.games.craps.wagers.table_state import Bet, Bets, Dice
from controller.settlement.book import (
    BOOK_AMOUNT,
    BOOK_ID,
    Cents,
    Increase,
    Reduce,
    Refusal,
    Remove,
    Request,
    Working,
)

Face = Annotated[int, Meta(ge=1, le=6)]


class BetRequest(Request, frozen=True, kw_only=True, tag="bet"):
    """Make a bet of `amount` cents.

    `base` is the id of the flat bet behind which odds are placed. `dice` are the two faces of a Hop bet, in
    either order. `late` says whether the dice had already left the shooter's hand. `confirmed` says whether
    both the dealer and the boxperson have confirmed a late bet (C34-MK-1b).
    """

    id: str
    player: str
    wager: str
    amount: Cents
    number: int | None = None
    base: str | None = None
    dice: tuple[int, ...] | None = None
    working: Literal["on", "off"] | None = None
    ride: bool = False
    late: bool = False
    confirmed: bool = False


class NoAction(Request, frozen=True, kw_only=True, tag="no_action"):
    """Hand back a Don't Come bet instead of moving it to its number (CV1-DC-7)."""

    id: str


class Roll(Request, frozen=True, kw_only=True, tag="roll"):
    """A roll that counts."""

    dice: tuple[Face, Face]


class NoRoll(Request, frozen=True, kw_only=True, tag="no_roll"):
    """A throw that does not count and decides no bet (!34-10)."""


class NewShooter(Request, frozen=True, kw_only=True, tag="new_shooter"):
    """A player takes the dice. Without `player`, the new shooter has not been named yet."""

    player: str | None = None


class RunOut(Request, frozen=True, kw_only=True, tag="run_out"):
    """Begin or end a run-out (C34-CONT-2b).

    In a run-out, rolls decide only the remaining Come and Don't Come bets. `by_table` marks a report from the
    table. The table does not know the bets. For the table, a run-out lasts until a 7, a new shooter or the
    boxperson ends it, so its report is accepted even if no bet awaits a decision (!34-17).
    """

    on: bool
    by_table: bool = False


VOCABULARY: tuple[type[Request], ...] = (
    BetRequest,
    Working,
    Reduce,
    Increase,
    Remove,
    NoAction,
    Roll,
    NoRoll,
    NewShooter,
    RunOut,
)


_WITH_NUMBER = ("place", "place_lose", "hard", "horn_high")
_DONT = ("dont_pass", "dont_come")
_ONE_A_ROLL = {"pass": "CV1-PASS-1", "dont_pass": "CV1-DP-1"}
_ONE_UNTIL_DECIDED = "CV1-DC-8"
_NO_ODDS_RULES = {"dont_pass_odds": "CV1-DP-9", "dont_come_odds": "CV1-DC-8"}
"""The document's rule, if any, against odds behind a bet that is no longer up."""


class Gates:
    """The gates for one pay table, one book and its dice."""

    def __init__(self, table: CrapsPayTable, decisions: Decisions, book: Bets, dice: Dice) -> None:
        self._table = table
        self._settings = table.settings
        self._line = by_name(table.line)
        self._rules = rules_of(table)
        self._decisions = decisions
        self._limits = Limits(table, book)
        self._book = book
        self._dice = dice
        self._gates = (self._unknown, self._late, self._refuse_misplaced, self._untimely, self._unsupported)

    def bet(self, request: BetRequest) -> Bet | Refusal:
        """Return the bet for the book, or a refusal."""
        for gate in self._gates:
            if refusal := gate(request):
                return refusal
        number = self._book.bets[request.base].number if request.base else request.number
        endings = self._endings(request, number)
        if endings is None:
            return Refusal(self._rules[request.wager], _wrong_choice(self._table, request))
        bet = Bet(
            id=request.id,
            player=request.player,
            wager=request.wager,
            stake_cents=request.amount,
            endings=endings,
            number=number,
            base=request.base,
            faces=_in_order(request.dice),
            original_cents=request.amount,
            off_on_come_out=request.wager in self._settings.off_on_come_out.value,
            stays_up=request.wager in self._settings.stays_up.value,
            rides=request.ride,
        )
        refusal = self._size(bet, bet.stake_cents) or self.call(bet, on=request.working != "off")
        if refusal:
            return refusal
        if request.working is not None:
            self.take_call(bet, on=request.working == "on")
        return bet

    def increase(self, bet: Bet, cents: int) -> Refusal | None:
        """Return a refusal if a bet may not be raised to `cents`."""
        if cents <= bet.stake_cents:
            return Refusal(
                BOOK_AMOUNT, f"the stake is {bet.stake_cents} cents; an increase needs a larger amount"
            )
        if line := self._line.get(bet.wager):
            if bet.number is not None:
                return Refusal(line.raised, f"{bet.wager} can't be raised once it has its number")
            if bet.wager in _DONT and self._book.has_lowered(bet.player, bet.wager):
                return Refusal(line.raised, f"{bet.wager} was reduced or removed; it can no longer be raised")
        if bet.wager == "sharp_shooter" and self._dice.rolls:
            reason = f"{bet.wager} can be raised only before a new shooter's first roll"
            return Refusal(self._rules[bet.wager], reason)
        return self._size(bet, cents)

    def reduce(self, bet: Bet, cents: int) -> Refusal | None:
        """Return a refusal if a bet may not be reduced to `cents`."""
        if refusal := self.remove(bet):
            return refusal
        if cents >= bet.stake_cents:
            return Refusal(
                BOOK_AMOUNT, f"the stake is {bet.stake_cents} cents; a reduction needs a smaller amount"
            )
        if not cents:
            return Refusal(BOOK_AMOUNT, "reduce must leave a stake; use remove to take the whole bet down")
        return self._limits.size(bet.wager, cents)

    def remove(self, bet: Bet) -> Refusal | None:
        """Return a refusal if a bet may not be taken down."""
        settings = self._settings
        if bet.wager in ("pass", "come") and (bet.number or settings.line_locked.value == "once_made"):
            return Refusal(self._line[bet.wager].lowered, f"{bet.wager} stays up until it is decided")
        keeps = settings.shooter_keeps_dont_pass
        if keeps.value and bet.wager == "dont_pass" and bet.player == self._dice.shooter:
            return Refusal(
                keeps.rule, "the shooter may not lower a Don't Pass; it stays up until it is decided"
            )
        return None

    def call(self, bet: Bet, *, on: bool) -> Refusal | None:
        """Return a refusal if a bet may not be called off. Every bet may be called on."""
        policy = self._settings.may_be_off
        if on or bet.wager in policy.value:
            return None
        line = self._line.get(bet.wager)
        rule = line.off if line else policy.rule
        return Refusal(rule, f"{bet.wager} always works; it can't be called off")

    def take_call(self, bet: Bet, *, on: bool | None, stands: bool = False) -> None:
        """Call a bet on or off, or return it to the default (None).

        Under some pay tables, a call lapses when the next point is set. With `stands`, it does not.
        """
        bet.called_on = on
        bet.call_lapses = on is not None and not stands and bet.wager in self._settings.call_lapses.value

    def max_odds_cents(self, odds: Bet, flat_cents: int) -> int | None:
        """Return the maximum odds, in cents, behind a flat bet of `flat_cents`; None if there is no limit."""
        return self._limits.max_odds_cents(odds, flat_cents)

    def no_action(self, bet: Bet) -> Refusal | None:
        """Return a refusal if a bet may not be handed back by No Action."""
        policy = self._settings.no_action
        if policy.value and bet.wager == "dont_come":
            return None
        if not policy.value:
            return Refusal(policy.rule, "this table does not offer No Action; use remove")
        return Refusal(policy.rule, f"No Action is for a Don't Come, not for {bet.wager}; use remove")

    def run_out(self, *, on: bool, by_table: bool = False) -> Refusal | None:
        """Return a refusal if a run-out may not begin. A run-out may end at any time."""
        policy = self._settings.run_out
        if not on:
            return None
        if not policy.value:
            return Refusal(policy.rule, "this table has no run-outs; the shooter must have a line bet")
        if self._dice.point is not None or self._book.any_of("pass", "dont_pass"):
            return Refusal(
                policy.rule, "a run-out can begin only on a come-out roll without Pass or Don't Pass bets"
            )
        if not by_table and not self._book.any_of("come", "dont_come"):
            return Refusal("!34-17", "a run-out needs Come or Don't Come bets that await a decision")
        return None

    def _unknown(self, request: BetRequest) -> Refusal | None:
        if not self._book.accepts_id(request.id):
            return Refusal(BOOK_ID, f"the id {request.id!r} has already been used; use a new id for each bet")
        if request.wager not in self._rules:
            rule = self._table.not_offered.get(request.wager, self._table.offered_by)
            return Refusal(rule, f"{request.wager!r} is not offered; choose one of {', '.join(self._rules)}")
        return None

    def _late(self, request: BetRequest) -> Refusal | None:
        if not request.late:
            return None
        if refusal := self.late_refusal:
            return refusal
        if request.confirmed:
            return None
        rule = self._settings.late_if_confirmed.rule
        return Refusal(rule, "a late bet is valid only if both the dealer and the boxperson confirm it")

    @property
    def late_refusal(self) -> Refusal | None:
        """The reason for refusing late bets; None if confirmed late bets are accepted."""
        policy = self._settings.late_if_confirmed
        if policy.value:
            return None
        return Refusal(policy.rule, "bets are accepted only before the dice are thrown; bet on the next roll")

    def _refuse_misplaced(self, request: BetRequest) -> Refusal | None:
        wager = request.wager
        wanted = {
            "number": (request.number is not None, wager in _WITH_NUMBER),
            "base": (request.base is not None, wager in FLAT_OF),
            "dice": (request.dice is not None, wager == "hop"),
        }
        for name, (given, needed) in wanted.items():
            if given != needed:
                need = "needs" if needed else "takes no"
                return Refusal(self._rules[wager], f"{wager} {need} `{name}`")
        if request.ride and not (wager == "field" and self._settings.field_may_ride.value):
            return Refusal(self._settings.field_may_ride.rule, f"{wager} can't ride; bet it again")
        return None

    def _untimely(self, request: BetRequest) -> Refusal | None:
        wager, point = request.wager, self._dice.point
        if wager in ("pass", "dont_pass"):
            if point is not None:
                return Refusal(
                    self._line[wager].made, f"{wager} is accepted only on the come-out; the point is {point}"
                )
            if self._dice.run_out:
                return Refusal(
                    self._settings.run_out.rule, f"{wager} is accepted only once the run-out has ended"
                )
            if self._settings.one_pass_per_roll.value and self._bet_this_roll(request):
                return Refusal(
                    _ONE_A_ROLL[wager],
                    f"a player may make only one {wager} bet per roll; bet on the next roll",
                )
        if wager in ("come", "dont_come"):
            if point is None and self._settings.come_needs_point.value:
                return Refusal(self._line[wager].made, f"{wager} is accepted only while a point is on")
            if self._settings.one_come_per_roll.value and self._bet_this_roll(request):
                if self._book.handed_back_this_roll(request.player, wager):
                    reason = (
                        f"a {wager} has been taken down since the last roll; bet again after the next roll"
                    )
                    return Refusal(_ONE_UNTIL_DECIDED, reason)
                reason = f"a player may make only one {wager} bet per roll; bet on the next roll"
                return Refusal(self._line[wager].made, reason)
        if wager in _DONT and self._book.has_lowered(request.player, wager):
            stays = self._settings.dont_lowered_stays_low
            return Refusal(
                stays.rule,
                f"{wager} was reduced or removed; a new one is accepted only once that bet is decided",
            )
        if wager == "sharp_shooter" and self._dice.rolls:
            return Refusal(self._rules[wager], f"{wager} is accepted only before a new shooter's first roll")
        return None

    def _bet_this_roll(self, request: BetRequest) -> bool:
        """Return whether, since the last roll, the player has made this bet or had it handed back."""
        book, player, wager = self._book, request.player, request.wager
        return book.made_this_roll(player, wager) or book.handed_back_this_roll(player, wager)

    def _unsupported(self, request: BetRequest) -> Refusal | None:
        if request.base is None:
            return None
        flat, rule = FLAT_OF[request.wager], self._rules[request.wager]
        base = self._book.bets.get(request.base)
        if base is None or base.wager != flat or base.player != request.player:
            if (
                base is None
                and not self._book.accepts_id(request.base)
                and self._settings.one_come_per_roll.value
            ):
                rule = _NO_ODDS_RULES.get(request.wager, rule)
            return Refusal(rule, f"{request.wager} need the same player's {flat} bet to be up")
        if base.number is None:
            return Refusal(rule, f"{request.wager} are accepted only once the {flat} has its number")
        policy = self._settings.no_lay_on
        if request.wager in LAY_ODDS and base.number in policy.value:
            return Refusal(policy.rule, f"odds can't be laid on {base.number} at this table")
        return None

    def _endings(self, request: BetRequest, number: int | None) -> Endings | None:
        if request.wager == "sharp_shooter":
            return ()
        if request.dice is not None:
            return self._decisions.hop(request.dice)
        return self._decisions.row(request.wager, number)

    def _size(self, bet: Bet, cents: int) -> Refusal | None:
        return (
            self._limits.size(bet.wager, cents)
            or self._limits.odds(bet, cents)
            or self._limits.spot(bet, cents)
        )


def _in_order(faces: tuple[int, ...] | None) -> tuple[int, int] | None:
    return (min(faces), max(faces)) if faces is not None and len(faces) == 2 else None


def _wrong_choice(table: CrapsPayTable, request: BetRequest) -> str:
    if request.wager == "hop":
        return "hop needs two faces from 1 to 6"
    numbers = {
        "place": table.place.pays,
        "hard": table.hard.pays,
        "place_lose": table.place_lose.pays if table.place_lose else {},
        "horn_high": table.combined["horn_high"].high if request.wager == "horn_high" else {},
    }[request.wager]
    return f"{request.wager} needs one of {', '.join(map(str, numbers))}, not {request.number}"


class Limits:
    """The betting limits of one pay table, applied to one book."""

    def __init__(self, table: CrapsPayTable, book: Bets) -> None:
        self._settings = table.settings
        self._combined = by_name(table.combined)
        self._odds = by_name(table.odds)
        self._book = book

    def size(self, wager: str, cents: int) -> Refusal | None:
        """Return a refusal if the amount is too small or too large.

        Return one also if the amount of a combined bet does not divide into its equal units.
        """
        settings, combined = self._settings, self._combined.get(wager)
        units = combined.unit_count if combined else 1
        minimum, rule = settings.minimum_cents.value, settings.minimum_cents.rule
        if minimum and combined and wager in settings.minimum_per_unit.value:
            minimum, rule = minimum * units, combined.units
        if minimum and cents < minimum:
            return Refusal(rule, f"{wager} requires at least {minimum} cents, not {cents}")
        maximum = settings.maximum_cents.value
        if maximum and cents > maximum:
            return Refusal(
                settings.maximum_cents.rule, f"{wager} allows at most {maximum} cents, not {cents}"
            )
        step = units * settings.unit_cents.value
        if combined and cents % step:
            return Refusal(
                combined.units,
                f"{wager} has {units} equal units, so it must be a multiple of {step} cents, not {cents}",
            )
        return None

    def spot(self, bet: Bet, cents: int) -> Refusal | None:
        """Return a refusal if the player's bets on this spot would exceed the maximum (CV1-LIM-1)."""
        maximum = self._settings.maximum_cents
        if maximum.value is None:
            return None
        others = self._book.on_spot(bet)
        if others + cents <= maximum.value:
            return None
        already = f", and {others} cents are there already" if others else ""
        return Refusal(
            maximum.rule,
            f"{bet.wager} allows at most {maximum.value} cents per player on one spot{already}; "
            f"this bet would add {cents} cents",
        )

    def max_odds_cents(self, bet: Bet, flat_cents: int) -> int | None:
        """Return the maximum odds, in cents, behind a flat bet of `flat_cents`; None if there is no limit."""
        multiple = self._settings.odds_multiple.value
        if bet.number is None or multiple is None:
            return None
        maximum = flat_cents * multiple
        if bet.wager in LAY_ODDS:
            ratio = self._odds[bet.wager].pays[bet.number].ratio
            maximum = maximum * ratio.to // ratio.pays
        return maximum

    def odds(self, bet: Bet, cents: int) -> Refusal | None:
        """Return a refusal if the odds behind one flat bet would together exceed the limit.

        Lay odds are limited by the largest stake that the flat bet has had, unless the pay table makes them
        follow a reduction (!34-27).
        """
        if bet.base is None:
            return None
        flat = self._book.bets[bet.base]
        original = bet.wager in LAY_ODDS and not self._settings.lay_odds_follow_reduction.value
        flat_cents = flat.original_cents if original else flat.stake_cents
        maximum = self.max_odds_cents(bet, flat_cents)
        if maximum is None:
            return None
        odds = self._odds[bet.wager]
        others = sum(other.stake_cents for other in self._book.behind(bet.base) if other.id != bet.id)
        if others + cents > maximum:
            return Refusal(
                odds.limit,
                f"odds on {bet.number} behind {flat_cents} cents are limited to {maximum} cents in total, "
                f"not {others + cents}",
            )
        return None
