"""Players' requests: buy or cash out chips, take a seat, make or change bets. An idempotency key ensures that
each request takes effect only once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Protocol

import msgspec
from sqlalchemy import insert, select

from controller.settlement.book import AnswerLine, RawRequest
from controller.settlement_service import schema
from controller.settlement_service.book import ReceivedAt, Step, StepResult, UnknownRequest
from controller.settlement_service.channel import Role
from controller.settlement_service.engine import Engine
from controller.settlement_service.enrolled_table import EnrolledTable
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.gate import Admitted, LateWager, MissingStatement, PlayAt
from controller.settlement_service.ledger import CAGE, Movement, player_account
from controller.settlement_service.work import Cause, Work, encode


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a request, as stored with its token. `player` is set only for the role `player`."""

    name: str
    role: Role
    player: str | None = None

    def may_act_for(self, player: str) -> bool:
        """Return whether this caller may bet or change bets for a player."""
        return self.role == "staff" or (self.role == "player" and self.player == player)


class GrantedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A granted request: the player's new balance in cents, and the lines of the game's answer."""

    player: str
    balance: int
    lines: list[msgspec.Raw] = []


class _Refusal(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    rule: str
    reason: str


class _Granted(msgspec.Struct, frozen=True, kw_only=True, tag="granted"):
    done: GrantedResult


_decode_answer: Callable[[str], _Granted | _Refusal] = msgspec.json.Decoder(_Granted | _Refusal).decode


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """A request's caller and its idempotency key."""

    caller: Caller
    key: str


class _RequestAction(Protocol):
    def __call__(self, work: Work, answer: Admitted | MissingStatement) -> GrantedResult: ...


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that might have to wait for the table's statement; `do` carries it out."""

    identity: RequestIdentity
    raw: RawRequest
    do: _RequestAction


MAX_BETS = 50
"""Maximum number of wagers per request. A player's spread of bets is normally smaller; the engine takes
about 30 ms for 50 wagers."""


