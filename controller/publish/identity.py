"""Identities on the broker: the authentication of answers, and the detection of a second client.

A table accepts answers signed by its settlement engine's key. This is the key in the table's file
(`engine_key`) or, if there is none, the first key that an engine reports. The reported key is stored next to
the journal, signed by the table. The table accepts a new key if the previous key signed it.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import Ack
from controller.journal.keys import PublicKey
from controller.model.printable import excerpt
from controller.publish.events import (
    Acknowledgement,
    Answer,
    ProgressReport,
    TableStatus,
    answer_signed_by,
    endorsed,
    read_answer,
    read_status,
)
from controller.publish.faults import Alarm, PublishFault
from controller.publish.wire import Signature, Signer, UnreadableMessage, Verifier, is_signed, sign_message

PIN = b"table-engine pin\0"
Authenticity = Literal["genuine", "unsigned", "forged", "unverifiable"]


class _StoredPin(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    by: str
    signature: Signature | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_StoredPin).decode


class Pin:
    """The settlement engine's public key, as pinned by this table."""

    def __init__(self, key: bytes | None = None, keep: Callable[[bytes, str], None] | None = None) -> None:
        """Start with this key (32 bytes), if given. `keep` stores a key learned from an engine."""
        self._key = None if key is None else PublicKey(key)
        self._keep = keep

    @property
    def key(self) -> str | None:
        """The public key in hex; None if no key is known yet."""
        return None if self._key is None else self._key.raw.hex()

    def recall(self, key: bytes | None) -> None:
        """Adopt a stored key, unless the table's file names a key."""
        if self._key is None and key is not None:
            self._key = PublicKey(key)

    def authenticate(self, payload: bytes, answer: Answer) -> Authenticity:
        """Return whether these bytes, which decode to `answer`, are genuine, unsigned or forged.

        A signed answer is unverifiable until an engine has reported its key.

        Adopt the key in a progress report if it is the first key, or if the current key endorsed it.
        """
        if answer.signature is msgspec.UNSET:
            return "forged" if self._key is not None else "unsigned"
        if self._key is not None and answer_signed_by(payload, self._key):
            return "genuine"
        if self._key is None and not isinstance(answer, ProgressReport):
            return "unverifiable"
        if isinstance(answer, ProgressReport) and self._may_learn(answer):
            reported = PublicKey(bytes.fromhex(answer.key))
            if answer_signed_by(payload, reported):
                self._key = reported
                if self._keep is not None:
                    self._keep(reported.raw, answer.by)
                return "genuine"
        return "forged"

    def _may_learn(self, report: ProgressReport) -> bool:
        return self._key is None or endorsed(report, self._key)


def read_pin(path: Path, key: Verifier) -> bytes | None:
    """Return the stored key of the engine; None if no key with this table's signature is stored."""
    try:
        payload = path.read_bytes()
        kept = _decode(payload)
        return bytes.fromhex(kept.key) if is_signed(payload, PIN, key) else None
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def write_pin(path: Path, key: Signer, engine_key: bytes, by: str) -> None:
    """Store the engine's key. Raises OSError if the file can't be written."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with new.open("xb") as file:  # "x" follows no symbolic link; the command might run as root
        file.write(sign_message(_encode(_StoredPin(key=engine_key.hex(), by=by)), PIN, key))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


_ACK = msgspec.json.Decoder(Ack)


class AcknowledgementCheck(NamedTuple):
    """The result of checking the `outbox.closed` rows."""

    signed: int
    """The number of acknowledgements stored with the engine's signature."""
    unsigned: int
    """The number of acknowledgements without a signature. They come from an engine in the table's own process
    or from an engine of an older release."""
    keys: tuple[str, ...]
    """The engine's public keys in hex, in the order of their first signatures."""
    wrong: tuple[str, ...]
    """A message for each invalid acknowledgement."""


def check_acknowledgements(rows: Iterable[Row]) -> AcknowledgementCheck:
    """Check the acknowledgement in each of these `outbox.closed` rows."""
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
        found = _check_proof(ack)
        if found is not None:
            expected = f"the engine's signed acknowledgement of {excerpt(ack.id)}"
            wrong.append(f"row {row.n}: found {found}, expected {expected}")
            continue
        signed += 1
        keys[ack.proof.key] = None
    return AcknowledgementCheck(signed, unsigned, tuple(keys), tuple(wrong))


def _check_proof(ack: Ack) -> str | None:
    assert ack.proof is not None
    text = ack.proof.words.encode()
    try:
        answer = read_answer(text)
        signed = answer_signed_by(text, PublicKey(bytes.fromhex(ack.proof.key)))
    except (msgspec.MsgspecError, ValueError) as error:
        return f"an acknowledgement or a key that can't be read ({error})"
    if not isinstance(answer, Acknowledgement) or (answer.id, answer.chain, answer.by) != (
        ack.id,
        ack.chain,
        ack.by,
    ):
        return "an acknowledgement of a different outcome"
    return None if signed else f"a signature that was not made by key {ack.proof.key}"


PREVIOUS_RUN_US = 150_000_000
"""Time after the first connection during which messages from this table's previous run might still arrive. A
broker drops a dead connection after one and a half times its keep-alive interval."""
CONFLICT_CLEARS_US = 60_000_000
"""Time without a second client after which the fault is cleared."""


class DuplicateClientDetector:
    """Detects another client with this table's name. Not every broker reports such a client."""

    def __init__(self, alarm: Alarm, where: str) -> None:
        self._alarm = alarm
        self._where = where
        self._own: deque[bytes] = deque(maxlen=64)
        self._session: int | None = None
        self._first_us: int | None = None
        self._connections = 0
        self._since_us: int | None = None

    def connected(self, now_us: int) -> None:
        """Record that the broker has accepted the table's connection."""
        self._connections += 1
        if self._first_us is None:
            self._first_us = now_us
        if self._since_us is not None:
            self._since_us = now_us

    def receive(self, payload: bytes) -> None:
        """Record a status that this table sent."""
        self._own.append(payload)
        with suppress(UnreadableMessage):
            session = read_status(payload).session
            self._session = session if session is not None else self._session

    def check(self, payload: bytes, now_us: int, *, retained: bool) -> None:
        """Report another client if this table did not send the received status.

        Ignore a retained status at the first connection, as it might be from this table's previous run.
        """
        if payload in self._own or (retained and self._connections < 2):
            return
        with suppress(UnreadableMessage):
            status = read_status(payload)
            if status.state == "online" and not self._is_of_previous_run(status, now_us):
                found = (
                    f"a status from another client: session {status.session}, `{excerpt(status.headline)}`"
                )
                self.report(found, now_us)

    def _is_of_previous_run(self, status: TableStatus, now_us: int) -> bool:
        """Return whether this might be a delayed status from this table's previous run."""
        if self._session is None or self._first_us is None or now_us - self._first_us > PREVIOUS_RUN_US:
            return False
        return status.session is None or status.session < self._session

    def report(self, found: str, now_us: int) -> None:
        """Report another client."""
        self._since_us = now_us
        self._alarm.report(PublishFault("identity_taken", self._where, found))

    def clear_if_over(self, now_us: int) -> None:
        """Clear the fault if no other client has been detected for `CONFLICT_CLEARS_US`."""
        if self._since_us is not None and now_us - self._since_us > CONFLICT_CLEARS_US:
            self._since_us = None
            self._alarm.clear("identity_taken")
