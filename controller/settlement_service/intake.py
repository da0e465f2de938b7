"""Intake of outcomes. It verifies their signatures, and applies each outcome once, in the table's order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select, update

from controller.model.outcomes import Bets, Outcome
from controller.model.printable import excerpt
from controller.settlement.book import RawRequest
from controller.settlement_service import schema
from controller.settlement_service.book import (
    CORRECTIONS,
    RESULTS,
    Contradiction,
    ReceivedAt,
    Step,
    UnknownRequest,
)
from controller.settlement_service.deliveries import (
    AcknowledgedDelivery,
    Answer,
    Delivery,
    HeldDelivery,
    RefusalCode,
    RejectedDelivery,
    verified_outcome,
)
from controller.settlement_service.enrolled_table import EnrolledTable
from controller.settlement_service.work import Work

MAX_HELD_BYTES = 4_000_000
"""Maximum size, in bytes, of one table's outcomes that are waiting for a missing outcome. A thousand outcomes
take up about a third of it. Without the limit, the holder of one table's key could exhaust the engine's
memory."""
MAX_REASON = 1000
"""Maximum number of characters in the reason for a halt, which can quote an outcome."""
MALFUNCTIONS = frozenset({"power_lost", "missing_reading", "conflict", "unruled"})
"""Reasons for a No Roll or No Spin that indicate an equipment malfunction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The house's policies."""

    malfunction: Literal["stand", "refund"] = "stand"
    """The effect on bets of a No Roll or No Spin caused by a malfunction. With `stand`, bets remain for the
    next attempt (!34-10, !R-7). With `refund`, all stakes are returned, as required by Singapore's Conduct of
    Gaming rules, r.15.
    """
    hold: int = 1000
    """Maximum number of a table's outcomes that can wait for a missing outcome."""