class AccountRequests:
    """Carries out players' requests, each in a transaction of the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def open_account(self, identity: RequestIdentity, player: str) -> GrantedResult:
        """Open a player's account. Raises RequestRefused if the player already has one."""

        def do(work: Work) -> GrantedResult:
            if work.has_account(player):
                raise RequestRefused("ACCOUNT", f"player {player} already has an account")
            work.add(schema.players, name=player, opened_us=work.now_us)
            return GrantedResult(player=player, balance=work.balance(player_account(player)))

        return self._once(identity, {"do": "open", "player": player}, do)

    def pay(self, identity: RequestIdentity, player: str, cents: int) -> GrantedResult:
        """Book chips bought (`cents` above 0) or cashed out (below 0).

        Raises RequestRefused if the account does not exist or its balance does not cover the cash-out.
        """

        def do(work: Work) -> GrantedResult:
            account = player_account(player)
            need_account(work, player)
            if cents < 0 and work.balance(account) + cents < 0:
                raise RequestRefused(
                    "FUNDS", f"found a balance of {work.balance(account)} cents, expected at least {-cents}"
                )
            movement = Movement()
            movement.move(cents, CAGE, account)
            work.book(movement, Cause("deposit" if cents > 0 else "withdrawal"))
            return GrantedResult(player=player, balance=work.balance(account))

        return self._once(identity, {"do": "pay", "player": player, "cents": cents}, do)

    def seat(self, identity: RequestIdentity, table: str, seat: str, player: str) -> GrantedResult:
        """Seat a player. The table's outcomes for this seat then apply to the player's account."""

        def do(work: Work) -> GrantedResult:
            need_account(work, player)
            enrolled = self._table(work, table)
            seats = schema.seats
            this_seat = (seats.c.table_name == table) & (seats.c.seat == seat)
            previous = work.connection.execute(select(seats.c.player).where(this_seat)).scalar_one_or_none()
            if previous is not None and enrolled.book.stakes_of(previous):
                raise RequestRefused(
                    "SEATED", f"player {previous} in seat {seat} has bets up; wait until they are decided"
                )
            check_taking_seat(enrolled, seat, player)
            work.connection.execute(seats.delete().where(this_seat))
            work.connection.execute(insert(seats).values(table_name=table, seat=seat, player=player))
            return GrantedResult(player=player, balance=work.balance(player_account(player)))

        return self._once(identity, {"do": "seat", "table": table, "seat": seat, "player": player}, do)

    def bet(self, identity: RequestIdentity, table: str, bet: RawRequest) -> GrantedResult:
        """Make a bet, as defined by the settle contract. Raises RequestRefused with the rule that forbids it.

        Wait for the table's statement that bets were still open at the time of this call. For a `late` bet,
        wait for the statement that the dealer and the boxperson confirmed the bet while the dice were in
        motion (C34-MK-1b). Ignore the field `confirmed` if the caller sends it.
        """
        return self._after_statement(self._bet(identity, table, bet), table)

    def bets(
        self, identity: RequestIdentity, table: str, bets: Sequence[RawRequest]
    ) -> list[GrantedResult | RequestRefused]:
        """Make several bets in one transaction. The table makes one statement for all of them; each bet is
        granted or refused individually.

        Each bet is a separate request with the key `KEY/ID`, and takes effect only once. Raises
        RequestRefused if two bets have the same id, if there are none or too many, or if one is `late`.
        """
        if len({bet["id"] for bet in bets}) < len(bets):
            raise RequestRefused("BOOK-ID", "two wagers have the same id; give each a different id")
        if not 0 < len(bets) <= MAX_BETS:
            raise RequestRefused("BOOK-FORM", f"found {len(bets)} wagers, expected 1 to {MAX_BETS}")
        if any(bet.get("late") for bet in bets):
            raise RequestRefused(
                "C34-MK-1b",
                "each wager made with the dice out is confirmed individually; send it in a separate request",
            )
        requests = [
            self._bet(RequestIdentity(identity.caller, f"{identity.key}/{bet['id']}"), table, bet)
            for bet in bets
        ]
        keys = [request.identity.key for request in requests]
        with self._engine.work() as work:
            work.read_answers(identity.caller.name, keys)
            wait = [self._needs_statement(work, table, request) for request in requests]
            play = _requested_play(
                self._engine.table(work, table), [request for request, waits in wait if waits]
            )
        answer = self._engine.gate.ask(table, play) if any(waits for _, waits in wait) else _NOT_REQUESTED
        with self._engine.work() as work:
            _check_token(work, identity.caller)
            work.read_answers(identity.caller.name, keys)
            work.read_wagers(table, [str(bet["id"]) for bet in bets])
            return [
                _answer(work, request.identity, request.raw, partial(request.do, answer=answer))
                for request, _ in wait
            ]

    def change(self, identity: RequestIdentity, table: str, change: RawRequest) -> GrantedResult:
        """Change or remove a wager that is up. Raises RequestRefused with the rule that forbids it.

        A change waits for the table's statement, just as a bet does. Removing a losing stake after the close
        would be as profitable as betting after the close.
        """

        def do(work: Work, answer: Admitted | MissingStatement) -> GrantedResult:
            enrolled = self._table(work, table)
            wager = enrolled.book.wager(str(change["id"]))
            if wager is None or not identity.caller.may_act_for(wager.player):
                raise RequestRefused(
                    "BOOK-ID", f"found no wager {change['id']} at {table} that you may change"
                )
            return self._apply_request(work, enrolled, wager.player, change, answer)

        return self._after_statement(_Request(identity, {**change, "table": table}, do), table)

    def _bet(self, identity: RequestIdentity, table: str, bet: RawRequest) -> "_Request":
        bet = {name: value for name, value in bet.items() if name != "confirmed"}

        def do(work: Work, answer: Admitted | MissingStatement) -> GrantedResult:
            player = str(bet["player"])
            need_account(work, player)
            enrolled = self._table(work, table)
            if (refusal := enrolled.game.wagers.bought_at_table) is not None:
                raise RequestRefused(*refusal)
            if enrolled.book.wager(str(bet["id"])) is not None or work.had_wager(table, str(bet["id"])):
                raise RequestRefused("BOOK-ID", f"a wager {bet['id']} already exists; choose another id")
            check_bet_seat(work, enrolled, bet, own=identity.caller.role != "staff")
            confirmed = {"confirmed": True} if bet.get("late") else {}
            return self._apply_request(work, enrolled, player, {**bet, **confirmed, "do": "bet"}, answer)

        return _Request(identity, {**bet, "do": "bet", "table": table}, do)

    def _apply_request(
        self,
        work: Work,
        table: EnrolledTable,
        player: str,
        raw: RawRequest,
        answer: Admitted | MissingStatement,
    ) -> GrantedResult:
        if table.halted:
            raise RequestRefused("HALTED", f"table {table.name} is halted: {table.halted}")
        account = player_account(player)
        if answer is _TRIAL:
            must_be_open(table, raw)
            self._book(work, table, account, Step(n=table.book.last_n + 1, kind="asked", requests=(raw,)))
            self._engine.undo_trial(work, table)
        admitted = admit(table, raw, answer)
        statement = admitted.statement
        heard = (
            ReceivedAt(statement.session, statement.round, admitted.heard_us)
            if statement.takes == "wagers"
            else None
        )
        step = Step(n=table.book.last_n + 1, kind="asked", requests=(raw,), heard=heard)
        booked = self._book(work, table, account, step)
        work.step(table.name, step, booked)
        work.store_state(table.name, table.row())
        if not raw.get("late"):
            work.store_bet_time(statement, admitted.heard_us)
        lines = [msgspec.Raw(encode(answer.line)) for answer in booked.lines]
        return GrantedResult(player=player, balance=work.balance(account), lines=lines)

    @staticmethod
    def _book(work: Work, table: EnrolledTable, account: str, step: Step) -> StepResult:
        """Apply a request to the book. Raises RequestRefused if the rules or the balance do not allow it."""
        try:
            if table.book.cost(step.requests[0]) > work.balance(account):
                raise RequestRefused(
                    "FUNDS",
                    f"the balance of {work.balance(account)} cents does not cover this request",
                )
            booked = table.book.apply(step)
        except UnknownRequest as error:
            raise RequestRefused("BOOK-FORM", str(error)) from error
        if booked.refused:
            raise _build_refusal(booked.lines[0].line)
        return booked

    def _table(self, work: Work, name: str) -> EnrolledTable:
        enrolled = self._engine.table(work, name)
        if enrolled is None:
            raise RequestRefused("TABLE", f"table {name} is not enrolled")
        return enrolled

    def _after_statement(self, request: "_Request", table: str) -> GrantedResult:
        """Ask the table whether bets are open, if the request requires it, and carry out the request."""
        with self._engine.work() as work:
            request, waits = self._needs_statement(work, table, request)
            enrolled = self._engine.table(work, table)
            play = _requested_play(enrolled, [request] if waits else [])
        if enrolled is None or not waits:
            answer: Admitted | MissingStatement = _NOT_REQUESTED
        elif request.raw.get("late"):
            answer = self._engine.gate.ask_late(table, _late_wager(enrolled.round or 1, request.raw))
        else:
            answer = self._engine.gate.ask(table, play)

        def do(work: Work) -> GrantedResult:
            _check_token(work, request.identity.caller)
            return request.do(work, answer=answer)

        return self._once(request.identity, request.raw, do)

    def _needs_statement(self, work: Work, table: str, request: "_Request") -> tuple["_Request", bool]:
        """Return the request, and whether it must wait for the table's statement.

        A query about Play commits the position at the table. A request for Play is therefore first tried on
        the book, and does not reach the table if the book refuses it.
        """
        enrolled = self._engine.table(work, table)
        if (
            enrolled is None
            or enrolled.halted
            or not _may_open(enrolled, request.raw)
            or work.find_answer(request.identity.caller.name, request.identity.key) is not None
        ):
            return request, False
        if not enrolled.game.wagers.accepted_while_closed(request.raw):
            return request, True
        try:
            request.do(work, _TRIAL)
        except RequestRefused as refused:
            if (refused.rule, refused.reason) != _TRIAL:
                return replace(request, do=partial(_refuse, refused)), False
        return request, True

    def _once(
        self, identity: RequestIdentity, raw: RawRequest, do: Callable[[Work], GrantedResult]
    ) -> GrantedResult:
        with self._engine.work() as work:
            done = _answer(work, identity, raw, do)
        if isinstance(done, RequestRefused):
            raise done
        return done


