"""The messages of the control socket. Each is a line of JSON; requests have `do`, and answers have `ok`."""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from controller.app.hub import TOPICS, Topic
from controller.model.conversion import decode_strict
from controller.model.readings import Sha256

MAX_LINE = 65536
"""Maximum length of a request in bytes."""
MAX_WAIT_S = 30
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Words = Annotated[str, Meta(max_length=500)]
Row = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Token = Annotated[str, Meta(max_length=1024)]
"""A token from the sign-in process, which overrides the role and person in the other fields."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="do", forbid_unknown_fields=True
):
    """A request."""


class StatusRequest(Request, frozen=True, kw_only=True, tag="status"):
    """A request for the table's status."""


class TableRequest(Request, frozen=True, kw_only=True, tag="table"):
    """A request, from a staff screen, for the table's state and the inputs that each role may enter."""


class BoardRequest(Request, frozen=True, kw_only=True, tag="board"):
    """A request for the data that players may see."""


class PictureRequest(Request, frozen=True, kw_only=True, tag="picture"):
    """A request for a drawing of the throw or spin with this number, which must await a ruling."""

    number: Row


class FaultsRequest(Request, frozen=True, kw_only=True, tag="faults"):
    """A request for the active faults and their remedies."""


class Watch(Request, frozen=True, kw_only=True, tag="watch"):
    """A subscription to these topics; the connection then carries only their lines."""

    topics: tuple[Topic, ...] = TOPICS
    token: Token | None = None
    """With a technician's token, `readings` includes the motion of the ball and the rotor."""


class Enter(Request, frozen=True, kw_only=True, omit_defaults=True, tag="input"):
    """A person's input with its arguments; `by` is the person's role, `who` the name."""

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
    """The subject of the input; for a ruling, the attempt's number, as in its outcomes."""
    on: bool | None = None
    of_review: bool = False
    """Whether the ruling is only for an attempt that awaits a ruling; if somebody has already ruled on the
    attempt, this ruling is refused."""
    token: Token | None = None
    wait_s: Annotated[float, Meta(ge=0, le=MAX_WAIT_S)] = 0
    """Maximum wait for the result, in seconds; with 0, the answer only confirms that the input was queued."""


class Approve(Request, frozen=True, kw_only=True, tag="approve"):
    """A person's approval of a changed identity, the wall clock, a device, or an older journal."""

    what: Literal["identity", "clock", "device", "journal"]
    who: Words | None = None
    reason: Words = ""
    token: Token | None = None


class HoldPictures(Request, frozen=True, kw_only=True, tag="hold_pictures"):
    """A request to journal that a camera's picture file is now held (protected from deletion) or released.

    The client records the hold in the camera's folder. The controller only journals the hold.
    """

    sha256: Sha256
    held: bool
    who: Words
    reason: Words


class OutboxRequest(Request, frozen=True, kw_only=True, tag="outbox"):
    """A request for the outcomes after this row that settlement has not acknowledged."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    after: Row = 0


class Settled(Request, frozen=True, kw_only=True, tag="settled"):
    """Settlement's acknowledgement of an outcome, identified by its id and chain hash (hex)."""

    id: Words
    chain: Words


class BeginTest(Request, frozen=True, kw_only=True, tag="test"):
    """A request to start test mode, which ends when the connection closes; only test requests may follow."""

    who: Words | None = None
    token: Token | None = None


class TestPrompt(Request, frozen=True, kw_only=True, tag="ask"):
    """A request, during a test, to set the technician's prompt, which the lamp `test` shows."""

    shows: Annotated[str, Meta(max_length=64)]


class OutputTest(Request, frozen=True, kw_only=True, tag="try"):
    """A request, during a test, to set a device's lamp or `buzzer` until the test ends."""

    device: Name
    lamp: Name
    shows: Name


class TestResult(Request, frozen=True, kw_only=True, tag="tested"):
    """A report, during a test, of which sensors of a device passed and which failed, with the findings."""

    device: Name
    passed: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    failed: Annotated[dict[Name, Words], Meta(max_length=64)] = {}


class RowsRequest(Request, frozen=True, kw_only=True, tag="rows"):
    """A request for a range of the journal's rows, optionally limited to these types."""

    from_n: Row = 1
    to_n: Row | None = None
    types: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    evidence: bool = False
    token: Token | None = None


class RowRequest(Request, frozen=True, kw_only=True, tag="row"):
    """A request for the row of this outcome."""

    id: Words
    token: Token | None = None


class IdentityRequest(Request, frozen=True, kw_only=True, tag="identity"):
    """A request for the table's identity at this row, and for the public key that signs the row."""

    at: Row
    token: Token | None = None


class RecordingRequest(Request, frozen=True, kw_only=True, tag="recording"):
    """A request for the lines of this recording."""

    name: Annotated[str, Meta(pattern=r"^[^/]{1,200}$")]
    token: Token | None = None


class RecordingsRequest(Request, frozen=True, kw_only=True, tag="recordings"):
    """A request for the list of recordings, the newest first."""

    token: Token | None = None


class LogRequest(Request, frozen=True, kw_only=True, tag="log"):
    """A request for the last lines of the controller's log."""

    token: Token | None = None


HistoryRequest = (
    RowsRequest | RowRequest | IdentityRequest | RecordingRequest | RecordingsRequest | LogRequest
)
"""Requests answered from the journal, the recordings or the log, in one or more lines."""
TestRequest = TestPrompt | OutputTest | TestResult
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
    | TestRequest
    | HistoryRequest
)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a refused request: a stable code, and a message with the remedy."""

    code: str
    says: str
    allowed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The inputs allowed now, if the table refused an input."""
    ok: Literal[False] = False


_decode: Callable[[bytes], AnyRequest] = msgspec.json.Decoder(AnyRequest).decode
encode = msgspec.json.Encoder().encode


def decode_request(line: bytes) -> AnyRequest:
    """Return the request in a line; raises ValueError (StrictJsonError or msgspec's) if it is invalid."""
    decode_strict(line)
    return _decode(line)


def answer(**fields: object) -> bytes:
    """Return the answer to a granted request, with these fields."""
    return encode({"ok": True, **fields}) + b"\n"


def refusal(code: str, message: str, allowed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET) -> bytes:
    """Return the answer to a refused request."""
    return encode(Refusal(code=code, says=message, allowed=allowed)) + b"\n"


def too_long() -> bytes:
    """Return the refusal of a line that is too long."""
    return refusal("bad_request", f"the request is longer than {MAX_LINE} bytes; send a shorter one")
