"""Tables that chain and sign their outcomes as a journal does, and a settlement engine for them."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import UNSET, UnsetType

from controller.journal.chain import WallTime, genesis, seal
from controller.journal.contents import outcome_draft
from controller.journal.keys import Key, load_key, new_key
from controller.model.outcomes import (
    Bets,
    CrapsCall,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    TableEvent,
)
from controller.model.verdicts import Reason
from controller.publish.events import build_message
from controller.settlement_service.account_requests import AccountRequests, Caller, RequestIdentity
from controller.settlement_service.channel import HttpAnswer, HttpRequest
from controller.settlement_service.deliveries import AcknowledgedDelivery, Answer
from controller.settlement_service.engine import Engine
from controller.settlement_service.enrolled_table import shipped_games
from controller.settlement_service.http_requests import HttpRequests
from controller.settlement_service.intake import Policies
from controller.settlement_service.store import Store
from controller.settlement_service.upkeep import BookProof, prove
from tests.settlement_service.statements import answer_queries, gate

START_US = 1_800_000_000_000_000
GAMES = shipped_games()
STAFF = Caller(name="ann", role="staff")


class SealedTable:
    """A craps or roulette table whose methods return signed and chained outcomes."""

    def __init__(self, name: str, key: Key, *, first_seq: int = 1) -> None:
        self.name = name
        self.key = key
        self.seq = first_seq
        self.session = "1"
        self.moment_us: int | None = None
        """The time of the following outcomes; if None, each is a second later than its predecessor."""
        self.attempt = 1
        self.round = 1
        self.point: int | None = None
        self.shooter: str | None = None
        self.run_out: bool | UnsetType = False
        """Whether the previous shooter continues in a run-out, which decides only Come bets."""
        self._before: tuple[int | None, str | None] = (None, None)
        self._last = ""
        self._n = 0
        self._link = genesis(name, key.public.raw, WallTime(START_US, synced=True))

    def publish_outcome(self, type_: str, data: Data) -> bytes:
        """Publish an outcome of the current session."""
        outcome = Outcome(
            type=type_,
            t=self.seq * 1_000_000 if self.moment_us is None else self.moment_us,
            id=f"{self.name}/{self.session}/{self.seq}",
            seq=self.seq,
            data=data,
        )
        self.seq += 1
        return self.sealed(outcome)

    def sealed(self, outcome: Outcome) -> bytes:
        """Chain and sign an outcome of any session; return its event."""
        wall = WallTime(START_US + outcome.t, synced=True)
        row = seal([outcome_draft(outcome, wall)], self._n, self._link, self.key)[0]
        self._n, self._link = row.n, row.link
        return build_message(row, self.name, self.key).event

    # --- craps ---

    def takes_dice(self, shooter: str) -> bytes:
        """Publish that a shooter takes the dice."""
        self.shooter = shooter
        return self.publish_outcome("shooter.changed", ShooterChanged(shooter=shooter, cause="new_shooter"))

    def dice_out(self) -> bytes:
        """Publish that bets close because the dice leave the hand."""
        return self.publish_outcome("bets.closed", Bets(round=self.round, cause="dice_released"))

    def rolls(self, *dice: int) -> list[bytes]:
        """Publish a roll that counts, from release to the next round of bets."""
        out = self.dice_out()
        self._before = self.point, self.shooter
        pair = (dice[0], dice[1])
        phase, point, call = self._count(pair)
        called = self.publish_outcome(
            "roll.called",
            RollCalled(
                roll=self.attempt,
                dice=pair,
                total=sum(pair),
                phase="come_out" if phase is None else "point",
                point=point,
                call=call,
                point_after=self.point,
                shooter=self._before[1],
                grade="sensors",
                notices=(),
                by=None,
                who=None,
                run_out=self.run_out,
            ),
        )
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [out, called, *self._next_round()]

    def no_roll(self, code: str = "no_wall_hit") -> list[bytes]:
        """Publish a No Roll."""
        out = self.dice_out()
        self._before = self.point, self.shooter
        reason = Reason(code=code, rule="C34-INV-1", seen="seen")
        void = RollNoRoll(roll=self.attempt, reasons=(reason,), by="sensors", who=None, notices=())
        published = self.publish_outcome("roll.no_roll", void)
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [out, published, *self._next_round()]

    def roll_corrected(self, *dice: int) -> list[bytes]:
        """Publish the boxperson's ruling on the last roll, and the shooter afterwards.

        Without faces, the ruling is a No Roll.
        """
        self.point, self.shooter = self._before
        shooter = self.shooter
        if not dice:
            data = self._corrected("no_roll")
        else:
            pair = (dice[0], dice[1])
            phase, point, call = self._count(pair)
            data = self._corrected("set_dice", pair, phase, point, call, shooter)
        published = self.publish_outcome("roll.corrected", data)
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [
            published,
            self.publish_outcome("shooter.changed", ShooterChanged(shooter=self.shooter, cause="corrected")),
        ]

    def _corrected(
        self,
        ruling: str,
        dice: tuple[int, int] | None = None,
        phase: int | None = None,
        point: int | None = None,
        call: CrapsCall | None = None,
        shooter: str | None = None,
    ) -> RollCorrected:
        return RollCorrected(
            roll=self.attempt - 1,
            corrects=self._last,
            ruling=ruling,
            by="boxperson",
            who="bob",
            dice=dice,
            total=sum(dice) if dice else None,
            phase=None if dice is None else ("come_out" if phase is None else "point"),
            point=point,
            call=call,
            point_after=self.point if dice else None,
            shooter=shooter,
            run_out=self.run_out if dice else UNSET,
        )

    def _count(self, dice: tuple[int, int]) -> tuple[int | None, int | None, CrapsCall]:
        """Update the point and the shooter; return the point before the roll, twice, and the call."""
        total, before = sum(dice), self.point
        call: CrapsCall = "no_decision"
        box: CrapsCall
        if before is None:
            box = "point_set" if self.run_out is False else "no_decision"
            call = "natural" if total in (7, 11) else "craps" if total in (2, 3, 12) else box
            self.point = total if call == "point_set" else None
        elif total == before:
            call, self.point = "point_made", None
        elif total == 7:
            call, self.point, self.shooter = "seven_out", None, None
        return before, before, call

    # --- roulette ---

    def spins(self, number: str) -> list[bytes]:
        """Publish a spin that counts."""
        return [self.close_bets(), *self.shows(number)]

    def close_bets(self) -> bytes:
        """Publish No More Bets."""
        return self.publish_outcome("bets.closed", Bets(round=self.round, cause="ball_speed"))

    def shows(self, number: str) -> list[bytes]:
        """Publish the call of the spin and the opening of the next bets."""
        published = self.publish_outcome(
            "spin.called",
            SpinCalled(
                spin=self.attempt,
                number=number,
                colour="red",
                revolutions=9.5,
                grade="sensors",
                notices=(),
                by=None,
                who=None,
            ),
        )
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [published, *self._next_round()]

    def no_spin(self, code: str = "too_few_revolutions") -> list[bytes]:
        """Publish a No Spin."""
        closed = self.publish_outcome("bets.closed", Bets(round=self.round, cause="ball_speed"))
        reason = Reason(code=code, rule="R-IRR-2", seen="seen")
        void = SpinNoSpin(spin=self.attempt, reasons=(reason,), by="sensors", who=None, notices=())
        published = self.publish_outcome("spin.no_spin", void)
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [closed, published, *self._next_round()]

    def spin_corrected(self, number: str | None) -> list[bytes]:
        """Publish the dealer's ruling on the last spin: this number, or a No Spin if it is None."""
        data = SpinCorrected(
            spin=self.attempt - 1,
            corrects=self._last,
            ruling="set_number" if number else "no_spin",
            by="dealer",
            who="dot",
            number=number,
            colour="red" if number else None,
        )
        published = self.publish_outcome("spin.corrected", data)
        self._last = f"{self.name}/1/{self.seq - 1}"
        return [published]

    def open_table(self) -> bytes:
        """Publish that the table opens again."""
        self.point, self.shooter = None, None
        return self.publish_outcome("table.opened", TableEvent(cause="open_table"))

    def _next_round(self) -> list[bytes]:
        self.attempt += 1
        self.round += 1
        return [self.publish_outcome("bets.opened", Bets(round=self.round, cause="result"))]