def _answer(
    work: Work, identity: RequestIdentity, raw: RawRequest, do: Callable[[Work], GrantedResult]
) -> GrantedResult | RequestRefused:
    """Carry out a request, or return the stored answer if its key was used before.

    A `do` that raises RequestRefused must not have written to the database.
    """
    text = encode(raw).decode()
    earlier = work.find_answer(identity.caller.name, identity.key)
    answer: _Granted | _Refusal
    if earlier is None:
        try:
            answer = _Granted(done=do(work))
        except RequestRefused as refused:
            answer = _Refusal(rule=refused.rule, reason=refused.reason)
        work.add(
            schema.requests,
            caller=identity.caller.name,
            key=identity.key,
            asked=text,
            answer=encode(answer).decode(),
            answered_us=work.now_us,
        )
    elif earlier.request == text:
        answer = _decode_answer(earlier.answer)
    else:
        answer = _Refusal(rule="KEY", reason="this key was used for another request; choose another key")
    return RequestRefused(answer.rule, answer.reason) if isinstance(answer, _Refusal) else answer.done


def admit(table: EnrolledTable, raw: RawRequest, answer: Admitted | MissingStatement) -> Admitted:
    """Return the table's statement if it admits a request; otherwise raise RequestRefused.

    The statement must include the last settled outcome that opened or closed bets, and must not include an
    outcome that is not settled yet. The request is then booked between the same two outcomes as at the table.
    """
    must_be_open(table, raw)
    closed, late = table.betting == "closed", bool(raw.get("late"))
    if isinstance(answer, MissingStatement):
        raise RequestRefused(*answer)
    statement = answer.statement
    if statement.sequence < table.betting_seq or (table.round is not None and statement.round != table.round):
        raise RequestRefused(
            "TABLE-WORD",
            "bets have been closed or opened since the table's statement; nothing was accepted, try again",
        )
    if statement.sequence >= table.next_seq:
        raise RequestRefused(
            "TABLE-WORD", "outcomes from the table are not settled yet; nothing was accepted, try again"
        )
    if statement.takes != ("late" if late else "play" if closed else "wagers"):
        raise RequestRefused(
            "TABLE-WORD", "the table is not accepting such requests at the moment; nothing was accepted"
        )
    if statement.takes == "play" and str(raw.get("seat")) in statement.folded:
        raise RequestRefused("T-DEAL-4", f"position {raw['seat']} has folded")
    return answer


