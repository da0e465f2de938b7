"""The craps wager book, which accepts, changes and decides bets under either rule document."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from controller.games.craps.wagers.decisions import Decisions, Ending, roll_index
from controller.games.craps.wagers.edges import report
from controller.games.craps.wagers.gates import (
    VOCABULARY,
    BetRequest,
    Gates,
    NewShooter,
    NoAction,
    NoRoll,
    Roll,
    RunOut,
)
from controller.games.craps.wagers.paytable import FLAT, CrapsPayTable
from controller.games.craps.wagers.table_state import Bet, Bets, Dice, SharpShooterEndings
from controller.model.outcomes import Outcome, RollCalled, RollCorrected, RollNoRoll, ShooterChanged
from controller.settlement.book import (
    BOOK_ID,
    AnswerLine,
    Book,
    Decided,
    Increase,
    RawRequest,
    Reduce,
    Reduced,
    Refusal,
    Remove,
    Request,
    Status,
    Working,
    pending,
)
from controller.settlement.paytable import BreakageLedger, payout
from controller.settlement.wagers import EndedAttempt, Wagers

COMES = ("come", "dont_come")

Change = Working | Increase | Reduce | Remove | NoAction
"""A request to change a bet that is up."""


class CrapsBook(Book):
    """The wager book and ledger of one craps table."""

    def __init__(self, table: CrapsPayTable) -> None:
        self._settings = table.settings
        self._decisions = Decisions(table)
        self._sharp_shooter = SharpShooterEndings(table)
        self._book = Bets()
        self._dice = Dice()
        self._gates = Gates(table, self._decisions, self._book, self._dice)
        self._breakage = BreakageLedger()

    @property
    def vocabulary(self) -> Sequence[type[Request]]:
        """The requests of a craps table."""
        return VOCABULARY

    @property
    def breakage_cents(self) -> Fraction:
        """The exact amount, in cents, that the house has kept by rounding winnings down."""
        return self._breakage.total_cents

    @property
    def remembers(self) -> bool:
        """Whether a lowered Don't bet is still undecided."""
        return self._book.remembers

    @property
    def line_bet_missing(self) -> bool:
        """Whether the shooter must still bet Pass or Don't Pass before throwing (C34-DICE-4, CV1-SHOOT-1).

        A missing bet does not affect how the roll is settled. A run-out requires no line bet.
        """
        shooter = self._dice.shooter
        required = shooter is not None and self._dice.point is None and not self._dice.run_out
        return required and not any(
            bet.player == shooter and bet.wager in ("pass", "dont_pass") for bet in self._book
        )

    @property
    def late_refusal(self) -> Refusal | None:
        """The reason for refusing late bets; None if confirmed late bets are accepted."""
        return self._gates.late_refusal

    def apply(self, request: Request) -> list[AnswerLine]:
        """Handle a request and return the lines of its answer; a roll decides the oldest bet first."""
        match request:
            case BetRequest():
                return self._bet(request)
            case Roll():
                return self._roll(request.dice)
            case Working() | Increase() | Reduce() | Remove() | NoAction():
                return self._change(request)
            case NewShooter():
                return self._new_shooter(request.player)
            case RunOut():
                return self._run_out(request)
            case NoRoll():
                return []
            case _:
                raise TypeError(f"{type(request).__name__} is not a request of a craps table")

    def finish(self) -> list[AnswerLine]:
        """Return a line for each undecided bet."""
        return [pending(bet.id, bet.wager, bet.stake_cents) for bet in self._book]

    def _bet(self, request: BetRequest) -> list[AnswerLine]:
        bet = self._gates.bet(request)
        if isinstance(bet, Refusal):
            return [bet.reject(request.id, request.wager, request.amount)]
        self._book.put_up(bet)
        return []

    def _change(self, request: Change) -> list[AnswerLine]:
        bet = self._book.bets.get(request.id)
        refusal = self._refusal_of(bet, request) if bet else Refusal(BOOK_ID, "no bet with this id is up")
        if bet is None or refusal:
            assert refusal
            return [refusal.refuse(request.id, str(type(request).__struct_config__.tag))]
        match request:
            case Working(on=on):
                self._gates.take_call(bet, on=None if on == "default" else on, stands=request.stands)
            case Increase():
                bet.stake_cents = request.to
                bet.original_cents = max(bet.original_cents, request.to)
            case Reduce():
                handed_back = bet.stake_cents - request.to
                bet.stake_cents = request.to
                self._note_lowered(bet)
                return [Reduced(id=bet.id, returned=handed_back), *self._uncovered_odds(bet)]
            case Remove():
                return self._hand_back(bet, "removed", "taken down by the player")
            case NoAction():
                return self._hand_back(bet, "void", f"{self._settings.no_action.rule}: No Action")
        return []

    def _refusal_of(self, bet: Bet, request: Change) -> Refusal | None:
        match request:
            case Working():
                return self._gates.call(bet, on=request.on is not False)
            case Increase():
                return self._gates.increase(bet, request.to)
            case Reduce():
                return self._gates.reduce(bet, request.to)
            case Remove():
                return self._gates.remove(bet)
            case NoAction():
                return self._gates.no_action(bet)

    def _hand_back(self, bet: Bet, status: Status, reason: str) -> list[AnswerLine]:
        odds_too = [
            self._close(odds, "removed", 0, odds.stake_cents, f"the {bet.wager} bet is no longer up")
            for odds in self._book.behind(bet.id)
        ]
        self._book.note_handed_back(bet)
        self._note_lowered(bet)
        handed_back = self._close(bet, status, 0, bet.stake_cents, reason)
        if bet.wager in COMES:
            self._end_run_out()
        return [handed_back, *odds_too]

    def _note_lowered(self, bet: Bet) -> None:
        if bet.wager in ("dont_pass", "dont_come") and self._settings.dont_lowered_stays_low.value:
            self._book.lower(bet)

    def _uncovered_odds(self, flat: Bet) -> list[AnswerLine]:
        """Hand back the lay odds that a reduced bet no longer covers, newest first (!34-27)."""
        if not self._settings.lay_odds_follow_reduction.value:
            return []
        behind = self._book.behind(flat.id)
        maximum = self._gates.max_odds_cents(behind[0], flat.stake_cents) if behind else None
        excess = 0 if maximum is None else sum(odds.stake_cents for odds in behind) - maximum
        lines: list[AnswerLine] = []
        for odds in reversed(behind):
            back = min(excess, odds.stake_cents)
            if back <= 0:
                break
            excess -= back
            if back == odds.stake_cents:
                reason = f"!34-27: the reduced {flat.wager} no longer covers it"
                lines.append(self._close(odds, "removed", 0, back, reason))
            else:
                odds.stake_cents -= back
                lines.append(Reduced(id=odds.id, returned=back))
        return lines

    def _roll(self, dice: tuple[int, int]) -> list[AnswerLine]:
        index, thrown = roll_index(dice), self._dice.throw(dice[0] + dice[1])
        hand_ending = self._sharp_shooter.after(thrown, self._dice.points_made)
        lines: list[AnswerLine] = []
        for bet in self._book:
            ending = bet.endings[index] if bet.endings else hand_ending
            if ending is None:
                if bet.number is None and bet.wager in FLAT:
                    self._set_number(bet, thrown.total)
            elif bet.works(thrown.come_out):
                lines.append(self._end(bet, ending))
            elif bet.base is not None:
                lines.append(
                    self._close(bet, "push", 0, bet.stake_cents, "off when the flat bet was decided")
                )
        self._dice.move_point(thrown)
        if thrown.come_out and self._dice.point is not None:
            self._end_calls()
        self._end_run_out()
        self._book.next_roll(thrown.total)
        return lines

    def _end_run_out(self) -> None:
        """End a run-out if no Come or Don't Come bet is left to decide (C34-CONT-2b)."""
        self._dice.run_out = self._dice.run_out and self._book.any_of(*COMES)

    def _end_calls(self) -> None:
        """End the on and off calls that lapse when the point is set."""
        for bet in self._book:
            if bet.call_lapses:
                bet.called_on, bet.call_lapses = None, False

    def _set_number(self, bet: Bet, number: int) -> None:
        endings = self._decisions.row(bet.wager, number)
        assert endings is not None
        bet.number, bet.endings = number, endings

    def _end(self, bet: Bet, ending: Ending) -> Decided:
        stake = bet.stake_cents
        if ending.ratio is None:
            return self._close(bet, ending.status, 0, stake if ending.status == "push" else 0, ending.reason)
        part = payout(stake, ending.ratio, self._settings.pay_unit_cents.value)
        self._breakage.keep(part)
        maximum = self._settings.max_win_cents.value
        paid = part.paid_cents if maximum is None else min(part.paid_cents, maximum)
        if bet.rides:
            return self._ride(bet, paid, ending.reason)
        if bet.stays_up:
            return Decided(bet.id, bet.wager, "win", stake, paid, paid, ending.reason)
        return self._close(bet, "win", paid, stake + paid, ending.reason)

    def _ride(self, bet: Bet, paid: int, reason: str) -> Decided:
        stake, maximum = bet.stake_cents, self._settings.maximum_cents.value
        riding = stake + paid if maximum is None else min(stake + paid, maximum - self._book.on_spot(bet))
        bet.stake_cents = riding
        return Decided(bet.id, bet.wager, "win", stake, paid, stake + paid - riding, f"{reason}; it rides")

    def _close(self, bet: Bet, status: Status, paid: int, returned: int, reason: str) -> Decided:
        self._book.take_down(bet)
        return Decided(bet.id, bet.wager, status, bet.stake_cents, paid, returned, reason)

    def _new_shooter(self, player: str | None) -> list[AnswerLine]:
        lines: list[AnswerLine] = []
        ending = self._sharp_shooter.by_points(self._dice.points_made, "before giving up the dice")
        if self._dice.rolls and ending and not self._dice.is_same_shooter(player):
            lines.extend(self._end(bet, ending) for bet in self._book if bet.wager == "sharp_shooter")
        self._dice.pass_to(player)
        return lines

    def _run_out(self, request: RunOut) -> list[AnswerLine]:
        if refusal := self._gates.run_out(on=request.on, by_table=request.by_table):
            return [refusal.refuse("table", "run_out")]
        self._dice.run_out = request.on
        return []


