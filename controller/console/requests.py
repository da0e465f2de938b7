"""What every POST of a screen has: a body read strictly, and an answer or a refusal in JSON."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from controller.console.link import Json
from controller.model.conversion import strict

_encode = msgspec.json.Encoder().encode


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request's body."""


OneBody = TypeVar("OneBody", bound=Body)


class Refusal(Exception):
    """A request that is not granted: the HTTP status, a code and what to do."""

    def __init__(self, status: int, code: str, says: str) -> None:
        super().__init__(says)
        self.status = status
        self.code = code
        self.says = says


async def body_of(request: Request, read: Callable[[bytes], OneBody]) -> OneBody:
    """Return a request's body; raises Refusal where it is not one."""
    raw = await request.body()
    try:
        strict(raw)
        return read(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_request", str(error)) from error


def json_answer(told: Json, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(_encode(told), status, media_type="application/json")