def must_be_open(table: EnrolledTable, raw: RawRequest) -> None:
    """Raise RequestRefused if the outcomes settled so far rule out this request."""
    late = bool(raw.get("late"))
    if late and (refusal := table.book.late_refusal):
        raise RequestRefused(refusal.rule, refusal.reason)
    if not _may_open(table, raw):
        raise RequestRefused(*(_NOT_OUT if late else table.game.wagers.closed))
    if table.betting != "closed" and table.game.wagers.accepted_while_closed(raw):
        raise RequestRefused(*_CARDS_NOT_OUT)


def _may_open(table: EnrolledTable, raw: RawRequest) -> bool:
    """Return whether the outcomes settled so far allow this request."""
    if raw.get("late"):
        return table.dice_out and table.book.late_refusal is None
    if table.betting == "open":
        return True
    return table.game.wagers.accepted_while_closed(raw)


_CARDS_NOT_OUT = ("T-DEAL-4", "the cards are not out yet; make the Play wager after the deal")
_NOT_OUT = ("C34-MK-1b", "the dice are not out; bet without `late`")


def _late_wager(round_: int, raw: RawRequest) -> LateWager:
    """Return a late wager as sent to its table, with a digest of the request and a description for staff."""
    digest = sha256(msgspec.json.encode(raw, order="sorted")).hexdigest()
    detail = next((f" {raw[name]}" for name in ("number", "base", "dice") if raw.get(name)), "")
    description = f"{raw['player']}: {raw['wager']}{detail}, {raw['amount']} cents"
    return LateWager(round_, str(raw["id"]), digest, description[:200])


