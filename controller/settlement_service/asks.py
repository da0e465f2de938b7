"""What is asked at the counter, and its answers: the words of the engine and the process that serves HTTP."""

from typing import Literal

import msgspec
from pydantic import BaseModel

from controller.settlement_service.access import Deed
from controller.settlement_service.schemas import Refused


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request: the deed, the digest of a token, and what the deed takes."""

    do: Deed | Literal["health", "who"]
    digest: str = ""
    key: str = ""
    player: str = ""
    table: str = ""
    seat: str = ""
    wager: str = ""
    cents: int = 0
    limit: int = 0
    asked: dict[str, object] = {}
    """Of a bet or a change: the request of the settle contract."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: the HTTP status and the body's JSON."""

    status: int
    body: msgspec.Raw


def refusal(status: int, rule: str, reason: str) -> Told:
    """Write a refusal."""
    return model_told(Refused(rule=rule, reason=reason), status)


def out_of_reach(error: object) -> Told:
    """Write that the database does not answer: nothing is known to have been done."""
    return refusal(503, "DATABASE", str(error))


def model_told(model: BaseModel, status: int = 200) -> Told:
    """Write a model as an answer."""
    return told_of(model.model_dump_json().encode(), status)


def told_of(body: bytes, status: int = 200) -> Told:
    """Write JSON as an answer."""
    return Told(status=status, body=msgspec.Raw(body))