_POINT_DICE = {4: (1, 3), 5: (1, 4), 6: (1, 5), 8: (2, 6), 9: (3, 6), 10: (4, 6)}
"""For each point, a pair of faces that sets it."""
_NATURAL = (3, 4)


def requests_of(outcome: Outcome) -> list[RawRequest]:
    """Return the book requests that an outcome requires, in order."""
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


def _run_out(run_out: object) -> list[RawRequest]:
    """Return the request that begins or ends a run-out. Every roll states whether one is on (!34-16)."""
    return [{"do": "run_out", "on": run_out, "by_table": True}] if isinstance(run_out, bool) else []


class DiceState:
    """The state of the dice, without the bets: the point, the shooter, and the rolls of the current hand."""

    def __init__(self, dice: Dice | None = None) -> None:
        self.dice = dice or Dice()

    @property
    def point(self) -> int | None:
        """The point that is on."""
        return self.dice.point

    @property
    def shooter(self) -> str | None:
        """The player who has the dice."""
        return self.dice.shooter

    def follow(self, request: Request) -> None:
        """Update the state after an accepted request."""
        match request:
            case Roll(dice=faces):
                self.dice.move_point(self.dice.throw(sum(faces)))
            case NewShooter(player=player):
                self.dice.pass_to(player)
            case RunOut(on=on):
                self.dice.run_out = on
            case _:
                pass

    def is_redundant(self, request: Request) -> bool:
        """Return whether a request changes nothing, such as one that names the current shooter again."""
        match request:
            case NewShooter(player=None):
                return not self.dice.rolls and self.dice.shooter is None
            case NewShooter(player=player):
                return player == self.dice.shooter
            case RunOut(on=on):
                return not on and not self.dice.run_out
            case _:
                return False

    def names_shooter(self, request: Request) -> bool:
        """Return whether a request announces a shooter, named or not."""
        return isinstance(request, NewShooter)

    def prelude(self) -> Sequence[RawRequest]:
        """Return the requests that bring a new, empty book to this state.

        The requests reproduce neither a run-out nor the number of points made in the current hand. Every roll
        states whether a run-out is on. The points matter only to Sharp Shooter bets, which are accepted only
        before a hand's first roll.
        """
        dice = self.dice
        named = dice.shooter is not None
        shooter: list[RawRequest] = [{"do": "new_shooter", "player": dice.shooter}] if named else []
        point: list[RawRequest] = (
            [{"do": "roll", "dice": _POINT_DICE[dice.point]}] if dice.point is not None else []
        )
        if not dice.rolls:
            passed: list[RawRequest] = [{"do": "new_shooter"}] if point else []
            return [*point, *passed, *shooter]
        return [*shooter, *(point or [{"do": "roll", "dice": _NATURAL}])]