_NOT_REQUESTED = MissingStatement("TABLE-WORD", "no statement was requested from the table; try again")


_TRIAL = MissingStatement("TABLE-WORD", "this was only a trial")
"""Replaces the table's statement in a trial. A request that is refused for this reason has passed the trial.
"""


def _requested_play(table: EnrolledTable | None, requests: Sequence[_Request]) -> PlayAt | None:
    """Return the positions of the Play wagers among these requests; None if there are no Play wagers."""
    if table is None:
        return None
    plays = [each.raw for each in requests if table.game.wagers.accepted_while_closed(each.raw)]
    seats = tuple(dict.fromkeys(str(raw.get("seat")) for raw in plays))
    return PlayAt(table.round or 1, seats) if seats else None


def _refuse(refused: RequestRefused, _work: Work, answer: Admitted | MissingStatement) -> GrantedResult:
    del answer
    raise refused


def _check_token(work: Work, caller: Caller) -> None:
    """Raise RequestRefused if a token was revoked while its request waited for the table's statement."""
    tokens = schema.tokens
    revoked = select(tokens.c.name).where(tokens.c.name == caller.name, tokens.c.revoked_us.is_not(None))
    if work.connection.execute(revoked).first():
        raise RequestRefused("TOKEN", "the token was revoked while the request waited; nothing was accepted")


def need_account(work: Work, player: str) -> None:
    """Raise RequestRefused if a player has no account."""
    if not work.has_account(player):
        raise RequestRefused("ACCOUNT", f"player {player} has no account; open one first")


def was_refused(answer: str) -> bool:
    """Return whether a stored answer is a refusal."""
    return isinstance(_decode_answer(answer), _Refusal)


def _build_refusal(line: AnswerLine) -> RequestRefused:
    """Return a game's refusal as an exception.

    A `refused` line has a field for the rule. In a `rejected` line the rule is the first part of the reason.
    """
    rule, reason = getattr(line, "rule", None), str(getattr(line, "reason", ""))
    if rule is None:
        rule, _, reason = reason.partition(": ")
    return RequestRefused(str(rule), reason)


DEALER = "dealer"
"""The position of the dealer's hand, where no player may sit."""


def check_bet_seat(work: Work, enrolled: EnrolledTable, bet: RawRequest, *, own: bool) -> None:
    """Raise RequestRefused if a bet's position does not belong to the bet's player.

    If `own` is True, the player sent the request and may bet only at the seat that staff assigned.
    """
    if bet.get("seat") is None:
        return
    seat, player = str(bet["seat"]), str(bet["player"])
    _check_no_dealer(seat)
    owner = _owner(work, enrolled.name, seat)
    if owner is None and own:
        raise RequestRefused(
            "SEATED", f"{player} is not seated at seat {seat}; a dealer must seat them first"
        )
    _check_owner(seat, player, owner or enrolled.book.player_at(seat))
    _check_owner(seat, player, enrolled.book.player_at(seat))


def check_taking_seat(enrolled: EnrolledTable, seat: str, player: str) -> None:
    """Raise RequestRefused if a seat is the dealer's position, or if another player has wagers there."""
    _check_no_dealer(seat)
    _check_owner(seat, player, enrolled.book.player_at(seat))


def _check_no_dealer(seat: str) -> None:
    if seat.strip().casefold() == DEALER:
        raise RequestRefused("SEATED", f"seat {seat!r} is the dealer's position; name a player's seat")


def _check_owner(seat: str, player: str, owner: str | None) -> None:
    if owner is not None and owner != player:
        raise RequestRefused("SEATED", f"seat {seat} belongs to another player, not to {player}")


def _owner(work: Work, table: str, seat: str) -> str | None:
    seats = schema.seats
    query = select(seats.c.player).where(seats.c.table_name == table, seats.c.seat == seat)
    owner: str | None = work.connection.execute(query).scalar_one_or_none()
    return owner
