"""Over and Under Seven, a fairground game in which players bet on two dice: under 7, 7, or over 7.

The controller does not contain this game. The module shows the parts of a new game: a machine that uses the
existing throws, its wagers, and the value that describes the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from controller.games.game import Game
from controller.machines.agenda import Agenda
from controller.machines.flat import Arrow, FlatMachine, MachineTable
from controller.machines.health import Health
from controller.machines.lifecycle import THROW, Result
from controller.machines.setup import Setup, SetupError
from controller.machines.throws import Dice, PlaysThrows, Throws
from controller.model.outcomes import (
    Bets,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
)
from controller.model.readings import Input
from controller.settlement.book import (
    BOOK_ID,
    AnswerLine,
    Book,
    Cents,
    Decided,
    RawRequest,
    Refusal,
    Request,
    format_reasons,
    pending,
)
from controller.settlement.paytable import Edge, Pays, Report, payout
from controller.settlement.wagers import Wagers, decided_by

Side = Literal["under", "seven", "over"]

TABLE = MachineTable(
    name="over_under",
    initial="betting",
    states={"betting": "bets are placed", "rolling": "the dice roll; no bet is taken"},
    triggers={"thrown": "the dice leave the hand", "over": "the roll is called, or is none"},
    arrows=(
        Arrow("thrown", ("betting", "rolling"), "rolling"),
        Arrow("over", ("betting", "rolling"), "betting"),
    ),
    refusals={},
)


class OverUnder(PlaysThrows):
    """The machine: bets close when the dice are thrown, and open when the roll is called."""

    warnings = 0

    def __init__(self, setup: Setup, agenda: Agenda, health: Health) -> None:
        rules, table, state = setup.ruleset.throw, setup.dice_table, setup.state
        if rules is None or table is None:
            raise SetupError("over_under: give the dice_table's dimensions in the header")
        calls, last = state.calls or setup.calls, setup.first.roll - 1
        self._agenda, self._round, self._machine = agenda, setup.first.round, FlatMachine(TABLE)
        self.throws = Throws(self, rules, table, agenda, health, calls=calls, last=last)
        if state.call is not None:
            self.throws.resume(state.call, None)

    def enter(self, entered: Input) -> bool:
        return self.attempts.enter(entered)

    def allowed(self, t: int) -> Iterator[str]:
        return self.attempts.allowed(t)

    def reset(self, t: int) -> None:
        del t
        self.attempts.settle_at_opening()

    def memory(self) -> Mapping[str, object]:
        return {"call": self.attempts.standing_call()}

    def next_numbers(self) -> Mapping[str, int]:
        return {"roll": self.attempts.number + 1, "round": self._round}

    def snapshot(self) -> object:
        return None

    def restore(self, snapshot: object) -> None:
        """Do nothing, because a roll leaves no state for a correction to undo."""

    def began(self, t: int) -> None:
        self._machine.fire("thrown")
        self._agenda.publish("bets.closed", t, Bets(round=self._round, cause="dice_released"))

    def call(self, result: Result[Dice]) -> Data:
        assert result.value is not None
        return RollCalled(
            roll=result.number,
            dice=result.value,
            total=sum(result.value),
            phase=None,
            point=None,
            call="no_decision",
            point_after=None,
            shooter=None,
            grade=result.grade,
            notices=result.notices,
            by=result.by,
            who=result.who,
        )

    def no_result(self, result: Result[Dice]) -> Data:
        by = result.by or "sensors"
        return RollNoRoll(
            roll=result.number, reasons=result.reasons, by=by, who=result.who, notices=result.notices
        )

    def review(self, result: Result[Dice]) -> Data:
        return RollReview(
            roll=result.number, reasons=result.reasons, dice=result.value, notices=result.notices
        )

    def correct(self, result: Result[Dice], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        del since
        return RollCorrected(
            roll=result.number,
            corrects=corrects,
            ruling=ruling,
            by=result.by or "",
            who=result.who,
            dice=result.value,
            total=sum(result.value) if result.value else None,
            reasons=result.reasons,
        )

    def follow_up(self, t: int) -> None:
        if self._machine.state == "rolling":
            self._machine.fire("over")
            self._round += 1
            self._agenda.publish("bets.opened", t, Bets(round=self._round, cause="result"))


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A bet on one of three sides."""

    id: str
    player: str
    wager: Side
    amount: Cents