def _settled_at(ended: EndedAttempt) -> Sequence[RawRequest] | None:
    """Return the requests that bring a new book to the state of the dice after a roll.

    Return None after other outcomes, during a run-out, and while a lowered bet is undecided.
    """
    rolled = any(raw["do"] == Roll.__struct_config__.tag for raw in ended.requests)
    in_run_out = isinstance(ended.play_state, DiceState) and ended.play_state.dice.run_out
    return ended.play_state.prelude() if rolled and not (in_run_out or ended.remembers) else None


def _prelude_after(outcome: Outcome, players: Mapping[str, str]) -> Sequence[RawRequest]:
    """Return the requests that bring a new book to the state of the dice after this outcome."""
    dice = Dice()
    if isinstance(roll := outcome.data, RollCalled) and roll.phase is not None:
        hand_continues = roll.call != "seven_out" and roll.shooter is not None
        shooter = players[str(roll.shooter)] if hand_continues else None
        dice = Dice(point=roll.point_after, shooter=shooter, rolls=int(hand_continues))
    return tuple(DiceState(dice).prelude())


def _point_after(outcome: Outcome) -> int | Literal["off"] | None:
    match outcome.data:
        case RollCalled(point_after=point) | RollCorrected(dice=(_, _), point_after=point):
            return "off" if point is None else point
        case _:
            return None


WAGERS = Wagers(
    pay_table=CrapsPayTable,
    open=lambda _, load: CrapsBook(load(CrapsPayTable)),
    report=lambda _, load: report(load(CrapsPayTable)),
    requests_of=requests_of,
    closed=Refusal("C34-MK-1a", "the dice are out; make or change bets once betting opens again"),
    settled_at=_settled_at,
    play_state=DiceState,
    prelude_after=_prelude_after,
    point_after=_point_after,
    accepts_late=True,
    bets_reports=frozenset({"line_bet"}),
)
