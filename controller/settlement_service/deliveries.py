"""Deliveries from tables, and the engine's answers. A delivery is a signed event with one outcome."""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from controller.journal.keys import PublicKey
from controller.model.outcomes import Outcome, data_of
from controller.model.printable import excerpt
from controller.publish import events
from controller.publish.events import Event, read_event, signed_by

MAX_T_US = 2**62
"""Maximum absolute value of a table's time (us): half the range of the database's integers."""


class Delivery(NamedTuple):
    """A decoded event whose signature has not been verified yet. The signature covers `payload`."""

    payload: bytes
    event: Event

    @property
    def table(self) -> str:
        """The name of the table in the event."""
        return self.event.table

    @property
    def chain(self) -> str:
        """The chain hash of the event, which the acknowledgement repeats."""
        return self.event.chain


def read(payload: bytes) -> Delivery:
    """Decode an event. Raises ValueError if the bytes are not an event."""
    return Delivery(payload, read_event(payload))


def verified_outcome(delivery: Delivery, key: PublicKey) -> Outcome | str:
    """Verify an event; return its outcome, or the fault, such as a signature by a different key."""
    event = delivery.event
    id_, table = excerpt(event.id), excerpt(event.table)
    if not signed_by(delivery.payload, key):
        return f"outcome {id_} is not signed by the key that table {table} was enrolled with"
    parts = event.id.split("/")
    if parts[0] != event.table or parts[-1] != str(event.seq):
        return f"the id {id_} does not belong to outcome {event.seq} of table {table}"
    try:
        data, t = data_of(event.type, event.data), int(event.tabletime)
    except (ValueError, KeyError, RecursionError) as error:
        type_, why = excerpt(event.type), excerpt(str(error))
        return f"outcome {id_} of type {type_} can't be read ({why}); update the settlement engine"
    if abs(t) > MAX_T_US:
        return f"outcome {id_}: found the time {t} us, expected {-MAX_T_US} to {MAX_T_US} us"
    return Outcome(type=event.type, t=t, id=event.id, seq=event.seq, data=data)


RefusalCode = Literal[
    "unreadable",
    "table_unknown",
    "seal_wrong",
    "before_enrolment",
    "outcome_conflict",
    "table_halted",
    "state_differs",
    "hold_full",
]


class AcknowledgedDelivery(NamedTuple):
    """The outcome has been committed, just now or earlier. The journal needs its id and chain hash."""

    table: str
    id: str
    chain: str


class HeldDelivery(NamedTuple):
    """The outcome is waiting for the missing outcome `asks_from`, which is requested from the table."""

    table: str
    seq: int
    asks_from: int


class RejectedDelivery(NamedTuple):
    """The outcome was refused, changed nothing, and is not acknowledged."""

    table: str
    code: RefusalCode
    reason: str


Answer = AcknowledgedDelivery | HeldDelivery | RejectedDelivery


def to_messages(answers: Iterable[Answer], by: str) -> Iterator[tuple[str, events.Answer]]:
    """Yield the table and message of each acknowledgement, and of at most one resend request per table.

    Rejected deliveries get no message.
    """
    missing: dict[str, HeldDelivery] = {}
    for answer in answers:
        match answer:
            case AcknowledgedDelivery(table=table, id=id_, chain=chain):
                missing.pop(table, None)
                yield table, events.Acknowledgement(id=id_, chain=chain, by=by)
            case HeldDelivery(table=table):
                missing[table] = answer
            case RejectedDelivery():
                pass
    for table, held in missing.items():
        yield table, events.ResendRequest(table=table, told=held.seq, from_seq=held.asks_from, by=by)
