"""The settle contract on the wire: one JSON object a line, told apart by `do`.

Each game declares its own requests as subclasses of Request; what they share is here. A line that is not
exactly one of them is malformed and ends the run: a bet that was half understood is a guess.
"""

from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import reduce
from operator import or_

import msgspec

Cents = int
"""An amount of whole cents as a request gives it; `amounts` tells whether anybody can bet it."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"
):
    """One line in. `do` names the subclass by its tag."""


class Working(Request, frozen=True, kw_only=True, tag="working"):
    """Call a bet on or off."""

    id: str
    on: bool


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


class Decoder:
    """Decodes the lines of one game, given its requests."""

    def __init__(self, vocabulary: Sequence[type[Request]]) -> None:
        self._decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(reduce(or_, vocabulary))
        self._words = ", ".join(sorted(str(kind.__struct_config__.tag) for kind in vocabulary))

    def decode(self, raw: bytes, line: int) -> Request:
        """Decode line number `line`; raises Malformed."""
        try:
            return self._decoder.decode(raw)
        except (ValueError, RecursionError) as error:
            raise Malformed(line, _shown(raw), self._expected(raw, error)) from error

    def _expected(self, raw: bytes, error: Exception) -> str:
        if raw.startswith(BOM_UTF8):
            return "one JSON object in UTF-8 without a byte order mark"
        if not isinstance(error, msgspec.ValidationError):
            return f"one JSON object in UTF-8 ({error})"
        return f"a request whose `do` is one of {self._words}, each with its own fields ({error})"


def _shown(raw: bytes) -> str:
    text = raw.strip().decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 120 else f"{text[:117]}...")
