"""Buttons that stick: a console that says the same word again and again is no person's word any more."""

from typing import NamedTuple

from controller.app.faults import ActiveFaults, Fault
from controller.model.readings import Input

STICKS_AFTER = 12
AGAIN_US = 500_000
"""Nobody says the same so often with so short pauses; a button that sticks has in two seconds."""
FREE_AFTER_US = 10_000_000
"""A button that has been silent for so long is free again."""


class _Pressed(NamedTuple):
    times: int
    last_us: int


class Buttons:
    """Follows what the consoles of one table say; the core's thread only."""

    def __init__(self, faults: ActiveFaults) -> None:
        """Report each button that sticks as a fault."""
        self._faults = faults
        self._pressed: dict[tuple[str, str], _Pressed] = {}

    def saw(self, said: Input, now_us: int) -> None:
        """Record a word of a console."""
        key = said.dev, said.name
        before = self._pressed.get(key)
        again = before is not None and now_us - before.last_us <= AGAIN_US
        count = before.times + 1 if before is not None and again else 1
        self._pressed[key] = _Pressed(count, now_us)
        if count >= STICKS_AFTER:
            found = f"{said.name} said {count} times without a pause"
            self._faults.began(Fault("button_stuck", said.dev, found), _duty(*key))

    def look(self, now_us: int) -> None:
        """Clear what has been silent for a while."""
        for key, pressed in tuple(self._pressed.items()):
            if now_us - pressed.last_us > FREE_AFTER_US:
                del self._pressed[key]
                self._faults.over("button_stuck", _duty(*key))


def _duty(dev: str, name: str) -> str:
    return f"button {name} of {dev}"
