"""What the host requests from the guest, and what the guest returns."""

from typing import Any

import msgspec


class Job(msgspec.Struct, frozen=True):
    """A function of a guest's module, `module:name`, with its arguments; it runs under systemd or by
    itself."""

    work: str
    args: list[Any]
    kwargs: dict[str, Any]
    systemd: bool = False


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """The function's return value, or the traceback of its exception."""

    returned: Any = None
    raised: str | None = None
