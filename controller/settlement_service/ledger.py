"""The ledger: accounts, and the movements of money that a game's requests cause.

The ledger does no I/O. The same requests always produce the same lines and movements. A table can therefore
be rebuilt, corrected and verified by replaying its requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from controller.settlement.book import (
    AnswerLine,
    Bonus,
    Book,
    Decided,
    Increase,
    PotRecorded,
    PotShared,
    Reduced,
    Refusal,
    RefusedLine,
    Request,
    Status,
)

CAGE = "cage"
"""The account for money outside the ledger. Players buy chips from the cage and cash them in there."""


class UnbalancedMovement(Exception):
    """A movement does not sum to zero, because of a bug. It is not booked."""


def player_account(player: str) -> str:
    """Return the name of a player's account."""
    return f"player:{player}"


def house(table: str) -> str:
    """Return the name of the account that pays a table's winnings and receives lost stakes."""
    return f"house:{table}"


def at_risk(table: str) -> str:
    """Return the name of the account that holds a table's stakes at risk."""
    return f"at_risk:{table}"


def breakage(table: str) -> str:
    """Return the name of the account for a table's breakage from rounding down (rules.md 9.3)."""
    return f"breakage:{table}"


def rake(table: str) -> str:
    """Return the name of the account for a High Roller table's rake."""
    return f"rake:{table}"


def bonus_pot(table: str) -> str:
    """Return the name of the account that holds a High Roller table's Bonus Pot."""
    return f"bonus_pot:{table}"


class Movement:
    """A movement of money: cents per account, which must sum to zero."""

    def __init__(self, legs: Mapping[str, int] | None = None) -> None:
        """Start with these legs (default: none)."""
        self._legs: dict[str, int] = dict(legs or {})

    def move(self, cents: int, source: str, to: str) -> None:
        """Move cents from one account to another. A negative amount moves in the opposite direction."""
        self._add(source, -cents)
        self._add(to, cents)

    def add(self, other: "Movement", sign: int = 1) -> None:
        """Add another movement to this one, or subtract it if `sign` is -1."""
        for account, cents in other.legs():
            self._add(account, sign * cents)

    def legs(self) -> Iterator[tuple[str, int]]:
        """Yield each account that changes, and its change in cents."""
        return ((account, cents) for account, cents in self._legs.items() if cents)

    def balanced_legs(self) -> dict[str, int]:
        """Return the legs to book. Raises UnbalancedMovement if they do not sum to zero."""
        legs = dict(self.legs())
        if sum(legs.values()):
            raise UnbalancedMovement(f"a movement of {legs} is not balanced")
        return legs

    def _add(self, account: str, cents: int) -> None:
        self._legs[account] = self._legs.get(account, 0) + cents


@dataclass(slots=True)
class Wager:
    """One accepted wager. `stake` is the amount at risk, in cents."""

    id: str
    player: str
    wager: str
    stake: int
    status: str = "up"


@dataclass(frozen=True, slots=True)
class AppliedRequest:
    """The result of one request."""

    lines: tuple[AnswerLine, ...]
    movement: Movement

    @property
    def refused(self) -> bool:
        """Whether the game refused the request, which then changes nothing."""
        return any(
            isinstance(line, RefusedLine) or (isinstance(line, Decided) and line.status == "rejected")
            for line in self.lines
        )