class Intake:
    """Applies outcomes within a transaction."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    def take(self, work: Work, table: EnrolledTable | None, delivery: Delivery) -> list[Answer]:
        """Handle one delivery; return its answer, and the answers to deliveries that were waiting for it."""
        if table is None:
            reason = "the table is not enrolled; enrol it with `tablectl settlement enrol`"
            return [_rejected(delivery, "table_unknown", reason)]
        if table.halted:
            return [_rejected(delivery, "table_halted", table.halted)]
        outcome = verified_outcome(delivery, table.key)
        if isinstance(outcome, str):
            work.alarm(table.name, "seal_wrong", outcome)
            return [_rejected(delivery, "seal_wrong", outcome)]
        if outcome.seq < table.next_seq:
            return [self._acknowledge_again(work, table, delivery, outcome)]
        if outcome.seq > table.next_seq:
            return [self._hold(work, table, delivery, outcome)]
        answers = [self._apply(work, table, delivery, outcome)]
        while not table.halted and table.next_seq in table.early:
            answers.append(self._apply(work, table, *table.early.pop(table.next_seq)))
        return answers

    def release(self, work: Work, table: EnrolledTable, who: str, *, refund: bool) -> None:
        """Clear a table's alarms and end its halt. With `refund`, the next outcome returns all stakes."""
        if table.halted:
            table.halted = None
            table.skip_seq = table.next_seq if refund else None
        alarms = schema.alarms
        work.connection.execute(
            update(alarms)
            .where(alarms.c.table_name == table.name, alarms.c.cleared_us.is_(None))
            .values(cleared_us=work.now_us, cleared_by=who)
        )
        work.store_state(table.name, table.row())

    def _acknowledge_again(
        self, work: Work, table: EnrolledTable, delivery: Delivery, outcome: Outcome
    ) -> Answer:
        """Acknowledge an outcome that has already been applied; halt if it differs from the stored one."""
        known = work.chain_of(table.name, outcome.seq)
        if known == delivery.chain:
            return AcknowledgedDelivery(table.name, outcome.id, delivery.chain)
        if known is None:
            reason = f"outcome {outcome.id} precedes the first outcome for which the table is enrolled"
            return _rejected(delivery, "before_enrolment", reason)
        return self._conflict(work, table, delivery, outcome, known)

    def _hold(self, work: Work, table: EnrolledTable, delivery: Delivery, outcome: Outcome) -> Answer:
        waiting = table.early.get(outcome.seq)
        if waiting is not None and waiting[0].chain != delivery.chain:
            return self._conflict(work, table, delivery, outcome, waiting[0].chain)
        held = sum(len(kept.payload) for kept, _ in table.early.values())
        full = len(table.early) >= self._policies.hold or held + len(delivery.payload) > MAX_HELD_BYTES
        if waiting is None and full:
            reason = (
                f"{len(table.early)} outcomes are already waiting for the missing outcome {table.next_seq};"
                " send that one first"
            )
            return _rejected(delivery, "hold_full", reason)
        table.early[outcome.seq] = delivery, outcome
        return HeldDelivery(table.name, outcome.seq, table.next_seq)

    def _conflict(
        self, work: Work, table: EnrolledTable, delivery: Delivery, outcome: Outcome, known: str
    ) -> RejectedDelivery:
        """Halt the table: two signed outcomes have the same number.

        The cause is a cloned table or a restored journal.
        """
        reason = (
            f"outcome {outcome.seq} was received with the chain hashes {delivery.chain} and {known}, both"
            " signed by the table's key; find the second table or restored journal, then release the table"
        )
        return self._halt(work, table, delivery, "outcome_conflict", reason)

    def _apply(self, work: Work, table: EnrolledTable, delivery: Delivery, outcome: Outcome) -> Answer:
        try:
            self._strike(work, table, delivery.event.session, outcome)
            step = self._step_of(work, table, outcome)
            if step is not None:
                self._step(work, table, step)
        except (Contradiction, UnknownRequest) as error:
            reason = f"outcome {outcome.id} contradicts the wager book: {error}"
            return self._halt(work, table, delivery, "state_differs", reason)
        table.follow_bets(outcome)
        work.store_round_times(table.name, table.round, delivery.event.session, outcome)
        table.next_seq += 1
        work.outcome(delivery, outcome)
        work.store_state(table.name, table.row())
        return AcknowledgedDelivery(table.name, outcome.id, delivery.chain)

    def _halt(
        self, work: Work, table: EnrolledTable, delivery: Delivery, code: RefusalCode, reason: str
    ) -> RejectedDelivery:
        reason = excerpt(reason, MAX_REASON)
        table.halted = reason
        work.alarm(table.name, code, reason)
        work.halt(table.name, reason)
        return _rejected(delivery, code, reason)

    def _step(self, work: Work, table: EnrolledTable, step: Step) -> None:
        booked = table.book.apply(step)
        table.anchor = booked.anchor or table.anchor
        work.step(table.name, step, booked)

    def _strike(self, work: Work, table: EnrolledTable, session: str, outcome: Outcome) -> None:
        """If this outcome closes bets, withdraw the requests that the table received after the close.

        Such requests exist if sensors reported the close later than the table's statements allow for, as
        when a process has stalled. The close then lies within the time that a statement had covered.
        """
        if outcome.type != "bets.closed" or not isinstance(outcome.data, Bets):
            return
        closed = ReceivedAt(session, outcome.data.round, outcome.t)
        strikes = table.book.received_after(closed)
        if not strikes:
            return
        self._step(work, table, Step(n=table.book.last_n + 1, kind="struck", strikes=strikes))
        work.store_last_bet(table.name, closed, table.book.last_received(closed))
        reason = (
            f"round {closed.round}: withdrew {len(strikes)} wagers or changes that the table received after"
            " bets had closed; its sensors reported the close after a delay (see the table's fault"
            " `readings_late`)"
        )
        work.alarm(table.name, "bets_struck", reason)

    def _step_of(self, work: Work, table: EnrolledTable, outcome: Outcome) -> Step | None:
        """Return an outcome's step in the wager book; None if the outcome has no effect there."""
        n = table.book.last_n + 1
        wagers = table.game.wagers
        if outcome.seq == table.skip_seq:
            return self._build_reset(work, table, outcome)
        if outcome.type in _NEW_BEGINNINGS and wagers.returns_stakes_at_open_and_close:
            return Step(n=n, kind="reset", seq=outcome.seq, refund=f"{outcome.type} returns all stakes")
        requests = self._in_names(work, table.name, wagers.requests_of(outcome))
        if not requests:
            return None
        correction = outcome.type in CORRECTIONS
        return Step(
            n=n,
            kind="correction" if correction else "outcome",
            requests=requests,
            seq=outcome.seq,
            corrects=_corrects(outcome) if correction else None,
            result=outcome.type in RESULTS,
            refund=self._refunds(outcome),
            point_after=wagers.point_after(outcome),
        )

    def _build_reset(self, work: Work, table: EnrolledTable, outcome: Outcome) -> Step:
        """Return a step that refunds all stakes and restarts from the table's state after this outcome."""
        prelude = table.game.wagers.prelude_after(outcome, self._names(work, table.name))
        return Step(
            n=table.book.last_n + 1,
            kind="reset",
            requests=tuple(prelude),
            seq=outcome.seq,
            result=True,
            refund="a contradiction that a person has resolved",
        )

    def _refunds(self, outcome: Outcome) -> str:
        if self._policies.malfunction == "stand" or outcome.type.startswith("deal"):
            return ""
        codes = [
            reason.code for reason in getattr(outcome.data, "reasons", ()) if reason.code in MALFUNCTIONS
        ]
        return f"malfunction: {', '.join(codes)}" if codes else ""

    def _in_names(self, work: Work, table: str, requests: list[RawRequest]) -> tuple[RawRequest, ...]:
        if not any(_SEATED & one.keys() for one in requests):
            return tuple(requests)
        names = self._names(work, table)
        return tuple(_name_players(one, names) for one in requests)

    def _names(self, work: Work, table: str) -> Mapping[str, str]:
        seats = schema.seats
        query = select(seats.c.seat, seats.c.player).where(seats.c.table_name == table)
        return _PlayersBySeat(table, {row.seat: row.player for row in work.connection.execute(query)})


