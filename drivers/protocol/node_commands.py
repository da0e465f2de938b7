"""Commands to a node: each is sent until it is acknowledged, a bounded number of times."""

from collections.abc import Mapping
from dataclasses import dataclass

from drivers.protocol.node_messages import Answered
from drivers.protocol.node_wire import Wire

TRIES = 4
AGAIN_US = 150_000
MOST_WAITING = 32
KEPT_US = 2_000_000
"""A command that waits for its node to come up is given up after this long."""


@dataclass(slots=True)
class _Waiting:
    verb: str
    fields: dict[str, str]
    given_us: int
    due_us: int
    tries: int = 0


class Commands:
    """The commands that wait for their acknowledgement."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0

    def add(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Take a command; give its number. Raises OverflowError where too many wait already."""
        if len(self._waiting) >= MOST_WAITING:
            raise OverflowError(f"{MOST_WAITING} commands wait for the node already")
        self._number += 1
        self._waiting[self._number] = _Waiting(verb, {"id": str(self._number), **fields}, now_us, now_us)
        return self._number

    def next_deadline(self) -> int | None:
        """Give when the next command is to be sent, sent again or given up."""
        return min((waiting.due_us for waiting in self._waiting.values()), default=None)

    def send_due(self, now_us: int, wire: Wire) -> list[Answered]:
        """Say what is due; give those that had their last try."""
        given_up = []
        for number, waiting in list(self._waiting.items()):
            if now_us < waiting.due_us:
                continue
            if waiting.tries == TRIES:
                given_up.append(self._end(number, f"no answer after {TRIES} tries"))
                continue
            waiting.tries += 1
            waiting.due_us = now_us + AGAIN_US
            wire.say(now_us, waiting.verb, waiting.fields)
        return given_up

    def expire(self, now_us: int) -> list[Answered]:
        """Give up what has waited too long for a node that is not up."""
        late = [n for n, waiting in self._waiting.items() if now_us >= waiting.given_us + KEPT_US]
        return [self._end(number, "the node is not up") for number in late]

    def expiry(self) -> int | None:
        """Give when the next command that waits for its node is given up."""
        return min((waiting.given_us + KEPT_US for waiting in self._waiting.values()), default=None)

    def acknowledged(self, fields: Mapping[str, str]) -> Answered | None:
        """Take an acknowledgement; None where no such command waits."""
        number = fields.get("id", "")
        if not number.isdecimal() or len(number) > 10 or int(number) not in self._waiting:
            return None
        del self._waiting[int(number)]
        return Answered(int(number), fields.get("ok") == "1", fields.get("says", ""))

    def _end(self, number: int, says: str) -> Answered:
        waiting = self._waiting.pop(number)
        return Answered(number, ok=False, says=f"{waiting.verb}: {says}")