class House:
    """A settlement engine on a database, with a desk; it can be closed and reopened."""

    def __init__(self, url: str, policies: Policies | None = None) -> None:
        self.url = url
        self._policies = policies
        self._keys = 0
        self.now_us = START_US
        self.open()

    def open(self) -> None:
        self.store = Store(self.url)
        self.store.open()
        self.engine = Engine(self.store, self._clock, self._policies, GAMES, gate())
        answer_queries(self.engine)
        self.desk = AccountRequests(self.engine)

    def reopen(self) -> None:
        """Discard the data in memory, as a restart does."""
        self.store.close()
        self.open()

    def enrol(self, table: SealedTable, rules: str) -> None:
        self.engine.enrol(table.name, rules, table.key.public.raw, first_seq=table.seq)

    def deliver(self, *deliveries: bytes | Iterable[bytes]) -> list[Answer]:
        """Deliver outcomes in one transaction; return the engine's answers."""
        flat = [one for each in deliveries for one in ([each] if isinstance(each, bytes) else each)]
        return self.engine.deliver(flat)

    def takes(self, *deliveries: bytes | Iterable[bytes]) -> None:
        """Deliver outcomes, and check that all are acknowledged."""
        answers = self.deliver(*deliveries)
        assert all(isinstance(answer, AcknowledgedDelivery) for answer in answers), answers

    def player(self, name: str, cents: int) -> None:
        self.desk.open_account(self.new_identity(), name)
        self.desk.pay(self.new_identity(), name, cents)

    def bets(
        self, table: SealedTable, player: str, id_: str, wager: str, amount: int, **more: object
    ) -> None:
        self.desk.bet(
            self.new_identity(),
            table.name,
            {"id": id_, "player": player, "wager": wager, "amount": amount, **more},
        )

    def new_identity(self) -> RequestIdentity:
        """Return the identity of a staff request, with a new key."""
        self._keys += 1
        return RequestIdentity(STAFF, f"k{self._keys}-{self.now_us}")

    def balance(self, account: str) -> int:
        with self.engine.work() as work:
            return work.balance(account)

    def proof(self) -> BookProof:
        with self.store.transaction() as connection:
            return prove(connection, GAMES)

    def _clock(self) -> int:
        self.now_us += 1
        return self.now_us


class LocalHandler:
    """Answers requests in this process, without a channel."""

    def __init__(self, requests: HttpRequests) -> None:
        self._requests = requests

    async def ask(self, ask: HttpRequest) -> HttpAnswer:
        return self._requests.answer(ask)


def key_in(folder: Path, name: str = "key") -> Key:
    """Return the table's key in this folder; create it if necessary."""
    path = folder / name
    if not path.exists():
        new_key(path)
    return load_key(path)
