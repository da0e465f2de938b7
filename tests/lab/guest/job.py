"""The host's request to the guest, and the guest's answer."""

from typing import Any

import msgspec


class Job(msgspec.Struct, frozen=True):
    """A function of a guest's module (`module:name`) and its arguments, run directly or under systemd."""

    work: str
    args: list[Any]
    kwargs: dict[str, Any]
    systemd: bool = False


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """The function's return value, or the traceback of its exception."""

    returned: Any = None
    raised: str | None = None
