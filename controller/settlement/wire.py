"""The settle contract on the wire: one JSON object a line, told apart by `do`.

Each game declares its own requests as subclasses of Request; what they share is here. A line that is not
exactly one of them is malformed and ends the run: a bet that was half understood is a guess.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from controller.model.verdicts import Reason

Cents = int
"""An amount of whole cents as a request gives it; `amounts` tells whether anybody can bet it."""
CENTS_FIELDS = ("amount", "to")
"""The fields that hold one."""


Asked = dict[str, object]
"""One request, as an object of its JSON line."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"
):
    """One line in. `do` names the subclass by its tag."""


class Working(Request, frozen=True, kw_only=True, tag="working"):
    """Call a bet on or off, or leave it to the rules again ("default").

    `stands`: the player said that the call is for later rounds too, where calls end with the come-out.
    """

    id: str
    on: bool | Literal["default"]
    stands: bool = False


class Reduce(Request, frozen=True, kw_only=True, tag="reduce"):
    """Take a bet down to a smaller stake, given in cents."""

    id: str
    to: Cents


class Increase(Request, frozen=True, kw_only=True, tag="increase"):
    """Press a bet up to a larger stake, given in cents."""

    id: str
    to: Cents


class Remove(Request, frozen=True, kw_only=True, tag="remove"):
    """Take a bet down whole."""

    id: str


class Malformed(Exception):
    """A line that is no request: its number (from 1), what was found, what was expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}: found {found}, expected {expected}")
        self.line = line
        self.found = found
        self.expected = expected


def because(reasons: Iterable[Reason]) -> str:
    """Return the causes of an outcome as the reason of a request: `off_table, cocked`."""
    return ", ".join(dict.fromkeys(reason.code for reason in reasons))