class Roll(Request, frozen=True, kw_only=True, tag="roll"):
    """A roll that counts."""

    dice: tuple[int, int]


class NoRoll(Request, frozen=True, kw_only=True, tag="no_roll"):
    """A roll that does not count. Bets stay up."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverUnderPayTable:
    """The odds of each side."""

    name: str
    title: str
    pays: Mapping[Side, Pays]


def side_of(total: int) -> Side:
    """Return the side of a total."""
    return "seven" if total == 7 else "under" if total < 7 else "over"


class OverUnderBook(Book):
    """The wager book: every roll that counts decides every bet."""

    vocabulary: Sequence[type[Request]] = (Bet, Roll, NoRoll)

    def __init__(self, table: OverUnderPayTable) -> None:
        self._pays, self._up = table.pays, dict[str, Bet]()

    def apply(self, request: Request) -> list[AnswerLine]:
        match request:
            case Bet() if request.id in self._up:
                twice = Refusal(BOOK_ID, "a bet with this id is up; give each bet its own id")
                return [twice.reject(request.id, request.wager, request.amount)]
            case Bet():
                self._up[request.id] = request
            case Roll():
                decided, self._up = self._up, {}
                return [self._decided(bet, side_of(sum(request.dice))) for bet in decided.values()]
        return []

    def finish(self) -> list[AnswerLine]:
        return [pending(bet.id, bet.wager, bet.amount) for bet in self._up.values()]

    def _decided(self, bet: Bet, side: Side) -> Decided:
        pays = self._pays[bet.wager]
        if bet.wager != side:
            return Decided(bet.id, bet.wager, "lose", bet.amount, 0, 0, f"{pays.rule}: {side}")
        won = payout(bet.amount, pays.ratio, 1).paid_cents
        return Decided(bet.id, bet.wager, "win", bet.amount, won, bet.amount + won, f"{pays.rule}: {side}")


def report(table: OverUnderPayTable) -> Report:
    """Compute each side's edge over the 36 rolls."""
    ways = [side_of(one + other) for one in range(1, 7) for other in range(1, 7)]
    edges = [
        Edge(wager=side, edge=1 - Fraction(ways.count(side), 36) * (pays.ratio.exact + 1))
        for side, pays in table.pays.items()
    ]
    return Report(ruleset=table.name, title=table.title, edges=tuple(edges))


def requests_of(outcome: Outcome) -> list[RawRequest]:
    """Return the requests to the book that follow from an outcome."""
    match outcome.data:
        case RollCalled(dice=dice) | RollCorrected(dice=(int(), int()) as dice):
            return [{"do": "roll", "dice": dice}]
        case RollNoRoll(reasons=reasons) | RollCorrected(reasons=reasons):
            return [{"do": "no_roll", "reason": format_reasons(reasons)}]
        case _:
            return []


WAGERS = Wagers(
    pay_table=OverUnderPayTable,
    open=lambda _, load: OverUnderBook(load(OverUnderPayTable)),
    report=lambda _, load: report(load(OverUnderPayTable)),
    requests_of=requests_of,
    closed=Refusal("OU-1", "the dice are out; bet again when this roll is called"),
    settled_at=decided_by("roll"),
)

OVER_UNDER = Game(
    name="over_under",
    sections=("throw",),
    geometry="dice_table",
    attempt=THROW,
    table=TABLE,
    machine=OverUnder,
    wagers=lambda: WAGERS,
)
