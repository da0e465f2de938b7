"""Plain values into the program's types, and the one rule for it: a type is worked out at import.

msgspec 0.22 works a type out where it is first decoded, and shows every thread what it has of it before it is
whole; a thread that takes up the half crashes the process. So `decode(..., type=)` and `convert` stand in no
function: a module makes its decoders (`msgspec.json.Decoder`) and its converters when it is imported.
"""

from collections.abc import Iterable
from functools import partial
from typing import Protocol, TypeVar

import msgspec

T = TypeVar("T")
Made_co = TypeVar("Made_co", covariant=True)


class Converter(Protocol[Made_co]):
    """Makes values one type, as `msgspec.convert` does; raises `msgspec.ValidationError`."""

    def __call__(
        self,
        value: object,
        /,
        *,
        strict: bool = True,
        builtin_types: Iterable[type] | None = None,
        str_keys: bool = False,
    ) -> Made_co: ...


def converter_of(kind: type[T]) -> Converter[T]:
    """Work a type out, now, and give what makes values of it."""
    msgspec.json.Decoder(kind)
    return partial(msgspec.convert, type=kind)
