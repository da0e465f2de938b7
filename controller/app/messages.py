"""The messages of the control socket: one JSON object a line, requests with `do`, answers with `ok`."""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from controller.app.hub import TOPICS, Topic
from controller.model.conversion import decode_strict
from controller.model.readings import Sha256

MAX_LINE = 65536
"""The most bytes of a request."""
LONGEST_WAIT_S = 30
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Words = Annotated[str, Meta(max_length=500)]
Row = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Token = Annotated[str, Meta(max_length=1024)]
"""Who is at a screen, signed by the sign-in process: role and person are the token's own."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="do", forbid_unknown_fields=True
):
    """A request."""


class StatusRequest(Request, frozen=True, kw_only=True, tag="status"):
    """What is the table's state?"""


class TableRequest(Request, frozen=True, kw_only=True, tag="table"):
    """What is the table's state for a staff screen, and what may each role enter?"""


class BoardRequest(Request, frozen=True, kw_only=True, tag="board"):
    """What may players see?"""


class PictureRequest(Request, frozen=True, kw_only=True, tag="picture"):
    """What was seen of the throw or spin of this number, which waits for a person?"""

    number: Row


class FaultsRequest(Request, frozen=True, kw_only=True, tag="faults"):
    """What is wrong, and what is to be done?"""


class Watch(Request, frozen=True, kw_only=True, tag="watch"):
    """Watch these topics from now on; this connection then carries nothing else."""

    topics: tuple[Topic, ...] = TOPICS
    token: Token | None = None
    """With the token of a technician at a screen, the readings of ball and rotor come too, when permitted."""


class Enter(Request, frozen=True, kw_only=True, omit_defaults=True, tag="input"):
    """A person's input with its arguments, and the role (`by`) and person (`who`) that it is entered for."""

    name: Name
    by: Name
    who: Words | None = None
    dice: Annotated[tuple[int, ...], Meta(max_length=2)] | None = None
    seat: Words | int | None = None
    seats: Annotated[tuple[Words | int, ...], Meta(max_length=32)] | None = None
    number: Words | int | None = None
    card: Words | None = None
    count: int | None = None
    reason: Words | None = None
    what: Words | int | None = None
    """What the input is about; a ruling names its attempt by number, as outcomes give it."""
    on: bool | None = None
    of_review: bool = False
    """The ruling is for the attempt that waits for a person; refused if that was ruled on meanwhile."""
    token: Token | None = None
    wait_s: Annotated[float, Meta(ge=0, le=LONGEST_WAIT_S)] = 0
    """How long to wait for the result; with 0 the answer only says that the input was queued."""


class Approve(Request, frozen=True, kw_only=True, tag="approve"):
    """A person approves a changed identity, the wall clock, a device, or an older journal."""

    what: Literal["identity", "clock", "device", "journal"]
    who: Words | None = None
    reason: Words = ""
    token: Token | None = None


class HoldPictures(Request, frozen=True, kw_only=True, tag="hold_pictures"):
    """A person protects a file of a camera's pictures from deletion, or releases it: this is only journaled.

    The camera's folder is not the controller's: whoever asks has noted the hold there.
    """

    sha256: Sha256
    held: bool
    who: Words
    reason: Words


class OutboxRequest(Request, frozen=True, kw_only=True, tag="outbox"):
    """Which outcomes has settlement not acknowledged, after this row of the journal?"""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    after: Row = 0


class Settled(Request, frozen=True, kw_only=True, tag="settled"):
    """The settlement engine has this outcome: its id, and the chain hash (hex) that came with it."""

    id: Words
    chain: Words


class BeginTest(Request, frozen=True, kw_only=True, tag="test"):
    """Test mode for as long as this connection lasts; it then takes only `ask` and `try`."""

    who: Words | None = None
    token: Token | None = None


class TestPrompt(Request, frozen=True, kw_only=True, tag="ask"):
    """During a test: what the technician is asked to do; the lamp `test` shows it."""

    shows: Annotated[str, Meta(max_length=64)]


class OutputTest(Request, frozen=True, kw_only=True, tag="try"):
    """During a test: let a device's lamp, or its `buzzer`, show this until the test ends."""

    device: Name
    lamp: Name
    shows: Name


class TestResult(Request, frozen=True, kw_only=True, tag="tested"):
    """During a test: which of a device's sensors were found well, and which not, each with what was found."""

    device: Name
    passed: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    failed: Annotated[dict[Name, Words], Meta(max_length=64)] = {}


class RowsRequest(Request, frozen=True, kw_only=True, tag="rows"):
    """Which rows does the journal have, from one to another, of all types or of these?"""

    from_n: Row = 1
    to_n: Row | None = None
    types: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    evidence: bool = False
    token: Token | None = None


class RowRequest(Request, frozen=True, kw_only=True, tag="row"):
    """Which row holds this outcome?"""

    id: Words
    token: Token | None = None


class IdentityRequest(Request, frozen=True, kw_only=True, tag="identity"):
    """Which table and rules are in force at this row, and which public key signs it?"""

    at: Row
    token: Token | None = None


class RecordingRequest(Request, frozen=True, kw_only=True, tag="recording"):
    """What is in this recording?"""

    name: Annotated[str, Meta(pattern=r"^[^/]{1,200}$")]
    token: Token | None = None


class RecordingsRequest(Request, frozen=True, kw_only=True, tag="recordings"):
    """Which recordings are there, the newest first?"""

    token: Token | None = None


class LogRequest(Request, frozen=True, kw_only=True, tag="log"):
    """What did the controller log last?"""

    token: Token | None = None


AskPast = RowsRequest | RowRequest | IdentityRequest | RecordingRequest | RecordingsRequest | LogRequest
"""Requests that are answered from journal and recordings, in one line or many."""
OfTest = TestPrompt | OutputTest | TestResult
"""Requests that are accepted during a guided test."""
AnyRequest = (
    StatusRequest
    | TableRequest
    | BoardRequest
    | PictureRequest
    | FaultsRequest
    | Watch
    | Enter
    | Approve
    | HoldPictures
    | OutboxRequest
    | Settled
    | BeginTest
    | OfTest
    | AskPast
)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was not granted: a stable code, and what to do."""

    code: str
    says: str
    allowed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """For an input that the table refused: what is allowed now."""
    ok: Literal[False] = False


_decode: Callable[[bytes], AnyRequest] = msgspec.json.Decoder(AnyRequest).decode
encode = msgspec.json.Encoder().encode


def decode_request(line: bytes) -> AnyRequest:
    """Read a request; raises ValueError (StrictJsonError, msgspec's) with what is wrong."""
    decode_strict(line)
    return _decode(line)


def answer(**told: object) -> bytes:
    """Write a granted request's answer."""
    return encode({"ok": True, **told}) + b"\n"


def refusal(code: str, says: str, allowed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET) -> bytes:
    """Write a refusal."""
    return encode(Refusal(code=code, says=says, allowed=allowed)) + b"\n"


def too_long() -> bytes:
    """Write the refusal of a line that is too long."""
    return refusal("bad_request", f"a line of more than {MAX_LINE} bytes; nothing in it was done")
