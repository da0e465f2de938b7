"""Check what a journal keeps of acknowledgements: that the settlement engine signed them."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import Ack
from controller.journal.keys import PublicKey
from controller.publish.events import Acknowledgement, answer_signed_by, read_answer

_ACK = msgspec.json.Decoder(Ack)


class Checked(NamedTuple):
    """What was found of the rows `outbox.closed`."""

    signed: int
    """Acknowledgements whose kept words bear the engine's signature."""
    unsigned: int
    """Those without kept words: of an engine in the table's own process, or of an older release."""
    keys: tuple[str, ...]
    """The engine's public keys in hex, in the order in which they first signed."""
    wrong: tuple[str, ...]
    """For each that does not hold: its row, what was found and what was expected."""


def check_acknowledgements(rows: Iterable[Row]) -> Checked:
    """Check every acknowledgement among the rows `outbox.closed`."""
    signed = unsigned = 0
    keys: dict[str, None] = {}
    wrong: list[str] = []
    for row in rows:
        if row.body is None:
            continue
        ack = _ACK.decode(row.body)
        if ack.proof is None:
            unsigned += 1
            continue
        found = _fault_of(ack)
        if found is not None:
            wrong.append(
                f"row {row.n}: found {found}, expected the settlement engine's signed word on {ack.id}"
            )
            continue
        signed += 1
        keys[ack.proof.key] = None
    return Checked(signed, unsigned, tuple(keys), tuple(wrong))


def _fault_of(ack: Ack) -> str | None:
    assert ack.proof is not None
    words = ack.proof.words.encode()
    try:
        told = read_answer(words)
        signed = answer_signed_by(words, PublicKey(bytes.fromhex(ack.proof.key)))
    except (msgspec.MsgspecError, ValueError) as error:
        return f"words or a key that can't be read ({error})"
    if not isinstance(told, Acknowledgement) or (told.id, told.chain, told.by) != (ack.id, ack.chain, ack.by):
        return "words that acknowledge something else"
    return None if signed else f"a signature that is not key {ack.proof.key}'s"