def seat_of(work: Work, table: str, player: str) -> str:
    """Return a player's seat at a table."""
    seats = schema.seats
    query = select(seats.c.seat).where(seats.c.table_name == table, seats.c.player == player)
    seat: str | None = work.connection.execute(query).scalars().first()
    return player.removeprefix(f"{table} seat ") if seat is None else seat


class _PlayersBySeat(dict[str, str]):
    """The players by seat. For an empty seat, the name is built from the table and the seat."""

    def __init__(self, table: str, taken: Mapping[str, str]) -> None:
        super().__init__(taken)
        self._table = table

    def __missing__(self, seat: str) -> str:
        return f"{self._table} seat {seat}"


_SEATED = frozenset({"player", "button", "seats"})
_NEW_BEGINNINGS = frozenset({"table.opened", "table.closed"})


def _name_players(raw: RawRequest, names: Mapping[str, str]) -> RawRequest:
    """Return a request with players' names instead of seats."""
    named = dict(raw)
    for field in ("player", "button"):
        if named.get(field) is not None:
            named[field] = names[str(named[field])]
    if isinstance(seats := named.get("seats"), tuple | list):
        named["seats"] = [names[str(seat)] for seat in seats]
    return named


def _corrects(outcome: Outcome) -> int | None:
    number = str(getattr(outcome.data, "corrects", "")).rpartition("/")[2]
    return int(number) if number.isdecimal() else None


def _rejected(delivery: Delivery, code: RefusalCode, reason: str) -> RejectedDelivery:
    return RejectedDelivery(delivery.table, code, reason)