class Tally:
    """One table's game and wagers. `wagers` contains all accepted wagers except those passed to `forget`."""

    def __init__(
        self, table: str, game: Book, carry: Fraction = Fraction(), *, paid_at_table: bool = False
    ) -> None:
        """Start with an empty book; `carry` is the breakage (a fraction of a cent) not yet booked.

        With `paid_at_table`, stakes come from the cage, because players pay for them in chips (H-BET-1).
        """
        self._paid_at_table = paid_at_table
        self._table = table
        self._game = game
        self._carry = carry
        self._breakage_booked = 0
        self.wagers: dict[str, Wager] = {}

    @property
    def up(self) -> list[Wager]:
        """The wagers at risk, oldest first."""
        return [wager for wager in self.wagers.values() if wager.status == "up"]

    @property
    def lacks_line_bet(self) -> bool:
        """Whether the shooter of a craps table lacks a required line bet."""
        return self._game.line_bet_missing

    @property
    def late_refusal(self) -> Refusal | None:
        """The game's reason for refusing bets made with the dice out; None if it accepts confirmed ones."""
        return self._game.late_refusal

    @property
    def without_pair_plus(self) -> tuple[str, ...]:
        """The positions of a Three Card Poker table that have an Ante and no Pair Plus."""
        return self._game.without_pair_plus

    @property
    def played(self) -> tuple[str, ...]:
        """The positions of a Three Card Poker table that have a Play wager."""
        return self._game.played

    @property
    def carry(self) -> Fraction:
        """The breakage that has not been booked yet, in cents."""
        return self._carry + self._game.breakage_cents - self._breakage_booked

    @property
    def remembers(self) -> bool:
        """Whether the game has state other than its bets. If so, a fresh game is not equivalent to it."""
        return self._game.remembers

    def cost(self, request: Request) -> int:
        """Return the cost of a request to its player, in cents."""
        if isinstance(request, Increase):
            wager = self.wagers.get(request.id)
            return max(0, request.to - wager.stake) if wager else 0
        amount = getattr(request, "amount", None)
        return amount if isinstance(amount, int) else 0

    def apply(self, request: Request) -> AppliedRequest:
        """Apply a request; return the game's answer and the movement."""
        lines = tuple(self._game.apply(request))
        moved = Movement()
        applied = AppliedRequest(lines, moved)
        if not applied.refused:
            self._take_stake(request, moved)
        self._decide(lines, moved)
        if any(isinstance(line, Decided) and line.payout for line in lines):
            self._book_breakage(moved)
        return applied

    def refund(self, fresh: Book, reason: str) -> AppliedRequest:
        """Return all stakes and continue with this fresh game."""
        moved = Movement()
        lines: list[AnswerLine] = []
        for wager in self.up:
            moved.move(wager.stake, at_risk(self._table), player_account(wager.player))
            lines.append(Decided(wager.id, wager.wager, "void", wager.stake, 0, wager.stake, reason))
            wager.stake, wager.status = 0, "void"
        self._carry += self._game.breakage_cents
        self._game = fresh
        return AppliedRequest(tuple(lines), moved)

    def forget(self, ids: Sequence[str]) -> None:
        """Forget decided wagers."""
        for id_ in ids:
            del self.wagers[id_]

    def _take_stake(self, request: Request, moved: Movement) -> None:
        do = request.__struct_config__.tag
        if do == "bet":
            bet = _BetFields.of(request)
            self.wagers[bet.id] = Wager(bet.id, bet.player, bet.wager, bet.amount)
            source = CAGE if self._paid_at_table else player_account(bet.player)
            moved.move(bet.amount, source, at_risk(self._table))
        elif isinstance(request, Increase):
            wager = self.wagers[request.id]
            moved.move(request.to - wager.stake, player_account(wager.player), at_risk(self._table))
            wager.stake = request.to

    def _decide(self, lines: Sequence[AnswerLine], moved: Movement) -> None:
        pot = next((line for line in lines if isinstance(line, PotShared)), None)
        for line in lines:
            match line:
                case PotShared():
                    self._share_out(line, moved)
                case PotRecorded(rake=left):
                    moved.move(left, bonus_pot(self._table), rake(self._table))
                case Reduced(id=id_, returned=returned):
                    self._return_stake(self.wagers[id_], returned, moved)
                case Decided(status="rejected" | "pending"):
                    pass
                case Bonus():
                    moved.move(line.payout, house(self._table), player_account(self.wagers[line.bet].player))
                case Decided() if pot is not None:
                    # In a game with a pot, the PotShared line distributes the stakes.
                    self._close(self.wagers[line.id], line.status)
                case Decided():
                    self._settle(line, moved)
                case _:
                    pass

    def _settle(self, line: Decided, moved: Movement) -> None:
        wager = self.wagers[line.id]
        moved.move(line.payout, house(self._table), at_risk(self._table))
        moved.move(line.returned, at_risk(self._table), player_account(wager.player))
        left = wager.stake + line.payout - line.returned
        if line.status == "win" and left:
            wager.stake = left
            return
        moved.move(left, at_risk(self._table), house(self._table))
        self._close(wager, line.status)

    def _return_stake(self, wager: Wager, cents: int, moved: Movement) -> None:
        moved.move(cents, at_risk(self._table), player_account(wager.player))
        wager.stake -= cents

    def _share_out(self, money: PotShared, moved: Movement) -> None:
        pool = at_risk(self._table)
        moved.move(money.rake, pool, rake(self._table))
        moved.move(money.bonus, pool, bonus_pot(self._table))
        moved.move(money.prize, pool, player_account(money.winner))
        moved.move(money.bonus_paid, bonus_pot(self._table), player_account(money.winner))

    def _close(self, wager: Wager, status: Status) -> None:
        wager.stake, wager.status = 0, status

    def _book_breakage(self, moved: Movement) -> None:
        whole = int(self._carry + self._game.breakage_cents) - self._breakage_booked
        if whole:
            # The house pays the exact odds. The fraction of a cent that a player can't be paid is breakage.
            moved.move(whole, house(self._table), breakage(self._table))
            self._breakage_booked += whole


class _BetFields(msgspec.Struct, frozen=True):
    """The fields common to every game's bet."""

    id: str
    player: str
    wager: str
    amount: int

    @classmethod
    def of(cls, request: Request) -> "_BetFields":
        fields: Mapping[str, object] = msgspec.structs.asdict(request)
        amount = fields["amount"]
        assert isinstance(amount, int)
        return cls(str(fields["id"]), str(fields["player"]), str(fields["wager"]), amount)
