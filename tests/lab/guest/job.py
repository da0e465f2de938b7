"""What the host asks of the guest, and what comes back."""

from typing import Any

import msgspec


class Job(msgspec.Struct, frozen=True):
    """A function of a guest's module, `module:name`, and its arguments; under systemd or alone."""

    work: str
    args: list[Any]
    kwargs: dict[str, Any]
    systemd: bool = False


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the function returned, or the traceback of what it raised."""

    returned: Any = None
    raised: str | None = None
