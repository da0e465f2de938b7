"""Buttons that stick: a console that repeats an input without a pause is not a person pressing."""

from typing import NamedTuple

import msgspec

from controller.app.faults import ActiveFaults, Fault
from controller.model.readings import Input

STICKS_AFTER = 12
AGAIN_US = 500_000
"""Twelve pauses in a row shorter than this: no person does that; a stuck button does within two seconds."""
FREE_AFTER_US = 10_000_000
"""A button is free again once it has been silent for this long."""


_encode = msgspec.json.Encoder().encode


class _Pressed(NamedTuple):
    times: int
    last_us: int
    duty: str
    """The duty under which a fault of this button is active."""


class Buttons:
    """Monitors the consoles' buttons of one table; for the core's thread only."""

    def __init__(self, faults: ActiveFaults) -> None:
        """Report each button that sticks as a fault."""
        self._faults = faults
        self._pressed: dict[bytes, _Pressed] = {}
        """Keyed by the whole input without its times: many seats that press at once are not one button."""

    def saw(self, said: Input, now_us: int) -> None:
        """Record an input from a console."""
        key = _encode(msgspec.structs.replace(said, t=0, arrived=None))
        before = self._pressed.get(key)
        again = before is not None and now_us - before.last_us <= AGAIN_US
        count = before.times + 1 if before is not None and again else 1
        duty = _duty(said)
        self._pressed[key] = _Pressed(count, now_us, duty)
        if count >= STICKS_AFTER:
            found = f"{said.name} sent {count} times without a pause"
            self._faults.began(Fault("button_stuck", said.dev, found), duty)

    def expire(self, now_us: int) -> None:
        """Clear what has been silent for a while."""
        for key, pressed in tuple(self._pressed.items()):
            if now_us - pressed.last_us > FREE_AFTER_US:
                del self._pressed[key]
                self._faults.over("button_stuck", pressed.duty)


def _duty(pressed: Input) -> str:
    seat = "" if pressed.seat is None else f" at seat {pressed.seat}"
    return f"button {pressed.name}{seat} of {pressed.dev}"
