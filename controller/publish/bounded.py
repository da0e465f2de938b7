"""What comes from a broker: read within bounds, and refused in one way whatever is wrong with it.

Who may write to a topic may write anything there, and what is retained comes again at each connection: a
message that a reader does not expect must cost one message, never the thread or the connection.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")
MAX_STATUS_BYTES = 32_768
"""A status names a table and its faults: a few hundred bytes."""
MAX_EVENT_BYTES = 1_048_576
"""An outcome with all its reasons and notices has a few thousand bytes."""


class Unreadable(msgspec.DecodeError):
    """Bytes that are none of what was expected: too many, no JSON, nested without end, or another message."""


def bounded(decode: Callable[[bytes], T], payload: bytes, most_bytes: int) -> T:
    """Return what these bytes are; raises Unreadable, and nothing else, where they are none of it."""
    if len(payload) > most_bytes:
        raise Unreadable(f"{len(payload)} bytes, more than {most_bytes}")
    try:
        return decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
