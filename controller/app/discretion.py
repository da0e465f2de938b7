"""What watchers may hear of readings: no card before its time, and ball and rotor timing for few, and late.

Every reading that leaves the controller for a person's screen goes through here. A card that lies face down
is told without its face. What tells where the ball will fall goes to technicians alone, and while bets are
open only when they are closed (R-SPIN-3, T-DEAL-3).
"""

from collections import deque

import msgspec

from controller.app.hub import Hub
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallDrop,
    BallOut,
    Card,
    Input,
    PocketBall,
    RotorIndex,
    WheelStatus,
)
from controller.model.rulesets import RuleSet

TIMING = (BallBeam, BallDrop, BallOut, PocketBall, RotorIndex, WheelStatus)
"""What tells how ball and rotor run."""
HELD_BACK = 512
"""Lines of them that wait for the bets to close, at most; the oldest go first."""
_encode = msgspec.json.Encoder().encode


class Discretion:
    """Tells the hub of readings, each to those who may know it and when they may."""

    def __init__(self, hub: Hub, rules: RuleSet) -> None:
        """Guard the cards of a game that is dealt face down."""
        self._hub = hub
        self._face_down = rules.game == "three_card"
        self._waiting: deque[bytes] = deque(maxlen=HELD_BACK)

    def tell(self, reading: AnyReading, *, betting: bool, testing: bool = False) -> None:
        """Tell of a reading; `betting`: bets can be placed now; `testing`: nothing counts."""
        if not self._hub.wants("readings"):
            self._waiting.clear()
            return
        if testing and isinstance(reading, (*TIMING, Card)):
            # No bet rests on it, and a technician at the table has it in hand.
            self._hub.tell("timing", _line(reading, b""))
            return
        if isinstance(reading, TIMING):
            self._waiting.append(_line(reading, b',"delayed":true' if betting else b""))
            if not betting:
                self.bets_closed()
            return
        if self._face_down and _names_card(reading):
            self._hub.tell("readings", _line(_without_face(reading), b',"masked":true'))
        else:
            self._hub.tell("readings", _line(reading, b""))

    def bets_closed(self) -> None:
        """Let go of what waited for it."""
        while self._waiting:
            self._hub.tell("timing", self._waiting.popleft())


def _line(reading: AnyReading, mark: bytes) -> bytes:
    return b'{"reading":%s%s}\n' % (_encode(reading), mark)


def _names_card(reading: AnyReading) -> bool:
    return isinstance(reading, Card) or (isinstance(reading, Input) and reading.name == "set_card")


def _without_face(reading: AnyReading) -> AnyReading:
    if isinstance(reading, Input):
        return msgspec.structs.replace(reading, card=None, what=None)
    return msgspec.structs.replace(reading, rank=None, suit=None)
